"""Further kernels as people write them: dropouts, shifts, taps, windows, channels, losses."""

import torch
import triton
import triton.language as tl


@triton.jit
def relu2_glu_kernel(x_ptr, g_ptr, y_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = c < n
    x = tl.load(x_ptr + row * stride + c, mask=m, other=0.0).to(tl.float32)
    g = tl.load(g_ptr + row * stride + c, mask=m, other=0.0).to(tl.float32)
    r = tl.maximum(g, 0.0)
    tl.store(y_ptr + row * stride + c, r * r * x, mask=m)


def relu2_glu(x, g):
    y = torch.empty_like(x)
    m, n = x.shape
    relu2_glu_kernel[(m, triton.cdiv(n, 1024))](x, g, y, x.stride(0), n, BLOCK=1024)
    return y


@triton.jit
def dropout_kernel(x_ptr, y_ptr, n, p, seed, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    random = tl.rand(seed, offs)
    keep = random > p
    out = tl.where(keep, x / (1 - p), 0.0)
    tl.store(y_ptr + offs, out, mask=mask)


def dropout(x, p, seed):
    y = torch.empty_like(x)
    n = x.numel()
    dropout_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n, p, seed, BLOCK=1024)
    return y


@triton.jit
def bias_dropout_gelu_kernel(x_ptr, b_ptr, y_ptr, N, p, seed, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(x_ptr + row * N + cols, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    h = x + b
    g = 0.5 * h * (1 + tl.erf(h * 0.7071067811865475))
    keep = tl.rand(seed, row * N + cols) >= p
    y = tl.where(keep, g / (1 - p), 0.0)
    tl.store(y_ptr + row * N + cols, y, mask=mask)


def bias_dropout_gelu(x, b, p, seed):
    M, N = x.shape
    y = torch.empty_like(x)
    bias_dropout_gelu_kernel[(M,)](
        x, b, y, N, p, seed, BLOCK=triton.next_power_of_2(N), num_warps=8
    )
    return y


@triton.jit
def bias_softmax_kernel(s_ptr, b_ptr, k_ptr, p_ptr, H, T, scale, BLOCK: tl.constexpr):
    """Scores with a bias by head and a mask of keys by batch."""
    pid = tl.program_id(0)
    row = pid % T
    head = pid // T % H
    batch = pid // (T * H)
    j = tl.arange(0, BLOCK)
    m = j < T
    s = tl.load(s_ptr + pid * T + j, mask=m, other=0.0).to(tl.float32) * scale
    b = tl.load(b_ptr + (head * T + row) * T + j, mask=m, other=0.0).to(tl.float32)
    k = tl.load(k_ptr + batch * T + j, mask=m, other=0)
    s = tl.where(m & (k != 0), s + b, -1e9)
    e = tl.exp(s - tl.max(s, 0))
    e = tl.where(m, e, 0.0)
    tl.store(p_ptr + pid * T + j, e / tl.sum(e, 0), mask=m)


def bias_softmax(s, b, k, scale):
    B, H, T, _ = s.shape
    p = torch.empty_like(s)
    bias_softmax_kernel[(B * H * T,)](s, b, k, p, H, T, scale, BLOCK=triton.next_power_of_2(T))
    return p


@triton.jit
def cosine_kernel(a_ptr, b_ptr, o_ptr, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < N
    a = tl.load(a_ptr + row * N + c, mask=m, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + row * N + c, mask=m, other=0.0).to(tl.float32)
    dot = tl.sum(a * b, 0)
    na = tl.sqrt(tl.sum(a * a, 0))
    nb = tl.sqrt(tl.sum(b * b, 0))
    tl.store(o_ptr + row, dot / tl.maximum(na * nb, eps))


def cosine(a, b, eps=1e-8):
    M, N = a.shape
    o = torch.empty(M, device=a.device, dtype=torch.float32)
    cosine_kernel[(M,)](a, b, o, N, eps, BLOCK=triton.next_power_of_2(N))
    return o


@triton.jit
def weighted_mse_kernel(x_ptr, t_ptr, w_ptr, o_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, N, BLOCK):
        c = start + tl.arange(0, BLOCK)
        m = c < N
        x = tl.load(x_ptr + row * N + c, mask=m, other=0.0).to(tl.float32)
        t = tl.load(t_ptr + row * N + c, mask=m, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + c, mask=m, other=0.0).to(tl.float32)
        total += tl.sum(w * (x - t) * (x - t))
    tl.store(o_ptr + row, total / N)


def weighted_mse(x, t, w):
    M, N = x.shape
    o = torch.empty(M, device=x.device, dtype=torch.float32)
    weighted_mse_kernel[(M,)](x, t, w, o, N, BLOCK=1024)
    return o


@triton.jit
def lerp_kernel(a_ptr, b_ptr, w_ptr, y_ptr, n, C, BLOCK: tl.constexpr):
    """Two tensors mixed by a learned gate of each channel (last axis)."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    a = tl.load(a_ptr + i, mask=m).to(tl.float32)
    b = tl.load(b_ptr + i, mask=m).to(tl.float32)
    g = tl.sigmoid(tl.load(w_ptr + i % C, mask=m).to(tl.float32))
    tl.store(y_ptr + i, a + g * (b - a), mask=m)


def lerp(a, b, w):
    y = torch.empty_like(a)
    n = a.numel()
    lerp_kernel[(triton.cdiv(n, 1024),)](a, b, w, y, n, w.numel(), BLOCK=1024)
    return y


@triton.jit
def channel_bias_kernel(x_ptr, b_ptr, y_ptr, C, HW, BLOCK: tl.constexpr):
    """A program for a part of a plane."""
    nc = tl.program_id(0)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = i < HW
    b = tl.load(b_ptr + nc % C)
    x = tl.load(x_ptr + nc * HW + i, mask=m)
    tl.store(y_ptr + nc * HW + i, tl.maximum(x + b, 0.0), mask=m)


def channel_bias(x, b):
    N, C, H, W = x.shape
    y = torch.empty_like(x)
    channel_bias_kernel[(N * C, triton.cdiv(H * W, 1024))](x, b, y, C, H * W, BLOCK=1024)
    return y


@triton.jit
def running_mean_kernel(x_ptr, y_ptr, T, W: tl.constexpr, BLOCK: tl.constexpr):
    """The mean of the last W elements of a row, with zeros in front."""
    row = tl.program_id(0)
    t = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in tl.static_range(W):
        acc += tl.load(x_ptr + row * T + t - k, mask=(t < T) & (t - k >= 0), other=0.0).to(
            tl.float32
        )
    tl.store(y_ptr + row * T + t, acc / W, mask=t < T)


def running_mean(x, window=5):
    M, T = x.shape
    y = torch.empty_like(x)
    running_mean_kernel[(M, triton.cdiv(T, 1024))](x, y, T, W=window, BLOCK=1024)
    return y


@triton.jit
def pool_rows_kernel(x_ptr, y_ptr, H, W, OW, K: tl.constexpr, BLOCK: tl.constexpr):
    """Mean of K by K windows, a program for a row of an image."""
    plane = tl.program_id(0)
    oh = tl.program_id(1)
    ow = tl.arange(0, BLOCK)
    m = ow < OW
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for kh in tl.static_range(K):
        for kw in tl.static_range(K):
            acc += tl.load(
                x_ptr + (plane * H + oh * K + kh) * W + ow * K + kw, mask=m, other=0.0
            ).to(tl.float32)
    tl.store(y_ptr + (plane * (H // K) + oh) * OW + ow, acc / (K * K), mask=m)


def pool_rows(x, k=2):
    N, C, H, W = x.shape
    y = torch.empty(N, C, H // k, W // k, device=x.device, dtype=x.dtype)
    pool_rows_kernel[(N * C, H // k)](x, y, H, W, W // k, K=k, BLOCK=triton.next_power_of_2(W // k))
    return y


@triton.jit
def rwkv_shift_kernel(x_ptr, mk_ptr, mr_ptr, k_ptr, r_ptr, T, C, BLOCK: tl.constexpr):
    """RWKV's mix of a token and the one before, for key and receptance."""
    b = tl.program_id(0)
    t = tl.program_id(1)
    c = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)
    keep = c < C
    at = (b * T + t) * C + c
    x = tl.load(x_ptr + at, mask=keep, other=0.0).to(tl.float32)
    last = tl.load(x_ptr + at - C, mask=keep & (t > 0), other=0.0).to(tl.float32)
    mk = tl.load(mk_ptr + c, mask=keep, other=0.0).to(tl.float32)
    mr = tl.load(mr_ptr + c, mask=keep, other=0.0).to(tl.float32)
    tl.store(k_ptr + at, x * mk + last * (1 - mk), mask=keep)
    tl.store(r_ptr + at, x * mr + last * (1 - mr), mask=keep)


def rwkv_shift(x, mk, mr):
    B, T, C = x.shape
    k = torch.empty_like(x)
    r = torch.empty_like(x)
    rwkv_shift_kernel[(B, T, triton.cdiv(C, 1024))](x, mk, mr, k, r, T, C, BLOCK=1024)
    return k, r


@triton.jit
def upsample_kernel(x_ptr, y_ptr, H, W, OH, OW, n, S: tl.constexpr, BLOCK: tl.constexpr):
    """Nearest neighbour, an element of the larger image a lane."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    ow = i % OW
    oh = i // OW % OH
    plane = i // (OW * OH)
    x = tl.load(x_ptr + (plane * H + oh // S) * W + ow // S, mask=m)
    tl.store(y_ptr + i, x, mask=m)


def upsample(x, scale=2):
    N, C, H, W = x.shape
    y = torch.empty(N, C, H * scale, W * scale, device=x.device, dtype=x.dtype)
    n = y.numel()
    upsample_kernel[(triton.cdiv(n, 1024),)](
        x, y, H, W, H * scale, W * scale, n, S=scale, BLOCK=1024
    )
    return y


@triton.jit
def group_norm_tile_kernel(
    x_ptr,
    w_ptr,
    b_ptr,
    y_ptr,
    groups,
    HW,
    eps,
    CG: tl.constexpr,
    BLOCK_C: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """A program for a group: channels by pixels."""
    n = tl.program_id(0)
    g = tl.program_id(1)
    c = tl.arange(0, BLOCK_C)
    i = tl.arange(0, BLOCK)
    keep = (c[:, None] < CG) & (i[None, :] < HW)
    at = ((n * groups + g) * CG + c[:, None]) * HW + i[None, :]
    x = tl.load(x_ptr + at, mask=keep, other=0.0).to(tl.float32)
    count = CG * HW
    mean = tl.sum(x) / count
    d = tl.where(keep, x - mean, 0.0)
    r = tl.rsqrt(tl.sum(d * d) / count + eps)
    w = tl.load(w_ptr + g * CG + c, mask=c < CG, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + g * CG + c, mask=c < CG, other=0.0).to(tl.float32)
    tl.store(y_ptr + at, d * r * w[:, None] + b[:, None], mask=keep)


def group_norm_tile(x, w, b, groups=32, eps=1e-5):
    N, C, H, W = x.shape
    y = torch.empty_like(x)
    cg = C // groups
    group_norm_tile_kernel[(N, groups)](
        x,
        w,
        b,
        y,
        groups,
        H * W,
        eps,
        CG=cg,
        BLOCK_C=triton.next_power_of_2(cg),
        BLOCK=triton.next_power_of_2(H * W),
        num_warps=8,
    )
    return y


@triton.jit
def batch_norm_apply_kernel(
    x_ptr, mean_ptr, var_ptr, w_ptr, b_ptr, y_ptr, C, HW, eps, BLOCK: tl.constexpr
):
    """Batch norm with statistics that are given."""
    plane = tl.program_id(0)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    c = plane % C
    m = i < HW
    mean = tl.load(mean_ptr + c)
    r = tl.rsqrt(tl.load(var_ptr + c) + eps)
    x = tl.load(x_ptr + plane * HW + i, mask=m).to(tl.float32)
    tl.store(
        y_ptr + plane * HW + i, (x - mean) * r * tl.load(w_ptr + c) + tl.load(b_ptr + c), mask=m
    )


def batch_norm_apply(x, mean, var, w, b, eps=1e-5):
    N, C, H, W = x.shape
    y = torch.empty_like(x)
    batch_norm_apply_kernel[(N * C, triton.cdiv(H * W, 2048))](
        x, mean, var, w, b, y, C, H * W, eps, BLOCK=2048
    )
    return y


@triton.jit
def depthwise_kernel(x_ptr, w_ptr, y_ptr, C, H, W, BLOCK: tl.constexpr):
    """Depthwise 3 by 3, padding 1, a program for a row of a plane."""
    plane = tl.program_id(0)
    h = tl.program_id(1)
    c = plane % C
    w = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for i in tl.static_range(3):
        for j in tl.static_range(3):
            hh = h + i - 1
            ww = w + j - 1
            m = (hh >= 0) & (hh < H) & (ww >= 0) & (ww < W)
            x = tl.load(x_ptr + (plane * H + hh) * W + ww, mask=m, other=0.0).to(tl.float32)
            acc += x * tl.load(w_ptr + c * 9 + i * 3 + j).to(tl.float32)
    tl.store(y_ptr + (plane * H + h) * W + w, acc, mask=w < W)


def depthwise(x, weight):
    N, C, H, W = x.shape
    y = torch.empty_like(x)
    depthwise_kernel[(N * C, H)](x, weight, y, C, H, W, BLOCK=triton.next_power_of_2(W))
    return y


@triton.jit
def shift_flat_kernel(x_ptr, y_ptr, n, T, C, BLOCK: tl.constexpr):
    """The difference of neighbours along time, all elements by one number."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    t = i // C % T
    x = tl.load(x_ptr + i, mask=m, other=0.0).to(tl.float32)
    p = tl.load(x_ptr + i - C, mask=m & (t > 0), other=0.0).to(tl.float32)
    tl.store(y_ptr + i, x - 0.97 * p, mask=m)


def shift_flat(x):
    B, T, C = x.shape
    y = torch.empty_like(x)
    n = x.numel()
    shift_flat_kernel[(triton.cdiv(n, 1024),)](x, y, n, T, C, BLOCK=1024)
    return y


@triton.jit
def total_variation_kernel(x_ptr, o_ptr, H, W, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    h = tl.program_id(1)
    w = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + (plane * H + h) * W + w, mask=w < W, other=0.0).to(tl.float32)
    right = tl.load(x_ptr + (plane * H + h) * W + w + 1, mask=w + 1 < W, other=0.0).to(tl.float32)
    below = tl.load(x_ptr + (plane * H + h + 1) * W + w, mask=(w < W) & (h + 1 < H), other=0.0).to(
        tl.float32
    )
    dx = tl.where(w + 1 < W, right - x, 0.0)
    dy = tl.where((w < W) & (h + 1 < H), below - x, 0.0)
    tl.store(o_ptr + plane * H + h, tl.sum(dx * dx + dy * dy))


def total_variation(x):
    N, C, H, W = x.shape
    o = torch.empty(N, C, H, device=x.device, dtype=torch.float32)
    total_variation_kernel[(N * C, H)](x, o, H, W, BLOCK=triton.next_power_of_2(W))
    return o


@triton.jit
def conv_bld_kernel(x_ptr, w_ptr, b_ptr, y_ptr, L, D, K: tl.constexpr, BLOCK: tl.constexpr):
    """Causal convolution of (B, D, L): a program for a channel, lanes along time."""
    b = tl.program_id(0)
    d = tl.program_id(1)
    t = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), dtype=tl.float32) + tl.load(b_ptr + d).to(tl.float32)
    for k in tl.static_range(K):
        s = t - (K - 1) + k
        x = tl.load(x_ptr + (b * D + d) * L + s, mask=(s >= 0) & (s < L), other=0.0).to(tl.float32)
        acc += x * tl.load(w_ptr + d * K + k).to(tl.float32)
    tl.store(y_ptr + (b * D + d) * L + t, acc * tl.sigmoid(acc), mask=t < L)


def conv_bld(x, w, bias):
    B, D, L = x.shape
    y = torch.empty_like(x)
    conv_bld_kernel[(B, D, triton.cdiv(L, 1024))](x, w, bias, y, L, D, K=w.shape[1], BLOCK=1024)
    return y


@triton.jit
def hinge_kernel(x_ptr, t_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x = tl.load(x_ptr + i, mask=m, other=0.0)
    t = tl.load(t_ptr + i, mask=m, other=0.0)
    tl.store(o_ptr + i, tl.maximum(1 - x * t, 0.0), mask=m)


def hinge(x, t):
    o = torch.empty_like(x)
    n = x.numel()
    hinge_kernel[(triton.cdiv(n, 1024),)](x, t, o, n, BLOCK=1024)
    return o


@triton.jit
def rms_residual_kernel(x_ptr, r_ptr, w_ptr, y_ptr, s_ptr, N, eps, BLOCK: tl.constexpr):
    """The sum first, rows in a loop over blocks."""
    row = tl.program_id(0)
    sq = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, N, BLOCK):
        c = off + tl.arange(0, BLOCK)
        m = c < N
        x = tl.load(x_ptr + row * N + c, mask=m, other=0.0).to(tl.float32)
        x += tl.load(r_ptr + row * N + c, mask=m, other=0.0).to(tl.float32)
        tl.store(s_ptr + row * N + c, x, mask=m)
        sq += x * x
    rstd = tl.rsqrt(tl.sum(sq, 0) / N + eps)
    for off in range(0, N, BLOCK):
        c = off + tl.arange(0, BLOCK)
        m = c < N
        s = tl.load(s_ptr + row * N + c, mask=m, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + c, mask=m, other=0.0).to(tl.float32)
        tl.store(y_ptr + row * N + c, s * rstd * w, mask=m)


def rms_residual(x, r, w, eps=1e-6):
    M, N = x.shape
    y = torch.empty_like(x)
    s = torch.empty_like(x)
    rms_residual_kernel[(M,)](x, r, w, y, s, N, eps, BLOCK=1024)
    return y, s


@triton.jit
def log_cosh_kernel(x_ptr, t_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    d = tl.load(x_ptr + i, mask=m, other=0.0).to(tl.float32) - tl.load(
        t_ptr + i, mask=m, other=0.0
    ).to(tl.float32)
    a = tl.abs(d)
    tl.store(o_ptr + i, a + tl.log(1 + tl.exp(-2 * a)) - 0.6931471805599453, mask=m)


def log_cosh(x, t):
    o = torch.empty_like(x)
    n = x.numel()
    log_cosh_kernel[(triton.cdiv(n, 1024),)](x, t, o, n, BLOCK=1024)
    return o


@triton.jit
def roll_kernel(x_ptr, y_ptr, N, shift, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < N
    x = tl.load(x_ptr + row * N + (c + shift) % N, mask=m)
    tl.store(y_ptr + row * N + c, x * x, mask=m)


def roll(x, shift):
    y = torch.empty_like(x)
    roll_kernel[(x.shape[0],)](x, y, x.shape[1], shift, BLOCK=triton.next_power_of_2(x.shape[1]))
    return y


@triton.jit
def max_pool_kernel(x_ptr, y_ptr, H, W, OH, OW, total, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = i < total
    ow = i % OW
    oh = (i // OW) % OH
    plane = i // (OW * OH)
    best = tl.full((BLOCK,), float("-inf"), tl.float32)
    for a in tl.static_range(2):
        for b in tl.static_range(2):
            v = tl.load(
                x_ptr + (plane * H + oh * 2 + a) * W + ow * 2 + b, mask=ok, other=float("-inf")
            ).to(tl.float32)
            best = tl.maximum(best, v)
    tl.store(y_ptr + i, best, mask=ok)


def max_pool(x):
    N, C, H, W = x.shape
    y = torch.empty(N, C, H // 2, W // 2, device=x.device, dtype=x.dtype)
    total = y.numel()
    max_pool_kernel[(triton.cdiv(total, 1024),)](x, y, H, W, H // 2, W // 2, total, BLOCK=1024)
    return y


@triton.jit
def pixel_shuffle_kernel(x_ptr, y_ptr, C, H, W, n, R: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    w = i % (W * R)
    h = i // (W * R) % (H * R)
    c = i // (W * R * H * R)
    at = ((c * R * R + (h % R) * R + w % R) * H + h // R) * W + w // R
    tl.store(y_ptr + i, tl.load(x_ptr + at, mask=m), mask=m)


def pixel_shuffle(x, r=2):
    N, C, H, W = x.shape
    y = torch.empty(N, C // (r * r), H * r, W * r, device=x.device, dtype=x.dtype)
    n = y.numel()
    pixel_shuffle_kernel[(triton.cdiv(n, 1024),)](x, y, C // (r * r), H, W, n, R=r, BLOCK=1024)
    return y


@triton.jit
def group_norm_flat_kernel(x_ptr, w_ptr, b_ptr, y_ptr, HW, CG, G, eps, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    g = pid % G
    n = CG * HW
    offs = tl.arange(0, BLOCK)
    m = offs < n
    x = tl.load(x_ptr + pid * n + offs, mask=m, other=0.0).to(tl.float32)
    mean = tl.sum(x, 0) / n
    d = tl.where(m, x - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(d * d, 0) / n + eps)
    c = g * CG + offs // HW
    w = tl.load(w_ptr + c, mask=m, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + c, mask=m, other=0.0).to(tl.float32)
    tl.store(y_ptr + pid * n + offs, d * rstd * w + b, mask=m)


def group_norm_flat(x, w, b, groups=32, eps=1e-5):
    N, C, H, W = x.shape
    y = torch.empty_like(x)
    cg = C // groups
    group_norm_flat_kernel[(N * groups,)](x, w, b, y, H * W, cg, groups, eps, BLOCK=triton.next_power_of_2(cg * H * W))
    return y
