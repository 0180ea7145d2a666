"""A bit cast under a flag that float inputs do not set."""

# case: {"class": "bits", "call": "m.maybe_fp8(x)", "inputs": {"x": [70]}}

import torch, triton
import triton.language as tl

@triton.jit
def k(x, y, n, FP8: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i, mask=i < n)
    if FP8:
        a = a.to(tl.float8e5, bitcast=True)
        a = a.to(tl.float16)
    tl.store(y + i, tl.exp(a.to(tl.float32)), mask=i < n)

def maybe_fp8(x):
    y = torch.empty_like(x)
    k[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), FP8=x.dtype == torch.int8, B=64)
    return y
