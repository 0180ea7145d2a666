"""Kernels written before anybody looked at what is derived of them: copies, pools, gates, norms by channel, losses."""

import torch
import triton
import triton.language as tl


@triton.jit
def mish_kernel(x_ptr, y_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    sp = tl.where(x > 20.0, x, tl.log(1.0 + tl.exp(x)))
    e = tl.exp(-2.0 * sp)
    tl.store(y_ptr + offs, x * (1.0 - e) / (1.0 + e), mask=mask)


def mish(x):
    y = torch.empty_like(x)
    n = x.numel()
    mish_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK_SIZE=1024)
    return y


@triton.jit
def hardswish_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    step = tl.num_programs(0) * BLOCK
    for base in range(start, n, step):
        i = base + tl.arange(0, BLOCK)
        m = i < n
        x = tl.load(x_ptr + i, mask=m, other=0.0).to(tl.float32)
        tl.store(y_ptr + i, x * tl.minimum(tl.maximum(x + 3.0, 0.0), 6.0) / 6.0, mask=m)


def hardswish(x):
    y = torch.empty_like(x)
    n = x.numel()
    hardswish_kernel[(min(1024, triton.cdiv(n, 2048)),)](x, y, n, BLOCK=2048)
    return y


@triton.jit
def swiglu_pairs_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Gate and value lie side by side, element for element."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    g = tl.load(x_ptr + 2 * i, mask=m, other=0.0).to(tl.float32)
    u = tl.load(x_ptr + 2 * i + 1, mask=m, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, g * tl.sigmoid(g) * u, mask=m)


def swiglu_pairs(x):
    y = torch.empty(*x.shape[:-1], x.shape[-1] // 2, device=x.device, dtype=x.dtype)
    n = y.numel()
    swiglu_pairs_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
    return y


@triton.jit
def glu_channels_kernel(x_ptr, y_ptr, C, L, n, BLOCK: tl.constexpr):
    """Halves along the channels of (B, 2C, L)."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    b = i // (C * L)
    rest = i % (C * L)
    a = tl.load(x_ptr + b * 2 * C * L + rest, mask=m, other=0.0).to(tl.float32)
    g = tl.load(x_ptr + b * 2 * C * L + C * L + rest, mask=m, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, a * tl.sigmoid(g), mask=m)


def glu_channels(x):
    B, C2, L = x.shape
    y = torch.empty(B, C2 // 2, L, device=x.device, dtype=x.dtype)
    n = y.numel()
    glu_channels_kernel[(triton.cdiv(n, 1024),)](x, y, C2 // 2, L, n, BLOCK=1024)
    return y


@triton.jit
def instance_norm_kernel(x_ptr, w_ptr, b_ptr, y_ptr, C, HW, eps, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    c = pid % C
    base = pid * HW
    s = tl.zeros([BLOCK], dtype=tl.float32)
    q = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, HW, BLOCK):
        i = off + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + base + i, mask=i < HW, other=0.0).to(tl.float32)
        s += x
        q += x * x
    mean = tl.sum(s) / HW
    var = tl.sum(q) / HW - mean * mean
    rstd = 1.0 / tl.sqrt(var + eps)
    w = tl.load(w_ptr + c).to(tl.float32)
    b = tl.load(b_ptr + c).to(tl.float32)
    for off in range(0, HW, BLOCK):
        i = off + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + base + i, mask=i < HW, other=0.0).to(tl.float32)
        tl.store(y_ptr + base + i, (x - mean) * rstd * w + b, mask=i < HW)


def instance_norm(x, w, b, eps=1e-5):
    N, C, H, W = x.shape
    y = torch.empty_like(x)
    instance_norm_kernel[(N * C,)](x, w, b, y, C, H * W, eps, BLOCK=1024)
    return y


@triton.jit
def weight_norm_kernel(v_ptr, g_ptr, w_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    v = tl.load(v_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    g = tl.load(g_ptr + row).to(tl.float32)
    norm = tl.sqrt(tl.sum(v * v, axis=0))
    tl.store(w_ptr + row * n_cols + cols, g * v / norm, mask=mask)


def weight_norm(v, g):
    w = torch.empty_like(v)
    rows, cols = v.shape
    weight_norm_kernel[(rows,)](v, g, w, cols, BLOCK=triton.next_power_of_2(cols), num_warps=8)
    return w


@triton.jit
def keep_add_norm_kernel(
    x_ptr, r_ptr, keep_ptr, w_ptr, b_ptr, y_ptr, s_ptr, N, scale, eps, BLOCK: tl.constexpr
):
    """Dropout with a mask that is given, the residual, then a layer norm of the sum; both are kept."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    m = cols < N
    at = row * N + cols
    x = tl.load(x_ptr + at, mask=m, other=0.0).to(tl.float32)
    r = tl.load(r_ptr + at, mask=m, other=0.0).to(tl.float32)
    keep = tl.load(keep_ptr + at, mask=m, other=0)
    s = tl.where(keep != 0, x * scale, 0.0) + r
    tl.store(s_ptr + at, s, mask=m)
    mean = tl.sum(s, axis=0) / N
    d = tl.where(m, s - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(d * d, axis=0) / N + eps)
    w = tl.load(w_ptr + cols, mask=m).to(tl.float32)
    b = tl.load(b_ptr + cols, mask=m).to(tl.float32)
    tl.store(y_ptr + at, d * rstd * w + b, mask=m)


def keep_add_norm(x, r, keep, w, b, p=0.1, eps=1e-5):
    M, N = x.shape
    y = torch.empty_like(x)
    s = torch.empty_like(x)
    keep_add_norm_kernel[(M,)](
        x,
        r,
        keep,
        w,
        b,
        y,
        s,
        N,
        1.0 / (1.0 - p),
        eps,
        BLOCK=triton.next_power_of_2(N),
        num_warps=8,
    )
    return y, s


@triton.jit
def sum_middle_kernel(x_ptr, y_ptr, B, C, BLOCK_C: tl.constexpr):
    a = tl.program_id(0)
    c = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    mask = c < C
    acc = tl.zeros((BLOCK_C,), dtype=tl.float32)
    for b in range(B):
        x = tl.load(x_ptr + (a * B + b) * C + c, mask=mask, other=0.0).to(tl.float32)
        acc += x * x
    tl.store(y_ptr + a * C + c, acc, mask=mask)


def sum_middle(x):
    A, B, C = x.shape
    y = torch.empty(A, C, device=x.device, dtype=x.dtype)
    sum_middle_kernel[(A, triton.cdiv(C, 256))](x, y, B, C, BLOCK_C=256)
    return y


@triton.jit
def weighted_pool_kernel(x_ptr, p_ptr, y_ptr, T, C, BLOCK_T: tl.constexpr, BLOCK_C: tl.constexpr):
    """A weighted mean over time: tiles of time by channels."""
    b = tl.program_id(0)
    c = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    acc = tl.zeros((BLOCK_C,), dtype=tl.float32)
    for start in range(0, T, BLOCK_T):
        t = start + tl.arange(0, BLOCK_T)
        keep = (t[:, None] < T) & (c[None, :] < C)
        x = tl.load(x_ptr + (b * T + t[:, None]) * C + c[None, :], mask=keep, other=0.0).to(
            tl.float32
        )
        p = tl.load(p_ptr + b * T + t, mask=t < T, other=0.0).to(tl.float32)
        acc += tl.sum(x * p[:, None], axis=0)
    tl.store(y_ptr + b * C + c, acc, mask=c < C)


def weighted_pool(x, p):
    B, T, C = x.shape
    y = torch.empty(B, C, device=x.device, dtype=x.dtype)
    weighted_pool_kernel[(B, triton.cdiv(C, 64))](x, p, y, T, C, BLOCK_T=32, BLOCK_C=64)
    return y


@triton.jit
def channel_softmax_kernel(x_ptr, y_ptr, C, HW, BLOCK_C: tl.constexpr, BLOCK: tl.constexpr):
    """Softmax over the channels of (N, C, H, W)."""
    n = tl.program_id(0)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    c = tl.arange(0, BLOCK_C)
    at = (n * C + c[:, None]) * HW + i[None, :]
    mask = (c[:, None] < C) & (i[None, :] < HW)
    x = tl.load(x_ptr + at, mask=mask, other=-float("inf")).to(tl.float32)
    x = x - tl.max(x, axis=0)[None, :]
    e = tl.exp(x)
    tl.store(y_ptr + at, e / tl.sum(e, axis=0)[None, :], mask=mask)


def channel_softmax(x):
    N, C, H, W = x.shape
    y = torch.empty_like(x)
    channel_softmax_kernel[(N, triton.cdiv(H * W, 128))](
        x, y, C, H * W, BLOCK_C=triton.next_power_of_2(C), BLOCK=128
    )
    return y


@triton.jit
def flip_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = cols < N
    x = tl.load(x_ptr + row * N + (N - 1 - cols), mask=m)
    tl.store(y_ptr + row * N + cols, x, mask=m)


def flip(x):
    y = torch.empty_like(x)
    M, N = x.shape
    flip_kernel[(M, triton.cdiv(N, 1024))](x, y, N, BLOCK=1024)
    return y


@triton.jit
def cyclic_shift_kernel(x_ptr, y_ptr, H, W, C, sh, sw, BLOCK: tl.constexpr):
    """Windows that are moved around the edges of (B, H, W, C): a program for a pixel."""
    pid = tl.program_id(0)
    w = pid % W
    h = pid // W % H
    b = pid // (W * H)
    src = (b * H + (h + sh) % H) * W + (w + sw) % W
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + src * C + c, mask=c < C)
    tl.store(y_ptr + pid * C + c, x, mask=c < C)


def cyclic_shift(x, sh, sw):
    B, H, W, C = x.shape
    y = torch.empty_like(x)
    cyclic_shift_kernel[(B * H * W,)](x, y, H, W, C, sh, sw, BLOCK=triton.next_power_of_2(C))
    return y


@triton.jit
def transpose_kernel(x_ptr, y_ptr, M, N, scale, BM: tl.constexpr, BN: tl.constexpr):
    b = tl.program_id(2)
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    x = tl.load(x_ptr + b * M * N + rm[:, None] * N + rn[None, :], mask=mask)
    tl.store(
        y_ptr + b * M * N + rn[:, None] * M + rm[None, :],
        tl.trans(x) * scale,
        mask=(rn[:, None] < N) & (rm[None, :] < M),
    )


def transpose(x, scale):
    B, M, N = x.shape
    y = torch.empty(B, N, M, device=x.device, dtype=x.dtype)
    transpose_kernel[(triton.cdiv(M, 64), triton.cdiv(N, 64), B)](x, y, M, N, scale, BM=64, BN=64)
    return y


@triton.jit
def split_heads_kernel(x_ptr, y_ptr, T, H, D, n, scale, BLOCK: tl.constexpr):
    """(B, T, H, D) to (B, H, T, D), element by element of the output, scaled."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    d = i % D
    t = (i // D) % T
    h = (i // (D * T)) % H
    b = i // (D * T * H)
    x = tl.load(x_ptr + ((b * T + t) * H + h) * D + d, mask=m)
    tl.store(y_ptr + i, x * scale, mask=m)


def split_heads(x, scale):
    B, T, H, D = x.shape
    y = torch.empty(B, H, T, D, device=x.device, dtype=x.dtype)
    n = y.numel()
    split_heads_kernel[(triton.cdiv(n, 1024),)](x, y, T, H, D, n, scale, BLOCK=1024)
    return y


@triton.jit
def pad_kernel(x_ptr, y_ptr, H, W, OH, OW, P, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    ow = i % OW
    oh = i // OW % OH
    plane = i // (OW * OH)
    h = oh - P
    w = ow - P
    inside = (h >= 0) & (h < H) & (w >= 0) & (w < W)
    x = tl.load(x_ptr + (plane * H + h) * W + w, mask=m & inside, other=0.0)
    tl.store(y_ptr + i, x, mask=m)


def pad(x, p):
    N, C, H, W = x.shape
    y = torch.empty(N, C, H + 2 * p, W + 2 * p, device=x.device, dtype=x.dtype)
    n = y.numel()
    pad_kernel[(triton.cdiv(n, 1024),)](x, y, H, W, H + 2 * p, W + 2 * p, p, n, BLOCK=1024)
    return y


@triton.jit
def repeat_kv_kernel(x_ptr, y_ptr, T, D, R, BLOCK: tl.constexpr):
    """Heads of keys repeated for groups of queries: a program for a head of the output and a block of it."""
    head = tl.program_id(0)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = i < T * D
    x = tl.load(x_ptr + (head // R) * T * D + i, mask=m)
    tl.store(y_ptr + head * T * D + i, x, mask=m)


def repeat_kv(x, r):
    B, H, T, D = x.shape
    y = torch.empty(B, H * r, T, D, device=x.device, dtype=x.dtype)
    repeat_kv_kernel[(B * H * r, triton.cdiv(T * D, 2048))](x, y, T, D, r, BLOCK=2048)
    return y


@triton.jit
def bilinear_kernel(x_ptr, y_ptr, H, W, OH, OW, sh, sw, n, BLOCK: tl.constexpr):
    """Bilinear interpolation, corners not aligned."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    ow = i % OW
    oh = i // OW % OH
    plane = i // (OW * OH)
    fy = tl.maximum((oh + 0.5) * sh - 0.5, 0.0)
    fx = tl.maximum((ow + 0.5) * sw - 0.5, 0.0)
    y0 = fy.to(tl.int32)
    x0 = fx.to(tl.int32)
    y1 = tl.minimum(y0 + 1, H - 1)
    x1 = tl.minimum(x0 + 1, W - 1)
    ly = fy - y0
    lx = fx - x0
    base = x_ptr + plane * H * W
    a = tl.load(base + y0 * W + x0, mask=m, other=0.0).to(tl.float32)
    b = tl.load(base + y0 * W + x1, mask=m, other=0.0).to(tl.float32)
    c = tl.load(base + y1 * W + x0, mask=m, other=0.0).to(tl.float32)
    d = tl.load(base + y1 * W + x1, mask=m, other=0.0).to(tl.float32)
    top = a + (b - a) * lx
    bottom = c + (d - c) * lx
    tl.store(y_ptr + i, top + (bottom - top) * ly, mask=m)


def bilinear(x, scale=2):
    N, C, H, W = x.shape
    y = torch.empty(N, C, H * scale, W * scale, device=x.device, dtype=x.dtype)
    n = y.numel()
    bilinear_kernel[(triton.cdiv(n, 1024),)](
        x, y, H, W, H * scale, W * scale, 1.0 / scale, 1.0 / scale, n, BLOCK=1024
    )
    return y


@triton.jit
def pool_last_kernel(x_ptr, y_ptr, H, W, C, OH, OW, BLOCK: tl.constexpr):
    """Mean of 2 by 2 pixels, channels last: a program for an output pixel."""
    pid = tl.program_id(0)
    ow = pid % OW
    oh = pid // OW % OH
    b = pid // (OW * OH)
    c = tl.arange(0, BLOCK)
    m = c < C
    first = x_ptr + ((b * H + 2 * oh) * W + 2 * ow) * C + c
    acc = tl.load(first, mask=m, other=0.0).to(tl.float32)
    acc += tl.load(first + C, mask=m, other=0.0).to(tl.float32)
    acc += tl.load(first + W * C, mask=m, other=0.0).to(tl.float32)
    acc += tl.load(first + W * C + C, mask=m, other=0.0).to(tl.float32)
    tl.store(y_ptr + pid * C + c, acc * 0.25, mask=m)


def pool_last(x):
    B, H, W, C = x.shape
    y = torch.empty(B, H // 2, W // 2, C, device=x.device, dtype=x.dtype)
    pool_last_kernel[(B * (H // 2) * (W // 2),)](
        x, y, H, W, C, H // 2, W // 2, BLOCK=triton.next_power_of_2(C)
    )
    return y


@triton.jit
def rope_pairs_kernel(
    x_ptr, cos_ptr, sin_ptr, y_ptr, T, H, D, BLOCK_H: tl.constexpr, BLOCK_D: tl.constexpr
):
    """Neighbours are turned together: a program for a token, all of its heads."""
    pid = tl.program_id(0)
    t = pid % T
    h = tl.arange(0, BLOCK_H)
    d = tl.arange(0, BLOCK_D)
    half = D // 2
    cos = tl.load(cos_ptr + t * half + d, mask=d < half, other=0.0).to(tl.float32)
    sin = tl.load(sin_ptr + t * half + d, mask=d < half, other=0.0).to(tl.float32)
    at = (pid * H + h[:, None]) * D + 2 * d[None, :]
    m = (h[:, None] < H) & (d[None, :] < half)
    a = tl.load(x_ptr + at, mask=m, other=0.0).to(tl.float32)
    b = tl.load(x_ptr + at + 1, mask=m, other=0.0).to(tl.float32)
    tl.store(y_ptr + at, a * cos[None, :] - b * sin[None, :], mask=m)
    tl.store(y_ptr + at + 1, a * sin[None, :] + b * cos[None, :], mask=m)


def rope_pairs(x, cos, sin):
    B, T, H, D = x.shape
    y = torch.empty_like(x)
    rope_pairs_kernel[(B * T,)](
        x,
        cos,
        sin,
        y,
        T,
        H,
        D,
        BLOCK_H=triton.next_power_of_2(H),
        BLOCK_D=triton.next_power_of_2(D // 2),
    )
    return y


@triton.jit
def film_kernel(x_ptr, g_ptr, b_ptr, y_ptr, HW, BLOCK: tl.constexpr):
    """A scale and a shift for each plane of (N, C, H, W)."""
    plane = tl.program_id(0)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = i < HW
    g = tl.load(g_ptr + plane).to(tl.float32)
    b = tl.load(b_ptr + plane).to(tl.float32)
    x = tl.load(x_ptr + plane * HW + i, mask=m, other=0.0).to(tl.float32)
    tl.store(y_ptr + plane * HW + i, x * (1.0 + g) + b, mask=m)


def film(x, g, b):
    N, C, H, W = x.shape
    y = torch.empty_like(x)
    film_kernel[(N * C, triton.cdiv(H * W, 1024))](x, g, b, y, H * W, BLOCK=1024)
    return y


@triton.jit
def tanh_gate_kernel(x_ptr, h_ptr, a_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """One learned number gates a branch."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    a = tl.load(a_ptr).to(tl.float32)
    gate = 2.0 * tl.sigmoid(2.0 * a) - 1.0
    x = tl.load(x_ptr + i, mask=m, other=0.0).to(tl.float32)
    h = tl.load(h_ptr + i, mask=m, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, x + gate * h, mask=m)


def tanh_gate(x, h, a):
    y = torch.empty_like(x)
    n = x.numel()
    tanh_gate_kernel[(triton.cdiv(n, 1024),)](x, h, a, y, n, BLOCK=1024)
    return y


@triton.jit
def bias_sigmoid_gate_kernel(x_ptr, r_ptr, b_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (rm < M)[:, None] & (rn < N)[None, :]
    at = rm[:, None] * N + rn[None, :]
    b = tl.load(b_ptr + rn, mask=rn < N, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32) + b[None, :]
    r = tl.load(r_ptr + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + at, r + x * tl.sigmoid(x), mask=mask)


def bias_sigmoid_gate(x, r, b):
    M, N = x.shape
    y = torch.empty_like(x)
    bias_sigmoid_gate_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 128))](
        x, r, b, y, M, N, BM=32, BN=128
    )
    return y


@triton.jit
def expert_scale_kernel(x_ptr, s_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """Each row by its router's weight: several rows a program, columns in a loop."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    s = tl.load(s_ptr + rows, mask=rows < M, other=0.0).to(tl.float32)
    for start in range(0, N, BN):
        cols = start + tl.arange(0, BN)
        mask = (rows[:, None] < M) & (cols[None, :] < N)
        at = rows[:, None] * N + cols[None, :]
        x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
        tl.store(y_ptr + at, x * s[:, None], mask=mask)


def expert_scale(x, s):
    M, N = x.shape
    y = torch.empty_like(x)
    expert_scale_kernel[(triton.cdiv(M, 8),)](x, s, y, M, N, BM=8, BN=256)
    return y


@triton.jit
def triplet_kernel(a_ptr, p_ptr, n_ptr, o_ptr, N, margin, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    m = cols < N
    a = tl.load(a_ptr + row * N + cols, mask=m, other=0.0).to(tl.float32)
    p = tl.load(p_ptr + row * N + cols, mask=m, other=0.0).to(tl.float32)
    n = tl.load(n_ptr + row * N + cols, mask=m, other=0.0).to(tl.float32)
    near = tl.sqrt(tl.sum((a - p) * (a - p), axis=0) + 1e-6)
    far = tl.sqrt(tl.sum((a - n) * (a - n), axis=0) + 1e-6)
    tl.store(o_ptr + row, tl.maximum(near - far + margin, 0.0))


def triplet(a, p, n, margin=1.0):
    M, N = a.shape
    o = torch.empty(M, device=a.device, dtype=torch.float32)
    triplet_kernel[(M,)](a, p, n, o, N, margin, BLOCK=triton.next_power_of_2(N))
    return o


@triton.jit
def l1_sum_kernel(x_ptr, t_ptr, o_ptr, n, beta, BLOCK: tl.constexpr):
    """Smooth L1: each program keeps its part of the sum."""
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x = tl.load(x_ptr + i, mask=m, other=0.0).to(tl.float32)
    t = tl.load(t_ptr + i, mask=m, other=0.0).to(tl.float32)
    d = tl.abs(x - t)
    loss = tl.where(d < beta, 0.5 * d * d / beta, d - 0.5 * beta)
    tl.store(o_ptr + pid, tl.sum(loss, axis=0))


def l1_sum(x, t, beta=1.0):
    n = x.numel()
    blocks = triton.cdiv(n, 4096)
    parts = torch.empty(blocks, device=x.device, dtype=torch.float32)
    l1_sum_kernel[(blocks,)](x, t, parts, n, beta, BLOCK=4096)
    return parts.sum() / n


@triton.jit
def log_sum_exp_kernel(x_ptr, o_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    best = -float("inf")
    total = 0.0
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=-float("inf")).to(tl.float32)
        new = tl.maximum(best, tl.max(x, axis=0))
        total = total * tl.exp(best - new) + tl.sum(tl.exp(x - new), axis=0)
        best = new
    tl.store(o_ptr + row, best + tl.log(total))


def log_sum_exp(x):
    M, N = x.shape
    o = torch.empty(M, device=x.device, dtype=torch.float32)
    log_sum_exp_kernel[(M,)](x, o, N, BLOCK=2048)
    return o


@triton.jit
def cumsum_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    m = cols < N
    x = tl.load(x_ptr + row * N + cols, mask=m, other=0.0).to(tl.float32)
    tl.store(y_ptr + row * N + cols, tl.cumsum(x, axis=0), mask=m)


def cumsum(x):
    y = torch.empty_like(x)
    M, N = x.shape
    cumsum_kernel[(M,)](x, y, N, BLOCK=triton.next_power_of_2(N))
    return y


@triton.jit
def patchify_kernel(x_ptr, y_ptr, C, H, W, P: tl.constexpr, BLOCK: tl.constexpr):
    """(B, C, H, W) to (B, patches, C * P * P): a program for a patch."""
    patch = tl.program_id(0)
    b = tl.program_id(1)
    across = W // P
    py = patch // across
    px = patch % across
    i = tl.arange(0, BLOCK)
    size = C * P * P
    m = i < size
    c = i // (P * P)
    r = i // P % P
    q = i % P
    x = tl.load(x_ptr + ((b * C + c) * H + py * P + r) * W + px * P + q, mask=m)
    tl.store(y_ptr + (b * tl.num_programs(0) + patch) * size + i, x, mask=m)


def patchify(x, p=16):
    B, C, H, W = x.shape
    patches = (H // p) * (W // p)
    y = torch.empty(B, patches, C * p * p, device=x.device, dtype=x.dtype)
    patchify_kernel[(patches, B)](x, y, C, H, W, P=p, BLOCK=triton.next_power_of_2(C * p * p))
    return y


@triton.jit
def embedding_bag_kernel(ids_ptr, w_ptr, y_ptr, L, D, BLOCK: tl.constexpr):
    bag = tl.program_id(0)
    d = tl.arange(0, BLOCK)
    m = d < D
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for j in range(L):
        row = tl.load(ids_ptr + bag * L + j)
        acc += tl.load(w_ptr + row * D + d, mask=m, other=0.0).to(tl.float32)
    tl.store(y_ptr + bag * D + d, acc / L, mask=m)


def embedding_bag(ids, w):
    B, L = ids.shape
    D = w.shape[1]
    y = torch.empty(B, D, device=w.device, dtype=w.dtype)
    embedding_bag_kernel[(B,)](ids, w, y, L, D, BLOCK=triton.next_power_of_2(D))
    return y


@triton.jit
def token_sum_kernel(x_ptr, p_ptr, e_ptr, y_ptr, T, C, n, BLOCK: tl.constexpr):
    """A token, its position's row, and its batch's row (a time step), through SiLU."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    c = i % C
    t = i // C % T
    b = i // (C * T)
    x = tl.load(x_ptr + i, mask=m, other=0.0).to(tl.float32)
    p = tl.load(p_ptr + t * C + c, mask=m, other=0.0).to(tl.float32)
    e = tl.load(e_ptr + b * C + c, mask=m, other=0.0).to(tl.float32)
    h = x + p + e
    tl.store(y_ptr + i, h * tl.sigmoid(h), mask=m)


def token_sum(x, p, e):
    B, T, C = x.shape
    y = torch.empty_like(x)
    n = x.numel()
    token_sum_kernel[(triton.cdiv(n, 1024),)](x, p, e, y, T, C, n, BLOCK=1024)
    return y


@triton.jit
def modulate_kernel(x_ptr, shift_ptr, scale_ptr, y_ptr, T, N, eps, BLOCK: tl.constexpr):
    """Layer norm without weights, then a scale and a shift of each batch (adaptive norm)."""
    row = tl.program_id(0)
    b = row // T
    c = tl.arange(0, BLOCK)
    m = c < N
    x = tl.load(x_ptr + row * N + c, mask=m, other=0.0).to(tl.float32)
    mean = tl.sum(x, 0) / N
    d = tl.where(m, x - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(d * d, 0) / N + eps)
    shift = tl.load(shift_ptr + b * N + c, mask=m, other=0.0).to(tl.float32)
    scale = tl.load(scale_ptr + b * N + c, mask=m, other=0.0).to(tl.float32)
    tl.store(y_ptr + row * N + c, d * rstd * (1 + scale) + shift, mask=m)


def modulate(x, shift, scale, eps=1e-6):
    B, T, N = x.shape
    y = torch.empty_like(x)
    modulate_kernel[(B * T,)](x, shift, scale, y, T, N, eps, BLOCK=triton.next_power_of_2(N))
    return y


@triton.jit
def polynomial_kernel(x_ptr, w_ptr, y_ptr, M, N, BM: tl.constexpr, BLOCK: tl.constexpr):
    """A polynomial with three learned coefficients for each column; several rows a program."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.arange(0, BLOCK)
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    keep = cols < N
    w0 = tl.load(w_ptr + cols, mask=keep, other=0.0).to(tl.float32)[None, :]
    w1 = tl.load(w_ptr + N + cols, mask=keep, other=0.0).to(tl.float32)[None, :]
    w2 = tl.load(w_ptr + 2 * N + cols, mask=keep, other=0.0).to(tl.float32)[None, :]
    x = tl.load(x_ptr + rows[:, None] * N + cols[None, :], mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + rows[:, None] * N + cols[None, :], w0 + x * (w1 + x * w2), mask=mask)


def polynomial(x, w):
    M, N = x.shape
    y = torch.empty_like(x)
    polynomial_kernel[(triton.cdiv(M, 4),)](x, w, y, M, N, BM=4, BLOCK=triton.next_power_of_2(N))
    return y
