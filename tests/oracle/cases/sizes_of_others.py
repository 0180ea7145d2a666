"""A size of another tensor leads the kernel out of a view."""
# case: {"class": "beyond", "call": "m.mul(x[:2], y)", "inputs": {"x": [4, 5], "y": [4, 5]}}
# case: {"class": "beyond", "call": "m.mul(x, y)", "inputs": {"x": [4, 5], "y": [4, 5]}}

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(o, x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.load(y + i, mask=i < n, other=0.0)
    tl.store(o + i, a * b, mask=i < n)


def mul(x, y):
    o = torch.empty_like(y)
    add_kernel[(triton.cdiv(y.numel(), 16),)](o, x, y, y.numel(), BLOCK=16)
    return o
