"""A pointer is one of two, by a condition of the program."""

# case: {"class": "views", "call": "m.joined(a, b)", "inputs": {"a": [2, 8], "b": [3, 8]}}
# case: {"call": "m.gathered(a, b, idx)", "inputs": {"a": [4, 8], "b": [3, 8], "idx": {"shape": [3], "dtype": "int64", "values": [2, 0, 3]}}}

import triton
import triton.language as tl

@triton.jit
def copy2(a, b, out, n, m, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    if row < n:
        src = a + row * B
    else:
        src = b + (row - n) * B
    tl.store(out + row * B + c, tl.load(src + c))

@triton.jit
def gather(a, b, idx, B: tl.constexpr, A_TO_B: tl.constexpr):
    i = tl.load(idx + tl.program_id(0))
    a += i * B
    b += tl.program_id(0) * B
    iptr = a if A_TO_B else b
    optr = b if A_TO_B else a
    c = tl.arange(0, B)
    tl.store(optr + c, tl.load(iptr + c))


import torch


def joined(a, b):
    out = torch.empty(a.shape[0] + b.shape[0], a.shape[1], dtype=a.dtype)
    copy2[(out.shape[0],)](a, b, out, a.shape[0], b.shape[0], B=8)
    return out


def gathered(a, b, idx):
    out = torch.empty_like(b)
    gather[(idx.shape[0],)](a, out, idx, B=8, A_TO_B=True)
    return out
