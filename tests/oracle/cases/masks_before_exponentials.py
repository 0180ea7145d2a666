"""Masks of several kinds in front of an exponential."""

# case: {"class": "nan", "call": "m.attend(q, k, v, 0)", "inputs": {"q": [6, 8], "k": [10, 8], "v": [10, 8]}}
# case: {"class": "nan", "call": "m.attend(q, k, v, 1)", "inputs": {"q": [6, 8], "k": [10, 8], "v": [10, 8]}}
# case: {"class": "nan", "call": "m.attend(q, k, v, 2)", "inputs": {"q": [6, 8], "k": [10, 8], "v": [10, 8]}}
# case: {"class": "nan", "call": "m.attend(q, k, v, 3)", "inputs": {"q": [6, 8], "k": [10, 8], "v": [10, 8]}}
# case: {"class": "nan", "call": "m.attend(q * 100, k, v, 0)", "inputs": {"q": [6, 8], "k": [10, 8], "v": [10, 8]}}
# case: {"class": "nan", "call": "m.two(q, k, v)", "inputs": {"q": [6, 8], "k": [10, 8], "v": [10, 8]}}
# case: {"class": "nan", "call": "m.two(q, k, v, True)", "inputs": {"q": [6, 8], "k": [10, 8], "v": [10, 8]}}

import torch
import triton
import triton.language as tl


@triton.jit
def fwd(Q, K, V, O, L, n, m, scale, MODE: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    q = tl.load(Q + r[:, None] * D + d, mask=r[:, None] < n, other=0.0)
    top = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for s0 in range(0, m, BN):
        c = s0 + tl.arange(0, BN)
        k = tl.load(K + c[:, None] * D + d, mask=c[:, None] < m, other=0.0)
        v = tl.load(V + c[:, None] * D + d, mask=c[:, None] < m, other=0.0)
        s = tl.dot(q, tl.trans(k)) * scale
        if MODE == 0:
            s = tl.where((c < m)[None, :] & (r[:, None] >= c[None, :]), s, -1e9)
        elif MODE == 1:
            s = tl.where((c < m)[None, :], s, -float("inf"))
            s = s + tl.where(r[:, None] >= c[None, :], 0.0, -1.0e6)
        elif MODE == 2:
            s = 3.0 * (2.0 / (1.0 + tl.exp(-2.0 * s / 3.0)) - 1.0)
            s = tl.where((c < m)[None, :], s, -float("inf"))
        else:
            s = s - 0.5 * tl.abs(r[:, None] - c[None, :])
            s = tl.where((c < m)[None, :], s, -3.4028234663852886e38)
        new = tl.maximum(top, tl.max(s, 1))
        a = tl.exp(top - new)
        p = tl.exp(s - new[:, None])
        total = total * a + tl.sum(p, 1)
        acc = acc * a[:, None] + tl.dot(p.to(v.dtype), v)
        top = new
    tl.store(O + r[:, None] * D + d, acc / total[:, None], mask=r[:, None] < n)
    tl.store(L + r, top + tl.log(total), mask=r < n)


def attend(q, k, v, mode):
    n, m = q.shape[0], k.shape[0]
    o = torch.empty_like(q)
    lse = torch.empty(n, dtype=q.dtype)
    fwd[(triton.cdiv(n, 4),)](q, k, v, o, lse, n, m, 0.35, MODE=mode, D=8, BM=4, BN=4)
    return o


@triton.jit
def scores(Q, K, L, P, n, m, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    q = tl.load(Q + r[:, None] * D + d, mask=r[:, None] < n, other=0.0)
    l = tl.load(L + r, mask=r < n, other=0.0)
    for s0 in range(0, m, BN):
        c = s0 + tl.arange(0, BN)
        k = tl.load(K + c[:, None] * D + d, mask=c[:, None] < m, other=0.0)
        p = tl.exp(tl.dot(q, tl.trans(k)) * scale - l[:, None])
        tl.store(P + r[:, None] * m + c, p, mask=(r[:, None] < n) & (c < m)[None, :])


def two(q, k, v, is_mean=False):
    n, m = q.shape[0], k.shape[0]
    lse = torch.logsumexp(q @ k.T * 0.35, 1) if not is_mean else (q @ k.T).mean(1)
    p = torch.empty(n, m, dtype=q.dtype)
    scores[(triton.cdiv(n, 4),)](q, k, lse, p, n, m, 0.35, D=8, BM=4, BN=4)
    return p @ v
