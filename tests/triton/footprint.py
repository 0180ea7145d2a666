"""Shared memory and registers that Triton gives kernels, as a table that `--cost` is held against.

    python tests/triton/footprint.py --every 2   compiles what is missing, writes every second point to footprint.json
    python tests/triton/footprint.py --limit 20  of some kernels alone

A point is a kernel with types, constexprs, warps, stages and the architecture that it is compiled for. Sizes and
strides are multiples of 16; strides that `--cost` says have to be 1 are 1. Which points there are is drawn from the
names of kernels, so that a second run draws the same. Answers are kept outside the repository, by what was asked.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
if __name__ == "__main__":
    sys.path[:] = [
        str(REPOSITORY),
        *(p for p in sys.path if Path(p or ".") != Path(__file__).parent),
    ]

from tests.support.worker import WorkerDied  # noqa: E402
from tests.triton.corpus import CORPUS, find_kernels  # noqa: E402
from tests.triton.footprint_compile import make_worker  # noqa: E402
from tests.triton.signature import guess_signature  # noqa: E402

TABLE = Path(__file__).with_suffix(".json")
SECONDS = 90
ROUNDS = 6
OWN_KERNELS, CORPUS_KERNELS, CORPUS_FILES = 36, 40, 14
PACKAGES = ("fla", "liger_kernel", "conch", "flash_attn_triton", "unsloth", "jvp_flash_attention")
SMALLEST_BLOCK = 16
CARDS = {80: "a100", 90: "h100"}
DOT_BLOCKS, TILE_BLOCKS, ROW_BLOCKS = (32, 64, 128), (16, 32, 64, 128), (256, 1024, 4096)
# Architecture, warps, stages, element type of the tensors; one a round.
SETTINGS = (
    (90, 4, 3, "*fp16"),
    (80, 8, 3, "*fp16"),
    (90, 8, 2, "*fp32"),
    (80, 4, 4, "*fp32"),
    (90, 4, 4, "*bf16"),
    (80, 4, 2, "*fp16"),
)


@dataclass(frozen=True)
class Subject:
    """A kernel of a file below the repository."""

    file: str
    kernel: str
    has_dot: bool

    @property
    def path(self) -> Path:
        """Where it lies."""
        return REPOSITORY / self.file


def drawn(files: Iterable[Path], count: int | None) -> list[Subject]:
    """Kernels of the files: all, or `count` by the hash of their names."""
    found = []
    for path in files:
        text = path.read_text(encoding="utf-8")
        for kernel in find_kernels(path):
            if kernel.jit != "triton" or kernel.kind == "helper" or "." in kernel.name:
                continue
            start = text.index(f"def {kernel.name}(")
            body = text[start:].partition("\n\n\n")[0]
            name = str(path.relative_to(REPOSITORY))
            found.append(Subject(name, kernel.name, "tl.dot(" in body))
    if count is None:
        return found
    found.sort(key=lambda s: hashlib.sha256(f"{s.file}:{s.kernel}".encode()).hexdigest())
    dots = [subject for subject in found if subject.has_dot][: count // 2]
    return dots + [subject for subject in found if not subject.has_dot][: count - len(dots)]


def corpus_files() -> list[Path]:
    """Some files of the corpus, as many with products as without."""
    files = [p for name in PACKAGES for p in (CORPUS / name).rglob("*.py")]
    files.sort(key=lambda path: hashlib.sha256(str(path.relative_to(CORPUS)).encode()).hexdigest())
    texts = {path: path.read_bytes() for path in files}
    kernels = [path for path in files if b"@triton.jit" in texts[path]]
    with_dots = [path for path in kernels if b"tl.dot(" in texts[path]]
    others = [path for path in kernels if b"tl.dot(" not in texts[path]]
    return with_dots[:CORPUS_FILES] + others[:CORPUS_FILES]


def digest(subject: Subject, round_: int) -> str:
    """An order that has nothing to do with what kernels are."""
    return hashlib.sha256(f"{subject.file}:{subject.kernel}:{round_}".encode()).hexdigest()


def subjects() -> list[Subject]:
    """Of the examples all, of the tests and of the corpus some."""
    own = sorted((REPOSITORY / "tests" / "emitted" / "kernels").glob("*.py"))
    every = sorted((REPOSITORY / "examples").glob("*.py"))
    return [*drawn(every, None), *drawn(own, OWN_KERNELS), *drawn(corpus_files(), CORPUS_KERNELS)]


@cache
def unit_strides(file: str) -> dict[str, list[str]]:
    """By kernel: the parameters that have to be 1 for its accesses to be coalesced."""
    program = Path(os.environ.get("TAD_BIN", REPOSITORY / "build")) / "tad-lsp"
    command = [str(program), "--cost", file, "--format", "json"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, timeout=60)
    if run.returncode != 0:
        return {}
    found = {}
    for kernel in json.loads(run.stdout)["kernels"]:
        said = (
            re.match(r"coalesced where (\w+) is 1$", line["lanes"] or "")
            for line in kernel["lines"]
        )
        found[kernel["kernel"]] = sorted({match.group(1) for match in said if match})
    return found


def point_of(subject: Subject, round_: int) -> dict[str, object]:
    """What is compiled for a kernel in a round."""
    target, warps, stages, element = SETTINGS[round_]
    signature = guess_signature(subject.path, subject.kernel, {"*": element})
    draw = random.Random(f"{subject.file}:{subject.kernel}:{round_}")
    constexprs = dict(signature.constexprs)
    blocks = [
        name
        for name, value in constexprs.items()
        if isinstance(value, int) and not isinstance(value, bool) and value >= SMALLEST_BLOCK
    ]
    sizes = DOT_BLOCKS if subject.has_dot else ROW_BLOCKS if len(blocks) == 1 else TILE_BLOCKS
    for name in blocks:
        constexprs[name] = draw.choice(sizes)
    ones = unit_strides(subject.file).get(subject.kernel, [])
    constexprs |= {name: 1 for name in ones if signature.types.get(name, "").startswith("i")}
    types = {name: kind for name, kind in signature.types.items() if name not in constexprs}
    return {
        "file": subject.file,
        "kernel": subject.kernel,
        "types": types,
        "constexprs": constexprs,
        "target": target,
        "warps": warps,
        "stages": stages,
    }


def sizes_of(point: dict[str, object]) -> str:
    """The point as `--sizes` takes it."""
    types: dict[str, str] = point["types"]  # type: ignore[assignment]
    constexprs: dict[str, object] = point["constexprs"]  # type: ignore[assignment]
    parts = [f"{n}={t[1:].replace('fp', 'f')}" for n, t in types.items() if t.startswith("*")]
    parts += [f"{n}={str(v).removeprefix('tl.')}" for n, v in constexprs.items()]
    parts += ["grid=1", f"num_warps={point['warps']}", f"num_stages={point['stages']}"]
    return ",".join(parts)


def estimated(point: dict[str, object]) -> dict[str, float] | None:
    """What `--cost` says of the point: {"shared_bytes", "registers"}; None where it does not know."""
    program = Path(os.environ.get("TAD_BIN", REPOSITORY / "build")) / "tad-lsp"
    target = f"{point['file']}:{point['kernel']}"
    command = [str(program), "--cost", target, "--sizes", sizes_of(point)]
    command += ["--card", CARDS[int(str(point["target"]))], "--format", "json"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, timeout=60)
    if run.returncode != 0:
        return None
    return json.loads(run.stdout)["kernels"][0]["launch"]["footprint"]


class Compiler:
    """Answers of Triton, kept from run to run."""

    def __init__(self) -> None:
        self.cubins = tempfile.TemporaryDirectory(prefix="triton-cache-")
        self.worker = make_worker(self.cubins)
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        self.folder = Path(home) / "tad-lsp" / "footprints"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.release = importlib.metadata.version("triton")

    def kept(self, point: dict[str, object]) -> Path:
        """Where its answer is, or will be."""
        text = (REPOSITORY / str(point["file"])).read_text(encoding="utf-8")
        key = json.dumps([self.release, text, point], sort_keys=True)
        return self.folder / (hashlib.sha256(key.encode()).hexdigest() + ".json")

    def measured(self, point: dict[str, object]) -> dict[str, object]:
        """{"shared", "registers", "frame", "ttgir"}, or {"error"}."""
        place = self.kept(point)
        if place.exists():
            return json.loads(place.read_text(encoding="utf-8"))
        request = {key: value for key, value in point.items() if key != "file"}
        try:
            path = str(REPOSITORY / str(point["file"]))
            answer = self.worker.call("measure_here", timeout=SECONDS, path=path, **request)
        except WorkerDied as death:
            self.worker = make_worker(self.cubins)
            answer = {"error": str(death)}
        place.write_text(json.dumps(answer), encoding="utf-8")
        return answer


def main() -> None:
    """Writes the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    limit = options.limit
    compiler, rows, broken = Compiler(), [], set()
    everything = sorted(subjects(), key=lambda subject: digest(subject, 0))[:limit]
    points = [(subject, round_) for subject in everything for round_ in range(ROUNDS)]
    for subject, round_ in sorted(points, key=lambda point: digest(*point)):
        # What fails twice takes what this cannot guess.
        if sum(key == (subject.file, subject.kernel) for key, _ in broken) > 1:
            continue
        point = point_of(subject, round_)
        answer = compiler.measured(point)
        if "error" in answer:
            broken.add(((subject.file, subject.kernel), round_))
            print(f"{subject.file}:{subject.kernel}: {answer['error'][:120]}", file=sys.stderr)
            continue
        measured = {key: answer[key] for key in ("shared", "registers", "frame")}
        rows.append({**point, **measured})
        print(f"{len(rows)} {subject.kernel} {measured}", file=sys.stderr, flush=True)
    write(compiler.release, rows[:: options.every])


def write(release: str, rows: list[dict[str, object]]) -> None:
    """The table, a point a line."""
    lines = ",\n".join(json.dumps(row) for row in rows)
    head = f'"triton": "{release}", "command": "python tests/triton/footprint.py --every 2"'
    TABLE.write_text(f'{{{head}, "points": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
