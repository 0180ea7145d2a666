"""A tensor of addresses."""

# case: {"class": "bits", "call": "m.grouped(a, b, w)", "inputs": {"a": [7], "b": [7], "w": [7]}}

import torch
import triton
import triton.language as tl

@triton.jit
def k(o, ptrs, w, n, BLOCK: tl.constexpr):
    g = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    p = tl.load(ptrs + g).to(tl.pointer_type(tl.float64))
    v = tl.load(p + i, mask=i < n, other=0.)
    u = tl.load(w + i, mask=i < n, other=0.)
    tl.store(o + g * n + i, v * u, mask=i < n)
def grouped(a, b, w):
    ptrs = torch.tensor([a.data_ptr(), b.data_ptr()])
    o = torch.empty(2, w.numel(), dtype=w.dtype)
    k[(2,)](o, ptrs, w, w.numel(), BLOCK=8)
    return o
