"""The residual is updated in place, through a second parameter."""

# case: {"class": "aliases", "call": "m.add_norm(x, res, w)", "inputs": {"x": [3, 6], "res": {"shape": [3, 6], "in_place": true}, "w": [8]}}

import torch
import triton
import triton.language as tl

@triton.jit
def addnorm(y, res_out, x, res_in, w, N, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    m = i < N
    s = tl.load(x + r * N + i, mask=m, other=0.) + tl.load(res_in + r * N + i, mask=m, other=0.)
    tl.store(res_out + r * N + i, s, mask=m)
    t = tl.load(res_in + r * N + i, mask=m, other=0.)
    rs = 1 / tl.sqrt(tl.sum(t * t) / N + 1e-5)
    tl.store(y + r * N + i, t * rs * tl.load(w + i, mask=m), mask=m)
def add_norm(x, res, w):
    y = torch.empty_like(x)
    addnorm[(x.shape[0],)](y, res, x, res, w, x.shape[1], BLOCK=8)
    return y, res
