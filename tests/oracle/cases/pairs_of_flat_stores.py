"""Two stores of a flat kernel, as far apart as the caller says: within all elements, other programs reach the same ones."""

# case: {"class": "overlaps", "call": "m.ahead(x, 40)", "inputs": {"x": [40]}, "expect": "right"}
# case: {"call": "m.ahead(x, 3)", "inputs": {"x": [40]}, "expect": "loud"}
# case: {"call": "m.ahead(x, 3)", "inputs": {"x": [6]}, "expect": "right"}

import torch
import triton
import triton.language as tl


@triton.jit
def ahead_k(X, O, n, gap, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(X + i, mask=i < n)
    tl.store(O + i, x * x, mask=i < n)
    tl.store(O + i + gap, tl.exp(x), mask=i < n)


def ahead(x, gap):
    o = x.new_zeros(100)
    ahead_k[(triton.cdiv(x.numel(), 8),)](x, o, x.numel(), gap, B=8)
    return o
