"""The first row is passed, all rows are read."""

# case: {"class": "beyond", "call": "m.squares(x)", "inputs": {"x": [3, 6]}}

import torch
import triton
import triton.language as tl

@triton.jit
def k(o, x, n, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + r * n + i, mask=i < n, other=0.)
    tl.store(o + r * n + i, a * a, mask=i < n)
def squares(x):
    M, N = x.shape
    o = torch.empty_like(x)
    k[(M,)](o, x[0], N, BLOCK=8)
    return o
