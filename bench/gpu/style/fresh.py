# ruff: noqa: E731
"""Twenty-eight kernels as people have them: training, vision, audio, recommendation, graphs, science.

Each is written as an author of its field would; nobody looked at what is derived of any of them.
"""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def _tanh_sigmoid(a, b):
    """tanh(a) * sigmoid(b), with two exponentials."""
    e = tl.exp(-2.0 * tl.abs(a))
    t = (1.0 - e) / (1.0 + e)
    t = tl.where(a >= 0, t, -t)
    return t * tl.sigmoid(b)


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_T": 256}, num_warps=2),
        triton.Config({"BLOCK_T": 512}, num_warps=4),
        triton.Config({"BLOCK_T": 1024}, num_warps=4),
        triton.Config({"BLOCK_T": 2048}, num_warps=8),
    ],
    key=["T"],
)
@triton.jit
def wavenet_gate_kernel(
    x_ptr,
    cond_ptr,
    out_ptr,
    C,
    T,
    stride_xb,
    stride_xc,
    stride_cb,
    stride_cc,
    stride_ob,
    stride_oc,
    BLOCK_T: tl.constexpr,
):
    t = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    c = tl.program_id(1)
    b = tl.program_id(2)
    mask = t < T
    xa = x_ptr + b * stride_xb + c * stride_xc + t
    ca = cond_ptr + b * stride_cb + c * stride_cc + t
    a = tl.load(xa, mask=mask, other=0.0).to(tl.float32)
    a += tl.load(ca, mask=mask, other=0.0).to(tl.float32)
    g = tl.load(xa + C * stride_xc, mask=mask, other=0.0).to(tl.float32)
    g += tl.load(ca + C * stride_cc, mask=mask, other=0.0).to(tl.float32)
    tl.store(
        out_ptr + b * stride_ob + c * stride_oc + t,
        _tanh_sigmoid(a, g).to(out_ptr.dtype.element_ty),
        mask=mask,
    )


def wavenet_gate(x, cond):
    """x and cond are (B, 2 * C, T): the filter's channels, then the gate's."""
    B, C2, T = x.shape
    out = torch.empty((B, C2 // 2, T), device=x.device, dtype=x.dtype)
    grid = lambda meta: (triton.cdiv(T, meta["BLOCK_T"]), C2 // 2, B)
    wavenet_gate_kernel[grid](
        x,
        cond,
        out,
        C2 // 2,
        T,
        x.stride(0),
        x.stride(1),
        cond.stride(0),
        cond.stride(1),
        out.stride(0),
        out.stride(1),
    )
    return out


@triton.jit
def _softplus(x):
    return tl.where(x > 20.0, x, tl.log(1.0 + tl.exp(tl.minimum(x, 20.0))))


@triton.jit
def xielu_kernel(x_ptr, ap_ptr, an_ptr, y_ptr, n, beta, eps, BLOCK: tl.constexpr):
    alpha_p = _softplus(tl.load(ap_ptr).to(tl.float32))
    alpha_n = beta + _softplus(tl.load(an_ptr).to(tl.float32))
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask, other=0.0).to(tl.float32)
    right = alpha_p * x * x + beta * x
    left = (tl.exp(tl.minimum(x, eps)) - 1.0 - x) * alpha_n + beta * x
    tl.store(y_ptr + i, tl.where(x > 0, right, left), mask=mask)


def xielu(x, alpha_p, alpha_n, beta=0.5, eps=-1e-6):
    y = torch.empty_like(x)
    n = x.numel()
    xielu_kernel[(triton.cdiv(n, 2048),)](x, alpha_p, alpha_n, y, n, beta, eps, BLOCK=2048, num_warps=8)
    return y


@triton.jit
def acon_kernel(x_ptr, p1_ptr, p2_ptr, beta_ptr, y_ptr, M, C, BLOCK_M: tl.constexpr, BLOCK_C: tl.constexpr):
    x_desc = tl.make_tensor_descriptor(x_ptr, shape=[M, C], strides=[C, 1], block_shape=[BLOCK_M, BLOCK_C])
    y_desc = tl.make_tensor_descriptor(y_ptr, shape=[M, C], strides=[C, 1], block_shape=[BLOCK_M, BLOCK_C])
    off_m = tl.program_id(0) * BLOCK_M
    off_c = tl.program_id(1) * BLOCK_C
    c = off_c + tl.arange(0, BLOCK_C)
    p1 = tl.load(p1_ptr + c, mask=c < C, other=0.0).to(tl.float32)
    p2 = tl.load(p2_ptr + c, mask=c < C, other=0.0).to(tl.float32)
    beta = tl.load(beta_ptr + c, mask=c < C, other=0.0).to(tl.float32)
    x = x_desc.load([off_m, off_c]).to(tl.float32)
    d = (p1 - p2)[None, :] * x
    y = d * tl.sigmoid(beta[None, :] * d) + p2[None, :] * x
    y_desc.store([off_m, off_c], y.to(y_ptr.dtype.element_ty))


def acon(x, p1, p2, beta):
    """x is (N, H, W, C); three learned numbers for each channel."""

    def scratch(size, alignment, stream):
        return torch.empty(size, device=x.device, dtype=torch.int8)

    triton.set_allocator(scratch)
    C = x.shape[-1]
    M = x.numel() // C
    y = torch.empty_like(x)
    acon_kernel[(triton.cdiv(M, 64), triton.cdiv(C, 64))](x, p1, p2, beta, y, M, C, BLOCK_M=64, BLOCK_C=64)
    return y


@triton.jit
def sandwich_rms_kernel(
    h_ptr, r_ptr, w_ptr, y_ptr, n_rows, n_cols, stride_h, stride_r, stride_y, eps, BLOCK: tl.constexpr
):
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    w = 1.0 + tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    for row in range(tl.program_id(0), n_rows, tl.num_programs(0)):
        h = tl.load(h_ptr + row * stride_h + cols, mask=mask, other=0.0).to(tl.float32)
        r = tl.load(r_ptr + row * stride_r + cols, mask=mask, other=0.0).to(tl.float32)
        inv = tl.math.rsqrt(tl.sum(h * h, axis=0) / n_cols + eps)
        y = r + h * inv * w
        tl.store(y_ptr + row * stride_y + cols, y.to(y_ptr.dtype.element_ty), mask=mask)


def sandwich_rms(h, r, w, eps=1e-6):
    """The residual stream plus the norm of what a block made."""
    M, N = h.shape
    y = torch.empty_like(h)
    sandwich_rms_kernel[(min(M, 4 * 132),)](
        h,
        r,
        w,
        y,
        M,
        N,
        h.stride(0),
        r.stride(0),
        y.stride(0),
        eps,
        BLOCK=triton.next_power_of_2(N),
        num_warps=8,
    )
    return y


@triton.jit
def qk_norm_rope_kernel(
    x_ptr,
    w_ptr,
    cos_ptr,
    sin_ptr,
    y_ptr,
    n_heads,
    stride_t,
    stride_h,
    eps,
    HEAD_DIM: tl.constexpr,
    BLOCK_H: tl.constexpr,
):
    HALF: tl.constexpr = HEAD_DIM // 2
    t = tl.program_id(0)
    h = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    d = tl.arange(0, HALF)
    at = t * stride_t + h[:, None] * stride_h + d[None, :]
    mask = (h < n_heads)[:, None]
    x1 = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    x2 = tl.load(x_ptr + at + HALF, mask=mask, other=0.0).to(tl.float32)
    ms = (tl.sum(x1 * x1, axis=1) + tl.sum(x2 * x2, axis=1)) / HEAD_DIM
    inv = 1.0 / tl.sqrt(ms + eps)
    n1 = x1 * inv[:, None] * tl.load(w_ptr + d).to(tl.float32)[None, :]
    n2 = x2 * inv[:, None] * tl.load(w_ptr + HALF + d).to(tl.float32)[None, :]
    cos = tl.load(cos_ptr + t * HALF + d)[None, :]
    sin = tl.load(sin_ptr + t * HALF + d)[None, :]
    tl.store(y_ptr + at, (n1 * cos - n2 * sin).to(y_ptr.dtype.element_ty), mask=mask)
    tl.store(y_ptr + at + HALF, (n2 * cos + n1 * sin).to(y_ptr.dtype.element_ty), mask=mask)


def qk_norm_rope(x, w, cos, sin, eps=1e-6):
    """x is (T, H, D), a norm for each head and then its rotation; cos and sin are (T, D // 2) in float32."""
    T, H, D = x.shape
    y = torch.empty_like(x)
    qk_norm_rope_kernel[(T, triton.cdiv(H, 16))](
        x, w, cos, sin, y, H, x.stride(0), x.stride(1), eps, HEAD_DIM=D, BLOCK_H=16
    )
    return y


@triton.jit
def clip_norm_rows_kernel(g_ptr, out_ptr, D, max_norm, BLOCK: tl.constexpr):
    sample = tl.program_id(0).to(tl.int64)
    g_ptr += sample * D
    out_ptr += sample * D
    sq = 0.0
    for off in range(0, D, BLOCK):
        idx = off + tl.arange(0, BLOCK)
        g = tl.load(g_ptr + idx, mask=idx < D, other=0.0)
        sq += tl.sum(g * g, axis=0)
    factor = tl.minimum(max_norm / (tl.sqrt(sq) + 1e-6), 1.0)
    for off in range(0, D, BLOCK):
        idx = off + tl.arange(0, BLOCK)
        g = tl.load(g_ptr + idx, mask=idx < D, other=0.0)
        tl.store(out_ptr + idx, g * factor, mask=idx < D)


def clip_norm_rows(g, max_norm):
    """Each sample's row, no longer than max_norm."""
    B, D = g.shape
    out = torch.empty_like(g)
    clip_norm_rows_kernel[(B,)](g, out, D, max_norm, BLOCK=2048, num_warps=4)
    return out


@triton.jit
def multi_margin_kernel(
    logits_ptr, target_ptr, loss_ptr, n_classes, stride, margin, P: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    base = logits_ptr + row * stride
    y = tl.load(target_ptr + row)
    own = tl.load(base + y).to(tl.float32)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in range(tl.cdiv(n_classes, BLOCK)):
        cols = k * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(base + cols, mask=cols < n_classes, other=0.0).to(tl.float32)
        z = tl.maximum(margin - own + x, 0.0)
        if P == 2:
            z = z * z
        acc += tl.where((cols < n_classes) & (cols != y), z, 0.0)
    tl.store(loss_ptr + row, tl.sum(acc, axis=0) / n_classes)


def multi_margin(logits, target, margin=1.0, p=1):
    M, V = logits.shape
    loss = torch.empty((M,), device=logits.device, dtype=torch.float32)
    multi_margin_kernel[(M,)](logits, target, loss, V, logits.stride(0), margin, P=p, BLOCK=1024)
    return loss


@triton.jit
def dice_planes_kernel(logits_ptr, mask_ptr, loss_ptr, HW, smooth, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    inter = 0.0
    total = 0.0
    for start in range(0, HW, BLOCK):
        i = start + tl.arange(0, BLOCK)
        valid = i < HW
        x = tl.load(logits_ptr + plane * HW + i, mask=valid, other=0.0).to(tl.float32)
        t = tl.load(mask_ptr + plane * HW + i, mask=valid, other=0).to(tl.float32)
        p = tl.where(valid, tl.sigmoid(x), 0.0)
        inter += tl.sum(p * t)
        total += tl.sum(p) + tl.sum(t)
    tl.store(loss_ptr + plane, 1.0 - (2.0 * inter + smooth) / (total + smooth))


def dice_planes(logits, mask, smooth=1.0):
    """Soft Dice of each class of each picture; mask holds zeros and ones."""
    N, C, H, W = logits.shape
    loss = torch.empty((N, C), device=logits.device, dtype=torch.float32)
    dice_planes_kernel[(N * C,)](logits, mask, loss, H * W, smooth, BLOCK=2048)
    return loss


@triton.jit
def gaussian_nll_kernel(mu_ptr, logvar_ptr, target_ptr, partial_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(axis=0)
    step = tl.num_programs(axis=0) * BLOCK
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(pid * BLOCK, n, step):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < n
        mu = tl.load(mu_ptr + offs, mask=mask, other=0.0)
        lv = tl.load(logvar_ptr + offs, mask=mask, other=0.0)
        t = tl.load(target_ptr + offs, mask=mask, other=0.0)
        e = t - mu
        acc += 0.5 * (lv + e * e * tl.exp(-lv))
    tl.store(partial_ptr + pid, tl.sum(acc, axis=0))


def gaussian_nll(mu, logvar, target):
    n = mu.numel()
    programs = min(triton.cdiv(n, 1024), 1024)
    partial = torch.empty(programs, device=mu.device, dtype=torch.float32)
    gaussian_nll_kernel[(programs,)](mu, logvar, target, partial, n, BLOCK=1024)
    return partial.sum() / n


@triton.autotune(
    configs=[triton.Config({"BLOCK_SIZE": b}, num_warps=w) for b in (512, 1024, 2048) for w in (4, 8)],
    key=["n_elements"],
)
@triton.jit
def ppo_clip_kernel(
    logp_ptr, old_ptr, adv_ptr, mask_ptr, loss_ptr, n_elements, clip_low, clip_high, BLOCK_SIZE: tl.constexpr
):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    inside = offsets < n_elements
    keep = tl.load(mask_ptr + offsets, mask=inside, other=0)
    logp = tl.load(logp_ptr + offsets, mask=inside, other=0.0)
    old = tl.load(old_ptr + offsets, mask=inside, other=0.0)
    adv = tl.load(adv_ptr + offsets, mask=inside, other=0.0)
    ratio = tl.exp(logp - old)
    clipped = tl.clamp(ratio, 1.0 - clip_low, 1.0 + clip_high)
    loss = -tl.minimum(ratio * adv, clipped * adv)
    tl.store(loss_ptr + offsets, tl.where(keep != 0, loss, 0.0), mask=inside)


def ppo_clip(logp, old, adv, mask, clip_low=0.2, clip_high=0.28):
    """The clipped objective of each token; those of the prompt count nothing."""
    loss = torch.empty_like(logp)
    n = logp.numel()
    grid = lambda META: (triton.cdiv(n, META["BLOCK_SIZE"]),)
    ppo_clip_kernel[grid](logp, old, adv, mask, loss, n, clip_low, clip_high)
    return loss


@triton.jit
def policy_entropy_kernel(logits, out, V, stride, BLOCK_V: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    logits += row * stride
    m = -float("inf")
    z = 0.0
    s = 0.0
    for v in range(0, V, BLOCK_V):
        offs = v + tl.arange(0, BLOCK_V)
        ok = offs < V
        x = tl.load(logits + offs, mask=ok, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(x, axis=0))
        alpha = tl.exp(m - m_new)
        e = tl.exp(x - m_new)
        z = z * alpha + tl.sum(e, axis=0)
        s = s * alpha + tl.sum(e * tl.where(ok, x, 0.0), axis=0)
        m = m_new
    tl.store(out + row, m + tl.log(z) - s / z)


def policy_entropy(logits):
    M, V = logits.shape
    out = torch.empty(M, device=logits.device, dtype=torch.float32)
    policy_entropy_kernel[(M,)](logits, out, V, logits.stride(0), BLOCK_V=4096, num_warps=8)
    return out


@triton.jit
def gumbel_softmax_kernel(
    logits_ptr, u_ptr, y_ptr, rows, V, inv_tau, eps, BLOCK_R: tl.constexpr, BLOCK_V: tl.constexpr
):
    r = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    v = tl.arange(0, BLOCK_V)
    mask = (r[:, None] < rows) & (v[None, :] < V)
    at = r[:, None] * V + v[None, :]
    u = tl.load(u_ptr + at, mask=mask, other=0.5)
    noise = -tl.log(-tl.log(u + eps) + eps)
    x = tl.load(logits_ptr + at, mask=mask, other=0.0)
    x = tl.where(mask, (x + noise) * inv_tau, -1e30)
    x -= tl.max(x, axis=1, keep_dims=True)
    p = tl.exp(x)
    p /= tl.sum(p, axis=1, keep_dims=True)
    tl.store(y_ptr + at, p, mask=mask)


def gumbel_softmax(logits, u, tau=1.0, eps=1e-10):
    """u is uniform noise of the logits' shape."""
    V = logits.shape[-1]
    rows = logits.numel() // V
    y = torch.empty_like(logits)
    gumbel_softmax_kernel[(triton.cdiv(rows, 4),)](
        logits, u, y, rows, V, 1.0 / tau, eps, BLOCK_R=4, BLOCK_V=triton.next_power_of_2(V)
    )
    return y


@triton.jit
def sink_softmax_kernel(
    s_ptr,
    sink_ptr,
    p_ptr,
    scale,
    T_q,
    T_k,
    stride_b,
    stride_h,
    stride_q,
    CAUSAL: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    q = tl.program_id(0)
    h = tl.program_id(1)
    b = tl.program_id(2)
    k = tl.arange(0, BLOCK_K)
    base = b.to(tl.int64) * stride_b + h * stride_h + q * stride_q
    ok = k < T_k
    if CAUSAL:
        ok = ok & (k <= q + T_k - T_q)
    x = tl.load(s_ptr + base + k, mask=ok, other=-float("inf")).to(tl.float32) * scale
    sink = tl.load(sink_ptr + h).to(tl.float32)
    top = tl.maximum(tl.max(x, axis=0), sink)
    e = tl.exp(x - top)
    denominator = tl.sum(e, axis=0) + tl.exp(sink - top)
    tl.store(p_ptr + base + k, (e / denominator).to(p_ptr.dtype.element_ty), mask=k < T_k)


def sink_softmax(scores, sink, scale, causal=True):
    """Attention's weights beside a learned number of each head, which takes a part of them."""
    B, H, T_q, T_k = scores.shape
    p = torch.empty_like(scores)
    sink_softmax_kernel[(T_q, H, B)](
        scores,
        sink,
        p,
        scale,
        T_q,
        T_k,
        scores.stride(0),
        scores.stride(1),
        scores.stride(2),
        CAUSAL=causal,
        BLOCK_K=triton.next_power_of_2(T_k),
    )
    return p


@triton.jit
def lse_pool_kernel(x_ptr, y_ptr, T, C, sharpness, BLOCK_T: tl.constexpr, BLOCK_C: tl.constexpr):
    b = tl.program_id(1)
    c0 = tl.program_id(0) * BLOCK_C
    block = tl.make_block_ptr(
        base=x_ptr + b * T * C,
        shape=(T, C),
        strides=(C, 1),
        offsets=(0, c0),
        block_shape=(BLOCK_T, BLOCK_C),
        order=(1, 0),
    )
    m = tl.full((BLOCK_C,), -float("inf"), dtype=tl.float32)
    acc = tl.zeros((BLOCK_C,), dtype=tl.float32)
    for t in range(0, T, BLOCK_T):
        x = tl.load(block, boundary_check=(0, 1), padding_option="zero").to(tl.float32) * sharpness
        x = tl.where((t + tl.arange(0, BLOCK_T))[:, None] < T, x, -float("inf"))
        m_new = tl.maximum(m, tl.max(x, axis=0))
        acc = acc * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new[None, :]), axis=0)
        m = m_new
        block = tl.advance(block, (BLOCK_T, 0))
    c = c0 + tl.arange(0, BLOCK_C)
    tl.store(y_ptr + b * C + c, (m + tl.log(acc / T)) / sharpness, mask=c < C)


def lse_pool(x, sharpness=4.0):
    """A soft maximum over the frames of (B, T, C)."""
    B, T, C = x.shape
    y = torch.empty((B, C), device=x.device, dtype=torch.float32)
    lse_pool_kernel[(triton.cdiv(C, 64), B)](x, y, T, C, sharpness, BLOCK_T=64, BLOCK_C=64)
    return y


@triton.jit
def statistics_pool_kernel(
    x_ptr, lengths_ptr, out_ptr, C, T, stride_b, stride_c, eps, BLOCK_C: tl.constexpr, BLOCK_T: tl.constexpr
):
    b = tl.program_id(1)
    c = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    length = tl.load(lengths_ptr + b)
    rows = x_ptr + b * stride_b + c[:, None] * stride_c
    cmask = (c < C)[:, None]
    total = tl.zeros((BLOCK_C,), dtype=tl.float32)
    for start in range(0, T, BLOCK_T):
        t = start + tl.arange(0, BLOCK_T)[None, :]
        total += tl.sum(tl.load(rows + t, mask=cmask & (t < length), other=0.0).to(tl.float32), axis=1)
    mean = total / length
    square = tl.zeros((BLOCK_C,), dtype=tl.float32)
    for start in range(0, T, BLOCK_T):
        t = start + tl.arange(0, BLOCK_T)[None, :]
        live = cmask & (t < length)
        x = tl.load(rows + t, mask=live, other=0.0).to(tl.float32)
        d = tl.where(live, x - mean[:, None], 0.0)
        square += tl.sum(d * d, axis=1)
    std = tl.sqrt(square / length + eps)
    tl.store(out_ptr + b * 2 * C + c, mean.to(out_ptr.dtype.element_ty), mask=c < C)
    tl.store(out_ptr + b * 2 * C + C + c, std.to(out_ptr.dtype.element_ty), mask=c < C)


def statistics_pool(x, lengths, eps=1e-5):
    """(B, C, T) to (B, 2 * C): mean and deviation of each channel over the frames that there are."""
    B, C, T = x.shape
    out = torch.empty((B, 2 * C), device=x.device, dtype=x.dtype)
    statistics_pool_kernel[(triton.cdiv(C, 4), B)](
        x, lengths, out, C, T, x.stride(0), x.stride(1), eps, BLOCK_C=4, BLOCK_T=512
    )
    return out


@triton.jit
def stream_mix_kernel(x_ptr, h_ptr, mix_ptr, beta_ptr, y_ptr, D, S: tl.constexpr, BLOCK_D: tl.constexpr):
    token = tl.program_id(0)
    d = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    mask = d < D
    h = tl.load(h_ptr + token * D + d, mask=mask, other=0.0).to(tl.float32)
    for i in tl.static_range(S):
        acc = tl.load(beta_ptr + i) * h
        for j in tl.static_range(S):
            x = tl.load(x_ptr + (token * S + j) * D + d, mask=mask, other=0.0).to(tl.float32)
            acc += tl.load(mix_ptr + i * S + j) * x
        tl.store(y_ptr + (token * S + i) * D + d, acc.to(y_ptr.dtype.element_ty), mask=mask)


def stream_mix(x, h, mix, beta):
    """Residual streams (M, S, D) among each other by mix (S, S), and a block's output (M, D) into each by beta (S)."""
    M, S, D = x.shape
    y = torch.empty_like(x)
    stream_mix_kernel[(M, triton.cdiv(D, 512))](x, h, mix, beta, y, D, S=S, BLOCK_D=512)
    return y


@triton.jit
def cross_layer_kernel(x0_ptr, x_ptr, w_ptr, b_ptr, y_ptr, D, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    d = tl.arange(0, BLOCK)
    mask = d < D
    x0 = tl.load(x0_ptr + row * D + d, mask=mask, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + row * D + d, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + d, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + d, mask=mask, other=0.0).to(tl.float32)
    xw = tl.sum(x * w, axis=0)
    tl.store(y_ptr + row * D + d, x0 * xw + b + x, mask=mask)


def cross_layer(x0, x, w, b):
    """A cross layer of a recommender: x0 (x . w) + b + x."""
    M, D = x.shape
    y = torch.empty_like(x)
    cross_layer_kernel[(M,)](x0, x, w, b, y, D, BLOCK=triton.next_power_of_2(D), num_warps=8)
    return y


@triton.jit
def _log_add_exp(a, b):
    top = tl.maximum(a, b)
    return top + tl.log(tl.exp(a - top) + tl.exp(b - top))


@triton.jit
def merge_states_kernel(
    oa_ptr, la_ptr, ob_ptr, lb_ptr, o_ptr, l_ptr, n_heads, D: tl.constexpr, BLOCK_H: tl.constexpr
):
    token = tl.program_id(0)
    h = tl.arange(0, BLOCK_H)
    d = tl.arange(0, D)
    live = h < n_heads
    la = tl.load(la_ptr + token * n_heads + h, mask=live, other=0.0)
    lb = tl.load(lb_ptr + token * n_heads + h, mask=live, other=0.0)
    l = _log_add_exp(la, lb)  # noqa: E741
    at = (token * n_heads + h)[:, None] * D + d[None, :]
    oa = tl.load(oa_ptr + at, mask=live[:, None], other=0.0).to(tl.float32)
    ob = tl.load(ob_ptr + at, mask=live[:, None], other=0.0).to(tl.float32)
    o = oa * tl.exp(la - l)[:, None] + ob * tl.exp(lb - l)[:, None]
    tl.store(o_ptr + at, o.to(o_ptr.dtype.element_ty), mask=live[:, None])
    tl.store(l_ptr + token * n_heads + h, l, mask=live)


def merge_states(oa, la, ob, lb):
    """Attention over two parts of the keys, put together: outputs (T, H, D), and logarithms of sums (T, H)."""
    T, H, D = oa.shape
    o, lse = torch.empty_like(oa), torch.empty_like(la)
    merge_states_kernel[(T,)](oa, la, ob, lb, o, lse, H, D=D, BLOCK_H=triton.next_power_of_2(H), num_warps=8)
    return o, lse


@triton.jit
def blend_over_kernel(fg_ptr, bg_ptr, out_ptr, HW, BLOCK: tl.constexpr):
    n = tl.program_id(1)
    p = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = p < HW
    fg = fg_ptr + n * 4 * HW + p
    alpha = tl.load(fg + 3 * HW, mask=m, other=0.0)
    for c in tl.static_range(3):
        over = tl.load(fg + c * HW, mask=m, other=0.0)
        under = tl.load(bg_ptr + (n * 3 + c) * HW + p, mask=m, other=0.0)
        tl.store(out_ptr + (n * 3 + c) * HW + p, under + alpha * (over - under), mask=m)


def blend_over(fg, bg):
    """Pictures with an alpha channel (N, 4, H, W) over others (N, 3, H, W)."""
    N, _, H, W = fg.shape
    out = torch.empty_like(bg)
    blend_over_kernel[(triton.cdiv(H * W, 1024), N)](fg, bg, out, H * W, BLOCK=1024)
    return out


@triton.jit
def haar2d_kernel(x_ptr, y_ptr, C, OH, OW, BLOCK_H: tl.constexpr, BLOCK_W: tl.constexpr):
    plane = tl.program_id(2)
    b = plane // C
    c = plane % C
    i = tl.program_id(0) * BLOCK_H + tl.arange(0, BLOCK_H)[:, None]
    j = tl.program_id(1) * BLOCK_W + tl.arange(0, BLOCK_W)[None, :]
    mask = (i < OH) & (j < OW)
    W = 2 * OW
    src = x_ptr + plane * 4 * OH * OW + 2 * i * W + 2 * j
    p = tl.load(src, mask=mask, other=0.0).to(tl.float32)
    q = tl.load(src + 1, mask=mask, other=0.0).to(tl.float32)
    r = tl.load(src + W, mask=mask, other=0.0).to(tl.float32)
    s = tl.load(src + W + 1, mask=mask, other=0.0).to(tl.float32)
    band = C * OH * OW
    dst = y_ptr + b * 4 * band + c * OH * OW + i * OW + j
    tl.store(dst, 0.5 * (p + q + r + s), mask=mask)
    tl.store(dst + band, 0.5 * (p + q - r - s), mask=mask)
    tl.store(dst + 2 * band, 0.5 * (p - q + r - s), mask=mask)
    tl.store(dst + 3 * band, 0.5 * (p - q - r + s), mask=mask)


def haar2d(x):
    """(B, C, H, W) to (B, 4 * C, H / 2, W / 2): the four bands one after the other."""
    B, C, H, W = x.shape
    y = torch.empty((B, 4 * C, H // 2, W // 2), device=x.device, dtype=x.dtype)
    haar2d_kernel[(triton.cdiv(H // 2, 16), triton.cdiv(W // 2, 32), B * C)](
        x, y, C, H // 2, W // 2, BLOCK_H=16, BLOCK_W=32
    )
    return y


@triton.jit
def fir_valid_kernel(x_ptr, taps_ptr, y_ptr, n_in, n_out, n_taps, BLOCK: tl.constexpr):
    channel = tl.program_id(1)
    t = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = t < n_out
    x_row = x_ptr + channel * n_in
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in range(n_taps):
        h = tl.load(taps_ptr + k)
        acc += h * tl.load(x_row + t + (n_taps - 1 - k), mask=mask, other=0.0)
    tl.store(y_ptr + channel * n_out + t, acc, mask=mask)


def fir_valid(x, taps):
    """One filter over all recordings, only where it lies wholly inside."""
    B, n = x.shape
    K = taps.numel()
    y = torch.empty((B, n - K + 1), device=x.device, dtype=x.dtype)
    fir_valid_kernel[(triton.cdiv(n - K + 1, 1024), B)](x, taps, y, n, n - K + 1, K, BLOCK=1024)
    return y


@triton.jit
def log_magnitude_kernel(spec_ptr, out_ptr, n, gain, eps, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    re = tl.load(spec_ptr + 2 * i, mask=ok, other=0.0)
    im = tl.load(spec_ptr + 2 * i + 1, mask=ok, other=0.0)
    mag = tl.sqrt(re * re + im * im + eps)
    tl.store(out_ptr + i, tl.log(1.0 + gain * mag), mask=ok)


def log_magnitude(spec, gain=10.0, eps=1e-8):
    """A spectrogram as torch.view_as_real gives it, (..., 2), to compressed magnitudes."""
    out = torch.empty(spec.shape[:-1], device=spec.device, dtype=spec.dtype)
    n = out.numel()
    log_magnitude_kernel[(triton.cdiv(n, 1024),)](spec, out, n, gain, eps, BLOCK=1024)
    return out


@triton.jit
def _compose(a_left, b_left, a_right, b_right):
    """First h -> a_left h + b_left, then the right one."""
    return a_left * a_right, b_left * a_right + b_right


@triton.jit
def gated_scan_kernel(x_ptr, gate_ptr, h_ptr, T, BLOCK_T: tl.constexpr):
    row = tl.program_id(0)
    t = tl.arange(0, BLOCK_T)
    mask = t < T
    x = tl.load(x_ptr + row * T + t, mask=mask, other=0.0)
    f = tl.sigmoid(tl.load(gate_ptr + row * T + t, mask=mask, other=0.0))
    _, h = tl.associative_scan((f, (1.0 - f) * x), 0, _compose)
    tl.store(h_ptr + row * T + t, h, mask=mask)


def gated_scan(x, gate):
    """h[t] = f[t] h[t - 1] + (1 - f[t]) x[t] along rows, f = sigmoid(gate)."""
    M, T = x.shape
    h = torch.empty_like(x)
    gated_scan_kernel[(M,)](x, gate, h, T, BLOCK_T=triton.next_power_of_2(T))
    return h


@triton.jit
def causal_mean_kernel(x_ptr, y_ptr, T, C, stride_b, stride_t, BLOCK_T: tl.constexpr, BLOCK_C: tl.constexpr):
    b = tl.program_id(1)
    c = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    carry = tl.zeros((BLOCK_C,), dtype=tl.float32)
    for start in range(0, T, BLOCK_T):
        t = start + tl.arange(0, BLOCK_T)
        at = b * stride_b + t[:, None] * stride_t + c[None, :]
        mask = (t < T)[:, None] & (c < C)[None, :]
        x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
        seen = carry[None, :] + tl.cumsum(x, axis=0)
        tl.store(y_ptr + at, (seen / (t + 1)[:, None]).to(y_ptr.dtype.element_ty), mask=mask)
        carry += tl.sum(x, axis=0)


def causal_mean(x):
    """The mean of a token and all before it, (B, T, C)."""
    B, T, C = x.shape
    y = torch.empty_like(x)
    causal_mean_kernel[(triton.cdiv(C, 32), B)](x, y, T, C, x.stride(0), x.stride(1), BLOCK_T=64, BLOCK_C=32)
    return y


@triton.jit
def radial_basis_kernel(
    dist_ptr, center_ptr, out_ptr, E, K, gamma, cutoff, BLOCK_E: tl.constexpr, BLOCK_K: tl.constexpr
):
    e = tl.program_id(0) * BLOCK_E + tl.arange(0, BLOCK_E)
    k = tl.arange(0, BLOCK_K)
    r = tl.load(dist_ptr + e, mask=e < E, other=0.0)
    center = tl.load(center_ptr + k, mask=k < K, other=0.0)
    envelope = 0.5 * (tl.cos(r * (3.141592653589793 / cutoff)) + 1.0)
    envelope = tl.where(r < cutoff, envelope, 0.0)
    diff = r[:, None] - center[None, :]
    phi = tl.exp(-gamma * diff * diff) * envelope[:, None]
    tl.store(out_ptr + e[:, None] * K + k[None, :], phi, mask=(e[:, None] < E) & (k[None, :] < K))


def radial_basis(dist, centers, gamma=10.0, cutoff=5.0):
    """Lengths of edges to smooth features of them, which end at the cutoff."""
    E, K = dist.numel(), centers.numel()
    out = torch.empty((E, K), device=dist.device, dtype=dist.dtype)
    radial_basis_kernel[(triton.cdiv(E, 64),)](
        dist, centers, out, E, K, gamma, cutoff, BLOCK_E=64, BLOCK_K=triton.next_power_of_2(K)
    )
    return out


@triton.jit
def pair_distances_kernel(p_ptr, q_ptr, d_ptr, N, M, eps, BLOCK_N: tl.constexpr, BLOCK_M: tl.constexpr):
    b = tl.program_id(2)
    i = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    j = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    p_ptr += b * N * 3
    q_ptr += b * M * 3
    px = tl.load(p_ptr + i * 3, mask=i < N, other=0.0)
    py = tl.load(p_ptr + i * 3 + 1, mask=i < N, other=0.0)
    pz = tl.load(p_ptr + i * 3 + 2, mask=i < N, other=0.0)
    qx = tl.load(q_ptr + j * 3, mask=j < M, other=0.0)
    qy = tl.load(q_ptr + j * 3 + 1, mask=j < M, other=0.0)
    qz = tl.load(q_ptr + j * 3 + 2, mask=j < M, other=0.0)
    dx = px[:, None] - qx[None, :]
    dy = py[:, None] - qy[None, :]
    dz = pz[:, None] - qz[None, :]
    dist = tl.sqrt(dx * dx + dy * dy + dz * dz + eps)
    at = b * N * M + i[:, None] * M + j[None, :]
    tl.store(d_ptr + at, dist, mask=(i[:, None] < N) & (j[None, :] < M))


def pair_distances(p, q, eps=1e-12):
    """How far each of the points (B, N, 3) is from each of (B, M, 3)."""
    B, N, _ = p.shape
    M = q.shape[1]
    d = torch.empty((B, N, M), device=p.device, dtype=p.dtype)
    pair_distances_kernel[(triton.cdiv(N, 32), triton.cdiv(M, 64), B)](p, q, d, N, M, eps, BLOCK_N=32, BLOCK_M=64)
    return d


@triton.jit
def to_channels_last_kernel(x_desc, y_desc, mean_ptr, std_ptr, C, BLOCK_C: tl.constexpr, BLOCK_P: tl.constexpr):
    p0 = tl.program_id(0) * BLOCK_P
    c0 = tl.program_id(1) * BLOCK_C
    n = tl.program_id(2)
    c = c0 + tl.arange(0, BLOCK_C)
    mean = tl.load(mean_ptr + c, mask=c < C, other=0.0)
    std = tl.load(std_ptr + c, mask=c < C, other=1.0)
    x = x_desc.load([n, c0, p0]).reshape(BLOCK_C, BLOCK_P).to(tl.float32)
    y = ((x - mean[:, None]) / std[:, None]).to(y_desc.dtype)
    y_desc.store([n, p0, c0], tl.trans(y).reshape(1, BLOCK_P, BLOCK_C))


def to_channels_last(x, mean, std):
    """Pictures (N, C, H, W), standardised by channel, to (N, H, W, C)."""
    N, C, H, W = x.shape
    P = H * W
    y = torch.empty((N, H, W, C), device=x.device, dtype=x.dtype)
    block_c, block_p = 32, 64
    x_desc = TensorDescriptor(x, [N, C, P], [C * P, P, 1], [1, block_c, block_p])
    y_desc = TensorDescriptor(y, [N, P, C], [P * C, C, 1], [1, block_p, block_c])
    to_channels_last_kernel[(triton.cdiv(P, block_p), triton.cdiv(C, block_c), N)](
        x_desc, y_desc, mean, std, C, BLOCK_C=block_c, BLOCK_P=block_p
    )
    return y


@triton.jit
def ragged_bag_kernel(
    ids_ptr, offsets_ptr, weight_ptr, table_ptr, out_ptr, D, MEAN: tl.constexpr, BLOCK_D: tl.constexpr
):
    bag = tl.program_id(0)
    first = tl.load(offsets_ptr + bag)
    last = tl.load(offsets_ptr + bag + 1)
    d = tl.arange(0, BLOCK_D)
    mask = d < D
    acc = tl.zeros((BLOCK_D,), dtype=tl.float32)
    for k in range(first, last):
        item = tl.load(ids_ptr + k)
        acc += tl.load(weight_ptr + k) * tl.load(table_ptr + item * D + d, mask=mask, other=0.0)
    if MEAN:
        acc = acc / tl.maximum(last - first, 1)
    tl.store(out_ptr + bag * D + d, acc, mask=mask)


def ragged_bag(ids, offsets, weights, table, mean=True):
    """Bags of items, each item with a weight; bag i has ids[offsets[i]:offsets[i + 1]]."""
    bags, D = offsets.numel() - 1, table.shape[1]
    out = torch.empty((bags, D), device=table.device, dtype=table.dtype)
    ragged_bag_kernel[(bags,)](
        ids, offsets, weights, table, out, D, MEAN=mean, BLOCK_D=triton.next_power_of_2(D), num_warps=2
    )
    return out
