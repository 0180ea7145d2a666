"""Kernels that overflow, nest, contradict themselves and lie at the edge of a limit, under the address sanitizer."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.edges import EDGES, OF_STEPS, SAID, edge_file, limits
from tests.support.hostile import Hostile

ROOT = Path(__file__).resolve().parents[1]
BIN_DEV = Path(os.environ.get("TAD_BIN_DEV", ROOT / "build-dev")).resolve()
HANG = 300  # seconds; some 50 times what it takes
ENVIRONMENT = {**os.environ, "UBSAN_OPTIONS": "halt_on_error=1"}


def run(*arguments: object) -> str:
    done = subprocess.run(
        [BIN_DEV / "tad-lsp", *map(str, arguments)],
        capture_output=True,
        timeout=HANG,
        check=False,
        env=ENVIRONMENT,
    )
    said = (done.stdout + done.stderr).decode(errors="replace")
    assert done.returncode in (0, 1, 2), said
    for complaint in ("AddressSanitizer", "runtime error", "internal-error", "crashed"):
        assert complaint not in said, said[-4000:]
    return said


def softmax(rank: int) -> str:
    """A softmax along the last of so many axes."""
    index = ", ".join(["None"] * (rank - 1) + [":"])
    shared = f"axis={rank - 1}, keep_dims=True"
    return (
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
        "def k(x_ptr, y_ptr, n, B: tl.constexpr):\n"
        f"    i = tl.arange(0, B)[{index}]\n    m = i < n\n"
        "    x = tl.load(x_ptr + i, mask=m, other=0.0)\n"
        f"    e = tl.exp(x - tl.max(x, {shared}))\n"
        f"    tl.store(y_ptr + i, e / tl.sum(e, {shared}), mask=m)\n"
    )


@pytest.mark.parametrize("rank", range(1, 13))
def test_tiles_of_many_axes(rank, tmp_path):
    path = tmp_path / "axes.py"
    path.write_text(softmax(rank))
    run("--backward", "--no-proof", path)


@pytest.mark.parametrize("seed", range(3))
def test_hostile_kernels(seed, tmp_path):
    for i in range(20):
        (tmp_path / f"kernel_{i}.py").write_text(Hostile(100 * seed + i).text())
    run("--check", tmp_path, "--grad", "--time-limit", 1)


def test_tiles_of_many_axes_in_the_editor(tmp_path):
    path = tmp_path / "axes.py"
    path.write_text(softmax(7))
    run("--self-check", path)


def test_each_limit_has_kernels_at_its_edge():
    assert set(limits()) == set(EDGES) | OF_STEPS
    assert set(SAID) <= set(EDGES)


@pytest.fixture(scope="module")
def edges(tmp_path_factory):
    """A file for each limit."""
    folder = tmp_path_factory.mktemp("edges")
    for name in EDGES:
        (folder / f"{name}.py").write_text(edge_file(name))
    return folder


@pytest.mark.sampled(0.25)
@pytest.mark.parametrize("name", EDGES)
def test_at_the_edge_of_a_limit(name, edges):
    """No crash, no gradient that its proof finds wrong, and where something is missing, it is said."""
    said = run("--check", edges / f"{name}.py", "--grad", "--time-limit", 1)
    assert "gradient-wrong" not in said, said
    assert re.search(SAID.get(name, ""), said, re.DOTALL), said
    run("--backward", "--no-proof", edges / f"{name}.py")


ASKED_IN_THE_EDITOR = EDGES if os.environ.get("TAD_ALL_EDGES") else ("BRACKETS_MOST_NESTED",)


@pytest.mark.parametrize("name", ASKED_IN_THE_EDITOR)
def test_in_the_editor_at_the_edge_of_a_limit(name, edges):
    run("--self-check", edges / f"{name}.py")


WILD = """import torch
import triton
import triton.language as tl


@triton.jit
def f(a, b):
    return a + b


@triton.jit
def wide(x_ptr, y_ptr, n, B: tl.constexpr):
    o = tl.arange(0, 4)
    x = tl.load(x_ptr + o, mask=o < n, other=0.0)
    s = tl.broadcast_to(tl.sum(x, axis=0), (2097152, 1048576, 1048576))
    tl.store(y_ptr + o, x * tl.sum(tl.sum(tl.sum(s, 0), 0), 0), mask=o < n)


@triton.jit
def blocks(x_ptr, y_ptr, n, B: tl.constexpr):
    p = tl.make_block_ptr(x_ptr, (n, n), (n, 1), (0, 0), (2147483648, 1073741824), (1, 0))
    x = tl.load(p)
    tl.store(y_ptr, tl.sum(tl.sum(x, 0), 0))


@triton.jit
def none(x_ptr, y_ptr, n, B: tl.constexpr):
    o = tl.arange(0, 4)
    x = tl.load(x_ptr + o, mask=o < n, other=0.0)
    r = tl.reduce((), 0, f)
    tl.store(y_ptr + o, x * 2.0, mask=o < n)


@triton.jit
def far(x_ptr, y_ptr, n, B: tl.constexpr):
    o = tl.arange(-(1 << 63), 1 << 62)
    x = tl.load(x_ptr + o, mask=o < n, other=0.0)
    tl.store(y_ptr + o, x * 2.0, mask=o < n)


@triton.jit
def turned(x_ptr, y_ptr, n, B: tl.constexpr):
    o = tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :]
    x = tl.load(x_ptr + o)
    tl.store(y_ptr + o, tl.permute(x, (0, 5)) + tl.permute(x, (0, 0)))


def launch(x):
    x = x.reshape(1, 1, 1, 1, 1, 1, -1)
    z = x[..., ..., ..., None, ..., None]
    w = torch.empty((x.shape[6], 1 << 40, 1 << 40, 1 << 40))
    n = 0b1111111111111111111111111111111111111111111111111111111111111111111111111
    wide[(1,)](z, w, n, B=4)
    return w
"""


def test_sizes_beyond_all_memory(tmp_path):
    path = tmp_path / "wild.py"
    path.write_text(WILD)
    run("--check", path, "--grad", "--time-limit", 1)
    run("--backward", "--no-proof", path)
    run("--self-check", path)
