"""The kernel gets the left half and reads the right one, too."""

# case: {"class": "beyond", "call": "m.gated(x)", "inputs": {"x": [3, 10]}}

import torch
import triton
import triton.language as tl

@triton.jit
def k(o, x, d, n, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + r * n + i, mask=i < d, other=0.)
    b = tl.load(x + r * n + d + i, mask=i < d, other=0.)
    tl.store(o + r * d + i, a * tl.sigmoid(b), mask=i < d)
def gated(x):
    M, N = x.shape
    d = N // 2
    o = torch.empty(M, d, dtype=x.dtype)
    k[(M,)](o, x[:, :d], d, N, BLOCK=8)
    return o
