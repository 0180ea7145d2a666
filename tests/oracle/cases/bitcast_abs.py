"""The sign is cleared in the bits of a float."""

# case: {"class": "bits", "call": "m.clear_sign(x)", "inputs": {"x": {"shape": [11], "dtype": "float32"}}}

import torch
import triton
import triton.language as tl

@triton.jit
def k(o, x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.)
    b = v.to(tl.int32, bitcast=True) & 0x7FFFFFFF
    a = b.to(tl.float32, bitcast=True)
    tl.store(o + i, a * v, mask=i < n)
def clear_sign(x):
    o = torch.empty_like(x)
    k[(1,)](o, x, x.numel(), BLOCK=16)
    return o
