"""The gradient's own gradient."""

# case: {"class": "second", "call": "m.mul(x, y)", "inputs": {"x": [13], "y": [13]}, "second": true}

import torch
import triton
import triton.language as tl


@triton.jit
def mulk(o, x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(o + i, tl.load(x + i, mask=m) * tl.load(y + i, mask=m), mask=m)


def mul(x, y):
    o = torch.empty_like(x)
    mulk[(triton.cdiv(x.numel(), 8),)](o, x, y, x.numel(), BLOCK=8)
    return o
