"""Programs that share the rows of a sequence and no others keep their sums apart: of equal lengths, between offsets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emitted.plan import tad

# The states of a recurrence, in blocks of keys and of values: blocks of values share keys, and the other way round.
STATES = """import torch
import triton
import triton.language as tl


@triton.jit
def states(
    k, v, h, starts, chunks, T,
    H: tl.constexpr, K: tl.constexpr, V: tl.constexpr, BT: tl.constexpr, BK: tl.constexpr, BV: tl.constexpr,
    VARIES: tl.constexpr,
):
    program = tl.program_id(0)
    i_k = program % tl.cdiv(K, BK)
    i_v = program // tl.cdiv(K, BK) % tl.cdiv(V, BV)
    i_nh = program // tl.cdiv(K, BK) // tl.cdiv(V, BV)
    n, head = i_nh // H, i_nh % H
    if VARIES:
        bos = tl.load(starts + n)
        T = tl.load(starts + n + 1) - bos
        first = tl.load(chunks + n)
    else:
        bos = n * T
        first = n * tl.cdiv(T, BT)
    o_k = i_k * BK + tl.arange(0, BK)
    o_v = i_v * BV + tl.arange(0, BV)
    inside = (o_k < K)[:, None] & (o_v < V)[None, :]
    state = tl.zeros([BK, BV], dtype=tl.float32)
    for chunk in range(tl.cdiv(T, BT)):
        at = ((first + chunk) * H + head) * K * V + o_k[:, None] * V + o_v[None, :]
        tl.store(h + at, state, mask=inside)
        rows = chunk * BT + tl.arange(0, BT)
        a = tl.load(
            k + ((bos + rows)[None, :] * H + head) * K + o_k[:, None],
            mask=(o_k < K)[:, None] & (rows < T)[None, :], other=0.0,
        )
        b = tl.load(
            v + ((bos + rows)[:, None] * H + head) * V + o_v[None, :],
            mask=(rows < T)[:, None] & (o_v < V)[None, :], other=0.0,
        )
        state = state * 0.5 + tl.dot(a, b, input_precision="ieee")


def stated(k, v, starts=None, chunks=None, total=0):
    B, T, H, K = k.shape
    V = v.shape[-1]
    parts = B if starts is None else starts.shape[0] - 1
    count = B * triton.cdiv(T, 16) if starts is None else total
    h = torch.empty(count, H, K, V, device=k.device)
    grid = (triton.cdiv(K, 16) * triton.cdiv(V, 16) * parts * H,)
    states[grid](
        k, v, h, starts, chunks, T, H=H, K=K, V=V, BT=16, BK=16, BV=16, VARIES=starts is not None
    )
    return h
"""


def test_blocks_keep_their_sums_apart(tmp_path: Path) -> None:
    path = tmp_path / "states.py"
    path.write_text(STATES)
    done = tad("--backward", path)
    assert "gradients proved" in done.stderr, done.stderr
    module = done.stdout
    assert "tl.atomic_add" not in module
    assert "_total(dk, k)" in module
    assert '_check_all_ascending("starts", starts)' in module


ROWS, MASK, NEXT = "(bos + rows)[None, :] * H", "(rows < T)[None, :]", "tl.load(starts + n + 1)"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (MASK, "(rows < T + 1)[None, :]"),
        ("bos = tl.load(starts + n)\n", "bos = tl.load(starts + n // 2)\n"),
        (ROWS, "(bos + rows - 1)[None, :] * H"),
        (NEXT, "tl.load(starts + n + 2)"),
    ],
    ids=["one row more", "shared starts", "the row before", "two parts"],
)
def test_rows_of_others_are_added_to(old: str, new: str, tmp_path: Path) -> None:
    assert old in STATES
    path = tmp_path / "states.py"
    path.write_text(STATES.replace(old, new))
    said = tad("--backward", "--no-proof", path).stdout
    assert "tl.atomic_add(dk" in said or "tl.atomic_add(\n" in said


def test_offsets_that_decrease_are_told(tmp_path: Path) -> None:
    path = tmp_path / "states.py"
    path.write_text(STATES)
    said = tad("--check", "--grad", path).stdout
    assert (
        "the offsets in `starts` do not decrease, so that programs share no elements of `k`" in said
    )
    assert "1 proved" in said
