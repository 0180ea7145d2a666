"""Elements that iterations of one program add to, and no other program: it adds to what it stored, without atomics."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emitted.plan import tad

HEAD = """import torch
import triton
import triton.language as tl


"""

# each row is read again for every key, in blocks of columns
AGAIN = (
    HEAD
    + """@triton.jit
def again_kernel(x, keys, y, N, R, D, B: tl.constexpr, C: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    total = tl.zeros([B], dtype=tl.float32)
    for n in range(N):
        score = tl.zeros([B], dtype=tl.float32)
        for c in range(0, D, C):
            cols = c + tl.arange(0, C)
            inside = (rows < R)[:, None] & (cols < D)[None, :]
            a = tl.load(x + rows[:, None] * D + cols[None, :], mask=inside, other=0.0)
            k = tl.load(keys + n * D + cols, mask=cols < D, other=0.0)
            score += tl.sum(tl.sin(a) * k[None, :], 1)
        total += tl.exp(score)
    tl.store(y + rows, total, mask=rows < R)


def again(x, keys):
    R, D = x.shape
    y = torch.empty(R, dtype=x.dtype, device=x.device)
    again_kernel[(triton.cdiv(R, 4),)](x, keys, y, keys.shape[0], R, D, B=4, C=4)
    return y
"""
)

# windows of a row that overlap; what they add up to is the row's
WINDOWS = (
    HEAD
    + """@triton.jit
def window_kernel(x, y, L, row, HOP: tl.constexpr, W: tl.constexpr, COUNT: tl.constexpr):
    lanes = tl.arange(0, W)
    total = 1.0
    for i in range(COUNT):
        at = i * HOP + lanes
        a = tl.load(x + tl.program_id(0) * L + at, mask=at < L, other=0.0)
        total *= 1.5 + tl.sum(tl.sin(a) * (lanes + 1))
    tl.store(y + tl.program_id(0), total)


def windows(x):
    y = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    window_kernel[(x.shape[0],)](x, y, x.shape[1], x.shape[1], HOP=3, W=8, COUNT=4)
    return y
"""
)


def backward(folder: Path, text: str, *options: str) -> tuple[str, str]:
    """The module of a text, and what was said."""
    path = folder / "updates.py"
    path.write_text(text)
    done = tad("--backward", *options, path)
    return done.stdout, done.stderr


def test_iterations_add_plainly(tmp_path: Path) -> None:
    module, said = backward(tmp_path, AGAIN, "--time-limit", "100")
    assert "gradients proved" in said
    assert "tl.atomic_add(dx" not in module
    lines = [line.strip() for line in module.splitlines()]
    updates = [i for i, line in enumerate(lines) if line.startswith("dx_1 = tl.load(dx_ptrs")]
    assert updates
    assert all(lines[i - 1] == "tl.debug_barrier()" for i in updates)


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (AGAIN, "rows[:, None] * D", "(rows // 2)[:, None] * D"),
        (AGAIN, "rows[:, None] * D", "(rows + n)[:, None] * D"),
        (AGAIN, "rows[:, None] * D", "(rows * 0 + tl.load(y + n).to(tl.int32))[:, None] * D"),
        (WINDOWS, "mask=at < L", "mask=at < L + HOP"),
        (WINDOWS, "L + at", "L + tl.load(y + i).to(tl.int32) + lanes"),
    ],
    ids=["rows of pairs", "the next rows", "rows from memory", "behind the row", "from memory"],
)
def test_what_programs_may_share_is_added_atomically(
    text: str, old: str, new: str, tmp_path: Path
) -> None:
    assert old in text
    module, _ = backward(tmp_path, text.replace(old, new), "--no-proof")
    assert "tl.atomic_add(dx" in module
