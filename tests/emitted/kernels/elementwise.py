"""Element by element: arithmetic, selections, ties, casts, libdevice, scalars."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


# tad: n=70, x=f32[n], y=f32[n] in uniform(0.5, 2), out=f32[n], BLOCK=32, grid=(3,)
@triton.jit
def arithmetic(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(x + offsets, mask=mask)
    b = tl.load(y + offsets, mask=mask, other=1.0)
    result = (a + 2.0) * (b - a) / b - 3.0 * a + 1.0 / (1.0 + a * a)
    result -= a / (b + 4) * -b
    tl.store(out + offsets, result, mask=mask)


# tad: n=50, x=f32[n] in uniform(0.4, 1.7), out=f32[n], BLOCK=64, grid=(1,)
@triton.jit
def mathematics(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(x + offsets, mask=mask, other=1.0)
    total = tl.exp(-a) + tl.exp2(a) + tl.log(a) * tl.log2(a + 2.0)
    total += tl.sqrt(a) * tl.rsqrt(a + 1.0) + tl.sin(a) * tl.cos(2.0 * a)
    total += (
        tl.sigmoid(a)
        + tl.erf(a * 0.5)
        + tl.fma(a, a, total)
        + tl.div_rn(a, total + 9.0)
        + tl.fdiv(1.0, a)
    )
    total += tl.abs(a - 1.0) + tl.floor(a) * a + tl.ceil(a)
    tl.store(out + offsets, total, mask=mask)


# tad: n=50, x=f32[n] in uniform(0.2, 0.9), out=f32[n], BLOCK=64, grid=(1,)
@triton.jit
def device_functions(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(x + offsets, mask=mask, other=0.5)
    total = libdevice.tanh(a) + libdevice.log1p(a) * libdevice.expm1(a) + libdevice.pow(a, 2.5)
    total += libdevice.atan(a) * libdevice.asin(a) + libdevice.acos(a) + libdevice.atan2(a, total)
    total += (
        libdevice.hypot(a, 2.0 * a)
        + libdevice.cbrt(a)
        + libdevice.erfc(a)
        + libdevice.sinh(a) * libdevice.cosh(a)
    )
    tl.store(out + offsets, total, mask=mask)


# tad: n=70, x=f32[n], y=f32[n], out=f32[n], low=-0.5, BLOCK=32, grid=(3,)
@triton.jit
def selections(x, y, out, n, low, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(x + offsets, mask=mask, other=0.0)
    b = tl.load(y + offsets, mask=mask, other=0.0)
    relu = tl.where(a > 0, a, 0.01 * a)
    between = tl.clamp(b, low, 0.75)
    result = tl.maximum(relu, b) * tl.minimum(a, between) + tl.minimum(a, 0.3) - tl.maximum(b, 0.1)
    result = tl.where((a > b) & (offsets % 3 != 0) | ~mask, result * a, tl.where(b < 0, b * b, a))
    tl.store(out + offsets, result, mask=mask)


# tad: n=40, x=f32[n], out=f32[n], BLOCK=64, grid=(1,)
@triton.jit
def ties(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(x + offsets, mask=mask, other=0.0)
    # Both operands are the same value: the halves add up to the whole.
    result = tl.maximum(a, a) * 2.0 + tl.minimum(a, a) + tl.where(a == a, a, 0.0)
    tl.store(out + offsets, result, mask=mask)


# tad: n=70, x=f32[n], out=f32[n], BLOCK=32, grid=(3,)
@triton.jit
def casts_half(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(x + offsets, mask=mask, other=0.0).to(tl.float32)
    half = (a * 1.5).to(tl.float16)
    rounded = (half * half).to(tl.bfloat16)
    whole = (a * 4.0).to(tl.int32)
    result = rounded.to(tl.float32) * a + whole.to(tl.float32)
    tl.store(out + offsets, result.to(out.dtype.element_ty), mask=mask)


# tad: n=70, x=f32[n], out=f32[n], alpha=0.5, beta=2.0, BLOCK=32, grid=(3,)
@triton.jit
def scaled(x, out, n, alpha, beta, BLOCK: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(x + offsets, mask=mask)
    tl.store(out + offsets, alpha * a * a + beta, mask=mask)


# tad: n=70, x=f32[n], s=f32[1], t=f32[4], out=f32[n], BLOCK=32, grid=(3,)
@triton.jit
def scalars_from_memory(x, s, t, out, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    scale = tl.load(s)
    shift = tl.load(t + pid + 1)
    a = tl.load(x + offsets, mask=mask, other=0.0)
    tl.store(out + offsets, a * scale * scale + tl.exp(shift) * a, mask=mask)


# tad: n=64, x=f32[n], out=f32[n], BLOCK=32, grid=(2,)
@triton.jit
def no_mask(x, out, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + offsets)
    tl.store(out + offsets, tl.exp(a) * a)


# tad: n=40, x=f32[n], y=f32[n], s=f32[n], d=f32[n], p=f32[n], BLOCK=64, grid=(1,)
@triton.jit
def several_outputs(x, y, s, d, p, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(x + offsets, mask=mask)
    b = tl.load(y + offsets, mask=mask)
    tl.store(s + offsets, a + b, mask=mask)
    tl.store(d + offsets, a - b, mask=mask)
    tl.store(p + offsets, a * b * a, mask=mask)


# tad: n=70, x=f32[n], out=f32[n], index=i32[n] in range(0, 70), p=0.3, seed=7, BLOCK=32, grid=(3,)
@triton.jit
def dropout_replayed(x, out, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(x + offsets, mask=mask)
    keep = tl.rand(seed, offsets) > p
    noise = tl.randn(seed + 1, offsets)
    tl.store(out + offsets, tl.where(keep, a * a / (1 - p), 0.0) + a * noise, mask=mask)


# tad: n=40, x=f32[n] in uniform(0.5, 2), y=f32[n] in uniform(0.5, 2), out=f32[n], BLOCK=64, grid=(1,)
@triton.jit
def remainder_and_power(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(x + offsets, mask=mask, other=1.0)
    b = tl.load(y + offsets, mask=mask, other=1.0)
    result = (a * 7.0) % b + libdevice.pow(a, b) + libdevice.fmod(a * 5.0, b + 1.0)
    tl.store(out + offsets, result, mask=mask)


# tad: n=33, x=f32[n], bias=f32[n], out=f32[n], HAS_BIAS=True, BLOCK=32, grid=(2,)
@triton.jit
def optional_pointer(x, bias, out, n, HAS_BIAS: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(x + offsets, mask=mask)
    if HAS_BIAS:
        a += tl.load(bias + offsets, mask=mask)
    tl.store(out + offsets, a * a, mask=mask)


# tad: n=33, x=f32[n], bias=None, out=f32[n], BLOCK=32, grid=(2,)
@triton.jit
def pointer_or_none(x, bias, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(x + offsets, mask=mask)
    if bias is not None:
        a = a * tl.load(bias + offsets, mask=mask)
    tl.store(out + offsets, tl.sin(a), mask=mask)


# tad: n=37, x=f32[n], w=f32[n], level=i32[n] in (3, 1, 2, 0), out=f32[n], B=16, grid=(3,)
@triton.jit
def rounded_to_steps(x, w, level, out, n, B: tl.constexpr):
    """A number that is cast to an integer here and multiplied as it is there is a float; what is only cast is none."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.load(w + i, mask=i < n, other=0.0)
    steps = (a * 4).to(tl.int32) + tl.load(level + i, mask=i < n, other=0).to(tl.int32)
    tl.store(out + i, steps.to(tl.float32) * 0.25 * a * b, mask=i < n)


# tad: n=37, m=20, x=f32[m], p=f32[n] in uniform(0, 1), out=f32[n], B=16, grid=(3,)
@triton.jit
def between_two(x, p, out, n, m, B: tl.constexpr):
    """Linear interpolation: a place is cut to an integer, and what is cut off weighs."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    place = tl.load(p + i, mask=i < n, other=0.0) * (m - 2)
    low = place.to(tl.int32)
    part = place - low
    a = tl.load(x + low, mask=i < n, other=0.0)
    b = tl.load(x + low + 1, mask=i < n, other=0.0)
    tl.store(out + i, a * (1 - part) + b * part, mask=i < n)
