"""Kernels as many people write them: pools, pads, resized pictures, repeated rows, group norms, segments."""

import torch
import triton
import triton.language as tl


@triton.jit
def max_pool2d_kernel(
    x_ptr,
    y_ptr,
    H,
    W,
    OH,
    OW,
    n,
    K: tl.constexpr,
    S: tl.constexpr,
    P: tl.constexpr,
    BLOCK: tl.constexpr,
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    ow = i % OW
    oh = i // OW % OH
    plane = i // (OW * OH)
    best = tl.full([BLOCK], float("-inf"), tl.float32)
    for kh in tl.static_range(K):
        for kw in tl.static_range(K):
            h = oh * S + kh - P
            w = ow * S + kw - P
            inside = m & (h >= 0) & (h < H) & (w >= 0) & (w < W)
            v = tl.load(x_ptr + (plane * H + h) * W + w, mask=inside, other=float("-inf")).to(
                tl.float32
            )
            best = tl.maximum(best, v)
    tl.store(y_ptr + i, best, mask=m)


def max_pool2d(x, k=3, s=2, p=1):
    N, C, H, W = x.shape
    OH = (H + 2 * p - k) // s + 1
    OW = (W + 2 * p - k) // s + 1
    y = torch.empty(N, C, OH, OW, device=x.device, dtype=x.dtype)
    n = y.numel()
    max_pool2d_kernel[(triton.cdiv(n, 1024),)](x, y, H, W, OH, OW, n, k, s, p, BLOCK=1024)
    return y


@triton.jit
def avg_pool2d_kernel(
    x_ptr,
    y_ptr,
    H,
    W,
    OH,
    OW,
    n,
    K: tl.constexpr,
    S: tl.constexpr,
    P: tl.constexpr,
    BLOCK: tl.constexpr,
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    ow = i % OW
    oh = i // OW % OH
    plane = i // (OW * OH)
    acc = tl.zeros([BLOCK], tl.float32)
    for kh in range(K):
        for kw in range(K):
            h = oh * S + kh - P
            w = ow * S + kw - P
            inside = m & (h >= 0) & (h < H) & (w >= 0) & (w < W)
            acc += tl.load(x_ptr + (plane * H + h) * W + w, mask=inside, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, acc / (K * K), mask=m)


def avg_pool2d(x, k=3, s=2, p=1):
    N, C, H, W = x.shape
    OH = (H + 2 * p - k) // s + 1
    OW = (W + 2 * p - k) // s + 1
    y = torch.empty(N, C, OH, OW, device=x.device, dtype=x.dtype)
    n = y.numel()
    avg_pool2d_kernel[(triton.cdiv(n, 1024),)](x, y, H, W, OH, OW, n, k, s, p, BLOCK=1024)
    return y


@triton.jit
def max_dim_kernel(x_ptr, y_ptr, R, C, BLOCK: tl.constexpr):
    """The largest along the middle axis."""
    b = tl.program_id(0)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = c < C
    best = tl.full([BLOCK], float("-inf"), tl.float32)
    for r in range(R):
        best = tl.maximum(
            best, tl.load(x_ptr + (b * R + r) * C + c, mask=m, other=float("-inf")).to(tl.float32)
        )
    tl.store(y_ptr + b * C + c, best, mask=m)


def max_dim(x):
    B, R, C = x.shape
    y = torch.empty(B, C, device=x.device, dtype=x.dtype)
    max_dim_kernel[(B, triton.cdiv(C, 256))](x, y, R, C, BLOCK=256)
    return y


@triton.jit
def nearest_kernel(x_ptr, y_ptr, H, W, OH, OW, scale_h, scale_w, n, BLOCK: tl.constexpr):
    """The nearest pixel of a picture of any other size."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    ow = i % OW
    oh = i // OW % OH
    plane = i // (OW * OH)
    h = tl.minimum((oh * scale_h).to(tl.int32), H - 1)
    w = tl.minimum((ow * scale_w).to(tl.int32), W - 1)
    tl.store(y_ptr + i, tl.load(x_ptr + (plane * H + h) * W + w, mask=m), mask=m)


def nearest(x, scale=1.5):
    N, C, H, W = x.shape
    OH, OW = int(H * scale), int(W * scale)
    y = torch.empty(N, C, OH, OW, device=x.device, dtype=x.dtype)
    n = y.numel()
    nearest_kernel[(triton.cdiv(n, 1024),)](x, y, H, W, OH, OW, H / OH, W / OW, n, BLOCK=1024)
    return y


@triton.jit
def bilinear_rows_kernel(x_ptr, y_ptr, H, W, OH, OW, scale_h, scale_w, BLOCK: tl.constexpr):
    """Bilinear interpolation, corners aligned: a program for a row of the output."""
    row = tl.program_id(0)
    plane = row // OH
    oh = row % OH
    fy = oh * scale_h
    top = tl.floor(fy).to(tl.int32)
    below = tl.minimum(top + 1, H - 1)
    wy = fy - top
    ow = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = ow < OW
    fx = ow * scale_w
    left = tl.floor(fx).to(tl.int32)
    right = tl.minimum(left + 1, W - 1)
    wx = fx - left
    upper = x_ptr + (plane * H + top) * W
    lower = x_ptr + (plane * H + below) * W
    a = tl.load(upper + left, mask=m, other=0.0).to(tl.float32)
    b = tl.load(upper + right, mask=m, other=0.0).to(tl.float32)
    c = tl.load(lower + left, mask=m, other=0.0).to(tl.float32)
    d = tl.load(lower + right, mask=m, other=0.0).to(tl.float32)
    y = (a * (1 - wx) + b * wx) * (1 - wy) + (c * (1 - wx) + d * wx) * wy
    tl.store(y_ptr + row * OW + ow, y, mask=m)


def bilinear_rows(x, scale=2):
    N, C, H, W = x.shape
    OH, OW = H * scale, W * scale
    y = torch.empty(N, C, OH, OW, device=x.device, dtype=x.dtype)
    grid = (N * C * OH, triton.cdiv(OW, 256))
    bilinear_rows_kernel[grid](
        x, y, H, W, OH, OW, (H - 1) / (OH - 1), (W - 1) / (OW - 1), BLOCK=256
    )
    return y


@triton.jit
def edge_pad_kernel(x_ptr, y_ptr, H, W, OH, OW, top, left, n, BLOCK: tl.constexpr):
    """The elements at the edge, repeated around."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    ow = i % OW
    oh = (i // OW) % OH
    plane = i // (OW * OH)
    h = tl.minimum(tl.maximum(oh - top, 0), H - 1)
    w = tl.minimum(tl.maximum(ow - left, 0), W - 1)
    tl.store(y_ptr + i, tl.load(x_ptr + plane * H * W + h * W + w, mask=m, other=0.0), mask=m)


def edge_pad(x, p=2):
    N, C, H, W = x.shape
    y = torch.empty(N, C, H + 2 * p, W + 2 * p, device=x.device, dtype=x.dtype)
    n = y.numel()
    edge_pad_kernel[(triton.cdiv(n, 1024),)](x, y, H, W, H + 2 * p, W + 2 * p, p, p, n, BLOCK=1024)
    return y


@triton.jit
def reflect_rows_kernel(x_ptr, y_ptr, T, OT, P, BLOCK: tl.constexpr):
    """Rows of a signal, mirrored at both ends."""
    row = tl.program_id(0)
    o = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = o < OT
    t = o - P
    t = tl.where(t < 0, -t, t)
    t = tl.where(t >= T, 2 * T - 2 - t, t)
    tl.store(y_ptr + row * OT + o, tl.load(x_ptr + row * T + t, mask=m), mask=m)


def reflect_rows(x, p=8):
    M, T = x.shape
    y = torch.empty(M, T + 2 * p, device=x.device, dtype=x.dtype)
    reflect_rows_kernel[(M, triton.cdiv(T + 2 * p, 1024))](x, y, T, T + 2 * p, p, BLOCK=1024)
    return y


@triton.jit
def group_norm_silu_kernel(X, Y, W, B, C, HW, groups, eps, BLOCK: tl.constexpr):
    """A group's statistics over all its elements, then channel by channel, through SiLU."""
    pid = tl.program_id(0)
    image = pid // groups
    group = pid % groups
    per_group = C // groups
    count = per_group * HW
    start = (image * C + group * per_group) * HW
    offs = tl.arange(0, BLOCK)
    total = 0.0
    for at in range(0, count, BLOCK):
        x = tl.load(X + start + at + offs, mask=at + offs < count, other=0.0).to(tl.float32)
        total += tl.sum(x)
    mean = total / count
    squares = 0.0
    for at in range(0, count, BLOCK):
        keep = at + offs < count
        x = tl.load(X + start + at + offs, mask=keep, other=0.0).to(tl.float32)
        d = tl.where(keep, x - mean, 0.0)
        squares += tl.sum(d * d)
    rstd = 1 / tl.sqrt(squares / count + eps)
    for c in range(per_group):
        w = tl.load(W + group * per_group + c).to(tl.float32)
        b = tl.load(B + group * per_group + c).to(tl.float32)
        row = start + c * HW
        for at in range(0, HW, BLOCK):
            keep = at + offs < HW
            x = tl.load(X + row + at + offs, mask=keep, other=0.0).to(tl.float32)
            y = (x - mean) * rstd * w + b
            tl.store(Y + row + at + offs, y * tl.sigmoid(y), mask=keep)


def group_norm_silu(x, w, b, groups=32, eps=1e-5):
    N, C, H, W = x.shape
    y = torch.empty_like(x)
    group_norm_silu_kernel[(N * groups,)](x, y, w, b, C, H * W, groups, eps, BLOCK=1024)
    return y


@triton.jit
def repeat_columns_kernel(x_ptr, y_ptr, N, R: tl.constexpr, BLOCK: tl.constexpr):
    """Each column so many times in a row."""
    row = tl.program_id(0)
    for start in range(0, N * R, BLOCK):
        o = start + tl.arange(0, BLOCK)
        m = o < N * R
        tl.store(y_ptr + row * N * R + o, tl.load(x_ptr + row * N + o // R, mask=m), mask=m)


def repeat_columns(x, r=3):
    M, N = x.shape
    y = torch.empty(M, N * r, device=x.device, dtype=x.dtype)
    repeat_columns_kernel[(M,)](x, y, N, r, BLOCK=1024)
    return y


@triton.jit
def segment_sum_kernel(x_ptr, offsets_ptr, y_ptr, D, BLOCK: tl.constexpr):
    """The sum of each segment's rows, by offsets."""
    s = tl.program_id(0)
    first = tl.load(offsets_ptr + s)
    last = tl.load(offsets_ptr + s + 1)
    d = tl.arange(0, BLOCK)
    m = d < D
    acc = tl.zeros([BLOCK], tl.float32)
    for r in range(first, last):
        acc += tl.load(x_ptr + r * D + d, mask=m, other=0.0)
    tl.store(y_ptr + s * D + d, acc, mask=m)


def segment_sum(x, offsets):
    n, D = offsets.numel() - 1, x.shape[1]
    y = torch.empty(n, D, device=x.device, dtype=x.dtype)
    segment_sum_kernel[(n,)](x, offsets, y, D, BLOCK=triton.next_power_of_2(D))
    return y


@triton.jit
def avg_pool1d_kernel(x_ptr, y_ptr, T, OT, K: tl.constexpr, S: tl.constexpr, BLOCK: tl.constexpr):
    """Averages of windows that overlap, along rows."""
    row = tl.program_id(0)
    o = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = o < OT
    acc = tl.zeros([BLOCK], tl.float32)
    for k in tl.static_range(K):
        acc += tl.load(x_ptr + row * T + o * S + k, mask=m, other=0.0).to(tl.float32)
    tl.store(y_ptr + row * OT + o, acc / K, mask=m)


def avg_pool1d(x, k=5, s=2):
    M, T = x.shape
    OT = (T - k) // s + 1
    y = torch.empty(M, OT, device=x.device, dtype=x.dtype)
    avg_pool1d_kernel[(M, triton.cdiv(OT, 1024))](x, y, T, OT, k, s, BLOCK=1024)
    return y


@triton.jit
def shift_tokens_kernel(x_ptr, y_ptr, T, C, BT: tl.constexpr, BC: tl.constexpr):
    """Each token's channels from the one before, a tile at a time."""
    b = tl.program_id(2)
    t = tl.program_id(0) * BT + tl.arange(0, BT)[:, None]
    c = tl.program_id(1) * BC + tl.arange(0, BC)[None, :]
    m = (t < T) & (c < C)
    v = tl.load(x_ptr + (b * T + t - 1) * C + c, mask=m & (t > 0), other=0.0)
    tl.store(y_ptr + (b * T + t) * C + c, v, mask=m)


def shift_tokens(x):
    B, T, C = x.shape
    y = torch.empty_like(x)
    shift_tokens_kernel[(triton.cdiv(T, 16), triton.cdiv(C, 128), B)](x, y, T, C, BT=16, BC=128)
    return y
