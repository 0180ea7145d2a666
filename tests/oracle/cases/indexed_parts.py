"""Indices from memory into views: sums of programs, tuned kernels, flags, several kernels, helpers."""

# case: {"class": "indexed", "call": "m.scaled(x, w[1:], e)", "inputs": {"x": [6, 4], "w": [4, 4], "e": {"shape": [6], "dtype": "int64", "values": [0, 1, 2, 2, 1, 0]}}}
# case: {"class": "indexed", "call": "m.scaled(x, w[1:], e)", "inputs": {"x": [6, 4], "w": [4, 4], "e": {"shape": [6], "dtype": "int64", "values": [0, 1, 2, -1, 1, 0]}}, "expect": "loud"}
# case: {"class": "indexed", "call": "m.tuned(x, w[1:], e)", "inputs": {"x": [6, 4], "w": [4, 4], "e": {"shape": [6], "dtype": "int64", "values": [0, 1, 2, -1, 1, 0]}}, "expect": "loud"}
# case: {"class": "indexed", "call": "m.experts(x, w[1:], e)", "inputs": {"x": [20, 16], "w": [4, 16, 16], "e": {"shape": [2], "dtype": "int64", "values": [0, 2]}}}
# case: {"class": "indexed", "call": "m.experts(x, w[1:], e)", "inputs": {"x": [20, 16], "w": [4, 16, 16], "e": {"shape": [2], "dtype": "int64", "values": [0, -1]}}, "expect": "loud"}
# case: {"class": "indexed", "call": "m.flagged(x[1:], e, True)", "inputs": {"x": [6, 4], "e": {"shape": [3], "dtype": "int64", "values": [0, -1, 2]}}, "expect": "loud"}
# case: {"class": "indexed", "call": "m.flagged(x[1:], e, False)", "inputs": {"x": [6, 4], "e": {"shape": [3], "dtype": "int64", "values": [0, -1, 2]}}, "expect": "right"}
# case: {"class": "indexed", "call": "m.frozen(x, w[1:], e)", "inputs": {"x": [6, 4], "w": {"shape": [4, 4], "grad": false}, "e": {"shape": [6], "dtype": "int64", "values": [0, 1, 2, -1, 1, 0]}}, "expect": "right"}
# case: {"class": "indexed", "call": "m.masked(x[1:], e)", "inputs": {"x": [6, 4], "e": {"shape": [3], "dtype": "int64", "values": [0, -1, 2]}}, "expect": "right"}
# case: {"class": "indexed", "call": "m.turned(x.t()[1:], e)", "inputs": {"x": [4, 6], "e": {"shape": [3], "dtype": "int64", "values": [0, -1, 2]}}, "expect": "loud"}
# case: {"class": "indexed", "call": "m.turned(x.t()[1:], e)", "inputs": {"x": [4, 6], "e": {"shape": [3], "dtype": "int64", "values": [0, 1, 2]}}, "expect": "right"}
# case: {"class": "indexed", "call": "m.turned(x[:, ::2], e)", "inputs": {"x": [4, 6], "e": {"shape": [3], "dtype": "int64", "values": [0, 1, 2]}}, "expect": "right"}
# case: {"class": "indexed", "call": "m.halves(x[1:], e)", "inputs": {"x": {"shape": [6, 4], "dtype": "float32"}, "e": {"shape": [3], "dtype": "int64", "values": [0, -1, 2]}}, "expect": "loud"}

import torch
import triton
import triton.language as tl


@triton.jit
def scaled_kernel(y, x, w, e, d, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + row * d + i, mask=i < d, other=0.0)
    b = tl.load(w + tl.load(e + row) * d + i, mask=i < d, other=0.0)
    tl.store(y + row * d + i, a * b * b, mask=i < d)


def scaled(x, w, e):
    y = torch.empty_like(x)
    scaled_kernel[(x.shape[0],)](y, x, w, e, x.shape[1], BLOCK=4)
    return y


def frozen(x, w, e):
    y = torch.empty_like(x)
    scaled_kernel[(x.shape[0],)](y, x, w, e, x.shape[1], BLOCK=4)
    return y


@triton.autotune(configs=[triton.Config({"BLOCK": 4}), triton.Config({"BLOCK": 8})], key=["d"])
@triton.jit
def tuned_kernel(y, x, w, e, d, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + row * d + i, mask=i < d, other=0.0)
    b = tl.load(w + tl.load(e + row) * d + i, mask=i < d, other=0.0)
    tl.store(y + row * d + i, a * b * b, mask=i < d)


def tuned(x, w, e):
    y = torch.empty_like(x)
    tuned_kernel[(x.shape[0],)](y, x, w, e, x.shape[1])
    return y


@triton.jit
def experts_kernel(y, x, w, e, m, BM: tl.constexpr, D: tl.constexpr):
    block = tl.program_id(0)
    r = block * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    at = tl.load(e + block)
    a = tl.load(x + r[:, None] * D + d[None, :], mask=r[:, None] < m, other=0.0)
    b = tl.load(w + at * D * D + d[:, None] * D + d[None, :])
    tl.store(y + r[:, None] * D + d[None, :], tl.dot(a, b), mask=r[:, None] < m)


def experts(x, w, e):
    y = torch.empty_like(x)
    experts_kernel[(e.shape[0],)](y, x, w, e, x.shape[0], BM=16, D=16)
    return y


@triton.jit
def flagged_kernel(y, x, e, d, USE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    if USE:
        at = tl.load(e + row)
    else:
        at = row
    a = tl.load(x + at * d + i, mask=i < d, other=0.0)
    tl.store(y + row * d + i, a * a, mask=i < d)


def flagged(x, e, use: bool):
    y = torch.empty(e.shape[0], x.shape[1], dtype=x.dtype)
    flagged_kernel[(e.shape[0],)](y, x, e, x.shape[1], USE=use, BLOCK=4)
    return y


@triton.jit
def masked_kernel(y, x, e, d, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    at = tl.load(e + row)
    a = tl.load(x + at * d + i, mask=(i < d) & (at >= 0), other=0.0)
    tl.store(y + row * d + i, a * a, mask=i < d)


def masked(x, e):
    y = torch.empty(e.shape[0], x.shape[1], dtype=x.dtype)
    masked_kernel[(e.shape[0],)](y, x, e, x.shape[1], BLOCK=4)
    return y


@triton.jit
def turned_kernel(y, x, e, d, sm, sn, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + tl.load(e + row) * sm + i * sn, mask=i < d, other=0.0)
    tl.store(y + row * d + i, a * a, mask=i < d)


def turned(x, e):
    y = torch.empty(e.shape[0], x.shape[1], dtype=x.dtype)
    turned_kernel[(e.shape[0],)](y, x, e, x.shape[1], x.stride(0), x.stride(1), BLOCK=4)
    return y


def halves(x, e):
    y = torch.empty(e.shape[0], x.shape[1], dtype=torch.float32)
    turned_kernel[(e.shape[0],)](y, x, e, x.shape[1], x.stride(0), x.stride(1), BLOCK=4)
    return y
