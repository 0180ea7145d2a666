"""Heads that share keys, and blocks of columns that share rows, where memory may choose the rows: no atomics then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.emitted.plan import tad

HEADS = (Path(__file__).parent / "kernels" / "shared_heads.py").read_text()
SHARED = "head // (HV // H)"
HERE = "here = inside[:, None] & (cols < K)[None, :]"
STORE = "tl.store(y + there"
# no pair of numbers, as far as anybody understands, so that the list of blocks tells nothing
UNLISTED = ("chunks + block * 2 + 1", "chunks + tl.maximum(block * 2 + 1, 0)")


def proof(folder: Path, text: str, *changes: tuple[str, str]) -> tuple[str, int]:
    """What comes of a proof, and how many gradients need atomics."""
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "heads.py"
    path.write_text(text)
    done = tad("--check", "--grad", "--format", "json", path)
    (kernel,) = json.loads(done.stdout)["kernels"]
    return kernel["status"], kernel["atomics"]


@pytest.mark.parametrize(
    "changes",
    [
        [],
        [("K + cols[None, :]", "K + (K - 1 - cols)[None, :]")],
        [("VARIABLE=True", "VARIABLE=False")],
        [(f"{SHARED})[:, None]", "head)[:, None]"), ("H=H,", "H=HV,")],
    ],
    ids=["heads that share", "columns from the end", "one length", "each head its own"],
)
def test_heads_that_share_are_summed(changes: list[tuple[str, str]], tmp_path: Path) -> None:
    assert proof(tmp_path, HEADS, *changes) == ("proved", 0)


def test_the_kernel_asserts_that_heads_share_alike(tmp_path: Path) -> None:
    path = tmp_path / "heads.py"
    path.write_text(HEADS)
    done = tad("--backward", "--no-proof", path)
    assert 'tl.static_assert(HV % H == 0, "HV has to be a multiple of H")' in done.stdout
    for name in ("q", "v"):
        assert (
            "the gradient assumes that no two programs store to one element of `y`, "
            f"so that they share no elements of `{name}`" in done.stderr
        )


@pytest.mark.parametrize(
    "changes",
    [
        [(HERE, "here = (rows >= 0)[:, None] & (cols < K)[None, :]")],
        [(HERE, f"{HERE} & (rows >= part)[:, None]")],
        [("total[:, None], mask=mask", "total[:, None], mask=mask & (rows < length - 1)[:, None]")],
        [("total[:, None], mask=mask", "total[:, None], mask=mask & (mine >= D)[None, :]")],
        [(STORE, f"if part > 0:\n        {STORE}")],
        [(STORE, f"if head % 2 == 0:\n        {STORE}")],
        [(SHARED, "head % H")],
        [(SHARED, f"{SHARED} + part")],
        [(f"(first + rows) * H + {SHARED}", f"(first + rows) + {SHARED}")],
        [("range(tl.cdiv(K, C))", "range(part, tl.cdiv(K, C))")],
        [("there = ((first + rows) * HV + head)", f"there = ((first + rows) * HV + {SHARED})")],
    ],
    ids=[
        *("rows without an end", "rows that the part chooses", "rows left out", "columns left out"),
        *("a store of some parts", "a store of some heads", "other heads", "heads of the part"),
        *("rows that overlap", "a loop of the part", "a store of groups"),
    ],
)
def test_others_are_added(changes: list[tuple[str, str]], tmp_path: Path) -> None:
    status, atomics = proof(tmp_path, HEADS, UNLISTED, *changes)
    assert status == "proved" and atomics > 0


def test_blocks_that_overlap_are_kept_apart(tmp_path: Path) -> None:
    """A program adds up what its own iterations share, in memory that is its own."""
    changes = [("cols = c * C +", "cols = c * (C // 2) +")]
    assert proof(tmp_path, HEADS, *changes) == ("proved", 0)


# what is summed in blocks of columns, as `[batch, row, head, column]` lie in memory
ROWS = """import torch
import triton
import triton.language as tl


@triton.jit
def row_kernel(q, y, T, H: tl.constexpr, K: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    batch, head = tl.program_id(1) // H, tl.program_id(1) % H
    rows = tl.program_id(0) * B + tl.arange(0, B)
    sums = tl.zeros([B, B], dtype=tl.float32)
    for c in range(tl.cdiv(K, C)):
        cols = c * C + tl.arange(0, C)
        at = (batch * T * H + head) * K + rows[:, None] * (H * K) + cols[None, :]
        a = tl.load(q + at, mask=(rows < T)[:, None] & (cols < K)[None, :], other=0.0)
        sums += tl.dot(a, tl.trans(a))
    lanes = tl.arange(0, B)
    to = (batch * T * H + head) * B + rows[:, None] * (H * B) + lanes[None, :]
    tl.store(y + to, sums, mask=(rows < T)[:, None])


def run(q):
    y = torch.empty(*q.shape[:3], 16, device=q.device)
    B, T, H, K = q.shape
    row_kernel[(triton.cdiv(T, 16), B * H)](q, y, T, H=H, K=K, B=16, C=16)
    return y
"""


def test_heads_below_rows_are_stored_plainly(tmp_path: Path) -> None:
    assert proof(tmp_path, ROWS) == ("proved", 0)
