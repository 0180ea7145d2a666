"""Loops in two branches of a flag, whose tiles get another shape in front of a branch of their own."""

import torch
import triton
import triton.language as tl


@triton.jit
def scores(
    acc,
    q,
    k_block,
    start,
    end,
    rows,
    MASKED: tl.constexpr,
    HALF: tl.constexpr,
    BLOCK: tl.constexpr,
    DIM: tl.constexpr,
):
    for first in range(start, end, BLOCK):
        k_at = tl.advance(k_block, (0, first, 0))
        k = tl.load(k_at, boundary_check=(1,), padding_option="zero")
        k = k.reshape((BLOCK, DIM))
        if HALF:
            score = tl.dot(q, k.T) * 0.5
        else:
            score = tl.dot(q, k.T, input_precision="ieee")
        if MASKED:
            seen = rows[:, None] >= first + tl.arange(0, BLOCK)[None, :]
            score = score + tl.where(seen, 0, float("-inf"))
        acc += tl.sum(tl.exp(score), axis=1)
    return acc


@triton.jit
def row_sums(
    q_ptr,
    k_ptr,
    y_ptr,
    T,
    CAUSAL: tl.constexpr,
    HALF: tl.constexpr,
    BLOCK: tl.constexpr,
    DIM: tl.constexpr,
):
    block, head = tl.program_id(0), tl.program_id(1)
    rows = block * BLOCK + tl.arange(0, BLOCK)
    dims = tl.arange(0, DIM)
    inside = rows < T
    q = tl.load(q_ptr + (head * T + rows[:, None]) * DIM + dims, mask=inside[:, None], other=0.0)
    k_block = tl.make_block_ptr(
        k_ptr, (1 + head, T, DIM), (T * DIM, DIM, 1), (head, 0, 0), (1, BLOCK, DIM), (2, 1, 0)
    )
    acc = tl.zeros((BLOCK,), tl.float32)
    if not CAUSAL:
        acc = scores(acc, q, k_block, 0, T, rows, False, HALF, BLOCK, DIM)
    else:
        middle = block * BLOCK
        end = (block + 1) * BLOCK
        acc = scores(acc, q, k_block, 0, middle, rows, False, HALF, BLOCK, DIM)
        acc = scores(acc, q, k_block, middle, end, rows, True, HALF, BLOCK, DIM)
    tl.store(y_ptr + head * T + rows, acc, mask=inside)


def sums_of_rows(q, k, causal, half):
    heads, length, dim = q.shape
    q, k = q.contiguous(), k.contiguous()
    y = torch.empty((heads, length), device=q.device, dtype=torch.float32)
    grid = (triton.cdiv(length, 16), heads)
    row_sums[grid](q, k, y, length, causal, half, BLOCK=16, DIM=dim)
    return y
