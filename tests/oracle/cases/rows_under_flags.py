"""Rows that overlap under one flag, and that masks end under another."""

# case: {"class": "views", "call": "m.run(x, 5, False)", "inputs": {"x": [23]}}
# case: {"call": "m.run(x, 5, True)", "inputs": {"x": [23]}}
# case: {"call": "m.run(x, 8, False)", "inputs": {"x": [40]}}
# case: {"call": "m.rows(x, False)", "inputs": {"x": [5, 6]}}
# case: {"call": "m.rows(x, True)", "inputs": {"x": [5, 6]}}

import torch
import triton
import triton.language as tl


@triton.jit
def frames(x_ptr, y_ptr, hop, length, n, MASKED: tl.constexpr, B: tl.constexpr):
    f = tl.program_id(0)
    i = tl.arange(0, B)
    if MASKED:
        x = tl.load(x_ptr + f * hop + i, mask=i < hop, other=0.0)
    else:
        x = tl.load(x_ptr + f * hop + i)
    tl.store(y_ptr + f * B + i, x * x)


def run(x, hop, masked):
    f = (x.numel() - 8) // hop + 1
    y = torch.empty(f, 8, dtype=x.dtype)
    frames[(f,)](x, y, hop, 8, x.numel(), masked, B=8)
    return y


@triton.jit
def rowk(x_ptr, y_ptr, stride, n, EVEN: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    if EVEN:
        x = tl.load(x_ptr + r * stride + i)
        tl.store(y_ptr + r * B + i, x * x)
    else:
        x = tl.load(x_ptr + r * stride + i, mask=i < n, other=0.0)
        tl.store(y_ptr + r * B + i, x * x * x)


def rows(x, even):
    xs = x.reshape(-1)
    r = (xs.numel() - 8) // 6 + 1
    y = torch.empty(r, 8, dtype=x.dtype)
    rowk[(r,)](xs, y, 6, 6, even, B=8)
    return y
