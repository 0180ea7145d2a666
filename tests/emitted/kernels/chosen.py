"""Pointers that a branch or a flag chooses among several tensors."""

import triton
import triton.language as tl


# tad: n=21, a=f32[n], b=f32[n], BACK=False, B=8, grid=(3,)
@triton.jit
def either_way(a, b, n, BACK: tl.constexpr, B: tl.constexpr):
    """Copies, from the one to the other or back."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    source = b if BACK else a
    target = a if BACK else b
    tl.store(target + i, tl.exp(tl.load(source + i, mask=i < n)), mask=i < n)


# tad: n=21, a=f32[n], b=f32[n], BACK=True, B=8, grid=(3,)
@triton.jit
def back_again(a, b, n, BACK: tl.constexpr, B: tl.constexpr):
    """The same, the other way."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    source = b if BACK else a
    target = a if BACK else b
    tl.store(target + i, tl.exp(tl.load(source + i, mask=i < n)), mask=i < n)


# tad: n=3, m=2, d=6, x=f32[n, d], y=f32[m, d], out=f32[8, d], B=8, grid=(8,)
@triton.jit
def rows_of_two(x, y, out, n, m, d, B: tl.constexpr):
    """Rows of the one tensor, then of the other, then the first again."""
    row = tl.program_id(0)
    k = tl.arange(0, B)
    if row < n:
        p = x + row * d + k
    elif row < n + m:
        p = y + (row - n) * d + k
    else:
        p = x + k
    v = tl.load(p, mask=k < d, other=0.0)
    tl.store(out + row * d + k, v * v, mask=k < d)


# tad: n=3, d=6, x=f32[7, d], a=f32[n, d], b=f32[4, d], B=8, grid=(7,)
@triton.jit
def into_two(x, a, b, n, d, B: tl.constexpr):
    """Stores to the one or to the other."""
    row = tl.program_id(0)
    k = tl.arange(0, B)
    v = tl.load(x + row * d + k, mask=k < d, other=0.0)
    p = a + row * d if row < n else b + (row - n) * d
    tl.store(p + k, tl.sin(v), mask=k < d)


# tad: d=21, x=f32[3, d], y=f32[3, d], out=f32[3, d], B=8, grid=(3,)
@triton.jit
def along_a_loop(x, y, out, d, B: tl.constexpr):
    """The pointer is chosen once, and moves."""
    row = tl.program_id(0)
    k = tl.arange(0, B)
    p = (x if row % 2 == 0 else y) + row * d + k
    q = out + row * d + k
    for start in range(0, d, B):
        v = tl.load(p, mask=start + k < d, other=0.0)
        tl.store(q, v * v, mask=start + k < d)
        p += B
        q += B


# tad: n=4, m=3, x=f32[n, 8], index=i32[2] in range(0, 3), y=f32[m, 8], out=f32[2, 8], B=8, grid=(2,)
@triton.jit
def place_from_memory(x, index, y, out, n, m, B: tl.constexpr):
    """The place in the chosen tensor is loaded in the branch."""
    row = tl.program_id(0)
    k = tl.arange(0, B)
    if row == 0:
        p = x + tl.load(index + row) * B
    else:
        p = y + tl.load(index + row) * B
    tl.store(out + row * B + k, tl.exp(tl.load(p + k)))
