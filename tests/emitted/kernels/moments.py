"""Running means and squared distances from them, as a row is read block by block."""

import triton
import triton.language as tl


# tad: m=3, n=21, x=f32[m, n], out=f32[m, n], eps=0.01, B=8, grid=(m,)
@triton.jit
def merged_blocks(x, out, n, eps, B: tl.constexpr):
    """The mean of a block and that of all before it."""
    row = tl.program_id(0) * n
    mean = 0.0
    squares = 0.0
    count = 0.0
    for start in range(0, n, B):
        j = start + tl.arange(0, B)
        a = tl.load(x + row + j, mask=j < n, other=0.0)
        a = a.to(tl.float32)
        here = tl.minimum(n - start, B)
        part = tl.sum(a) / here
        off = tl.where(j < n, a - part, 0.0)
        delta = part - mean
        both = count + here
        mean += delta * here / both
        squares += tl.sum(off * off) + delta * delta * count * here / both
        count = both
    scale = tl.rsqrt(squares / count + eps)
    for start in range(0, n, B):
        j = start + tl.arange(0, B)
        a = tl.load(x + row + j, mask=j < n, other=0.0)
        tl.store(out + row + j, (a - mean) * scale, mask=j < n)


# tad: m=3, n=21, x=f32[m, n], out=f32[m], B=8, grid=(m,)
@triton.jit
def decayed_mean(x, out, n, B: tl.constexpr):
    """Its blocks count less the longer ago they were: no mean of all."""
    row = tl.program_id(0) * n
    mean = 0.0
    squares = 0.0
    for start in range(0, n, B):
        j = start + tl.arange(0, B)
        a = tl.load(x + row + j, mask=j < n, other=0.0)
        delta = tl.sum(a) / B - mean
        mean += delta * 0.5
        squares += delta * delta
    tl.store(out + tl.program_id(0), mean * squares)
