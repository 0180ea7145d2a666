"""Attention with grouped heads, a sliding window, soft-capped scores and ALiBi, and sigmoids."""

import torch
import triton
import triton.language as tl


@triton.jit
def grouped_query_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    lse_ptr,
    scale,
    T,
    N_HEADS: tl.constexpr,
    N_KV_HEADS: tl.constexpr,
    DIM: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """[batch, time, heads, dim]; N_HEADS // N_KV_HEADS query heads read the same keys. Causal."""
    block = tl.program_id(0)
    head = tl.program_id(1)
    batch = tl.program_id(2)
    kv_head = head // (N_HEADS // N_KV_HEADS)
    d = tl.arange(0, DIM)
    m = block * BLOCK_M + tl.arange(0, BLOCK_M)
    q_rows = ((batch * T + m) * N_HEADS + head) * DIM
    q = tl.load(q_ptr + q_rows[:, None] + d[None, :], mask=m[:, None] < T, other=0.0)
    row_max = tl.full([BLOCK_M], -1e30, dtype=tl.float32)
    row_sum = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, DIM], dtype=tl.float32)
    for start in range(0, (block + 1) * BLOCK_M, BLOCK_N):
        n = start + tl.arange(0, BLOCK_N)
        kv_rows = ((batch * T + n) * N_KV_HEADS + kv_head) * DIM
        k = tl.load(k_ptr + kv_rows[None, :] + d[:, None], mask=n[None, :] < T, other=0.0)
        v = tl.load(v_ptr + kv_rows[:, None] + d[None, :], mask=n[:, None] < T, other=0.0)
        s = tl.dot(q, k) * scale
        s = tl.where((m[:, None] >= n[None, :]) & (n[None, :] < T), s, -1e30)
        new_max = tl.maximum(row_max, tl.max(s, 1))
        rescale = tl.exp(row_max - new_max)
        p = tl.exp(s - new_max[:, None])
        row_sum = row_sum * rescale + tl.sum(p, 1)
        acc *= rescale[:, None]
        acc += tl.dot(p.to(v.dtype), v)
        row_max = new_max
    acc /= row_sum[:, None]
    tl.store(o_ptr + q_rows[:, None] + d[None, :], acc, mask=m[:, None] < T)
    tl.store(lse_ptr + (batch * N_HEADS + head) * T + m, row_max + tl.log(row_sum), mask=m < T)


@triton.jit
def window_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    stride_h,
    T,
    window,
    scale,
    DIM: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """Each query sees itself and the `window - 1` keys before it; [heads, time, dim]."""
    first_query = tl.program_id(0) * BLOCK_M
    offset = tl.program_id(1).to(tl.int64) * stride_h
    q_ptr += offset
    k_ptr += offset
    v_ptr += offset
    o_ptr += offset
    d = tl.arange(0, DIM)
    m = first_query + tl.arange(0, BLOCK_M)
    q = tl.load(q_ptr + m[:, None] * DIM + d[None, :], mask=m[:, None] < T, other=0.0)
    best = tl.full([BLOCK_M], -1e30, dtype=tl.float32)
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, DIM], dtype=tl.float32)
    first_key = tl.maximum(first_query - window + 1, 0) // BLOCK_N * BLOCK_N
    last_key = tl.minimum(first_query + BLOCK_M, T)
    for start in range(first_key, last_key, BLOCK_N):
        n = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + n[:, None] * DIM + d[None, :], mask=n[:, None] < T, other=0.0)
        distance = m[:, None] - n[None, :]
        seen = (distance >= 0) & (distance < window)
        s = tl.where(seen, tl.dot(q, k.T) * scale, -1e30)
        higher = tl.maximum(best, tl.max(s, axis=1))
        p = tl.where(seen, tl.exp(s - higher[:, None]), 0.0)
        shrink = tl.exp(best - higher)
        total = total * shrink + tl.sum(p, axis=1)
        v = tl.load(v_ptr + n[:, None] * DIM + d[None, :], mask=n[:, None] < T, other=0.0)
        acc = acc * shrink[:, None] + tl.dot(p.to(v.dtype), v)
        best = higher
    o = acc / total[:, None]
    tl.store(o_ptr + m[:, None] * DIM + d[None, :], o, mask=m[:, None] < T)


@triton.jit
def softcap(s, CAP: tl.constexpr):
    """CAP * tanh(s / CAP)."""
    return CAP * (2 * tl.sigmoid(2 * s / CAP) - 1)


@triton.jit
def biased_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    slope_ptr,
    o_ptr,
    T,
    n_heads,
    scale,
    CAP: tl.constexpr,
    USE_ALIBI: tl.constexpr,
    DIM: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """Soft-capped when CAP > 0, lowered by distance when USE_ALIBI. [batch * heads, time, dim]."""
    head = tl.program_id(1)
    base = head * T * DIM
    d = tl.arange(0, DIM)
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    q = tl.load(q_ptr + base + m[:, None] * DIM + d[None, :], mask=m[:, None] < T, other=0.0)
    m_i = tl.full([BLOCK_M], -1e30, tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, DIM], tl.float32)
    if USE_ALIBI:
        slope = tl.load(slope_ptr + head % n_heads)
    for start in range(0, (tl.program_id(0) + 1) * BLOCK_M, BLOCK_N):
        n = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + base + n[:, None] * DIM + d[None, :], mask=n[:, None] < T, other=0.0)
        v = tl.load(v_ptr + base + n[:, None] * DIM + d[None, :], mask=n[:, None] < T, other=0.0)
        s = tl.dot(q, tl.trans(k)) * scale
        if CAP > 0:
            s = softcap(s, CAP)
        if USE_ALIBI:
            s -= slope * (m[:, None] - n[None, :])
        s = tl.where((m[:, None] >= n[None, :]) & (n[None, :] < T), s, -1e30)
        m_ij = tl.maximum(m_i, tl.max(s, 1))
        alpha = tl.exp(m_i - m_ij)
        p = tl.exp(s - m_ij[:, None])
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        m_i = m_ij
    o = acc / l_i[:, None]
    tl.store(o_ptr + base + m[:, None] * DIM + d[None, :], o, mask=m[:, None] < T)


@triton.jit
def sigmoid_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    T,
    scale,
    bias,
    DIM: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """sigmoid(q k^T scale + bias) v: no normaliser, so blocks add up. [heads, time, dim]."""
    base = tl.program_id(1) * T * DIM
    d = tl.arange(0, DIM)
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    q = tl.load(q_ptr + base + m[:, None] * DIM + d[None, :], mask=m[:, None] < T, other=0.0)
    acc = tl.zeros([BLOCK_M, DIM], dtype=tl.float32)
    for start in range(0, T, BLOCK_N):
        n = start + tl.arange(0, BLOCK_N)
        mask = n[:, None] < T
        k = tl.load(k_ptr + base + n[:, None] * DIM + d[None, :], mask=mask, other=0.0)
        v = tl.load(v_ptr + base + n[:, None] * DIM + d[None, :], mask=mask, other=0.0)
        p = tl.sigmoid(tl.dot(q, tl.trans(k)) * scale + bias)
        acc += tl.dot(p.to(v.dtype), v)
    tl.store(o_ptr + base + m[:, None] * DIM + d[None, :], acc, mask=m[:, None] < T)


def grouped_query_attention(q, k, v):
    """`q` is [batch, time, heads, dim]; `k` and `v` have fewer heads."""
    batch, T, n_heads, dim = q.shape
    n_kv_heads = k.shape[2]
    assert n_heads % n_kv_heads == 0
    out = torch.empty_like(q)
    lse = torch.empty((batch, n_heads, T), device=q.device, dtype=torch.float32)
    grouped_query_kernel[(triton.cdiv(T, 64), n_heads, batch)](
        q.contiguous(),
        k.contiguous(),
        v.contiguous(),
        out,
        lse,
        1.0 / dim**0.5,
        T,
        N_HEADS=n_heads,
        N_KV_HEADS=n_kv_heads,
        DIM=dim,
        BLOCK_M=64,
        BLOCK_N=32,
    )
    return out, lse


def window_attention(q, k, v, window):
    heads, T, dim = q.shape
    q, k, v = (x.contiguous() for x in (q, k, v))
    out = torch.empty_like(q)

    def grid(meta):
        return (triton.cdiv(T, meta["BLOCK_M"]), heads)

    window_kernel[grid](
        q, k, v, out, q.stride(0), T, window, dim**-0.5, DIM=dim, BLOCK_M=64, BLOCK_N=32
    )
    return out


def biased_attention(q, k, v, slopes=None, cap=0.0):
    """`slopes` is [heads] for ALiBi or None; `cap` 0 leaves the scores as they are."""
    batch, n_heads, T, dim = q.shape
    out = torch.empty_like(q)
    grid = (triton.cdiv(T, 64), batch * n_heads)
    biased_attention_kernel[grid](
        q.contiguous(),
        k.contiguous(),
        v.contiguous(),
        slopes,
        out,
        T,
        n_heads,
        dim**-0.5,
        CAP=cap,
        USE_ALIBI=slopes is not None,
        DIM=dim,
        BLOCK_M=64,
        BLOCK_N=32,
    )
    return out


def sigmoid_attention(q, k, v, bias=None):
    """`bias` is minus the log of the time unless given."""
    heads, T, dim = q.shape
    if bias is None:
        bias = 0.0
    out = torch.empty_like(q)
    sigmoid_attention_kernel[(triton.cdiv(T, 64), heads)](
        q, k, v, out, T, dim**-0.5, bias, DIM=dim, BLOCK_M=64, BLOCK_N=32
    )
    return out
