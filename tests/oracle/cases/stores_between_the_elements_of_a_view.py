"""A kernel stores whole blocks to padded rows: what lies behind a row's end is no output and has no upstream gradient."""

# case: {"class": "views", "call": "m.padded(x)", "inputs": {"x": [3, 8]}}
# case: {"class": "views", "call": "torch.cat([m.padded(x), y], 1)", "inputs": {"x": [3, 8], "y": [3, 11]}}
# case: {"class": "views", "call": "m.into(torch.zeros(3, 16, dtype=x.dtype)[:, :5], x)", "inputs": {"x": [3, 8]}}
# case: {"class": "views", "call": "m.scaled(torch.zeros(3, 16, dtype=x.dtype)[:, :5] * 1, x)", "inputs": {"x": [3, 8]}}

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


def into(o, x):
    spread[(x.shape[0],)](o, x, o.stride(0), x.stride(0), BLOCK=8)
    return o


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
