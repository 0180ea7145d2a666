"""Norms over channels, tables that columns share, softmaxes and losses, in spellings that the other files have not."""

import torch
import triton
import triton.language as tl


@triton.jit
def scaled_add_kernel(x_ptr, y_ptr, w_ptr, o_ptr, C, n, BLOCK: tl.constexpr):
    """Programs take turns along a flat index; its column has a weight."""
    step = tl.num_programs(0) * BLOCK
    for start in range(tl.program_id(0) * BLOCK, n, step):
        i = start + tl.arange(0, BLOCK)
        m = i < n
        x = tl.load(x_ptr + i, mask=m, other=0.0).to(tl.float32)
        y = tl.load(y_ptr + i, mask=m, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + i % C, mask=m, other=0.0).to(tl.float32)
        tl.store(o_ptr + i, x + w * y, mask=m)


def scaled_add(x, y, w):
    o = torch.empty_like(x)
    n = x.numel()
    scaled_add_kernel[(min(1056, triton.cdiv(n, 1024)),)](x, y, w, o, x.shape[-1], n, BLOCK=1024)
    return o


@triton.jit
def bias_act_kernel(x_ptr, b_ptr, y_ptr, C, HW, total, BLOCK: tl.constexpr):
    """Turns along a flat index of images; the index of a channel is a digit of it."""
    tile = tl.program_id(0)
    tiles = tl.cdiv(total, BLOCK)
    while_step = tl.num_programs(0)
    for t in tl.range(tile, tiles, while_step):
        offs = t * BLOCK + tl.arange(0, BLOCK)
        keep = offs < total
        channel = (offs // HW) % C
        v = tl.load(x_ptr + offs, mask=keep, other=0.0).to(tl.float32)
        v += tl.load(b_ptr + channel, mask=keep, other=0.0).to(tl.float32)
        tl.store(y_ptr + offs, v * tl.sigmoid(v), mask=keep)


def bias_act(x, b):
    N, C, H, W = x.shape
    y = torch.empty_like(x)
    total = x.numel()
    grid = (min(2 * 132, triton.cdiv(total, 2048)),)
    bias_act_kernel[grid](x, b, y, C, H * W, total, BLOCK=2048, num_warps=8)
    return y


@triton.jit
def batch_norm_kernel(x_ptr, w_ptr, b_ptr, y_ptr, N, C, HW, eps, BLOCK: tl.constexpr):
    """A program a channel, over all images: two passes for the statistics, one for the output."""
    c = tl.program_id(0)
    count = N * HW
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for n in range(N):
        base = x_ptr + (n * C + c) * HW
        for start in range(0, HW, BLOCK):
            at = start + tl.arange(0, BLOCK)
            total += tl.load(base + at, mask=at < HW, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / count
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for n in range(N):
        base = x_ptr + (n * C + c) * HW
        for start in range(0, HW, BLOCK):
            at = start + tl.arange(0, BLOCK)
            d = tl.load(base + at, mask=at < HW, other=0.0).to(tl.float32) - mean
            squares += tl.where(at < HW, d * d, 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / count + eps)
    w = tl.load(w_ptr + c).to(tl.float32)
    b = tl.load(b_ptr + c).to(tl.float32)
    for n in range(N):
        row = (n * C + c) * HW
        for start in range(0, HW, BLOCK):
            at = start + tl.arange(0, BLOCK)
            x = tl.load(x_ptr + row + at, mask=at < HW, other=0.0).to(tl.float32)
            tl.store(y_ptr + row + at, (x - mean) * rstd * w + b, mask=at < HW)


def batch_norm(x, w, b, eps=1e-5):
    N, C, H, W = x.shape
    y = torch.empty_like(x)
    batch_norm_kernel[(C,)](x, w, b, y, N, C, H * W, eps, BLOCK=1024)
    return y


@triton.jit
def group_norm_channels_kernel(x_ptr, w_ptr, b_ptr, y_ptr, C, HW, groups, eps, CG: tl.constexpr, BLOCK: tl.constexpr):
    """A grid of images and groups; a loop over the channels of a group around one over its pixels."""
    n, g = tl.program_id(0), tl.program_id(1)
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for k in range(CG):
        row = x_ptr + (n * C + g * CG + k) * HW
        for at in range(0, HW, BLOCK):
            x = tl.load(row + at + lanes, mask=at + lanes < HW, other=0.0).to(tl.float32)
            total += x
            squares += x * x
    mean = tl.sum(total, 0) / (CG * HW)
    rstd = tl.rsqrt(tl.sum(squares, 0) / (CG * HW) - mean * mean + eps)
    for k in range(CG):
        c = g * CG + k
        w = tl.load(w_ptr + c).to(tl.float32)
        b = tl.load(b_ptr + c).to(tl.float32)
        row = (n * C + c) * HW
        for at in range(0, HW, BLOCK):
            keep = at + lanes < HW
            x = tl.load(x_ptr + row + at + lanes, mask=keep, other=0.0).to(tl.float32)
            tl.store(y_ptr + row + at + lanes, (x - mean) * rstd * w + b, mask=keep)


def group_norm_channels(x, w, b, groups=32, eps=1e-5):
    N, C, H, W = x.shape
    y = torch.empty_like(x)
    group_norm_channels_kernel[(N, groups)](x, w, b, y, C, H * W, groups, eps, CG=C // groups, BLOCK=1024)
    return y


@triton.jit
def norm_last_kernel(x_ptr, w_ptr, b_ptr, y_ptr, HW, C, G, eps, CG: tl.constexpr, BLOCK: tl.constexpr):
    """A group norm of channels that lie side by side: tiles of pixels and channels."""
    n, g = tl.program_id(1), tl.program_id(0)
    c = g * CG + tl.arange(0, CG)
    pixels = tl.arange(0, BLOCK)
    mean = 0.0
    m2 = 0.0
    count = 0.0
    for start in range(0, HW, BLOCK):
        p = start + pixels
        keep = p[:, None] < HW
        x = tl.load(x_ptr + (n * HW + p[:, None]) * C + c[None, :], mask=keep, other=0.0).to(tl.float32)
        here = tl.minimum(HW - start, BLOCK) * CG
        part = tl.sum(x) / here
        off = tl.where(keep, x - part, 0.0)
        delta = part - mean
        all_of = count + here
        mean += delta * here / all_of
        m2 += tl.sum(off * off) + delta * delta * count * here / all_of
        count = all_of
    rstd = tl.rsqrt(m2 / count + eps)
    w = tl.load(w_ptr + c).to(tl.float32)
    b = tl.load(b_ptr + c).to(tl.float32)
    for start in range(0, HW, BLOCK):
        p = start + pixels
        keep = p[:, None] < HW
        at = (n * HW + p[:, None]) * C + c[None, :]
        x = tl.load(x_ptr + at, mask=keep, other=0.0).to(tl.float32)
        tl.store(y_ptr + at, (x - mean) * rstd * w[None, :] + b[None, :], mask=keep)


def norm_last(x, w, b, groups=8, eps=1e-5):
    N, H, W, C = x.shape
    y = torch.empty_like(x)
    norm_last_kernel[(groups, N)](x, w, b, y, H * W, C, groups, eps, CG=C // groups, BLOCK=128)
    return y


@triton.jit
def layer_norm_2d_kernel(x_ptr, w_ptr, b_ptr, y_ptr, C, HW, eps, BC: tl.constexpr, BP: tl.constexpr):
    """A layer norm over the channels of each pixel, channels first."""
    n = tl.program_id(1)
    p = tl.program_id(0) * BP + tl.arange(0, BP)
    c = tl.arange(0, BC)
    keep = (c[:, None] < C) & (p[None, :] < HW)
    at = (n * C + c[:, None]) * HW + p[None, :]
    x = tl.load(x_ptr + at, mask=keep, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / C
    d = tl.where(keep, x - mean[None, :], 0.0)
    rstd = 1 / tl.sqrt(tl.sum(d * d, axis=0) / C + eps)
    w = tl.load(w_ptr + c, mask=c < C, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + c, mask=c < C, other=0.0).to(tl.float32)
    y = d * rstd[None, :] * w[:, None] + b[:, None]
    tl.store(y_ptr + at, y, mask=keep)


def layer_norm_2d(x, w, b, eps=1e-6):
    N, C, H, W = x.shape
    y = torch.empty_like(x)
    grid = (triton.cdiv(H * W, 64), N)
    layer_norm_2d_kernel[grid](x, w, b, y, C, H * W, eps, BC=triton.next_power_of_2(C), BP=64)
    return y


@triton.jit
def attention_weights_kernel(s_ptr, m_ptr, b_ptr, p_ptr, H, Q, K, scale, BLOCK: tl.constexpr):
    """A softmax of scores with a bias of each head, a byte that keeps a key: a grid of rows, heads, batches."""
    q, h, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    k = tl.arange(0, BLOCK)
    live = k < K
    row = ((z * H + h) * Q + q) * K
    s = tl.load(s_ptr + row + k, mask=live, other=0.0).to(tl.float32) * scale
    s += tl.load(b_ptr + (h * Q + q) * K + k, mask=live, other=0.0).to(tl.float32)
    keep = tl.load(m_ptr + (z * Q + q) * K + k, mask=live, other=0)
    s = tl.where(live & (keep != 0), s, float("-inf"))
    e = tl.exp(s - tl.max(s, 0))
    tl.store(p_ptr + row + k, e / tl.sum(e, 0), mask=live)


def attention_weights(s, m, b, scale):
    Z, H, Q, K = s.shape
    p = torch.empty_like(s)
    block = triton.next_power_of_2(K)
    attention_weights_kernel[(Q, H, Z)](s, m, b, p, H, Q, K, scale, BLOCK=block, num_warps=4)
    return p


@triton.jit
def drop_rms_kernel(x_ptr, r_ptr, keep_ptr, w_ptr, s_ptr, y_ptr, stride, N, p, eps, BLOCK: tl.constexpr):
    """What a byte keeps, scaled and added to the trunk, then an RMS norm of it: rows in blocks."""
    row = tl.program_id(0) * stride
    total = 0.0
    for start in range(0, N, BLOCK):
        c = start + tl.arange(0, BLOCK)
        m = c < N
        k = tl.load(keep_ptr + row + c, mask=m, other=0)
        x = tl.load(x_ptr + row + c, mask=m, other=0.0).to(tl.float32)
        r = tl.load(r_ptr + row + c, mask=m, other=0.0).to(tl.float32)
        s = tl.where(k != 0, x / (1 - p), 0.0) + r
        total += tl.sum(s * s, axis=0)
        tl.store(s_ptr + row + c, s, mask=m)
    r = tl.rsqrt(total / N + eps)
    for start in range(0, N, BLOCK):
        c = start + tl.arange(0, BLOCK)
        m = c < N
        s = tl.load(s_ptr + row + c, mask=m, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + c, mask=m, other=0.0).to(tl.float32)
        tl.store(y_ptr + row + c, s * r * w, mask=m)


def drop_rms(x, r, keep, w, p=0.1, eps=1e-6):
    M, N = x.shape
    s, y = torch.empty_like(x), torch.empty_like(x)
    drop_rms_kernel[(M,)](x, r, keep, w, s, y, x.stride(0), N, p, eps, BLOCK=1024)
    return y, s


@triton.jit
def masked_mean_kernel(x_ptr, t_ptr, m_ptr, part_ptr, n, BLOCK: tl.constexpr):
    """What a mean of squares under a mask adds up: a part of each program."""
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    keep = i < n
    x = tl.load(x_ptr + i, mask=keep, other=0.0).to(tl.float32)
    t = tl.load(t_ptr + i, mask=keep, other=0.0).to(tl.float32)
    w = tl.load(m_ptr + i, mask=keep, other=0)
    d = tl.where(w != 0, x - t, 0.0)
    tl.store(part_ptr + pid, tl.sum(d * d))


def masked_mean(x, t, m):
    n = x.numel()
    blocks = triton.cdiv(n, 2048)
    parts = torch.empty(blocks, device=x.device, dtype=torch.float32)
    masked_mean_kernel[(blocks,)](x, t, m, parts, n, BLOCK=2048)
    return parts.sum() / n


@triton.jit
def chunked_nll_kernel(x_ptr, t_ptr, o_ptr, lse_ptr, V, BLOCK: tl.constexpr):
    """Cross entropy: a maximum and a sum for each lane of a block, put together behind the loop."""
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    m = tl.full([BLOCK], float("-inf"), tl.float32)
    s = tl.zeros([BLOCK], tl.float32)
    for start in range(0, V, BLOCK):
        x = tl.load(x_ptr + row * V + start + lanes, mask=start + lanes < V, other=float("-inf")).to(tl.float32)
        new = tl.maximum(m, x)
        s = tl.where(new == float("-inf"), 0.0, s * tl.exp(m - new) + tl.exp(x - new))
        m = new
    top = tl.max(m, 0)
    lse = top + tl.log(tl.sum(s * tl.exp(m - top), 0))
    label = tl.load(t_ptr + row)
    tl.store(lse_ptr + row, lse)
    tl.store(o_ptr + row, lse - tl.load(x_ptr + row * V + label).to(tl.float32))


def chunked_nll(x, t):
    M, V = x.shape
    o = torch.empty(M, device=x.device, dtype=torch.float32)
    lse = torch.empty_like(o)
    chunked_nll_kernel[(M,)](x, t, o, lse, V, BLOCK=4096, num_warps=8)
    return o
