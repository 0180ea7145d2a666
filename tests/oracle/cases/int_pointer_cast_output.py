"""A buffer of bytes is written through a cast pointer."""

# case: {"class": "bits", "call": "m.as_bytes(x)", "inputs": {"x": {"shape": [6], "dtype": "float32"}}}

import torch
import triton
import triton.language as tl

@triton.jit
def k(o, x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.)
    op = o.to(tl.pointer_type(tl.float32))
    tl.store(op + i, v * v, mask=i < n)
def as_bytes(x):
    o = torch.empty(x.numel() * 4, dtype=torch.uint8)
    k[(1,)](o, x, x.numel(), BLOCK=8)
    return o.view(torch.float32)
