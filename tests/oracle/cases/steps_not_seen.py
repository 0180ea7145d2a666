"""Rows a hop of the caller's apart, whose ends a triangle, memory or a `while` says."""

# case: {"class": "overlaps", "call": "m.triangle(x, 8)", "inputs": {"x": [5, 8]}, "expect": "right"}
# case: {"call": "m.triangle(x, 3)", "inputs": {"x": [5, 8]}}
# case: {"call": "m.lengths(x, l, 8)", "inputs": {"x": [3, 8], "l": {"shape": [3], "dtype": "int32", "values": [8, 5, 7]}}, "expect": "right"}
# case: {"call": "m.lengths(x, l, 4)", "inputs": {"x": [3, 8], "l": {"shape": [3], "dtype": "int32", "values": [8, 5, 7]}}}
# case: {"call": "m.told(x, i, 8)", "inputs": {"x": [3, 8], "i": {"shape": [3], "dtype": "int64", "values": [2, 0, 1]}}, "expect": "right"}
# case: {"call": "m.told(x, i, 4)", "inputs": {"x": [3, 8], "i": {"shape": [3], "dtype": "int64", "values": [2, 0, 1]}}}
# case: {"call": "m.counted(x, 8)", "inputs": {"x": [3, 8]}, "expect": "right"}
# case: {"call": "m.counted(x, 4)", "inputs": {"x": [3, 8]}, "expect": "loud"}
# case: {"call": "m.divided(x, 4)", "inputs": {"x": [3, 16]}, "expect": "right"}
# case: {"call": "m.divided(x, 2)", "inputs": {"x": [3, 16]}, "expect": "loud"}
# case: {"call": "m.triangle(x, 4)", "inputs": {"x": [5, 8]}, "expect": "right"}
# case: {"call": "m.lengths(x, l, 7)", "inputs": {"x": [3, 8], "l": {"shape": [3], "dtype": "int32", "values": [7, 5, 8]}}, "expect": "right"}
# case: {"call": "m.told(x, i, 4)", "inputs": {"x": [3, 8], "i": {"shape": [3], "dtype": "int64", "values": [4, 0, 2]}}, "expect": "right"}

import torch
import triton
import triton.language as tl


@triton.jit
def triangle_k(X, O, n, hop: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    m = (c <= r) & (c < n)
    x = tl.load(X + r * n + c, mask=m, other=0.0)
    tl.store(O + r * hop + c, x * x, mask=m)


@triton.jit
def lengths_k(X, L, O, n, hop):
    r = tl.program_id(0)
    e = tl.load(L + r)
    for t in range(0, e):
        x = tl.load(X + r * n + t)
        tl.store(O + r * hop + t, x * x)


@triton.jit
def told_k(X, I, O, n, hop, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.load(I + r)
    c = tl.arange(0, B)
    x = tl.load(X + r * n + c, mask=c < n, other=0.0)
    tl.store(O + i * hop + c, x * x, mask=c < n)


@triton.jit
def counted_k(X, O, n, hop):
    r = tl.program_id(0)
    t = 0
    while t < n:
        x = tl.load(X + r * n + t)
        tl.store(O + r * hop + t, x * x)
        t += 1


@triton.jit
def divided_k(X, O, s, n, W: tl.constexpr, B: tl.constexpr):
    p = tl.program_id(0)
    i = tl.arange(0, B)
    x = tl.load(X + p * B + i, mask=i < n, other=0.0)
    tl.store(O + p * 16 + (i // W) * s.to(tl.int64) + i % W, x * x, mask=i < n)


def triangle(x, hop):
    o = x.new_zeros(100)
    triangle_k[(x.shape[0],)](x, o, x.shape[1], hop, B=8)
    return o


def lengths(x, l, hop):
    o = x.new_zeros(100)
    lengths_k[(x.shape[0],)](x, l, o, x.shape[1], hop)
    return o


def told(x, i, hop):
    o = x.new_zeros(100)
    told_k[(x.shape[0],)](x, i, o, x.shape[1], hop, B=8)
    return o


def counted(x, hop):
    o = x.new_zeros(100)
    counted_k[(x.shape[0],)](x, o, x.shape[1], hop)
    return o


def divided(x, s):
    o = x.new_zeros(100)
    divided_k[(3,)](x, o, s, 10, W=4, B=16)
    return o
