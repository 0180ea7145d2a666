"""Kernels with a program for each row, however short it is."""

import torch
import triton
import triton.language as tl


@triton.jit
def rms_row_kernel(x_ptr, w_ptr, y_ptr, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    keep = c < N
    x = tl.load(x_ptr + row * stride + c, mask=keep, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + c, mask=keep, other=0.0).to(tl.float32)
    r = 1 / tl.sqrt(tl.sum(x * x, axis=0) / N + eps)
    tl.store(y_ptr + row * stride + c, x * r * w, mask=keep)


def rms_row(x, w):
    rows, N = x.shape
    y = torch.empty_like(x)
    rms_row_kernel[(rows,)](x, w, y, x.stride(0), N, 1e-6, BLOCK=triton.next_power_of_2(N))
    return y


@triton.jit
def softmax_row_kernel(x_ptr, y_ptr, stride, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    keep = c < N
    x = tl.load(x_ptr + row * stride + c, mask=keep, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * stride + c, e / tl.sum(e, axis=0), mask=keep)


def softmax_row(x):
    rows, N = x.shape
    y = torch.empty_like(x)
    softmax_row_kernel[(rows,)](x, y, x.stride(0), N, BLOCK=triton.next_power_of_2(N))
    return y


@triton.jit
def rope_half_kernel(x_ptr, cos_ptr, sin_ptr, y_ptr, T, H, HALF: tl.constexpr):
    t = tl.program_id(0) % T
    h = tl.program_id(1)
    base = (tl.program_id(0) * H + h) * 2 * HALF
    k = tl.arange(0, HALF)
    c = tl.load(cos_ptr + t * HALF + k).to(tl.float32)
    s = tl.load(sin_ptr + t * HALF + k).to(tl.float32)
    a = tl.load(x_ptr + base + k).to(tl.float32)
    b = tl.load(x_ptr + base + HALF + k).to(tl.float32)
    tl.store(y_ptr + base + k, a * c - b * s)
    tl.store(y_ptr + base + HALF + k, b * c + a * s)


def rope_half(x, cos, sin):
    B, T, H, D = x.shape
    y = torch.empty_like(x)
    rope_half_kernel[(B * T, H)](x, cos, sin, y, T, H, HALF=D // 2)
    return y
