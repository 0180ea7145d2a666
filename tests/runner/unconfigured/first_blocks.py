"""Blocks by their numbers in a table: of one block alone there is no second one."""

import torch
import triton
import triton.language as tl


@triton.jit
def attend(
    q_ptr,
    k_ptr,
    table_ptr,
    lse_ptr,
    L: tl.constexpr,
    picked: tl.constexpr,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
):
    block, head = tl.program_id(0), tl.program_id(1)
    lanes = tl.arange(0, BLOCK)
    dims = tl.arange(0, D)
    rows = block * BLOCK + lanes
    q = tl.load(q_ptr + (head * L + rows[:, None]) * D + dims, mask=rows[:, None] < L, other=0.0)
    largest = tl.full([BLOCK], -float("inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for i in range(picked):
        number = tl.load(table_ptr + (head * tl.num_programs(0) + block) * picked + i)
        inside = lanes < L - number * BLOCK
        at = head * L + number * BLOCK + lanes
        k = tl.load(k_ptr + at[None, :] * D + dims[:, None], mask=inside[None, :], other=0.0)
        score = tl.where(inside[None, :], tl.dot(q, k), float("-inf"))
        larger = tl.maximum(largest, tl.max(score, 1))
        total = total * tl.exp(largest - larger) + tl.sum(tl.exp(score - larger[:, None]), 1)
        largest = larger
    tl.store(lse_ptr + head * L + rows, largest + tl.log(total), mask=rows < L)


def log_sums(q, k, table, picked, BLOCK=16):
    heads, length, dim = q.shape
    lse = torch.empty((heads, length), device=q.device, dtype=torch.float32)
    grid = (triton.cdiv(length, BLOCK), heads)
    attend[grid](q, k, table, lse, length, picked, dim, BLOCK)
    return lse
