"""Padded rows of an online softmax hold 0 / 0."""

# case: {"class": "nan", "call": "m.attend(q, k, v, 9)", "wide": true, "inputs": {"q": {"shape": [21, 16], "dtype": "float32"}, "k": {"shape": [21, 16], "dtype": "float32"}, "v": {"shape": [21, 16], "dtype": "float32"}}}

import torch, triton
import triton.language as tl

@triton.jit
def attn(q_ptr, k_ptr, v_ptr, o_ptr, n, seqlen, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    r = tl.program_id(0) * M + tl.arange(0, M)
    c = tl.arange(0, N)
    d = tl.arange(0, D)
    live = r[:, None] < seqlen                     # rows past seqlen are padding
    q = tl.load(q_ptr + r[:, None] * D + d[None, :], mask=r[:, None] < n, other=0.0)
    m = tl.zeros([M], dtype=tl.float32) - float("inf")
    l = tl.zeros([M], dtype=tl.float32)
    acc = tl.zeros([M, D], dtype=tl.float32)
    for s in range(0, n, N):
        kv = (s + c)[:, None] < n
        k = tl.load(k_ptr + (s + c)[:, None] * D + d[None, :], mask=kv, other=0.0)
        v = tl.load(v_ptr + (s + c)[:, None] * D + d[None, :], mask=kv, other=0.0)
        qk = tl.where(live & ((s + c)[None, :] < n), tl.dot(q, tl.trans(k)), float("-inf"))
        m_new = tl.maximum(m, tl.max(qk, 1))
        a = tl.exp(m - m_new)
        p = tl.exp(qk - m_new[:, None])
        acc = acc * a[:, None] + tl.dot(p, v)
        l = l * a + tl.sum(p, 1)
        m = m_new
    acc = tl.where(live, acc / l[:, None], 0.0)    # padding rows are NaN before this line
    tl.store(o_ptr + r[:, None] * D + d[None, :], acc, mask=r[:, None] < n)

def attend(q, k, v, seqlen):
    o = torch.empty_like(q)
    n = q.shape[0]
    attn[(triton.cdiv(n, 16),)](q, k, v, o, n, seqlen, D=16, M=16, N=16)
    return o
