"""Causal attention through block pointers, with a helper called twice (Triton 3.0 to 3.8)."""

import torch
import triton
import triton.language as tl


@triton.jit
def inner(
    acc,
    l_i,
    m_i,
    q,
    K_block,
    V_block,
    first,
    last,
    offs_m,
    offs_n,
    qk_scale,
    ON_DIAGONAL: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    K_block = tl.advance(K_block, (0, first))
    V_block = tl.advance(V_block, (first, 0))
    for start_n in range(first, last, BLOCK_N):
        k = tl.load(K_block)
        qk = tl.dot(q, k) * qk_scale
        if ON_DIAGONAL:
            qk = tl.where(offs_m[:, None] >= start_n + offs_n[None, :], qk, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.exp2(qk - m_new[:, None])
        alpha = tl.exp2(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(V_block)
        acc = tl.dot(p.to(v.dtype), v, acc)
        m_i = m_new
        K_block = tl.advance(K_block, (0, BLOCK_N))
        V_block = tl.advance(V_block, (BLOCK_N, 0))
    return acc, l_i, m_i


@triton.jit
def attention_block_kernel(
    Q,
    K,
    V,
    Out,
    M,
    sm_scale,
    stride_h,
    stride_t,
    T: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """All tensors share one layout, [batch * heads, time, head_dim]."""
    start_m = tl.program_id(0)
    head = tl.program_id(1)
    base = head.to(tl.int64) * stride_h
    Q_block = tl.make_block_ptr(
        base=Q + base,
        shape=(T, HEAD_DIM),
        strides=(stride_t, 1),
        offsets=(start_m * BLOCK_M, 0),
        block_shape=(BLOCK_M, HEAD_DIM),
        order=(1, 0),
    )
    K_block = tl.make_block_ptr(
        base=K + base,
        shape=(HEAD_DIM, T),
        strides=(1, stride_t),
        offsets=(0, 0),
        block_shape=(HEAD_DIM, BLOCK_N),
        order=(0, 1),
    )
    V_block = tl.make_block_ptr(
        base=V + base,
        shape=(T, HEAD_DIM),
        strides=(stride_t, 1),
        offsets=(0, 0),
        block_shape=(BLOCK_N, HEAD_DIM),
        order=(1, 0),
    )
    O_block = tl.make_block_ptr(
        base=Out + base,
        shape=(T, HEAD_DIM),
        strides=(stride_t, 1),
        offsets=(start_m * BLOCK_M, 0),
        block_shape=(BLOCK_M, HEAD_DIM),
        order=(1, 0),
    )
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    m_i = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], tl.float32)
    qk_scale = sm_scale * 1.4426950408889634
    q = tl.load(Q_block)
    diagonal = start_m * BLOCK_M
    acc, l_i, m_i = inner(
        acc, l_i, m_i, q, K_block, V_block, 0, diagonal, offs_m, offs_n, qk_scale, False, BLOCK_N
    )
    acc, l_i, m_i = inner(
        acc,
        l_i,
        m_i,
        q,
        K_block,
        V_block,
        diagonal,
        diagonal + BLOCK_M,
        offs_m,
        offs_n,
        qk_scale,
        True,
        BLOCK_N,
    )
    tl.store(M + head * T + offs_m, m_i + tl.log2(l_i))
    tl.store(O_block, (acc / l_i[:, None]).to(Out.dtype.element_ty))


def causal_attention(q, k, v):
    """[batch, heads, time, head_dim], contiguous; time is a multiple of 64."""
    batch, heads, T, head_dim = q.shape
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    out = torch.empty_like(q)
    m = torch.empty(batch, heads, T, device=q.device, dtype=torch.float32)
    attention_block_kernel[(triton.cdiv(T, 64), batch * heads)](
        q,
        k,
        v,
        out,
        m,
        head_dim**-0.5,
        q.stride(1),
        q.stride(2),
        T=T,
        HEAD_DIM=head_dim,
        BLOCK_M=64,
        BLOCK_N=32,
    )
    return out, m
