"""Gradients that digits of a flat index number, of launches with few programs, many, and rows that are cut."""

# case: {"class": "views", "call": "m.bias(x, b)", "inputs": {"x": [7, 5], "b": [5]}}
# case: {"call": "m.bias(x, b)", "inputs": {"x": [3, 70], "b": [70]}}
# case: {"call": "m.bias(x, b)", "inputs": {"x": [40, 3], "b": [3]}}
# case: {"call": "m.bias(x, b) * m.bias(x, b[:, 0])", "inputs": {"x": [4, 6], "b": [6, 2]}}
# case: {"call": "m.bias(x.t(), b).sum(0)", "inputs": {"x": [6, 5], "b": [6]}}
# case: {"call": "m.bias(x, b)", "inputs": {"x": [5], "b": [9]}}
# case: {"call": "m.affine(x, s, t)", "inputs": {"x": [2, 3, 5], "s": [3], "t": [3]}}
# case: {"call": "m.affine(x, s, t)", "inputs": {"x": [3, 2, 40], "s": [2], "t": [2]}}
# case: {"call": "m.affine(x, s, t)", "inputs": {"x": [1, 4, 3], "s": [6], "t": [6]}}
# case: {"call": "m.affine(x, s[::2], t.flip(0))", "inputs": {"x": [2, 3, 2], "s": [6], "t": [3]}}
# case: {"call": "m.rows(x, s)", "inputs": {"x": [5, 21], "s": [5]}}
# case: {"call": "m.rows(x, s).t() * s", "inputs": {"x": [5, 3], "s": [5]}}
# case: {"call": "m.rows(x, s)", "inputs": {"x": [3, 21], "s": [8]}}

import torch
import triton
import triton.language as tl


@triton.jit
def bias_kernel(x_ptr, b_ptr, y_ptr, n, C, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = offs < n
    x = tl.load(x_ptr + offs, mask=keep)
    b = tl.load(b_ptr + offs % C, mask=keep)
    tl.store(y_ptr + offs, x * b + tl.sin(b), mask=keep)


def bias(x, b):
    x, b = x.contiguous(), b.contiguous()
    y = torch.empty_like(x)
    bias_kernel[(triton.cdiv(x.numel(), 8),)](x, b, y, x.numel(), b.numel(), BLOCK=8)
    return y


@triton.jit
def affine_kernel(x_ptr, s_ptr, t_ptr, y_ptr, n, C, size, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = offs < n
    c = (offs // size) % C
    x = tl.load(x_ptr + offs, mask=keep)
    y = tl.exp(x * tl.load(s_ptr + c, mask=keep)) + tl.load(t_ptr + c, mask=keep) * x
    tl.store(y_ptr + offs, y, mask=keep)


def affine(x, s, t):
    s, t = s.contiguous(), t.contiguous()
    y = torch.empty_like(x)
    n, C, size = x.numel(), x.shape[1], x.shape[2]
    affine_kernel[(triton.cdiv(n, 16),)](x, s, t, y, n, C, size, BLOCK=16)
    return y


@triton.jit
def rows_kernel(x_ptr, s_ptr, y_ptr, n, width, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = offs < n
    x = tl.load(x_ptr + offs, mask=keep)
    s = tl.load(s_ptr + offs // width, mask=keep)
    tl.store(y_ptr + offs, x * s * s, mask=keep)


def rows(x, s):
    y = torch.empty_like(x)
    rows_kernel[(triton.cdiv(x.numel(), 8),)](x, s, y, x.numel(), x.shape[1], BLOCK=8)
    return y
