"""A state is updated at places that repeat."""

# case: {"class": "aliases", "call": "m.update(h, x, idx)", "inputs": {"h": [3, 4], "x": [5, 4], "idx": {"shape": [5], "dtype": "int64", "values": [0, 1, 0, 2, 0]}}}

import torch
import triton
import triton.language as tl

@triton.jit
def kk(h, x, idx, T, D: tl.constexpr):
    c = tl.arange(0, D)
    for t in range(T):
        j = tl.load(idx + t)
        s = tl.load(h + j * D + c)
        v = tl.load(x + t * D + c)
        tl.store(h + j * D + c, s * 0.5 + v * s)
def update(h, x, idx):
    h = h.clone()
    kk[(1,)](h, x, idx, x.shape[0], D=4)
    return h
