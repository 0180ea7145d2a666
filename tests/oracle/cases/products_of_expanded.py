"""Batches of products: a factor that all batches share by `expand`, and batches, rows or columns of which there are none."""

# case: {"class": "views", "call": "m.bmm(a, b.expand(2, 6, 4))", "inputs": {"a": [2, 5, 6], "b": [1, 6, 4]}, "expect": "right"}
# case: {"call": "m.bmm(a.expand(2, 5, 6), b)", "inputs": {"a": [1, 5, 6], "b": [2, 6, 4]}, "expect": "right"}
# case: {"call": "m.bmm(a.expand(2, 5, 6), a.expand(2, 5, 6).transpose(1, 2))", "inputs": {"a": [5, 6]}, "expect": "right"}
# case: {"call": "m.bmm(a, b[:, :, :0])", "inputs": {"a": [2, 5, 6], "b": [2, 6, 4]}, "expect": "right"}
# case: {"call": "m.bmm(a[:, :, :0], b[:, :0])", "inputs": {"a": [2, 5, 6], "b": [2, 6, 4]}, "expect": "right"}
# case: {"call": "m.bmm(a[:, :0], b)", "inputs": {"a": [2, 5, 6], "b": [2, 6, 4]}, "expect": "right"}
# case: {"call": "m.bmm(a[:0], b[:0])", "inputs": {"a": [2, 5, 6], "b": [2, 6, 4]}, "expect": "right"}

import torch
import triton
import triton.language as tl


@triton.jit
def bmm_k(A, B, C, M, N, K, sab, sam, sak, sbb, sbk, sbn, scb, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tile = tl.program_id(0)
    z = tl.program_id(1)
    across = tl.cdiv(N, BN)
    m = tile // across * BM + tl.arange(0, BM)
    n = tile % across * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a = A + z * sab + m[:, None] * sam + k[None, :] * sak
    b = B + z * sbb + k[:, None] * sbk + n[None, :] * sbn
    acc = tl.zeros((BM, BN), tl.float32)
    for turn in range(0, tl.cdiv(K, BK)):
        x = tl.load(a, mask=(m[:, None] < M) & (k[None, :] < K - turn * BK), other=0.0)
        y = tl.load(b, mask=(n[None, :] < N) & (k[:, None] < K - turn * BK), other=0.0)
        acc = tl.dot(x, y, acc)
        a += BK * sak
        b += BK * sbk
    tl.store(C + z * scb + m[:, None] * scm + n[None, :] * scn, acc, mask=(m[:, None] < M) & (n[None, :] < N))


def bmm(a, b):
    Z, M, K = a.shape
    N = b.shape[2]
    c = torch.empty((Z, M, N), dtype=a.dtype)
    grid = lambda meta: (triton.cdiv(M, meta["BM"]) * triton.cdiv(N, meta["BN"]), Z)
    bmm_k[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), BM=16, BN=16, BK=16)
    return c
