"""A tensor read at two places: elements that both touch, in one program or across programs and iterations."""

import triton
import triton.language as tl


# tad: L=5, x=f32[2, 2 * L], y=f32[2, L], grid=(2,)
@triton.jit
def neighbours_across_turns(x, y, L):
    row = tl.program_id(0)
    for i in range(L):
        a = tl.load(x + row * (2 * L) + i)
        b = tl.load(x + row * (2 * L) + i + 1)
        tl.store(y + row * L + i, a * b)


# tad: L=3, BLOCK=4, x=f32[L + 1, BLOCK], y=f32[L, BLOCK], grid=(1,)
@triton.jit
def tiles_across_turns(x, y, L, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    for i in range(L):
        a = tl.load(x + i * BLOCK + lanes)
        b = tl.load(x + (i + 1) * BLOCK + lanes)
        tl.store(y + i * BLOCK + lanes, a * tl.exp(b))


# tad: BLOCK=4, x=f32[4, BLOCK], y=f32[3, BLOCK], grid=(3,)
@triton.jit
def tiles_across_programs(x, y, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    i = tl.program_id(0)
    a = tl.load(x + i * BLOCK + lanes)
    b = tl.load(x + (i + 1) * BLOCK + lanes)
    tl.store(y + i * BLOCK + lanes, a * tl.exp(b))


# tad: n=11, NARROW=4, WIDE=8, x=f32[3, n], y=f32[3, n], grid=(3,)
@triton.jit
def two_widths(x, y, n, NARROW: tl.constexpr, WIDE: tl.constexpr):
    row = tl.program_id(0)
    cubes = 1.0
    for start in range(0, n, NARROW):
        cols = start + tl.arange(0, NARROW)
        v = tl.load(x + row * n + cols, mask=cols < n, other=0.0)
        cubes += tl.sum(v * v * v)
    for start in range(0, n, WIDE):
        cols = start + tl.arange(0, WIDE)
        v = tl.load(x + row * n + cols, mask=cols < n, other=0.0)
        tl.store(y + row * n + cols, v * cubes, mask=cols < n)


# tad: n=11, BLOCK=4, x=f32[3, n], y=f32[3, n], grid=(3,)
@triton.jit
def recurrence_and_sum(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    squares = 1.0
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + cols, mask=cols < n, other=0.0)
        squares += tl.sum(v * v)
    state = 0.0
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + cols, mask=cols < n, other=0.0)
        state = 0.5 * state + tl.sum(v)
        tl.store(y + row * n + cols, state * v / squares, mask=cols < n)


# tad: n=11, BLOCK=4, x=f32[3, n], w=f32[n], y=f32[3, n], SCALED=True, grid=(3,)
@triton.jit
def two_passes_and_a_flag(x, w, y, n, SCALED: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + cols, mask=cols < n, other=0.0)
        squares += v * v
    scale = tl.rsqrt(tl.sum(squares) / n + 1e-6)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + cols, mask=cols < n, other=0.0) * scale
        if SCALED:
            v = v * tl.load(w + cols, mask=cols < n, other=0.0)
        tl.store(y + row * n + cols, v, mask=cols < n)


# tad: HALF=4, x=f32[5, 2 * HALF], y=f32[5, 2 * HALF], grid=(5,)
@triton.jit
def halves(x, y, HALF: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, HALF)
    low = tl.load(x + row * 2 * HALF + lanes)
    high = tl.load(x + row * 2 * HALF + HALF + lanes)
    tl.store(y + row * 2 * HALF + lanes, low * low - high)
    tl.store(y + row * 2 * HALF + HALF + lanes, low * high)


# tad: n=30, shift=5, BLOCK=8, x=f32[n], y=f32[n], grid=(4,)
@triton.jit
def shifted_by_a_size(x, y, n, shift, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    here = tl.load(x + i, mask=i < n, other=0.0)
    there = tl.load(x + i + shift, mask=i + shift < n, other=0.0)
    tl.store(y + i, here * tl.exp(there), mask=i < n)


@triton.jit
def two_parts(packed, y, distance, H: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr):
    """Rows of heads, of which there are fewer than lanes, and rows so far behind."""
    row = tl.program_id(0)
    h = tl.arange(0, ROWS)[:, None]
    lanes = h * D + tl.arange(0, D)[None, :]
    first = tl.load(packed + row * 2 * H * D + lanes, mask=h < H, other=0.0)
    second = tl.load(packed + row * 2 * H * D + distance + lanes, mask=h < H, other=0.0)
    tl.store(y + row * H * D + lanes, first * second, mask=h < H)


# tad: H=3, D=4, ROWS=4, packed=f32[5, 2, H, D], y=f32[5, H, D], grid=(5,)
@triton.jit
def parts_apart(packed, y, H: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr):
    two_parts(packed, y, H * D, H, D, ROWS)


# tad: H=3, D=4, ROWS=4, packed=f32[5, 2, H, D], y=f32[5, H, D], grid=(5,)
@triton.jit
def parts_that_overlap(packed, y, H: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr):
    two_parts(packed, y, H * D - 1, H, D, ROWS)


# tad: BLOCK=4, x=f32[5, BLOCK], y=f32[4, BLOCK], grid=(1,)
@triton.jit
def rows_against_the_next_rows(x, y, BLOCK: tl.constexpr):
    rows = tl.arange(0, 4)[:, None]
    lanes = tl.arange(0, BLOCK)[None, :]
    a = tl.load(x + rows * BLOCK + lanes)
    b = tl.load(x + BLOCK + rows * BLOCK + lanes)
    tl.store(y + rows * BLOCK + lanes, a * tl.exp(b))


# tad: stride=8, BLOCK=4, x=f32[4, stride], y=f32[4, BLOCK], grid=(1,)
@triton.jit
def halves_of_rows(x, y, stride, BLOCK: tl.constexpr):
    rows = tl.arange(0, 4)[:, None]
    lanes = tl.arange(0, BLOCK)[None, :]
    a = tl.load(x + rows * stride + lanes)
    b = tl.load(x + BLOCK + rows * stride + lanes)
    tl.store(y + rows * BLOCK + lanes, a * tl.exp(b))


# tad: T=3, BLOCK=4, x=f32[T + 1, BLOCK], y=f32[T, BLOCK], grid=(1,)
@triton.jit
def a_tile_and_those_behind_it(x, y, T, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    for t in range(T):
        tl.store(y + t * BLOCK + lanes, tl.load(x + lanes) * tl.load(x + t * BLOCK + lanes))
