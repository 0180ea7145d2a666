"""A scratch buffer is written through one parameter and read through another."""

# case: {"class": "aliases", "call": "m.through_scratch(x)", "inputs": {"x": [21]}}

import torch
import triton
import triton.language as tl

@triton.jit
def kk(out, sc_w, sc_r, x, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = offs < n
    v = tl.load(x + offs, mask=m)
    tl.store(sc_w + offs, tl.exp(v), mask=m)
    tl.debug_barrier()
    u = tl.load(sc_r + offs, mask=m)
    tl.store(out + offs, u * v, mask=m)

def through_scratch(x):
    n = x.numel()
    sc = torch.empty_like(x)
    out = torch.empty_like(x)
    kk[(triton.cdiv(n, 16),)](out, sc, sc, x, n, BLOCK=16)
    return out
