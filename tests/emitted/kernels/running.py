"""Scans that keep one of the lanes so far: running maxima and minima, with and without places."""

import triton
import triton.language as tl


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def first_largest(a, i, b, j):
    keeps = (a > b) | ((a == b) & (i < j))
    return tl.where(keeps, a, b), tl.where(keeps, i, j)


# tad: x=f32[16], w=f32[16], out=f32[16], N=16, grid=(1,)
@triton.jit
def running_maximum(x, w, out, N: tl.constexpr):
    j = tl.arange(0, N)
    a = tl.load(x + j)
    tl.store(out + j, tl.associative_scan(a * a, 0, larger) * tl.load(w + j))


# tad: x=f32[8, 16], out=f32[8, 16], places=i32[8, 16], M=8, N=16, grid=(1,)
@triton.jit
def running_maximum_and_place(x, out, places, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(x + at)
    index = tl.broadcast_to(tl.arange(0, M)[:, None], (M, N))
    most, place = tl.associative_scan((a, index), 0, first_largest, reverse=True)
    tl.store(out + at, most * most)
    tl.store(places + at, place)


@triton.jit
def smaller(a, b):
    return tl.where(a < b, a, b)


# tad: n=13, x=f32[8, n], out=f32[8, n], M=8, N=16, grid=(1,)
@triton.jit
def running_minimum_of_rows(x, out, n, M: tl.constexpr, N: tl.constexpr):
    j = tl.arange(0, N)
    mask = (j < n)[None, :]
    at = tl.arange(0, M)[:, None] * n + j[None, :]
    a = tl.load(x + at, mask=mask, other=float("inf"))
    low = tl.associative_scan(a, 1, smaller)
    tl.store(out + at, a - low * low, mask=mask)


# tad: x=f32[16], y=f32[16], out=f32[16], N=16, grid=(1,)
@triton.jit
def range_so_far(x, y, out, N: tl.constexpr):
    j = tl.arange(0, N)
    a = tl.load(x + j) * tl.load(y + j)
    most = tl.associative_scan(a, 0, larger)
    least = tl.associative_scan(a, 0, smaller, reverse=True)
    tl.store(out + j, (most - least) * (most - least))
