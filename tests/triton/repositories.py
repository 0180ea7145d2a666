"""Measures what tad-lsp makes of public repositories that nobody tuned it for; the second part of docs/coverage.md.

    python tests/triton/repositories.py --list           which repositories are in which part
    python tests/triton/repositories.py --part tune      one part, its tables on stdout
    python tests/triton/repositories.py                  both parts, into docs/coverage.md

`repositories.txt` names them.  TAD_REPOSITORIES is a folder with a checkout of each, called owner+name; those that
are not there are named on the page.  A seed splits the list into *tune*, which is read and mended for, and *aside*,
of which only the figures are looked at.  Of each repository a seeded sample of files goes through
`tad-lsp --check --grad` and `tad-lsp --backward FILE -o OUT`; the written module must compile and use no name that
it does not define.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
if __name__ == "__main__":
    # Run as a file, the folder of this file would shadow top-level names.
    sys.path[:] = [
        str(REPOSITORY),
        *(p for p in sys.path if Path(p or ".") != Path(__file__).parent),
    ]

from tests.triton import coverage_table  # noqa: E402
from tests.triton.coverage import (  # noqa: E402
    Examiner,
    FileResult,
    Row,
    crash_text,
    kernel_files,
    run_tool,
)
from tests.triton.coverage_table import DERIVED, count, percent, reasons, texts  # noqa: E402

LIST = Path(__file__).with_name("repositories.txt")
PAGE = REPOSITORY / "docs" / "coverage.md"
SEED = 20261122
TUNED = 0.6  # of the repositories
FILES = 2  # of each repository, at most
PROOF_SECONDS = (
    60  # as `--check` has by default: the clock ends a proof as incomplete, and steps decide
)
EMIT_SECONDS = 60
PARTS = ("tune", "aside")
COMMAND = "make coverage-repositories"

HEAD = """{title}

What tad-lsp makes of kernels that nobody tuned it for: {repositories} public repositories of
`tests/triton/repositories.txt`, at most {files} files of each, drawn with a seed. `{command}` measures
and writes this part, from checkouts in the folder that `TAD_REPOSITORIES` names. A seed splits the list: *tune* is
read and mended for; of *aside* nobody looks at more than these figures.

- *modules*: files written by `--backward FILE -o OUT`; *not importable*: those that Python does not compile or that
  use a name which neither they nor their original define.
- *errors*: diagnostics of severity error on kernels that Triton compiles.
- *proved*: with {seconds} s for each kernel; a proof that the clock ends is none.
- The other words mean what they mean above. Here nothing is compiled by Triton but what an error is reported on.
"""


def digest(text: str) -> str:
    """A number that only the seed and the text decide."""
    return hashlib.sha256(f"{SEED}:{text}".encode()).hexdigest()


def rows() -> list[list[str]]:
    """Of each repository its name, its commit, and, where it is said, its part."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return [line.split() for line in lines if line and not line.startswith("#")]


def listed() -> dict[str, str]:
    """The commit of each repository."""
    return {name: commit for name, commit, *_ in rows()}


def part_of(part: str) -> list[str]:
    """The repositories of `tune` or `aside`, in the list's order."""
    said = {name: word for name, _, *words in rows() for word in words}
    drawn = sorted((name for name in listed() if said.get(name) != "aside"), key=digest)
    chosen = set(drawn[: round(TUNED * len(drawn))])
    tuned = {
        name for name in listed() if said.get(name, "tune" if name in chosen else "") == "tune"
    }
    return [name for name in listed() if (name in tuned) == (part == "tune")]


def folder_of(name: str) -> str:
    """A checkout's folder below TAD_REPOSITORIES."""
    return name.replace("/", "+")


def sample(root: Path, name: str, most: int) -> list[str]:
    """Some files with kernels of one repository, relative to root; tests and benchmarks of kernels count too."""
    return sorted(sorted(kernel_files(folder_of(name), root), key=digest)[:most])


# ---- one file --------------------------------------------------------------------------------------


def undefined_names(path: Path) -> set[str]:
    """What ruff says of names that are undefined or defined twice, and of what does not parse."""
    ruff = Path(sys.executable).with_name("ruff")
    command = [str(ruff), "check", "--isolated", "--no-cache", "--output-format", "json"]
    command += ["--select", "F821,F811", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"ruff cannot be run: {done.stderr}")
    return {
        re.sub(r"\bline \d+", "line", f"{e['code']} {e['message']}")
        for e in json.loads(done.stdout)
    }


def module_faults(original: Path, written: Path) -> list[str]:
    """Why an emitted module cannot be used; what its original suffers from too is not counted."""
    try:
        compile(written.read_bytes(), written.name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return [f"does not compile: {error}"]
    return sorted(undefined_names(written) - undefined_names(original))


class RepositoryExaminer(Examiner):
    """Looks at the written module instead of compiling each backward."""

    seconds = PROOF_SECONDS

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root = root

    def compile_all(self, result: FileResult) -> None:
        """Nothing: what Triton makes of emitted kernels is measured on the packages."""

    def finish(self, result: FileResult) -> None:
        """Writes the module and looks at it."""
        if not any(row.status in DERIVED for row in result.rows):
            return
        with tempfile.TemporaryDirectory(prefix="coverage-") as folder:
            written = Path(folder) / "written.py"
            arguments = ["--backward", result.file, "--no-proof", "-o", str(written)]
            status, _, stderr = run_tool(arguments, EMIT_SECONDS, self.root)
            crash = crash_text(arguments, status, stderr)
            if crash:
                result.crashes.append(crash)
            elif written.exists():
                result.modules = 1
                faults = module_faults(self.root / result.file, written)
                result.unusable += [f"{result.file}: {fault}" for fault in faults]


def examine(root: Path, files: list[str], processes: int) -> list[FileResult]:
    """The results of files, in order, by a few processes."""
    examiners = [RepositoryExaminer(root) for _ in range(processes)]
    free = list(examiners)
    done = 0

    def one(file: str) -> FileResult:
        nonlocal done
        examiner = free.pop()
        try:
            return examiner.examine(file)
        finally:
            free.append(examiner)
            done += 1
            print(f"{done}/{len(files)} {file}", file=sys.stderr, flush=True)

    try:
        with ThreadPoolExecutor(processes) as threads:
            return list(threads.map(one, files))
    finally:
        for examiner in examiners:
            examiner.worker.close()


# ---- the page --------------------------------------------------------------------------------------

COLUMNS = (
    "files",
    "forward",
    "understood",
    "not differentiable",
    "differentiable",
    "derived",
    "proved",
    "wrong",
    "refused",
    "crashes",
    "errors",
    "modules",
    "not importable",
)


def line(name: str, results: list[FileResult]) -> str:
    """One row of the table: the forward kernels of some files."""
    rows = [r for result in results for r in result.rows if r.status]
    forward = [r for r in rows if not coverage_table.is_handwritten_backward(r)]
    smooth = [r for r in forward if r.status != "not-differentiable"]
    derived = count(smooth, lambda r: r.status in DERIVED)
    proved = count(smooth, lambda r: r.status == "proved")
    understood = count(forward, lambda r: r.understood)
    cells = [
        f"{len(results)}",
        f"{len(forward)}",
        f"{understood} ({percent(understood, len(forward))})",
        f"{len(forward) - len(smooth)}",
        f"{len(smooth)}",
        f"{derived} ({percent(derived, len(smooth))})",
        f"{proved} ({percent(proved, len(smooth))})",
        f"{count(smooth, lambda r: r.status == 'failed')}",
        f"{count(smooth, lambda r: r.status == 'refused')}",
        f"{sum(len(result.crashes) for result in results)}",
        f"{sum(len(result.wrong_errors) for result in results)}",
        f"{sum(result.modules for result in results)}",
        f"{sum(bool(result.unusable) for result in results)}",
    ]
    return f"| {name} | " + " | ".join(cells) + " |"


def table(results: list[FileResult]) -> list[str]:
    """Per repository, and all together."""
    lines = [
        "| repository | " + " | ".join(COLUMNS) + " |",
        "|---|" + "--:|" * len(COLUMNS),
    ]
    by_folder: dict[str, list[FileResult]] = {}
    for result in results:
        by_folder.setdefault(result.file.partition("/")[0], []).append(result)
    for folder, part in by_folder.items():
        lines.append(line(folder.replace("+", "/", 1), part))
    return [*lines, line("**total**", results)]


def lists(results: list[FileResult]) -> list[str]:
    """Why kernels of one part are refused, unproved and the rest."""
    rows = [r for result in results for r in result.rows]
    own = [r for r in rows if r.status and not coverage_table.is_handwritten_backward(r)]
    wrong = [r for r in own if r.status == "failed"]
    lines = texts("Crashes and time-outs", [t for r in results for t in r.crashes])
    lines += texts(
        "Errors on kernels that Triton compiles", [t for r in results for t in r.wrong_errors]
    )
    lines += texts("Written modules that cannot be used", [t for r in results for t in r.unusable])
    lines += texts("Wrong gradients", [f"{r.file}:{r.line} {r.name}: {r.reason}" for r in wrong])
    titles = (
        ("refused", "Why refused"),
        ("derived", "Why derived but not proved"),
        ("not-differentiable", "Why not differentiable"),
    )
    for status, title in titles:
        lines += reasons((r for r in own if r.status == status), reason_of, title)
    return [text.replace("## ", "#### ") if text.startswith("## ") else text for text in lines]


def reason_of(row: Row) -> str:
    """What is said of a kernel."""
    return row.reason


def document(root: Path, results: dict[str, list[FileResult]], most: int) -> str:
    """The second part of the page; of *aside* the table's total alone."""
    names = [name for part in results for name in part_of(part)]
    here = [name for name in names if (root / folder_of(name)).is_dir()]
    head = HEAD.format(
        title=coverage_table.SECOND_PART,
        repositories=len(here),
        files=most,
        command=COMMAND,
        seconds=PROOF_SECONDS,
    )
    lines = [head]
    absent = [name for name in names if name not in here]
    if absent:
        lines += [f"Not there: {', '.join(absent)}.", ""]
    lines += ["| part | " + " | ".join(COLUMNS) + " |", "|---|" + "--:|" * len(COLUMNS)]
    lines += [line(f"*{part}*", results[part]) for part in results]
    if "tune" in results:
        lines += ["", "### Tune", "", *table(results["tune"]), *lists(results["tune"])]
    return "\n".join(lines) + "\n"


def main() -> int:
    """See above."""
    # Ended from outside, the children must not be left behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parser = argparse.ArgumentParser(description="Measure what tad-lsp makes of public code.")
    parser.add_argument("--list", action="store_true", help="say what is in which part")
    parser.add_argument("--part", choices=PARTS, help="measure one part, to stdout")
    parser.add_argument("--files", type=int, default=FILES, help="of each repository, at most")
    parser.add_argument("--processes", type=int, default=1, help="as many at a time")
    parser.add_argument("--json", type=Path, help="also write all results")
    options = parser.parse_args()
    if options.list:
        print("\n".join(f"{part} {name}" for part in PARTS for name in part_of(part)))
        return 0
    folder = os.environ.get("TAD_REPOSITORIES", "")
    if not folder or not Path(folder).is_dir():
        print(
            "TAD_REPOSITORIES has to name a folder with a checkout of each repository",
            file=sys.stderr,
        )
        return 2
    root = Path(folder).resolve()
    results = measure(
        root, (options.part,) if options.part else PARTS, options.files, options.processes
    )
    if options.json:
        found = {part: [asdict(r) for r in part_results] for part, part_results in results.items()}
        options.json.write_text(json.dumps(found), encoding="utf-8")
    text = document(root, results, options.files)
    if options.part:
        print(text)
    else:
        first, _ = coverage_table.split_page(PAGE.read_text(encoding="utf-8"))
        PAGE.write_text(first + text, encoding="utf-8")
    return 0


def measure(
    root: Path, parts: tuple[str, ...], most: int, processes: int
) -> dict[str, list[FileResult]]:
    """The results of each part."""
    found = {}
    for part in parts:
        files = [file for name in part_of(part) for file in sample(root, name, most)]
        found[part] = examine(root, files, processes)
    return found


if __name__ == "__main__":
    sys.exit(main())
