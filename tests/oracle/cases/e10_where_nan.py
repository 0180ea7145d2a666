"""Rows beyond the last hold 0 / 0 until tl.where throws them away."""

# case: {"class": "nan", "call": "m.attend(x, v)", "inputs": {"x": [5, 13], "v": [13, 8]}}

import torch, triton
import triton.language as tl

@triton.jit
def k(x, v, out, n, m, D: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)
    c = tl.arange(0, C)
    d = tl.arange(0, D)
    ok = r[:, None] < n
    s = tl.load(x + r[:, None] * m + c[None, :], mask=ok & (c[None, :] < m), other=float("-inf"))
    p = tl.exp(s - tl.max(s, 1)[:, None])
    vv = tl.load(v + c[:, None] * D + d[None, :], mask=c[:, None] < m, other=0.0)
    o = tl.dot(p, vv) / tl.sum(p, 1)[:, None]
    tl.store(out + r[:, None] * D + d[None, :], tl.where(ok, o, 0.0), mask=ok)

def attend(x, v):
    out = torch.empty(x.shape[0], v.shape[1], device=x.device)
    k[(triton.cdiv(x.shape[0], 16),)](x, v, out, x.shape[0], x.shape[1], D=v.shape[1], B=16, C=triton.next_power_of_2(x.shape[1]))
    return out
