"""Random numbers: what they decided is kept for the backward, a byte for each lane."""

import torch
import triton
import triton.language as tl


@triton.jit
def flat(x, y, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(x + at, mask=inside)
    keep = tl.rand(seed, at) > p
    tl.store(y + at, tl.where(keep, a * a / (1 - p), 0.0), mask=inside)


def run_flat(x, p, seed):
    y = torch.empty_like(x)
    n = x.numel()
    flat[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n, p, seed, BLOCK=16)
    return y


@triton.jit
def unnamed(x, r, y, n, p, seed, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + cols, mask=cols < n, other=0.0)
    drawn = tl.rand(seed, row * n + cols)
    a = tl.where(drawn > p, a / (1 - p), 0.0)
    b = tl.load(r + row * n + cols, mask=cols < n, other=0.0)
    tl.store(y + row * n + cols, a * b, mask=cols < n)


def run_unnamed(x, r, p, seed):
    y = torch.empty_like(x)
    unnamed[(x.shape[0],)](x, r, y, x.shape[1], p, seed, BLOCK=triton.next_power_of_2(x.shape[1]))
    return y


@triton.jit
def tiles(x, b, y, m, n, p, seed, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    at = rows[:, None] * n + cols[None, :]
    inside = (rows[:, None] < m) & (cols[None, :] < n)
    bias = tl.load(b + cols, mask=cols < n, other=0.0)
    a = tl.load(x + at, mask=inside, other=0.0) + bias[None, :]
    keep = tl.rand(seed, at) > p
    tl.store(y + at, tl.where(keep, a / (1 - p), 0.0), mask=inside)


def run_tiles(x, b, p, seed):
    y = torch.empty_like(x)
    m, n = x.shape
    tiles[(triton.cdiv(m, 4), triton.cdiv(n, 8))](x, b, y, m, n, p, seed, ROWS=4, COLUMNS=8)
    return y


@triton.jit
def summed(x, y, n, p, seed, BLOCK: tl.constexpr):
    """A lane beyond the row counts, too: its draw is seen by all others."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + cols, mask=cols < n, other=0.0)
    keep = tl.rand(seed, row * BLOCK + cols) > p
    kept = tl.sum(tl.where(keep, 1.0, 0.0), 0) + 1.0
    tl.store(y + row * n + cols, tl.where(keep, a * a / kept, 0.0), mask=cols < n)


def run_summed(x, p, seed):
    y = torch.empty_like(x)
    summed[(x.shape[0],)](x, y, x.shape[1], p, seed, BLOCK=triton.next_power_of_2(x.shape[1]))
    return y


@triton.jit
def dropped(a, p, seed, at):
    return tl.where(tl.rand(seed, at) > p, a / (1 - p), 0.0)


@triton.jit
def helped(x, y, n, p, seed, BLOCK: tl.constexpr):
    """The draw has no name in the kernel's own text."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + cols, mask=cols < n, other=0.0)
    a = dropped(a * a, p, seed, row * n + cols)
    tl.store(y + row * n + cols, a, mask=cols < n)


def run_helped(x, p, seed):
    y = torch.empty_like(x)
    helped[(x.shape[0],)](x, y, x.shape[1], p, seed, BLOCK=triton.next_power_of_2(x.shape[1]))
    return y
