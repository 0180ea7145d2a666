"""Where memory tells a program's place: two stores by one index, offsets with a tail that nobody reads, heads beside sequences."""

# case: {"class": "indices", "call": "m.pair(x, i)", "inputs": {"x": [3, 4], "i": {"shape": [3], "dtype": "int64", "values": [0, 4, 2]}}, "expect": "right"}
# case: {"call": "m.pair(x, i)", "inputs": {"x": [3, 4], "i": {"shape": [3], "dtype": "int64", "values": [0, 1, 3]}}, "expect": "loud"}
# case: {"call": "m.pair_in_order(x, i)", "inputs": {"x": [3, 4], "i": {"shape": [3], "dtype": "int64", "values": [0, 1, 3]}}, "expect": "right"}
# case: {"call": "m.rows(x, w, o, 3)", "inputs": {"x": [7, 4], "w": [3, 4], "o": {"shape": [6], "dtype": "int32", "values": [0, 3, 7, 0, 0, 0]}}, "expect": "right"}
# case: {"call": "m.rows(x, w, o, 2)", "inputs": {"x": [7, 4], "w": [3, 4], "o": {"shape": [6], "dtype": "int32", "values": [0, 3, 7, 2, 9, 1]}}, "expect": "right"}
# case: {"call": "m.rows(x, w, o, 3)", "inputs": {"x": [7, 4], "w": [3, 4], "o": {"shape": [4], "dtype": "int32", "values": [0, 5, 3, 7]}}, "expect": "loud"}
# case: {"call": "m.heads(x, w, o, 3)", "inputs": {"x": [7, 4], "w": [2, 4], "o": {"shape": [6], "dtype": "int32", "values": [0, 3, 7, 0, 0, 0]}}, "expect": "right"}
# case: {"call": "m.heads(x, w, o, 2)", "inputs": {"x": [7, 4], "w": [2, 4], "o": {"shape": [6], "dtype": "int32", "values": [0, 3, 7, 2, 9, 1]}}, "expect": "right"}
# case: {"call": "m.heads(x, w, o, 3)", "inputs": {"x": [7, 4], "w": [2, 4], "o": {"shape": [4], "dtype": "int32", "values": [0, 5, 3, 7]}}, "expect": "loud"}

import torch
import triton
import triton.language as tl


@triton.jit
def pair_k(x_ptr, i_ptr, y_ptr, d, B: tl.constexpr):
    t = tl.program_id(0)
    c = tl.arange(0, B)
    i = tl.load(i_ptr + t)
    x = tl.load(x_ptr + t * d + c, mask=c < d)
    tl.store(y_ptr + i * d + c, x * x, mask=c < d)
    tl.store(y_ptr + (i + 1) * d + c, x * 3, mask=c < d)


@triton.jit
def pair_in_order_k(x_ptr, i_ptr, y_ptr, n, d, B: tl.constexpr):
    c = tl.arange(0, B)
    for t in range(n):
        i = tl.load(i_ptr + t)
        x = tl.load(x_ptr + t * d + c, mask=c < d)
        tl.store(y_ptr + i * d + c, x * x, mask=c < d)
        tl.store(y_ptr + (i + 1) * d + c, x * 3, mask=c < d)


@triton.jit
def rows_k(x_ptr, w_ptr, y_ptr, o_ptr, D, B: tl.constexpr):
    e = tl.program_id(0)
    lo = tl.load(o_ptr + e)
    hi = tl.load(o_ptr + e + 1)
    c = tl.arange(0, B)
    w = tl.load(w_ptr + e * D + c, mask=c < D, other=0.0)
    for s in range(lo, hi):
        x = tl.load(x_ptr + s * D + c, mask=c < D, other=0.0)
        tl.store(y_ptr + s * D + c, x * w, mask=c < D)


@triton.jit
def heads_k(x_ptr, w_ptr, y_ptr, o_ptr, T, H, D, B: tl.constexpr, R: tl.constexpr):
    pid = tl.program_id(0)
    e, h = pid // H, pid % H
    lo = tl.load(o_ptr + e)
    hi = tl.load(o_ptr + e + 1)
    c = tl.arange(0, B)
    w = tl.load(w_ptr + h * D + c, mask=c < D, other=0.0)
    for s in range(lo, hi, R):
        r = s + tl.arange(0, R)
        m = (r < hi)[:, None] & (c < D)[None, :]
        x = tl.load(x_ptr + r[:, None] * D + c[None, :], mask=m, other=0.0)
        tl.store(y_ptr + (h * T + r[:, None]) * D + c[None, :], x * x * w[None, :], mask=m)


def pair(x, i):
    y = x.new_zeros(6, x.shape[1])
    pair_k[(x.shape[0],)](x, i, y, x.shape[1], B=4)
    return y


def pair_in_order(x, i):
    y = x.new_zeros(6, x.shape[1])
    pair_in_order_k[(1,)](x, i, y, x.shape[0], x.shape[1], B=4)
    return y


def rows(x, w, o, n):
    y = x.new_zeros(x.shape)
    rows_k[(n,)](x, w, y, o, x.shape[1], B=4)
    return y


def heads(x, w, o, n):
    H = w.shape[0]
    y = x.new_zeros(H, *x.shape)
    heads_k[(n * H,)](x, w, y, o, x.shape[0], H, x.shape[1], B=4, R=2)
    return y
