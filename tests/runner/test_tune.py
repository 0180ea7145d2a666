"""`--tune`: the search for blocks, warps and stages.

A stand-in for the driver (tests/standin/launches.c) says which launch is the fastest, and which is wrong."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.runner.test_protocol import BIN, HEAD
from tests.runner.test_times import cache, launches, variables  # noqa: F401

LIST = """[
        triton.Config({"BLOCK": 1024}, num_warps=4),
        triton.Config({'BLOCK': 512}, num_warps=4),
    ]"""
LINE = "# tad time: X=f32[n], Y=f32[n], n=262144, BLOCK=1024, grid=(cdiv(n, BLOCK),), num_warps=4"
SQUARES = f"""{HEAD}
{LINE}
@triton.autotune(
    configs={LIST},
    key=["n"],
)
@triton.jit
def squares(X, Y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n)
    tl.store(Y + at, x * x, mask=at < n)
"""


@dataclass
class Machine:
    """A folder with a file, and the program in it."""

    folder: Path
    variables: dict[str, str]

    def write(self, text: str) -> None:
        (self.folder / "k.py").write_text(text)

    def tune(self, *arguments: str, **stand_in: str) -> subprocess.CompletedProcess[str]:
        worker = self.folder / "worker"
        words = " ".join(f"STAND_IN_{name.upper()}={value}" for name, value in stand_in.items())
        note = f"echo $$ >> {self.folder}/workers\n"
        worker.write_text(f'#!/bin/sh\n{note}{words} exec {BIN}/tad-runner "$@"\n')
        worker.chmod(0o755)
        command = [str(BIN / "tad-lsp"), "--tune", *arguments, "--python", sys.executable]
        return subprocess.run(
            [*command, "--runner", str(worker)],
            env={**os.environ, **self.variables},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=600,
        )


@pytest.fixture
def machine(launches: str, cache: Path, tmp_path: Path) -> Machine:  # noqa: F811
    made = Machine(tmp_path, variables(launches, cache))
    made.write(SQUARES)
    return made


def test_the_fastest_is_found_and_written(machine: Machine) -> None:
    run = machine.tune("k.py", best="256", wrong="512")
    assert run.returncode == 0, run.stderr
    assert "squares on a stand-in, Triton 3." in run.stdout
    assert "0.25 ms (0.25 to 0.25)   2.00x  BLOCK=2048, num_warps=8" in run.stdout
    assert (
        "dropped: BLOCK=2048, num_warps=16: its result differs: `Y` has 0.747059 at element 0, not 0"
        in run.stdout
    )
    assert '+        triton.Config({"BLOCK": 2048}, num_warps=8),\n' in run.stdout
    assert (machine.folder / "k.py").read_text() == SQUARES, "nobody asked to write"
    assert "--write writes it" in run.stderr
    run = machine.tune("k.py:squares", "--write", "--top-k", "1", "-q", best="256")
    assert (run.returncode, run.stderr) == (0, "")
    written = (machine.folder / "k.py").read_text()
    best = '[\n        triton.Config({"BLOCK": 2048}, num_warps=8),\n    ]'
    assert written == SQUARES.replace(LIST, best)
    ast.parse(written)


def test_what_does_not_fit_is_not_tried(machine: Machine) -> None:
    machine.write(SQUARES.replace("BLOCK=1024", "BLOCK=256").replace("1024}", "256}"))
    run = machine.tune("k.py", "-q", best="64")
    assert run.returncode == 0
    # 16 warps have 512 threads, and the tile 256 elements; so have 32, 64 and 128 with four warps and more.
    assert "not tried as their tiles do not fit" in run.stdout
    assert "num_warps=16" not in run.stdout and "num_warps=2" in run.stdout


MATMUL = f"""{HEAD}
# tad time: A=f16[N, N], B=f16[N, N], C=f32[N, N], N=256, BLOCK=64, LANES=1, STEP=32, grid=(cdiv(N, BLOCK), 4)
@triton.autotune(configs=[triton.Config({{"BLOCK": 64, "STEP": 32, "LANES": 1}})], key=[])
@triton.jit
def product(A, B, C, N, BLOCK: tl.constexpr, STEP: tl.constexpr, LANES: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, N, STEP):
        inner = k + tl.arange(0, STEP)
        a = tl.load(A + rows[:, None] * N + inner[None, :])
        b = tl.load(B + inner[:, None] * N + columns[None, :])
        total += tl.dot(a, b)
    tl.store(C + rows[:, None] * N + columns[None, :], total * LANES)
"""


def test_loops_have_stages_and_other_numbers_stay(machine: Machine) -> None:
    machine.write(MATMUL)
    run = machine.tune("k.py", "-q", "--top-k", "1", best="256")
    assert run.returncode == 0, run.stderr
    assert "num_warps=8, num_stages=1" in run.stdout
    best = r'"STEP": \d+, "LANES": 1}, num_warps=8, num_stages=\d\),\n\+\], key=\[\]\)\n'
    assert re.search(best, run.stdout)


ROWS = f"""{HEAD}
# tad time: X=f32[M, N], Y=f32[M], M=2048, N=1000, {{line}}grid=({{grid}},)
@triton.jit
def rows(X, Y, {{parameters}}):
    row = tl.program_id(0)
    {{body}}
    tl.store(Y + row, total)
"""
ONE = {
    "grid": "M",
    "line": "BLOCK=1024, ",
    "parameters": "N, BLOCK: tl.constexpr",
    "body": "at = tl.arange(0, BLOCK)\n"
    "    total = tl.sum(tl.load(X + row * N + at, mask=at < N, other=0.0))",
}
LOOP = {
    **ONE,
    "body": "total = 0.0\n"
    "    for k in range(0, N, BLOCK):\n"
    "        at = k + tl.arange(0, BLOCK)\n"
    "        total += tl.sum(tl.load(X + row * N + at, mask=at < N, other=0.0))",
}
HEAD_DIM = {
    "grid": "M",
    "line": "N_HEADS=32, HEAD_DIM=32, BLOCK=16, ",
    "parameters": "N, N_HEADS, HEAD_DIM: tl.constexpr, BLOCK: tl.constexpr",
    "body": "total = 0.0\n"
    "    inner = tl.arange(0, HEAD_DIM)\n"
    "    for k in range(0, N_HEADS, BLOCK):\n"
    "        at = k + tl.arange(0, BLOCK)\n"
    "        ptrs = X + row * N + at[:, None] * HEAD_DIM + inner[None, :]\n"
    "        mask = at[:, None] * HEAD_DIM + inner[None, :] < N\n"
    "        total += tl.sum(tl.load(ptrs, mask=mask, other=0.0))",
}
MEAN = {**LOOP, "body": LOOP["body"] + "\n    total = total / BLOCK"}
NORM = {
    **LOOP,
    "body": "sums = tl.zeros([BLOCK], dtype=tl.float32)\n"
    "    for k in range(0, N, BLOCK):\n"
    "        at = k + tl.arange(0, BLOCK)\n"
    "        sums += tl.load(X + row * N + at, mask=at < N, other=0.0)\n"
    "    total = tl.sum(sums, axis=0) / N",
}
EXTENT = {**LOOP, "line": "BLOCK=512, W=f32[BLOCK], ", "parameters": "N, W, BLOCK: tl.constexpr"}


@pytest.mark.sampled(0.35)
@pytest.mark.parametrize(
    ("words", "stays", "is_free"),
    [
        (ONE, "BLOCK stays 1024: no loop goes by it, and the grid of the line does not", False),
        (LOOP, None, True),
        (NORM, None, True),
        (HEAD_DIM, "HEAD_DIM stays 32: places or results are scaled by it", True),
        (MEAN, "BLOCK stays 1024: places or results are scaled by it", False),
        (EXTENT, "BLOCK stays 512: it is an extent of `W`", False),
    ],
)
def test_what_is_no_free_size_stays(
    words: dict[str, str],
    stays: str | None,
    is_free: bool,
    machine: Machine,
) -> None:
    machine.write(ROWS.format(**words))
    run = machine.tune("k.py", "-q")
    assert run.returncode == 0, run.stderr
    if stays:
        assert stays in run.stdout
    else:
        assert "stays" not in run.stdout
    assert (len(set(re.findall(r"\bBLOCK=\d+, num_warps", run.stdout))) > 1) == is_free
    assert not re.search(r" ms .*HEAD_DIM=", run.stdout)


LAUNCHED = (
    SQUARES.replace(SQUARES[SQUARES.index("@triton.autotune") : SQUARES.index("@triton.jit")], "")
    + """

{above}def squares_of(x):
    y = torch.empty_like(x)
    n = x.numel()
    {before}
    squares[{grid}](x, y, n, {arguments})
    return y
"""
)
PLAIN = {
    "above": "",
    "before": 'grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)',
    "grid": "grid",
    "arguments": "BLOCK=1024",
}
NAMED = {
    "above": "SIZE = 1024\n\n\n",
    "before": "warps = 4",
    "grid": "(triton.cdiv(n, SIZE),)",
    "arguments": "SIZE, num_warps=warps",
}


@pytest.mark.sampled(0.3)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (PLAIN, {"arguments": "BLOCK=2048, num_warps=8"}),
        ({**PLAIN, "arguments": "1024, num_warps=4"}, {"arguments": "2048, num_warps=8"}),
        (NAMED, {"above": "SIZE = 2048\n\n\n", "before": "warps = 8"}),
        (
            {**NAMED, "above": "", "before": "SIZE = 1024", "arguments": "BLOCK=SIZE"},
            {"before": "SIZE = 2048", "arguments": "BLOCK=SIZE, num_warps=8"},
        ),
    ],
)
def test_a_launch_that_passes_its_blocks_is_written(
    before: dict[str, str], after: dict[str, str], machine: Machine
) -> None:
    machine.write(LAUNCHED.format(**before))
    run = machine.tune("k.py", "--write", "-q", best="256")
    assert (run.returncode, run.stderr) == (0, "")
    assert (machine.folder / "k.py").read_text() == LAUNCHED.format(**{**before, **after}), (
        run.stdout
    )


@pytest.mark.sampled(0.3)
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"grid": "(triton.cdiv(n, 1024),)"}, "the grid of the launch does not follow `BLOCK`"),
        ({"arguments": "BLOCK=pick(n)"}, "the launch passes `pick(n)` for `BLOCK`"),
        ({"arguments": "BLOCK=1024, **more"}, "the launch spreads arguments"),
        (
            {"arguments": "BLOCK=1024)\n    squares[grid](y, y, n, BLOCK=1024"},
            "several launches of this file pass them",
        ),
        (
            {**NAMED, "above": "SIZE = 1024\n\n\ndef other():\n    return SIZE\n\n\n"},
            "`SIZE` is used elsewhere, too",
        ),
        ({**NAMED, "above": "SIZE = 1024\nSIZE += 0\n\n\n"}, "`SIZE` is not bound to one number"),
        ({**NAMED, "above": "", "before": "SIZE = 1 << 10"}, "`SIZE` is not bound to one number"),
        ({"before": "for grid in grids():\n        pass"}, "does not follow `BLOCK`"),
    ],
)
def test_a_launch_that_is_not_understood_stays(
    change: dict[str, str], says: str, machine: Machine
) -> None:
    text = LAUNCHED.format(**{**PLAIN, **change})
    machine.write(text)
    run = machine.tune("k.py", "--write", "-q", best="256")
    assert run.returncode == 0, run.stderr
    assert says in run.stdout
    assert (machine.folder / "k.py").read_text() == text


@pytest.mark.sampled(0.3)
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (SQUARES.replace(LIST, "make()"), "says more than numbers, warps and stages"),
        (SQUARES.replace("num_warps=4),", "num_warps=4, num_ctas=2),"), "says more than numbers"),
        (SQUARES.replace("'BLOCK': 512", "'BLOCK': 512, 'ODD': 1"), "says more than numbers"),
        (SQUARES.replace("autotune", "heuristics"), "is under no `@triton.autotune`"),
    ],
)
def test_a_list_that_is_not_understood_stays(text: str, says: str, machine: Machine) -> None:
    machine.write(text)
    run = machine.tune("k.py", "-q", "--write", "--top-k", "1", best="256")
    assert run.returncode == 0, run.stderr
    assert says in run.stdout
    assert '[\n    triton.Config({"BLOCK": 2048}, num_warps=8),\n]' in run.stdout
    assert (machine.folder / "k.py").read_text() == text


def test_nothing_is_written_where_nothing_is_faster(machine: Machine) -> None:
    run = machine.tune("k.py", "--write", "-q")
    assert run.returncode == 0
    assert "nothing is faster than the kernel as it is" in run.stdout
    assert "triton.Config" not in run.stdout
    assert (machine.folder / "k.py").read_text() == SQUARES


def test_a_gpu_that_fails_at_one_variant(machine: Machine) -> None:
    """The worker is started anew, and the others are tried."""
    run = machine.tune("k.py", "-q", fail="cuLaunchKernelEx:700:2950", best="256")
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("CUDA_ERROR_ILLEGAL_ADDRESS") >= 1
    assert "2.00x  BLOCK=2048, num_warps=8" in run.stdout


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (SQUARES.replace(LINE, "# no line"), "the sizes to tune for are not said"),
        (SQUARES.replace("x * x", "x * missing"), "missing"),
        ("", "the sizes to tune for are not said"),
    ],
)
def test_what_cannot_be_tuned_is_said(text: str, says: str, machine: Machine) -> None:
    machine.write(text)
    run = machine.tune("k.py")
    assert run.returncode == 2 and says in run.stderr
    assert run.stderr.count("\n") == 1


def test_wrong_use(machine: Machine) -> None:
    run = machine.tune("k.py", "--write", "--diff")
    assert run.returncode == 2 and "--write and --diff: give one of them" in run.stderr
    run = machine.tune("k.py:nobody")
    assert run.returncode == 2 and "has no forward kernel `nobody`" in run.stderr


def test_without_a_gpu(machine: Machine) -> None:
    machine.variables["TAD_LIBCUDA"] = "/nowhere.so"
    run = machine.tune("k.py")
    assert run.returncode == 2 and "TAD_LIBCUDA names no library" in run.stderr
    assert run.stderr.count("\n") == 1


# Rows that share weights: the gradient of these is summed by programs of their own, with stages.
WEIGHTED = f"""{HEAD}
# tad time: X=f32[M, N], W=f32[N], Y=f32[M, N], M=256, N=8192, BLOCK=8192, grid=(M,)
@triton.jit
def weighted(X, W, Y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(X + row * N + at, mask=at < N, other=0.0)
    w = tl.load(W + at, mask=at < N, other=0.0)
    tl.store(Y + row * N + at, x * w, mask=at < N)


def scale(x, w):
    y = torch.empty_like(x)
    weighted[(x.shape[0],)](x, w, y, x.shape[1], BLOCK=8192{{options}})
    return y
"""


def module_of(machine: Machine, text: str) -> Path:
    """The backward's module, written."""
    machine.write(text if "import torch" in text else "import torch\n" + text)
    module = machine.folder / "k_backward.py"
    command = [str(BIN / "tad-lsp"), "--backward", "k.py", "-o", module.name, "--no-proof", "-q"]
    subprocess.run(command, cwd=machine.folder, check=True)
    return module


@pytest.mark.parametrize(
    ("options", "before", "after"),
    [
        ("", "num_warps=_warps(BLOCK, ", "num_warps=8"),
        (", num_warps=4", "**ctx.options", '**{**ctx.options, "num_warps": 8}'),
    ],
)
def test_a_backward_is_tuned_in_its_module(
    options: str, before: str, after: str, machine: Machine
) -> None:
    text = WEIGHTED.format(options=options)
    module = module_of(machine, text)
    derived = module.read_text()
    kernels = re.findall(r"^def (weighted_backward\w*)", derived, re.M)
    assert kernels and before in derived
    run = machine.tune("k.py:weighted", "--module", module.name, "-q", best="256")
    assert run.returncode == 0, run.stderr
    for kernel in kernels:
        assert f"{kernel} on a stand-in" in run.stdout
    assert "2.00x" in run.stdout and after in run.stdout
    assert module.read_text() == derived, "nobody asked to write"
    run = machine.tune("k.py:weighted", "--module", module.name, "-q", "--write", best="256")
    written = module.read_text()
    assert (
        written.count(after) == len(kernels)
        and f" {before}" not in written.split("def backward")[1]
    )
    ast.parse(written)
    assert (machine.folder / "k.py").read_text() == "import torch\n" + text
    run = machine.tune("k.py:weighted", "--module", module.name, "-q", "--write", best="256")
    assert run.returncode == 0 and module.read_text() == written, "what is pinned stays"


def test_a_backward_that_computes_something_else_is_dropped(machine: Machine) -> None:
    """The stand-in writes to the second tensor, which is the gradient."""
    module = module_of(machine, LAUNCHED.format(**PLAIN).replace("x * x", "2 * x"))
    assert re.search(r"def squares_backward\(\s*dY,\s*dX,", module.read_text())
    run = machine.tune("k.py", "--module", module.name, "-q", best="256", wrong="256")
    assert run.returncode == 0, run.stderr
    assert "dropped: num_warps=8: its result differs: `gradient X` has" in run.stdout


def test_a_module_that_is_another_is_refused(machine: Machine) -> None:
    module = module_of(machine, WEIGHTED.format(options=""))
    text = module.read_text()
    module.write_text(re.sub(r"^def (weighted_backward)\(", r"def \1_2(", text, flags=re.M))
    run = machine.tune("k.py", "--module", module.name, "-q")
    assert run.returncode == 2
    assert "k_backward.py has no kernel `weighted_backward`" in run.stderr
    body = re.search(r"    tl\.store\(.*\n", text.split("def weighted_backward(")[1])
    assert body
    module.write_text(text.replace(body.group(), "    pass\n" + body.group()))
    run = machine.tune("k.py", "--module", module.name, "-q")
    assert run.returncode == 2 and "is not what is derived from k.py now" in run.stderr
    run = machine.tune("k.py", "--module", "missing.py")
    assert run.returncode == 2 and "missing.py" in run.stderr
    run = machine.tune("k.py", "--module", module.name, "--stdin")
    assert run.returncode == 2 and "--module and --stdin: give one of them" in run.stderr


def test_others_compile_what_comes_next(machine: Machine, tmp_path: Path) -> None:
    """And one times: what is found is the same."""
    machine.variables["XDG_CACHE_HOME"] = str(tmp_path / "fresh")
    run = machine.tune("k.py", "-q", "-j", "3", best="256", wrong="512")
    assert run.returncode == 0, run.stderr
    assert len((tmp_path / "workers").read_text().split()) == 3
    alone = machine.tune("k.py", "-q", best="256", wrong="512")
    assert len((tmp_path / "workers").read_text().split()) == 4
    assert run.stdout == alone.stdout
    module = module_of(machine, LAUNCHED.format(**PLAIN))
    for jobs in ("2", "1"):
        run = machine.tune("k.py", "--module", module.name, "-q", "-j", jobs, best="256")
        assert run.returncode == 0 and ", num_warps=8\n" in run.stdout, run.stdout


def test_a_compiler_that_dies_costs_nothing(machine: Machine, tmp_path: Path) -> None:
    """Not the one that times: its fellows are killed each time."""
    machine.tune("k.py", "-q", best="256")
    worker = (tmp_path / "worker").read_text()
    first = f"[ $(wc -l < {tmp_path}/workers) -gt 1 ] && exit 3\n"
    lines = worker.splitlines(keepends=True)
    (tmp_path / "workers").unlink()
    (tmp_path / "dying").write_text("".join([*lines[:2], first, *lines[2:]]))
    (tmp_path / "dying").chmod(0o755)
    command = [str(BIN / "tad-lsp"), "--tune", "k.py", "-q", "-j", "3", "--python", sys.executable]
    run = subprocess.run(
        [*command, "--runner", str(tmp_path / "dying")],
        env={**os.environ, **machine.variables},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    assert "2.00x  BLOCK=2048, num_warps=8" in run.stdout
