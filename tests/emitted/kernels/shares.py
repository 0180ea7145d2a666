"""Programs that share out the numbers of a loop: in strides, or each a range of its own."""

import torch
import triton
import triton.language as tl


@triton.jit
def rows_in_strides(x, y, m, n, stride, B: tl.constexpr):
    j = tl.arange(0, B)
    for i in range(tl.program_id(0), m, tl.num_programs(0)):
        a = tl.load(x + i * stride + j, mask=j < n, other=0.0)
        tl.store(y + i * stride + j, a * tl.sum(a * a), mask=j < n)


@triton.jit
def blocks_in_strides(x, y, n, B: tl.constexpr):
    step = tl.num_programs(0) * B
    for start in range(tl.program_id(0) * B, n, step):
        i = start + tl.arange(0, B)
        a = tl.load(x + i, mask=i < n, other=0.0)
        tl.store(y + i, tl.exp(a), mask=i < n)


@triton.jit
def rows_in_ranges(x, y, m, n, share, B: tl.constexpr):
    j = tl.arange(0, B)
    first = tl.program_id(0) * share
    for i in range(first, min(first + share, m)):
        a = tl.load(x + i * n + j, mask=j < n, other=0.0)
        tl.store(y + i * n + j, a * tl.sum(a * a), mask=j < n)


@triton.jit
def blocks_in_ranges(x, y, n, B: tl.constexpr):
    first = tl.program_id(0) * B * 4
    for start in range(first, first + B * 4, B):
        i = start + tl.arange(0, B)
        a = tl.load(x + i, mask=i < n, other=0.0)
        tl.store(y + i, tl.exp(a), mask=i < n)


@triton.jit
def blocks_beyond_ranges(x, y, n, share, B: tl.constexpr):
    """The last block of a range reaches into the next one, from which it only reads."""
    first = tl.program_id(0) * share
    for start in range(first, first + share, B):
        i = start + tl.arange(0, B)
        a = tl.load(x + i, mask=i < n, other=0.0)
        tl.store(y + i, tl.cumsum(a), mask=(i < n) & (i < first + share))


@triton.jit
def neighbours_in_strides(x, y, n):
    for i in range(tl.program_id(0), n, tl.num_programs(0)):
        tl.store(y + i, tl.load(x + i) * tl.load(x + i + 1))


@triton.jit
def halves_in_strides(x, y, n):
    for i in range(tl.program_id(0), n, tl.num_programs(0)):
        tl.store(y + i, tl.exp(tl.load(x + i // 2)))


def launch_rows_in_strides(x):
    y = torch.empty_like(x)
    rows_in_strides[(min(3, x.shape[0]),)](x, y, *x.shape, x.stride(0), B=16)
    return y


def launch_blocks_in_strides(x):
    y = torch.empty_like(x)
    blocks_in_strides[(3,)](x, y, x.numel(), B=8)
    return y


def launch_rows_in_ranges(x):
    y = torch.empty_like(x)
    share = triton.cdiv(x.shape[0], 3)
    rows_in_ranges[(3,)](x, y, *x.shape, share, B=16)
    return y


def launch_blocks_in_ranges(x):
    y = torch.empty_like(x)
    blocks_in_ranges[(triton.cdiv(x.numel(), 32),)](x, y, x.numel(), B=8)
    return y


def launch_blocks_beyond_ranges(x):
    y = torch.empty_like(x)
    share = triton.cdiv(x.numel(), 3)
    blocks_beyond_ranges[(3,)](x, y, x.numel(), share, B=8)
    return y


def launch_neighbours_in_strides(x):
    y = x.new_empty(x.numel() - 1)
    neighbours_in_strides[(3,)](x, y, y.numel())
    return y


def launch_halves_in_strides(x):
    y = x.new_empty(2 * x.numel())
    halves_in_strides[(3,)](x, y, y.numel())
    return y
