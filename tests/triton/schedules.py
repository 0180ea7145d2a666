"""Counts who sums the gradients of the kernels in `.corpus`, by class, and writes docs/atomics.md.

    python tests/triton/schedules.py                  all packages but flag_gems, docs/atomics.md
    python tests/triton/schedules.py liger_kernel fla some packages, on stdout
    python tests/triton/schedules.py --list norm      each kernel of a class with the reasons of its atomics
    python tests/triton/schedules.py --shard 1/8      one file in eight, on stdout
    python tests/triton/schedules.py --prove          a kernel is free only if `--check --grad` proves it

Kernels that are equal but for names count once.  Hand-written backwards, by their name, are left out.  Classes are
those of `structure.py`.  Results are kept below the build folder (TAD_BIN), by the content of tad-lsp and of the
file.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
if __name__ == "__main__":
    # Run as a file, the folder of this file would shadow top-level names.
    sys.path[:] = [
        str(REPOSITORY),
        *(p for p in sys.path if Path(p or ".") != Path(__file__).parent),
    ]

from tests.triton import coverage  # noqa: E402
from tests.triton.corpus import CORPUS  # noqa: E402
from tests.triton.coverage_table import GRADIENT_NAME, percent  # noqa: E402
from tests.triton.structure import CLASSES, class_of, structures  # noqa: E402

PAGE = REPOSITORY / "docs" / "atomics.md"
LEFT_OUT = ("flag_gems",)  # each of its operations is there once a vendor
LIMITS = (
    "It counts kernels, not what their atomics cost: one addition a program counts as one for each element.",
    "A kernel without atomics may still be slow: few programs may sum for all others.",
    "It does not prove gradients, unless `--prove` is given. The reasons are the derivation's own words.",
    "Kernels that are refused have no schedule, and are in no share.",
    "Written backwards are told by their names, and left out. So is `flag_gems`: it has each operation once a vendor.",
    "Programs that share elements through addresses from memory (scatters, paged keys) keep atomics.",
    "So do heads that share keys where one id numbers batches and heads, and no constexpr says how many.",
)
DUMP_SECONDS = 300
MOST_REASONS = 40

HEAD = re.compile(r"(\S+), line (\d+): (no backward: .*|a backward of .*)$")
COUNTS = re.compile(r"with atomics for (\d+) of (\d+) gradients")
GRADIENT = re.compile(r"  (\S+), the gradient of `(.+?)`")


@dataclass
class Schedule:
    """One forward kernel: its class, and who sums its gradients."""

    file: str
    name: str
    line: int
    kind: str
    digest: str  # of its IR without names
    refused: str = ""
    atomics: int = 0
    gradients: int = 0
    reasons: list[tuple[str, str]] = field(default_factory=list)  # of each gradient with atomics
    status: str = ""  # with --prove

    @property
    def is_free(self) -> bool:
        """No atomic; and proved, where that was asked."""
        return not self.refused and not self.atomics and self.status in ("", "proved")


@cache
def program_digest() -> str:
    """Changes whenever tad-lsp does."""
    return hashlib.sha256((coverage.tool_folder() / "tad-lsp").read_bytes()).hexdigest()


def asked(arguments: list[str], seconds: float, file: str, root: Path) -> str:
    """What tad-lsp says to a file, kept; a crash ends everything."""
    text = (root / file).read_bytes()
    key = "\0".join([*arguments, file, program_digest(), ""]).encode() + text
    kept = coverage.tool_folder() / "coverage" / "schedules" / hashlib.sha256(key).hexdigest()
    if kept.exists():
        return kept.read_text(encoding="utf-8")
    status, out, err = coverage.run_tool([*arguments, file], seconds, root)
    crash = coverage.crash_text([*arguments, file], status, err)
    if crash:
        sys.exit(crash)
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(out, encoding="utf-8")
    return out


def read_schedules(text: str) -> dict[str, Schedule]:
    """The kernels of `--dump schedule`, without their classes."""
    found: dict[str, Schedule] = {}
    kernel: Schedule | None = None
    gradient = ""
    for line in text.splitlines():
        if head := HEAD.match(line):
            kernel = Schedule("", head[1], int(head[2]), "", "")
            found[kernel.name] = kernel
            counts = COUNTS.search(head[3])
            if head[3].startswith("no backward: "):
                kernel.refused = head[3].removeprefix("no backward: ")
            elif counts:
                kernel.atomics, kernel.gradients = int(counts[1]), int(counts[2])
        elif named := GRADIENT.match(line):
            gradient = named[2]
        elif kernel and line.startswith("    atomics"):
            why = line.removeprefix("    atomics").removeprefix(": ") or "no reason is given"
            kernel.reasons.append((gradient, why))
    return found


def schedules_of(file: str, root: Path, prove: bool) -> list[Schedule]:
    """The forward kernels of a file, derived or refused."""
    read = read_schedules(asked(["--dump", "schedule"], DUMP_SECONDS, file, root))
    rows = []
    ir = asked(["--dump", "ir"], DUMP_SECONDS, file, root) if read else ""
    for kernel in structures(ir):
        row = read.pop(kernel.name, None)
        if row and not GRADIENT_NAME.search(row.name):
            row.file, row.kind, row.digest = file, class_of(kernel), kernel.digest
            rows.append(row)
    if prove and any(not row.refused and not row.atomics for row in rows):
        enter_proofs(rows, file, root)
    return rows


def enter_proofs(rows: list[Schedule], file: str, root: Path) -> None:
    """The statuses of `--check --grad`."""
    limit = str(coverage.PROOF_SECONDS)
    arguments = ["--check", "--grad", "--format", "json", "-j", "1", "--time-limit", limit]
    report = json.loads(asked(arguments, coverage.CHECK_SECONDS, file, root))
    said = {(k["name"], k["line"]): k["status"] for k in report["kernels"]}
    for row in rows:
        row.status = said.get((row.name, row.line), "unknown")


def once(rows: list[Schedule]) -> list[Schedule]:
    """The first of kernels that are equal."""
    seen: dict[str, Schedule] = {}
    for row in rows:
        seen.setdefault(row.digest, row)
    return list(seen.values())


def plain(reason: str) -> str:
    """A reason without the names and numbers of one kernel."""
    return re.sub(r"\d+", "N", re.sub(r"`[^`]*`", "`…`", reason))


def table(rows: list[Schedule]) -> list[str]:
    """A line for each class, and one for all."""
    lines = ["| class | kernels | derived | free | share |", "|---|--:|--:|--:|--:|"]
    for kind in [*(name for name, _, _ in CLASSES), ""]:
        part = [row for row in rows if kind in ("", row.kind)]
        derived = [row for row in part if not row.refused]
        free = sum(row.is_free for row in derived)
        lines.append(
            f"| {kind or '**all**'} | {len(part)} | {len(derived)} | {free} "
            f"| {percent(free, len(derived))} |"
        )
    return lines


def reasons(rows: list[Schedule]) -> list[str]:
    """The reasons by the kernels that have them, with an example of each."""
    counts: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], str] = {}
    for row in rows:
        for why in dict.fromkeys(plain(why) for _, why in row.reasons):
            counts[row.kind, why] += 1
            examples.setdefault((row.kind, why), f"{row.file}:{row.line} {row.name}")
    lines = ["| class | kernels | reason | for example |", "|---|--:|---|---|"]
    ordered = sorted(counts, key=lambda key: (-counts[key], key))
    for key in ordered[:MOST_REASONS]:
        lines.append(f"| {key[0]} | {counts[key]} | {key[1]} | {examples[key]} |")
    return lines


def listed(rows: list[Schedule], kind: str) -> list[str]:
    """Each kernel of a class: free, refused, or which gradients are atomic and why."""
    lines = []
    for row in rows:
        if kind not in ("all", row.kind):
            continue
        what = row.refused and f"no backward: {row.refused}"
        what = what or (f"{row.atomics} of {row.gradients} atomic" if row.atomics else "free")
        proof = f", {row.status}" if row.status else ""
        lines.append(f"{row.file}:{row.line} {row.name} [{row.kind}]: {what}{proof}")
        lines += [f"    {gradient}: {why}" for gradient, why in row.reasons]
    return lines


def document(rows: list[Schedule], packages: list[str], proved: bool) -> str:
    """The page."""
    proof = "The backward is also proved by `--check --grad`.\n" if proved else ""
    lines = [
        "# Who sums the gradients",
        "",
        "Forward kernels of the packages in `tests/corpus-requirements.txt`, equal ones once.",
        f"Measured here: {', '.join(packages)}.",
        "`make atomics-doc` measures and writes this page; nothing in it is written by hand.",
        "",
        f"A kernel is *free* where no gradient of it is summed by an atomic. {proof}".rstrip(),
        "Classes follow from the tile IR, and the first that fits counts:",
        "",
        *(f"- *{name}*: {what}" for name, _, what in CLASSES),
        "",
        *table(rows),
        "",
        "## Why atomics are left",
        "",
        f"The {MOST_REASONS} most frequent reasons. A kernel counts once for each that it has.",
        "",
        *reasons(rows),
        "",
        "## What this does not do",
        "",
        *(f"- {text}" for text in LIMITS),
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """See above."""
    parser = argparse.ArgumentParser(description="Count who sums the gradients of the corpus.")
    parser.add_argument("package", nargs="*")
    parser.add_argument("--root", type=Path, default=CORPUS, help="a folder of packages")
    parser.add_argument("--prove", action="store_true", help="free is only what is proved")
    parser.add_argument("--list", metavar="CLASS", help="each kernel of a class, or of `all`")
    parser.add_argument("--shard", default="0/1", help="I/N: every N-th file, from the I-th")
    parser.add_argument("--processes", type=int, default=1, help="as many at a time")
    options = parser.parse_args()
    chosen = options.package or [p for p in coverage.packages() if p not in LEFT_OUT]
    first, _, every = options.shard.partition("/")
    files = [file for package in chosen for file in coverage.kernel_files(package, options.root)]
    files = files[int(first) :: int(every)]
    with ThreadPoolExecutor(options.processes) as threads:
        found = list(threads.map(lambda f: schedules_of(f, options.root, options.prove), files))
    rows = once([row for part in found for row in part])
    if options.list:
        print("\n".join(listed(rows, options.list)))
    elif options.package or options.shard != "0/1" or options.root != CORPUS:
        print(document(rows, chosen, options.prove))
    else:
        PAGE.write_text(document(rows, chosen, options.prove), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
