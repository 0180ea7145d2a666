"""Constexprs that have to fit each other: shapes that meet, groups of channels, chunks of blocks, places of blocks."""

import triton
import triton.language as tl


@triton.jit
def symmetric(x_ptr, y_ptr, n, m, BN: tl.constexpr, BM: tl.constexpr):
    rows = tl.program_id(0) * BN + tl.arange(0, BN)
    columns = tl.arange(0, BM)
    inside = (rows[:, None] < n) & (columns[None, :] < m)
    x = tl.load(x_ptr + rows[:, None] * m + columns[None, :], mask=inside, other=0.0)
    tl.store(y_ptr + rows[:, None] * m + columns[None, :], x * x + tl.trans(x), mask=inside)


@triton.jit
def grouped(x_ptr, y_ptr, C: tl.constexpr, G: tl.constexpr, PER: tl.constexpr, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    channels = tl.arange(0, C)
    x = tl.load(x_ptr + rows[:, None] * C + channels[None, :])
    sums = tl.sum(tl.reshape(x * x, (B, G, PER)), axis=2)
    tl.store(y_ptr + rows[:, None] * G + tl.arange(0, G)[None, :], sums)


@triton.jit
def folded(x_ptr, y_ptr, ROWS: tl.constexpr, B: tl.constexpr, WARPS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * B + tl.arange(0, B)[None, :]
    x = tl.reshape(tl.load(x_ptr + at), (ROWS, WARPS, 2, 16))
    tl.store(y_ptr + tl.arange(0, ROWS), tl.sum(tl.reshape(x * x, (ROWS, WARPS * 32)), axis=1))


@triton.jit
def stored_at_splits(k_ptr, h_ptr, T, NT, K: tl.constexpr, BT: tl.constexpr, BS: tl.constexpr):
    at = tl.arange(0, BT)
    total = tl.zeros([BT], dtype=tl.float32)
    chunks_of_a_split = BS // BT
    for i in range(tl.cdiv(T, BT)):
        if i % chunks_of_a_split == 0:
            tl.store(h_ptr + (i // chunks_of_a_split) * BT + at, total)
        k = tl.load(k_ptr + i * BT + at, mask=i * BT + at < T, other=0.0)
        total += k * k


@triton.jit
def chunk_rows(
    x_ptr,
    y_ptr,
    offsets,
    chunks,
    T,
    D: tl.constexpr,
    BT: tl.constexpr,
    BC: tl.constexpr,
    BD: tl.constexpr,
):
    chunk = tl.program_id(0)
    part = tl.program_id(1)
    sequence = tl.load(chunks + chunk * 2).to(tl.int32)
    chunk = tl.load(chunks + chunk * 2 + 1).to(tl.int32)
    start = tl.load(offsets + sequence)
    T = tl.load(offsets + sequence + 1) - start
    if chunk * BT + part * BC >= T:
        return
    rows = chunk * BT + part * BC + tl.arange(0, BC)
    columns = tl.arange(0, BD)
    inside = (rows[:, None] < T) & (columns[None, :] < D)
    at = (start + rows[:, None]) * D + columns[None, :]
    x = tl.load(x_ptr + at, mask=inside, other=0.0)
    tl.store(y_ptr + at, x * x, mask=inside)


@triton.jit
def part_of_a_table(
    t_ptr, x_ptr, y_ptr, n, st, sx, PART: tl.constexpr, OTHER: tl.constexpr, B: tl.constexpr
):
    row = tl.program_id(0)
    at = tl.program_id(1) * B + tl.arange(0, B)
    first = tl.load(t_ptr + row * sx + PART * st + at, mask=at < n, other=0.0)
    second = tl.load(t_ptr + row * sx + OTHER * st + at, mask=at < n, other=0.0)
    x = tl.load(x_ptr + row * sx + at, mask=at < n, other=0.0)
    tl.store(y_ptr + row * sx + at, x * first + second, mask=at < n)


@triton.jit
def modular(p_ptr, moduli, scale_ptr, y_ptr, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    m = tl.load(moduli)
    p = tl.load(p_ptr + at, mask=at < n, other=0)
    tl.store(y_ptr + at, (p % m).to(tl.float32) * tl.load(scale_ptr), mask=at < n)


@triton.jit
def kept_where_exact(w_ptr, d_ptr, y_ptr, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    w = tl.load(w_ptr + at, mask=at < n, other=0.0)
    d = tl.load(d_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    is_negative = w.to(tl.int16, bitcast=True) < 0
    tl.store(y_ptr + at, tl.where(is_negative, -d, d) * w.to(tl.float32), mask=at < n)
