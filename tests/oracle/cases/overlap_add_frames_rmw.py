"""Frames that overlap are added up in place."""

# case: {"class": "aliases", "call": "m.frames(x, 3)", "inputs": {"x": [4, 5]}}

import torch
import triton
import triton.language as tl

@triton.jit
def k(o, x, hop, W, F, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    for r in range(F):
        v = tl.load(x + r * W + i, mask=i < W, other=0.)
        a = tl.load(o + r * hop + i, mask=i < W, other=0.)
        tl.store(o + r * hop + i, a + v * a + v * v, mask=i < W)
def frames(x, hop):
    F, W = x.shape
    o = torch.ones(hop * (F - 1) + W, dtype=x.dtype)
    k[(1,)](o, x, hop, W, F, BLOCK=8)
    return o
