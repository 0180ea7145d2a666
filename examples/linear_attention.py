"""Causal linear attention in chunks: a [key, value] state carried over time, decaying per head."""

import torch
import triton
import triton.language as tl


@triton.jit
def linear_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    decay_ptr,
    out_ptr,
    T,
    n_heads,
    scale,
    HAS_DECAY: tl.constexpr,
    CHUNK: tl.constexpr,
    DIM_K: tl.constexpr,
    DIM_V: tl.constexpr,
    BLOCK_V: tl.constexpr,
):
    """One head and one slice of the values per program; tensors are [batch * heads, time, dim]."""
    head = tl.program_id(0)
    offs_v = tl.program_id(1) * BLOCK_V + tl.arange(0, BLOCK_V)
    offs_k = tl.arange(0, DIM_K)
    offs_c = tl.arange(0, CHUNK)
    causal = offs_c[:, None] >= offs_c[None, :]
    if HAS_DECAY:
        log_decay = tl.load(decay_ptr + head % n_heads).to(tl.float32)
        within = tl.exp(tl.where(causal, (offs_c[:, None] - offs_c[None, :]) * log_decay, 0.0))
        from_start = tl.exp((offs_c + 1) * log_decay)
        to_end = tl.exp((CHUNK - 1 - offs_c) * log_decay)
        whole = tl.exp(CHUNK * log_decay)

    state = tl.zeros([DIM_K, BLOCK_V], dtype=tl.float32)
    for start in range(0, T, CHUNK):
        t = start + offs_c
        rows = head * T + t
        mask = (t < T)[:, None]
        q = tl.load(q_ptr + rows[:, None] * DIM_K + offs_k[None, :], mask=mask, other=0.0)
        k = tl.load(k_ptr + rows[:, None] * DIM_K + offs_k[None, :], mask=mask, other=0.0)
        v = tl.load(v_ptr + rows[:, None] * DIM_V + offs_v[None, :], mask=mask, other=0.0)
        scores = tl.where(causal, tl.dot(q, tl.trans(k)) * scale, 0.0)
        if HAS_DECAY:
            scores *= within
            out = tl.dot(scores.to(v.dtype), v)
            out += tl.dot(q, state.to(q.dtype)) * (from_start * scale)[:, None]
            k = (k * to_end[:, None]).to(v.dtype)
            state = state * whole + tl.dot(tl.trans(k), v)
        else:
            out = tl.dot(scores.to(v.dtype), v) + tl.dot(q, state.to(q.dtype)) * scale
            state += tl.dot(tl.trans(k), v)
        tl.store(out_ptr + rows[:, None] * DIM_V + offs_v[None, :], out, mask=mask)


def linear_attention(q, k, v, log_decay=None, scale=None):
    """`q`, `k` are [batch, heads, time, dim], `log_decay` is [heads] or None."""
    batch, n_heads, T, dim_k = q.shape
    dim_v = v.shape[-1]
    if scale is None:
        scale = dim_k**-0.5
    out = torch.empty_like(v)
    block_v = min(dim_v, 64)
    grid = (batch * n_heads, triton.cdiv(dim_v, block_v))
    linear_attention_kernel[grid](
        q.contiguous(),
        k.contiguous(),
        v.contiguous(),
        log_decay,
        out,
        T,
        n_heads,
        scale,
        HAS_DECAY=log_decay is not None,
        CHUNK=32,
        DIM_K=dim_k,
        DIM_V=dim_v,
        BLOCK_V=block_v,
    )
    return out
