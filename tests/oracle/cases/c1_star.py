"""Strides come from a starred expression that needs a tensor which may be None."""

# case: {"class": "flags", "call": "m.optional_bias(x, b)", "inputs": {"x": [3, 5], "b": [3, 5]}}

import torch, triton
import triton.language as tl

@triton.jit
def k(x, b, y, n, sb0, sb1, sx0, sx1, HAS_B: tl.constexpr, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x + row * sx0 + c * sx1, mask=c < n, other=0.0)
    if HAS_B:
        v += tl.load(b + row * sb0 + c * sb1, mask=c < n, other=0.0)
    tl.store(y + row * n + c, v * v, mask=c < n)

def optional_bias(x, b=None):
    y = torch.empty(x.shape, device=x.device)
    k[(x.shape[0],)](x, b, y, x.shape[1],
                     *(b.stride(0), b.stride(1)) if b is not None else 0,
                     x.stride(0), x.stride(1), b is not None, triton.next_power_of_2(x.shape[1]))
    return y
