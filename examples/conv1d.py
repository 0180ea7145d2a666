"""Causal depthwise convolution over time, with bias and SiLU, as state-space models use it."""

import torch
import triton
import triton.language as tl


@triton.jit
def causal_conv1d_kernel(
    x_ptr,
    weight_ptr,
    bias_ptr,
    y_ptr,
    T,
    D,
    WIDTH: tl.constexpr,
    SILU: tl.constexpr,
    BLOCK_T: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """y[b, t, d] = silu(bias[d] + sum_w weight[d, w] * x[b, t - WIDTH + 1 + w, d])."""
    batch = tl.program_id(0)
    t = tl.program_id(1) * BLOCK_T + tl.arange(0, BLOCK_T)
    d = tl.program_id(2) * BLOCK_D + tl.arange(0, BLOCK_D)
    d_mask = d < D
    base = batch * T * D
    acc = tl.zeros([BLOCK_T, BLOCK_D], dtype=tl.float32)
    if bias_ptr is not None:
        acc += tl.load(bias_ptr + d, mask=d_mask, other=0.0)[None, :]
    for w in tl.static_range(WIDTH):
        source = t - (WIDTH - 1) + w
        mask = ((source >= 0) & (source < T))[:, None] & d_mask[None, :]
        x = tl.load(x_ptr + base + source[:, None] * D + d[None, :], mask=mask, other=0.0)
        weight = tl.load(weight_ptr + d * WIDTH + w, mask=d_mask, other=0.0)
        acc += x * weight[None, :]
    if SILU:
        acc = acc * tl.sigmoid(acc)
    out_mask = (t < T)[:, None] & d_mask[None, :]
    tl.store(y_ptr + base + t[:, None] * D + d[None, :], acc, mask=out_mask)


def causal_conv1d(x, weight, bias=None, activation=None):
    """`x` is [batch, time, channel], `weight` [channel, width]."""
    B, T, D = x.shape
    width = weight.shape[1]
    x = x.contiguous()
    y = torch.empty_like(x)
    block_t, block_d = 64, 32
    grid = (B, triton.cdiv(T, block_t), triton.cdiv(D, block_d))
    causal_conv1d_kernel[grid](
        x,
        weight.contiguous(),
        bias,
        y,
        T,
        D,
        WIDTH=width,
        SILU=activation in ("silu", "swish"),
        BLOCK_T=block_t,
        BLOCK_D=block_d,
    )
    return y
