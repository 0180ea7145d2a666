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


# tad: n=24, s0=1, s1=2, s2=1, s3=3, s4=1, s5=2, s6=1, s7=2, t0=24, t1=12, t2=12, t3=4, t4=4, t5=2, t6=2, t7=1, x_ptr=f32[n], y_ptr=f32[n], BLOCK=16, grid=(2,)
@triton.jit
def eight_digits_kernel(x_ptr, y_ptr, n, s0, s1, s2, s3, s4, s5, s6, s7, t0, t1, t2, t3, t4, t5, t6, t7, BLOCK: tl.constexpr):
    """A linear index taken apart by eight sizes: their product is more than the analysis follows."""
    rest = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = rest < n
    place = 0
    place += (rest % s7) * t7
    rest = rest // s7
    place += (rest % s6) * t6
    rest = rest // s6
    place += (rest % s5) * t5
    rest = rest // s5
    place += (rest % s4) * t4
    rest = rest // s4
    place += (rest % s3) * t3
    rest = rest // s3
    place += (rest % s2) * t2
    rest = rest // s2
    place += (rest % s1) * t1
    rest = rest // s1
    place += (rest % s0) * t0
    x = tl.load(x_ptr + place, mask=mask)
    tl.store(y_ptr + place, x * x, mask=mask)
