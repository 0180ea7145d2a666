"""Addresses that wrap around at a bound: padding where the store leaves it out, else elements that are read again."""

import torch
import triton
import triton.language as tl


@triton.jit
def padding(x, w, y, m, n, sx, sw, sy, B: tl.constexpr, C: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = tl.program_id(1) * C + tl.arange(0, C)
    a = tl.load(x + (i % m)[:, None] * sx + (j % n)[None, :])
    b = tl.load(w + (i % m)[:, None] * sw + tl.where(j < n, j, 0)[None, :])
    inside = (i < m)[:, None] & (j < n)[None, :]
    tl.store(y + i[:, None] * sy + j[None, :], a * tl.exp(b), mask=inside)


@triton.jit
def padding_of_products(x, w, y, m, n, k, B: tl.constexpr, C: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = tl.program_id(1) * B + tl.arange(0, B)
    rows, columns = i % m, j % n
    total = tl.zeros((B, B), dtype=tl.float32)
    for start in range(0, k, C):
        t = start + tl.arange(0, C)
        a = tl.load(x + rows[:, None] * k + t[None, :], mask=t[None, :] < k, other=0.0)
        b = tl.load(w + columns[None, :] * k + t[:, None], mask=t[:, None] < k, other=0.0)
        total += tl.dot(a, b)
    inside = (n > j[None, :]) & (i[:, None] < m)
    tl.store(y + i[:, None] * n + j[None, :], tl.sigmoid(total), mask=inside)


@triton.jit
def padding_in_two_widths(x, w, y, m, n, k, B: tl.constexpr, C: tl.constexpr, LONG: tl.constexpr):
    """Rows and columns wrap around, and a flag says whether 32 bits hold their places."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = tl.program_id(1) * B + tl.arange(0, B)
    rows, columns = i % m, j % n
    if LONG:
        rows = rows.to(tl.int64)
        columns = columns.to(tl.int64)
    total = tl.zeros((B, B), dtype=tl.float32)
    for start in range(0, k, C):
        t = start + tl.arange(0, C)
        a = tl.load(x + rows[:, None] * k + t[None, :], mask=t[None, :] < k, other=0.0)
        b = tl.load(w + columns[None, :] * k + t[:, None], mask=t[:, None] < k, other=0.0)
        total += tl.dot(a, b)
    inside = (n > j[None, :]) & (i[:, None] < m)
    tl.store(y + i[:, None] * n + j[None, :], total, mask=inside)


@triton.jit
def read_again(x, y, m, p, B: tl.constexpr):
    """The store has a bound of its own, beyond that of the loads."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i % m)
    tl.store(y + i, a * a, mask=i < p)


@triton.jit
def added_elsewhere(x, y, z, m, p, B: tl.constexpr):
    """One of two stores has another bound."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i % m)
    tl.store(y + i, a * a, mask=i < m)
    tl.store(z + i, tl.exp(a), mask=i < p)


# tad: N=2, K=3, P=3, Q=5, M=30, x=f32[2, 3, 5], w=f32[3], y=f32[2, 3, 3, 5], BM=16, BK=4, grid=(2,)
@triton.jit
def pixels_of_wrapped_rows(x, w, y, N, K, P, Q, M, BM: tl.constexpr, BK: tl.constexpr):
    """As convolutions by products of matrices store: digits of an index that wraps, and a mask that no wrapped one fails."""
    i = (tl.program_id(0) * BM + tl.arange(0, BM)) % M
    k = tl.arange(0, BK) % K
    n = i // (P * Q)
    rest = i % (P * Q)
    p = rest // Q
    q = rest % Q
    v = tl.load(x + i)[:, None] * tl.load(w + k)[None, :]
    at = n[:, None] * K * P * Q + k[None, :] * P * Q + p[:, None] * Q + q[:, None]
    inside = (n[:, None] < N) & (k[None, :] < K) & (p[:, None] < P) & (q[:, None] < Q)
    tl.store(y + at, v * v, mask=inside)


def launch_padding(x, w):
    y = torch.empty_like(x)
    m, n = x.shape
    grid = (triton.cdiv(m, 16), triton.cdiv(n, 8))
    padding[grid](x, w, y, m, n, x.stride(0), w.stride(0), y.stride(0), B=16, C=8)
    return y


def launch_padding_of_products(x, w):
    y = x.new_empty(x.shape[0], w.shape[0])
    grid = (triton.cdiv(x.shape[0], 16), triton.cdiv(w.shape[0], 16))
    padding_of_products[grid](x, w, y, x.shape[0], w.shape[0], x.shape[1], B=16, C=16)
    return y


def launch_padding_in_two_widths(x, w):
    (m, k), n = x.shape, w.shape[0]
    y = x.new_empty(m, n)
    grid = (triton.cdiv(m, 16), triton.cdiv(n, 16))
    long = x.numel() >= 2**31
    padding_in_two_widths[grid](x, w, y, m, n, k, B=16, C=16, LONG=long)
    return y


def launch_read_again(x, p):
    y = x.new_empty(p)
    read_again[(triton.cdiv(p, 16),)](x, y, x.shape[0], p, B=16)
    return y


def launch_added_elsewhere(x, p):
    y = torch.empty_like(x)
    z = x.new_empty(p)
    blocks = triton.cdiv(max(x.shape[0], p), 16)
    added_elsewhere[(blocks,)](x, y, z, x.shape[0], p, B=16)
    return y, z
