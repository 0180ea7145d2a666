"""Constants that plain Python computes."""

# case: {"class": "grids", "call": "m.run(x) * 1e-3", "inputs": {"x": [70]}}

import torch, triton
import triton.language as tl

@triton.jit
def k(x_ptr, y_ptr, n, C: tl.constexpr, D: tl.constexpr, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + o, mask=o < n)
    tl.store(y_ptr + o, x * C * D, mask=o < n)

def run(x):
    y = torch.empty_like(x)
    n = x.numel()
    c = sorted([5, 3, 1])[0]
    q = len(list(range(1000)))
    k[(triton.cdiv(n, 64),)](x, y, n, c, q, B=64)
    return y
