"""Programs with the elements between neighbouring offsets store gradients plainly; the Function checks the offsets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emitted.plan import tad

HEAD = """import torch
import triton
import triton.language as tl


"""

# a softmax of each part; the lengths of parts are below one block
PARTS = (
    HEAD
    + """@triton.jit
def soften(x, starts, y, B: tl.constexpr):
    part = tl.program_id(0)
    first = tl.load(starts + part)
    end = tl.load(starts + part + 1)
    at = first + tl.arange(0, B)
    a = tl.load(x + at, mask=at < end, other=-float("inf"))
    e = tl.exp(a - tl.max(a, 0))
    tl.store(y + at, e / tl.sum(e, 0), mask=at < end)


def soft(x, starts):
    y = torch.empty_like(x)
    soften[(starts.shape[0] - 1,)](x, starts, y, B=64)
    return y
"""
)

# rows of features, summed over each part: lengths in the mask, and in a loop
ROWS = (
    HEAD
    + """@triton.jit
def pool(x, starts, y, D: tl.constexpr, B: tl.constexpr):
    part = tl.program_id(0)
    first = tl.load(starts + part).to(tl.int64)
    length = tl.load(starts + (part + 1)) - first
    d = tl.arange(0, D)
    total = tl.zeros([D], dtype=tl.float32)
    for b in range(0, length, B):
        r = b + tl.arange(0, B)
        at = (first + r)[:, None] * D + d[None, :]
        a = tl.load(x + at, mask=(length > r)[:, None], other=0.0).to(tl.float32)
        total += tl.sum(a * a, 0)
    tl.store(y + part * D + d, total)


def pooled(x, starts):
    y = torch.empty(starts.shape[0] - 1, 16, device=x.device)
    pool[(starts.shape[0] - 1,)](x, starts, y, D=16, B=16)
    return y
"""
)

# a sparse matrix by a vector: an element an iteration, no mask
SPARSE = (
    HEAD
    + """@triton.jit
def multiply(values, columns, starts, v, y):
    row = tl.program_id(0)
    total = 0.0
    for j in range(tl.load(starts + row), tl.load(starts + row + 1)):
        total += tl.load(values + j) * tl.load(v + tl.load(columns + j))
    tl.store(y + row, total)


def product(values, columns, starts, v):
    y = torch.empty(starts.shape[0] - 1, device=v.device)
    multiply[(starts.shape[0] - 1,)](values, columns, starts, v, y)
    return y
"""
)

# blocks of a sparse matrix: as many iterations as lie between the offsets
BLOCKS = (
    HEAD
    + """@triton.jit
def multiply(values, columns, starts, v, y, B: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, B)
    first = tl.load(starts + row)
    total = tl.zeros([B], dtype=tl.float32)
    for j in range(tl.load(starts + row + 1) - first):
        block = tl.load(values + (first + j) * B * B + lanes[:, None] * B + lanes[None, :])
        part = tl.load(v + tl.load(columns + first + j) * B + lanes)
        total += tl.sum(block.to(tl.float32) * part[None, :], 1)
    tl.store(y + row * B + lanes, total)


def product(values, columns, starts, v):
    y = torch.empty((starts.shape[0] - 1) * 4, device=v.device)
    multiply[(starts.shape[0] - 1,)](values, columns, starts, v, y, B=4)
    return y
"""
)

# sequences of several heads, in blocks of rows: the offsets are along another axis of the grid
HEADS = (
    HEAD
    + """@triton.jit
def waves(x, starts, y, row, head, D: tl.constexpr, B: tl.constexpr):
    part = tl.program_id(1)
    first = tl.load(starts + part)
    length = tl.load(starts + part + 1) - first
    r = tl.program_id(0) * B + tl.arange(0, B)
    if tl.program_id(0) * B >= length:
        return
    at = (first + r)[:, None] * row + tl.program_id(2) * head + tl.arange(0, D)[None, :]
    a = tl.load(x + at, mask=r[:, None] < length, other=0.0)
    tl.store(y + at, tl.sin(a), mask=r[:, None] < length)


def waved(x, starts, longest):
    y = torch.empty_like(x)
    grid = (triton.cdiv(longest, 8), starts.shape[0] - 1, 2)
    waves[grid](x, starts, y, x.stride(0), x.stride(1), D=4, B=8)
    return y
"""
)


def emitted(tmp_path: Path, text: str, *changes: tuple[str, str]) -> str:
    """The proved module of the text with these changes."""
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "parts.py"
    path.write_text(text)
    done = tad("--backward", path)
    assert "gradients proved" in done.stderr, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("text", "gradient", "grid"),
    [
        (PARTS, "dx", "ctx.grid[0]"),
        (ROWS, "dx", "ctx.grid[0]"),
        (SPARSE, "dvalues", "ctx.grid[0]"),
        (BLOCKS, "dvalues", "ctx.grid[0]"),
        (HEADS, "dx", "(*ctx.grid, 1, 1)[1]"),
    ],
    ids=["masked", "lengths", "loop", "blocks", "heads"],
)
def test_parts_are_stored_plainly(text: str, gradient: str, grid: str, tmp_path: Path) -> None:
    module = emitted(tmp_path, text)
    assert f"tl.store({gradient}" in module
    assert f"tl.atomic_add({gradient}" not in module
    assert f'_check_ascending("starts", starts, {grid})' in module


def test_it_is_said(tmp_path: Path) -> None:
    path = tmp_path / "parts.py"
    path.write_text(PARTS)
    said = tad("--check", "--grad", path).stdout
    assert "gradient-assumes-distinct" in said
    assert "the offsets in `starts` do not decrease" in said
    assert "gradient-atomic" not in said


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        (PARTS, [("at < end", "at <= end")]),
        (PARTS, [("first + tl.arange", "first - 1 + tl.arange")]),
        (PARTS, [("starts + part + 1", "starts + part + 2")]),
        (PARTS, [("tl.load(starts + part)", "tl.load(starts + part // 2)")]),
        (PARTS, [("x + at,", "x + at // 2,")]),
        (ROWS, [("[:, None] * D +", "[:, None] * 4 +")]),
        (ROWS, [("(length > r)[:, None]", "(d > 2)[None, :]")]),
        (BLOCKS, [("row + 1) - first", "row + 1) - first + 1")]),
        (BLOCKS, [("* B * B +", "* B * 2 +")]),
        (SPARSE, [("values + j)", "values + j + 64 - 2 * row)")]),
        (
            PARTS,
            [("@triton.jit", "@triton.autotune([triton.Config({'B': 64})], key=[])\n@triton.jit")]
            + [(", B=64)", ")")],
        ),
    ],
    ids=[
        *("the next one's first", "the last one's last", "two parts", "shared parts"),
        *(
            "elements twice",
            "rows that overlap",
            "no bound",
            "one more",
            "blocks that overlap",
            "shifted by row",
            "tuned",
        ),
    ],
)
def test_others_are_added(text: str, changes: list[tuple[str, str]], tmp_path: Path) -> None:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "parts.py"
    path.write_text(text)
    module = tad("--backward", path).stdout
    assert "_check_ascending" not in module
