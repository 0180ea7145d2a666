"""A generated module: from lines of the backward to the forward, and back."""

import triton
import triton.language as tl


@triton.jit
def square_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    # <^^^^^^^^^^^ lens: forward
    # <^^^^^^^^^^^ label: square_kernel
    # <^^^^^^^^^^^ back: square_kernel_backward
    #             ^^^^^ label: x_ptr
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # <^^^^^^ label: offsets
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    # <^ label: x
    # <^ back: dx
    y = x * x
    # <^ back: dy
    # <^ label: y
    tl.store(y_ptr + offsets, y, mask=offsets < n)


@triton.jit
def square_kernel_backward(x_ptr, dy_ptr, dx_ptr, n, BLOCK: tl.constexpr):
    # <^^^^^^^^^^^^^^^^^^^^ lens: backward
    # <^^^^^^^^^^^^^^^^^^^^ label: square_kernel_backward
    # <^^^^^^^^^^^^^^^^^^^^ def: square_kernel
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # <^^^^^^ def: offsets
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    # <^ def: x
    dy = tl.load(dy_ptr + offsets, mask=mask)
    # <^ label: dy
    # <^ def: y
    dy_1 = dy * 2
    # <^^^ def: y
    # <^^^ label: dy_1
    dx = dy_1 * x
    # <^ label: dx
    # <^ def: x
    #    ^^^^ def: dy_1
    tl.store(dx_ptr + offsets, dx, mask=mask)
    #                          ^^ def: dx


def square(x, y):
    square_kernel[(4,)](x, y, x.numel(), BLOCK=64)
