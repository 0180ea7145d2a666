"""The neighbour of a block's first element is in the block before."""

# case: {"class": "views", "call": "m.shifted(x)", "inputs": {"x": [2, 64]}}

import torch, triton
import triton.language as tl

@triton.jit
def shift(x, y, T, B: tl.constexpr):
    row = tl.program_id(0)
    for b in range(0, tl.cdiv(T, B)):
        t = b * B + tl.arange(0, B)
        prev = tl.load(x + row * T + t - 1, mask=t > 0, other=0.0)
        tl.store(y + row * T + t, prev * prev, mask=t < T)

def shifted(x):
    y = torch.empty_like(x)
    shift[(x.shape[0],)](x, y, x.shape[1], B=32)
    return y
