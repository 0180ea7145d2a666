"""A pointer is cast and the loaded integers are read as floats."""

# case: {"class": "bits", "call": "m.product(x, w)", "inputs": {"x": {"shape": [8], "dtype": "float32"}, "w": {"shape": [8], "dtype": "float32"}}}

import torch
import triton
import triton.language as tl

@triton.jit
def k(o, x, w, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    xi = x.to(tl.pointer_type(tl.int32))
    b = tl.load(xi + i)
    v = b.to(tl.float32, bitcast=True)
    u = tl.load(w + i)
    tl.store(o + i, v * u)
def product(x, w):
    o = torch.empty_like(x)
    k[(1,)](o, x, w, x.numel(), BLOCK=8)
    return o
