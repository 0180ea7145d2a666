"""Further norms, convolutions, pools and masked rows, each in a spelling of its own."""

import torch
import triton
import triton.language as tl


@triton.jit
def offset_rms_kernel(out_ptr, in_ptr, weight_ptr, row_stride, n_cols, eps, CHUNK: tl.constexpr):
    """RMS norm of long rows: chunk by chunk, scaled by one plus the weight."""
    row = tl.program_id(axis=0).to(tl.int64)
    lanes = tl.arange(0, CHUNK)
    squares = tl.zeros((CHUNK,), dtype=tl.float32)
    for chunk in tl.range(0, tl.cdiv(n_cols, CHUNK)):
        col = chunk * CHUNK + lanes
        v = tl.load(in_ptr + row * row_stride + col, mask=col < n_cols, other=0.0).to(tl.float32)
        squares += v * v
    inv = tl.math.rsqrt(tl.sum(squares, axis=0) / n_cols + eps)
    for chunk in tl.range(0, tl.cdiv(n_cols, CHUNK)):
        col = chunk * CHUNK + lanes
        inside = col < n_cols
        v = tl.load(in_ptr + row * row_stride + col, mask=inside, other=0.0).to(tl.float32)
        g = tl.load(weight_ptr + col, mask=inside, other=0.0).to(tl.float32)
        tl.store(out_ptr + row * row_stride + col, v * inv * (1.0 + g), mask=inside)


def offset_rms(x, weight, eps=1e-6):
    rows, cols = x.shape
    out = torch.empty_like(x)
    offset_rms_kernel[(rows,)](out, x, weight, x.stride(0), cols, eps, CHUNK=1024)
    return out


@triton.jit
def moving_norm_kernel(x_ptr, w_ptr, b_ptr, y_ptr, cols, eps, BLOCK: tl.constexpr):
    """Layer norm whose pointers move along the row; mean and variance come of one loop."""
    row = tl.program_id(0)
    span = tl.arange(0, BLOCK)
    ptrs = x_ptr + row * cols + span
    s1 = 0.0
    s2 = 0.0
    for start in range(0, cols, BLOCK):
        x = tl.load(ptrs, mask=span < cols - start, other=0.0).to(tl.float32)
        s1 += tl.sum(x)
        s2 += tl.sum(x * x)
        ptrs += BLOCK
    mu = s1 / cols
    rstd = 1.0 / tl.sqrt(s2 / cols - mu * mu + eps)
    x_ptrs = x_ptr + row * cols + span
    y_ptrs = y_ptr + row * cols + span
    for start in range(0, cols, BLOCK):
        keep = span < cols - start
        x = tl.load(x_ptrs, mask=keep, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + start + span, mask=keep, other=0.0).to(tl.float32)
        b = tl.load(b_ptr + start + span, mask=keep, other=0.0).to(tl.float32)
        tl.store(y_ptrs, ((x - mu) * rstd * w + b).to(y_ptr.dtype.element_ty), mask=keep)
        x_ptrs += BLOCK
        y_ptrs += BLOCK


def moving_norm(x, weight, bias, eps=1e-5):
    y = torch.empty_like(x)
    moving_norm_kernel[(x.shape[0],)](x, weight, bias, y, x.shape[1], eps, BLOCK=2048, num_warps=8)
    return y


@triton.jit
def group_norm_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, channels, per_group, hw, groups, eps, BLOCK: tl.constexpr
):
    """Images, a group of channels a program."""
    pid = tl.program_id(0)
    group = pid % groups
    n = per_group * hw
    base = pid * n
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for at in range(0, n, BLOCK):
        keep = at + lanes < n
        x = tl.load(x_ptr + base + at + lanes, mask=keep, other=0.0).to(tl.float32)
        total += x
        squares += x * x
    mean = tl.sum(total) / n
    rstd = tl.rsqrt(tl.sum(squares) / n - mean * mean + eps)
    for at in range(0, n, BLOCK):
        keep = at + lanes < n
        channel = group * per_group + (at + lanes) // hw
        x = tl.load(x_ptr + base + at + lanes, mask=keep, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + channel, mask=keep, other=0.0).to(tl.float32)
        b = tl.load(b_ptr + channel, mask=keep, other=0.0).to(tl.float32)
        tl.store(y_ptr + base + at + lanes, (x - mean) * rstd * w + b, mask=keep)


def group_norm(x, weight, bias, groups=32, eps=1e-5):
    batch, channels, height, width = x.shape
    y = torch.empty_like(x)
    sizes = channels, channels // groups, height * width, groups
    group_norm_kernel[(batch * groups,)](x, weight, bias, y, *sizes, eps, BLOCK=1024)
    return y


@triton.jit
def scaled_branch_kernel(
    x_ptr, h_ptr, gamma_ptr, y_ptr, rows, C, BM: tl.constexpr, BC: tl.constexpr
):
    """A branch that is scaled by channel and added to the trunk."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    c = tl.program_id(1) * BC + tl.arange(0, BC)[None, :]
    keep = (m < rows) & (c < C)
    x = tl.load(x_ptr + m * C + c, keep)
    h = tl.load(h_ptr + m * C + c, keep)
    gamma = tl.load(gamma_ptr + c, c < C)
    tl.store(y_ptr + m * C + c, x + gamma * h, keep)


def scaled_branch(x, h, gamma):
    rows, C = x.shape
    y = torch.empty_like(x)
    scaled_branch_kernel[(triton.cdiv(rows, 32), triton.cdiv(C, 64))](
        x, h, gamma, y, rows, C, BM=32, BC=64
    )
    return y


@triton.jit
def causal_conv_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, T, D, BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr
):
    """Four taps along time, a weight for each tap and channel, SiLU behind."""
    batch = tl.program_id(0)
    t = tl.program_id(1) * BLOCK_T + tl.arange(0, BLOCK_T)
    d = tl.program_id(2) * BLOCK_D + tl.arange(0, BLOCK_D)
    here = (t[:, None] < T) & (d[None, :] < D)
    acc = tl.zeros((BLOCK_T, BLOCK_D), dtype=tl.float32)
    acc += tl.load(b_ptr + d, mask=d < D, other=0.0).to(tl.float32)[None, :]
    for tap in tl.static_range(4):
        s = t - 3 + tap
        x = tl.load(
            x_ptr + (batch * T + s[:, None]) * D + d[None, :],
            mask=here & (s[:, None] >= 0),
            other=0.0,
        )
        w = tl.load(w_ptr + tap * D + d, mask=d < D, other=0.0)
        acc += x.to(tl.float32) * w.to(tl.float32)[None, :]
    acc = acc * tl.sigmoid(acc)
    tl.store(y_ptr + (batch * T + t[:, None]) * D + d[None, :], acc, mask=here)


def causal_conv(x, weight, bias):
    batch, T, D = x.shape
    y = torch.empty_like(x)
    causal_conv_kernel[(batch, triton.cdiv(T, 64), triton.cdiv(D, 64))](
        x, weight, bias, y, T, D, BLOCK_T=64, BLOCK_D=64
    )
    return y


@triton.jit
def masked_softmax_kernel(scores, keep, probs, scale, row_stride, length, WIDTH: tl.constexpr):
    """Rows of scores under a mask that the caller gives."""
    row = tl.program_id(0)
    j = tl.arange(0, WIDTH)
    s = tl.load(scores + row * row_stride + j, mask=j < length, other=0.0).to(tl.float32) * scale
    k = tl.load(keep + row * row_stride + j, mask=j < length, other=0)
    s = tl.where(k != 0, s, -1.0e30)
    s = tl.where(j < length, s, float("-inf"))
    e = tl.exp(s - tl.max(s, axis=0))
    p = e / tl.sum(e, axis=0)
    tl.store(probs + row * row_stride + j, p.to(probs.dtype.element_ty), mask=j < length)


def masked_softmax(scores, keep, scale):
    rows, length = scores.shape
    probs = torch.empty_like(scores)
    masked_softmax_kernel[(rows,)](
        scores,
        keep,
        probs,
        scale,
        scores.stride(0),
        length,
        WIDTH=triton.next_power_of_2(length),
        num_warps=4,
    )
    return probs


@triton.jit
def average_pool_kernel(x_ptr, y_ptr, H, W, OH, OW, total, BLOCK: tl.constexpr):
    """Two by two, images behind each other."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = i < total
    ow = i % OW
    oh = (i // OW) % OH
    image = i // (OW * OH)
    at = image * H * W + oh * 2 * W + ow * 2
    a = tl.load(x_ptr + at, mask=ok, other=0.0).to(tl.float32)
    b = tl.load(x_ptr + at + 1, mask=ok, other=0.0).to(tl.float32)
    c = tl.load(x_ptr + at + W, mask=ok, other=0.0).to(tl.float32)
    d = tl.load(x_ptr + at + W + 1, mask=ok, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, (a + b + c + d) * 0.25, mask=ok)


def average_pool(x):
    N, C, H, W = x.shape
    y = torch.empty(N, C, H // 2, W // 2, device=x.device, dtype=x.dtype)
    total = y.numel()
    average_pool_kernel[(triton.cdiv(total, 512),)](x, y, H, W, H // 2, W // 2, total, BLOCK=512)
    return y


@triton.jit
def focal_kernel(logits_ptr, target_ptr, loss_ptr, n, gamma, alpha, BLOCK: tl.constexpr):
    """Binary focal loss of logits, an element a lane."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    z = tl.load(logits_ptr + i, mask=live, other=0.0).to(tl.float32)
    t = tl.load(target_ptr + i, mask=live, other=0.0).to(tl.float32)
    p = tl.sigmoid(z)
    ce = tl.maximum(z, 0.0) - z * t + tl.log(1.0 + tl.exp(-tl.abs(z)))
    miss = p * (1.0 - t) + (1.0 - p) * t
    weight = alpha * t + (1.0 - alpha) * (1.0 - t)
    tl.store(loss_ptr + i, weight * miss * miss * ce, mask=live)


def focal(logits, target, gamma=2.0, alpha=0.25):
    loss = torch.empty_like(logits)
    n = logits.numel()
    focal_kernel[(triton.cdiv(n, 1024),)](logits, target, loss, n, gamma, alpha, BLOCK=1024)
    return loss
