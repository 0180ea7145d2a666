"""Lengths in memory that end rows: looked at where the gradient relies on them."""

# case: {"class": "views", "expect": "right", "call": "m.sums(x, l)", "inputs": {"x": [5, 4], "l": {"shape": [5], "dtype": "int32", "values": [4, 1, 2, 0, 3]}}}
# case: {"expect": "loud", "call": "m.sums(x, l)", "inputs": {"x": [5, 4], "l": {"shape": [4], "dtype": "int32", "values": [4, 6, 2, 3]}}}
# case: {"expect": "loud", "call": "m.sums(x, l)", "inputs": {"x": [5, 4], "l": {"shape": [4], "dtype": "int64", "values": [9, 0, 2, 3]}}}
# case: {"expect": "right", "call": "m.sums(x, l)", "inputs": {"x": [5, 4], "l": {"shape": [4], "dtype": "int64", "values": [4, 8, 0, 7]}}}
# case: {"expect": "right", "call": "m.sums(x.t(), l)", "inputs": {"x": [4, 1], "l": {"shape": [1], "dtype": "int64", "values": [4]}}}
# case: {"expect": "right", "call": "m.blocks(x, l)", "inputs": {"x": [5, 9], "l": {"shape": [5], "dtype": "int32", "values": [9, 1, 5, 0, 3]}}}
# case: {"expect": "loud", "call": "m.blocks(x, l)", "inputs": {"x": [5, 9], "l": {"shape": [4], "dtype": "int32", "values": [9, 11, 5, 3]}}}
# case: {"expect": "right", "call": "m.blocks(x, l) + w.sum()", "inputs": {"x": {"shape": [5, 9], "grad": false}, "w": [9], "l": {"shape": [4], "dtype": "int32", "values": [9, 11, 5, 3]}}}
# case: {"expect": "right", "call": "m.cut(x, l)", "inputs": {"x": [5, 4], "l": {"shape": [4], "dtype": "int32", "values": [4, 6, 2, 3]}}}

import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x, l, y, step, B: tl.constexpr):
    p = tl.program_id(0)
    c = tl.arange(0, B)
    n = tl.load(l + p)
    v = tl.load(x + p * step + c, mask=c < n, other=0.0)
    tl.store(y + p, tl.sum(v * v))


def sums(x, l):
    y = torch.empty(l.numel(), dtype=x.dtype)
    sum_kernel[(l.numel(),)](x, l, y, x.stride(0), B=16)
    return y


@triton.jit
def block_kernel(x, l, y, step, B: tl.constexpr):
    p = tl.program_id(0)
    n = tl.load(l + p)
    total = 0.0
    for k in range(0, n, B):
        c = k + tl.arange(0, B)
        total += tl.sum(tl.sin(tl.load(x + p * step + c, mask=c < n, other=0.0)))
    tl.store(y + p, total)


def blocks(x, l):
    y = torch.empty(l.numel(), dtype=x.dtype)
    block_kernel[(l.numel(),)](x, l, y, x.stride(0), B=4)
    return y


@triton.jit
def cut_kernel(x, l, y, step, B: tl.constexpr):
    p = tl.program_id(0)
    c = tl.arange(0, B)
    n = tl.load(l + p)
    v = tl.load(x + p * step + c, mask=(c < n) & (c < step), other=0.0)
    tl.store(y + p, tl.sum(v * v))


def cut(x, l):
    y = torch.empty(l.numel(), dtype=x.dtype)
    cut_kernel[(l.numel(),)](x, l, y, x.stride(0), B=16)
    return y
