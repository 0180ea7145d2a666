"""Kernels that stand inside something else."""

import triton
import triton.language as tl

try:

    @triton.jit
    def guarded_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, mask=offsets < n)
        tl.store(y_ptr + offsets, x * 3.0, mask=offsets < n)
except ImportError:
    guarded_kernel = None


def factory():
    @triton.jit
    def inner_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, mask=offsets < n)
        tl.store(y_ptr + offsets, x * 3.0, mask=offsets < n)

    return inner_kernel
