"""x[1:] is passed and the row before is read."""

# case: {"class": "beyond", "call": "m.shifted(x)", "inputs": {"x": [4, 6]}}

import torch
import triton
import triton.language as tl

@triton.jit
def k(o, x, D, BLOCK: tl.constexpr):
    t = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    cur = tl.load(x + t * D + i, mask=i < D, other=0.)
    prev = tl.load(x + (t - 1) * D + i, mask=i < D, other=0.)
    tl.store(o + t * D + i, cur * prev, mask=i < D)
def shifted(x):
    T, D = x.shape
    o = torch.empty(T - 1, D, dtype=x.dtype)
    k[(T - 1,)](o, x[1:], D, BLOCK=8)
    return o
