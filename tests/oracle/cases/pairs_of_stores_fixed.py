"""Two stores a fixed distance apart, in rows that the caller steps by."""

# case: {"class": "overlaps", "call": "m.fixed(x, y, 16)", "inputs": {"x": [4, 12], "y": [4, 4]}, "expect": "loud"}
# case: {"call": "m.fixed(x, y, 24)", "inputs": {"x": [4, 12], "y": [4, 4]}, "expect": "right"}

import torch
import triton
import triton.language as tl


@triton.jit
def fixed_k(X, Y, O, hop, GAP: tl.constexpr, BX: tl.constexpr, NX: tl.constexpr, NY: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BX)
    j = tl.arange(0, NY)
    x = tl.load(X + r * NX + i, mask=i < NX)
    y = tl.load(Y + r * NY + j)
    tl.store(O + r * hop + i, x * x, mask=i < NX)
    tl.store(O + r * hop + GAP + j, y * y)


def fixed(x, y, hop):
    o = x.new_zeros(200)
    fixed_k[(x.shape[0],)](x, y, o, hop, GAP=20, BX=16, NX=12, NY=4)
    return o
