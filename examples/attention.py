"""Attention forward by online softmax over blocks of keys; also returns the log-sum-exp."""

import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    Q,
    K,
    V,
    Out,
    Lse,
    scale,
    stride_qb,
    stride_qh,
    stride_qm,
    stride_kb,
    stride_kh,
    stride_kn,
    stride_vb,
    stride_vh,
    stride_vn,
    stride_ob,
    stride_oh,
    stride_om,
    n_heads,
    seq_q,
    seq_k,
    CAUSAL: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """One block of queries of one head per program. The last dimension is contiguous."""
    block_m = tl.program_id(0)
    batch = tl.program_id(1) // n_heads
    head = tl.program_id(1) % n_heads
    Q += batch * stride_qb + head * stride_qh
    K += batch * stride_kb + head * stride_kh
    V += batch * stride_vb + head * stride_vh
    Out += batch * stride_ob + head * stride_oh

    offs_m = block_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD_DIM)
    m_mask = offs_m[:, None] < seq_q
    q = tl.load(Q + offs_m[:, None] * stride_qm + offs_d[None, :], mask=m_mask, other=0.0)

    m_i = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    end = seq_k
    if CAUSAL:
        end = tl.minimum(seq_k, (block_m + 1) * BLOCK_M)
    for start in range(0, end, BLOCK_N):
        n = start + offs_n
        n_mask = n[:, None] < seq_k
        k = tl.load(K + n[:, None] * stride_kn + offs_d[None, :], mask=n_mask, other=0.0)
        v = tl.load(V + n[:, None] * stride_vn + offs_d[None, :], mask=n_mask, other=0.0)
        s = tl.dot(q, tl.trans(k)) * scale
        visible = n[None, :] < seq_k
        if CAUSAL:
            visible = visible & (offs_m[:, None] >= n[None, :])
        s = tl.where(visible, s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        alpha = tl.exp(m_i - m_new)
        p = tl.exp(s - m_new[:, None])
        l_i = l_i * alpha + tl.sum(p, axis=1)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        m_i = m_new

    out = acc / l_i[:, None]
    tl.store(Out + offs_m[:, None] * stride_om + offs_d[None, :], out, mask=m_mask)
    lse = m_i + tl.log(l_i)
    tl.store(Lse + tl.program_id(1) * seq_q + offs_m, lse, mask=offs_m < seq_q)


def attention(q, k, v, causal=False, scale=None):
    """`q` is [batch, heads, seq_q, head_dim], `k` and `v` [batch, heads, seq_k, head_dim]."""
    batch, n_heads, seq_q, head_dim = q.shape
    seq_k = k.shape[2]
    assert head_dim in {16, 32, 64, 128}
    assert q.stride(-1) == 1 and k.stride(-1) == 1 and v.stride(-1) == 1
    out = torch.empty_like(q)
    lse = torch.empty((batch, n_heads, seq_q), device=q.device, dtype=torch.float32)
    scale = head_dim**-0.5 if scale is None else scale

    def grid(meta):
        return (triton.cdiv(seq_q, meta["BLOCK_M"]), batch * n_heads)

    attention_kernel[grid](
        q,
        k,
        v,
        out,
        lse,
        scale,
        q.stride(0),
        q.stride(1),
        q.stride(2),
        k.stride(0),
        k.stride(1),
        k.stride(2),
        v.stride(0),
        v.stride(1),
        v.stride(2),
        out.stride(0),
        out.stride(1),
        out.stride(2),
        n_heads,
        seq_q,
        seq_k,
        CAUSAL=causal,
        HEAD_DIM=head_dim,
        BLOCK_M=64,
        BLOCK_N=32,
        num_warps=4,
        num_stages=2,
    )
    return out, lse
