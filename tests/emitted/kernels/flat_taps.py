"""Taps around a pixel, or in front of a time step, of which each lane finds its own by the digits of one number."""

import torch
import triton
import triton.language as tl


@triton.jit
def smoothed(x, y, H, W, n, K: tl.constexpr, B: tl.constexpr):
    """Sums of squares of K by K pixels around each, a lane for a pixel."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    keep = i < n
    w = i % W
    h = i // W % H
    plane = i // (W * H)
    acc = tl.zeros((B,), dtype=tl.float32)
    for a in range(K):
        for b in tl.static_range(K):
            hh = h + a - K // 2
            ww = w + b - K // 2
            inside = (hh >= 0) & (hh < H) & (ww >= 0) & (ww < W)
            v = tl.load(x + (plane * H + hh) * W + ww, mask=keep & inside, other=0.0)
            acc += v * v * (a + 1) / (b + 1)
    tl.store(y + i, acc, mask=keep)


@triton.jit
def smoothed_some(x, y, H, W, n, K: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    keep = i < n
    w = i % W
    h = i // W % H
    plane = i // (W * H)
    acc = tl.zeros((B,), dtype=tl.float32)
    for a in range(K):
        hh = h + a - K // 2
        v = tl.load(x + (plane * H + hh) * W + w, mask=keep & (hh >= 0) & (hh < H), other=0.0)
        acc += v * v
    tl.store(y + i, acc, mask=keep)


@triton.jit
def smoothed_beyond(x, y, H, W, n, K: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    keep = i < n
    w = i % W
    h = i // W % H
    plane = i // (W * H)
    acc = tl.zeros((B,), dtype=tl.float32)
    for a in range(K):
        hh = h + a - K // 2
        v = tl.load(x + (plane * H + hh) * W + w, mask=keep & (hh >= 0), other=0.0)
        acc += v * v
    tl.store(y + i, acc, mask=keep)


@triton.jit
def along_time(x, y, T, C, n, K: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    keep = i < n
    c = i % C
    t = (i // C) % T
    b = i // (C * T)
    acc = tl.zeros((B,), dtype=tl.float32)
    for k in tl.static_range(K):
        s = t - (K - 1) + k
        v = tl.load(x + (b * T + s) * C + c, mask=keep & (s >= 0) & (s < T), other=0.0)
        acc += v * (k + 1)
    tl.store(y + i, acc, mask=keep)


def run_smoothed(x):
    P, H, W = x.shape
    y = torch.empty_like(x)
    n = x.numel()
    smoothed[(triton.cdiv(n, 16),)](x, y, H, W, n, K=3, B=16)
    return y


def run_smoothed_some(x, n):
    P, H, W = x.shape
    y = torch.empty_like(x)
    smoothed_some[(triton.cdiv(n, 16),)](x, y, H, W, n, K=3, B=16)
    return y


def run_smoothed_beyond(x):
    P, H, W = x.shape
    y = torch.empty(P - 1, H, W)
    n = y.numel()
    smoothed_beyond[(triton.cdiv(n, 16),)](x, y, H, W, n, K=3, B=16)
    return y


def run_along_time(x):
    Bt, T, C = x.shape
    y = torch.empty_like(x)
    n = x.numel()
    along_time[(triton.cdiv(n, 16),)](x, y, T, C, n, K=4, B=16)
    return y
