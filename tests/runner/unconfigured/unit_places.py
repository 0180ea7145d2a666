"""A number that meets the bits of floats is whole: it is no factor of them."""

import triton
import triton.language as tl


@triton.jit
def rounded_up(x_ptr, noise_ptr, y_ptr, n, bias, bits, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float16)
    noise = tl.load(noise_ptr + at, mask=at < n, other=0.0)
    exponent = (tl.cast(x, tl.int16, bitcast=True) & 0x7C00) >> 10
    place = tl.maximum(exponent - bias - bits + 15, 0)
    unit = tl.cast(tl.cast(place << 10, tl.int16), tl.float16, bitcast=True)
    tl.store(y_ptr + at, x + noise * unit, mask=at < n)
