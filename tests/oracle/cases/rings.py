"""Rows and lanes that go round: a store's place is a remainder, a permutation, or read from a list. Where two of one call meet, the call says so."""

# case: {"class": "overlaps", "call": "m.ring_rows(x, 3, 5)", "inputs": {"x": [5, 4]}, "expect": "right"}
# case: {"call": "m.ring_rows(x, 3, 5)", "inputs": {"x": [4, 4]}, "expect": "right"}
# case: {"call": "m.ring_rows(x, 3, 5)", "inputs": {"x": [7, 4]}, "expect": "loud"}
# case: {"call": "m.ring_loop(x, 3, 5)", "inputs": {"x": [5, 4]}, "expect": "right"}
# case: {"call": "m.ring_loop(x, 3, 5)", "inputs": {"x": [8, 4]}, "expect": "right"}
# case: {"call": "m.ring_inplace(c * 1.0, x, 3)", "inputs": {"c": [5, 4], "x": [2, 4]}, "expect": "right"}
# case: {"call": "m.ring_inplace(c * 1.0, x, 4)", "inputs": {"c": [5, 4], "x": [3, 4]}, "expect": "right"}
# case: {"call": "m.roll(x, 2)", "inputs": {"x": [3, 7]}, "expect": "right"}
# case: {"call": "m.roll(x, -2)", "inputs": {"x": [3, 7]}, "expect": "right"}
# case: {"call": "m.roll(x, 9)", "inputs": {"x": [3, 7]}, "expect": "right"}
# case: {"call": "m.roll_store(x, 2)", "inputs": {"x": [3, 7]}, "expect": "right"}
# case: {"call": "m.roll_store(x, 9)", "inputs": {"x": [3, 7]}, "expect": "right"}
# case: {"call": "m.fftshift(x)", "inputs": {"x": [3, 8]}, "expect": "right"}
# case: {"call": "m.perm_stride(x, 3)", "inputs": {"x": [7]}, "expect": "right"}
# case: {"call": "m.perm_stride(x, 2)", "inputs": {"x": [7]}, "expect": "right"}
# case: {"call": "m.perm_stride(x, 2)", "inputs": {"x": [8]}, "expect": "loud"}
# case: {"call": "m.perm_xor(x, 3)", "inputs": {"x": [8]}, "expect": "right"}
# case: {"call": "m.perm_xor(x, 4)", "inputs": {"x": [8]}, "expect": "right"}
# case: {"call": "m.wrap_shift(x, 3)", "inputs": {"x": [8]}, "expect": "right"}
# case: {"call": "m.listed(x, o, b)", "inputs": {"x": [9, 4], "o": {"shape": [4], "dtype": "int32", "values": [0, 4, 5, 9]}, "b": {"shape": [6, 2], "dtype": "int32", "values": [0, 0, 0, 1, 1, 0, 2, 0, 2, 1, 2, 2]}}, "expect": "right"}
# case: {"call": "m.listed(x, o, b)", "inputs": {"x": [9, 4], "o": {"shape": [4], "dtype": "int32", "values": [0, 4, 5, 9]}, "b": {"shape": [6, 2], "dtype": "int32", "values": [0, 0, 0, 0, 0, 1, 1, 0, 2, 0, 2, 1]}}, "expect": "loud"}

import torch
import triton
import triton.language as tl


@triton.jit
def ring_rows_k(x_ptr, o_ptr, n, pos, window, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    slot = (pos + r) % window
    x = tl.load(x_ptr + r * n + i, mask=i < n, other=0.0)
    tl.store(o_ptr + slot * n + i, x * x, mask=i < n)


def ring_rows(x, pos, window):
    o = torch.zeros(window, x.shape[1], dtype=x.dtype)
    ring_rows_k[(x.shape[0],)](x, o, x.shape[1], pos, window, B=4)
    return o


@triton.jit
def ring_loop_k(x_ptr, o_ptr, T, n, pos, window, B: tl.constexpr):
    i = tl.arange(0, B)
    for t in range(T):
        slot = (pos + t) % window
        x = tl.load(x_ptr + t * n + i, mask=i < n, other=0.0)
        tl.store(o_ptr + slot * n + i, x * x, mask=i < n)


def ring_loop(x, pos, window):
    o = torch.zeros(window, x.shape[1], dtype=x.dtype)
    ring_loop_k[(1,)](x, o, x.shape[0], x.shape[1], pos, window, B=4)
    return o


def ring_inplace(c, x, pos):
    ring_rows_k[(x.shape[0],)](x, c, x.shape[1], pos, c.shape[0], B=4)
    return c


@triton.jit
def roll_k(x_ptr, o_ptr, n, s, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    j = (i - s) % n
    j = tl.where(j < 0, j + n, j)
    x = tl.load(x_ptr + r * n + j, mask=i < n)
    y = tl.load(x_ptr + r * n + i, mask=i < n)
    tl.store(o_ptr + r * n + i, x * tl.sin(y), mask=i < n)


def roll(x, s):
    o = torch.empty_like(x)
    roll_k[(x.shape[0],)](x, o, x.shape[1], s, B=8)
    return o


@triton.jit
def roll_store_k(x_ptr, o_ptr, n, s, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    y = tl.load(x_ptr + r * n + i, mask=i < n)
    tl.store(o_ptr + r * n + (i + s) % n, tl.sin(y), mask=i < n)


def roll_store(x, s):
    o = torch.empty_like(x)
    roll_store_k[(x.shape[0],)](x, o, x.shape[1], s, B=8)
    return o


@triton.jit
def fftshift_k(x_ptr, o_ptr, n, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    y = tl.load(x_ptr + r * n + i, mask=i < n)
    tl.store(o_ptr + r * n + (i + n // 2) % n, tl.sin(y) * y, mask=i < n)


def fftshift(x):
    o = torch.empty_like(x)
    fftshift_k[(x.shape[0],)](x, o, x.shape[1], B=8)
    return o


@triton.jit
def perm_stride_k(x_ptr, o_ptr, n, s, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(o_ptr + (i * s) % n, tl.sin(x), mask=i < n)


def perm_stride(x, s):
    o = torch.zeros_like(x)
    perm_stride_k[(1,)](x, o, x.numel(), s, B=8)
    return o


@triton.jit
def perm_xor_k(x_ptr, o_ptr, n, s, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + (i ^ s), mask=i < n)
    y = tl.load(x_ptr + i, mask=i < n)
    tl.store(o_ptr + (i ^ s), tl.sin(x) * y, mask=i < n)


def perm_xor(x, s):
    o = torch.zeros_like(x)
    perm_xor_k[(1,)](x, o, x.numel(), s, B=8)
    return o


@triton.jit
def wrap_shift_k(x_ptr, o_ptr, n, s, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = tl.where(i + s >= n, i + s - n, i + s)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(o_ptr + j, tl.sin(x), mask=i < n)


def wrap_shift(x, s):
    o = torch.zeros_like(x)
    wrap_shift_k[(triton.cdiv(x.numel(), 4),)](x, o, x.numel(), s, B=4)
    return o


@triton.jit
def listed_k(x_ptr, off_ptr, blk_ptr, o_ptr, D: tl.constexpr, BT: tl.constexpr, B: tl.constexpr):
    p = tl.program_id(0)
    s = tl.load(blk_ptr + p * 2)
    b = tl.load(blk_ptr + p * 2 + 1)
    lo = tl.load(off_ptr + s)
    hi = tl.load(off_ptr + s + 1)
    t = lo + b * BT + tl.arange(0, BT)
    d = tl.arange(0, B)
    m = (t < hi)[:, None] & (d < D)[None, :]
    x = tl.load(x_ptr + t[:, None] * D + d[None, :], mask=m, other=0.0)
    tl.store(o_ptr + t[:, None] * D + d[None, :], x * tl.sum(x, 0)[None, :], mask=m)


def listed(x, o, b):
    y = torch.zeros_like(x)
    listed_k[(b.shape[0],)](x, o, b, y, D=4, BT=2, B=4)
    return y
