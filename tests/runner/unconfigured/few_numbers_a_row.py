"""Rows of a few numbers, which the kernel numbers itself: made-up rows do not reach into each other."""

import triton
import triton.language as tl


@triton.jit
def three_numbers_a_row(
    x_ptr, s_ptr, y_ptr, x_stride, s_stride, y_stride, rows, n, B: tl.constexpr
):
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        s_0 = tl.load(s_ptr + row * s_stride)
        s_1 = tl.load(s_ptr + row * s_stride + 1)
        s_2 = tl.load(s_ptr + row * s_stride + 2)
        for first in range(0, n, B):
            i = first + tl.arange(0, B)
            x = tl.load(x_ptr + row * x_stride + i, mask=i < n, other=0.0)
            tl.store(y_ptr + row * y_stride + i, x * (s_0 + x * (s_1 + x * s_2)), mask=i < n)


@triton.jit
def two_sums_a_row(x_ptr, s_ptr, x_stride, s_stride, rows, n, B: tl.constexpr):
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        total = tl.zeros([B], tl.float32)
        squares = tl.zeros([B], tl.float32)
        for first in range(0, n, B):
            i = first + tl.arange(0, B)
            x = tl.load(x_ptr + row * x_stride + i, mask=i < n, other=0.0)
            total += x
            squares += x * x
        tl.store(s_ptr + row * s_stride, tl.sum(total))
        tl.store(s_ptr + row * s_stride + 1, tl.sum(squares))
