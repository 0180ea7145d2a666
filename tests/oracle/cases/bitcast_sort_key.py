"""A float travels in the upper half of a key that is sorted."""

# case: {"class": "bits", "call": "m.sorted_product(x, w)", "inputs": {"x": {"shape": [8], "dtype": "float32", "low": 0.1, "high": 2.0}, "w": {"shape": [8], "dtype": "float32"}}}

import torch
import triton
import triton.language as tl

@triton.jit
def k(o, x, w, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i).to(tl.float32)
    u = tl.load(w + i).to(tl.float32)
    key = (v.to(tl.uint32, bitcast=True).to(tl.uint64) << 32) | i.to(tl.uint64)
    s = tl.sort(key)
    val = (s >> 32).to(tl.uint32).to(tl.float32, bitcast=True)
    tl.store(o + i, val * u)
def sorted_product(x, w):
    o = torch.empty_like(x)
    k[(1,)](o, x, w, x.numel(), BLOCK=8)
    return o
