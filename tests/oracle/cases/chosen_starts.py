"""A number of the caller's leads the kernel out of the view that it gets."""

# case: {"class": "beyond", "call": "m.rows_from(x[2:], 1, 2)", "inputs": {"x": [5, 3]}}
# case: {"class": "beyond", "call": "m.rows_from(x[2:], -1, 2)", "inputs": {"x": [5, 3]}}
# case: {"class": "beyond", "call": "m.rows_from(x[:2], 1, 2)", "inputs": {"x": [5, 3]}}
# case: {"class": "beyond", "call": "m.rows_from(x[:2], 0, 3)", "inputs": {"x": [5, 3]}}
# case: {"class": "beyond", "call": "m.rows_to(x, -1, 2)", "inputs": {"x": [2, 3]}}

import torch
import triton
import triton.language as tl


@triton.jit
def from_kernel(o, x, first, d, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + (row + first) * d + i, mask=i < d, other=0.0)
    tl.store(o + row * d + i, a * a, mask=i < d)


@triton.jit
def to_kernel(o, x, first, d, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + row * d + i, mask=i < d, other=0.0)
    tl.store(o + (row + first) * d + i, a * a, mask=i < d)


def rows_from(x, first, n):
    o = torch.empty(n, x.shape[1], dtype=x.dtype, device=x.device)
    from_kernel[(n,)](o, x, first, x.shape[1], BLOCK=4)
    return o


def rows_to(x, first, n):
    o = torch.zeros(n + 2, x.shape[1], dtype=x.dtype, device=x.device)
    to_kernel[(x.shape[0],)](o[2:], x, first, x.shape[1], BLOCK=4)
    return o
