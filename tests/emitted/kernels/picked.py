"""An element of a row that is read by an index from memory, beside the row itself."""

import triton
import triton.language as tl


# tad: n=11, BLOCK=16, x=f32[3, n], labels=i32[3], y=f32[3], ignored=-1, grid=(3,)
@triton.jit
def masked_before(x, labels, y, n, ignored, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    label = tl.load(labels + row)
    picked = tl.load(x + row * n + label, mask=label != ignored, other=0.0)
    cols = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf"))
    top = tl.max(v)
    lse = top + tl.log(tl.sum(tl.exp(v - top)))
    tl.store(y + row, tl.where(label != ignored, lse - picked, 0.0))


# tad: n=11, BLOCK=4, x=f32[3, n], a=i32[3], b=i32[3], y=f32[3], grid=(3,)
@triton.jit
def two_labels(x, a, b, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x += row * n
    total = 0.0
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        v = tl.load(x + cols, mask=cols < n, other=0.0)
        total += tl.sum(tl.exp(v))
    first = tl.load(x + tl.load(a + row))
    second = tl.load(x + tl.load(b + row))
    tl.store(y + row, tl.log(total) - 0.7 * first - 0.3 * second)


# tad: n=11, BLOCK=4, x=f32[3, n], labels=i32[3], y=f32[3], grid=(3,), first=5
@triton.jit
def shard(x, labels, y, n, first, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    label = tl.load(labels + row) - first
    is_here = (label >= 0) & (label < n)
    total = 0.0
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + cols, mask=cols < n, other=0.0)
        total += tl.sum(tl.exp(v))
    picked = tl.load(x + row * n + label, mask=is_here, other=0.0)
    tl.store(y + row, tl.log(total) - picked * picked)


# tad: x=f32[4, 8], labels=i32[4], y=f32[4], grid=(4,), N=8
@triton.jit
def whole_tile(x, labels, y, N: tl.constexpr):
    column = tl.program_id(0)
    v = tl.load(x + column * N + tl.arange(0, N))
    picked = tl.load(x + column * N + tl.load(labels + column))
    tl.store(y + column, tl.sum(v * v) * picked)


# tad: n=9, BLOCK=4, x=f32[3, n], labels=i32[3], y=f32[3], limit=7, grid=(3,)
@triton.jit
def in_nested_branches(x, labels, y, n, limit, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    label = tl.load(labels + row)
    total = 0.0
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x + row * n + cols, mask=cols < n, other=0.0))
    loss = total * total
    if label >= 0:
        if label < limit:
            loss -= total * tl.load(x + row * n + label)
    tl.store(y + row, loss)


# tad: n=21, BLOCK=8, x=f32[3, n + 4], labels=i32[3], y=f32[3, 3], first=2, stride=n + 4, grid=(3, 3)
@triton.jit
def in_its_part(x, labels, y, stride, n, first, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    part = tl.program_id(1)
    cols = part * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + cols, mask=cols < n, other=0.0)
    total = tl.sum(v * v)
    label = tl.load(labels + row) - first
    if not (label < part * BLOCK or label >= tl.minimum(n, (part + 1) * BLOCK)):
        total *= tl.load(x + row * stride + label)
    tl.store(y + row * 3 + part, total)


# tad: n=13, k=10, BLOCK=4, x=f32[3, n], labels=i32[3], y=f32[3], grid=(3,)
@triton.jit
def below_its_end(x, labels, y, n, k, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(1, k, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + cols, mask=cols < k, other=0.0)
        total += tl.sum(v * v)
    label = tl.load(labels + row)
    picked = tl.load(x + row * n + label, mask=(label > 0) & (label <= k - 1), other=0.0)
    tl.store(y + row, total * picked)


# tad: n=11, BLOCK=4, KNOWN=False, x=f32[3, n], totals=f32[3], labels=i32[3], y=f32[3], grid=(3,)
# tad: n=11, BLOCK=4, KNOWN=True, x=f32[3, n], totals=f32[3], labels=i32[3], y=f32[3], grid=(3,)
@triton.jit
def row_under_a_flag(x, totals, labels, y, n, KNOWN: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    if KNOWN:
        total = tl.load(totals + row)
    else:
        total = 0.0
        for start in range(0, n, BLOCK):
            cols = start + tl.arange(0, BLOCK)
            v = tl.load(x + row * n + cols, mask=cols < n, other=0.0)
            total += tl.sum(v * v)
    label = tl.load(labels + row)
    if label >= 0 and label < n:
        total = total * total - tl.load(x + row * n + label)
    tl.store(y + row, total)


# ---- atomics: the row is not whole, or it does not have the label for certain ----


# tad: n=11, BLOCK=16, x=f32[3, 2 * n], labels=i32[3], y=f32[3], grid=(3,)
@triton.jit
def other_half(x, labels, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    picked = tl.load(x + row * 2 * n + n + tl.load(labels + row))
    cols = tl.arange(0, BLOCK)
    v = tl.load(x + row * 2 * n + cols, mask=cols < n, other=0.0)
    tl.store(y + row, tl.sum(v * v) * picked)


# tad: n=11, k=5, BLOCK=8, x=f32[3, n], labels=i32[3], y=f32[3], grid=(3,)
@triton.jit
def part_of_a_row(x, labels, y, n, k, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    picked = tl.load(x + row * n + tl.load(labels + row))
    cols = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + cols, mask=cols < k, other=0.0)
    tl.store(y + row, tl.sum(v * v) * picked)


# tad: n=11, BLOCK=16, x=f32[3, n], labels=i32[3], y=f32[3], grid=(3,)
@triton.jit
def row_in_a_branch(x, labels, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    label = tl.load(labels + row)
    total = tl.load(x + row * n + label)
    if label > 2:
        cols = tl.arange(0, BLOCK)
        v = tl.load(x + row * n + cols, mask=cols < n, other=0.0)
        total *= tl.sum(v * v)
    tl.store(y + row, total)


# tad: n=11, K=2, BLOCK=16, x=f32[3, n], labels=i32[3, K], y=f32[3], grid=(3,)
@triton.jit
def labels_in_a_loop(x, labels, y, n, K, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + cols, mask=cols < n, other=0.0)
    total = tl.sum(v * v)
    for k in range(K):
        total += tl.exp(tl.load(x + row * n + tl.load(labels + row * K + k)))
    tl.store(y + row, total)


# tad: n=11, BLOCK=16, x=f32[8, n], others=i32[8], y=f32[8], grid=(8,)
@triton.jit
def of_another_row(x, others, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + cols, mask=cols < n, other=0.0)
    tl.store(y + row, tl.sum(v * v) * tl.load(x + tl.load(others + row) * n))


# tad: n=24, BLOCK=8, x=f32[3, n], labels=i32[3], y=f32[3, 3], grid=(3, 3)
@triton.jit
def one_too_far(x, labels, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    part = tl.program_id(1)
    cols = part * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + row * n + cols, mask=cols < n, other=0.0)
    total = tl.sum(v * v)
    label = tl.load(labels + row)
    if label >= part * BLOCK and label <= tl.minimum(n - 1, (part + 1) * BLOCK):
        total *= tl.load(x + row * n + label)
    tl.store(y + row * 3 + part, total)


# tad: n=24, BLOCK=8, x=f32[3, n], labels=i32[3], y=f32[3, 3], grid=(3, 3)
@triton.jit
def in_either_part(x, labels, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    part = tl.program_id(1)
    cols = part * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + row * n + cols, mask=cols < n, other=0.0)
    total = tl.sum(v * v)
    label = tl.load(labels + row)
    if (label >= part * BLOCK and label < tl.maximum(n, (part + 1) * BLOCK)) or label == 0:
        total *= tl.load(x + row * n + label)
    tl.store(y + row * 3 + part, total)


# tad: n=11, BLOCK=4, KNOWN=False, x=f32[3, n], totals=f32[3], labels=i32[3], y=f32[3], grid=(3,)
# tad: n=11, BLOCK=4, KNOWN=True, x=f32[3, n], totals=f32[3], labels=i32[3], y=f32[3], grid=(3,)
@triton.jit
def two_under_a_flag(x, totals, labels, y, n, KNOWN: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    if KNOWN:
        total = tl.load(totals + row)
    else:
        total = 0.0
        for start in range(0, n, BLOCK):
            cols = start + tl.arange(0, BLOCK)
            v = tl.load(x + row * n + cols, mask=cols < n, other=0.0)
            total += tl.sum(v * v)
    label = tl.load(labels + row)
    if label >= 0 and label < n:
        total = total * total - tl.load(x + row * n + label)
        total *= tl.load(x + row * n + n - 1 - label)
    tl.store(y + row, total)


# tad: n=11, BLOCK=4, x=f32[5, n], y=f32[5], grid=(5,)
@triton.jit
def on_the_diagonal(x, y, n, BLOCK: tl.constexpr):
    """Each row's own number is the column that it is held against."""
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf"))
        total += tl.sum(tl.exp(v))
    tl.store(y + row, tl.log(total) - tl.load(x + row * n + row))


# tad: n=11, BLOCK=4, x=f32[3, n], labels=i32[3], y=f32[3], grid=(3,)
# tad: n=12, BLOCK=4, x=f32[3, n], labels=i32[3], y=f32[3], grid=(3,)
@triton.jit
def tiles_counted(x, labels, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for tile in range(tl.cdiv(n, BLOCK)):
        cols = tile * BLOCK + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf"))
        total += tl.sum(tl.exp(v))
    tl.store(y + row, tl.log(total) - tl.load(x + row * n + tl.load(labels + row)))


# tad: n=11, BLOCK=4, x=f32[3, n], labels=i32[3], y=f32[3], grid=(3,)
@triton.jit
def whole_tiles_counted(x, labels, y, n, BLOCK: tl.constexpr):
    """What is left behind the last whole tile is not read: a label may be there."""
    row = tl.program_id(0)
    total = 0.0
    for tile in range(n // BLOCK):
        cols = tile * BLOCK + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf"))
        total += tl.sum(tl.exp(v))
    tl.store(y + row, tl.log(total) - tl.load(x + row * n + tl.load(labels + row)))


# tad: n=16, BLOCK=4, x=f32[3, n], labels=i32[3], y=f32[3], grid=(3,)
@triton.jit
def every_other_tile(x, labels, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for tile in range(tl.cdiv(n, BLOCK)):
        cols = 2 * tile * BLOCK + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf"))
        total += tl.sum(tl.exp(v))
    tl.store(y + row, tl.log(total) - tl.load(x + row * n + tl.load(labels + row)))


# tad: n=11, BLOCK=4, x=f32[3, n], shift=f32[3], labels=i32[3], y=f32[3], z=f32[3], first=5, ignored=-1, grid=(3,)
@triton.jit
def less_a_shift(x, shift, labels, y, z, n, first, ignored, BLOCK: tl.constexpr):
    # What the branch adds to the shift comes of the row.
    row = tl.program_id(0)
    label = tl.load(labels + row)
    m = tl.load(shift + row)
    if label == ignored or label < first or label >= first + n:
        picked = 0.0
    else:
        picked = tl.load(x + row * n + label - first) - m
    total = 0.0
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + cols, mask=cols < n, other=0.0)
        total += tl.sum(tl.where(cols < n, tl.exp(v - m), 0.0))
    tl.store(y + row, picked)
    tl.store(z + row, total)


# tad: n=11, BLOCK=4, x=f32[3, n], shift=f32[3], w=f32[n], labels=i32[3], y=f32[3], z=f32[3], first=5, grid=(3,)
@triton.jit
def weighed_in_the_branch(x, shift, w, labels, y, z, n, first, BLOCK: tl.constexpr):
    # The same, times a weight that is there for labels of the row alone.
    row = tl.program_id(0)
    label = tl.load(labels + row) - first
    m = tl.load(shift + row)
    picked = 0.0
    if (label >= 0) & (label < n):
        picked = (tl.load(x + row * n + label) - m) * tl.load(w + label)
    total = 0.0
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + cols, mask=cols < n, other=0.0)
        total += tl.sum(tl.where(cols < n, tl.exp(v - m), 0.0))
    tl.store(y + row, picked)
    tl.store(z + row, total)
