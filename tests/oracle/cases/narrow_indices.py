"""Whole numbers of few bits wrap around, so that programs meet which by arithmetic are apart."""

# case: {"class": "narrow", "call": "m.by_bytes(x, 300)", "inputs": {"x": [256]}}
# case: {"class": "narrow", "call": "m.by_rows(x, w)", "inputs": {"x": [259, 3], "w": [256, 3]}}
# case: {"class": "narrow", "call": "m.by_products(x, 70)", "inputs": {"x": [256]}}
# case: {"class": "narrow", "call": "m.by_counts(x, w)", "inputs": {"x": [10, 60], "w": [256]}}
# case: {"class": "narrow", "call": "m.by_blocks(x, 300)", "inputs": {"x": [256]}}

import torch
import triton
import triton.language as tl


@triton.jit
def bytes_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i.to(tl.uint8), mask=i < n, other=0.0)
    tl.store(y_ptr + i, x * x, mask=i < n)


def by_bytes(x, n):
    y = torch.empty(n, dtype=x.dtype, device=x.device)
    bytes_kernel[(triton.cdiv(n, 16),)](x, y, n, BLOCK=16)
    return y


@triton.jit
def rows_kernel(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + i, mask=i < n, other=0.0)
    w = tl.load(w_ptr + row.to(tl.uint8) * n + i, mask=i < n, other=0.0)
    tl.store(y_ptr + row * n + i, x * w, mask=i < n)


def by_rows(x, w):
    y = torch.empty_like(x)
    rows_kernel[(x.shape[0],)](x, w, y, x.shape[1], BLOCK=4)
    return y


@triton.jit
def products_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    few = i.to(tl.uint8)
    x = tl.load(x_ptr + few * few, mask=i < n, other=0.0)
    tl.store(y_ptr + i, x * x, mask=i < n)


def by_products(x, n):
    y = torch.empty(n, dtype=x.dtype, device=x.device)
    products_kernel[(triton.cdiv(n, 8),)](x, y, n, BLOCK=8)
    return y


@triton.jit
def counts_kernel(x_ptr, w_ptr, y_ptr, rows, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + i, mask=i < n, other=0.0)
    w = tl.load(w_ptr + (row * n + i).to(tl.int16).to(tl.uint8).to(tl.int32), mask=i < n, other=0.0)
    tl.store(y_ptr + row * n + i, x * w, mask=i < n)


def by_counts(x, w):
    y = torch.empty_like(x)
    counts_kernel[(x.shape[0],)](x, w, y, x.shape[0], x.shape[1], BLOCK=64)
    return y


@triton.jit
def blocks_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    block = (tl.program_id(0) * BLOCK).to(tl.uint8).to(tl.int32)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + block + tl.arange(0, BLOCK), mask=i < n, other=0.0)
    tl.store(y_ptr + i, x * x, mask=i < n)


def by_blocks(x, n):
    y = torch.empty(n, dtype=x.dtype, device=x.device)
    blocks_kernel[(triton.cdiv(n, 16),)](x, y, n, BLOCK=16)
    return y
