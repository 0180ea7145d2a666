"""Floats are viewed as whole numbers by a launcher: a copy of them has no gradient, and nobody else would say so."""

# case: {"class": "bits", "call": "m.bytes_copy(x) * x", "inputs": {"x": [9]}}
# case: {"class": "bits", "call": "m.mixed(x) + x", "inputs": {"x": [9]}}
# case: {"class": "bits", "call": "m.through(x) + x", "inputs": {"x": [9]}}
# case: {"class": "bits", "call": "m.meant(x) + x", "inputs": {"x": [9]}, "reference": "x * 1.0"}
# case: {"class": "bits", "call": "m.floats(x) + x", "inputs": {"x": [9]}}

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


def bytes_copy(x):
    y = torch.empty_like(x)
    copy_kernel[(1,)](x.view(torch.uint8), y.view(torch.uint8), x.numel() * 8, BLOCK=128)
    return y


def mixed(x):
    y = torch.empty(x.numel(), dtype=torch.int64)
    bits = x.view(dtype=torch.int64)
    copy_kernel[(1,)](bits, y, x.numel(), BLOCK=16)
    return y.view(torch.float64) * 2.0


def meant(x):
    y = torch.empty(x.numel(), dtype=torch.int64)
    copy_kernel[(1,)](x.detach().view(torch.int64), y, x.numel(), BLOCK=16)
    return y.view(torch.float64) * 0.0


def floats(x):
    y = torch.empty_like(x)
    copy_kernel[(1,)](x, y, x.numel(), BLOCK=16)
    return y


def through(x):
    return floats(x.view(torch.int64)).view(torch.float64) * 2.0
