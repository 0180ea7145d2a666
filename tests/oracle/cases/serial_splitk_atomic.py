"""A semaphore by atomic_add orders the programs."""

# case: {"class": "communication", "call": "m.split_k(a, b, 2)", "inputs": {"a": {"shape": [16, 64], "dtype": "float32"}, "b": {"shape": [64, 16], "dtype": "float32"}}}

import torch
import triton
import triton.language as tl

@triton.jit
def k(c, sem, a, b, K, KS, M: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    i = tl.arange(0, M)
    acc = tl.zeros((M, M), tl.float32)
    for k0 in range(pid * KS, (pid + 1) * KS, BK):
        r = k0 + tl.arange(0, BK)
        x = tl.load(a + i[:, None] * K + r[None, :], mask=r[None, :] < K, other=0.)
        y = tl.load(b + r[:, None] * M + i[None, :], mask=r[:, None] < K, other=0.)
        acc += tl.dot(x, y, input_precision="ieee")
    p = c + i[:, None] * M + i[None, :]
    while tl.atomic_add(sem, 0) != pid:
        pass
    if pid > 0:
        acc += tl.load(p)
    tl.store(p, acc)
    tl.debug_barrier()
    tl.atomic_add(sem, 1)
def split_k(a, b, splits):
    K = a.shape[1]
    c = torch.empty(16, 16)
    sem = torch.zeros(1, dtype=torch.int32)
    k[(splits,)](c, sem, a, b, K, triton.cdiv(K, splits * 16) * 16, M=16, BK=16)
    return c
