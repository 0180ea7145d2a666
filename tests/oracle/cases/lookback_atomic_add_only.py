"""Programs wait for a flag that another one raises with atomic_add."""

# case: {"class": "communication", "call": "m.lookback(x)", "inputs": {"x": [11]}}

import torch
import triton
import triton.language as tl

@triton.jit
def k(out, agg, flag, x, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.)
    s = tl.cumsum(v, 0)
    prefix = 0.0
    if pid > 0:
        while tl.atomic_add(flag + pid - 1, 0) == 0:
            pass
        prefix = tl.load(agg + pid - 1)
    tl.store(agg + pid, prefix + tl.sum(v))
    tl.debug_barrier()
    tl.atomic_add(flag + pid, 1)
    tl.store(out + i, (s + prefix) * v, mask=i < n)
def lookback(x):
    n = x.numel(); g = triton.cdiv(n, 4)
    out = torch.empty_like(x)
    agg = torch.empty(g, dtype=x.dtype); flag = torch.zeros(g, dtype=torch.int32)
    k[(g,)](out, agg, flag, x, n, BLOCK=4)
    return out
