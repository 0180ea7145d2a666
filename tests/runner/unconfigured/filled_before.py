"""A tensor that is made of zeros and filled by the launch before: the second kernel never sees these zeros."""

import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, t_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(t_ptr + offsets, x * x + 0.5, mask=offsets < n)


@triton.jit
def roots(x_ptr, t_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    t = tl.load(t_ptr + offsets, mask=offsets < n, other=1.0)
    tl.store(y_ptr + offsets, x * tl.sqrt(t), mask=offsets < n)


def run(x):
    t = torch.zeros_like(x)
    y = torch.empty_like(x)
    grid = (triton.cdiv(x.numel(), 64),)
    squares[grid](x, t, x.numel(), BLOCK=64)
    roots[grid](x, t, y, x.numel(), BLOCK=64)
    return y
