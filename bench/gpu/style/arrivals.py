# ruff: noqa: E501, E731
"""Twenty kernels as people bring them, with the launchers around them.

Written before anybody looked at what is derived of any of them; arrivals_more.py has twenty further ones.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def _tanh_stable(u):
    e = tl.exp(-2.0 * tl.abs(u))
    t = (1.0 - e) / (1.0 + e)
    return tl.where(u < 0, -t, t)


@triton.jit
def dyt_kernel(x_ptr, alpha_ptr, weight_ptr, bias_ptr, y_ptr, n_elements, C, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    channel = offsets % C
    alpha = tl.load(alpha_ptr).to(tl.float32)
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(weight_ptr + channel, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(bias_ptr + channel, mask=mask, other=0.0).to(tl.float32)
    y = _tanh_stable(alpha * x) * w + b
    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=mask)


def dyt(x, alpha, weight, bias):
    """Dynamic tanh, in place of a norm."""
    y = torch.empty_like(x)
    n_elements = x.numel()
    grid = lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)
    dyt_kernel[grid](x, alpha, weight, bias, y, n_elements, x.shape[-1], BLOCK_SIZE=1024)
    return y


class DynamicTanh(torch.nn.Module):
    def __init__(self, dim, init_alpha=0.5):
        super().__init__()
        self.alpha = torch.nn.Parameter(torch.full((1,), init_alpha))
        self.weight = torch.nn.Parameter(torch.ones(dim))
        self.bias = torch.nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        return dyt(x, self.alpha, self.weight, self.bias)


@triton.jit
def adaln_gate_kernel(
    x_ptr,
    h_ptr,
    mod_ptr,
    s_ptr,
    y_ptr,
    n_rows,
    T,
    D,
    stride_mod_b,
    stride_mod_k,
    eps,
    BLOCK_D: tl.constexpr,
):
    """s = x + gate * h, then its layer norm, scaled and shifted; all three of the sample's modulation."""
    cols = tl.arange(0, BLOCK_D)
    mask = cols < D
    for row in range(tl.program_id(0), n_rows, tl.num_programs(0)):
        mod = mod_ptr + (row // T) * stride_mod_b + cols
        gate = tl.load(mod, mask=mask, other=0.0).to(tl.float32)
        shift = tl.load(mod + stride_mod_k, mask=mask, other=0.0).to(tl.float32)
        scale = tl.load(mod + 2 * stride_mod_k, mask=mask, other=0.0).to(tl.float32)
        x = tl.load(x_ptr + row * D + cols, mask=mask, other=0.0).to(tl.float32)
        h = tl.load(h_ptr + row * D + cols, mask=mask, other=0.0).to(tl.float32)
        s = x + gate * h
        tl.store(s_ptr + row * D + cols, s.to(s_ptr.dtype.element_ty), mask=mask)
        mean = tl.sum(s, axis=0) / D
        c = tl.where(mask, s - mean, 0.0)
        rstd = 1.0 / tl.sqrt(tl.sum(c * c, axis=0) / D + eps)
        y = c * rstd * (1.0 + scale) + shift
        tl.store(y_ptr + row * D + cols, y.to(y_ptr.dtype.element_ty), mask=mask)


def adaln_gate(x, h, mod, eps=1e-6):
    """x and h are (B, T, D), mod is (B, 3, D): gate, shift, scale."""
    B, T, D = x.shape
    s = torch.empty_like(x)
    y = torch.empty_like(x)
    adaln_gate_kernel[(min(B * T, 132 * 8),)](
        x, h, mod, s, y, B * T, T, D, mod.stride(0), mod.stride(1), eps, BLOCK_D=triton.next_power_of_2(D), num_warps=4
    )
    return s, y


@triton.jit
def convnext_tail_kernel(x_ptr, h_ptr, gamma_ptr, o_ptr, C, P, BLOCK_C: tl.constexpr, BLOCK_P: tl.constexpr):
    p = tl.program_id(0) * BLOCK_P + tl.arange(0, BLOCK_P)
    c = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    n = tl.program_id(2)
    inside = (c[:, None] < C) & (p[None, :] < P)
    gamma = tl.load(gamma_ptr + c, mask=c < C, other=0.0)
    first = n * C * P + c[:, None] * P + p[None, :]
    last = n * C * P + p[None, :] * C + c[:, None]
    x = tl.load(x_ptr + first, mask=inside, other=0.0)
    h = tl.load(h_ptr + last, mask=inside, other=0.0)
    tl.store(o_ptr + first, x + gamma[:, None] * h, mask=inside)


def convnext_tail(x, h, gamma):
    """The end of a ConvNeXt block: channels go to the front again, the layer scale, the shortcut. x is NCHW, h is NHWC."""
    N, C, H, W = x.shape
    out = torch.empty_like(x)
    grid = (triton.cdiv(H * W, 64), triton.cdiv(C, 32), N)
    convnext_tail_kernel[grid](x, h, gamma, out, C, H * W, BLOCK_C=32, BLOCK_P=64)
    return out


@triton.jit
def pool_time_kernel(src, dst, t_in, t_out, total, KERNEL: tl.constexpr, STRIDE: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = o < total
    row = o // t_out
    t = o % t_out
    p = src + row * t_in + t * STRIDE
    best = tl.load(p, mask=ok, other=float("-inf"))
    for k in tl.static_range(1, KERNEL):
        best = tl.maximum(best, tl.load(p + k, mask=ok, other=float("-inf")))
    tl.store(dst + o, best, mask=ok)


def pool_time(x, kernel=4, stride=2):
    B, C, T = x.shape
    t_out = (T - kernel) // stride + 1
    out = x.new_empty(B, C, t_out)
    total = out.numel()
    pool_time_kernel[(triton.cdiv(total, 512),)](x, out, T, t_out, total, KERNEL=kernel, STRIDE=stride, BLOCK=512)
    return out


@triton.jit
def gem_pool_kernel(x_ptr, p_ptr, y_ptr, HW, eps, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    p = tl.load(p_ptr)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, HW, BLOCK):
        i = start + tl.arange(0, BLOCK)
        m = i < HW
        x = tl.load(x_ptr + plane * HW + i, mask=m, other=1.0).to(tl.float32)
        x = tl.maximum(x, eps)
        acc += tl.where(m, tl.exp(p * tl.log(x)), 0.0)
    mean = tl.sum(acc) / HW
    tl.store(y_ptr + plane, tl.exp(tl.log(mean) / p))


def gem_pool(x, p, eps=1e-6):
    """Generalized mean over each plane, the power is learned."""
    N, C, H, W = x.shape
    y = torch.empty(N, C, device=x.device, dtype=torch.float32)
    gem_pool_kernel[(N * C,)](x, p, y, H * W, eps, BLOCK=1024)
    return y


@triton.jit
def squash_kernel(X, Y, M, eps, D: tl.constexpr, BLOCK_M: tl.constexpr):
    start = tl.program_id(0) * BLOCK_M
    x_block = tl.make_block_ptr(
        base=X, shape=(M, D), strides=(D, 1), offsets=(start, 0), block_shape=(BLOCK_M, D), order=(1, 0)
    )
    y_block = tl.make_block_ptr(
        base=Y, shape=(M, D), strides=(D, 1), offsets=(start, 0), block_shape=(BLOCK_M, D), order=(1, 0)
    )
    x = tl.load(x_block, boundary_check=(0,), padding_option="zero").to(tl.float32)
    n2 = tl.sum(x * x, axis=1)
    factor = n2 / (1.0 + n2) / tl.sqrt(n2 + eps)
    tl.store(y_block, (x * factor[:, None]).to(Y.dtype.element_ty), boundary_check=(0,))


def squash(x, eps=1e-8):
    """Of capsules: long vectors get length one, short ones none. (B, J, D)."""
    D = x.shape[-1]
    flat = x.view(-1, D)
    y = torch.empty_like(flat)
    M = flat.shape[0]
    squash_kernel[(triton.cdiv(M, 128),)](flat, y, M, eps, D=D, BLOCK_M=128)
    return y.view(x.shape)


@triton.jit
def spatial_dropout_kernel(x_ptr, y_ptr, n, HW, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x = tl.load(x_ptr + i, mask=m)
    keep = tl.rand(seed, i // HW) > p
    tl.store(y_ptr + i, tl.where(keep, x / (1 - p), 0.0), mask=m)


def spatial_dropout(x, p, seed):
    """Whole planes are dropped."""
    N, C, H, W = x.shape
    y = torch.empty_like(x)
    n = x.numel()
    spatial_dropout_kernel[(triton.cdiv(n, 1024),)](x, y, n, H * W, p, seed, BLOCK=1024)
    return y


@triton.jit
def giou_kernel(pred_ptr, true_ptr, loss_ptr, N, eps, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < N
    ax0 = tl.load(pred_ptr + i * 4 + 0, mask=m, other=0.0)
    ay0 = tl.load(pred_ptr + i * 4 + 1, mask=m, other=0.0)
    ax1 = tl.load(pred_ptr + i * 4 + 2, mask=m, other=0.0)
    ay1 = tl.load(pred_ptr + i * 4 + 3, mask=m, other=0.0)
    bx0 = tl.load(true_ptr + i * 4 + 0, mask=m, other=0.0)
    by0 = tl.load(true_ptr + i * 4 + 1, mask=m, other=0.0)
    bx1 = tl.load(true_ptr + i * 4 + 2, mask=m, other=0.0)
    by1 = tl.load(true_ptr + i * 4 + 3, mask=m, other=0.0)
    # overlap
    iw = tl.maximum(tl.minimum(ax1, bx1) - tl.maximum(ax0, bx0), 0.0)
    ih = tl.maximum(tl.minimum(ay1, by1) - tl.maximum(ay0, by0), 0.0)
    inter = iw * ih
    union = (ax1 - ax0) * (ay1 - ay0) + (bx1 - bx0) * (by1 - by0) - inter
    # hull
    hull = (tl.maximum(ax1, bx1) - tl.minimum(ax0, bx0)) * (tl.maximum(ay1, by1) - tl.minimum(ay0, by0))
    giou = inter / (union + eps) - (hull - union) / (hull + eps)
    tl.store(loss_ptr + i, 1.0 - giou, mask=m)


def giou(pred, true, eps=1e-7):
    """1 - generalized IoU of boxes (N, 4): x0, y0, x1, y1."""
    N = pred.shape[0]
    loss = torch.empty(N, device=pred.device, dtype=pred.dtype)
    giou_kernel[(triton.cdiv(N, 256),)](pred, true, loss, N, eps, BLOCK=256)
    return loss


@triton.jit
def tversky_kernel(
    logits_ptr,
    label_ptr,
    part_ptr,
    C,
    P,
    stride_n,
    stride_c,
    BLOCK_C: tl.constexpr,
    BLOCK_P: tl.constexpr,
):
    """For each class and a block of pixels: what is right, what is predicted, what is there."""
    block = tl.program_id(0)
    n = tl.program_id(1)
    c = tl.arange(0, BLOCK_C)
    p = block * BLOCK_P + tl.arange(0, BLOCK_P)
    mask = (c[:, None] < C) & (p[None, :] < P)
    z = tl.load(
        logits_ptr + n * stride_n + c[:, None] * stride_c + p[None, :], mask=mask, other=-1e30
    ).to(tl.float32)
    label = tl.load(label_ptr + n * P + p, mask=p < P, other=-1)
    z = z - tl.max(z, axis=0)[None, :]
    e = tl.where(mask, tl.exp(z), 0.0)
    prob = e / tl.where(p < P, tl.sum(e, axis=0), 1.0)[None, :]
    there = (label[None, :] == c[:, None]) & mask
    out = part_ptr + (n * tl.num_programs(0) + block) * 3 * C + c
    tl.store(out, tl.sum(tl.where(there, prob, 0.0), axis=1), mask=c < C)
    tl.store(out + C, tl.sum(prob, axis=1), mask=c < C)
    tl.store(out + 2 * C, tl.sum(there.to(tl.float32), axis=1), mask=c < C)


def tversky(logits, labels, alpha=0.3, beta=0.7, smooth=1.0):
    N, C, H, W = logits.shape
    blocks = triton.cdiv(H * W, 256)
    part = torch.empty(N, blocks, 3, C, device=logits.device, dtype=torch.float32)
    tversky_kernel[(blocks, N)](
        logits,
        labels,
        part,
        C,
        H * W,
        logits.stride(0),
        logits.stride(1),
        BLOCK_C=triton.next_power_of_2(C),
        BLOCK_P=256,
        num_warps=8,
    )
    right, predicted, there = part.sum(1).unbind(1)
    index = (right + smooth) / (right + alpha * (predicted - right) + beta * (there - right) + smooth)
    return 1 - index.mean(1)


@triton.jit
def ctc_step_kernel(alpha_ptr, logp_ptr, ext_ptr, out_ptr, S, V, BLOCK: tl.constexpr):
    """One frame of CTC's forward recursion, for labels with blanks (zeros) between them."""
    b = tl.program_id(0)
    s = tl.arange(0, BLOCK)
    m = s < S
    own = tl.load(ext_ptr + b * S + s, mask=m, other=0)
    before = tl.load(ext_ptr + b * S + s - 2, mask=m & (s >= 2), other=0)
    skip = m & (s >= 2) & (own != 0) & (own != before)
    stay = tl.load(alpha_ptr + b * S + s, mask=m, other=-1e30)
    step = tl.load(alpha_ptr + b * S + s - 1, mask=m & (s >= 1), other=-1e30)
    jump = tl.load(alpha_ptr + b * S + s - 2, mask=skip, other=-1e30)
    top = tl.maximum(tl.maximum(stay, step), jump)
    total = tl.exp(stay - top) + tl.exp(step - top) + tl.exp(jump - top)
    emit = tl.load(logp_ptr + b * V + own, mask=m, other=0.0)
    tl.store(out_ptr + b * S + s, top + tl.log(total) + emit, mask=m)


def ctc_step(alpha, logp, ext):
    B, S = alpha.shape
    out = torch.empty_like(alpha)
    ctc_step_kernel[(B,)](alpha, logp, ext, out, S, logp.shape[1], BLOCK=triton.next_power_of_2(S))
    return out


@triton.jit
def rank_pairs_kernel(s_ptr, rel_ptr, loss_ptr, L, BLOCK: tl.constexpr):
    """RankNet: each pair of a list whose relevance differs."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    m = i < L
    s = tl.load(s_ptr + row * L + i, mask=m, other=0.0)
    rel = tl.load(rel_ptr + row * L + i, mask=m, other=0)
    better = (rel[:, None] > rel[None, :]) & m[:, None] & m[None, :]
    z = s[None, :] - s[:, None]
    loss = tl.maximum(z, 0.0) + tl.log(1.0 + tl.exp(-tl.abs(z)))
    total = tl.sum(tl.sum(tl.where(better, loss, 0.0), axis=1), axis=0)
    count = tl.sum(tl.sum(better.to(tl.float32), axis=1), axis=0)
    tl.store(loss_ptr + row, total / tl.maximum(count, 1.0))


def rank_pairs(scores, relevance):
    B, L = scores.shape
    loss = torch.empty(B, device=scores.device, dtype=torch.float32)
    rank_pairs_kernel[(B,)](scores, relevance, loss, L, BLOCK=triton.next_power_of_2(L), num_warps=8)
    return loss


@triton.jit
def sincos_encoding_kernel(x_ptr, out_ptr, total, D: tl.constexpr, LEVELS: tl.constexpr, BLOCK: tl.constexpr):
    idx = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = idx < total
    point = idx // D
    axis = idx % D
    x = tl.load(x_ptr + idx, mask=mask, other=0.0)
    out = out_ptr + point * (D + 2 * D * LEVELS) + axis
    tl.store(out, x, mask=mask)
    for level in tl.static_range(LEVELS):
        angle = x * (2**level)
        tl.store(out + D + level * 2 * D, tl.sin(angle), mask=mask)
        tl.store(out + D + level * 2 * D + D, tl.cos(angle), mask=mask)


def sincos_encoding(x, levels=10):
    """Of points (N, D): the point, then sines and cosines of twice, four times, ... of it."""
    N, D = x.shape
    out = torch.empty(N, D + 2 * D * levels, device=x.device, dtype=x.dtype)
    total = N * D
    sincos_encoding_kernel[(triton.cdiv(total, 256),)](x, out, total, D=D, LEVELS=levels, BLOCK=256)
    return out


@triton.jit
def xpos_kernel(
    q_ptr, cos_ptr, sin_ptr, scale_ptr, o_ptr, T, H, stride_b, stride_t, stride_h, D: tl.constexpr, BH: tl.constexpr
):
    t = tl.program_id(0)
    b = tl.program_id(1)
    h = tl.arange(0, BH)
    d = tl.arange(0, D)
    half: tl.constexpr = D // 2
    f = tl.arange(0, half)
    where = b * stride_b + t * stride_t + h[:, None] * stride_h + d[None, :]
    mask = h[:, None] < H
    q = tl.load(q_ptr + where, mask=mask, other=0.0).to(tl.float32)
    even, odd = tl.split(tl.reshape(q, (BH, half, 2)))
    scale = tl.load(scale_ptr + t * half + f)
    c = (tl.load(cos_ptr + t * half + f) * scale)[None, :]
    s = (tl.load(sin_ptr + t * half + f) * scale)[None, :]
    o = tl.join(even * c - odd * s, odd * c + even * s)
    tl.store(o_ptr + where, tl.reshape(o, (BH, D)).to(o_ptr.dtype.element_ty), mask=mask)


def xpos(q, cos, sin, scale):
    """Rotary embedding of neighbouring pairs whose length decays with the position: q is (B, T, H, D)."""
    B, T, H, D = q.shape
    o = torch.empty_like(q)
    xpos_kernel[(T, B)](
        q, cos, sin, scale, o, T, H, q.stride(0), q.stride(1), q.stride(2), D=D, BH=triton.next_power_of_2(H)
    )
    return o


@triton.jit
def mrope_kernel(
    x_ptr, pos_ptr, freq_ptr, y_ptr, B, H, T, S0: tl.constexpr, S1: tl.constexpr, D: tl.constexpr, BT: tl.constexpr
):
    """Time, height and width have their own parts of the frequencies."""
    HALF: tl.constexpr = D // 2
    bh = tl.program_id(1)
    b = bh // H
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    d = tl.arange(0, HALF)
    tm = t < T
    p0 = tl.load(pos_ptr + (0 * B + b) * T + t, mask=tm, other=0)[:, None]
    p1 = tl.load(pos_ptr + (1 * B + b) * T + t, mask=tm, other=0)[:, None]
    p2 = tl.load(pos_ptr + (2 * B + b) * T + t, mask=tm, other=0)[:, None]
    pos = tl.where((d < S0)[None, :], p0, tl.where((d < S0 + S1)[None, :], p1, p2))
    angle = pos.to(tl.float32) * tl.load(freq_ptr + d)[None, :]
    cos = tl.cos(angle)
    sin = tl.sin(angle)
    at = (bh * T + t[:, None]) * D + d[None, :]
    mask = tm[:, None]
    a = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    b2 = tl.load(x_ptr + at + HALF, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + at, a * cos - b2 * sin, mask=mask)
    tl.store(y_ptr + at + HALF, b2 * cos + a * sin, mask=mask)


def mrope(x, positions, inv_freq):
    """x is (B, H, T, D), positions is (3, B, T)."""
    B, H, T, D = x.shape
    y = torch.empty_like(x)
    first = D // 8
    mrope_kernel[(triton.cdiv(T, 32), B * H)](
        x, positions, inv_freq, y, B, H, T, S0=first, S1=(D // 2 - first) // 2, D=D, BT=32
    )
    return y


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 16, "BLOCK_N": 128}, num_warps=4),
        triton.Config({"BLOCK_M": 32, "BLOCK_N": 64}, num_warps=4),
        triton.Config({"BLOCK_M": 32, "BLOCK_N": 128}, num_warps=8),
    ],
    key=["M", "N"],
)
@triton.jit
def highway_kernel(
    x_ptr, h_ptr, t_ptr, y_ptr, M, N, stride_x, stride_h, stride_t, stride_y, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (rm < M)[:, None] & (rn < N)[None, :]
    x = tl.load(x_ptr + rm[:, None] * stride_x + rn[None, :], mask=mask, other=0.0).to(tl.float32)
    h = tl.load(h_ptr + rm[:, None] * stride_h + rn[None, :], mask=mask, other=0.0).to(tl.float32)
    t = tl.load(t_ptr + rm[:, None] * stride_t + rn[None, :], mask=mask, other=0.0).to(tl.float32)
    carry = tl.sigmoid(t)
    y = carry * tl.maximum(h, 0.0) + (1.0 - carry) * x
    tl.store(y_ptr + rm[:, None] * stride_y + rn[None, :], y.to(y_ptr.dtype.element_ty), mask=mask)


def highway(x, proj):
    """proj is what one linear layer makes of x: the transform, then its gate."""
    M, N = x.shape
    h, t = proj.chunk(2, dim=1)
    y = torch.empty_like(x)
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]), triton.cdiv(N, meta["BLOCK_N"]))
    highway_kernel[grid](x, h, t, y, M, N, x.stride(0), h.stride(0), t.stride(0), y.stride(0))
    return y


@triton.jit
def mean_max_channels_kernel(x_ptr, out_ptr, C, HW, BLOCK: tl.constexpr):
    """What CBAM's spatial attention looks at: the mean and the largest of each pixel's channels."""
    n = tl.program_id(1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < HW
    x_ptr += n * C * HW
    total = tl.zeros([BLOCK], dtype=tl.float32)
    best = tl.full([BLOCK], float("-inf"), dtype=tl.float32)
    for c in range(C):
        v = tl.load(x_ptr + c * HW + i, mask=m, other=0.0)
        total += v
        best = tl.maximum(best, v)
    tl.store(out_ptr + n * 2 * HW + i, total / C, mask=m)
    tl.store(out_ptr + n * 2 * HW + HW + i, best, mask=m)


def mean_max_channels(x):
    N, C, H, W = x.shape
    out = torch.empty(N, 2, H, W, device=x.device, dtype=x.dtype)
    mean_max_channels_kernel[(triton.cdiv(H * W, 256), N)](x, out, C, H * W, BLOCK=256, num_warps=4)
    return out


@triton.jit
def t5_bias_kernel(s_ptr, bucket_ptr, table_ptr, o_ptr, H, Q, K, BQ: tl.constexpr, BK: tl.constexpr):
    bh = tl.program_id(2)
    q = tl.program_id(1) * BQ + tl.arange(0, BQ)
    k = tl.program_id(0) * BK + tl.arange(0, BK)
    mask = (q[:, None] < Q) & (k[None, :] < K)
    bucket = tl.load(bucket_ptr + k[None, :] - q[:, None] + Q - 1, mask=mask, other=0)
    bias = tl.load(table_ptr + bucket * H + bh % H, mask=mask, other=0.0)
    at = bh * Q * K + q[:, None] * K + k[None, :]
    s = tl.load(s_ptr + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(o_ptr + at, s + bias, mask=mask)


def t5_bias(scores, bucket, table):
    """scores is (B, H, Q, K), bucket holds the bucket of each distance from 1 - Q to K - 1, table is (buckets, H)."""
    B, H, Q, K = scores.shape
    out = torch.empty_like(scores)
    grid = (triton.cdiv(K, 128), triton.cdiv(Q, 16), B * H)
    t5_bias_kernel[grid](scores, bucket, table, out, H, Q, K, BQ=16, BK=128)
    return out


@triton.jit
def axial_position_kernel(x, rows, cols, y, H, W, C, BLOCK_W: tl.constexpr, BLOCK_C: tl.constexpr):
    bh = tl.program_id(0)
    h = bh % H
    w = tl.program_id(1) * BLOCK_W + tl.arange(0, BLOCK_W)
    c = tl.program_id(2) * BLOCK_C + tl.arange(0, BLOCK_C)
    wm = w < W
    cm = c < C
    r = tl.load(rows + h * C + c, mask=cm, other=0.0)
    k = tl.load(cols + w[:, None] * C + c[None, :], mask=wm[:, None] & cm[None, :], other=0.0)
    at = (bh * W + w[:, None]) * C + c[None, :]
    v = tl.load(x + at, mask=wm[:, None] & cm[None, :], other=0.0)
    tl.store(y + at, v + r[None, :] + k, mask=wm[:, None] & cm[None, :])


def axial_position(x, rows, cols):
    """x is (B, H, W, C), with an embedding of each row and one of each column."""
    B, H, W, C = x.shape
    y = torch.empty_like(x)
    axial_position_kernel[(B * H, triton.cdiv(W, 16), triton.cdiv(C, 128))](
        x, rows, cols, y, H, W, C, BLOCK_W=16, BLOCK_C=128
    )
    return y


@triton.jit
def random_crop_kernel(
    x_ptr, top_ptr, left_ptr, flip_ptr, y_ptr, sn, sc, sh, sw, C, h, w, BLOCK: tl.constexpr
):
    """A window of each picture at its own place, some of them mirrored."""
    n = tl.program_id(2)
    c = tl.program_id(1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < h * w
    top = tl.load(top_ptr + n)
    left = tl.load(left_ptr + n)
    flip = tl.load(flip_ptr + n)
    row = i // w
    col = i % w
    col = tl.where(flip != 0, w - 1 - col, col)
    v = tl.load(x_ptr + n * sn + c * sc + (top + row) * sh + (left + col) * sw, mask=m)
    tl.store(y_ptr + (n * C + c) * h * w + i, v, mask=m)


def random_crop(x, top, left, flip, size):
    N, C, H, W = x.shape
    y = torch.empty(N, C, size, size, device=x.device, dtype=x.dtype)
    random_crop_kernel[(triton.cdiv(size * size, 1024), C, N)](
        x, top, left, flip, y, x.stride(0), x.stride(1), x.stride(2), x.stride(3), C, size, size, BLOCK=1024
    )
    return y


@triton.jit
def _near(d, a):
    return ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0


@triton.jit
def _far(d, a):
    return ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a


@triton.jit
def bicubic_width_kernel(x_ptr, y_ptr, W, OW, ratio, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = o < OW
    at = (o.to(tl.float32) + 0.5) * ratio - 0.5
    left = tl.floor(at)
    f = at - left
    i = left.to(tl.int32)
    base = x_ptr + row * W
    v0 = tl.load(base + tl.minimum(tl.maximum(i - 1, 0), W - 1), mask=m, other=0.0).to(tl.float32)
    v1 = tl.load(base + tl.minimum(tl.maximum(i, 0), W - 1), mask=m, other=0.0).to(tl.float32)
    v2 = tl.load(base + tl.minimum(tl.maximum(i + 1, 0), W - 1), mask=m, other=0.0).to(tl.float32)
    v3 = tl.load(base + tl.minimum(tl.maximum(i + 2, 0), W - 1), mask=m, other=0.0).to(tl.float32)
    y = v0 * _far(f + 1.0, -0.75) + v1 * _near(f, -0.75) + v2 * _near(1.0 - f, -0.75) + v3 * _far(2.0 - f, -0.75)
    tl.store(y_ptr + row * OW + o, y.to(y_ptr.dtype.element_ty), mask=m)


def bicubic_width(x, factor=2):
    """Wider by a factor: four taps of each row."""
    N, C, H, W = x.shape
    y = torch.empty(N, C, H, W * factor, device=x.device, dtype=x.dtype)
    grid = (N * C * H, triton.cdiv(W * factor, 256))
    bicubic_width_kernel[grid](x, y, W, W * factor, 1.0 / factor, BLOCK=256, num_warps=2)
    return y
