"""States and the states before are one buffer."""

# case: {"class": "aliases", "call": "m.recur(x)", "inputs": {"x": [4, 8]}}

import torch
import triton
import triton.language as tl

@triton.jit
def k(out, prev, x, T, D: tl.constexpr):
    c = tl.arange(0, D)
    for t in range(T):
        h = tl.load(prev + t * D + c)
        v = tl.load(x + t * D + c)
        tl.store(out + t * D + c, 1 / (1 + tl.exp(-(h + v))))
def recur(x):
    T, D = x.shape
    hs = torch.zeros(T + 1, D, dtype=x.dtype)
    k[(1,)](hs[1:], hs, x, T, D=D)
    return hs[1:]
