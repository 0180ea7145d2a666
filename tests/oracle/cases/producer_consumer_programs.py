"""One program reads what another stored."""

# case: {"class": "communication", "call": "m.normalised(x)[:0].sum() + m.normalised(x)", "inputs": {"x": [9]}}

import torch
import triton
import triton.language as tl

@triton.jit
def k(out, buf, x, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    if pid == 0:
        i = tl.arange(0, BLOCK)
        v = tl.load(x + i, mask=i < n, other=0.)
        tl.store(buf, tl.sum(v * v))
    else:
        i = tl.arange(0, BLOCK)
        v = tl.load(x + i, mask=i < n, other=0.)
        s = tl.load(buf, volatile=True)
        tl.store(out + i, v / s, mask=i < n)
def normalised(x):
    n = x.numel()
    out = torch.empty_like(x)
    buf = torch.ones(1, dtype=x.dtype)
    k[(2,)](out, buf, x, n, BLOCK=16)
    return out
