"""Rows that one loop stores and a later one loads: what was stored is computed again, where nothing else can be there."""

import torch
import triton
import triton.language as tl


@triton.jit
def added_norm(x_ptr, r_ptr, w_ptr, y_ptr, s_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    square = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        mask = i < n
        s = tl.load(x_ptr + row * n + i, mask=mask, other=0.0).to(tl.float32)
        s += tl.load(r_ptr + row * n + i, mask=mask, other=0.0).to(tl.float32)
        tl.store(s_ptr + row * n + i, s, mask=mask)
        square += s * s
    scale = tl.rsqrt(tl.sum(square, axis=0) / n + eps)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        mask = i < n
        s = tl.load(s_ptr + row * n + i, mask=mask, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + i, mask=mask, other=0.0).to(tl.float32)
        tl.store(y_ptr + row * n + i, s * scale * w, mask=mask)


def launch_added_norm(x, r, w, eps=1e-6):
    m, n = x.shape
    y, s = torch.empty_like(x), torch.empty_like(x)
    added_norm[(m,)](x, r, w, y, s, n, eps, BLOCK=16)
    return y, s


@triton.jit
def read_elsewhere(x_ptr, s_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """The second loop has its own block: its lanes are another iteration's."""
    row = tl.program_id(0)
    most = tl.zeros([BLOCK], dtype=tl.float32) - float("inf")
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + i, mask=i < n, other=0.0)
        tl.store(s_ptr + row * n + i, x * x, mask=i < n)
        most = tl.maximum(most, tl.where(i < n, x, -float("inf")))
    high = tl.max(most, axis=0)
    tl.debug_barrier()
    for start in range(0, n, 2 * BLOCK):
        i = start + tl.arange(0, 2 * BLOCK)
        s = tl.load(s_ptr + row * n + i, mask=i < n, other=0.0)
        tl.store(y_ptr + row * n + i, s * high, mask=i < n)


def launch_read_elsewhere(x):
    m, n = x.shape
    s, y = torch.empty_like(x), torch.empty_like(x)
    read_elsewhere[(m,)](x, s, y, n, BLOCK=16)
    return y, s


@triton.jit
def stored_between(x_ptr, s_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """The first element is another one by then."""
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + i, mask=i < n, other=0.0)
        tl.store(s_ptr + row * n + i, x * x, mask=i < n)
        total += x
    tl.debug_barrier()
    tl.store(s_ptr + row * n, tl.sum(total, axis=0))
    tl.debug_barrier()
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        s = tl.load(s_ptr + row * n + i, mask=i < n, other=0.0)
        tl.store(y_ptr + row * n + i, s * s, mask=i < n)


def launch_stored_between(x):
    m, n = x.shape
    s, y = torch.empty_like(x), torch.empty_like(x)
    stored_between[(m,)](x, s, y, n, BLOCK=16)
    return y, s


@triton.jit
def stored_sums(x_ptr, s_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """What is stored is carried from block to block."""
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + i, mask=i < n, other=0.0)
        total += x
        tl.store(s_ptr + row * n + i, total, mask=i < n)
    last = tl.sum(total, axis=0)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        s = tl.load(s_ptr + row * n + i, mask=i < n, other=0.0)
        tl.store(y_ptr + row * n + i, s * last, mask=i < n)


def launch_stored_sums(x):
    m, n = x.shape
    s, y = torch.empty_like(x), torch.empty_like(x)
    stored_sums[(m,)](x, s, y, n, BLOCK=16)
    return y, s


@triton.jit
def wider_mask(x_ptr, s_ptr, y_ptr, n, most, BLOCK: tl.constexpr):
    """The second loop reads more than the first one has stored: what the caller left there."""
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + i, mask=i < n, other=0.0)
        tl.store(s_ptr + row * n + i, x * x, mask=i < most)
        total += x
    last = tl.sum(total, axis=0)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        s = tl.load(s_ptr + row * n + i, mask=i < n, other=0.0)
        tl.store(y_ptr + row * n + i, s * last, mask=i < n)


def launch_wider_mask(x):
    m, n = x.shape
    s, y = torch.zeros_like(x), torch.empty_like(x)
    wider_mask[(m,)](x, s, y, n, n // 2, BLOCK=16)
    return y, s


@triton.jit
def blocks_that_overlap(x_ptr, s_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Half of a block is stored again by the next iteration."""
    row = tl.program_id(0)
    total = tl.zeros([2 * BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, 2 * BLOCK)
        x = tl.load(x_ptr + row * n + i, mask=i < n, other=0.0)
        tl.store(s_ptr + row * n + i, x * start, mask=i < n)
        tl.debug_barrier()
        total += x
    last = tl.sum(total, axis=0)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, 2 * BLOCK)
        s = tl.load(s_ptr + row * n + i, mask=i < n, other=0.0)
        tl.store(y_ptr + row * n + i, s * last, mask=i < n)


def launch_blocks_that_overlap(x):
    m, n = x.shape
    s, y = torch.empty_like(x), torch.empty_like(x)
    blocks_that_overlap[(m,)](x, s, y, n, BLOCK=16)
    return y, s


@triton.jit
def rows_in_turn(x_ptr, s_ptr, y_ptr, rows, n, BLOCK: tl.constexpr):
    """A program takes several rows: each has both loops."""
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        square = tl.zeros([BLOCK], dtype=tl.float32)
        for start in range(0, n, BLOCK):
            i = start + tl.arange(0, BLOCK)
            x = tl.load(x_ptr + row * n + i, mask=i < n, other=0.0)
            x = x * tl.sigmoid(x)
            tl.store(s_ptr + row * n + i, x, mask=i < n)
            square += x * x
        scale = tl.rsqrt(tl.sum(square, axis=0) / n + 1e-6)
        for start in range(0, n, BLOCK):
            i = start + tl.arange(0, BLOCK)
            s = tl.load(s_ptr + row * n + i, mask=i < n, other=0.0)
            tl.store(y_ptr + row * n + i, s * scale, mask=i < n)


def launch_rows_in_turn(x):
    m, n = x.shape
    s, y = torch.empty_like(x), torch.empty_like(x)
    rows_in_turn[(3,)](x, s, y, m, n, BLOCK=16)
    return y
