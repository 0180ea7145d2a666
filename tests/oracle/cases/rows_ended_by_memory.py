"""Masks whose ends are read from memory: frames that overlap, padded rows."""

# case: {"class": "views", "call": "m.run(x, lens, 5)", "inputs": {"x": [29], "lens": {"shape": [5], "dtype": "int32", "values": [3, 8, 5, 7, 2]}}}
# case: {"call": "m.run2(x, lens)", "inputs": {"x": [5, 6], "lens": {"shape": [5], "dtype": "int32", "values": [3, 8, 6, 7, 2]}}}

import torch
import triton
import triton.language as tl


@triton.jit
def frames(x_ptr, l_ptr, y_ptr, hop, B: tl.constexpr):
    f = tl.program_id(0)
    i = tl.arange(0, B)
    n = tl.load(l_ptr + f)
    x = tl.load(x_ptr + f * hop + i, mask=i < n, other=0.0)
    tl.store(y_ptr + f * B + i, x * x, mask=i < n)


def run(x, lens, hop):
    y = torch.zeros(5, 8, dtype=x.dtype)
    frames[(5,)](x, lens, y, hop, B=8)
    return y


def run2(x, lens):
    y = torch.zeros(5, 8, dtype=x.dtype)
    frames[(5,)](x, lens, y, x.stride(0), B=8)
    return y


@triton.jit
def loopk(x_ptr, l_ptr, y_ptr, stride, B: tl.constexpr):
    f = tl.program_id(0)
    n = tl.load(l_ptr + f)
    acc = tl.zeros([B], dtype=tl.float32)
    for k in range(0, n, B):
        i = k + tl.arange(0, B)
        x = tl.load(x_ptr + f * stride + i, mask=i < n, other=0.0)
        acc += x * x
    tl.store(y_ptr + f, tl.sum(acc))


def looped(x, lens):
    y = torch.empty(4, dtype=torch.float32)
    loopk[(4,)](x, lens, y, x.stride(0), B=4)
    return y


def total(x, lens):
    y = torch.empty(4, dtype=x.dtype)
    sumk[(4,)](x, lens, y, x.stride(0), B=16)
    return y


@triton.jit
def sumk(x_ptr, l_ptr, y_ptr, stride, B: tl.constexpr):
    f = tl.program_id(0)
    n = tl.load(l_ptr + f)
    i = tl.arange(0, B)
    x = tl.load(x_ptr + f * stride + i, mask=i < n, other=0.0)
    tl.store(y_ptr + f, tl.sum(x * x * x))
