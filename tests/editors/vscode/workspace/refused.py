"""A kernel whose backward is refused, with its reason."""

import triton
import triton.language as tl


@triton.jit
def product_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=1.0)
    tl.store(y_ptr + row * n + cols, tl.cumprod(x, axis=0), mask=cols < n)


def product(x, y):
    product_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
