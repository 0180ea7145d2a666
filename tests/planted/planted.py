"""Mistakes planted in working kernels, from `mistakes.txt`: the texts that they make, and what is found in each."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("mistakes.txt")
BIN = Path(os.environ.get("TAD_BIN", ROOT / "build")).resolve()
RELATED = (
    "the launch",
    "made here",
    "the grid",
    "the mask",
    "stored here",
    "the loop",
    "before the loop",
    "the address",
    "read here, too",
    "another axis is asked for",
    "0 in all programs: the grid does not have this axis",
)
FOUND = ("error", "warning", "info")


@dataclass(frozen=True)
class Mistake:
    """One mistake in one file: its class, its words, what it replaces by what, and where it shows."""

    file: Path
    family: str
    words: str
    old: str
    new: str
    at: str

    def text(self) -> str:
        """The file with the mistake in it."""
        text = self.file.read_text()
        assert self.old in text, f"{self.file.name}: {self.words}: not there: {self.old}"
        return text.replace(self.old, self.new, 1)

    def lines(self) -> set[int]:
        """The lines on which it may be reported, from 1."""
        start = self.file.read_text().index(self.old)
        text = self.text()
        first = text.count("\n", 0, start) + 1
        lines = set(range(first, first + self.new.rstrip("\n").count("\n") + 1))
        near = text.find(self.at, start) if self.at else -1
        if self.at and near < 0:
            near = text.rfind(self.at, 0, start)
        assert not self.at or near >= 0, f"{self.file.name}: {self.words}: not there: {self.at}"
        if self.at:
            lines.add(text.count("\n", 0, near) + 1)
        return lines


@dataclass(frozen=True)
class Finding:
    """A finding of `--check`; `text` is the line that it begins on, as lines move."""

    name: str
    message: str
    severity: str
    lines: frozenset[int]
    text: str


def mistakes() -> list[Mistake]:
    """All rows of the table."""
    rows: list[Mistake] = []
    file = TABLE
    for block in TABLE.read_text().split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if len(lines) == 1 and lines[0].startswith("== "):
            name = lines[0][3:]
            file = ROOT / ("" if "/" in name else "examples") / name
            continue
        if not lines:
            continue
        family, words = lines[0].split(": ", 1)
        parts: dict[str, list[str]] = {"- ": [], "+ ": [], "at": []}
        current = "- "
        for line in lines[1:]:
            if line[:2] in ("- ", "+ ") or line.startswith("at "):
                current = line[:2]
                parts[current].append(line[2:] if current != "at" else line[3:])
            else:
                parts[current].append(line)
        old, new, at = ("\n".join(parts[key]) for key in ("- ", "+ ", "at"))
        rows.append(Mistake(file, family, words, old, new, at))
    return rows


def check(path: Path) -> list[Finding]:
    """What `--check` finds in a file."""
    run = subprocess.run(
        [BIN / "tad-lsp", "--check", "--format", "json", path.name],
        cwd=path.parent,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    lines = path.read_text().splitlines()
    found = []
    for entry in json.loads(run.stdout)["diagnostics"]:
        spans = [entry["range"]]
        # a finding of a launch that stands in the kernel names the launch, one of a loop what it begins with
        for related in entry.get("related", []):
            if related["message"] in RELATED:
                spans.append(related["range"])
        inside: set[int] = set()
        for span in spans:
            inside |= set(range(span["start"]["line"] + 1, span["end"]["line"] + 2))
        text_line = lines[entry["range"]["start"]["line"]].strip()
        found.append(
            Finding(
                entry["name"], entry["message"], entry["severity"], frozenset(inside), text_line
            )
        )
    return found


def new_findings(mistake: Mistake, folder: Path, known: list[Finding]) -> list[Finding]:
    """What is said of the text with the mistake and was not said of the text without."""
    folder.mkdir()
    path = folder / mistake.file.name
    path.write_text(mistake.text())
    counted = Counter((one.name, one.message, one.text) for one in known)
    fresh = []
    for one in check(path):
        key = (one.name, one.message, one.text)
        if counted[key]:
            counted[key] -= 1
        elif one.severity in FOUND:
            fresh.append(one)
    return fresh


def judge(folder: Path) -> list[tuple[Mistake, list[Finding], bool]]:
    """Every mistake with what is new, and whether that stands at its line."""
    rows = mistakes()
    known = {file: check(file) for file in {row.file for row in rows}}
    with ThreadPoolExecutor(2) as pool:
        found = list(
            pool.map(
                lambda pair: new_findings(pair[1], folder / str(pair[0]), known[pair[1].file]),
                enumerate(rows),
            )
        )
    results = []
    for row, fresh in zip(rows, found, strict=True):
        lines = row.lines()
        here = any(lines & one.lines for one in fresh)
        results.append((row, fresh, here))
    return results


def main() -> None:
    """Prints the rate, by class, and what was missed."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        results = judge(Path(folder))
    for row, fresh, here in results:
        if not here:
            print(f"{row.file.name}: {row.family}: {row.words}")
            for one in fresh:
                print(f"    elsewhere: {min(one.lines)}: {one.severity}[{one.name}] {one.message}")
    for family in sorted({row.family for row, _, _ in results}):
        mine = [here for row, _, here in results if row.family == family]
        print(f"{family}: {sum(mine)} of {len(mine)}")
    print(f"found at their line: {sum(here for _, _, here in results)} of {len(results)}")


if __name__ == "__main__":
    main()
