"""Twenty kernels written on 2026-11-30 in users' style, and timed before anybody looked at what is derived of them."""

import torch
import triton
import triton.language as tl


@triton.jit
def residual_rms_kernel(x_ptr, r_ptr, w_ptr, y_ptr, s_ptr, stride, N, eps, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_N)
    mask = cols < N
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    r = tl.load(r_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    s = x + r
    tl.store(s_ptr + row * stride + cols, s, mask=mask)
    var = tl.sum(s * s, axis=0) / N
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    y = s * tl.rsqrt(var + eps) * (1.0 + w)
    tl.store(y_ptr + row * stride + cols, y, mask=mask)


def residual_rms(x, r, w, eps=1e-6):
    M, N = x.shape
    y, s = torch.empty_like(x), torch.empty_like(x)
    residual_rms_kernel[(M,)](
        x, r, w, y, s, x.stride(0), N, eps, BLOCK_N=triton.next_power_of_2(N), num_warps=8
    )
    return y, s


@triton.jit
def ln_silu_kernel(X, W, B, Y, N, eps, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    X += pid * N
    Y += pid * N
    mean = 0.0
    _mean = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, N, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        _mean += tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
    mean = tl.sum(_mean, axis=0) / N
    _var = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, N, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        x = tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
        x = tl.where(cols < N, x - mean, 0.0)
        _var += x * x
    rstd = 1 / tl.sqrt(tl.sum(_var, axis=0) / N + eps)
    for off in range(0, N, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        mask = cols < N
        w = tl.load(W + cols, mask=mask)
        b = tl.load(B + cols, mask=mask)
        x = tl.load(X + cols, mask=mask, other=0.0).to(tl.float32)
        h = (x - mean) * rstd * w + b
        tl.store(Y + cols, h * tl.sigmoid(h), mask=mask)


def ln_silu(x, w, b, eps=1e-5):
    M, N = x.shape
    y = torch.empty_like(x)
    ln_silu_kernel[(M,)](x, w, b, y, N, eps, BLOCK=1024)
    return y


@triton.jit
def rope_qk_kernel(
    q_ptr,
    k_ptr,
    cos_ptr,
    sin_ptr,
    oq_ptr,
    ok_ptr,
    T,
    HQ: tl.constexpr,
    HK: tl.constexpr,
    D: tl.constexpr,
):
    token = tl.program_id(0)
    t = token % T
    half = tl.arange(0, D // 2)
    c = tl.load(cos_ptr + t * D + half).to(tl.float32)
    s = tl.load(sin_ptr + t * D + half).to(tl.float32)
    for h in range(HQ):
        base = (token * HQ + h) * D
        a = tl.load(q_ptr + base + half).to(tl.float32)
        b = tl.load(q_ptr + base + D // 2 + half).to(tl.float32)
        tl.store(oq_ptr + base + half, a * c - b * s)
        tl.store(oq_ptr + base + D // 2 + half, b * c + a * s)
    for h in range(HK):
        base = (token * HK + h) * D
        a = tl.load(k_ptr + base + half).to(tl.float32)
        b = tl.load(k_ptr + base + D // 2 + half).to(tl.float32)
        tl.store(ok_ptr + base + half, a * c - b * s)
        tl.store(ok_ptr + base + D // 2 + half, b * c + a * s)


def rope_qk(q, k, cos, sin):
    B, T, HQ, D = q.shape
    oq, ok = torch.empty_like(q), torch.empty_like(k)
    rope_qk_kernel[(B * T,)](q, k, cos, sin, oq, ok, T, HQ, k.shape[2], D)
    return oq, ok


@triton.jit
def masked_softmax_kernel(x_ptr, m_ptr, y_ptr, n_rows, n_cols, temperature, BLOCK: tl.constexpr):
    row_start = tl.program_id(0)
    row_step = tl.num_programs(0)
    for row in tl.range(row_start, n_rows, row_step):
        cols = tl.arange(0, BLOCK)
        inside = cols < n_cols
        keep = tl.load(m_ptr + row * n_cols + cols, mask=inside, other=0)
        x = tl.load(x_ptr + row * n_cols + cols, mask=inside, other=-float("inf")).to(tl.float32)
        x = tl.where(keep != 0, x / temperature, -1e9)
        x = tl.where(inside, x, -float("inf"))
        p = tl.exp(x - tl.max(x, axis=0))
        tl.store(y_ptr + row * n_cols + cols, p / tl.sum(p, axis=0), mask=inside)


def masked_softmax(x, keep, temperature):
    M, N = x.shape
    y = torch.empty_like(x)
    masked_softmax_kernel[(min(M, 1056),)](
        x, keep, y, M, N, temperature, BLOCK=triton.next_power_of_2(N), num_warps=8
    )
    return y


@triton.jit
def smooth_ce_kernel(logits, target, loss, V, smoothing, z_weight, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    logits += row * V
    y = tl.load(target + row)
    m = -float("inf")
    d = 0.0
    total = 0.0
    for i in range(0, V, BLOCK):
        c = i + tl.arange(0, BLOCK)
        x = tl.load(logits + c, mask=c < V, other=-float("inf")).to(tl.float32)
        total += tl.sum(tl.where(c < V, x, 0.0))
        block_max = tl.max(x)
        new = tl.maximum(m, block_max)
        d = d * tl.exp(m - new) + tl.sum(tl.exp(x - new))
        m = new
    lse = m + tl.log(d)
    own = tl.load(logits + y).to(tl.float32)
    value = lse - (1 - smoothing) * own - smoothing * total / V + z_weight * lse * lse
    tl.store(loss + row, value)


def smooth_ce(x, target, smoothing=0.1, z_weight=1e-4):
    M, V = x.shape
    loss = torch.empty(M, dtype=torch.float32, device=x.device)
    smooth_ce_kernel[(M,)](x, target, loss, V, smoothing, z_weight, BLOCK=4096, num_warps=8)
    return loss


@triton.jit
def huber_kernel(pred, target, weight, partial, n, delta, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    idx = pid * BLOCK + tl.arange(0, BLOCK)
    mask = idx < n
    e = tl.load(pred + idx, mask=mask, other=0.0) - tl.load(target + idx, mask=mask, other=0.0)
    w = tl.load(weight + idx, mask=mask, other=0.0)
    a = tl.abs(e)
    v = tl.where(a < delta, 0.5 * e * e, delta * (a - 0.5 * delta)) * w
    tl.store(partial + pid, tl.sum(v, axis=0))


def huber(pred, target, weight, delta=1.0):
    n = pred.numel()
    blocks = triton.cdiv(n, 2048)
    partial = torch.empty(blocks, dtype=torch.float32, device=pred.device)
    huber_kernel[(blocks,)](pred, target, weight, partial, n, delta, BLOCK=2048)
    return partial.sum() / n


@triton.jit
def cosine_kernel(a_ptr, b_ptr, o_ptr, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    dot = tl.zeros([BLOCK], dtype=tl.float32)
    na = tl.zeros([BLOCK], dtype=tl.float32)
    nb = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        c = start + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + row * N + c, mask=c < N, other=0.0).to(tl.float32)
        b = tl.load(b_ptr + row * N + c, mask=c < N, other=0.0).to(tl.float32)
        dot += a * b
        na += a * a
        nb += b * b
    norm = tl.sqrt(tl.sum(na)) * tl.sqrt(tl.sum(nb))
    tl.store(o_ptr + row, tl.sum(dot) / tl.maximum(norm, eps))


def cosine(a, b, eps=1e-8):
    M, N = a.shape
    o = torch.empty(M, dtype=torch.float32, device=a.device)
    cosine_kernel[(M,)](a, b, o, N, eps, BLOCK=1024)
    return o


@triton.jit
def unit_rows_kernel(x_ptr, y_ptr, M, N: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.arange(0, BN)
    mask = (rows < M)[:, None] & (cols < N)[None, :]
    at = rows[:, None] * N + cols[None, :]
    x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    n = tl.sqrt(tl.sum(x * x, axis=1)) + 1e-6
    tl.store(y_ptr + at, x / n[:, None], mask=mask)


def unit_rows(x):
    N = x.shape[-1]
    M = x.numel() // N
    y = torch.empty_like(x)
    unit_rows_kernel[(triton.cdiv(M, 16),)](x, y, M, N, BM=16, BN=triton.next_power_of_2(N))
    return y


@triton.jit
def token_position_kernel(ids_ptr, tok_ptr, pos_ptr, out_ptr, T, D, BLOCK_D: tl.constexpr):
    i = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    mask = cols < D
    token = tl.load(ids_ptr + i).to(tl.int64)
    e = tl.load(tok_ptr + token * D + cols, mask=mask)
    p = tl.load(pos_ptr + (i % T) * D + cols, mask=mask)
    tl.store(out_ptr + i * D + cols, e + p, mask=mask)


def token_position(ids, tok, pos):
    B, T = ids.shape
    D = tok.shape[1]
    out = torch.empty(B, T, D, dtype=tok.dtype, device=tok.device)
    token_position_kernel[(B * T, triton.cdiv(D, 512))](ids, tok, pos, out, T, D, BLOCK_D=512)
    return out


@triton.jit
def group_norm_relu_kernel(x_ptr, w_ptr, b_ptr, y_ptr, C, HW, G, eps, BLOCK: tl.constexpr):
    image = tl.program_id(0)
    group = tl.program_id(1)
    per = C // G
    size = per * HW
    base = image * C * HW + group * size
    s1 = tl.zeros([BLOCK], dtype=tl.float32)
    s2 = tl.zeros([BLOCK], dtype=tl.float32)
    for i in range(0, size, BLOCK):
        at = i + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + base + at, mask=at < size, other=0.0).to(tl.float32)
        s1 += x
        s2 += x * x
    mean = tl.sum(s1) / size
    rstd = tl.rsqrt(tl.sum(s2) / size - mean * mean + eps)
    for c in range(per):
        w = tl.load(w_ptr + group * per + c).to(tl.float32)
        b = tl.load(b_ptr + group * per + c).to(tl.float32)
        for i in range(0, HW, BLOCK):
            at = i + tl.arange(0, BLOCK)
            mask = at < HW
            x = tl.load(x_ptr + base + c * HW + at, mask=mask, other=0.0).to(tl.float32)
            y = (x - mean) * rstd * w + b
            tl.store(y_ptr + base + c * HW + at, tl.maximum(y, 0.0), mask=mask)


def group_norm_relu(x, w, b, groups, eps=1e-5):
    N, C, H, W = x.shape
    y = torch.empty_like(x)
    group_norm_relu_kernel[(N, groups)](x, w, b, y, C, H * W, groups, eps, BLOCK=1024)
    return y


@triton.jit
def channel_affine_kernel(x_ptr, s_ptr, t_ptr, y_ptr, C, HW, total, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < total
    c = (i // HW) % C
    x = tl.load(x_ptr + i, mask=mask, other=0.0).to(tl.float32)
    s = tl.load(s_ptr + c, mask=mask, other=0.0).to(tl.float32)
    t = tl.load(t_ptr + c, mask=mask, other=0.0).to(tl.float32)
    v = x * s + t
    tl.store(y_ptr + i, tl.where(v > 0, v, 0.1 * v), mask=mask)


def channel_affine(x, s, t):
    N, C, H, W = x.shape
    y = torch.empty_like(x)
    channel_affine_kernel[(triton.cdiv(x.numel(), 1024),)](
        x, s, t, y, C, H * W, x.numel(), BLOCK=1024
    )
    return y


@triton.jit
def masked_mean_kernel(x_ptr, m_ptr, y_ptr, T, D, BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr):
    b = tl.program_id(0)
    d = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    acc = tl.zeros([BLOCK_D], dtype=tl.float32)
    count = 0.0
    for start in range(0, T, BLOCK_T):
        t = start + tl.arange(0, BLOCK_T)
        m = tl.load(m_ptr + b * T + t, mask=t < T, other=0).to(tl.float32)
        x = tl.load(
            x_ptr + b * T * D + t[:, None] * D + d[None, :],
            mask=(t < T)[:, None] & (d < D)[None, :],
            other=0.0,
        ).to(tl.float32)
        acc += tl.sum(x * m[:, None], axis=0)
        count += tl.sum(m)
    tl.store(y_ptr + b * D + d, acc / tl.maximum(count, 1.0), mask=d < D)


def masked_mean(x, keep):
    B, T, D = x.shape
    y = torch.empty(B, D, dtype=x.dtype, device=x.device)
    masked_mean_kernel[(B, triton.cdiv(D, 128))](x, keep, y, T, D, BLOCK_T=32, BLOCK_D=128)
    return y


@triton.jit
def reglu_kernel(x_ptr, y_ptr, stride_x, stride_y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < N
    a = tl.load(x_ptr + row * stride_x + cols, mask=mask, other=0.0)
    g = tl.load(x_ptr + row * stride_x + N + cols, mask=mask, other=0.0)
    r = tl.maximum(g, 0.0)
    tl.store(y_ptr + row * stride_y + cols, a * r * r, mask=mask)


def reglu(x):
    M, N2 = x.shape
    y = torch.empty(M, N2 // 2, dtype=x.dtype, device=x.device)
    reglu_kernel[(M, triton.cdiv(N2 // 2, 1024))](
        x, y, x.stride(0), y.stride(0), N2 // 2, BLOCK=1024
    )
    return y


@triton.jit
def row_max_kernel(x_ptr, v_ptr, i_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=-float("inf"))
    v, i = tl.max(x, axis=0, return_indices=True)
    tl.store(v_ptr + row, v)
    tl.store(i_ptr + row, i)


def row_max(x):
    M, N = x.shape
    v = torch.empty(M, dtype=x.dtype, device=x.device)
    i = torch.empty(M, dtype=torch.int32, device=x.device)
    row_max_kernel[(M,)](x, v, i, N, BLOCK=triton.next_power_of_2(N))
    return v


@triton.jit
def decay_scan_kernel(x_ptr, a_ptr, y_ptr, T, D, BLOCK_D: tl.constexpr):
    b = tl.program_id(0)
    d = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    mask = d < D
    a = tl.sigmoid(tl.load(a_ptr + d, mask=mask, other=0.0).to(tl.float32))
    h = tl.zeros([BLOCK_D], dtype=tl.float32)
    for t in range(T):
        at = (b * T + t) * D + d
        x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
        h = a * h + (1 - a) * x
        tl.store(y_ptr + at, h, mask=mask)


def decay_scan(x, a):
    B, T, D = x.shape
    y = torch.empty_like(x)
    decay_scan_kernel[(B, triton.cdiv(D, 128))](x, a, y, T, D, BLOCK_D=128)
    return y


@triton.jit
def triplet_kernel(a_ptr, p_ptr, n_ptr, o_ptr, D, margin, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < D
    a = tl.load(a_ptr + row * D + c, mask=m, other=0.0).to(tl.float32)
    p = tl.load(p_ptr + row * D + c, mask=m, other=0.0).to(tl.float32)
    n = tl.load(n_ptr + row * D + c, mask=m, other=0.0).to(tl.float32)
    near = tl.sum((a - p) * (a - p), axis=0)
    far = tl.sum((a - n) * (a - n), axis=0)
    tl.store(o_ptr + row, tl.maximum(near - far + margin, 0.0))


def triplet(a, p, n, margin=1.0):
    M, D = a.shape
    o = torch.empty(M, dtype=torch.float32, device=a.device)
    triplet_kernel[(M,)](a, p, n, o, D, margin, BLOCK=triton.next_power_of_2(D))
    return o


@triton.jit
def gated_residual_kernel(
    x_ptr, h_ptr, g_ptr, y_ptr, T, D, BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr
):
    """y = x + g[batch] * h: one gate for each batch and column."""
    b = tl.program_id(2)
    t = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    d = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    mask = (t[:, None] < T) & (d[None, :] < D)
    at = b * T * D + t[:, None] * D + d[None, :]
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    h = tl.load(h_ptr + at, mask=mask, other=0.0)
    g = tl.load(g_ptr + b * D + d, mask=d < D, other=0.0)
    tl.store(y_ptr + at, x + g[None, :] * h, mask=mask)


def gated_residual(x, h, g):
    B, T, D = x.shape
    y = torch.empty_like(x)
    gated_residual_kernel[(triton.cdiv(T, 32), triton.cdiv(D, 64), B)](
        x, h, g, y, T, D, BLOCK_T=32, BLOCK_D=64
    )
    return y


@triton.jit
def log_softmax_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    m = tl.full([BLOCK], -float("inf"), dtype=tl.float32)
    for start in range(0, N, BLOCK):
        c = start + tl.arange(0, BLOCK)
        m = tl.maximum(
            m, tl.load(x_ptr + row * N + c, mask=c < N, other=-float("inf")).to(tl.float32)
        )
    top = tl.max(m, axis=0)
    s = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * N + c, mask=c < N, other=-float("inf")).to(tl.float32)
        s += tl.exp(x - top)
    lse = top + tl.log(tl.sum(s, axis=0))
    for start in range(0, N, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * N + c, mask=c < N, other=0.0).to(tl.float32)
        tl.store(y_ptr + row * N + c, x - lse, mask=c < N)


def log_softmax(x):
    M, N = x.shape
    y = torch.empty_like(x)
    log_softmax_kernel[(M,)](x, y, N, BLOCK=2048)
    return y


@triton.jit
def head_rms_kernel(x_ptr, w_ptr, y_ptr, stride_t, stride_h, eps, D: tl.constexpr):
    """The norm of each head of a packed projection, in its place."""
    t = tl.program_id(0)
    h = tl.program_id(1)
    d = tl.arange(0, D)
    x = tl.load(x_ptr + t * stride_t + h * stride_h + d).to(tl.float32)
    w = tl.load(w_ptr + d).to(tl.float32)
    y = x * tl.rsqrt(tl.sum(x * x, axis=0) / D + eps) * w
    tl.store(y_ptr + t * stride_t + h * stride_h + d, y)


def head_rms(x, w, eps=1e-6):
    T, H, D = x.shape
    y = torch.empty_like(x)
    head_rms_kernel[(T, H)](x, w, y, x.stride(0), x.stride(1), eps, D)
    return y


@triton.jit
def pair_bias_kernel(s_ptr, b_ptr, o_ptr, H, T, scale, BLOCK: tl.constexpr):
    """Scores of all batches plus one bias for each head, which all batches share."""
    row = tl.program_id(0)
    bh = tl.program_id(1)
    h = bh % H
    c = tl.arange(0, BLOCK)
    mask = c < T
    s = tl.load(s_ptr + (bh * T + row) * T + c, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + (h * T + row) * T + c, mask=mask, other=0.0).to(tl.float32)
    tl.store(o_ptr + (bh * T + row) * T + c, s * scale + b, mask=mask)


def pair_bias(s, b, scale):
    B, H, T, _ = s.shape
    o = torch.empty_like(s)
    pair_bias_kernel[(T, B * H)](s, b, o, H, T, scale, BLOCK=triton.next_power_of_2(T))
    return o
