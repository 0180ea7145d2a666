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


# tad: n=11, BLOCK=4, x=f32[3, n], y=f32[3, n], grid=(3,)
@triton.jit
def maxima_of_lanes(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top = tl.full([BLOCK], -float("inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf"))
        higher = tl.maximum(top, v)
        seen = higher != -float("inf")
        total = tl.where(seen, total * tl.exp(top - higher) + tl.exp(v - higher), total)
        top = higher
    of_all = tl.max(top)
    lse = of_all + tl.log(tl.sum(total * tl.exp(top - of_all)))
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + cols, mask=cols < n, other=0.0)
        tl.store(y + row * n + cols, v * (v - lse), mask=cols < n)


# tad: m=5, n=11, R=2, BLOCK=4, x=f32[m, n], y=f32[m, n], grid=(3,)
@triton.jit
def maxima_of_lanes_of_rows(x, y, m, n, R: tl.constexpr, BLOCK: tl.constexpr):
    """In base 2, with a guard of the exponent, a softmax; tiles of rows and lanes."""
    rows = tl.program_id(0) * R + tl.arange(0, R)
    top = tl.full([R, BLOCK], -float("inf"), tl.float32)
    total = tl.zeros([R, BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        keep = (rows[:, None] < m) & (cols[None, :] < n)
        v = tl.load(x + rows[:, None] * n + cols[None, :], mask=keep, other=-float("inf"))
        higher = tl.maximum(top, v)
        calm = tl.where(higher == -float("inf"), 0.0, higher)
        total = total * tl.exp2(top - calm) + tl.exp2(v - calm)
        top = higher
    of_all = tl.max(top, 1)
    calm = tl.where(of_all == -float("inf"), 0.0, of_all)
    whole = tl.sum(total * tl.exp2(top - calm[:, None]), 1)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        keep = (rows[:, None] < m) & (cols[None, :] < n)
        v = tl.load(x + rows[:, None] * n + cols[None, :], mask=keep, other=0.0)
        p = tl.exp2(v - calm[:, None]) / whole[:, None]
        tl.store(y + rows[:, None] * n + cols[None, :], p, mask=keep)


# tad: n=11, BLOCK=4, x=f32[3, n], y=f32[3], tops=f32[3, BLOCK], grid=(3,)
@triton.jit
def stored_maxima_of_lanes(x, y, tops, n, BLOCK: tl.constexpr):
    """The maximum of lanes is stored: it counts."""
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    top = tl.full([BLOCK], -float("inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + lanes
        v = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf"))
        higher = tl.maximum(top, v)
        total = tl.where(
            higher == -float("inf"), total, total * tl.exp(top - higher) + tl.exp(v - higher)
        )
        top = higher
    of_all = tl.max(top)
    tl.store(tops + row * BLOCK + lanes, top)
    tl.store(y + row, of_all + tl.log(tl.sum(total * tl.exp(top - of_all))))


# tad: n=11, BLOCK=4, x=f32[3, n], w=f32[BLOCK], y=f32[3], grid=(3,)
@triton.jit
def lanes_with_a_sink(x, w, y, n, BLOCK: tl.constexpr):
    """What the lanes begin with counts: the guard keeps it."""
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    top = tl.load(w + lanes)
    total = tl.full([BLOCK], 1.0, tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + lanes
        v = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf"))
        higher = tl.maximum(top, v)
        total = tl.where(
            higher == -float("inf"), total, total * tl.exp(top - higher) + tl.exp(v - higher)
        )
        top = higher
    of_all = tl.max(top)
    tl.store(y + row, of_all + tl.log(tl.sum(total * tl.exp(top - of_all))))


# tad: n=11, BLOCK=4, x=f32[3, n], y=f32[3], grid=(3,)
@triton.jit
def lanes_apart(x, y, n, BLOCK: tl.constexpr):
    """The sums of lanes do not come together by their maxima."""
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    top = tl.full([BLOCK], -float("inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + lanes
        v = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf"))
        higher = tl.maximum(top, v)
        total = tl.where(
            higher == -float("inf"), total, total * tl.exp(top - higher) + tl.exp(v - higher)
        )
        top = higher
    tl.store(y + row, tl.sum(total))


# tad: n=11, BLOCK=4, x=f32[3, n], y=f32[3], grid=(3,)
# tad: n=2, BLOCK=4, x=f32[3, n], y=f32[3], grid=(3,)
@triton.jit
def lanes_guarded_by_zero(x, y, n, BLOCK: tl.constexpr):
    """What a lane began with, 0, is written as such where it has seen nothing."""
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    top = tl.full([BLOCK], -float("inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        v = tl.load(x + row * n + start + lanes, mask=start + lanes < n, other=-float("inf"))
        higher = tl.maximum(top, v)
        total = tl.where(
            higher == -float("inf"), 0.0, total * tl.exp(top - higher) + tl.exp(v - higher)
        )
        top = higher
    of_all = tl.max(top)
    tl.store(y + row, of_all + tl.log(tl.sum(total * tl.exp(top - of_all))))


# tad: n=11, BLOCK=4, x=f32[3, n], y=f32[3], grid=(3,)
@triton.jit
def lanes_emptied(x, y, n, BLOCK: tl.constexpr):
    """The sums begin with 1: what is written for lanes that have seen nothing is something else."""
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    top = tl.full([BLOCK], -float("inf"), tl.float32)
    total = tl.full([BLOCK], 1.0, tl.float32)
    for start in range(0, n, BLOCK):
        v = tl.load(x + row * n + start + lanes, mask=start + lanes < n, other=-float("inf"))
        higher = tl.maximum(top, v)
        total = tl.where(
            higher == -float("inf"), 0.0, total * tl.exp(top - higher) + tl.exp(v - higher)
        )
        top = higher
    of_all = tl.max(top)
    tl.store(y + row, of_all + tl.log(tl.sum(total * tl.exp(top - of_all))))


# tad: n=11, BLOCK=4, x=f32[3, n], y=f32[3], grid=(3,)
@triton.jit
def lanes_that_fall(x, y, n, BLOCK: tl.constexpr):
    """The smaller of both is kept: a lane may come back to nothing."""
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    top = tl.full([BLOCK], float("inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        v = tl.load(x + row * n + start + lanes, mask=start + lanes < n, other=float("inf"))
        lower = tl.minimum(top, v)
        total = tl.where(
            lower == -float("inf"), 0.0, total * tl.exp(lower - top) + tl.exp(lower - v)
        )
        top = lower
    of_all = tl.min(top)
    tl.store(y + row, of_all - tl.log(tl.sum(total * tl.exp(of_all - top))))


# tad: n=37, x=f32[n], y=f32[n], z=f32[n], o=f32[n], B=16, grid=(3,)
@triton.jit
def larger_of_three(x, y, z, o, n, B: tl.constexpr):
    """The log-sum-exp of three: no gradient flows through the largest of them."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.load(y + i, mask=i < n, other=0.0)
    c = tl.load(z + i, mask=i < n, other=0.0)
    top = tl.maximum(tl.maximum(a, b), c)
    total = tl.exp(a - top) + tl.exp(b - top) + tl.exp(c - top)
    tl.store(o + i, top + tl.log(total), mask=i < n)


# tad: n=37, d=5, p=f32[n, d], q=f32[n, d], lp=f32[n], lq=f32[n], o=f32[n, d], D=8, grid=(n,)
@triton.jit
def merged_parts(p, q, lp, lq, o, d, D: tl.constexpr):
    """Two parts of an attention by their log-sum-exps."""
    row = tl.program_id(0)
    j = tl.arange(0, D)
    one, two = tl.load(lp + row), tl.load(lq + row)
    top = tl.maximum(one, two)
    w, v = tl.exp(one - top), tl.exp(two - top)
    a = tl.load(p + row * d + j, mask=j < d, other=0.0)
    b = tl.load(q + row * d + j, mask=j < d, other=0.0)
    tl.store(o + row * d + j, (a * w + b * v) / (w + v), mask=j < d)


# tad: n=37, x=f32[n], y=f32[n], o=f32[n], B=16, grid=(3,)
@triton.jit
def larger_that_is_seen(x, y, o, n, B: tl.constexpr):
    """What is stored is relative to the larger one, and nothing is added again."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.load(y + i, mask=i < n, other=0.0)
    top = tl.maximum(a, b)
    tl.store(o + i, tl.exp(a - top) + tl.exp(b - top), mask=i < n)
