"""A loop that only sums what an earlier one loads, too, becomes part of that: a row is walked twice, not thrice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emitted.plan import proved_module

TEXT = """import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, g, y, n, eps, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    scale = tl.load(g + row)
    total = 0.0
    for start in range(0, n, B):
        at = start + c
        a = tl.load(x + row * n + at, mask=at < n, other=0.0)
        total += tl.sum(a)
    mean = total / n
    squares = 0.0
    for start in range(0, n, B):
        at = start + c
        a = tl.load(x + row * n + at, mask=at < n, other=0.0)
        d = tl.where(at < n, a - mean, 0.0)
        squares += tl.sum(d * d)
    rstd = 1 / tl.sqrt(squares / n + eps)
    for start in range(0, n, B):
        at = start + c
        a = tl.load(x + row * n + at, mask=at < n, other=0.0)
        tl.store(y + row * n + at, tl.sin((a - mean) * rstd) * scale, mask=at < n)


def run(x, g, eps):
    rows, n = x.shape
    y = torch.empty_like(x)
    kernel[(rows,)](x, g, y, n, eps, B=16)
    return y
"""
NONE = ("", "")


def loops(text: str) -> int:
    """Loops of the kernel that stores the gradient of x, beside those that repeat the forward's."""
    kernel = text.split("def kernel_backward(")[1].split("\n\n\n")[0]
    return kernel.count("# back through the loop")


@pytest.mark.parametrize(
    "change",
    [
        NONE,
        ("d * d)", "-d * d)"),
        ("tl.where(at < n, a - mean, 0.0)", "tl.where(at < n, (a - mean) * 0.5, 0.0)"),
    ],
)
def test_two_loops_are_left(change: tuple[str, str], tmp_path: Path) -> None:
    assert change[0] in TEXT
    assert loops(proved_module(tmp_path, TEXT.replace(*change))) == 2


@pytest.mark.parametrize(
    "change",
    [
        # lanes that count are told by memory: there may be none, where the factor is no number
        ("tl.where(at < n, a - mean, 0.0)", "tl.where(a > 0.25, a - mean, 0.0)"),
        # the mean's gradient is read outside of the loops
        ("mean = total / n", "mean = total / n + scale"),
        ("total = 0.0", "total = scale.to(tl.float32)"),
    ],
)
def test_three_loops_stay(change: tuple[str, str], tmp_path: Path) -> None:
    assert change[0] in TEXT
    assert loops(proved_module(tmp_path, TEXT.replace(*change))) == 3


PLANES = """import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, N, C, n, eps, B: tl.constexpr):
    channel = tl.program_id(0)
    c = tl.arange(0, B)
    total = 0.0
    for image in range(N):
        base = x + (image * C + channel) * n
        for start in range(0, n, B):
            total += tl.sum(tl.load(base + start + c, mask=start + c < n, other=0.0))
    mean = total / (N * n)
    squares = 0.0
    for image in range({images}):
        base = x + (image * C + channel) * n
        for start in range(0, n, B):
            a = tl.load(base + start + c, mask=start + c < n, other=0.0)
            d = tl.where(start + c < n, {difference}, 0.0)
            squares += tl.sum(d * d)
    rstd = 1 / tl.sqrt(squares / (N * n) + eps)
    for image in range(N):
        at = (image * C + channel) * n
        for start in range(0, n, B):
            a = tl.load(x + at + start + c, mask=start + c < n, other=0.0)
            tl.store(y + at + start + c, tl.sin((a - mean) * rstd), mask=start + c < n)


def run(x, eps):
    N, C, n = x.shape
    y = torch.empty_like(x)
    kernel[(C,)](x, y, N, C, n, eps, B=16)
    return y
"""


@pytest.mark.parametrize(
    ("images", "difference", "count"),
    [
        ("N", "a - mean", 4),
        # other images are read
        ("N - 1", "a - mean", 6),
        # what is known late is no factor
        ("N", "tl.sin(a - mean)", 4),
    ],
)
def test_loops_within_loops(images: str, difference: str, count: int, tmp_path: Path) -> None:
    text = PLANES.format(images=images, difference=difference)
    assert loops(proved_module(tmp_path, text).replace("kernel_backward_whole", "")) == count
