"""A kernel whose backward is refused, with its reason: who won a race of maxima is not written down."""

import triton
import triton.language as tl


@triton.jit
def largest_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + cols, mask=cols < n, other=-float("inf"))
    tl.atomic_max(y_ptr, tl.max(x))


def largest(x, y):
    largest_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
