"""Maxima that look like the gauge of a softmax and are none: a gradient flows through them."""

import triton
import triton.language as tl


# tad: m=5, n=13, K=3, x=f32[m, n], out=f32[m, K], B=16, BK=4, grid=(m,)
@triton.jit
def softmax_of_largest(x, out, n, K: tl.constexpr, B: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, B)
    ks = tl.arange(0, BK)
    rest = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf"))
    largest = tl.full((BK,), -float("inf"), dtype=tl.float32)
    for k in range(K):
        top = tl.max(rest, axis=0)
        largest = tl.where(ks == k, top, largest)
        rest = tl.where(cols == tl.argmax(rest, axis=0), -float("inf"), rest)
    e = tl.exp(largest - tl.max(largest, axis=0))
    tl.store(out + row * K + ks, e / tl.sum(e, axis=0), mask=ks < K)


# tad: m=8, n=16, x=f32[m, n], out=f32[m, n], M=8, N=16, grid=(1,)
@triton.jit
def rows_shifted_columns_summed(x, out, m, n, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    mask = (i[:, None] < m) & (j[None, :] < n)
    z = tl.load(x + i[:, None] * n + j[None, :], mask=mask, other=0.0)
    e = tl.exp(z - tl.max(z, axis=1)[:, None])
    tl.store(out + i[:, None] * n + j[None, :], e / tl.sum(e, axis=0)[None, :], mask=mask)


# tad: m=7, n=11, x=f32[m, n], w=f32[n] in uniform(0.2, 1.5), out=f32[m, n], M=4, N=16, grid=(2,)
@triton.jit
def rows_past_the_end(x, w, out, m, n, M: tl.constexpr, N: tl.constexpr):
    """Rows that are not there are no numbers in the forward; the gradient of the weights sums over them."""
    i = tl.program_id(0) * M + tl.arange(0, M)
    j = tl.arange(0, N)
    weights = tl.load(w + j, mask=j < n, other=0.0)
    mask = (i[:, None] < m) & (j[None, :] < n)
    a = tl.load(x + i[:, None] * n + j[None, :], mask=mask, other=-float("inf"))
    e = tl.exp(a - tl.max(a, axis=1)[:, None]) * weights[None, :]
    tl.store(out + i[:, None] * n + j[None, :], e / tl.sum(e, axis=1)[:, None], mask=mask)
