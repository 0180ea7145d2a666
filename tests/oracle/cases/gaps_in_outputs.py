"""Outputs whose elements are apart, under a grid that is computed elsewhere: kernels store between them."""

# case: {"class": "gaps", "expect": "right", "call": "m.into_column(x)", "inputs": {"x": [13]}}
# case: {"class": "gaps", "expect": "right", "call": "m.into_column_of(x, torch.zeros(13, 2, dtype=x.dtype))", "inputs": {"x": [13]}}
# case: {"class": "gaps", "expect": "right", "call": "m.into_row(x)", "inputs": {"x": [13]}}
# case: {"class": "gaps", "expect": "right", "call": "m.into_every_other(x)", "inputs": {"x": [13]}}
# case: {"class": "gaps", "expect": "right", "call": "m.into_given(x * 1, torch.zeros(13, 2, dtype=x.dtype)[:, 0])", "inputs": {"x": [13]}}

import torch
import triton
import triton.language as tl


@triton.jit
def act_kernel(y, x, n, alpha, NEG: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n, other=0.0)
    if NEG:
        a = -a
    tl.store(y + at, tl.sin(a) * alpha, mask=at < n)


def G(x, b=8):
    return (triton.cdiv(x.numel(), b),)


def into_column(x):
    y = torch.zeros(x.numel(), 2, dtype=x.dtype).t()
    act_kernel[G(x)](y[1], x, x.numel(), 1.0, NEG=False, BLOCK=8)
    return y


def into_column_of(x, y):
    act_kernel[G(x)](y[:, 1], x, x.numel(), 1.0, NEG=False, BLOCK=8)
    return y


def into_row(x):
    y = torch.zeros(2, x.numel(), dtype=x.dtype)
    act_kernel[G(x)](y[1], x, x.numel(), 1.0, NEG=False, BLOCK=8)
    return y


def into_every_other(x):
    y = torch.zeros(2 * x.numel(), dtype=x.dtype)
    act_kernel[G(x)](y[::2], x, x.numel(), 1.0, NEG=False, BLOCK=8)
    return y


def into_given(x, y):
    act_kernel[G(x)](y, x, x.numel(), 1.0, NEG=False, BLOCK=8)
    return y
