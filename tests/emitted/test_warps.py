"""Backward kernels that stream large tiles get more warps, unless the forward's launch or tuner says how many."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.emitted.plan import ROOT, helper_texts, tad

KERNEL = """import torch
import triton
import triton.language as tl


{decorator}@triton.jit
def square(x_ptr, y_ptr, n, m, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    j = tl.arange(0, BLOCK)
    inside = (i[:, None] < n) & (j[None, :] < m)
    x = tl.load(x_ptr + i[:, None] * m + j[None, :], mask=inside, other=0.0)
    tl.store(y_ptr + i[:, None] * m + j[None, :], x * x, mask=inside)


def launch(x):
    n, m = x.shape
    y = torch.empty_like(x)
    block = triton.next_power_of_2(m)
    square[(triton.cdiv(n, 4),)](x, y, n, m{arguments})
    return y
"""
LOADED = "x_ptr, dy_ptr"
TUNED = "@triton.autotune([triton.Config({}, num_warps=4)], key=['n'])\n"
CASES = {
    "computed": ("", ", BLOCK=block, ROWS=4", f"num_warps=_warps(BLOCK * ROWS, {LOADED})"),
    "large": ("", ", 2048, 4", f"num_warps=_warps(BLOCK * ROWS, {LOADED})"),
    "together": ("", ", 1024, 4", f"num_warps=_warps(BLOCK * ROWS, {LOADED})"),
    "small": ("", ", 512, 4", None),
    "said": ("", ", BLOCK=block, ROWS=4, num_warps=8", None),
    "tuned": (TUNED, ", BLOCK=block, ROWS=4", None),
}


class Tensor:
    """Of elements of so many bytes."""

    def __init__(self, size: int) -> None:
        self.element_size = lambda: size


TORCH = SimpleNamespace(Tensor=Tensor)


@pytest.mark.parametrize("name", CASES)
def test_warps_follow_the_tile(name: str, tmp_path: Path) -> None:
    decorator, arguments, expected = CASES[name]
    path = tmp_path / "kernels.py"
    path.write_text(KERNEL.format(decorator=decorator, arguments=arguments))
    run = tad("--backward", "--no-proof", path)
    assert run.returncode == 0, run.stderr
    if not expected:
        assert "=_warps(" not in run.stdout
        return
    said = re.sub(r"\s+", " ", run.stdout).replace("ROWS * BLOCK", "BLOCK * ROWS")
    assert expected in said or expected.replace(LOADED, "dy_ptr, x_ptr") in said
    start = run.stdout.index("def _warps")
    names: dict = {"torch": TORCH}
    exec(run.stdout[start : run.stdout.index("\n\n\n", start)], names)
    sizes = [128, 256, 1024, 4096, 8192, 16384, 1 << 20]
    warps = names["_warps"]
    assert [warps(size) for size in sizes] == [1, 2, 4, 4, 8, 16, 16]
    two, four = Tensor(2), Tensor(4)
    assert [warps(size, two, two, None) for size in sizes] == [1, 2, 4, 4, 8, 16, 16]
    assert [warps(size, four, four) for size in sizes] == [1, 2, 4, 8, 16, 16, 16]
    assert warps(4096, two, two, two, two) == 8


def test_bytes_beside_wider_elements_get_more_warps() -> None:
    """A sweep over rows that loads a mask takes the forward's warps, or one for 512 bytes of the widest tile."""
    run = tad("--backward", "--no-proof", ROOT / "bench" / "gpu" / "style" / "unseen.py")
    said = re.sub(r"\s+", " ", run.stdout)
    tensors = "s_ptr, dy_ptr, ds_ptr, keep_ptr"
    assert f'"num_warps": _byte_warps( BLOCK, {tensors}, **ctx.options ), }}' in said
    names: dict = {"torch": SimpleNamespace(Tensor=Tensor, version=SimpleNamespace(hip=None))}
    exec(helper_texts(run.stdout, "_byte_warps", "_warps", "_stages"), names)
    warps, stages, one, two = names["_byte_warps"], names["_stages"], Tensor(1), Tensor(2)
    assert warps(4096, two, one, two, num_warps=8, num_stages=3) == 16
    assert warps(1024, two, one) == 4
    assert warps(1024, two, one, num_warps=8) == 8
    assert warps(8192, two, two, num_warps=2) == 2, "there is no mask of bytes"
    assert (stages(4096, two, two, one, two, two), stages(4096, *[two] * 5)) == (3, 1)


HALVES = """import torch
import triton
import triton.language as tl


@triton.jit
def turn(x_ptr, c_ptr, y_ptr, T, H: tl.constexpr, D: tl.constexpr):
    token = tl.program_id(0)
    half = tl.arange(0, D // 2)
    c = tl.load(c_ptr + token % T * D + half)
    for h in range(H):
        base = (token * H + h) * D
        a = tl.load(x_ptr + base + half)
        b = tl.load(x_ptr + base + D // 2 + half)
        tl.store(y_ptr + base + half, a * c - b)
        tl.store(y_ptr + base + D // 2 + half, b * c + a)


def launch(x, c):
    B, T, H, D = x.shape
    y = torch.empty_like(x)
    turn[(B * T,)](x, c, y, T, H, D)
    return y
"""


def test_half_of_a_head_has_the_warps_that_it_fills(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(HALVES)
    run = tad("--backward", path)
    assert "gradients proved" in run.stderr
    assert "num_warps=_warps(D // 2, " in run.stdout
    names: dict = {"torch": TORCH}
    exec(helper_texts(run.stdout, "_warps"), names)
    assert names["_warps"](64, Tensor(2), Tensor(2)) == 1


SCATTERED = """import torch
import triton
import triton.language as tl


@triton.jit
def moved(x_ptr, i_ptr, y_ptr, n, D, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < D
{loads}
    tl.store(y_ptr + row * D + at, y, mask=mask)


def launch(x, index):
    n, D = x.shape
    y = torch.empty_like(x)
    moved[(n,)](x, index, y, n, D, BLOCK=1024)
    return y
"""
LOOKED_UP = "    {name} = tl.load(x_ptr + tl.load(i_ptr + {k} * D + at, mask=mask, other=0), mask=mask, other=0.0)\n"
ADDED = {
    "elements": (LOOKED_UP.format(name="y", k="row"), "_warps(8 * BLOCK, i_ptr, dy_ptr)"),
    "elements four times": (
        "".join(LOOKED_UP.format(name=f"y{k}", k=f"({k} * n + row)") for k in range(4))
        + "    y = y0 + y1 + y2 + y3\n",
        "_warps(16 * BLOCK, i_ptr, i_ptr, i_ptr, i_ptr, dy_ptr)",
    ),
    # lanes go on by one
    "rows": (
        "    y = tl.load(x_ptr + tl.load(i_ptr + row) * D + at, mask=mask, other=0.0)\n",
        None,
    ),
    # what lanes wait for is each other
    "with a sum": (
        LOOKED_UP.format(name="x", k="row") + "    y = x / tl.sum(x * x, axis=0)\n",
        None,
    ),
}


@pytest.mark.parametrize("name", ADDED)
def test_lanes_that_add_here_and_there_are_few_a_thread(name: str, tmp_path: Path) -> None:
    loads, wanted = ADDED[name]
    file = tmp_path / "moved.py"
    file.write_text(SCATTERED.format(loads=loads.rstrip("\n")))
    run = tad("--backward", "--no-proof", file)
    assert run.returncode == 0, run.stderr
    said = re.sub(r"\s+", " ", run.stdout).replace("_warps( ", "_warps(").replace(", )", ")")
    assert "tl.atomic_add(" in said
    assert (f"num_warps={wanted}" in said) if wanted else (" * BLOCK, " not in said), said
