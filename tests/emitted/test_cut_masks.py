"""A mask between products stands under a branch that asks whether it cuts the tile, whatever the mask compares."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emitted.plan import tad

KERNEL = """import torch
import triton
import triton.language as tl


@triton.jit
def attend(
    q, k, v, o, T, W, FLAG: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    block = tl.program_id(0)
    m = block * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    x = tl.load(q + m[:, None] * D + d[None, :], mask=m[:, None] < T, other=0.0)
    acc = tl.zeros([BLOCK_M, D], dtype=tl.float32)
    for start in range(0, T, BLOCK_N):
        n = start + tl.arange(0, BLOCK_N)
        inside = n[:, None] < T
        y = tl.load(k + n[:, None] * D + d[None, :], mask=inside, other=0.0)
        z = tl.load(v + n[:, None] * D + d[None, :], mask=inside, other=0.0)
        s = tl.dot(x, tl.trans(y))
        p = tl.where(MASK, tl.sigmoid(s), 0.0)
        acc += tl.dot(p.to(z.dtype), z)
    tl.store(o + m[:, None] * D + d[None, :], acc, mask=m[:, None] < T)


def attention(q, k, v, w, flag):
    o = torch.empty_like(q)
    T, D = q.shape
    attend[(triton.cdiv(T, 16),)](q, k, v, o, T, w, FLAG=flag, D=D, BLOCK_M=16, BLOCK_N=16)
    return o
"""

#: A mask, and what its branch asks in the kernel of the queries; "": it has none.
MASKS = {
    "m[:, None] >= n[None, :]": "offset < start + BLOCK_N",
    "m[:, None] > n[None, :]": "offset < start + BLOCK_N",
    "n[None, :] <= m[:, None]": "start + BLOCK_N > offset",
    "n[None, :] < m[:, None]": "start + BLOCK_N > offset",
    "n[None, :] < T": "start + BLOCK_N > T",
    "(n[None, :] <= T - 1)": "start + BLOCK_N >",
    "(m[:, None] >= n[None, :]) & (n[None, :] < T)": "offset < start + BLOCK_N or start + BLOCK_N > T",
    "(m[:, None] - n[None, :] >= 0) & (m[:, None] - n[None, :] < W)": (
        "offset - (start + BLOCK_N) < 0 or offset + BLOCK_M - start >"
    ),
    "(m[:, None] >= n[None, :]) | (n[None, :] < W)": "",
    "m[:, None] != n[None, :]": "",
    # a difference of unsigned numbers wraps
    "m[:, None].to(tl.uint32) - n[None, :].to(tl.uint32) < 7": "",
    "(m[:, None] * 2 >= n[None, :])": "",
    "tl.load(q + n[None, :] + m[:, None]) > 0.5": "",
}


def written(tmp_path: Path, mask: str) -> str:
    """The backward of the kernel with such a mask, which has to be proved."""
    path = tmp_path / "attend.py"
    path.write_text(KERNEL.replace("MASK", mask))
    done = tad("--backward", path)
    assert done.returncode == 0, done.stderr
    assert "gradients proved" in done.stderr
    return done.stdout[done.stdout.index("def attend_backward") :]


@pytest.mark.parametrize("mask", list(MASKS))
def test_branch_of_a_mask(mask: str, tmp_path: Path) -> None:
    """What it asks, and that the gradients are right where it cuts tiles, and where it does not."""
    text = " ".join(written(tmp_path, mask).split())
    assert ("is_cut" in text) == bool(MASKS[mask])
    assert MASKS[mask] in text


def test_what_only_the_mask_needs_is_in_its_branch(tmp_path: Path) -> None:
    """The comparison is no statement in front of the branch."""
    text = written(tmp_path, "m[:, None] >= n[None, :]")
    before, _, behind = text.partition("if is_cut:\n")
    assert ">= n[None, :]" not in before
    assert ">= n[None, :]" in behind


def test_mask_under_a_flag(tmp_path: Path) -> None:
    """The flag is asked in the branch's condition."""
    text = KERNEL.replace(
        "        p = tl.where(MASK, tl.sigmoid(s), 0.0)\n",
        "        seen = n[None, :] < T\n"
        "        if FLAG:\n"
        "            seen = seen & (m[:, None] >= n[None, :])\n"
        "        p = tl.where(seen, tl.sigmoid(s), 0.0)\n",
    )
    path = tmp_path / "attend.py"
    path.write_text(text)
    done = tad("--backward", path)
    assert done.returncode == 0, done.stderr
    assert "gradients proved" in done.stderr
    assert "start + BLOCK_N > T or FLAG and offset < start + BLOCK_N" in done.stdout
