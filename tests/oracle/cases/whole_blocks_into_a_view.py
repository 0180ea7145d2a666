"""Whole blocks stored to rows of a view: what lies behind a row's end is no output, and the base may go on to be used."""

# case: {"class": "views", "call": "m.padded(x)", "inputs": {"x": [3, 8]}}
# case: {"class": "views", "call": "torch.cat([m.padded(x), y], 1)", "inputs": {"x": [3, 8], "y": [3, 11]}}
# case: {"class": "views", "call": "m.into(torch.zeros(3, 16, dtype=x.dtype)[:, :5], x)", "inputs": {"x": [3, 8]}}
# case: {"class": "views", "call": "m.scaled(torch.zeros(3, 16, dtype=x.dtype)[:, :5] * 1, x)", "inputs": {"x": [3, 8]}}
# case: {"class": "views", "call": "m.padded_whole(x)", "inputs": {"x": [3, 8]}}
# case: {"class": "views", "call": "m.into_cols_whole(torch.zeros(3, 16, dtype=x.dtype), x)", "inputs": {"x": [3, 8]}}
# case: {"class": "views", "call": "m.into_base(b, x)", "inputs": {"b": [3, 16], "x": [3, 8]}}
# case: {"class": "views", "call": "m.caller(torch.zeros(3, 16, dtype=x.dtype), x)", "inputs": {"x": [3, 8]}}
# case: {"class": "views", "call": "m.steps(torch.zeros(3, 16, dtype=x.dtype), x)", "inputs": {"x": [3, 8]}}
# case: {"class": "views", "call": "m.steps_whole(torch.zeros(3, 16, dtype=x.dtype), x)", "inputs": {"x": [3, 8]}}
# case: {"class": "views", "call": "m.added(b, x)", "inputs": {"b": [3, 16], "x": [3, 8]}}
# case: {"class": "views", "call": "m.squares(torch.zeros(4, 16, dtype=x.dtype), x)", "inputs": {"x": [4, 6]}}
# case: {"class": "views", "call": "m.two(torch.zeros(3, 32, dtype=x.dtype), x)", "inputs": {"x": [3, 8]}}
# case: {"class": "views", "call": "m.pieces(b, x)", "inputs": {"b": [3, 16], "x": [3, 8]}}

import torch
import triton
import triton.language as tl


@triton.jit
def spread(o, x, so, sx, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + r * sx + i)
    tl.store(o + r * so + i, a * tl.sum(a, axis=0))


def padded(x):
    buf = torch.zeros(x.shape[0], 16, dtype=x.dtype)
    o = buf[:, :5]
    spread[(x.shape[0],)](o, x, o.stride(0), x.stride(0), BLOCK=8)
    return o


def padded_whole(x):
    buf = torch.zeros(x.shape[0], 16, dtype=x.dtype)
    o = buf[:, :5]
    spread[(x.shape[0],)](o, x, o.stride(0), x.stride(0), BLOCK=8)
    return buf


def into_cols_whole(buf, x):
    o = buf[:, :5]
    spread[(x.shape[0],)](o, x, o.stride(0), x.stride(0), BLOCK=8)
    return buf * 1


def into_base(b, x):
    buf = b * 2
    spread[(x.shape[0],)](buf[:, 2:7], x, buf.stride(0), x.stride(0), BLOCK=8)
    return buf


def into(o, x):
    spread[(x.shape[0],)](o, x, o.stride(0), x.stride(0), BLOCK=8)
    return o


def caller(buf, x):
    into(buf[:, :5], x)
    return buf * 3


def steps(buf, x):
    o = buf[:, ::2]
    spread[(x.shape[0],)](o, x, o.stride(0), x.stride(0), BLOCK=8)
    return o


def steps_whole(buf, x):
    o = buf[:, ::2]
    spread[(x.shape[0],)](o, x, o.stride(0), x.stride(0), BLOCK=8)
    return buf


@triton.jit
def add_to(o, x, so, sx, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + r * sx + i)
    b = tl.load(o + r * so + i)
    tl.store(o + r * so + i, a * b * tl.sum(a, axis=0))


def added(b, x):
    buf = b * 2
    o = buf[:, :5]
    add_to[(x.shape[0],)](o, x, o.stride(0), x.stride(0), BLOCK=8)
    return buf


@triton.jit
def square(o, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(o + i, a * a, mask=i < n)


def squares(buf, x):
    """A flat kernel: the view's rows follow each other with gaps, what it stores does not."""
    o = buf[:, :6]
    n = x.numel()
    square[(triton.cdiv(n, 8),)](o, x, n, BLOCK=8)
    return buf


@triton.jit
def spread_two(o, p, x, so, sp, sx, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + r * sx + i)
    tl.store(o + r * so + i, a * tl.sum(a, axis=0))
    tl.store(p + r * sp + i, a * a)


def two(buf, x):
    o, p = buf[:, :5], buf[:, 16:20]
    spread_two[(x.shape[0],)](o, p, x, o.stride(0), p.stride(0), x.stride(0), BLOCK=8)
    return buf


def pieces(b, x):
    buf = b * 2
    first, second = buf.split([6, 10], dim=1)
    spread[(x.shape[0],)](first, x, first.stride(0), x.stride(0), BLOCK=8)
    return buf * 1


@triton.jit
def scale(o, x, so, sx, n, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + r * sx + i, mask=i < n, other=0.0)
    b = tl.load(o + r * so + i, mask=i < n, other=0.0)
    tl.store(o + r * so + i, a * tl.sum(a, axis=0) + b, mask=i < n)


def scaled(o, x):
    scale[(x.shape[0],)](o, x, o.stride(0), x.stride(0), o.shape[1], BLOCK=8)
    return o
