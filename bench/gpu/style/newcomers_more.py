# ruff: noqa: E501
"""Further ones of the kind of newcomers.py: pictures, signals, recommendations."""

import torch
import triton
import triton.language as tl


@triton.jit
def fpn_add_kernel(low_ptr, skip_ptr, y_ptr, H, W, n, BLOCK: tl.constexpr):
    """The coarser map, twice as large by repetition, and the finer one."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    w = i % W
    h = (i // W) % H
    plane = i // (W * H)
    low = tl.load(low_ptr + plane * (H // 2) * (W // 2) + (h // 2) * (W // 2) + w // 2, mask=m, other=0.0)
    skip = tl.load(skip_ptr + i, mask=m, other=0.0)
    tl.store(y_ptr + i, low + skip, mask=m)


def fpn_add(low, skip):
    N, C, H, W = skip.shape
    y = torch.empty_like(skip)
    n = y.numel()
    fpn_add_kernel[(triton.cdiv(n, 1024),)](low, skip, y, H, W, n, BLOCK=1024)
    return y


@triton.jit
def warp_rows_kernel(x_ptr, at_ptr, y_ptr, T, BLOCK: tl.constexpr):
    """A signal at other times: linear between its samples."""
    row = tl.program_id(0)
    o = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = o < T
    p = tl.load(at_ptr + row * T + o, mask=m, other=0.0)
    left = tl.floor(p).to(tl.int32)
    f = p - left
    left = tl.minimum(tl.maximum(left, 0), T - 1)
    right = tl.minimum(left + 1, T - 1)
    a = tl.load(x_ptr + row * T + left, mask=m, other=0.0)
    b = tl.load(x_ptr + row * T + right, mask=m, other=0.0)
    tl.store(y_ptr + row * T + o, a + (b - a) * f, mask=m)


def warp_rows(x, at):
    M, T = x.shape
    y = torch.empty_like(x)
    warp_rows_kernel[(M, triton.cdiv(T, 1024))](x, at, y, T, BLOCK=1024)
    return y


@triton.jit
def patch_merge_kernel(x_ptr, y_ptr, H, W, C, BLOCK: tl.constexpr):
    """Four neighbouring pixels' channels side by side (N, H, W, C)."""
    pid = tl.program_id(0)
    w2 = pid % (W // 2)
    h2 = pid // (W // 2) % (H // 2)
    n = pid // ((W // 2) * (H // 2))
    c = tl.arange(0, BLOCK)
    m = c < C
    for part in tl.static_range(4):
        h = h2 * 2 + part % 2
        w = w2 * 2 + part // 2
        v = tl.load(x_ptr + ((n * H + h) * W + w) * C + c, mask=m)
        tl.store(y_ptr + pid * 4 * C + part * C + c, v, mask=m)


def patch_merge(x):
    N, H, W, C = x.shape
    y = torch.empty(N, H // 2, W // 2, 4 * C, device=x.device, dtype=x.dtype)
    patch_merge_kernel[(N * (H // 2) * (W // 2),)](x, y, H, W, C, BLOCK=triton.next_power_of_2(C), num_warps=1)
    return y


@triton.jit
def vae_kl_kernel(z_ptr, kl_ptr, D, BLOCK: tl.constexpr):
    """Divergence from a standard normal; means and log-variances are halves of a row."""
    row = tl.program_id(0)
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, D, BLOCK):
        d = start + tl.arange(0, BLOCK)
        m = d < D
        mu = tl.load(z_ptr + row * 2 * D + d, mask=m, other=0.0).to(tl.float32)
        lv = tl.load(z_ptr + row * 2 * D + D + d, mask=m, other=0.0).to(tl.float32)
        acc += tl.where(m, mu * mu + tl.exp(lv) - lv - 1.0, 0.0)
    tl.store(kl_ptr + row, 0.5 * tl.sum(acc))


def vae_kl(z):
    M, D2 = z.shape
    kl = torch.empty(M, device=z.device, dtype=torch.float32)
    vae_kl_kernel[(M,)](z, kl, D2 // 2, BLOCK=512)
    return kl


@triton.jit
def bpr_kernel(u_ptr, v_ptr, user_ptr, pos_ptr, neg_ptr, loss_ptr, D, BLOCK: tl.constexpr):
    """Bayesian personalised ranking: a user, an item that was taken, one that was not."""
    i = tl.program_id(0)
    d = tl.arange(0, BLOCK)
    m = d < D
    user = tl.load(user_ptr + i)
    pos = tl.load(pos_ptr + i)
    neg = tl.load(neg_ptr + i)
    u = tl.load(u_ptr + user * D + d, mask=m, other=0.0)
    p = tl.load(v_ptr + pos * D + d, mask=m, other=0.0)
    n = tl.load(v_ptr + neg * D + d, mask=m, other=0.0)
    s = tl.sum(u * (p - n), 0)
    tl.store(loss_ptr + i, -tl.log(tl.sigmoid(s) + 1e-10))


def bpr(u, v, user, pos, neg):
    B = user.numel()
    D = u.shape[1]
    loss = torch.empty(B, device=u.device, dtype=torch.float32)
    bpr_kernel[(B,)](u, v, user, pos, neg, loss, D, BLOCK=triton.next_power_of_2(D), num_warps=1)
    return loss


@triton.jit
def conv_same_kernel(x_ptr, w_ptr, b_ptr, y_ptr, C, T, K: tl.constexpr, BLOCK: tl.constexpr):
    """Depthwise convolution along time with K taps, as long as its input (B, C, T)."""
    bc = tl.program_id(0)
    c = bc % C
    t = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for k in tl.static_range(K):
        i = t + k - K // 2
        x = tl.load(x_ptr + bc * T + i, mask=(i >= 0) & (i < T), other=0.0).to(tl.float32)
        acc += x * tl.load(w_ptr + c * K + k).to(tl.float32)
    acc += tl.load(b_ptr + c).to(tl.float32)
    tl.store(y_ptr + bc * T + t, acc, mask=t < T)


def conv_same(x, w, b):
    B, C, T = x.shape
    y = torch.empty_like(x)
    conv_same_kernel[(B * C, triton.cdiv(T, 1024))](x, w, b, y, C, T, K=w.shape[1], BLOCK=1024)
    return y


@triton.jit
def mixup_kernel(x_ptr, perm_ptr, lam_ptr, y_ptr, N, BLOCK: tl.constexpr):
    """lam * x + (1 - lam) * x[perm], a picture of the batch and another."""
    b = tl.program_id(1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < N
    other = tl.load(perm_ptr + b)
    lam = tl.load(lam_ptr + b)
    x = tl.load(x_ptr + b * N + i, mask=m, other=0.0).to(tl.float32)
    z = tl.load(x_ptr + other * N + i, mask=m, other=0.0).to(tl.float32)
    tl.store(y_ptr + b * N + i, lam * x + (1 - lam) * z, mask=m)


def mixup(x, perm, lam):
    B = x.shape[0]
    N = x.numel() // B
    y = torch.empty_like(x)
    mixup_kernel[(triton.cdiv(N, 1024), B)](x, perm, lam, y, N, BLOCK=1024)
    return y


@triton.jit
def se_scale_kernel(x_ptr, s_ptr, y_ptr, HW, BLOCK: tl.constexpr):
    """Squeeze and excite: each plane by the sigmoid of its number."""
    nc = tl.program_id(0)
    g = tl.sigmoid(tl.load(s_ptr + nc).to(tl.float32))
    for start in range(0, HW, BLOCK):
        i = start + tl.arange(0, BLOCK)
        m = i < HW
        x = tl.load(x_ptr + nc * HW + i, mask=m, other=0.0).to(tl.float32)
        tl.store(y_ptr + nc * HW + i, x * g, mask=m)


def se_scale(x, s):
    N, C, H, W = x.shape
    y = torch.empty_like(x)
    se_scale_kernel[(N * C,)](x, s, y, H * W, BLOCK=1024)
    return y
