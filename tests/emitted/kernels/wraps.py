"""Lanes past the end that repeat elements: their gradients meet."""

import torch
import triton
import triton.language as tl


@triton.jit
def clamped_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    inside = tl.where(mask, offsets, n - 1)
    x = tl.load(x_ptr + inside)
    tl.store(y_ptr + inside, x * x, mask=mask)


@triton.jit
def repeated_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets % n)
    tl.store(y_ptr + offsets, x * x, mask=offsets < n)


@triton.jit
def least_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.minimum(offsets, n - 1))
    tl.store(y_ptr + offsets, x * x, mask=offsets < n)
