"""A scale is a constant by a decorator: a module in which it has a gradient says so."""

# case: {"class": "uses", "call": "m.quotients(x)", "inputs": {"x": [4, 6]}, "expect": "refused"}

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, s_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + c, mask=c < N, other=0.0)
    tl.store(s_ptr + row, tl.max(tl.abs(x), 0))


@torch.no_grad()
def scales(x):
    s = torch.empty(x.shape[0], dtype=x.dtype)
    scale_kernel[(x.shape[0],)](x, s, x.shape[1], BLOCK=8)
    return s


def quotients(x):
    return x / scales(x)[:, None]
