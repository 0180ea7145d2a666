"""What is written through `.data` has no gradient, as PyTorch has it."""

# case: {"class": "aliases", "call": "m.through_data(x)", "inputs": {"x": [6]}, "reference": "m.through_data(x).detach() * 0 + x"}

import torch
import triton
import triton.language as tl

@triton.jit
def sq(y, x, N, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < N, other=0.)
    tl.store(y + i, v * v, mask=i < N)
def through_data(x):
    y = torch.empty_like(x)
    sq[(1,)](y.data, x, x.numel(), BLOCK=8)
    return y + x
