"""Operators that are written as methods of a tensor."""

import triton
import triton.language as tl


@triton.jit
def two_weights_a_byte(x_ptr, packed_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    packed = tl.load(packed_ptr + i, mask=i < n, other=0).to(tl.int8)
    low = packed.__lshift__(4).to(tl.int8).__rshift__(4).to(tl.float32)
    high = packed.__rshift__(4).to(tl.float32)
    tl.store(y_ptr + i, x.__mul__(low).__radd__(1.0) + x * x * high, mask=i < n)
