"""A combine function that is a log-sum-exp below 20 and a constant above."""

# case: {"class": "nan", "call": "m.capped(x)", "inputs": {"x": {"shape": [5], "low": 10.0, "high": 18.5}}}
# case: {"call": "m.capped(x)", "inputs": {"x": {"shape": [5], "low": 20.0, "high": 28.0}}}

import torch
import triton
import triton.language as tl

@triton.jit
def lse(a, b):
    m = tl.maximum(a, b)
    return tl.minimum(m + tl.log(tl.exp(a - m) + tl.exp(b - m)), 20.0)
@triton.jit
def k(o, x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=-1e30)
    tl.store(o, tl.reduce(v, 0, lse))
def capped(x):
    o = torch.empty(1, dtype=x.dtype)
    k[(1,)](o, x, x.numel(), BLOCK=8)
    return o
