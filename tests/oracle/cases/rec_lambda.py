"""A launch in a lambda of the module."""

# case: {"class": "kernels", "call": "m.both(x)", "inputs": {"x": [7]}}

import functools
import torch
import triton
import triton.language as tl

@triton.jit
def sq(o, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.)
    tl.store(o + i, a * a, mask=i < n)
go = lambda o, x: sq[(1,)](o, x, x.numel(), BLOCK=8)


@triton.jit
def cu(o, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.)
    tl.store(o + i, a * a * a, mask=i < n)

def both(x):
    o = torch.empty_like(x)
    p = torch.empty_like(x)
    go(o, x)
    cu[(1,)](p, x, x.numel(), BLOCK=8)
    return o + p
