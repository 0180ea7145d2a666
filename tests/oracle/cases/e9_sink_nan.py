"""Rows beyond the last are all minus infinity."""

# case: {"class": "nan", "call": "m.with_sink(x, sink)", "inputs": {"x": [5, 13], "sink": [1]}}

import torch, triton
import triton.language as tl

@triton.jit
def k(x, sink, out, n, m, B: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)
    c = tl.arange(0, C)
    ok = (r[:, None] < n) & (c[None, :] < m)
    s = tl.load(x + r[:, None] * m + c[None, :], mask=ok, other=0.0)
    s = tl.where(ok, s, float("-inf"))
    e = tl.max(s, 1)
    e = tl.where(e == float("-inf"), -1e20, e)
    den = tl.sum(tl.exp(s - e[:, None]), 1) + tl.exp(tl.load(sink) - e)
    tl.store(out + r, 1.0 / den, mask=r < n)

def with_sink(x, sink):
    out = torch.empty(x.shape[0], device=x.device)
    k[(triton.cdiv(x.shape[0], 16),)](x, sink, out, x.shape[0], x.shape[1], B=16, C=triton.next_power_of_2(x.shape[1]))
    return out
