"""Kernels that move, repeat, shift or pick elements, as people write them."""

import torch
import triton
import triton.language as tl


@triton.jit
def frame_difference_kernel(x_ptr, y_ptr, T, C, BLOCK_T: tl.constexpr, BLOCK_C: tl.constexpr):
    """A frame less the one before it: a tile of frames by channels."""
    b = tl.program_id(0)
    t = tl.program_id(1) * BLOCK_T + tl.arange(0, BLOCK_T)
    c = tl.program_id(2) * BLOCK_C + tl.arange(0, BLOCK_C)
    p = x_ptr + (b * T + t[:, None]) * C + c[None, :]
    keep = (t[:, None] < T - 1) & (c[None, :] < C)
    now = tl.load(p, mask=keep, other=0.0).to(tl.float32)
    then = tl.load(p + C, mask=keep, other=0.0).to(tl.float32)
    d = then - now
    tl.store(y_ptr + (b * (T - 1) + t[:, None]) * C + c[None, :], d * d, mask=keep)


def frame_difference(x):
    B, T, C = x.shape
    y = torch.empty(B, T - 1, C, device=x.device, dtype=x.dtype)
    grid = (B, triton.cdiv(T - 1, 16), triton.cdiv(C, 128))
    frame_difference_kernel[grid](x, y, T, C, BLOCK_T=16, BLOCK_C=128)
    return y


@triton.jit
def token_mix_tile_kernel(x_ptr, w_ptr, y_ptr, T, C, BLOCK_T: tl.constexpr, BLOCK_C: tl.constexpr):
    """A token and the one before it, mixed by channel: a tile of tokens by channels."""
    b = tl.program_id(0)
    t = tl.program_id(1) * BLOCK_T + tl.arange(0, BLOCK_T)[:, None]
    c = tl.program_id(2) * BLOCK_C + tl.arange(0, BLOCK_C)[None, :]
    inside = (t < T) & (c < C)
    base = x_ptr + b * T * C
    x = tl.load(base + t * C + c, mask=inside, other=0.0).to(tl.float32)
    prev = tl.load(base + (t - 1) * C + c, mask=inside & (t > 0), other=0.0).to(tl.float32)
    w = tl.load(w_ptr + c, mask=c < C, other=0.0).to(tl.float32)
    tl.store(y_ptr + b * T * C + t * C + c, x + (prev - x) * w, mask=inside)


def token_mix_tile(x, w):
    B, T, C = x.shape
    y = torch.empty_like(x)
    grid = (B, triton.cdiv(T, 16), triton.cdiv(C, 128))
    token_mix_tile_kernel[grid](x, w, y, T, C, BLOCK_T=16, BLOCK_C=128)
    return y


@triton.jit
def complex_product_kernel(a_ptr, b_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Complex numbers side by side: real part, imaginary part."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    ar = tl.load(a_ptr + i * 2, mask=m, other=0.0).to(tl.float32)
    ai = tl.load(a_ptr + i * 2 + 1, mask=m, other=0.0).to(tl.float32)
    br = tl.load(b_ptr + i * 2, mask=m, other=0.0).to(tl.float32)
    bi = tl.load(b_ptr + i * 2 + 1, mask=m, other=0.0).to(tl.float32)
    tl.store(y_ptr + i * 2, ar * br - ai * bi, mask=m)
    tl.store(y_ptr + i * 2 + 1, ar * bi + ai * br, mask=m)


def complex_product(a, b):
    y = torch.empty_like(a)
    n = a.numel() // 2
    complex_product_kernel[(triton.cdiv(n, 1024),)](a, b, y, n, BLOCK=1024)
    return y


@triton.jit
def rope_even_odd_kernel(
    x_ptr, cos_ptr, sin_ptr, y_ptr, stride_b, stride_t, stride_h, HALF: tl.constexpr
):
    """Even and odd elements of a head are turned together: a program for a head of a token."""
    t = tl.program_id(0)
    h = tl.program_id(1)
    b = tl.program_id(2)
    base = b * stride_b + t * stride_t + h * stride_h
    k = tl.arange(0, HALF)
    c = tl.load(cos_ptr + t * HALF + k).to(tl.float32)
    s = tl.load(sin_ptr + t * HALF + k).to(tl.float32)
    even = tl.load(x_ptr + base + 2 * k).to(tl.float32)
    odd = tl.load(x_ptr + base + 2 * k + 1).to(tl.float32)
    tl.store(y_ptr + base + 2 * k, even * c - odd * s)
    tl.store(y_ptr + base + 2 * k + 1, even * s + odd * c)


def rope_even_odd(x, cos, sin):
    B, T, H, D = x.shape
    y = torch.empty_like(x)
    rope_even_odd_kernel[(T, H, B)](
        x, cos, sin, y, x.stride(0), x.stride(1), x.stride(2), HALF=D // 2
    )
    return y


@triton.jit
def unfold_kernel(x_ptr, y_ptr, C, H, W, OH, OW, n, K: tl.constexpr, BLOCK: tl.constexpr):
    """Columns of K by K windows, stride 1: (N, C, H, W) to (N, C * K * K, OH * OW)."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    ow = i % OW
    oh = (i // OW) % OH
    k = i // (OW * OH)
    kw = k % K
    kh = (k // K) % K
    plane = k // (K * K)
    x = tl.load(x_ptr + (plane * H + oh + kh) * W + ow + kw, mask=m)
    tl.store(y_ptr + i, x, mask=m)


def unfold(x, k=3):
    N, C, H, W = x.shape
    OH, OW = H - k + 1, W - k + 1
    y = torch.empty(N, C * k * k, OH * OW, device=x.device, dtype=x.dtype)
    n = y.numel()
    unfold_kernel[(triton.cdiv(n, 1024),)](x, y, C, H, W, OH, OW, n, K=k, BLOCK=1024)
    return y


@triton.jit
def upsample_rows_kernel(x_ptr, y_ptr, H, W, S: tl.constexpr, BLOCK: tl.constexpr):
    """Nearest neighbour: a program for a row of the larger image."""
    plane = tl.program_id(0)
    oh = tl.program_id(1)
    ow = tl.arange(0, BLOCK)
    keep = ow < W * S
    x = tl.load(x_ptr + (plane * H + oh // S) * W + ow // S, mask=keep)
    tl.store(y_ptr + (plane * H * S + oh) * W * S + ow, x, mask=keep)


def upsample_rows(x, s=2):
    N, C, H, W = x.shape
    y = torch.empty(N, C, H * s, W * s, device=x.device, dtype=x.dtype)
    upsample_rows_kernel[(N * C, H * s)](x, y, H, W, S=s, BLOCK=triton.next_power_of_2(W * s))
    return y


@triton.jit
def interpolate_rows_kernel(x_ptr, y_ptr, T, OT, scale, BLOCK: tl.constexpr):
    """Linear interpolation along rows, the ends aligned."""
    row = tl.program_id(0)
    o = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = o < OT
    at = o * scale
    left = tl.floor(at).to(tl.int32)
    right = tl.minimum(left + 1, T - 1)
    w = at - left
    a = tl.load(x_ptr + row * T + left, mask=m, other=0.0).to(tl.float32)
    b = tl.load(x_ptr + row * T + right, mask=m, other=0.0).to(tl.float32)
    tl.store(y_ptr + row * OT + o, a * (1 - w) + b * w, mask=m)


def interpolate_rows(x, factor=2):
    M, T = x.shape
    OT = T * factor
    y = torch.empty(M, OT, device=x.device, dtype=x.dtype)
    interpolate_rows_kernel[(M, triton.cdiv(OT, 1024))](x, y, T, OT, (T - 1) / (OT - 1), BLOCK=1024)
    return y


@triton.jit
def top_weights_kernel(p_ptr, idx_ptr, w_ptr, E, K: tl.constexpr):
    """The probabilities of the chosen experts, normalised: a program for a token."""
    t = tl.program_id(0)
    k = tl.arange(0, K)
    e = tl.load(idx_ptr + t * K + k)
    p = tl.load(p_ptr + t * E + e).to(tl.float32)
    tl.store(w_ptr + t * K + k, p / tl.sum(p, 0))


def top_weights(p, idx):
    T, E = p.shape
    K = idx.shape[1]
    w = torch.empty(T, K, device=p.device, dtype=torch.float32)
    top_weights_kernel[(T,)](p, idx, w, E, K=K)
    return w


@triton.jit
def gather_columns_kernel(x_ptr, idx_ptr, y_ptr, N, K, BLOCK: tl.constexpr):
    """torch.gather along rows."""
    row = tl.program_id(0)
    k = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = k < K
    i = tl.load(idx_ptr + row * K + k, mask=m, other=0)
    tl.store(y_ptr + row * K + k, tl.load(x_ptr + row * N + i, mask=m), mask=m)


def gather_columns(x, idx):
    M, N = x.shape
    K = idx.shape[1]
    y = torch.empty(M, K, device=x.device, dtype=x.dtype)
    gather_columns_kernel[(M, triton.cdiv(K, 1024))](x, idx, y, N, K, BLOCK=1024)
    return y


@triton.jit
def concat_kernel(a_ptr, b_ptr, y_ptr, NA, NB, BLOCK: tl.constexpr):
    """Two tensors side by side, halved."""
    row = tl.program_id(0)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    first = c < NA
    inside = c < NA + NB
    a = tl.load(a_ptr + row * NA + c, mask=first, other=0.0)
    b = tl.load(b_ptr + row * NB + c - NA, mask=inside & (c >= NA), other=0.0)
    tl.store(y_ptr + row * (NA + NB) + c, tl.where(first, a, b) * 0.5, mask=inside)


def concat(a, b):
    M, NA = a.shape
    NB = b.shape[1]
    y = torch.empty(M, NA + NB, device=a.device, dtype=a.dtype)
    concat_kernel[(M, triton.cdiv(NA + NB, 1024))](a, b, y, NA, NB, BLOCK=1024)
    return y


@triton.jit
def every_other_kernel(x_ptr, y_ptr, N, NO, STEP: tl.constexpr, BLOCK: tl.constexpr):
    """Each STEP-th column."""
    row = tl.program_id(0)
    o = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    keep = o < NO
    x = tl.load(x_ptr + row * N + o * STEP, mask=keep, other=0.0)
    tl.store(y_ptr + row * NO + o, x * 2.0, mask=keep)


def every_other(x, step=2):
    M, N = x.shape
    NO = (N + step - 1) // step
    y = torch.empty(M, NO, device=x.device, dtype=x.dtype)
    every_other_kernel[(M, triton.cdiv(NO, 1024))](x, y, N, NO, STEP=step, BLOCK=1024)
    return y


@triton.jit
def repeat_flat_kernel(x_ptr, y_ptr, n, R, BLOCK: tl.constexpr):
    """Each element so many times in a row."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = i < n
    tl.store(y_ptr + i, tl.load(x_ptr + i // R, mask=keep), mask=keep)


def repeat_flat(x, r):
    y = torch.empty(x.shape[0], x.shape[1] * r, device=x.device, dtype=x.dtype)
    n = y.numel()
    repeat_flat_kernel[(triton.cdiv(n, 1024),)](x, y, n, r, BLOCK=1024)
    return y


@triton.jit
def laplace_kernel(x_ptr, y_ptr, H, W, BH: tl.constexpr, BW: tl.constexpr):
    """Five points, zeros around: a tile of an image."""
    plane = tl.program_id(2)
    h = tl.program_id(0) * BH + tl.arange(0, BH)[:, None]
    w = tl.program_id(1) * BW + tl.arange(0, BW)[None, :]
    m = (h < H) & (w < W)
    p = x_ptr + plane * H * W + h * W + w
    c = tl.load(p, mask=m, other=0.0).to(tl.float32)
    up = tl.load(p - W, mask=m & (h > 0), other=0.0).to(tl.float32)
    down = tl.load(p + W, mask=m & (h < H - 1), other=0.0).to(tl.float32)
    left = tl.load(p - 1, mask=m & (w > 0), other=0.0).to(tl.float32)
    right = tl.load(p + 1, mask=m & (w < W - 1), other=0.0).to(tl.float32)
    tl.store(y_ptr + plane * H * W + h * W + w, up + down + left + right - 4 * c, mask=m)


def laplace(x):
    N, C, H, W = x.shape
    y = torch.empty_like(x)
    grid = (triton.cdiv(H, 8), triton.cdiv(W, 128), N * C)
    laplace_kernel[grid](x, y, H, W, BH=8, BW=128)
    return y


@triton.jit
def smooth_edges_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    """Three neighbours of a row, the first and the last one repeated at the edges."""
    row = tl.program_id(0)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = c < N
    base = x_ptr + row * N
    x = tl.load(base + c, mask=m, other=0.0).to(tl.float32)
    left = tl.load(base + tl.maximum(c - 1, 0), mask=m, other=0.0).to(tl.float32)
    right = tl.load(base + tl.minimum(c + 1, N - 1), mask=m, other=0.0).to(tl.float32)
    tl.store(y_ptr + row * N + c, 0.25 * left + 0.5 * x + 0.25 * right, mask=m)


def smooth_edges(x):
    M, N = x.shape
    y = torch.empty_like(x)
    smooth_edges_kernel[(M, triton.cdiv(N, 1024))](x, y, N, BLOCK=1024)
    return y


@triton.jit
def average3_kernel(x_ptr, y_ptr, H, W, n, BLOCK: tl.constexpr):
    """Mean of 3 by 3 pixels, stride 1, zeros around: a lane for a pixel."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    w = i % W
    h = i // W % H
    plane = i // (W * H)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for a in tl.static_range(3):
        for b in tl.static_range(3):
            hh = h + a - 1
            ww = w + b - 1
            keep = m & (hh >= 0) & (hh < H) & (ww >= 0) & (ww < W)
            acc += tl.load(x_ptr + (plane * H + hh) * W + ww, mask=keep, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, acc / 9, mask=m)


def average3(x):
    N, C, H, W = x.shape
    y = torch.empty_like(x)
    n = y.numel()
    average3_kernel[(triton.cdiv(n, 1024),)](x, y, H, W, n, BLOCK=1024)
    return y


@triton.jit
def windows_kernel(x_ptr, y_ptr, H, W, C, WS: tl.constexpr, BLOCK_C: tl.constexpr):
    """(B, H, W, C) cut into windows of WS by WS pixels: a program for a pixel."""
    pid = tl.program_id(0)
    w = pid % W
    h = (pid // W) % H
    b = pid // (W * H)
    across = W // WS
    window = (b * (H // WS) + h // WS) * across + w // WS
    at = (window * WS + h % WS) * WS + w % WS
    c = tl.arange(0, BLOCK_C)
    x = tl.load(x_ptr + pid * C + c, mask=c < C)
    tl.store(y_ptr + at * C + c, x, mask=c < C)


def windows(x, ws=7):
    B, H, W, C = x.shape
    y = torch.empty(B * (H // ws) * (W // ws), ws, ws, C, device=x.device, dtype=x.dtype)
    windows_kernel[(B * H * W,)](x, y, H, W, C, WS=ws, BLOCK_C=triton.next_power_of_2(C))
    return y


@triton.jit
def conv_tile_kernel(
    x_ptr, w_ptr, y_ptr, T, D, BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr, K: tl.constexpr
):
    """Causal depthwise convolution of (B, T, D): a tile of time by channels."""
    d = tl.program_id(0) * BLOCK_D + tl.arange(0, BLOCK_D)
    t = tl.program_id(1) * BLOCK_T + tl.arange(0, BLOCK_T)
    b = tl.program_id(2)
    acc = tl.zeros((BLOCK_T, BLOCK_D), dtype=tl.float32)
    for k in tl.static_range(K):
        s = t - (K - 1 - k)
        keep = (s[:, None] >= 0) & (s[:, None] < T) & (d[None, :] < D)
        x = tl.load(x_ptr + (b * T + s[:, None]) * D + d[None, :], mask=keep, other=0.0)
        w = tl.load(w_ptr + d * K + k, mask=d < D, other=0.0).to(tl.float32)
        acc += x.to(tl.float32) * w[None, :]
    out = (t[:, None] < T) & (d[None, :] < D)
    tl.store(y_ptr + (b * T + t[:, None]) * D + d[None, :], acc, mask=out)


def conv_tile(x, w):
    B, T, D = x.shape
    y = torch.empty_like(x)
    grid = (triton.cdiv(D, 128), triton.cdiv(T, 32), B)
    conv_tile_kernel[grid](x, w, y, T, D, BLOCK_T=32, BLOCK_D=128, K=w.shape[1])
    return y


@triton.jit
def channel_shuffle_kernel(x_ptr, y_ptr, G, CG, HW, BLOCK: tl.constexpr):
    """Channels of groups take turns: a program for a part of a plane."""
    plane = tl.program_id(0)
    C = G * CG
    n = plane // C
    c = plane % C
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = i < HW
    src = (c % G) * CG + c // G
    x = tl.load(x_ptr + (n * C + src) * HW + i, mask=m)
    tl.store(y_ptr + plane * HW + i, x, mask=m)


def channel_shuffle(x, groups=4):
    N, C, H, W = x.shape
    y = torch.empty_like(x)
    grid = (N * C, triton.cdiv(H * W, 1024))
    channel_shuffle_kernel[grid](x, y, groups, C // groups, H * W, BLOCK=1024)
    return y


@triton.jit
def flip_flat_kernel(x_ptr, y_ptr, W, n, BLOCK: tl.constexpr):
    """Rows turned around, an element a lane."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    row = i // W
    col = i % W
    tl.store(y_ptr + i, tl.load(x_ptr + row * W + (W - 1 - col), mask=m), mask=m)


def flip_flat(x):
    y = torch.empty_like(x)
    n = x.numel()
    flip_flat_kernel[(triton.cdiv(n, 1024),)](x, y, x.shape[-1], n, BLOCK=1024)
    return y


@triton.jit
def pad_rows_kernel(x_ptr, y_ptr, N, NO, LEFT, BLOCK: tl.constexpr):
    """Zeros in front of each row and behind it."""
    row = tl.program_id(0)
    o = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    c = o - LEFT
    x = tl.load(x_ptr + row * N + c, mask=(c >= 0) & (c < N), other=0.0)
    tl.store(y_ptr + row * NO + o, x, mask=o < NO)


def pad_rows(x, left, right):
    M, N = x.shape
    NO = N + left + right
    y = torch.empty(M, NO, device=x.device, dtype=x.dtype)
    pad_rows_kernel[(M, triton.cdiv(NO, 1024))](x, y, N, NO, left, BLOCK=1024)
    return y


@triton.jit
def patch_rows_kernel(x_ptr, y_ptr, C, H, W, GH, GW, n, P: tl.constexpr, BLOCK: tl.constexpr):
    """(N, C, H, W) to (N, GH * GW, P * P * C), an element of the output a lane."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    c = i % C
    q = i // C % P
    r = i // (C * P) % P
    gw = i // (C * P * P) % GW
    gh = i // (C * P * P * GW) % GH
    b = i // (C * P * P * GW * GH)
    x = tl.load(x_ptr + ((b * C + c) * H + gh * P + r) * W + gw * P + q, mask=m)
    tl.store(y_ptr + i, x, mask=m)


def patch_rows(x, p=14):
    N, C, H, W = x.shape
    y = torch.empty(N, (H // p) * (W // p), p * p * C, device=x.device, dtype=x.dtype)
    n = y.numel()
    patch_rows_kernel[(triton.cdiv(n, 1024),)](x, y, C, H, W, H // p, W // p, n, P=p, BLOCK=1024)
    return y


@triton.jit
def take_rows_kernel(x_ptr, idx_ptr, y_ptr, D, BLOCK: tl.constexpr):
    """Rows by number, of which none comes twice or some do."""
    i = tl.program_id(0)
    d = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    r = tl.load(idx_ptr + i)
    tl.store(y_ptr + i * D + d, tl.load(x_ptr + r * D + d, mask=d < D), mask=d < D)


def take_rows(x, idx):
    D = x.shape[1]
    y = torch.empty(idx.numel(), D, device=x.device, dtype=x.dtype)
    take_rows_kernel[(idx.numel(), triton.cdiv(D, 1024))](x, idx, y, D, BLOCK=1024)
    return y


@triton.jit
def conv_taps_kernel(x_ptr, w_ptr, y_ptr, T, C, BLOCK: tl.constexpr):
    """Causal depthwise convolution of (B, T, C), four taps written out: a program for a token."""
    b = tl.program_id(0)
    t = tl.program_id(1)
    c = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)
    m = c < C
    p = x_ptr + (b * T + t) * C + c
    x0 = tl.load(p - 3 * C, mask=m & (t >= 3), other=0.0).to(tl.float32)
    x1 = tl.load(p - 2 * C, mask=m & (t >= 2), other=0.0).to(tl.float32)
    x2 = tl.load(p - C, mask=m & (t >= 1), other=0.0).to(tl.float32)
    x3 = tl.load(p, mask=m, other=0.0).to(tl.float32)
    w0 = tl.load(w_ptr + c * 4, mask=m, other=0.0).to(tl.float32)
    w1 = tl.load(w_ptr + c * 4 + 1, mask=m, other=0.0).to(tl.float32)
    w2 = tl.load(w_ptr + c * 4 + 2, mask=m, other=0.0).to(tl.float32)
    w3 = tl.load(w_ptr + c * 4 + 3, mask=m, other=0.0).to(tl.float32)
    tl.store(y_ptr + (b * T + t) * C + c, x0 * w0 + x1 * w1 + x2 * w2 + x3 * w3, mask=m)


def conv_taps(x, w):
    B, T, C = x.shape
    y = torch.empty_like(x)
    conv_taps_kernel[(B, T, triton.cdiv(C, 1024))](x, w, y, T, C, BLOCK=1024)
    return y


@triton.jit
def average_tiles_kernel(x_ptr, y_ptr, H, W, OH, OW, BH: tl.constexpr, BW: tl.constexpr):
    """Mean of 2 by 2 pixels, written out: a tile of the smaller picture."""
    plane = tl.program_id(2)
    oh = tl.program_id(0) * BH + tl.arange(0, BH)
    ow = tl.program_id(1) * BW + tl.arange(0, BW)
    m = (oh[:, None] < OH) & (ow[None, :] < OW)
    base = x_ptr + plane * H * W + (2 * oh[:, None]) * W + 2 * ow[None, :]
    s = tl.load(base, mask=m, other=0.0).to(tl.float32)
    s += tl.load(base + 1, mask=m, other=0.0).to(tl.float32)
    s += tl.load(base + W, mask=m, other=0.0).to(tl.float32)
    s += tl.load(base + W + 1, mask=m, other=0.0).to(tl.float32)
    tl.store(y_ptr + plane * OH * OW + oh[:, None] * OW + ow[None, :], s * 0.25, mask=m)


def average_tiles(x):
    N, C, H, W = x.shape
    OH, OW = H // 2, W // 2
    y = torch.empty(N, C, OH, OW, device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(OH, 16), triton.cdiv(OW, 64), N * C)
    average_tiles_kernel[grid](x, y, H, W, OH, OW, BH=16, BW=64)
    return y


@triton.jit
def laplace_flat_kernel(x_ptr, y_ptr, H, W, n, BLOCK: tl.constexpr):
    """Five points, a lane for a pixel."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    w = i % W
    h = (i // W) % H
    c = tl.load(x_ptr + i, mask=m, other=0.0).to(tl.float32)
    left = tl.load(x_ptr + i - 1, mask=m & (w > 0), other=0.0).to(tl.float32)
    right = tl.load(x_ptr + i + 1, mask=m & (w < W - 1), other=0.0).to(tl.float32)
    up = tl.load(x_ptr + i - W, mask=m & (h > 0), other=0.0).to(tl.float32)
    down = tl.load(x_ptr + i + W, mask=m & (h < H - 1), other=0.0).to(tl.float32)
    tl.store(y_ptr + i, up + down + left + right - 4 * c, mask=m)


def laplace_flat(x):
    N, C, H, W = x.shape
    y = torch.empty_like(x)
    n = x.numel()
    laplace_flat_kernel[(triton.cdiv(n, 1024),)](x, y, H, W, n, BLOCK=1024)
    return y
