"""A grid's lambda reads a variable that has changed when backward runs."""

# case: {"class": "grids", "call": "m.tree(x)", "inputs": {"x": [8]}}

import torch
import triton
import triton.language as tl

@triton.jit
def half(o, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + 2 * i, mask=i < n, other=0.)
    b = tl.load(x + 2 * i + 1, mask=i < n, other=0.)
    tl.store(o + i, a * b + a, mask=i < n)
def tree(x):
    n = x.numel()
    while n > 1:
        n = n // 2
        o = torch.empty(n, dtype=x.dtype)
        grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
        half[grid](o, x, n, BLOCK=2)
        x = o
    return x
