"""A launch stores in front of the view that it gets, or behind it under a mask from memory, or twice to one element."""

# case: {"class": "views", "call": "m.rows_back(x)", "inputs": {"x": [3, 5]}, "expect": "loud"}
# case: {"call": "m.rows_back(x)", "inputs": {"x": [1, 5]}, "expect": "right"}
# case: {"call": "m.column_before(x)", "inputs": {"x": [4, 6]}, "expect": "loud"}
# case: {"call": "m.added_before(x)", "inputs": {"x": [4, 6]}, "expect": "loud"}
# case: {"call": "m.pointer_moves_back(x)", "inputs": {"x": [4, 6]}, "expect": "loud"}
# case: {"call": "m.planes(x)", "inputs": {"x": [4, 6]}, "expect": "loud"}
# case: {"call": "m.shifted_in_place(x * 1)", "inputs": {"x": [9]}, "expect": "loud"}
# case: {"call": "m.by_mask_from_memory(x, keep)", "inputs": {"x": [4, 6], "keep": {"shape": [6], "values": [1, 0, 1, 0, 1, 1], "dtype": "bool"}}, "expect": "loud"}
# case: {"call": "m.by_mask_from_memory(x, keep)", "inputs": {"x": [4, 6], "keep": {"shape": [6], "values": [1, 0, 1, 0, 0, 0], "dtype": "bool"}}, "expect": "right"}
# case: {"call": "m.overlapping_rows(x, 2)", "inputs": {"x": [3, 4]}, "expect": "loud"}
# case: {"call": "m.overlapping_rows(x, 4)", "inputs": {"x": [3, 4]}, "expect": "right"}
# case: {"call": "m.expanded(x)", "inputs": {"x": [3, 4]}, "expect": "loud"}

import torch
import triton
import triton.language as tl


@triton.jit
def rows_kernel(x, o, N, step, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + r * N + i, mask=i < N, other=0.0)
    tl.store(o + r * step + i, v * v, mask=i < N)


def rows_back(x):
    o = torch.empty_like(x)
    rows_kernel[(x.shape[0],)](x, o[-1], x.shape[1], -o.stride(0), BLOCK=8)
    return o


@triton.jit
def column_kernel(x, o, N, step, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + r * N + i, mask=i < N, other=0.0)
    tl.store(o + r * step + i - 1, v * v, mask=i < N)


def column_before(x):
    o = torch.zeros(x.shape[0], x.shape[1] + 1, dtype=x.dtype)
    column_kernel[(x.shape[0],)](x, o[:, 1:], x.shape[1], o.stride(0), BLOCK=8)
    return o


@triton.jit
def added_kernel(x, o, N, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + r * N + i, mask=i < N, other=0.0)
    tl.atomic_add(o + i - 1, v * v, mask=i < N)


def added_before(x):
    o = torch.zeros(x.shape[1] + 1, dtype=x.dtype)
    added_kernel[(x.shape[0],)](x, o[1:], x.shape[1], BLOCK=8)
    return o


@triton.jit
def pointer_kernel(x, o, M, N, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    for r in range(M):
        v = tl.load(x + r * N + i, mask=i < N, other=0.0)
        tl.store(o + i, v * v, mask=i < N)
        o -= N


def pointer_moves_back(x):
    o = torch.zeros_like(x)
    pointer_kernel[(1,)](x, o[x.shape[0] - 1], x.shape[0], x.shape[1], BLOCK=8)
    return o


@triton.jit
def planes_kernel(x, o, N, row, plane, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + r * N + i, mask=i < N, other=0.0)
    tl.store(o + r * row + i, v * v, mask=i < N)
    tl.store(o + r * row + i + plane, v * 2, mask=i < N)
    tl.store(o + r * row + i - plane, v * v * v, mask=i < N)


def planes(x):
    o = torch.zeros(3, *x.shape, dtype=x.dtype)
    planes_kernel[(x.shape[0],)](x, o[1], x.shape[1], o.stride(1), o.stride(0), BLOCK=8)
    return o


@triton.jit
def shifted_kernel(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    w = tl.load(x + i - 1, mask=i < n, other=0.0)
    tl.debug_barrier()
    tl.store(x + i - 1, v * w, mask=i < n)


def shifted_in_place(x):
    shifted_kernel[(1,)](x[1:], x.numel() - 1, BLOCK=16)
    return x


@triton.jit
def kept_kernel(x, keep, o, N, step, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    is_kept = tl.load(keep + i, mask=i < N, other=0) != 0
    v = tl.load(x + r * N + i, mask=i < N, other=0.0)
    tl.store(o + r * step + i, v * v, mask=is_kept)


def by_mask_from_memory(x, keep):
    o = torch.zeros_like(x)
    kept_kernel[(x.shape[0],)](x, keep, o[:, :3], x.shape[1], o.stride(0), BLOCK=8)
    return o


@triton.jit
def overlapping_kernel(x, o, N, step, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + r * N + i, mask=i < N, other=0.0)
    tl.store(o + r * step + i, v * v, mask=i < N)


def overlapping_rows(x, step):
    o = torch.zeros(12, dtype=x.dtype)
    w = o.as_strided((3, 4), (step, 1))
    overlapping_kernel[(3,)](x, w, x.shape[1], w.stride(0), BLOCK=4)
    return o


@triton.jit
def expanded_kernel(x, o, N, row, column, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + r * N + i, mask=i < N, other=0.0)
    tl.store(o + r * row + i * column, v * v, mask=i < N)


def expanded(x):
    o = torch.zeros(4, dtype=x.dtype)
    w = o.expand(3, 4)
    expanded_kernel[(3,)](x, w, x.shape[1], w.stride(0), w.stride(1), BLOCK=4)
    return o
