"""Softmaxes of rows whose lengths lie in memory: none is longer than its row."""

import triton
import triton.language as tl


@triton.jit
def soft_kernel(y, x, lengths, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    length = tl.load(lengths + row)
    at = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + at, mask=at < length, other=-float("inf"))
    e = tl.exp(a - tl.max(a, 0))
    tl.store(y + row * n + at, e / tl.sum(e, 0), mask=at < length)


@triton.jit
def soft_all_kernel(y, x, lengths, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    length = tl.load(lengths + row)
    at = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + at, mask=at < length, other=-float("inf"))
    e = tl.exp(a - tl.max(a, 0))
    tl.store(y + row * n + at, e / tl.sum(e, 0), mask=at < n)


@triton.jit
def soft_where_kernel(y, x, lengths, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    length = tl.load(lengths + row)
    at = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + at, mask=at < n, other=0.0)
    a = tl.where(at < length, a, float("-inf"))
    e = tl.exp(a - tl.max(a, 0))
    tl.store(y + row * n + at, e / tl.sum(e, 0), mask=at < n)


@triton.jit
def soft_strided_kernel(y, x, lengths, sx, sy, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    length = tl.load(lengths + row)
    at = tl.arange(0, BLOCK)
    mask = at < length
    a = tl.load(x + row * sx + at, mask=mask, other=-float("inf"))
    e = tl.exp(a - tl.max(a, 0))
    tl.store(y + row * sy + at, e / tl.sum(e, 0), mask=mask)


@triton.jit
def soft_blocks_kernel(y, x, lengths, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    length = tl.load(lengths + row)
    m = -float("inf")
    s = 0.0
    for b in range(0, length, BLOCK):
        at = b + tl.arange(0, BLOCK)
        a = tl.load(x + row * n + at, mask=at < length, other=-float("inf"))
        new = tl.maximum(m, tl.max(a, 0))
        s = s * tl.exp(m - new) + tl.sum(tl.exp(a - new), 0)
        m = new
    for b in range(0, length, BLOCK):
        at = b + tl.arange(0, BLOCK)
        a = tl.load(x + row * n + at, mask=at < length, other=-float("inf"))
        tl.store(y + row * n + at, tl.exp(a - m) / s, mask=at < length)


@triton.jit
def soft_scaled(y, x, lengths, n, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    length = tl.load(lengths + row)
    at = tl.arange(0, BLOCK)
    mask = at < length
    a = tl.load(x + row * n + at, mask=mask, other=-1e9) * scale
    e = tl.exp(a - tl.max(a, 0))
    e = tl.where(mask, e, 0.0)
    tl.store(y + row * n + at, e / tl.sum(e, 0), mask=mask)


@triton.jit
def soft_rows(y, x, lengths, rows, n, R: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * R + tl.arange(0, R)
    length = tl.load(lengths + row, mask=row < rows, other=0)
    at = tl.arange(0, BLOCK)
    mask = (row < rows)[:, None] & (at[None, :] < length[:, None])
    a = tl.load(x + row[:, None] * n + at[None, :], mask=mask, other=-float("inf"))
    e = tl.exp(a - tl.max(a, 1)[:, None])
    tl.store(y + row[:, None] * n + at[None, :], e / tl.sum(e, 1)[:, None], mask=mask)


@triton.jit
def soft_heads(y, x, lengths, H, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    length = tl.load(lengths + row // H)
    at = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + at, mask=at < length, other=-float("inf"))
    e = tl.exp(a - tl.max(a, 0))
    tl.store(y + row * n + at, e / tl.sum(e, 0), mask=at < length)


@triton.jit
def soft_masked(y, x, keep, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    kept = tl.load(keep + row * n + at, mask=at < n, other=0) != 0
    a = tl.load(x + row * n + at, mask=kept, other=-float("inf"))
    e = tl.exp(a - tl.max(a, 0))
    tl.store(y + row * n + at, e / tl.sum(e, 0), mask=at < n)
