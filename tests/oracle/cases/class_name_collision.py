"""Two kernels whose names would give one class name."""

# case: {"class": "names", "call": "m.both(x)", "inputs": {"x": [7]}}

import torch
import triton
import triton.language as tl

@triton.jit
def _act(o, x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.)
    tl.store(o + i, v * v, mask=i < n)
@triton.jit
def act(o, x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.)
    tl.store(o + i, tl.exp(v), mask=i < n)
def both(x):
    o = torch.empty_like(x); p = torch.empty_like(x)
    _act[(1,)](o, x, x.numel(), BLOCK=8)
    act[(1,)](p, x, x.numel(), BLOCK=8)
    return o, p
