"""Constexpr flags that decide shapes, types and strides; pointers that a loop moves under a condition."""

import triton
import triton.language as tl


@triton.jit
def outer_state(x, y, out, n, d, TRANSPOSED: tl.constexpr, BX: tl.constexpr, BY: tl.constexpr):
    """The state is [BX, BY] or [BY, BX], as the flag says."""
    row = tl.program_id(0)
    i = tl.arange(0, BX)
    j = tl.arange(0, BY)
    if TRANSPOSED:
        h = tl.zeros([BY, BX], dtype=tl.float32)
    else:
        h = tl.zeros([BX, BY], dtype=tl.float32)
    for t in range(n):
        a = tl.load(x + (row * n + t) * d + i, mask=i < d, other=0.0)
        b = tl.load(y + (row * n + t) * BY + j)
        if TRANSPOSED:
            h = h * 0.5 + b[:, None] * a[None, :]
            o = tl.sum(h * a[None, :], axis=1)
        else:
            h = h * 0.5 + a[:, None] * b[None, :]
            o = tl.sum(h * a[:, None], axis=0)
        tl.store(out + (row * n + t) * BY + j, o)


# tad: n=3, d=6, x=f32[2, n, d], y=f32[2, n, 4], out=f32[2, n, 4], TRANSPOSED=True, BX=8, BY=4, grid=(2,)
@triton.jit
def state_transposed(x, y, out, n, d, TRANSPOSED: tl.constexpr, BX: tl.constexpr, BY: tl.constexpr):
    outer_state(x, y, out, n, d, TRANSPOSED, BX, BY)


# tad: n=3, d=6, x=f32[2, n, d], y=f32[2, n, 4], out=f32[2, n, 4], TRANSPOSED=False, BX=8, BY=4, grid=(2,)
@triton.jit
def state_as_it_is(x, y, out, n, d, TRANSPOSED: tl.constexpr, BX: tl.constexpr, BY: tl.constexpr):
    outer_state(x, y, out, n, d, TRANSPOSED, BX, BY)


# tad: n=37, x=f32[2, n], g=f32[2, n], out=f32[2, n], USE_G=True, REVERSE=True, BLOCK=16, grid=(2,)
@triton.jit
def moved_under_a_flag(
    x, g, out, n, USE_G: tl.constexpr, REVERSE: tl.constexpr, BLOCK: tl.constexpr
):
    """One pointer moves only where the flag says so."""
    row = tl.program_id(0) * n
    lanes = tl.arange(0, BLOCK)
    p_x = x + row + lanes
    p_out = out + row + lanes
    if USE_G:
        p_g = g + row + lanes
    for start in range(0, n, BLOCK):
        a = tl.load(p_x, mask=start + lanes < n, other=0.0)
        if USE_G:
            a = a * tl.exp(tl.load(p_g, mask=start + lanes < n, other=0.0))
        tl.store(p_out, a * a, mask=start + lanes < n)
        p_x += BLOCK
        p_out += BLOCK
        if USE_G:
            p_g += BLOCK


# tad: n=16, x=f32[n, 8], out=f32[8], STEP=True, BLOCK=8, grid=(1,)
@triton.jit
def moved_or_not(x, out, n, STEP: tl.constexpr, BLOCK: tl.constexpr):
    """Without the flag every turn reads the same row."""
    lanes = tl.arange(0, BLOCK)
    p_x = x + lanes
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for i in range(n):
        a = tl.load(p_x)
        total += a * a * (i + 1.0)
        if STEP:
            p_x += BLOCK
    tl.store(out + lanes, total)


# tad: n=12, x=f32[n, 8], jump=i32[n], out=f32[8], BLOCK=8, grid=(1,)
@triton.jit
def moved_by_data(x, jump, out, n, BLOCK: tl.constexpr):
    """The pointer moves under a condition that the data decides."""
    lanes = tl.arange(0, BLOCK)
    p_x = x + lanes
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for i in range(n):
        a = tl.load(p_x)
        total += a * a * (i + 1.0)
        if tl.load(jump + i) > 1:
            p_x += BLOCK
    tl.store(out + lanes, total)
