"""Lanes past the end that repeat elements: their gradients meet."""

import triton
import triton.language as tl


# tad: n=37, x_ptr=f32[n], y_ptr=f32[n], BLOCK=16, grid=(3,)
@triton.jit
def clamped_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    inside = tl.where(mask, offsets, n - 1)
    x = tl.load(x_ptr + inside)
    tl.store(y_ptr + inside, x * x, mask=mask)


# tad: n=37, x_ptr=f32[n], y_ptr=f32[n], BLOCK=16, grid=(3,)
@triton.jit
def repeated_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets % n)
    tl.store(y_ptr + offsets, x * x, mask=offsets < n)


# tad: n=37, x_ptr=f32[n], y_ptr=f32[n], BLOCK=16, grid=(3,)
@triton.jit
def least_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.minimum(offsets, n - 1))
    tl.store(y_ptr + offsets, x * x, mask=offsets < n)
