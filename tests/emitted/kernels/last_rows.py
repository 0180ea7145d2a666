"""The last row of a tile, which a mask ends, beside the tile itself."""

import triton
import triton.language as tl


# tad: T=11, D=6, B=4, C=4, x=f32[T, D], g=f32[T, D], y=f32[T, D], KEEP=1, grid=(3,)
@triton.jit
def decay_of_a_chunk(x, g, y, T, D, B: tl.constexpr, C: tl.constexpr, KEEP: tl.constexpr):
    chunk = tl.program_id(0)
    rows = chunk * B + tl.arange(0, B)
    inside = rows < T
    for start in range(0, D, C):
        cols = start + tl.arange(0, C)
        here = inside[:, None] & (cols < D)[None, :]
        at = rows[:, None] * D + cols[None, :]
        v = tl.load(x + at, mask=here, other=0.0)
        gate = tl.load(g + at, mask=here, other=0.0)
        if KEEP:
            last = tl.minimum(chunk * B + B, T) - 1
            end = tl.load(g + last * D + cols, mask=cols < D, other=0.0)
            v = v * tl.exp(end[None, :] - gate)
        tl.store(y + at, v + gate, mask=here)


# tad: T=11, B=4, x=f32[T], g=f32[T], y=f32[T], grid=(4,)
@triton.jit
def behind_a_return(x, g, y, T, B: tl.constexpr):
    first = tl.program_id(0) * B
    if first >= T:
        return
    rows = first + tl.arange(0, B)
    end = tl.load(g + first + tl.minimum(B, T - first) - 1)
    gate = tl.load(g + rows, mask=rows < T, other=0.0)
    v = tl.load(x + rows, mask=rows < T, other=0.0)
    tl.store(y + rows, v * tl.exp(end - gate), mask=rows < T)


# tad: T=11, B=4, x=f32[T], g=f32[T], y=f32[T], z=f32[4], grid=(4,)
@triton.jit
def without_rows(x, g, y, z, T, B: tl.constexpr):
    """Programs behind the last row add to it as well."""
    first = tl.program_id(0) * B
    rows = first + tl.arange(0, B)
    end = tl.load(g + tl.minimum(first + B, T) - 1)
    gate = tl.load(g + rows, mask=rows < T, other=0.0)
    v = tl.load(x + rows, mask=rows < T, other=0.0)
    tl.store(y + rows, v * tl.exp(end - gate), mask=rows < T)
    tl.store(z + tl.program_id(0), tl.sin(end))


# tad: T=11, B=4, x=f32[T], g=f32[T], y=f32[T], grid=(3,)
@triton.jit
def of_two_tiles(x, g, y, T, B: tl.constexpr):
    """The last row of two tiles: one program has it, another one reads it."""
    first = tl.program_id(0) * B
    rows = first + tl.arange(0, B)
    end = tl.load(g + tl.minimum(first + 2 * B, T) - 1)
    gate = tl.load(g + rows, mask=rows < T, other=0.0)
    v = tl.load(x + rows, mask=rows < T, other=0.0)
    tl.store(y + rows, v * tl.exp(end - gate), mask=rows < T)


# tad: T=11, D=6, B=4, C=8, x=f32[T, D], g=f32[T, D], y=f32[T, D], grid=(3,)
@triton.jit
def of_fewer_columns(x, g, y, T, D, B: tl.constexpr, C: tl.constexpr):
    """The tile leaves columns out that the row has."""
    first = tl.program_id(0) * B
    rows = first + tl.arange(0, B)
    cols = tl.arange(0, C)
    here = (rows < T)[:, None] & (cols < D)[None, :]
    at = rows[:, None] * D + cols[None, :]
    last = tl.minimum(first + B, T) - 1
    end = tl.load(g + last * D + cols, mask=cols < D, other=0.0)
    gate = tl.load(g + at, mask=(rows < T)[:, None] & (cols < D - 1)[None, :], other=0.0)
    v = tl.load(x + at, mask=here, other=0.0)
    tl.store(y + at, v * tl.exp(end[None, :] - gate), mask=here)


# tad: T=11, B=4, g=f32[T], y=f32[T], grid=(3,)
@triton.jit
def before_the_tile(g, y, T, B: tl.constexpr):
    """The backward adds to the tile first; the addition to the row is the last that it does."""
    first = tl.program_id(0) * B
    rows = first + tl.arange(0, B)
    end = tl.load(g + tl.minimum(first + B, T) - 1)
    gate = tl.load(g + rows, mask=rows < T, other=0.0)
    tl.store(y + rows, tl.exp(end - gate), mask=rows < T)


# tad: T=11, D=6, B=4, C=8, x=f32[2, T, D], g=f32[2, T, D], h=f32[2, 3, D], grid=(2,)
@triton.jit
def in_a_loop_over_chunks(x, g, h, T, D, B: tl.constexpr, C: tl.constexpr):
    """The loop ends with the rows: each of its tiles has one."""
    own = tl.program_id(0)
    chunks = tl.cdiv(T, B)
    cols = tl.arange(0, C)
    state = tl.zeros([C], dtype=tl.float32)
    for chunk in range(chunks):
        tl.store(h + (own * chunks + chunk) * D + cols, state, mask=cols < D)
        rows = chunk * B + tl.arange(0, B)
        here = (rows < T)[:, None] & (cols < D)[None, :]
        at = own * T * D + rows[:, None] * D + cols[None, :]
        last = tl.minimum((chunk + 1) * B, T) - 1
        end = tl.load(g + (own * T + last) * D + cols, mask=cols < D, other=0.0)
        gate = tl.load(g + at, mask=here, other=0.0)
        v = tl.load(x + at, mask=here, other=0.0) * tl.exp(end[None, :] - gate)
        state = state * tl.exp(end) + tl.sum(tl.where(here, v, 0.0), axis=0)


# tad: T=11, D=6, B=4, C=8, x=f32[T, D], g=f32[T, D], h=f32[5, D], grid=(1,)
@triton.jit
def in_a_loop_behind_the_rows(x, g, h, T, D, B: tl.constexpr, C: tl.constexpr):
    """The loop's last tile has no row, and reads the last one all the same."""
    cols = tl.arange(0, C)
    state = tl.zeros([C], dtype=tl.float32)
    for chunk in range(tl.cdiv(T, B) + 1):
        tl.store(h + chunk * D + cols, state, mask=cols < D)
        rows = chunk * B + tl.arange(0, B)
        here = (rows < T)[:, None] & (cols < D)[None, :]
        at = rows[:, None] * D + cols[None, :]
        last = tl.minimum((chunk + 1) * B, T) - 1
        end = tl.load(g + last * D + cols, mask=cols < D, other=0.0)
        gate = tl.load(g + at, mask=here, other=0.0)
        v = tl.load(x + at, mask=here, other=0.0) * tl.exp(end[None, :] - gate)
        state = state * tl.exp(end) + tl.sum(tl.where(here, v, 0.0), axis=0)
    tl.store(h + (tl.cdiv(T, B) + 1) * D + cols, state, mask=cols < D)
