"""Programs of several heads store one statistic at one place; nobody reads it."""

# case: {"class": "communication", "call": "m.norm(x, w)", "inputs": {"x": [2, 3, 6], "w": [8]}}

import torch
import triton
import triton.language as tl

@triton.jit
def ln(y, rstd, x, w, N, H, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    h = tl.program_id(1)
    i = tl.arange(0, BLOCK)
    base = (r * H + h) * N
    v = tl.load(x + base + i, mask=i < N, other=0.).to(tl.float32)
    rs = 1 / tl.sqrt(tl.sum(v * v) / N + 1e-5)
    tl.store(rstd + r, rs)
    ww = tl.load(w + i, mask=i < N)
    tl.store(y + base + i, v * rs * ww, mask=i < N)
def norm(x, w):
    M, H, N = x.shape
    y = torch.empty_like(x)
    stats = torch.empty(M, dtype=torch.float32)
    ln[(M, H)](y, stats, x, w, N, H, BLOCK=8)
    return y
