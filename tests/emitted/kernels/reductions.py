"""Reductions along every axis, kept and not kept dims, scans, sorting, user combine functions."""

import triton
import triton.language as tl


# tad: m=6, n=11, x=f32[m, n], rows=f32[m], cols=f32[n], out=f32[m, n], M=8, N=16, grid=(1,)
@triton.jit
def sums_of_axes(x, rows, cols, out, m, n, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    mask = (i[:, None] < m) & (j[None, :] < n)
    tile = tl.load(x + i[:, None] * n + j[None, :], mask=mask, other=0.0)
    tl.store(rows + i, tl.sum(tile * tile, axis=1), mask=i < m)
    tl.store(cols + j, tl.sum(tile, 0), mask=j < n)
    centred = tile - tl.sum(tile, axis=1, keep_dims=True) / n - tl.sum(tile * tile) / (m * n)
    tl.store(
        out + i[:, None] * n + j[None, :], centred * tl.sum(tile, 0, keep_dims=True), mask=mask
    )


# tad: x=f32[4, 8, 16], out=f32[4, 16], total=f32[1], A=4, B=8, C=16, grid=(1,)
@triton.jit
def sum_of_three_axes(x, out, total, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    i = tl.arange(0, A)[:, None, None]
    j = tl.arange(0, B)[None, :, None]
    k = tl.arange(0, C)[None, None, :]
    cube = tl.load(x + i * B * C + j * C + k)
    middle = tl.sum(cube * cube, axis=1)
    tl.store(out + tl.arange(0, A)[:, None] * C + tl.arange(0, C)[None, :], middle)
    tl.store(total, tl.sum(tl.sum(tl.sum(cube * 3.0, axis=-1), axis=1), axis=0))


# tad: m=5, n=13, x=f32[m, n], out=f32[m, n], N=16, grid=(m,)
@triton.jit
def softmax_row(x, out, n, N: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, N)
    z = tl.load(x + row * n + j, mask=j < n, other=-float("inf"))
    e = tl.exp(z - tl.max(z, axis=0))
    tl.store(out + row * n + j, e / tl.sum(e, axis=0), mask=j < n)


# tad: m=5, n=13, x=f32[m, n], hi=f32[m], lo=f32[m], at=i32[m], M=8, N=16, grid=(1,)
@triton.jit
def extrema(x, hi, lo, at, m, n, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    mask = (i[:, None] < m) & (j[None, :] < n)
    tile = tl.load(x + i[:, None] * n + j[None, :], mask=mask, other=0.0)
    largest, index = tl.max(tile, axis=1, return_indices=True)
    smallest = tl.min(tl.where(mask, tile, 1000.0), axis=1)
    tl.store(hi + i, largest * largest, mask=i < m)
    tl.store(lo + i, smallest, mask=i < m)
    tl.store(at + i, index + tl.argmin(tile, axis=1), mask=i < m)


# tad: x=f32[16], out=f32[16], N=16, grid=(1,)
@triton.jit
def max_of_everything(x, out, N: tl.constexpr):
    j = tl.arange(0, N)
    a = tl.load(x + j)
    tl.store(out + j, a * tl.max(a) + tl.min(a * a))


# tad: m=3, n=11, x=f32[m, n], out=f32[m, n], N=16, grid=(m,)
@triton.jit
def running_sum(x, out, n, N: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, N)
    a = tl.load(x + row * n + j, mask=j < n, other=0.0)
    forward = tl.cumsum(a * a, axis=0)
    back = tl.cumsum(a, axis=0, reverse=True)
    tl.store(out + row * n + j, forward * back, mask=j < n)


# tad: x=f32[4, 8], out=f32[4, 8], M=4, N=8, grid=(1,)
@triton.jit
def running_sum_of_axes(x, out, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(x + at)
    tl.store(out + at, tl.cumsum(a, 0) * tl.cumsum(a, 1))


# tad: x=f32[8] in uniform(0.5, 1.5), out=f32[8], N=8, grid=(1,)
@triton.jit
def running_product(x, out, N: tl.constexpr):
    j = tl.arange(0, N)
    tl.store(out + j, tl.cumprod(tl.load(x + j), axis=0))


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def multiply(a, b):
    return a * b


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


# tad: x=f32[4, 8] in uniform(0.5, 1.5), out=f32[4, 3], M=4, N=8, grid=(1,)
@triton.jit
def reduced_by_functions(x, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    a = tl.load(x + i[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out + i * 3, tl.reduce(a, 1, add))
    tl.store(out + i * 3 + 1, tl.reduce(a, 1, multiply))
    tl.store(out + i * 3 + 2, tl.reduce(a, 1, larger))


# tad: x=f32[16], out=f32[16], N=16, grid=(1,)
@triton.jit
def scanned_by_function(x, out, N: tl.constexpr):
    j = tl.arange(0, N)
    a = tl.load(x + j)
    tl.store(
        out + j, tl.associative_scan(a * a, 0, add) + tl.associative_scan(a, 0, add, reverse=True)
    )


@triton.jit
def decay(a1, b1, a2, b2):
    return a1 * a2, a2 * b1 + b2


# tad: x=f32[16], a=f32[16] in uniform(0.3, 0.9), out=f32[16], N=16, grid=(1,)
@triton.jit
def scanned_recurrence(x, a, out, N: tl.constexpr):
    j = tl.arange(0, N)
    _, h = tl.associative_scan((tl.load(a + j), tl.load(x + j)), 0, decay)
    tl.store(out + j, h)


@triton.jit
def welford(mean1, m1, w1, mean2, m2, w2):
    delta = mean2 - mean1
    weight = w1 + w2
    share = tl.where(weight == 0.0, 0.0, w2 / weight)
    return mean1 + delta * share, m1 + m2 + delta * delta * w1 * share, weight


# tad: x=f32[16], out=f32[2], N=16, grid=(1,)
@triton.jit
def variance_by_welford(x, out, N: tl.constexpr):
    j = tl.arange(0, N)
    a = tl.load(x + j)
    mean, m2, weight = tl.reduce(
        (a, tl.zeros([N], tl.float32), tl.full([N], 1.0, tl.float32)), 0, welford
    )
    tl.store(out, mean)
    tl.store(out + 1, m2 / weight)


# tad: x=f32[4, 8] in distinct, out=f32[4, 8], M=4, N=8, grid=(1,)
@triton.jit
def sorted_rows(x, out, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(x + at)
    ordered = tl.sort(a, 1, descending=True)
    tl.store(out + at, ordered * (tl.arange(0, N)[None, :] + 1))


# tad: n=40, x=f32[n], bins=f32[1], out=f32[1], BLOCK=16, grid=(3,)
@triton.jit
def summed_by_atomics(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + offsets, mask=offsets < n, other=0.0)
    tl.atomic_add(out, tl.sum(a * a, axis=0))


# tad: n=40, x=f32[n], index=i32[n] in range(0, 9), out=f32[9], BLOCK=16, grid=(3,)
@triton.jit
def scattered_by_atomics(x, index, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(x + offsets, mask=mask, other=0.0)
    where = tl.load(index + offsets, mask=mask, other=0)
    tl.atomic_add(out + where, tl.exp(a), mask=mask)


# tad: x=f32[2, 8], out=f32[2, 8], M=2, N=8, grid=(1,)
@triton.jit
def products_with_zeros(x, out, M: tl.constexpr, N: tl.constexpr):
    """One factor of each row is 0, in the other direction too."""
    i = tl.arange(0, M)[:, None]
    j = tl.arange(0, N)[None, :]
    a = tl.load(x + i * N + j) * (j != 3 + i)
    forwards = tl.cumprod(a, axis=1)
    backwards = tl.associative_scan(a, 1, multiply, reverse=True)
    tl.store(out + i * N + j, forwards + backwards * 2.0)


# tad: x=f32[4, 8], a=f32[4, 8] in uniform(0.3, 0.9), out=f32[4, 8], M=4, N=8, grid=(1,)
@triton.jit
def recurrences_backwards(x, a, out, M: tl.constexpr, N: tl.constexpr):
    """From the last row to the first; the products of the factors are used as well."""
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    p, h = tl.associative_scan((tl.load(a + at), tl.load(x + at)), 0, decay, reverse=True)
    tl.store(out + at, h * h + p)


@triton.jit
def other(a1, b1, a2, b2):
    return a1 + a2, b1 * tl.exp(a2) + b2


# tad: x=f32[8], out=f32[8], N=8, grid=(1,)
@triton.jit
def scanned_by_another(x, out, N: tl.constexpr):
    j = tl.arange(0, N)
    a = tl.load(x + j)
    _, h = tl.associative_scan((a, a * a), 0, other)
    tl.store(out + j, h)


@triton.jit
def merge_softmax(m, s, n, t):
    """The largest of two groups, and the sum of exponentials relative to it."""
    most = tl.maximum(m, n)
    return most, s * tl.exp(m - most) + t * tl.exp(n - most)


# tad: x=f32[3, 40], w=f32[3, 40], out=f32[3], most=f32[3], n=29, N=32, grid=(3,)
@triton.jit
def softmax_pairs(x, w, out, most, n, N: tl.constexpr):
    """The combine function of an online softmax, with weights."""
    j = tl.arange(0, N)
    at = tl.program_id(0) * 40 + j
    a = tl.load(x + at, mask=j < n, other=-1.0e9)
    weight = tl.load(w + at, mask=j < n, other=0.0)
    m, s = tl.reduce((a, weight * weight + 1.0), 0, merge_softmax)
    tl.store(out + tl.program_id(0), m + tl.log(s))
    tl.store(most + tl.program_id(0), m * s)


@triton.jit
def merge_pairs_of_two(s, m, t, n):
    """The same with powers of 2, the sum first."""
    most = tl.where(m > n, m, n)
    return t * tl.exp2(n - most) + s * tl.exp2(m - most), most


# tad: x=f32[8, 16], out=f32[8], R=8, C=16, grid=(1,)
@triton.jit
def softmax_pairs_of_rows(x, out, R: tl.constexpr, C: tl.constexpr):
    """Along the second axis, kept."""
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    a = tl.load(x + at)
    s, m = tl.reduce((tl.full([R, C], 1.0, tl.float32), a), 1, merge_pairs_of_two, keep_dims=True)
    p = tl.exp2(a - m) / s
    tl.store(out + tl.arange(0, R), tl.sum(p * a * a, 1))


@triton.jit
def log_add(a, b):
    """log(exp(a) + exp(b))."""
    most = tl.maximum(a, b)
    return most + tl.log(tl.exp(a - most) + tl.exp(b - most))


# tad: x=f32[4, 16], out=f32[4, 16], whole=f32[4], N=16, grid=(4,)
@triton.jit
def logs_of_sums(x, out, whole, N: tl.constexpr):
    """Scans both ways and a reduction by log-sum-exp; numbers far apart, and one of them missing."""
    i = tl.arange(0, N)
    j = tl.program_id(0) * N + i
    a = tl.where(i == 3, -1.0e4, tl.load(x + j) * 40.0)
    up = tl.associative_scan(a, 0, log_add)
    down = tl.associative_scan(a, 0, log_add, reverse=True)
    tl.store(out + j, tl.sin(up) * a - tl.cos(down))
    tl.store(whole + tl.program_id(0), tl.reduce(a, 0, log_add))


@triton.jit
def join_before(s, x, t, y):
    """All but the last of both."""
    return s + x + t, y


# tad: x=f32[4, 16], out=f32[4, 16], N=16, grid=(4,)
@triton.jit
def sums_before(x, out, N: tl.constexpr):
    """Exclusive sums by scans of pairs, both ways."""
    j = tl.program_id(0) * N + tl.arange(0, N)
    a = tl.load(x + j)
    before, last = tl.associative_scan((a * 0.5, a * a), 0, join_before)
    behind, _ = tl.associative_scan((tl.zeros_like(a), a * a), 0, join_before, reverse=True)
    tl.store(out + j, tl.sin(before) + last * a + behind * behind)


# tad: rows=3, n=13, x=f32[rows, n], out=f32[rows, n], N=16, grid=(3,)
@triton.jit
def squares_of_shares(x, out, n, N: tl.constexpr):
    """The maximum does not cancel: it is subtracted twice above and once below."""
    i = tl.arange(0, N)
    row = tl.program_id(0) * n
    a = tl.load(x + row + i, mask=i < n, other=-float("inf"))
    e = tl.exp(a - tl.max(a, axis=0))
    tl.store(out + row + i, e * e / tl.sum(e, axis=0), mask=i < n)


@triton.jit
def turned_sum(a, b):
    return b + a


# tad: x=f32[16], out=f32[1], N=16, grid=(1,)
@triton.jit
def summed_by_turned(x, out, N: tl.constexpr):
    a = tl.load(x + tl.arange(0, N))
    tl.store(out, tl.reduce(a * a, 0, turned_sum))


@triton.jit
def last_twice(a, b):
    return b + b


# tad: x=f32[16], out=f32[1], N=16, grid=(1,)
@triton.jit
def reduced_by_another(x, out, N: tl.constexpr):
    tl.store(out, tl.reduce(tl.load(x + tl.arange(0, N)), 0, last_twice))


# tad: n=40, x=f32[n], out=f32[n], B=8, grid=(1,)
@triton.jit
def over_a_count(x, out, n, B: tl.constexpr):
    """A number that starts as `tl.zeros((), ...)` is no integer in a loop."""
    count = tl.zeros((), tl.float32)
    for start in range(0, n, B):
        i = start + tl.arange(0, B)
        count += tl.sum((tl.load(x + i, mask=i < n, other=0.0) > 0).to(tl.float32), axis=0)
    for start in range(0, n, B):
        i = start + tl.arange(0, B)
        tl.store(out + i, tl.load(x + i, mask=i < n, other=0.0) / (count + 1.0), mask=i < n)


@triton.jit
def add_pairs(s, t, u, v):
    return s + u, v + t


# tad: x=f32[4, 16], out=f32[4], N=16, grid=(4,)
@triton.jit
def second_of_two_sums(x, out, N: tl.constexpr):
    """Nobody reads the first."""
    a = tl.load(x + tl.program_id(0) * N + tl.arange(0, N))
    _, squares = tl.reduce((a, a * a), 0, add_pairs)
    tl.store(out + tl.program_id(0), squares + tl.max(a, 0))


# tad: x=f32[4, 16], out=f32[4], M=4, N=16, grid=(1,)
@triton.jit
def two_sums_of_rows(x, out, M: tl.constexpr, N: tl.constexpr):
    a = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    total, squares = tl.reduce((a, a * a), 1, add_pairs)
    tl.store(out + tl.arange(0, M), squares - total * total / N)


@triton.jit
def larger_and_product(s, t, u, v):
    return tl.maximum(s, u), t * v


# tad: x=f32[16], out=f32[1], N=16, grid=(1,)
@triton.jit
def second_of_another_pair(x, out, N: tl.constexpr):
    a = tl.load(x + tl.arange(0, N))
    _, product = tl.reduce((a, a + 1.5), 0, larger_and_product)
    tl.store(out, product)


@triton.jit
def begin_anew(f, v, g, w):
    return f | g, tl.where(g, w, v + w + 0.5 * v * w)


# tad: x=f32[4, 16], starts=i32[4, 16], out=f32[4, 16], M=4, N=16, grid=(1,)
@triton.jit
def groups_from_the_end(x, starts, out, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    begins = tl.load(starts + at) % 3 == 1
    _, total = tl.associative_scan((begins, tl.load(x + at)), 1, begin_anew, reverse=True)
    tl.store(out + at, total * total)


@triton.jit
def either(p, q):
    return p + q - p * q


# tad: x=f32[4, 16], out=f32[16], M=4, N=16, grid=(1,)
@triton.jit
def chance_of_any(x, out, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + tl.arange(0, N), tl.reduce(tl.load(x + at), 0, either))


@triton.jit
def larger_with_place(a, i, b, j):
    first = (a > b) | ((a == b) & (i < j))
    return tl.where(first, a, b), tl.where(first, i, j)


# tad: x=f32[4, 16], out=f32[4], places=i32[4], M=4, N=16, grid=(1,)
@triton.jit
def largest_with_its_place(x, out, places, M: tl.constexpr, N: tl.constexpr):
    lanes = tl.arange(0, N)[None, :]
    rows = tl.arange(0, M)
    a = tl.load(x + rows[:, None] * N + lanes)
    largest, place = tl.reduce((a, tl.broadcast_to(lanes, (M, N))), 1, larger_with_place)
    tl.store(out + rows, largest * largest)
    tl.store(places + rows, place)


@triton.jit
def of_the_larger_key(key, value, other_key, other_value):
    is_first = key >= other_key
    return tl.where(is_first, key, other_key), tl.where(is_first, value, other_value)


# tad: keys=f32[16], values=f32[16], out=f32[1], N=16, grid=(1,)
@triton.jit
def value_of_the_largest_key(keys, values, out, N: tl.constexpr):
    """The second value has the gradient, the first says which."""
    lanes = tl.arange(0, N)
    pair = (tl.load(keys + lanes), tl.load(values + lanes))
    key, value = tl.reduce(pair, 0, of_the_larger_key)
    tl.store(out, value * value + key)


@triton.jit
def farther_from_zero(a, b):
    return tl.where(tl.abs(a) > tl.abs(b), a, b)


# tad: x=f32[16], out=f32[1], N=16, grid=(1,)
@triton.jit
def farthest_from_zero(x, out, N: tl.constexpr):
    tl.store(out, tl.exp(tl.reduce(tl.load(x + tl.arange(0, N)), 0, farther_from_zero)))
