"""A pointer to the last row and a stride of minus one."""

# case: {"class": "beyond", "call": "m.flipped(x)", "inputs": {"x": [7]}}

import torch
import triton
import triton.language as tl

@triton.jit
def k(o, x, s, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i * s, mask=i < n, other=0.)
    tl.store(o + i, v * v * i, mask=i < n)
def flipped(x):
    o = torch.empty_like(x)
    k[(1,)](o, x[-1:], -x.stride(0), x.numel(), BLOCK=8)
    return o
