"""Two outputs overlap; the last store wins."""

# case: {"class": "aliases", "call": "m.overlapping(x)", "inputs": {"x": [10]}}

import torch
import triton
import triton.language as tl

@triton.jit
def kk(a, b, x, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    m = offs < n
    v = tl.load(x + offs, mask=m)
    tl.store(b + offs, v * v * v, mask=m)
    tl.debug_barrier()
    tl.store(a + offs, v * v, mask=m)
def overlapping(x):
    n = x.numel()
    big = torch.zeros(2 * n, dtype=x.dtype)
    kk[(1,)](big, big[n // 2:], x, n, BLOCK=16)
    return big
