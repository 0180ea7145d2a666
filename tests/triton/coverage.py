"""Measures what tad-lsp makes of every kernel of `.corpus` and writes docs/coverage.md.

    python tests/triton/coverage.py                 all packages, docs/coverage.md
    python tests/triton/coverage.py fla conch       some packages, the same tables on stdout
    python tests/triton/coverage.py --quick         a fixed sample, on stdout

Each file goes through `tad-lsp --check --grad`; each derived backward is compiled for sm_90 by the installed
Triton (to a cubin, or where that takes too long to verified IR) with the types and constexpr values its forward
compiles with.  Results are kept below the build folder (TAD_BIN), by the content of the binaries and of the
file, so that a second run only does what is new.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
if __name__ == "__main__":
    # Run as a file, the folder of this file would shadow top-level names.
    sys.path[:] = [
        str(REPOSITORY),
        *(p for p in sys.path if Path(p or ".") != Path(__file__).parent),
    ]

from tests.emitted import plan  # noqa: E402
from tests.support.worker import Worker, WorkerDied  # noqa: E402
from tests.triton import coverage_table  # noqa: E402
from tests.triton.corpus import CORPUS, Kernel, find_kernels  # noqa: E402
from tests.triton.coverage_compile import Compiled, make_compile_worker  # noqa: E402

PROCESSES = 2
PROOF_SECONDS = 5
CHECK_SECONDS = 600
COMPILE_SECONDS = 60
CUBIN_SECONDS = 60
LAUNCHER_SECONDS = 2
FORMAT = 9  # raised when what is kept changes its meaning


@dataclass
class Row:
    """One kernel: what the analysis, the derivation, the proof and Triton said."""

    file: str
    name: str
    line: int
    understood: bool
    gap: str = ""
    status: str = ""  # "" for helpers and kernels that store nothing
    reason: str = ""
    worst_error: float | None = None
    seconds: float = 0.0
    helper: bool = False
    forward: str = ""  # "" not tried, "ok", or why Triton refuses the forward
    backward: str = ""  # the same for the emitted backward
    backward_line: str = ""  # the line of the emitted text that Triton names
    cubin: bool = False  # compiled to the end


@dataclass
class FileResult:
    """One file: its kernels, the errors reported on code that Triton compiles, and what went wrong."""

    file: str
    rows: list[Row] = field(default_factory=list)
    wrong_errors: list[str] = field(default_factory=list)
    other_errors: list[str] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    unusable: list[str] = field(default_factory=list)  # what is wrong with the emitted module
    modules: int = 0  # emitted modules


# ---- running the tools -----------------------------------------------------------------------------


def tool_folder() -> Path:
    """The folder of tad-lsp and tad-runner."""
    return Path(os.environ.get("TAD_BIN", REPOSITORY / "build"))


@cache
def tools_digest() -> str:
    """Changes whenever one of the programs does."""
    digest = hashlib.sha256(str(FORMAT).encode())
    for name in ("tad-lsp", "tad-runner"):
        digest.update((tool_folder() / name).read_bytes())
    return digest.hexdigest()


def run_tool(arguments: list[str], seconds: float, root: Path = CORPUS) -> tuple[int, str, str]:
    """Exit status, stdout, stderr, run in `root`; -1000 for a time-out. A negative status is a signal."""
    command = [str(tool_folder() / "tad-lsp"), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, timeout=seconds, cwd=root, check=False)
    except subprocess.TimeoutExpired:
        return -1000, "", f"no end within {seconds:g} s"
    return (
        done.returncode,
        done.stdout.decode("utf-8", "replace"),
        done.stderr.decode("utf-8", "replace"),
    )


def crash_text(arguments: list[str], status: int, stderr: str) -> str:
    """A crash or time-out with the command that shows it; "" when there was none."""
    if 0 <= status <= 2:
        return ""
    what = stderr if status == -1000 else f"ended by signal {-status}"
    return f"tad-lsp {' '.join(arguments)}: {what}"


class Examiner:
    """Examines files of `root` one after the other with one compiling child."""

    root = CORPUS
    seconds = PROOF_SECONDS  # for the proof of one kernel

    def __init__(self) -> None:
        self.worker: Worker = make_compile_worker()

    def examine(self, file: str) -> FileResult:
        """Everything about one file, from what is kept or anew."""
        text = (self.root / file).read_bytes()
        key = hashlib.sha256(
            f"{type(self).__name__}\0{file}\0{tools_digest()}\0".encode() + text
        ).hexdigest()
        kept = tool_folder() / "coverage" / f"{key}.json"
        if kept.exists():
            return result_from(json.loads(kept.read_text(encoding="utf-8")))
        started = time.monotonic()
        result = FileResult(file)
        functions = [k for k in find_kernels(self.root / file) if k.jit == "triton"]
        self.read_understanding(result, functions)
        diagnostics = self.prove(result)
        self.compile_all(result)
        self.judge_errors(result, functions, diagnostics)
        self.finish(result)
        result.seconds = time.monotonic() - started
        if not result.crashes:  # a crash is tried again
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(asdict(result)), encoding="utf-8")
        return result

    def finish(self, result: FileResult) -> None:
        """What a measurement of its own looks at besides; nothing here."""

    def read_understanding(self, result: FileResult, functions: list[Kernel]) -> None:
        """Rows of all jit functions, understood or with the first gap."""
        arguments = ["--dump", "coverage", result.file]
        status, out, err = run_tool(arguments, 60, self.root)
        crash = crash_text(arguments, status, err)
        if crash:
            result.crashes.append(crash)
        for line in out.splitlines():
            found = re.match(r"(understood|partly) (.+):(\d+) (\S+)( \(helper\))?$", line)
            if found:
                word, _, number, name, helper = found.groups()
                row = Row(result.file, name, int(number), word == "understood", helper=bool(helper))
                result.rows.append(row)
            elif line.startswith("    BROKEN"):
                result.crashes.append(f"tad-lsp {' '.join(arguments)}: {line.strip()}")
            elif result.rows and not result.rows[-1].gap:
                result.rows[-1].gap = line.strip()
        known = {row.line for row in result.rows}
        for function in functions:
            near = {function.line + d for d in range(-1, 2)}
            if not near & known and "." not in function.name:
                gap = "not found by tad-lsp"
                helper = function.kind == "helper"
                result.rows.append(
                    Row(result.file, function.name, function.line, False, gap, helper=helper)
                )

    def prove(self, result: FileResult) -> list[dict[str, object]]:
        """Fills in the statuses; the file's diagnostics."""
        arguments = ["--check", "--grad", "--format", "json", "-j", "1"]
        arguments += ["--time-limit", str(self.seconds), result.file]
        limit = 60 + 2 * (self.seconds + 6) * max(1, len(result.rows))
        status, out, err = run_tool(arguments, limit, self.root)
        crash = crash_text(arguments, status, err)
        if crash:
            result.crashes.append(crash)
            return []
        report = json.loads(out)
        rows = {(row.name, row.line): row for row in result.rows}
        for kernel in report["kernels"]:
            row = rows.get((kernel["name"], kernel["line"]))
            if row is None:
                continue
            row.status, row.reason = kernel["status"], kernel["reason"]
            row.worst_error, row.seconds = kernel["worst_error"], kernel["seconds"]
            if re.search(r"worker died|no answer|killed|ended by signal", row.reason):
                result.crashes.append(f"tad-lsp {' '.join(arguments)}: {row.name}: {row.reason}")
        for problem in report["problems"]:
            if "internal error" in problem:
                result.crashes.append(f"tad-lsp {' '.join(arguments)}: {problem}")
        return list(report["diagnostics"])

    def compile_all(self, result: FileResult) -> None:
        """Compiles the backward of every kernel that has one."""
        for row in result.rows:
            if row.status in ("proved", "derived", "failed"):
                arguments = [
                    "--backward",
                    f"{result.file}:{row.name}",
                    "--wrapper",
                    "none",
                    "--no-proof",
                ]
                status, text, err = run_tool(arguments, 60, self.root)
                crash = crash_text(arguments, status, err)
                if crash:
                    result.crashes.append(crash)
                    continue
                self.note_compiled(row, self.compile(row, text))

    def note_compiled(self, row: Row, compiled: Compiled) -> None:
        """Enters what Triton said."""
        row.forward, row.backward = compiled.forward, compiled.backward
        row.backward_line, row.cubin = compiled.backward_line, compiled.cubin

    def compile(self, row: Row, emitted: str) -> Compiled:
        """Forward and emitted backward (or none: "") through Triton, kept by their text.

        Where a guess of types and sizes is not good enough, tad-runner is asked for those of the launchers.
        """
        path = self.root / row.file
        types = parameter_types(row, self.root)
        parts = [str(FORMAT), path.read_text(encoding="utf-8"), row.name, emitted, repr(types)]
        key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
        kept = tool_folder() / "coverage" / "compiled" / f"{key}.json"
        if kept.exists():
            return Compiled(**json.loads(kept.read_text(encoding="utf-8")))
        specifications: list[str] = []
        compiled = self.try_compile(row, types, emitted, specifications, "ttir")
        if emitted and compiled.backward != "ok":
            specifications = launcher_specifications(path, row.name)
            if specifications:
                compiled = self.try_compile(row, types, emitted, specifications, "ttir")
        if emitted and compiled.backward == "ok":
            whole = self.try_compile(row, types, emitted, specifications, "cubin")
            if not whole.backward.startswith("crash: no answer"):
                compiled = self.blame(row, types, specifications, whole)
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(asdict(compiled)), encoding="utf-8")
        return compiled

    def blame(
        self, row: Row, types: dict[str, str], specifications: list[str], whole: Compiled
    ) -> Compiled:
        """What came of a backward, unless its forward does not become a cubin either."""
        if whole.backward == "ok":
            return whole
        forward = self.try_compile(row, types, "", specifications, "cubin")
        return whole if forward.forward == "ok" else forward

    def try_compile(
        self, row: Row, types: dict[str, str], emitted: str, specifications: list[str], until: str
    ) -> Compiled:
        """One request to the child."""
        try:
            compiled = self.worker.call(
                "compile_pair",
                CUBIN_SECONDS if until == "cubin" else COMPILE_SECONDS,
                path=self.root / row.file,
                kernel_name=row.name,
                types=types,
                emitted=emitted,
                specifications=specifications,
                until=until,
            )
        except WorkerDied as death:
            compiled = Compiled(f"crash: {death.reason}", "")
            if emitted and self.compile(row, "").forward == "ok":
                compiled = Compiled("ok", f"crash: {death.reason}")
        assert isinstance(compiled, Compiled)
        return compiled

    def judge_errors(
        self, result: FileResult, functions: list[Kernel], diagnostics: list[dict[str, object]]
    ) -> None:
        """Sorts error diagnostics into those on kernels that Triton compiles and the others."""
        ordered = sorted(functions, key=lambda k: k.line)
        for entry in diagnostics:
            if entry["severity"] != "error" or entry["name"] == "gradient-wrong":
                continue
            file = str(entry["file"])
            line = int(entry["range"]["start"]["line"]) + 1  # type: ignore[index]
            text = f"{file}:{line}: [{entry['name']}] {entry['message']}"
            around = [k for k in ordered if k.line <= line]
            name = around[-1].name if around and file == result.file else ""
            compiling = [
                k.name for k in callers_of(name, ordered) if self.forward_compiles(result, k)
            ]
            path = self.root / file
            is_launch = entry["name"] == "launch-arguments"
            if compiling and not (is_launch and python_refuses_launch(path, line, functions)):
                result.wrong_errors.append(f"{text} (Triton compiles `{compiling[0]}`)")
            else:
                result.other_errors.append(text)

    def forward_compiles(self, result: FileResult, kernel: Kernel) -> bool:
        """Whether Triton accepts a kernel as it is."""
        row = Row(result.file, kernel.name, kernel.line, False)
        return self.compile(row, "").forward == "ok"


def parameter_types(row: Row, root: Path = CORPUS) -> dict[str, str]:
    """What tad-lsp takes the run-time parameters of a kernel for, in Triton's words; `*` for some pointer."""
    _, out, _ = run_tool(["--dump", "types", f"{row.file}:{row.name}"], 60, root)
    found = re.findall(r"^    (\w+): (\*?)([a-z]+\d+)\b", out, re.MULTILINE)
    kinds = {name: star + re.sub(r"^f(?=\d)", "fp", kind) for name, star, kind in found}
    return {n: "*" if k.startswith("*element") else k for n, k in kinds.items() if k != "element"}


def launcher_specifications(path: Path, kernel_name: str) -> list[str]:
    """What tad-runner makes of the launchers of a kernel with a backward, as `# tad:` lines."""
    _, proofs = plan.derived(path)
    if kernel_name not in proofs:
        return []
    runner = plan.Runner()
    try:
        request = {**proofs[kernel_name], "max_seconds": LAUNCHER_SECONDS}
        found = runner.ask("gradcheck", request)["configurations"]
    except (AssertionError, OSError):
        return []
    finally:
        runner.close()
    return list(dict.fromkeys(c["text"] for c in found if c["source"] == "launcher"))


def python_refuses_launch(path: Path, line: int, functions: list[Kernel]) -> bool:
    """Whether the launch around a line gives a parameter twice, or more than there are."""
    parameters = {k.name.rpartition(".")[2]: [p.name for p in k.params] for k in functions}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        is_launch = isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript)
        if not is_launch or not node.lineno <= line <= (node.end_lineno or node.lineno):
            continue
        callee = ast.unparse(node.func.value).rpartition(".")[2]
        spread = any(isinstance(a, ast.Starred) for a in node.args)
        if callee not in parameters or spread:
            continue
        names = parameters[callee]
        given = set(names[: len(node.args)])
        if len(node.args) > len(names) or any(k.arg in given for k in node.keywords):
            return True
    return False


def callers_of(name: str, functions: list[Kernel]) -> list[Kernel]:
    """The kernels of a file that reach a jit function, itself included."""
    names = {name}
    for _ in functions:
        names |= {f.name for f in functions if names & set(f.calls)}
    return [f for f in functions if f.name in names and f.kind == "kernel"]


def result_from(data: dict[str, object]) -> FileResult:
    """What was kept."""
    rows = [Row(**row) for row in data.pop("rows")]  # type: ignore[attr-defined]
    return FileResult(rows=rows, **data)  # type: ignore[arg-type]


# ---- what is examined ------------------------------------------------------------------------------


def packages() -> list[str]:
    """The folders of the corpus that hold kernels."""
    folders = sorted(
        p.name for p in CORPUS.iterdir() if p.is_dir() and not p.name.endswith("-info")
    )
    return [name for name in folders if next(kernel_files(name), None)]


def kernel_files(package: str, root: Path = CORPUS) -> Iterator[str]:
    """Files of a package with Triton kernels, relative to `root`."""
    for path in sorted((root / package).rglob("*.py")):
        text = path.read_bytes()
        if b"triton" in text and b"jit" in text:
            if any(k.jit == "triton" for k in find_kernels(path)):
                yield str(path.relative_to(root))


def sample_files(most_bytes: int = 12_000) -> list[str]:
    """A fixed part of the corpus: two files of each package, by a digest of their names, no long ones.

    Without flag_gems, whose import takes Triton's child a minute.
    """

    def order(file: str) -> str:
        return hashlib.sha256(file.encode()).hexdigest()

    chosen: list[str] = []
    for package in packages():
        if package == "flag_gems":
            continue
        files = [f for f in kernel_files(package) if (CORPUS / f).stat().st_size <= most_bytes]
        chosen += sorted(files, key=order)[:2]
    return chosen


def examine(
    files: list[str], progress: bool = False, processes: int = PROCESSES
) -> list[FileResult]:
    """The results of files, in order, by a few processes."""
    examiners = [Examiner() for _ in range(processes)]
    free = list(examiners)
    done = 0

    def one(file: str) -> FileResult:
        nonlocal done
        examiner = free.pop()
        try:
            result = examiner.examine(file)
        finally:
            free.append(examiner)
        done += 1
        if progress and done % 10 == 0:
            print(f"{done}/{len(files)} {file}", file=sys.stderr, flush=True)
        return result

    try:
        with ThreadPoolExecutor(processes) as threads:
            return list(threads.map(one, files))
    finally:
        for examiner in examiners:
            examiner.worker.close()


def check_package(package: str) -> str:
    """`tad-lsp --check` over every file of a package; "" or the crash."""
    arguments = ["--check", "--format", "json", package]
    status, _, err = run_tool(arguments, CHECK_SECONDS)
    return crash_text(arguments, status, err)


def document(results: list[FileResult], crashes: list[str]) -> str:
    """The page, with what of the corpus is not in it."""
    measured = {result.file.partition("/")[0] for result in results}
    left_out = [package for package in packages() if package not in measured]
    worker = make_compile_worker()
    release = str(worker.call("release"))
    worker.close()
    return coverage_table.document(results, crashes, left_out, release)


def main() -> int:
    """See above."""
    # Ended from outside, the children must not be left behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parser = argparse.ArgumentParser(description="Measure what tad-lsp makes of the corpus.")
    parser.add_argument("package", nargs="*")
    parser.add_argument("--quick", action="store_true", help="a fixed sample only")
    parser.add_argument("--processes", type=int, default=PROCESSES, help="as many at a time")
    parser.add_argument("--json", type=Path, help="also write all results")
    options = parser.parse_args()
    chosen = options.package or packages()
    crashes = [] if options.quick else [crash for p in chosen if (crash := check_package(p))]
    if options.quick:
        files = sample_files()
    else:
        files = [file for package in chosen for file in kernel_files(package)]
    results = examine(files, progress=True, processes=options.processes)
    if options.json:
        options.json.write_text(json.dumps([asdict(r) for r in results]), encoding="utf-8")
    text = document(results, crashes)
    if options.quick or options.package:
        print(text)
    else:
        page = REPOSITORY / "docs" / "coverage.md"
        _, repositories = coverage_table.split_page(page.read_text(encoding="utf-8"))
        page.write_text(f"{text}\n{repositories}" if repositories else text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
