"""Norms as they are written in public training code."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_rms_norm_kernel(
    X, R, W, S, Y, Rstd, x_stride, n_cols, eps, BLOCK_SIZE: tl.constexpr
):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(X + row * x_stride + cols, mask=mask, other=0)
    r = tl.load(R + row * x_stride + cols, mask=mask, other=0)
    s = x + r
    tl.store(S + row * x_stride + cols, s, mask=mask)
    s = s.to(tl.float32)
    w = tl.load(W + cols, mask=mask, other=0)
    rstd = tl.rsqrt(tl.sum(s * s, axis=0) / n_cols + eps)
    tl.store(Rstd + row, rstd)
    y = (s * rstd).to(w.dtype) * w
    tl.store(Y + row * x_stride + cols, y, mask=mask)


def add_rms_norm(x, residual, weight, eps=1e-6):
    M, N = x.shape
    s = torch.empty_like(x)
    y = torch.empty_like(x)
    rstd = torch.empty(M, device=x.device, dtype=torch.float32)
    block = triton.next_power_of_2(N)
    add_rms_norm_kernel[(M,)](x, residual, weight, s, y, rstd, x.stride(0), N, eps, block, num_warps=8)
    return y, s


@triton.jit
def layer_norm_blocks_kernel(X, Y, W, B, Mean, Rstd, stride, N, eps, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    Y += row * stride
    X += row * stride
    total = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        total += tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / N
    squares = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        x = tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
        x = tl.where(cols < N, x - mean, 0.0)
        squares += x * x
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / N + eps)
    tl.store(Mean + row, mean)
    tl.store(Rstd + row, rstd)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        mask = cols < N
        w = tl.load(W + cols, mask=mask)
        b = tl.load(B + cols, mask=mask)
        x = tl.load(X + cols, mask=mask, other=0.0).to(tl.float32)
        tl.store(Y + cols, (x - mean) * rstd * w + b, mask=mask)


def layer_norm_blocks(x, weight, bias, eps=1e-5):
    M, N = x.shape
    y = torch.empty_like(x)
    mean = torch.empty((M,), dtype=torch.float32, device=x.device)
    rstd = torch.empty((M,), dtype=torch.float32, device=x.device)
    layer_norm_blocks_kernel[(M,)](x, y, weight, bias, mean, rstd, x.stride(0), N, eps, BLOCK_SIZE=2048, num_warps=8)
    return y


@triton.jit
def gated_rms_norm_kernel(X, Z, W, Y, stride_x, stride_z, stride_y, N, eps, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_N)
    x = tl.load(X + row * stride_x + cols, mask=cols < N, other=0.0).to(tl.float32)
    z = tl.load(Z + row * stride_z + cols, mask=cols < N).to(tl.float32)
    x *= z * tl.sigmoid(z)
    xbar = tl.where(cols < N, x, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(xbar * xbar, axis=0) / N + eps)
    w = tl.load(W + cols, mask=cols < N).to(tl.float32)
    tl.store(Y + row * stride_y + cols, x * rstd * w, mask=cols < N)


def gated_rms_norm(x, z, weight, eps=1e-5):
    M, N = x.shape
    y = torch.empty_like(x)
    block = min(65536 // x.element_size(), triton.next_power_of_2(N))
    strides = x.stride(0), z.stride(0), y.stride(0)
    gated_rms_norm_kernel[(M,)](x, z, weight, y, *strides, N, eps, BLOCK_N=block, num_warps=8)
    return y


@triton.jit
def head_rms_norm_kernel(x_ptr, w_ptr, y_ptr, n_rows, eps, D: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    d = tl.arange(0, D)
    at = rows[:, None] * D + d[None, :]
    keep = rows[:, None] < n_rows
    x = tl.load(x_ptr + at, mask=keep, other=0.0).to(tl.float32)
    r = tl.rsqrt(tl.sum(x * x, axis=1) / D + eps)
    w = tl.load(w_ptr + d).to(tl.float32)
    tl.store(y_ptr + at, x * r[:, None] * w[None, :], mask=keep)


def head_rms_norm(x, weight, eps=1e-6):
    D = x.shape[-1]
    n_rows = x.numel() // D
    y = torch.empty_like(x)
    head_rms_norm_kernel[(triton.cdiv(n_rows, 32),)](x, weight, y, n_rows, eps, D=D, ROWS=32)
    return y


@triton.jit
def l2_normalize_kernel(x_ptr, y_ptr, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
    y = x / tl.sqrt(tl.sum(x * x, 0) + eps)
    tl.store(y_ptr + row * n_cols + cols, y.to(y_ptr.dtype.element_ty), mask=cols < n_cols)


def l2_normalize(x, eps=1e-6):
    y = torch.empty_like(x)
    l2_normalize_kernel[(x.shape[0],)](x, y, x.shape[1], eps, BLOCK=triton.next_power_of_2(x.shape[1]))
    return y


@triton.jit
def channel_affine_kernel(x_ptr, scale_ptr, shift_ptr, y_ptr, n, C, HW, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    c = (offs // HW) % C
    x = tl.load(x_ptr + offs, mask=mask)
    y = x * tl.load(scale_ptr + c, mask=mask) + tl.load(shift_ptr + c, mask=mask)
    tl.store(y_ptr + offs, y, mask=mask)


def channel_affine(x, scale, shift):
    n, C = x.numel(), x.shape[1]
    y = torch.empty_like(x)
    channel_affine_kernel[(triton.cdiv(n, 1024),)](x, scale, shift, y, n, C, x.shape[2] * x.shape[3], BLOCK=1024)
    return y
