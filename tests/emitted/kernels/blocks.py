"""Tensor descriptors."""

import triton
import triton.language as tl


# tad: m=20, n=40, x=f32[m, n], out=f32[m, n], M=16, N=32, grid=(2, 2)
@triton.jit
def descriptor_tiles(x, out, m, n, M: tl.constexpr, N: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[m, n], strides=[n, 1], block_shape=[M, N])
    target = tl.make_tensor_descriptor(out, shape=[m, n], strides=[n, 1], block_shape=[M, N])
    at = [tl.program_id(0) * M, tl.program_id(1) * N]
    a = source.load(at)
    target.store(at, tl.exp(a) * a)


# tad: M=13, N=32, extra=f32[M, N], x=f32[M, N], out=f32[M, N], HAS=True, R=8, C=16, grid=(2, 2)
# tad: M=13, N=32, extra=f32[M, N], x=f32[M, N], out=f32[M, N], HAS=False, R=8, C=16, grid=(2, 2)
@triton.jit
def optional_descriptor(x, extra, out, M, N, HAS: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    """A descriptor or None."""
    if HAS:
        more = tl.make_tensor_descriptor(extra, [M, N], [N, 1], [R, C])
    else:
        more = None
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [R, C])
    target = tl.make_tensor_descriptor(out, [M, N], [N, 1], [R, C])
    row, column = tl.program_id(0) * R, tl.program_id(1) * C
    a = source.load([row, column])
    if HAS:
        m = more.load([row, column])
        a *= m * m
    target.store([row, column], a * a)


# tad: X=24, Y=64, x=f32[X, Y], index=i32[16] in range(0, 24), y=f32[16, 32], at=8, ROWS=16, COLUMNS=32, grid=(1,)
@triton.jit
def picks_rows(x, index, y, at, X, Y, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    picked = tl.load(index + tl.arange(0, ROWS))
    matrix = tl.make_tensor_descriptor(x, [X, Y], [Y, 1], [1, COLUMNS])
    rows = matrix.gather(picked, at)
    out = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(y + out, rows * rows)


# tad: X=24, Y=64, x=f32[16, 32], index=i32[16] in distinct, y=f32[X, Y], at=8, ROWS=16, COLUMNS=32, grid=(1,)
@triton.jit
def puts_rows(x, index, y, at, X, Y, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    picked = tl.load(index + tl.arange(0, ROWS))
    own = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    v = tl.load(x + own)
    matrix = tl.make_tensor_descriptor(y, [X, Y], [Y, 1], [1, COLUMNS])
    matrix.scatter(v * v, picked, at)
