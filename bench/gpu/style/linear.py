# ruff: noqa: E501
"""Linear attention and what goes with it, as in public code: token by token, over chunks, short convolutions, sums."""

import torch
import triton
import triton.language as tl


@triton.jit
def _recurrent(
    q,
    k,
    v,
    g,
    o,
    scale,
    T,
    H: tl.constexpr,
    K: tl.constexpr,
    V: tl.constexpr,
    BK: tl.constexpr,
    BV: tl.constexpr,
):
    i_v, i_bh = tl.program_id(0), tl.program_id(1)
    i_b, i_h = i_bh // H, i_bh % H
    o_k = tl.arange(0, BK)
    o_v = i_v * BV + tl.arange(0, BV)
    mask_k = o_k < K
    mask_v = o_v < V
    p_q = q + (i_b * T * H + i_h) * K + o_k
    p_k = k + (i_b * T * H + i_h) * K + o_k
    p_v = v + (i_b * T * H + i_h) * V + o_v
    p_o = o + (i_b * T * H + i_h) * V + o_v
    p_g = g + i_b * T * H + i_h
    h = tl.zeros([BK, BV], dtype=tl.float32)
    for _ in range(T):
        b_q = tl.load(p_q, mask=mask_k, other=0).to(tl.float32) * scale
        b_k = tl.load(p_k, mask=mask_k, other=0).to(tl.float32)
        b_v = tl.load(p_v, mask=mask_v, other=0).to(tl.float32)
        b_g = tl.load(p_g).to(tl.float32)
        h = h * tl.exp(b_g) + b_k[:, None] * b_v[None, :]
        b_o = tl.sum(h * b_q[:, None], 0)
        tl.store(p_o, b_o.to(p_o.dtype.element_ty), mask=mask_v)
        p_q += H * K
        p_k += H * K
        p_v += H * V
        p_o += H * V
        p_g += H


def recurrent(q, k, v, g):
    B, T, H, K = q.shape
    V = v.shape[-1]
    o = torch.empty_like(v)
    BV = min(32, triton.next_power_of_2(V))
    grid = (triton.cdiv(V, BV), B * H)
    _recurrent[grid](q, k, v, g, o, K**-0.5, T, H, K, V, triton.next_power_of_2(K), BV)
    return o


@triton.jit
def _chunk_states(
    k,
    v,
    g,
    h,
    T,
    H: tl.constexpr,
    K: tl.constexpr,
    V: tl.constexpr,
    BT: tl.constexpr,
    BK: tl.constexpr,
    BV: tl.constexpr,
):
    i_k, i_v, i_bh = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    i_b, i_h = i_bh // H, i_bh % H
    NT = tl.cdiv(T, BT)
    o_k = i_k * BK + tl.arange(0, BK)
    o_v = i_v * BV + tl.arange(0, BV)
    m_k = o_k < K
    m_v = o_v < V
    b_h = tl.zeros([BK, BV], dtype=tl.float32)
    for i_t in range(NT):
        o_t = i_t * BT + tl.arange(0, BT)
        m_t = o_t < T
        p_h = h + ((i_b * NT + i_t) * H + i_h) * K * V + o_k[:, None] * V + o_v[None, :]
        tl.store(p_h, b_h.to(h.dtype.element_ty), mask=m_k[:, None] & m_v[None, :])
        row = (i_b * T + o_t) * H + i_h
        b_k = tl.load(
            k + row[None, :] * K + o_k[:, None], mask=m_k[:, None] & m_t[None, :], other=0.0
        )
        b_v = tl.load(
            v + row[:, None] * V + o_v[None, :], mask=m_t[:, None] & m_v[None, :], other=0.0
        )
        last = tl.minimum((i_t + 1) * BT, T) - 1
        b_g_last = tl.load(g + (i_b * T + last) * H + i_h)
        b_g = tl.load(g + row, mask=m_t, other=0.0)
        b_h *= tl.exp(b_g_last)
        b_v = (b_v * tl.exp(b_g_last - b_g)[:, None]).to(b_k.dtype)
        b_h += tl.dot(b_k, b_v)


@triton.jit
def _chunk_output(
    q,
    k,
    v,
    g,
    h,
    o,
    scale,
    T,
    H: tl.constexpr,
    K: tl.constexpr,
    V: tl.constexpr,
    BT: tl.constexpr,
    BK: tl.constexpr,
    BV: tl.constexpr,
):
    i_v, i_t, i_bh = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    i_b, i_h = i_bh // H, i_bh % H
    NT = tl.cdiv(T, BT)
    o_t = i_t * BT + tl.arange(0, BT)
    m_t = o_t < T
    o_v = i_v * BV + tl.arange(0, BV)
    m_v = o_v < V
    row = (i_b * T + o_t) * H + i_h
    b_o = tl.zeros([BT, BV], dtype=tl.float32)
    b_A = tl.zeros([BT, BT], dtype=tl.float32)
    for i_k in range(tl.cdiv(K, BK)):
        o_k = i_k * BK + tl.arange(0, BK)
        m_k = o_k < K
        b_q = tl.load(
            q + row[:, None] * K + o_k[None, :], mask=m_t[:, None] & m_k[None, :], other=0.0
        )
        b_k = tl.load(
            k + row[None, :] * K + o_k[:, None], mask=m_k[:, None] & m_t[None, :], other=0.0
        )
        b_h = tl.load(
            h + ((i_b * NT + i_t) * H + i_h) * K * V + o_k[:, None] * V + o_v[None, :],
            mask=m_k[:, None] & m_v[None, :],
            other=0.0,
        )
        b_o += tl.dot(b_q, b_h)
        b_A += tl.dot(b_q, b_k)
    b_g = tl.load(g + row, mask=m_t, other=0.0)
    b_o *= tl.exp(b_g)[:, None]
    b_A *= tl.exp(b_g[:, None] - b_g[None, :])
    keep = (o_t[:, None] >= o_t[None, :]) & m_t[:, None] & m_t[None, :]
    b_A = tl.where(keep, b_A, 0.0)
    b_v = tl.load(v + row[:, None] * V + o_v[None, :], mask=m_t[:, None] & m_v[None, :], other=0.0)
    b_o = b_o * scale + tl.dot(b_A.to(b_v.dtype), b_v) * scale
    tl.store(
        o + row[:, None] * V + o_v[None, :],
        b_o.to(o.dtype.element_ty),
        mask=m_t[:, None] & m_v[None, :],
    )


def chunked(q, k, v, g, chunk=64):
    """`g`: log decay, summed up within each chunk."""
    B, T, H, K = q.shape
    V = v.shape[-1]
    NT = triton.cdiv(T, chunk)
    BK, BV = min(64, triton.next_power_of_2(K)), min(64, triton.next_power_of_2(V))
    h = torch.empty(B, NT, H, K, V, dtype=q.dtype, device=q.device)
    o = torch.empty_like(v)
    _chunk_states[(triton.cdiv(K, BK), triton.cdiv(V, BV), B * H)](
        k, v, g, h, T, H, K, V, chunk, BK, BV
    )
    _chunk_output[(triton.cdiv(V, BV), NT, B * H)](
        q, k, v, g, h, o, K**-0.5, T, H, K, V, chunk, BK, BV
    )
    return o


@triton.jit
def _causal_conv(x, w, y, T, D: tl.constexpr, W: tl.constexpr, BT: tl.constexpr, BD: tl.constexpr):
    i_d, i_t, i_b = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    o_d = i_d * BD + tl.arange(0, BD)
    o_t = i_t * BT + tl.arange(0, BT)
    m_d = o_d < D
    acc = tl.zeros([BT, BD], dtype=tl.float32)
    for i in tl.static_range(W):
        o_x = o_t + i - (W - 1)
        mask = ((o_x >= 0) & (o_x < T))[:, None] & m_d[None, :]
        b_x = tl.load(x + (i_b * T + o_x)[:, None] * D + o_d[None, :], mask=mask, other=0.0).to(
            tl.float32
        )
        b_w = tl.load(w + o_d * W + i, mask=m_d, other=0.0).to(tl.float32)
        acc += b_x * b_w[None, :]
    acc = acc * tl.sigmoid(acc)
    tl.store(
        y + (i_b * T + o_t)[:, None] * D + o_d[None, :],
        acc.to(y.dtype.element_ty),
        mask=(o_t < T)[:, None] & m_d[None, :],
    )


def causal_conv(x, w):
    B, T, D = x.shape
    y = torch.empty_like(x)
    _causal_conv[(triton.cdiv(D, 64), triton.cdiv(T, 64), B)](x, w, y, T, D, w.shape[1], 64, 64)
    return y


@triton.jit
def _chunk_cumsum(s, o, T, H: tl.constexpr, BT: tl.constexpr):
    i_t, i_bh = tl.program_id(0), tl.program_id(1)
    i_b, i_h = i_bh // H, i_bh % H
    o_t = i_t * BT + tl.arange(0, BT)
    m_t = o_t < T
    b_s = tl.load(s + (i_b * T + o_t) * H + i_h, mask=m_t, other=0.0).to(tl.float32)
    b_o = tl.cumsum(b_s, 0)
    tl.store(o + (i_b * T + o_t) * H + i_h, b_o, mask=m_t)


def chunk_cumsum(s, chunk=64):
    B, T, H = s.shape
    o = torch.empty(B, T, H, dtype=torch.float32, device=s.device)
    _chunk_cumsum[(triton.cdiv(T, chunk), B * H)](s, o, T, H, chunk)
    return o


@triton.jit
def _row_cumsum(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        b = tl.load(x + row * N + cols, mask=cols < N, other=0.0).to(tl.float32)
        tl.store(y + row * N + cols, total + tl.cumsum(b, 0), mask=cols < N)
        total += tl.sum(b, 0)


def row_cumsum(x):
    M, N = x.shape
    y = torch.empty_like(x)
    _row_cumsum[(M,)](x, y, N, BLOCK=1024)
    return y
