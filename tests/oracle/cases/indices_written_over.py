"""Kernels without gradients write over indices that a backward has saved, under another name or where they are returned to."""

# case: {"class": "aliases", "call": "m.by_another_name(x)", "inputs": {"x": [3, 9]}, "expect": "loud"}
# case: {"call": "m.by_its_caller(x)", "inputs": {"x": [3, 9]}, "expect": "loud"}
# case: {"call": "m.in_a_loop(x)", "inputs": {"x": [3, 9]}, "expect": "loud"}
# case: {"call": "m.picked(x, torch.tensor([1, 0, 2]))", "inputs": {"x": [4, 5]}, "expect": "loud"}
# case: {"call": "m.picked_by_copy(x, torch.tensor([1, 0, 2]))", "inputs": {"x": [4, 5]}, "expect": "right"}

import torch
import triton
import triton.language as tl


@triton.jit
def top_kernel(x, y, index, N, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + r * N + i, mask=i < N, other=-float("inf"))
    m, at = tl.max(v, 0, return_indices=True)
    tl.store(y + r, m)
    tl.store(index + r, at)


@triton.jit
def pick_kernel(x, index, y, N, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    at = tl.load(index + r)
    v = tl.load(x + at * N + i, mask=i < N, other=0.0)
    tl.store(y + r * N + i, v * v, mask=i < N)


@triton.jit
def advance_kernel(o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(o + i, mask=i < n, other=0) // 2, mask=i < n)


def top(x):
    y = torch.empty(x.shape[0], dtype=x.dtype)
    index = torch.empty(x.shape[0], dtype=torch.int32)
    top_kernel[(x.shape[0],)](x, y, index, x.shape[1], BLOCK=16)
    return y, index


def by_another_name(x):
    y = torch.empty(x.shape[0], dtype=x.dtype)
    index = torch.empty(x.shape[0], dtype=torch.int32)
    top_kernel[(x.shape[0],)](x, y, index, x.shape[1], BLOCK=16)
    other = index
    advance_kernel[(1,)](other.view(-1), other.numel(), BLOCK=8)
    return y * y


@torch.no_grad()
def advance(index):
    if index.numel(): advance_kernel[(1,)](index, index.numel(), BLOCK=8)  # fmt: skip


def by_its_caller(x):
    y, index = top(x)
    advance(index)
    return y * y


def in_a_loop(x):
    results = [*top(x)]
    for result in results[1:]:
        advance_kernel[(1,)](result, result.numel(), BLOCK=8)
    return results[0] * 2


def pick(x, index):
    y = torch.empty(index.shape[0], x.shape[1], dtype=x.dtype)
    pick_kernel[(index.shape[0],)](x, index, y, x.shape[1], BLOCK=8)
    return y


def picked(x, index):
    y = pick(x, index)
    advance(index)
    return y


def picked_by_copy(x, index):
    y = pick(x, index.clone())
    advance(index)
    return y
