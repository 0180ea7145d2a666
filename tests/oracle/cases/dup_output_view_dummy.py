"""A column of the output stands in for the sums."""

# case: {"class": "dummies", "call": "m.rows(x)", "inputs": {"x": [3, 6]}}
# case: {"call": "m.rows(x, False)", "inputs": {"x": [3, 6]}}

import torch
import triton
import triton.language as tl

@triton.jit
def k(y, s, x, N, S: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + r * N + i, mask=i < N, other=0.)
    tl.store(y + r * N + i, v * v, mask=i < N)
    if S:
        tl.store(s + r, tl.sum(v))
def rows(x, save=True):
    y = torch.empty_like(x)
    s = torch.empty(x.shape[0], dtype=x.dtype) if save else y[:, 0]
    k[(x.shape[0],)](y, s, x, x.shape[1], S=save, BLOCK=8)
    return (y, s) if save else y
