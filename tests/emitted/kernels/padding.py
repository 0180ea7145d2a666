"""Lanes beyond the masks hold 0 / 0 or -inf + inf, which nobody stores; gradients are summed along them."""

import triton
import triton.language as tl


# tad: m=11, n=13, scale=0.3, q=f32[m, 16], k=f32[n, 16], v=f32[n, 16], out=f32[m, 16], D=16, M=16, N=16, grid=(1,)
@triton.jit
def rows_without_scores(
    q, k, v, out, m, n, scale, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr
):
    """Rows beyond the end see no key: their maximum is -inf."""
    i = tl.program_id(0) * M + tl.arange(0, M)
    j = tl.arange(0, N)
    d = tl.arange(0, D)
    a = tl.load(q + i[:, None] * D + d[None, :], mask=(i < m)[:, None], other=0.0)
    b = tl.load(k + j[:, None] * D + d[None, :], mask=(j < n)[:, None], other=0.0)
    c = tl.load(v + j[:, None] * D + d[None, :], mask=(j < n)[:, None], other=0.0)
    s = tl.dot(a, tl.trans(b), input_precision="ieee") * scale
    s = tl.where((i[:, None] < m) & (j[None, :] < n), s, -float("inf"))
    p = tl.exp(s - tl.max(s, axis=1)[:, None])
    p = p / tl.sum(p, axis=1)[:, None]
    o = tl.dot(p.to(c.dtype), c, input_precision="ieee")
    tl.store(out + i[:, None] * D + d[None, :], o, mask=(i < m)[:, None])


# tad: n=19, window=3, scale=0.3, q=f32[n, 16], k=f32[n, 16], v=f32[n, 16], out=f32[n, 16], lse=f32[n], D=16, B=16, grid=(2,)
@triton.jit
def window_of_scores(q, k, v, out, lse, n, window, scale, D: tl.constexpr, B: tl.constexpr):
    """Online softmax over the last keys; rows far beyond the end see none of them."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    a = tl.load(q + i[:, None] * D + d[None, :], mask=(i < n)[:, None], other=0.0)
    top = tl.full((B,), -1.0e30, dtype=tl.float32)
    total = tl.zeros((B,), dtype=tl.float32)
    acc = tl.zeros((B, D), dtype=tl.float32)
    for start in range(0, n, B):
        j = start + tl.arange(0, B)
        b = tl.load(k + j[:, None] * D + d[None, :], mask=(j < n)[:, None], other=0.0)
        c = tl.load(v + j[:, None] * D + d[None, :], mask=(j < n)[:, None], other=0.0)
        s = tl.dot(a, tl.trans(b), input_precision="ieee") * scale
        seen = (j[None, :] <= i[:, None]) & (i[:, None] - j[None, :] < window) & (j[None, :] < n)
        s = tl.where(seen, s, -1.0e30)
        larger = tl.maximum(top, tl.max(s, axis=1))
        p = tl.where(seen, tl.exp(s - larger[:, None]), 0.0)
        keep = tl.exp(top - larger)
        total = total * keep + tl.sum(p, axis=1)
        acc = acc * keep[:, None] + tl.dot(p.to(c.dtype), c, input_precision="ieee")
        top = larger
    tl.store(out + i[:, None] * D + d[None, :], acc / total[:, None], mask=(i < n)[:, None])
    tl.store(lse + i, top + tl.log(total), mask=i < n)


# tad: m=5, n=13, x=f32[m, n], w=f32[n], out=f32[m, n], M=8, N=16, grid=(1,)
@triton.jit
def unit_rows(x, w, out, m, n, M: tl.constexpr, N: tl.constexpr):
    """A row of zeros has no direction."""
    i = tl.program_id(0) * M + tl.arange(0, M)
    j = tl.arange(0, N)
    inside = (i < m)[:, None] & (j < n)[None, :]
    a = tl.load(x + i[:, None] * n + j[None, :], mask=inside, other=0.0)
    b = tl.load(w + j, mask=j < n, other=0.0)
    length = tl.sqrt(tl.sum(a * a, axis=1))
    tl.store(out + i[:, None] * n + j[None, :], a / length[:, None] * b[None, :], mask=inside)


# tad: m=5, n=13, x=f32[m, n], w=f32[m], out=f32[n], M=8, N=16, grid=(1,)
@triton.jit
def log_of_columns(x, w, out, m, n, M: tl.constexpr, N: tl.constexpr):
    """The logarithm of 0 beyond the columns, summed with a weight along them in the backward."""
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    a = tl.load(
        x + i[:, None] * n + j[None, :], mask=(i < m)[:, None] & (j < n)[None, :], other=0.0
    )
    b = tl.load(w + i, mask=i < m, other=0.0)
    squares = tl.sum(a * a, axis=0)
    tl.store(out + j, tl.log(squares) * tl.sum(a * b[:, None], axis=0), mask=j < n)


# tad: m=7, k=4, n=13, x=f32[m, n], w=f32[n], out=f32[m, n], some=f32[k, n], M=8, N=16, grid=(1,)
@triton.jit
def stored_twice_apart(x, w, out, some, m, k, n, M: tl.constexpr, N: tl.constexpr):
    """Two stores with other masks: a gradient is 0 only beyond both."""
    i = tl.program_id(0) * M + tl.arange(0, M)
    j = tl.arange(0, N)
    inside = (i < m)[:, None] & (j < n)[None, :]
    a = tl.load(x + i[:, None] * n + j[None, :], mask=inside, other=0.0)
    b = tl.load(w + j, mask=j < n, other=0.0)
    unit = a / tl.sqrt(tl.sum(a * a, axis=1))[:, None] * b[None, :]
    tl.store(
        some + i[:, None] * n + j[None, :], unit * unit, mask=(i < k)[:, None] & (j < n)[None, :]
    )
    tl.store(out + i[:, None] * n + j[None, :], unit, mask=inside)


# tad: m=11, label=i32[m] in (2, 0, 1, 1, 0, 2, 2, 1, 0, 1, 2), table=f32[3, 16], x=f32[m, 16], out=f32[m, 16], M=16, N=16, grid=(1,)
@triton.jit
def table_without_a_mask(label, table, x, out, m, M: tl.constexpr, N: tl.constexpr):
    """Rows beyond the end are 0 / 0, and add to the table's first row, whose index they read."""
    i = tl.program_id(0) * M + tl.arange(0, M)
    j = tl.arange(0, N)
    row = tl.load(label + i, mask=i < m, other=0)
    a = tl.load(x + i[:, None] * N + j[None, :], mask=(i < m)[:, None], other=0.0)
    cost = tl.load(table + row[:, None] * N + j[None, :])
    a = (a + cost) / tl.sqrt(tl.sum(a * a, axis=1))[:, None]
    tl.store(out + i[:, None] * N + j[None, :], a, mask=(i < m)[:, None])


# tad: n=19, width=4, q=f32[n, 16], k=f32[n, 16], v=f32[n, 16], scale=f32[1], out=f32[n, 16], D=16, B=16, grid=(2,)
@triton.jit
def stored_under_a_mask_where_asked(
    q, k, v, scale, out, n, width, D: tl.constexpr, B: tl.constexpr
):
    """Rows beyond the end, if there are any, carry -inf - -inf from turn to turn."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    if n % B != 0:
        a = tl.load(q + i[:, None] * D + d[None, :], mask=(i < n)[:, None], other=0.0)
    else:
        a = tl.load(q + i[:, None] * D + d[None, :])
    top = tl.full((B,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((B,), dtype=tl.float32)
    acc = tl.zeros((B, D), dtype=tl.float32)
    for start in range(0, n, B):
        j = start + tl.arange(0, B)
        seen = (i // width * width < n)[:, None] & (i < n)[:, None] & (j[None, :] < n)
        b = tl.load(k + j[:, None] * D + d[None, :], mask=(j < n)[:, None], other=0.0)
        c = tl.load(v + j[:, None] * D + d[None, :], mask=(j < n)[:, None], other=0.0)
        c = c * tl.load(scale)
        s = tl.where(seen, tl.dot(a, tl.trans(b), input_precision="ieee"), -float("inf"))
        larger = tl.maximum(top, tl.max(s, axis=1))
        p = tl.where(seen, tl.exp(s - larger[:, None]), 0.0)
        keep = tl.exp(top - larger)
        total = total * keep + tl.sum(p, axis=1)
        acc = acc * keep[:, None] + tl.dot(p, c, input_precision="ieee")
        top = larger
    acc = acc / tl.maximum(total, 1e-30)[:, None]
    places = out + i[:, None] * D + d[None, :]
    if n % B != 0:
        tl.store(places, acc, mask=(i < n)[:, None])
    else:
        tl.store(places, acc)


# tad: x=f32[80], z=f32[80], w=f32[8], y=f32[8], L=1, M=1, n=3, B=4, grid=(2,)
@triton.jit
def beside_a_kink(x, z, w, y, L, M, n, B: tl.constexpr):
    """One `b` lies closer to 0 than the proof's first step: smaller ones see the slope beside the kink."""
    p = tl.program_id(0)
    c = tl.arange(0, B)
    b = tl.load(w + p * 4 + c)
    a = tl.load(x + p * 40 + c, mask=c < n, other=0.0)
    larger = tl.maximum(a, b)
    tl.store(y + p * 4 + c, tl.cumsum(tl.sqrt(0.5 + larger * larger), axis=0))


@triton.jit
def online_turn(a, y, b, rows, cols, depth, top, n, m, d):
    """Rows past the end are -inf - -inf."""
    in_y = (cols[:, None] < m) & (depth[None, :] < d)
    c = tl.load(y + cols[:, None] * d + depth[None, :], mask=in_y, other=0.0)
    both = (rows[:, None] < n) & (cols[None, :] < m)
    bias = tl.load(b + rows[:, None] * 0 + cols[None, :], mask=both, other=-float("inf"))
    s = tl.dot(a, tl.trans(c)) + bias
    new = tl.maximum(top, tl.max(s, 1))
    return new, tl.exp(top - new), tl.exp(s - new[:, None]), c


# tad: n=5, m=7, d=3, x=f32[n, d], y=f32[m, d], b=f32[m], o=f32[n, d], BM=16, BN=16, BD=16, grid=(1,)
@triton.jit
def online_in_memory(x, y, b, o, n, m, d, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    """An online softmax whose sums are in memory: what its turns see is read, so all running maxima matter."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    depth = tl.arange(0, BD)
    in_x = (rows[:, None] < n) & (depth[None, :] < d)
    at = o + rows[:, None] * d + depth[None, :]
    a = tl.load(x + rows[:, None] * d + depth[None, :], mask=in_x, other=0.0)
    tl.store(at, 0.0, mask=in_x)
    top = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    for start in range(0, m, BN):
        cols = start + tl.arange(0, BN)
        top, alpha, w, c = online_turn(a, y, b, rows, cols, depth, top, n, m, d)
        total = total * alpha + tl.sum(w, 1)
        kept = tl.load(at, mask=in_x, other=0.0)
        tl.store(at, kept * alpha[:, None] + tl.dot(w, c), mask=in_x)
    tl.store(at, tl.load(at, mask=in_x, other=0.0) / total[:, None], mask=in_x)


# tad: n=5, m=20, d=3, x=f32[n, d], y=f32[m, d], b=f32[m], o=f32[n, d], z=f32[n], BM=16, BN=16, BD=16, grid=(1,)
@triton.jit
def online_read(x, y, b, o, z, n, m, d, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    """Each turn stores the running maximum."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    depth = tl.arange(0, BD)
    in_x = (rows[:, None] < n) & (depth[None, :] < d)
    places = rows[:, None] * d + depth[None, :]
    a = tl.load(x + places, mask=in_x, other=0.0)
    top = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    kept = tl.zeros([BM, BD], tl.float32)
    for start in range(0, m, BN):
        cols = start + tl.arange(0, BN)
        top, alpha, w, c = online_turn(a, y, b, rows, cols, depth, top, n, m, d)
        tl.store(z + rows, top, mask=rows < n)
        total = total * alpha + tl.sum(w, 1)
        kept = kept * alpha[:, None] + tl.dot(w, c)
    tl.store(o + places, kept / total[:, None], mask=in_x)


# tad: n=5, m=7, d=12, x=f32[n, 16], y=f32[m, 16], b=f32[m], table=f32[3], label=i32[n] in range(0, 3), o=f32[n, 16], BM=16, BN=16, BD=8, grid=(1,)
@triton.jit
def online_in_blocks(
    x, y, b, table, label, o, n, m, d, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr
):
    """The same in blocks of columns, with a number for each row from a table: rows past the end would add to its first."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    inside = rows < n
    number = tl.load(table + tl.load(label + rows, mask=inside, other=0))
    top = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    for d0 in range(0, d, BD):
        depth = d0 + tl.arange(0, BD)
        in_x = inside[:, None] & (depth[None, :] < d)
        tl.store(o + rows[:, None] * 16 + depth[None, :], 0.0, mask=in_x)
    for start in range(0, m, BN):
        cols = start + tl.arange(0, BN)
        both = inside[:, None] & (cols[None, :] < m)
        s = tl.load(b + rows[:, None] * 0 + cols[None, :], mask=both, other=-float("inf"))
        s = s + number[:, None] * tl.where(cols[None, :] % 2 == 0, 1.0, 0.5)
        new = tl.maximum(top, tl.max(s, 1))
        alpha = tl.exp(top - new)
        w = tl.exp(s - new[:, None])
        total = total * alpha + tl.sum(w, 1)
        for d0 in range(0, d, BD):
            depth = d0 + tl.arange(0, BD)
            in_x = inside[:, None] & (depth[None, :] < d)
            in_y = (cols[:, None] < m) & (depth[None, :] < d)
            c = tl.load(y + cols[:, None] * 16 + depth[None, :], mask=in_y, other=0.0)
            at = o + rows[:, None] * 16 + depth[None, :]
            kept = tl.load(at, mask=in_x, other=0.0)
            tl.store(at, kept * alpha[:, None] + tl.dot(w, c), mask=in_x)
        top = new
    for d0 in range(0, d, BD):
        depth = d0 + tl.arange(0, BD)
        in_x = inside[:, None] & (depth[None, :] < d)
        at = o + rows[:, None] * 16 + depth[None, :]
        kept = tl.load(at, mask=in_x, other=0.0)
        scaled = tl.load(x + rows[:, None] * 16 + depth[None, :], mask=in_x, other=0.0)
        tl.store(at, kept / total[:, None] * scaled, mask=in_x)


# tad: n=5, m=7, d=12, x=f32[n, 16], y=f32[m, 16], b=f32[m], table=f32[3] in uniform(0.5, 1.5), label=i32[n] in range(0, 3), o=f32[n, 16], BM=16, BN=16, BD=8, grid=(1,)
@triton.jit
def factor_in_blocks(
    x, y, b, table, label, o, n, m, d, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr
):
    """In blocks of columns, with a factor for each row: of masked scores it is 0, although they are infinite."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    inside = rows < n
    number = tl.load(table + tl.load(label + rows, mask=inside, other=0))
    top = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    for d0 in range(0, d, BD):
        depth = d0 + tl.arange(0, BD)
        in_x = inside[:, None] & (depth[None, :] < d)
        tl.store(o + rows[:, None] * 16 + depth[None, :], 0.0, mask=in_x)
    for start in range(0, m, BN):
        cols = start + tl.arange(0, BN)
        both = inside[:, None] & (cols[None, :] < m)
        s = tl.load(b + rows[:, None] * 0 + cols[None, :], mask=both, other=-float("inf"))
        s = s * number[:, None]
        new = tl.maximum(top, tl.max(s, 1))
        alpha = tl.exp(top - new)
        w = tl.exp(s - new[:, None])
        total = total * alpha + tl.sum(w, 1)
        for d0 in range(0, d, BD):
            depth = d0 + tl.arange(0, BD)
            in_x = inside[:, None] & (depth[None, :] < d)
            in_y = (cols[:, None] < m) & (depth[None, :] < d)
            c = tl.load(y + cols[:, None] * 16 + depth[None, :], mask=in_y, other=0.0)
            at = o + rows[:, None] * 16 + depth[None, :]
            kept = tl.load(at, mask=in_x, other=0.0)
            tl.store(at, kept * alpha[:, None] + tl.dot(w, c), mask=in_x)
        top = new
    for d0 in range(0, d, BD):
        depth = d0 + tl.arange(0, BD)
        in_x = inside[:, None] & (depth[None, :] < d)
        at = o + rows[:, None] * 16 + depth[None, :]
        kept = tl.load(at, mask=in_x, other=0.0)
        scaled = tl.load(x + rows[:, None] * 16 + depth[None, :], mask=in_x, other=0.0)
        tl.store(at, kept / total[:, None] * scaled, mask=in_x)


# tad: b=f32[5, 9], table=f32[3] in uniform(0.5, 1.5), label=i32[5] in range(0, 3), y=f32[9, 16], o=f32[5, 16], n=5, m=9, BM=8, BN=4, D=16, grid=(1,)
@triton.jit
def chosen_then_scaled(
    b, table, label, y, o, n, m, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr
):
    """Infinity by a choice, not by a load."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    inside = rows < n
    number = tl.load(table + tl.load(label + rows, mask=inside, other=0))
    top = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for start in range(0, m, BN):
        cols = start + tl.arange(0, BN)
        s = tl.load(
            b + rows[:, None] * m + cols[None, :],
            mask=inside[:, None] & (cols[None, :] < m),
            other=0.0,
        )
        s = tl.where(cols[None, :] < m, s, -float("inf"))
        s = s * number[:, None]
        new = tl.maximum(top, tl.max(s, 1))
        alpha = tl.exp(top - new)
        w = tl.exp(s - new[:, None])
        total = total * alpha + tl.sum(w, 1)
        c = tl.load(
            y + cols[:, None] * 16 + tl.arange(0, D)[None, :], mask=(cols[:, None] < m), other=0.0
        )
        acc = acc * alpha[:, None] + tl.sum(w[:, :, None] * c[None, :, :], 1)
        top = new
    tl.store(
        o + rows[:, None] * 16 + tl.arange(0, D)[None, :],
        acc / total[:, None],
        mask=inside[:, None],
    )


# tad: b=f32[5, 9], scale=f32[5] in uniform(0.5, 1.5), o=f32[5, 9], n=5, m=9, BM=8, BN=16, grid=(1,)
@triton.jit
def causal_then_scaled(b, scale, o, n, m, BM: tl.constexpr, BN: tl.constexpr):
    """A mask of rows and columns."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.arange(0, BN)
    both = (rows[:, None] < n) & (cols[None, :] < m)
    s = tl.load(
        b + rows[:, None] * m + cols[None, :],
        mask=both & (cols[None, :] <= rows[:, None]),
        other=-float("inf"),
    )
    s = s * tl.load(scale + rows, mask=rows < n, other=1.0)[:, None]
    w = tl.exp(s - tl.max(s, 1)[:, None])
    tl.store(o + rows[:, None] * m + cols[None, :], w / tl.sum(w, 1)[:, None], mask=both)


# tad: b=f32[5, 9], scale=f32[5] in uniform(0.5, 1.5), o=f32[5, 9], n=5, m=9, BM=8, BN=16, grid=(1,)
@triton.jit
def causal_then_divided(b, scale, o, n, m, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.arange(0, BN)
    both = (rows[:, None] < n) & (cols[None, :] < m)
    s = tl.load(b + rows[:, None] * m + cols[None, :], mask=both, other=0.0)
    s = tl.where(cols[None, :] <= rows[:, None], s, -float("inf"))
    s = s / (2.0 + tl.load(scale + rows, mask=rows < n, other=1.0))[:, None]
    w = tl.exp(s - tl.max(s, 1)[:, None])
    tl.store(o + rows[:, None] * m + cols[None, :], w / tl.sum(w, 1)[:, None], mask=both)


# tad: x=f32[40, 16], v=f32[16], o=f32[40], n=40, first=3, B=16, grid=(3,)
@triton.jit
def first_rows_without_a_column(x, v, o, n, first, B: tl.constexpr):
    """Rows that see no column are dropped in a branch, and their 0 / 0 goes on behind it."""
    start = tl.program_id(0) * B
    rows = start + tl.arange(0, B)
    cols = tl.arange(0, B)
    s = tl.load(x + rows[:, None] * B + cols[None, :], mask=(rows < n)[:, None], other=0.0)
    s = tl.where(rows[:, None] >= cols[None, :] + first, s, -float("inf"))
    p = tl.exp(s - tl.max(s, 1)[:, None])
    mean = tl.sum(p * tl.load(v + cols)[None, :], 1) / tl.sum(p, 1)
    if start == 0:
        mean = tl.where(rows >= first, mean, 0.0)
    tl.store(o + rows, mean, mask=rows < n)


# tad: n=21, skipped=1, scale=0.3, q=f32[n, 16], k=f32[n, 16], v=f32[n, 16], out=f32[n, 16], D=16, B=16, grid=(2,)
@triton.jit
def blocks_skipped_in_a_branch(q, k, v, out, n, skipped, scale, D: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    q_tile = tl.load(q + r[:, None] * D + d[None, :], mask=r[:, None] < n, other=0.0)
    m = tl.full([B], -float("inf"), tl.float32)
    total = tl.zeros([B], tl.float32)
    acc = tl.zeros([B, D], tl.float32)
    for start in range(0, n, B):
        if start // B != skipped or tl.program_id(0) != 0:
            c = start + tl.arange(0, B)
            k_tile = tl.load(k + c[:, None] * D + d[None, :], mask=c[:, None] < n, other=0.0)
            s = tl.dot(q_tile, tl.trans(k_tile), input_precision="ieee") * scale
            # beyond the last row there is no score: -inf - -inf
            s = tl.where((r < n)[:, None] & (c[None, :] < n), s, -float("inf"))
            m_new = tl.maximum(m, tl.max(s, 1))
            alpha = tl.exp(m - m_new) * total
            p = tl.exp(s - m_new[:, None])
            total = alpha + tl.sum(p, 1)
            p = p / total[:, None]
            v_tile = tl.load(v + c[:, None] * D + d[None, :], mask=c[:, None] < n, other=0.0)
            acc = acc * (alpha / total)[:, None] + tl.dot(p, v_tile, input_precision="ieee")
            m = m_new
    tl.store(out + r[:, None] * D + d[None, :], acc, mask=r[:, None] < n)
