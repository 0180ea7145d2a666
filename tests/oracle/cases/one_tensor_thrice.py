"""One tensor several times, and the tensors of a list."""
# case: {"class": "host", "call": "m.cube(x)", "inputs": {"x": [4, 5]}}
# case: {"class": "host", "call": "m.cube_list([x, y, x])", "inputs": {"x": [4, 5], "y": [4, 5]}}

import torch
import triton
import triton.language as tl


@triton.jit
def sum3(a, b, c, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(a + i, mask=i < n, other=0.0) * tl.load(b + i, mask=i < n, other=0.0) * tl.load(c + i, mask=i < n, other=0.0)
    tl.store(o + i, x, mask=i < n)


def cube(x):
    o = torch.empty_like(x)
    sum3[(triton.cdiv(x.numel(), 16),)](*(x,) * 3, o, x.numel(), BLOCK=16)
    return o


def cube_list(xs):
    o = torch.empty_like(xs[0])
    sum3[(triton.cdiv(xs[0].numel(), 16),)](*xs, o, xs[0].numel(), BLOCK=16)
    return o
