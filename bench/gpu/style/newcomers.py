# ruff: noqa: E501
"""Thirty-odd kernels of training code as people have it, with the launchers around them.

Written before anybody looked at what is derived of any of them.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def drop_add_rms_kernel(
    x_ptr, res_ptr, w_ptr, y_ptr, sum_ptr, stride, N, p, seed, eps, BLOCK: tl.constexpr
):
    """dropout(x) + residual, and its RMS norm."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    at = row * stride + cols
    x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    r = tl.load(res_ptr + at, mask=mask, other=0.0).to(tl.float32)
    keep = tl.rand(seed, at) > p
    s = tl.where(keep, x / (1 - p), 0.0) + r
    tl.store(sum_ptr + at, s, mask=mask)
    rstd = tl.rsqrt(tl.sum(s * s, 0) / N + eps)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + at, s * rstd * w, mask=mask)


def drop_add_rms(x, res, w, p, seed, eps=1e-6):
    M, N = x.shape
    y, s = torch.empty_like(x), torch.empty_like(x)
    block = triton.next_power_of_2(N)
    drop_add_rms_kernel[(M,)](x, res, w, y, s, x.stride(0), N, p, seed, eps, BLOCK=block, num_warps=8)
    return y, s


@triton.jit
def qk_norm_kernel(qkv, qw, kw, out, T, HQ, HK, eps, D: tl.constexpr, BT: tl.constexpr):
    """RMS norm of each query's and each key's head in a packed projection; values pass."""
    h = tl.program_id(1)
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    d = tl.arange(0, D)
    H = HQ + 2 * HK
    at = (t[:, None] * H + h) * D + d[None, :]
    mask = t[:, None] < T
    x = tl.load(qkv + at, mask=mask, other=0.0).to(tl.float32)
    if h < HQ + HK:
        rstd = tl.rsqrt(tl.sum(x * x, axis=1) / D + eps)
        if h < HQ:
            w = tl.load(qw + d).to(tl.float32)
        else:
            w = tl.load(kw + d).to(tl.float32)
        x = x * rstd[:, None] * w[None, :]
    tl.store(out + at, x.to(out.dtype.element_ty), mask=mask)


def qk_norm(qkv, qw, kw, hq, hk, eps=1e-6):
    T, H, D = qkv.shape
    out = torch.empty_like(qkv)
    qk_norm_kernel[(triton.cdiv(T, 16), H)](qkv, qw, kw, out, T, hq, hk, eps, D=D, BT=16)
    return out


@triton.jit
def rope_theta_kernel(q_ptr, o_ptr, H, T, log2_base, D: tl.constexpr, BT: tl.constexpr):
    """Rotary embedding whose angles are computed on the way: (B, H, T, D)."""
    bh = tl.program_id(1)
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    half: tl.constexpr = D // 2
    d = tl.arange(0, half)
    freq = tl.exp2(-log2_base * d.to(tl.float32) * 2.0 / D)
    angle = t.to(tl.float32)[:, None] * freq[None, :]
    c, s = tl.cos(angle), tl.sin(angle)
    base = bh * T * D + t[:, None] * D + d[None, :]
    mask = (t < T)[:, None]
    a = tl.load(q_ptr + base, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(q_ptr + base + half, mask=mask, other=0.0).to(tl.float32)
    tl.store(o_ptr + base, a * c - b * s, mask=mask)
    tl.store(o_ptr + base + half, a * s + b * c, mask=mask)


def rope_theta(q, log2_base=13.287712):
    B, H, T, D = q.shape
    o = torch.empty_like(q)
    rope_theta_kernel[(triton.cdiv(T, 32), B * H)](q, o, H, T, log2_base, D=D, BT=32)
    return o


@triton.jit
def rel_bias_softmax_kernel(s_ptr, table_ptr, p_ptr, H, Q, K, R, scale, BLOCK: tl.constexpr):
    """Softmax of scores with a bias for each head and each clipped distance."""
    q = tl.program_id(0)
    bh = tl.program_id(1)
    h = bh % H
    k = tl.arange(0, BLOCK)
    mask = k < K
    far = tl.minimum(tl.maximum(k - q, -R), R) + R
    row = s_ptr + (bh * Q + q) * K
    s = tl.load(row + k, mask=mask, other=-float("inf")).to(tl.float32) * scale
    s += tl.load(table_ptr + h * (2 * R + 1) + far, mask=mask, other=0.0).to(tl.float32)
    s = s - tl.max(s, 0)
    e = tl.exp(s)
    tl.store(p_ptr + (bh * Q + q) * K + k, e / tl.sum(e, 0), mask=mask)


def rel_bias_softmax(s, table, scale):
    B, H, Q, K = s.shape
    p = torch.empty_like(s)
    R = table.shape[1] // 2
    rel_bias_softmax_kernel[(Q, B * H)](s, table, p, H, Q, K, R, scale, BLOCK=triton.next_power_of_2(K))
    return p


@triton.jit
def length_softmax_kernel(
    x_ptr, len_ptr, y_ptr, stride_b, stride_h, stride_q, H, K, scale, BLOCK: tl.constexpr
):
    """Softmax over the keys that each sequence has."""
    q = tl.program_id(0)
    h = tl.program_id(1)
    b = tl.program_id(2)
    n = tl.load(len_ptr + b)
    cols = tl.arange(0, BLOCK)
    off = b * stride_b + h * stride_h + q * stride_q + cols
    x = tl.load(x_ptr + off, mask=cols < n, other=float("-inf")).to(tl.float32) * scale
    x = x - tl.max(x, axis=0)
    num = tl.exp(x)
    y = num / tl.sum(num, axis=0)
    tl.store(y_ptr + off, y.to(y_ptr.dtype.element_ty), mask=cols < K)


def length_softmax(x, lengths, scale):
    B, H, Q, K = x.shape
    y = torch.empty_like(x)
    block = triton.next_power_of_2(K)
    length_softmax_kernel[(Q, H, B)](
        x, lengths, y, x.stride(0), x.stride(1), x.stride(2), H, K, scale, BLOCK=block
    )
    return y


@triton.jit
def ce_z_kernel(
    logits_ptr, labels_ptr, loss_ptr, lse_ptr, stride, V, ignore, smoothing, z, BLOCK: tl.constexpr
):
    """Cross entropy with label smoothing and a z-loss; the vocabulary in blocks."""
    row = tl.program_id(0).to(tl.int64)
    logits_ptr += row * stride
    label = tl.load(labels_ptr + row)
    if label == ignore:
        tl.store(loss_ptr + row, 0.0)
        tl.store(lse_ptr + row, 0.0)
        return
    m = float("-inf")
    d = 0.0
    total = 0.0
    for i in range(0, V, BLOCK):
        cols = i + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + cols, mask=cols < V, other=float("-inf")).to(tl.float32)
        total += tl.sum(tl.where(cols < V, x, 0.0))
        new = tl.maximum(m, tl.max(x))
        d = d * tl.exp(m - new) + tl.sum(tl.exp(x - new))
        m = new
    lse = m + tl.log(d)
    picked = tl.load(logits_ptr + label).to(tl.float32)
    loss = (1 - smoothing) * (lse - picked) + smoothing * (lse - total / V) + z * lse * lse
    tl.store(loss_ptr + row, loss)
    tl.store(lse_ptr + row, lse)


def ce_z(logits, labels, smoothing=0.1, z=1e-4, ignore=-100):
    M, V = logits.shape
    loss = torch.empty(M, device=logits.device, dtype=torch.float32)
    lse = torch.empty_like(loss)
    block = min(triton.next_power_of_2(V), 8192)
    ce_z_kernel[(M,)](
        logits, labels, loss, lse, logits.stride(0), V, ignore, smoothing, z, BLOCK=block, num_warps=16
    )
    return loss


@triton.jit
def asymmetric_kernel(x_ptr, t_ptr, y_ptr, n, gamma_pos, gamma_neg, clip, BLOCK: tl.constexpr):
    """Asymmetric loss of multi-label classification."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x = tl.load(x_ptr + i, mask=m, other=0.0).to(tl.float32)
    t = tl.load(t_ptr + i, mask=m, other=0.0).to(tl.float32)
    p = tl.sigmoid(x)
    pn = tl.minimum(1 - p + clip, 1.0)
    pos = t * tl.log(tl.maximum(p, 1e-8))
    neg = (1 - t) * tl.log(tl.maximum(pn, 1e-8))
    pt = p * t + pn * (1 - t)
    g = gamma_pos * t + gamma_neg * (1 - t)
    w = tl.exp(g * tl.log(tl.maximum(1 - pt, 1e-8)))
    tl.store(y_ptr + i, -(pos + neg) * w, mask=m)


def asymmetric(x, t, gamma_pos=1.0, gamma_neg=4.0, clip=0.05):
    y = torch.empty_like(x)
    n = x.numel()
    asymmetric_kernel[(triton.cdiv(n, 1024),)](x, t, y, n, gamma_pos, gamma_neg, clip, BLOCK=1024)
    return y


@triton.jit
def charbonnier_kernel(a_ptr, b_ptr, out_ptr, CHW, eps, BLOCK: tl.constexpr):
    """sqrt(d * d + eps * eps), one mean for each picture, a part for each block."""
    n = tl.program_id(0)
    block = tl.program_id(1)
    i = block * BLOCK + tl.arange(0, BLOCK)
    m = i < CHW
    a = tl.load(a_ptr + n * CHW + i, mask=m, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + n * CHW + i, mask=m, other=0.0).to(tl.float32)
    d = a - b
    v = tl.where(m, tl.sqrt(d * d + eps * eps), 0.0)
    tl.atomic_add(out_ptr + n, tl.sum(v, 0) / CHW)


def charbonnier(a, b, eps=1e-3):
    N = a.shape[0]
    CHW = a.numel() // N
    out = torch.zeros(N, device=a.device, dtype=torch.float32)
    charbonnier_kernel[(N, triton.cdiv(CHW, 4096))](a, b, out, CHW, eps, BLOCK=4096)
    return out


@triton.jit
def supcon_kernel(sim_ptr, label_ptr, loss_ptr, N, inv_t, BLOCK: tl.constexpr):
    """Supervised contrastive loss of one anchor: other rows of its label are positives."""
    i = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    inside = j < N
    other = inside & (j != i)
    s = tl.load(sim_ptr + i * N + j, mask=inside, other=0.0).to(tl.float32) * inv_t
    s = tl.where(other, s, float("-inf"))
    top = tl.max(s, 0)
    lse = top + tl.log(tl.sum(tl.exp(s - top), 0))
    mine = tl.load(label_ptr + i)
    label = tl.load(label_ptr + j, mask=inside, other=-1)
    positive = other & (label == mine)
    count = tl.sum(positive.to(tl.float32), 0)
    total = tl.sum(tl.where(positive, s - lse, 0.0), 0)
    tl.store(loss_ptr + i, -total / tl.maximum(count, 1.0))


def supcon(sim, labels, temperature=0.1):
    N = sim.shape[0]
    loss = torch.empty(N, device=sim.device, dtype=torch.float32)
    supcon_kernel[(N,)](sim, labels, loss, N, 1 / temperature, BLOCK=triton.next_power_of_2(N), num_warps=8)
    return loss


@triton.jit
def fm_kernel(x_ptr, y_ptr, F, D, BLOCK_D: tl.constexpr):
    """Second-order interactions of a factorization machine."""
    b = tl.program_id(0)
    d = tl.arange(0, BLOCK_D)
    m = d < D
    s = tl.zeros([BLOCK_D], dtype=tl.float32)
    q = tl.zeros([BLOCK_D], dtype=tl.float32)
    for f in range(F):
        v = tl.load(x_ptr + (b * F + f) * D + d, mask=m, other=0.0).to(tl.float32)
        s += v
        q += v * v
    tl.store(y_ptr + b, 0.5 * tl.sum(s * s - q))


def fm(x):
    B, F, D = x.shape
    y = torch.empty(B, device=x.device, dtype=torch.float32)
    fm_kernel[(B,)](x, y, F, D, BLOCK_D=triton.next_power_of_2(D), num_warps=2)
    return y


@triton.jit
def geglu_erf_kernel(g_ptr, u_ptr, y_ptr, stride_g, stride_u, stride_y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = c < N
    g = tl.load(g_ptr + row * stride_g + c, mask=m).to(tl.float32)
    u = tl.load(u_ptr + row * stride_u + c, mask=m).to(tl.float32)
    act = 0.5 * g * (1.0 + tl.erf(g * 0.7071067811865476))
    tl.store(y_ptr + row * stride_y + c, (act * u).to(y_ptr.dtype.element_ty), mask=m)


def geglu_erf(x):
    """The gate is the second half of the columns."""
    u, g = x.chunk(2, dim=-1)
    M, N = u.shape
    y = torch.empty(M, N, device=x.device, dtype=x.dtype)
    geglu_erf_kernel[(M, triton.cdiv(N, 1024))](
        g, u, y, g.stride(0), u.stride(0), y.stride(0), N, BLOCK=1024
    )
    return y


@triton.jit
def pixel_norm_kernel(x_ptr, y_ptr, C, HW, eps, BC: tl.constexpr, BP: tl.constexpr):
    """Each pixel's channels, divided by their root mean square (N, C, H, W)."""
    n = tl.program_id(1)
    p = tl.program_id(0) * BP + tl.arange(0, BP)
    c = tl.arange(0, BC)
    m = (c[:, None] < C) & (p[None, :] < HW)
    at = n * C * HW + c[:, None] * HW + p[None, :]
    x = tl.load(x_ptr + at, mask=m, other=0.0).to(tl.float32)
    r = tl.rsqrt(tl.sum(x * x, 0) / C + eps)
    tl.store(y_ptr + at, x * r[None, :], mask=m)


def pixel_norm(x, eps=1e-8):
    N, C, H, W = x.shape
    y = torch.empty_like(x)
    grid = (triton.cdiv(H * W, 64), N)
    pixel_norm_kernel[grid](x, y, C, H * W, eps, BC=triton.next_power_of_2(C), BP=64)
    return y


@triton.jit
def ada_rms_kernel(x_ptr, scale_ptr, gate_ptr, h_ptr, y_ptr, T, D, eps, BLOCK: tl.constexpr):
    """x + gate * (rms(h) * (1 + scale)), both of a conditioning vector for each sample."""
    row = tl.program_id(0)
    b = row // T
    d = tl.arange(0, BLOCK)
    m = d < D
    h = tl.load(h_ptr + row * D + d, mask=m, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + row * D + d, mask=m, other=0.0).to(tl.float32)
    scale = tl.load(scale_ptr + b * D + d, mask=m, other=0.0).to(tl.float32)
    gate = tl.load(gate_ptr + b * D + d, mask=m, other=0.0).to(tl.float32)
    r = tl.rsqrt(tl.sum(h * h, 0) / D + eps)
    tl.store(y_ptr + row * D + d, x + gate * (h * r * (1 + scale)), mask=m)


def ada_rms(x, h, scale, gate, eps=1e-6):
    B, T, D = x.shape
    y = torch.empty_like(x)
    ada_rms_kernel[(B * T,)](x, scale, gate, h, y, T, D, eps, BLOCK=triton.next_power_of_2(D), num_warps=4)
    return y


@triton.jit
def bias_drop_add_kernel(x_ptr, bias_ptr, keep_ptr, res_ptr, y_ptr, n, D, inv_keep, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x = tl.load(x_ptr + i, mask=m, other=0.0).to(tl.float32)
    b = tl.load(bias_ptr + i % D, mask=m, other=0.0).to(tl.float32)
    k = tl.load(keep_ptr + i, mask=m, other=0)
    r = tl.load(res_ptr + i, mask=m, other=0.0).to(tl.float32)
    y = tl.where(k != 0, (x + b) * inv_keep, 0.0) + r
    tl.store(y_ptr + i, y, mask=m)


def bias_drop_add(x, bias, keep, res, p=0.1):
    y = torch.empty_like(x)
    n = x.numel()
    bias_drop_add_kernel[(triton.cdiv(n, 1024),)](
        x, bias, keep, res, y, n, x.shape[-1], 1 / (1 - p), BLOCK=1024
    )
    return y


@triton.jit
def embed_mean_kernel(ids_ptr, table_ptr, y_ptr, L, D, PAD, BLOCK: tl.constexpr):
    """The mean of a text's word vectors, padding left out."""
    b = tl.program_id(0)
    d = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = d < D
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    count = 0
    for l in range(L):  # noqa: E741
        w = tl.load(ids_ptr + b * L + l)
        real = w != PAD
        acc += tl.load(table_ptr + w * D + d, mask=m & real, other=0.0).to(tl.float32)
        count += real.to(tl.int32)
    tl.store(y_ptr + b * D + d, acc / tl.maximum(count, 1), mask=m)


def embed_mean(ids, table, pad=0):
    B, L = ids.shape
    D = table.shape[1]
    y = torch.empty(B, D, device=table.device, dtype=table.dtype)
    embed_mean_kernel[(B, triton.cdiv(D, 256))](ids, table, y, L, D, pad, BLOCK=256)
    return y


@triton.jit
def shift3_kernel(
    x_ptr, state_ptr, mr_ptr, mk_ptr, mv_ptr, r_ptr, k_ptr, v_ptr, T, C, BLOCK: tl.constexpr
):
    """Receptance, key and value inputs: each channel mixed with the token before, the first with a state."""
    bt = tl.program_id(0)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = c < C
    b = bt // T
    t = bt % T
    x = tl.load(x_ptr + bt * C + c, mask=m, other=0.0).to(tl.float32)
    if t == 0:
        last = tl.load(state_ptr + b * C + c, mask=m, other=0.0).to(tl.float32)
    else:
        last = tl.load(x_ptr + (bt - 1) * C + c, mask=m, other=0.0).to(tl.float32)
    d = last - x
    mr = tl.load(mr_ptr + c, mask=m, other=0.0).to(tl.float32)
    mk = tl.load(mk_ptr + c, mask=m, other=0.0).to(tl.float32)
    mv = tl.load(mv_ptr + c, mask=m, other=0.0).to(tl.float32)
    tl.store(r_ptr + bt * C + c, x + d * mr, mask=m)
    tl.store(k_ptr + bt * C + c, x + d * mk, mask=m)
    tl.store(v_ptr + bt * C + c, x + d * mv, mask=m)


def shift3(x, state, mr, mk, mv):
    B, T, C = x.shape
    r, k, v = torch.empty_like(x), torch.empty_like(x), torch.empty_like(x)
    grid = (B * T, triton.cdiv(C, 1024))
    shift3_kernel[grid](x, state, mr, mk, mv, r, k, v, T, C, BLOCK=1024)
    return r, k, v


@triton.jit
def conv4_carry_kernel(x_ptr, w_ptr, y_ptr, T, C, CHUNK: tl.constexpr, BC: tl.constexpr):
    """Causal depthwise convolution of four taps: a chunk of time with its last inputs in registers."""
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    start = tl.program_id(1) * CHUNK
    b = tl.program_id(2)
    m = c < C
    x_ptr += b * T * C
    y_ptr += b * T * C
    w0 = tl.load(w_ptr + c * 4 + 0, mask=m, other=0.0).to(tl.float32)
    w1 = tl.load(w_ptr + c * 4 + 1, mask=m, other=0.0).to(tl.float32)
    w2 = tl.load(w_ptr + c * 4 + 2, mask=m, other=0.0).to(tl.float32)
    w3 = tl.load(w_ptr + c * 4 + 3, mask=m, other=0.0).to(tl.float32)
    a = tl.load(x_ptr + (start - 3) * C + c, mask=m & (start >= 3), other=0.0).to(tl.float32)
    p = tl.load(x_ptr + (start - 2) * C + c, mask=m & (start >= 2), other=0.0).to(tl.float32)
    q = tl.load(x_ptr + (start - 1) * C + c, mask=m & (start >= 1), other=0.0).to(tl.float32)
    for i in range(CHUNK):
        t = start + i
        x = tl.load(x_ptr + t * C + c, mask=m & (t < T), other=0.0).to(tl.float32)
        y = a * w0 + p * w1 + q * w2 + x * w3
        tl.store(y_ptr + t * C + c, y * tl.sigmoid(y), mask=m & (t < T))
        a = p
        p = q
        q = x


def conv4_carry(x, w):
    B, T, C = x.shape
    y = torch.empty_like(x)
    conv4_carry_kernel[(triton.cdiv(C, 256), triton.cdiv(T, 32), B)](x, w, y, T, C, CHUNK=32, BC=256)
    return y


@triton.jit
def ema_kernel(x_ptr, decay_ptr, y_ptr, T, C, BLOCK: tl.constexpr):
    """h = a * h + (1 - a) * x along time, a for each channel."""
    b = tl.program_id(1)
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = c < C
    a = tl.sigmoid(tl.load(decay_ptr + c, mask=m, other=0.0).to(tl.float32))
    h = tl.zeros([BLOCK], dtype=tl.float32)
    base = b * T * C + c
    for t in range(T):
        x = tl.load(x_ptr + base + t * C, mask=m, other=0.0).to(tl.float32)
        h = a * h + (1 - a) * x
        tl.store(y_ptr + base + t * C, h, mask=m)


def ema(x, decay):
    B, T, C = x.shape
    y = torch.empty_like(x)
    ema_kernel[(triton.cdiv(C, 64), B)](x, decay, y, T, C, BLOCK=64, num_warps=2)
    return y


@triton.jit
def render_kernel(sigma_ptr, rgb_ptr, delta_ptr, out_ptr, S, BLOCK: tl.constexpr):
    """Volume rendering of one ray: densities, colours and distances of its samples."""
    ray = tl.program_id(0)
    s = tl.arange(0, BLOCK)
    m = s < S
    density = tl.load(sigma_ptr + ray * S + s, mask=m, other=0.0)
    width = tl.load(delta_ptr + ray * S + s, mask=m, other=0.0)
    od = tl.where(density > 0, density, 0.0) * width
    before = tl.cumsum(od, 0) - od
    w = tl.exp(-before) * (1 - tl.exp(-od))
    for ch in tl.static_range(3):
        colour = tl.load(rgb_ptr + (ray * S + s) * 3 + ch, mask=m, other=0.0)
        tl.store(out_ptr + ray * 3 + ch, tl.sum(w * tl.sigmoid(colour), 0))


def render(sigma, rgb, delta):
    R, S = sigma.shape
    out = torch.empty(R, 3, device=sigma.device, dtype=sigma.dtype)
    render_kernel[(R,)](sigma, rgb, delta, out, S, BLOCK=triton.next_power_of_2(S), num_warps=1)
    return out


@triton.jit
def time_max_kernel(x_ptr, len_ptr, y_ptr, T, C, BT: tl.constexpr, BC: tl.constexpr):
    """The largest over the frames that a sequence has."""
    b = tl.program_id(1)
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    n = tl.load(len_ptr + b)
    best = tl.full([BC], float("-inf"), dtype=tl.float32)
    for start in range(0, T, BT):
        t = start + tl.arange(0, BT)
        m = (t < n)[:, None] & (c < C)[None, :]
        x = tl.load(x_ptr + (b * T + t[:, None]) * C + c[None, :], mask=m, other=float("-inf")).to(tl.float32)
        best = tl.maximum(best, tl.max(x, 0))
    tl.store(y_ptr + b * C + c, best, mask=c < C)


def time_max(x, lengths):
    B, T, C = x.shape
    y = torch.empty(B, C, device=x.device, dtype=x.dtype)
    time_max_kernel[(triton.cdiv(C, 64), B)](x, lengths, y, T, C, BT=32, BC=64)
    return y


@triton.jit
def depth_to_space_kernel(x_ptr, y_ptr, H, W, C, R: tl.constexpr, BC: tl.constexpr):
    """Channels last: (N, H, W, R * R * C) to (N, H * R, W * R, C); a program for each pixel of the result."""
    pixel = tl.program_id(0)
    ow = pixel % (W * R)
    oh = pixel // (W * R) % (H * R)
    n = pixel // (W * R * H * R)
    h = oh // R
    w = ow // R
    part = (oh % R) * R + ow % R
    c = tl.arange(0, BC)
    m = c < C
    v = tl.load(x_ptr + ((n * H + h) * W + w) * C * R * R + part * C + c, mask=m)
    tl.store(y_ptr + pixel * C + c, v, mask=m)


def depth_to_space(x, r=2):
    N, H, W, CRR = x.shape
    C = CRR // (r * r)
    y = torch.empty(N, H * r, W * r, C, device=x.device, dtype=x.dtype)
    depth_to_space_kernel[(N * H * r * W * r,)](x, y, H, W, C, R=r, BC=triton.next_power_of_2(C), num_warps=2)
    return y


@triton.jit
def to_tokens_kernel(x_ptr, pos_ptr, y_ptr, C, L, BL: tl.constexpr, BC: tl.constexpr):
    """(B, C, H * W) to (B, H * W, C), with a position added."""
    b = tl.program_id(2)
    l = tl.program_id(0) * BL + tl.arange(0, BL)  # noqa: E741
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    m = (l[:, None] < L) & (c[None, :] < C)
    x = tl.load(x_ptr + b * C * L + c[None, :] * L + l[:, None], mask=m, other=0.0)
    p = tl.load(pos_ptr + l[:, None] * C + c[None, :], mask=m, other=0.0)
    tl.store(y_ptr + b * L * C + l[:, None] * C + c[None, :], x + p, mask=m)


def to_tokens(x, pos):
    B, C, H, W = x.shape
    y = torch.empty(B, H * W, C, device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(H * W, 64), triton.cdiv(C, 64), B)
    to_tokens_kernel[grid](x, pos, y, C, H * W, BL=64, BC=64)
    return y


@triton.jit
def crelu_kernel(x_ptr, y_ptr, C, HW, BLOCK: tl.constexpr):
    """relu(x) and relu(-x), one after the other along the channels."""
    nc = tl.program_id(1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < HW
    n = nc // C
    c = nc % C
    x = tl.load(x_ptr + nc * HW + i, mask=m, other=0.0)
    zero = tl.zeros_like(x)
    tl.store(y_ptr + (n * 2 * C + c) * HW + i, tl.maximum(x, zero), mask=m)
    tl.store(y_ptr + (n * 2 * C + C + c) * HW + i, tl.maximum(-x, zero), mask=m)


def crelu(x):
    N, C, H, W = x.shape
    y = torch.empty(N, 2 * C, H, W, device=x.device, dtype=x.dtype)
    crelu_kernel[(triton.cdiv(H * W, 1024), N * C)](x, y, C, H * W, BLOCK=1024)
    return y


@triton.jit
def edge_message_kernel(x_ptr, e_ptr, src_ptr, dst_ptr, y_ptr, E, D: tl.constexpr, BE: tl.constexpr):
    """relu(x[source] + x[target] + edge), some edges a program."""
    e = tl.program_id(0) * BE + tl.arange(0, BE)
    m = e < E
    s = tl.load(src_ptr + e, mask=m, other=0)
    t = tl.load(dst_ptr + e, mask=m, other=0)
    d = tl.arange(0, D)
    mask = m[:, None]
    a = tl.load(x_ptr + s[:, None] * D + d[None, :], mask=mask, other=0.0)
    b = tl.load(x_ptr + t[:, None] * D + d[None, :], mask=mask, other=0.0)
    w = tl.load(e_ptr + e[:, None] * D + d[None, :], mask=mask, other=0.0)
    tl.store(y_ptr + e[:, None] * D + d[None, :], tl.maximum(a + b + w, 0.0), mask=mask)


def edge_message(x, edge, src, dst):
    E, D = edge.shape
    y = torch.empty_like(edge)
    edge_message_kernel[(triton.cdiv(E, 32),)](x, edge, src, dst, y, E, D=D, BE=32)
    return y


@triton.jit
def to_experts_kernel(x_ptr, order_ptr, gate_ptr, y_ptr, D, K: tl.constexpr, BLOCK: tl.constexpr):
    """Tokens in the order of their experts, each K times, by its gate."""
    i = tl.program_id(0)
    slot = tl.load(order_ptr + i)
    g = tl.load(gate_ptr + slot).to(tl.float32)
    for start in range(0, D, BLOCK):
        d = start + tl.arange(0, BLOCK)
        m = d < D
        x = tl.load(x_ptr + (slot // K) * D + d, mask=m, other=0.0).to(tl.float32)
        tl.store(y_ptr + i * D + d, (x * g).to(y_ptr.dtype.element_ty), mask=m)


def to_experts(x, order, gate):
    T, K = gate.shape
    D = x.shape[1]
    y = torch.empty(T * K, D, device=x.device, dtype=x.dtype)
    to_experts_kernel[(T * K,)](x, order, gate, y, D, K=K, BLOCK=1024)
    return y


@triton.jit
def top2_kernel(logits_ptr, w_ptr, i_ptr, E, BLOCK: tl.constexpr):
    """The two largest of a token's experts and their weights."""
    t = tl.program_id(0)
    e = tl.arange(0, BLOCK)
    m = e < E
    x = tl.load(logits_ptr + t * E + e, mask=m, other=float("-inf")).to(tl.float32)
    i1 = tl.argmax(x, 0)
    x1 = tl.max(x, 0)
    rest = tl.where(e == i1, float("-inf"), x)
    i2 = tl.argmax(rest, 0)
    x2 = tl.max(rest, 0)
    w1 = 1.0 / (1.0 + tl.exp(x2 - x1))
    tl.store(w_ptr + t * 2, w1)
    tl.store(w_ptr + t * 2 + 1, 1.0 - w1)
    tl.store(i_ptr + t * 2, i1)
    tl.store(i_ptr + t * 2 + 1, i2)


def top2(logits):
    T, E = logits.shape
    w = torch.empty(T, 2, device=logits.device, dtype=torch.float32)
    i = torch.empty(T, 2, device=logits.device, dtype=torch.int32)
    top2_kernel[(T,)](logits, w, i, E, BLOCK=triton.next_power_of_2(E), num_warps=1)
    return w


@triton.jit
def pinball_kernel(pred_ptr, y_ptr, q_ptr, out_ptr, M, Q, BM: tl.constexpr, BQ: tl.constexpr):
    """Quantile loss: Q predictions of each target, their mean."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    k = tl.arange(0, BQ)
    keep = (m[:, None] < M) & (k[None, :] < Q)
    q = tl.load(q_ptr + k, mask=k < Q, other=0.0)
    y = tl.load(y_ptr + m, mask=m < M, other=0.0)
    p = tl.load(pred_ptr + m[:, None] * Q + k[None, :], mask=keep, other=0.0)
    d = y[:, None] - p
    loss = tl.where(keep, tl.maximum(q[None, :] * d, (q[None, :] - 1) * d), 0.0)
    tl.store(out_ptr + m, tl.sum(loss, 1) / Q, mask=m < M)


def pinball(pred, y, q):
    M, Q = pred.shape
    out = torch.empty_like(y)
    pinball_kernel[(triton.cdiv(M, 128),)](pred, y, q, out, M, Q, BM=128, BQ=triton.next_power_of_2(Q))
    return out


@triton.jit
def bn_add_relu_kernel(
    x_ptr, mean_ptr, var_ptr, w_ptr, b_ptr, res_ptr, y_ptr, C, HW, n, eps, BLOCK: tl.constexpr
):
    """Batch norm with running statistics, the shortcut, ReLU."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    c = (i // HW) % C
    rstd = 1.0 / tl.sqrt(tl.load(var_ptr + c, mask=m, other=1.0) + eps)
    scale = tl.load(w_ptr + c, mask=m, other=0.0) * rstd
    shift = tl.load(b_ptr + c, mask=m, other=0.0) - tl.load(mean_ptr + c, mask=m, other=0.0) * scale
    x = tl.load(x_ptr + i, mask=m, other=0.0).to(tl.float32)
    r = tl.load(res_ptr + i, mask=m, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, tl.maximum(x * scale + shift + r, 0.0), mask=m)


def bn_add_relu(x, mean, var, w, b, res, eps=1e-5):
    N, C, H, W = x.shape
    y = torch.empty_like(x)
    n = x.numel()
    grid = (triton.cdiv(n, 1024),)
    bn_add_relu_kernel[grid](x, mean, var, w, b, res, y, C, H * W, n, eps, BLOCK=1024)
    return y


@triton.jit
def softplus_kernel(x_ptr, y_ptr, n, beta, threshold, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x = tl.load(x_ptr + i, mask=m, other=0.0).to(tl.float32)
    z = x * beta
    soft = tl.log(1.0 + tl.exp(tl.minimum(z, threshold))) / beta
    tl.store(y_ptr + i, tl.where(z > threshold, x, soft), mask=m)


def softplus(x, beta=1.0, threshold=20.0):
    y = torch.empty_like(x)
    n = x.numel()
    softplus_kernel[(triton.cdiv(n, 1024),)](x, y, n, beta, threshold, BLOCK=1024)
    return y


@triton.jit
def group_log_softmax_kernel(x_ptr, y_ptr, M, G: tl.constexpr, K: tl.constexpr, BM: tl.constexpr):
    """Categorical latents: a log-softmax over each of G groups of K classes."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    g = tl.program_id(1)
    k = tl.arange(0, K)
    at = row[:, None] * (G * K) + g * K + k[None, :]
    m = row[:, None] < M
    x = tl.load(x_ptr + at, mask=m, other=0.0).to(tl.float32)
    x = x - tl.max(x, 1)[:, None]
    y = x - tl.log(tl.sum(tl.exp(x), 1))[:, None]
    tl.store(y_ptr + at, y, mask=m)


def group_log_softmax(x, groups):
    M, N = x.shape
    y = torch.empty_like(x)
    group_log_softmax_kernel[(triton.cdiv(M, 32), groups)](x, y, M, G=groups, K=N // groups, BM=32)
    return y


@triton.jit
def causal_fill_kernel(s_ptr, y_ptr, Q, K, scale, BQ: tl.constexpr, BK: tl.constexpr):
    """Scores by a scale, and a large negative number above the diagonal."""
    q = tl.program_id(1) * BQ + tl.arange(0, BQ)
    k = tl.program_id(0) * BK + tl.arange(0, BK)
    z = tl.program_id(2)
    at = z * Q * K + q[:, None] * K + k[None, :]
    m = (q[:, None] < Q) & (k[None, :] < K)
    s = tl.load(s_ptr + at, mask=m, other=0.0).to(tl.float32) * scale
    s = tl.where(k[None, :] > q[:, None] + (K - Q), -1e4, s)
    tl.store(y_ptr + at, s, mask=m)


def causal_fill(s, scale):
    Z, Q, K = s.shape
    y = torch.empty_like(s)
    causal_fill_kernel[(triton.cdiv(K, 128), triton.cdiv(Q, 32), Z)](s, y, Q, K, scale, BQ=32, BK=128)
    return y


@triton.jit
def mod_relu_kernel(re_ptr, im_ptr, b_ptr, ore_ptr, oim_ptr, M, C, eps, BM: tl.constexpr, BC: tl.constexpr):
    """modReLU of complex numbers in two planes: the modulus is shifted, the phase stays."""
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    m = (r[:, None] < M) & (c[None, :] < C)
    at = r[:, None] * C + c[None, :]
    re = tl.load(re_ptr + at, mask=m, other=0.0)
    im = tl.load(im_ptr + at, mask=m, other=0.0)
    b = tl.load(b_ptr + c, mask=c < C, other=0.0)
    mod = tl.sqrt(re * re + im * im + eps)
    gain = tl.maximum(mod + b[None, :], 0.0) / mod
    tl.store(ore_ptr + at, re * gain, mask=m)
    tl.store(oim_ptr + at, im * gain, mask=m)


def mod_relu(re, im, b, eps=1e-6):
    M, C = re.shape
    ore, oim = torch.empty_like(re), torch.empty_like(im)
    grid = (triton.cdiv(M, 16), triton.cdiv(C, 128))
    mod_relu_kernel[grid](re, im, b, ore, oim, M, C, eps, BM=16, BC=128)
    return ore, oim


@triton.jit
def butterfly_kernel(x_ptr, w_ptr, y_ptr, N, HALF, BLOCK: tl.constexpr):
    """One stage of a butterfly: pairs that lie HALF apart, by a 2 x 2 matrix of their own."""
    row = tl.program_id(0)
    p = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = p < N // 2
    top = p // HALF * 2 * HALF + p % HALF
    a = tl.load(x_ptr + row * N + top, mask=m, other=0.0).to(tl.float32)
    b = tl.load(x_ptr + row * N + top + HALF, mask=m, other=0.0).to(tl.float32)
    w00 = tl.load(w_ptr + p * 4, mask=m, other=0.0).to(tl.float32)
    w01 = tl.load(w_ptr + p * 4 + 1, mask=m, other=0.0).to(tl.float32)
    w10 = tl.load(w_ptr + p * 4 + 2, mask=m, other=0.0).to(tl.float32)
    w11 = tl.load(w_ptr + p * 4 + 3, mask=m, other=0.0).to(tl.float32)
    tl.store(y_ptr + row * N + top, a * w00 + b * w01, mask=m)
    tl.store(y_ptr + row * N + top + HALF, a * w10 + b * w11, mask=m)


def butterfly(x, w, half):
    M, N = x.shape
    y = torch.empty_like(x)
    butterfly_kernel[(M, triton.cdiv(N // 2, 512))](x, w, y, N, half, BLOCK=512)
    return y
