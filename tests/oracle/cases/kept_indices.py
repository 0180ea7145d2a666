"""Indices that a forward stores beside its maximum are loaded by the backward: callers use, change and drop them."""

# case: {"class": "views", "call": "m.row_max(x)[0] * w", "inputs": {"x": [7, 20], "w": [7]}}
# case: {"call": "m.row_max(x.t())[0].sum()", "inputs": {"x": [20, 7]}}
# case: {"call": "m.changed(x)", "inputs": {"x": [7, 20]}}
# case: {"call": "m.row_min(x)", "inputs": {"x": [7, 20]}, "wide": true}
# case: {"call": "m.many(x)", "inputs": {"x": [300, 5]}, "wide": true}
# case: {"call": "m.modulo(x, 3)", "inputs": {"x": [6, 20]}, "expect": "right"}
# case: {"call": "m.hops(x, 0)", "inputs": {"x": [6, 20]}, "expect": "right"}
# case: {"call": "m.hops(x, 1)", "inputs": {"x": [6, 20]}, "expect": "right"}
# case: {"call": "m.counted_on(x)", "inputs": {"x": [6, 20]}, "expect": "right"}
# case: {"call": "m.diagonals(x)", "inputs": {"x": [3, 4, 10]}}
# case: {"call": "m.reused(x)", "inputs": {"x": [6, 20]}, "expect": "right"}

import torch
import triton
import triton.language as tl


@triton.jit
def row_max_kernel(x_ptr, v_ptr, i_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=-float("inf"))
    v, i = tl.max(x, axis=0, return_indices=True)
    tl.store(v_ptr + row, v)
    tl.store(i_ptr + row, i)


def row_max(x):
    x = x.contiguous()
    M, N = x.shape
    v = torch.empty(M, dtype=x.dtype, device=x.device)
    i = torch.empty(M, dtype=torch.int64, device=x.device)
    row_max_kernel[(M,)](x, v, i, N, BLOCK=triton.next_power_of_2(N))
    return v, i


def changed(x):
    """The caller's own copy changes; the index that is kept does not."""
    v, i = row_max(x)
    j = i.clone()
    j += 1
    return v * (j > 0)


def many(x):
    v, _ = row_max(x)
    return v.square()


@triton.jit
def row_min_kernel(x_ptr, v_ptr, i_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=float("inf"))
    at = tl.argmin(x, axis=0)
    tl.store(i_ptr + row, at)
    tl.store(v_ptr + row, tl.sum(tl.where(cols == at, x * x, 0.0), axis=0))


def row_min(x):
    M, N = x.shape
    v = torch.empty(M, dtype=x.dtype, device=x.device)
    i = torch.empty(M, dtype=torch.int32, device=x.device)
    row_min_kernel[(M,)](x, v, i, N, BLOCK=triton.next_power_of_2(N))
    return v


@triton.jit
def slot_kernel(x_ptr, v_ptr, i_ptr, N, P, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=-float("inf"))
    v, i = tl.max(x, axis=0, return_indices=True)
    tl.store(v_ptr + row, v)
    tl.store(i_ptr + row % P, i)


def modulo(x, P: int):
    """Of several rows the index of one is left."""
    M, N = x.shape
    v = torch.empty(M, dtype=x.dtype, device=x.device)
    i = torch.empty(M, dtype=torch.int32, device=x.device)
    slot_kernel[(M,)](x, v, i, N, P, BLOCK=triton.next_power_of_2(N))
    return v


@triton.jit
def hop_kernel(x_ptr, v_ptr, i_ptr, N, s, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=-float("inf"))
    v, i = tl.max(x, axis=0, return_indices=True)
    tl.store(v_ptr + row, v)
    tl.store(i_ptr + row * s, i)


def hops(x, s: int):
    M, N = x.shape
    v = torch.empty(M, dtype=x.dtype, device=x.device)
    i = torch.empty(M, dtype=torch.int32, device=x.device)
    hop_kernel[(M,)](x, v, i, N, s, BLOCK=triton.next_power_of_2(N))
    return v


@triton.jit
def counted_kernel(x_ptr, v_ptr, i_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=-float("inf"))
    v, i = tl.max(x, axis=0, return_indices=True)
    tl.store(v_ptr + row, v)
    tl.store(i_ptr + row, i)


def counted_on(x):
    M, N = x.shape
    v = torch.empty(M, dtype=x.dtype, device=x.device)
    i = torch.empty(M, dtype=torch.int32, device=x.device)
    counted_kernel[(M,)](x, v, i, N, BLOCK=triton.next_power_of_2(N))
    i += 3
    i %= N
    return v * (i >= 0)


@triton.jit
def again_kernel(x_ptr, v_ptr, i_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=-float("inf"))
    v, i = tl.max(x, axis=0, return_indices=True)
    tl.store(v_ptr + row, v)
    tl.store(i_ptr + row, i)


def reused(x):
    M, N = x.shape
    i = torch.empty(M, dtype=torch.int32, device=x.device)
    total = 0.0
    for part in (x, x * x, x.exp() - 2 * x):
        v = torch.empty(M, dtype=x.dtype, device=x.device)
        again_kernel[(M,)](part, v, i, N, BLOCK=triton.next_power_of_2(N))
        total = total + v * v
    return total


@triton.jit
def diagonal_kernel(x_ptr, v_ptr, i_ptr, N, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    h = tl.program_id(1)
    row = b * tl.num_programs(1) + h
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=-float("inf"))
    v, i = tl.max(x, axis=0, return_indices=True)
    tl.store(v_ptr + row, v)
    tl.store(i_ptr + b + h, i)


def diagonals(x):
    B, H, N = x.shape
    v = torch.empty(B, H, dtype=x.dtype, device=x.device)
    i = torch.empty(B + H, dtype=torch.int32, device=x.device)
    diagonal_kernel[(B, H)](x, v, i, N, BLOCK=triton.next_power_of_2(N))
    return v
