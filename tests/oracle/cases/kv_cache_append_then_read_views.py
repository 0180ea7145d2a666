"""A slot of the cache is written, the cache is read."""

# case: {"class": "aliases", "call": "m.append_and_attend(cache * 1, kx, q, 2)", "inputs": {"cache": [4, 8], "kx": [8], "q": [8]}}

import torch
import triton
import triton.language as tl

@triton.jit
def k(new_slot, cache, kx, q, o, S, D: tl.constexpr):
    c = tl.arange(0, D)
    v = tl.load(kx + c)
    tl.store(new_slot + c, v * 2.0)
    tl.debug_barrier()
    acc = tl.zeros((D,), tl.float32)
    qq = tl.load(q + c)
    for s in range(S):
        kk = tl.load(cache + s * D + c)
        acc += kk * tl.sum(kk * qq)
    tl.store(o + c, acc)
def append_and_attend(cache, kx, q, pos):
    o = torch.empty_like(q)
    k[(1,)](cache[pos], cache, kx, q, o, pos + 1, D=q.numel())
    return o
