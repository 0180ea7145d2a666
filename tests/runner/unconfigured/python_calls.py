"""Python's functions of constexprs, which the compiler calls: the backward calls them again."""

import math
from math import ceil

import triton
import triton.language as tl


@triton.jit
def padded_row(x_ptr, y_ptr, D: tl.constexpr):
    block: tl.constexpr = triton.next_power_of_2(D)
    at = tl.arange(0, block)
    inside = at < D
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * D + at, mask=inside, other=0.0)
    tl.store(y_ptr + row * D + at, x * x / math.sqrt(D), mask=inside)


@triton.jit
def rounded_scale(x_ptr, y_ptr, n, scale: tl.constexpr, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(y_ptr + at, x * x * ceil(scale * 3), mask=at < n)
