"""A grid reads an attribute that has changed when backward runs."""

# case: {"class": "grids", "call": "(lambda op: op(x) .sum() * 2 + op(y).sum() * 3)(m.Op())", "inputs": {"x": [7], "y": [3]}}

import torch
import triton
import triton.language as tl

@triton.jit
def sq(o, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.)
    tl.store(o + i, a * a, mask=i < n)
class Op:
    def grid(self, meta):
        return (triton.cdiv(self.n, meta["BLOCK"]),)
    def __call__(self, x):
        self.n = x.numel()
        o = torch.empty_like(x)
        sq[self.grid](o, x, self.n, BLOCK=2)
        return o
