"""A flag says which of two tensors is read and which is written."""

# case: {"class": "views", "call": "m.fwd(a, b, idx)", "inputs": {"a": [4, 8], "b": [3, 8], "idx": {"shape": [3], "dtype": "int64", "values": [2, 0, 3]}}}
# case: {"call": "m.bwd(a, b, idx)", "inputs": {"a": {"shape":[4, 8], "in_place": true}, "b": [3, 8], "idx": {"shape": [3], "dtype": "int64", "values": [2, 0, 3]}}}

import torch
import triton
import triton.language as tl

@triton.jit
def gather(a, b, idx, B: tl.constexpr, A_TO_B: tl.constexpr):
    i = tl.load(idx + tl.program_id(0))
    a += i * B
    b += tl.program_id(0) * B
    c = tl.arange(0, B)
    if A_TO_B:
        x = tl.load(a + c)
        tl.store(b + c, x * x)
    else:
        x = tl.load(b + c)
        tl.store(a + c, x * x * x)


def fwd(a, b, idx):
    out = torch.empty_like(b)
    gather[(idx.shape[0],)](a, out, idx, B=8, A_TO_B=True)
    return out
def bwd(a, b, idx):
    gather[(idx.shape[0],)](a, b, idx, B=8, A_TO_B=False)
    return a
