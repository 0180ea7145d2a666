"""Launchers that fill memory first: what a fill stores has no gradient, except for a number that was read off a tensor."""

# case: {"class": "numbers", "call": "m.by_places(x)", "inputs": {"x": [9]}}
# case: {"call": "m.by_steps(x)", "inputs": {"x": [9]}}
# case: {"call": "m.by_tensor(x, t)", "inputs": {"x": [9], "t": []}}
# case: {"call": "m.by_value(x, t)", "inputs": {"x": [9], "t": []}}

import torch
import triton
import triton.language as tl


@triton.jit
def count_kernel(out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, offs.to(tl.float32), mask=offs < n)


@triton.jit
def line_kernel(out_ptr, n, start, step, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, start + offs * step, mask=offs < n)


@triton.jit
def value_kernel(out_ptr, n, value, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, value, mask=offs < n)


@triton.jit
def product_kernel(x_ptr, p_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    p = tl.load(p_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, x * x * p, mask=offs < n)


def by_places(x):
    p, y = torch.empty_like(x), torch.empty_like(x)
    n = x.numel()
    count_kernel[(triton.cdiv(n, 4),)](p, n, BLOCK=4)
    product_kernel[(triton.cdiv(n, 4),)](x, p, y, n, BLOCK=4)
    return y


def by_steps(x):
    p, y = torch.empty_like(x), torch.empty_like(x)
    n = x.numel()
    line_kernel[(triton.cdiv(n, 4),)](p, n, 0.25, 1.0 / n, BLOCK=4)
    product_kernel[(triton.cdiv(n, 4),)](x, p, y, n, BLOCK=4)
    return y


def by_tensor(x, t):
    p, y = torch.empty_like(x), torch.empty_like(x)
    n = x.numel()
    step = t.item()
    line_kernel[(triton.cdiv(n, 4),)](p, n, 0.25, step, BLOCK=4)
    product_kernel[(triton.cdiv(n, 4),)](x, p, y, n, BLOCK=4)
    return y


def by_value(x, t):
    p, y = torch.empty_like(x), torch.empty_like(x)
    n = x.numel()
    value_kernel[(triton.cdiv(n, 4),)](p, n, t.item(), BLOCK=4)
    product_kernel[(triton.cdiv(n, 4),)](x, p, y, n, BLOCK=4)
    return y
