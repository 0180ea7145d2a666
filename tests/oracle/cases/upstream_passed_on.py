"""A residual is added at the end: its gradient is the upstream one, which the Function may hand on."""

# case: {"class": "aliases", "call": "m.add(x, r)", "inputs": {"x": [3, 6], "r": [3, 6]}}
# case: {"call": "m.add(x, x)", "inputs": {"x": [3, 6]}}
# case: {"call": "m.add(x, r).sum()", "inputs": {"x": [3, 6], "r": [3, 6]}}
# case: {"call": "m.add(x, r).t()", "inputs": {"x": [3, 6], "r": [3, 6]}}
# case: {"call": "m.add(x, r)[1]", "inputs": {"x": [3, 6], "r": [3, 6]}}
# case: {"call": "m.add(x, r.t())", "inputs": {"x": [4, 4], "r": [4, 4]}, "reference": "torch.tanh(x) + r"}
# case: {"call": "m.add(x, r)", "inputs": {"x": [3, 6], "r": {"shape": [3, 6], "dtype": "float32"}}}
# case: {"call": "m.add(x, r[1:4])", "inputs": {"x": [3, 6], "r": [5, 6]}}
# case: {"call": "m.add(x, r)", "inputs": {"x": {"shape": [3, 6], "grad": false}, "r": [3, 6]}}
# case: {"call": "m.add(x, r.reshape(-1))", "inputs": {"x": [3, 6], "r": [3, 6]}}
# case: {"call": "m.add(x, m.add(x, r)) * m.add(x, r)", "inputs": {"x": [3, 6], "r": [3, 6]}}
# case: {"call": "m.add(x, r, 10)", "inputs": {"x": [3, 6], "r": [3, 6]}}
# case: {"call": "m.add_rows(x, r[:, :4])", "inputs": {"x": [3, 4], "r": [3, 6]}}
# case: {"call": "m.add_rows(x, r)", "inputs": {"x": [3, 4], "r": [3, 4]}}

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, r_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < n
    x = tl.load(x_ptr + at, mask=keep, other=0.0)
    e = tl.exp(2 * x)
    tl.store(y_ptr + at, (e - 1) / (e + 1) + tl.load(r_ptr + at, mask=keep), mask=keep)


def add(x, r, n=None):
    y = torch.zeros_like(x)
    n = n or x.numel()
    add_kernel[(triton.cdiv(n, 8),)](x, r, y, n, BLOCK=8)
    return y


@triton.jit
def add_rows_kernel(x_ptr, r_ptr, y_ptr, x_stride, r_stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * x_stride + at, mask=at < n, other=0.0)
    r = tl.load(r_ptr + row * r_stride + at, mask=at < n, other=0.0)
    tl.store(y_ptr + row * x_stride + at, x * x + r, mask=at < n)


def add_rows(x, r):
    y = torch.empty_like(x)
    add_rows_kernel[(x.shape[0],)](x, r, y, x.stride(0), r.stride(0), x.shape[1], BLOCK=8)
    return y
