"""Neighbours of a row or an element: edges, distances longer than a block, batches, distances that the caller chooses."""

# case: {"class": "neighbours", "call": "m.shift(x, 4)", "inputs": {"x": [12, 21]}}
# case: {"class": "neighbours", "call": "m.circular(x)", "inputs": {"x": [3, 37]}}
# case: {"class": "neighbours", "call": "m.far(x, 40)", "inputs": {"x": [100]}}
# case: {"class": "neighbours", "call": "m.far(x, 0)", "inputs": {"x": [100]}}
# case: {"class": "neighbours", "call": "m.far(x, 3)", "inputs": {"x": [100]}}
# case: {"class": "neighbours", "call": "m.far(x, -3)", "inputs": {"x": [100]}}
# case: {"class": "neighbours", "call": "m.clamped(x)", "inputs": {"x": [3, 37]}}
# case: {"class": "neighbours", "call": "m.previous(x)", "inputs": {"x": [9, 21]}}
# case: {"class": "neighbours", "call": "m.stencil(x)", "inputs": {"x": [7, 21]}}
# case: {"class": "neighbours", "call": "m.strided(x)", "inputs": {"x": [3, 41]}}
# case: {"class": "neighbours", "call": "m.valid(x, w)", "inputs": {"x": [3, 41], "w": [3]}}
# case: {"class": "neighbours", "call": "m.differences(x)", "inputs": {"x": [70]}}
# case: {"class": "neighbours", "call": "m.picky(x, keep)", "inputs": {"x": [70], "keep": {"shape": [70], "dtype": "int32", "low": 0, "high": 1}}}
# case: {"class": "neighbours", "call": "m.causal_conv(x, w, b)", "inputs": {"x": [2, 7, 10], "w": [10, 4], "b": [10]}}
# case: {"class": "neighbours", "call": "m.causal_conv(x.transpose(1, 2), w, b)", "inputs": {"x": [2, 10, 7], "w": [10, 4], "b": [10]}}
# case: {"class": "neighbours", "call": "m.mix(x, u)", "inputs": {"x": [2, 9, 21], "u": [21]}}
# case: {"class": "neighbours", "call": "m.mix(x[:, ::2], u)", "inputs": {"x": [2, 9, 21], "u": [21]}}
# case: {"class": "neighbours", "call": "m.part(x)", "inputs": {"x": [10, 21]}}

import torch
import triton
import triton.language as tl


@triton.jit
def shift_kernel(x_ptr, y_ptr, T, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
    p = tl.load(x_ptr + (row - 1) * n + cols, mask=(cols < n) & (row % T > 0), other=0.0)
    tl.store(y_ptr + row * n + cols, x * x + 0.5 * p * x, mask=cols < n)


def shift(x, T):
    y = torch.empty_like(x)
    shift_kernel[(x.shape[0],)](x, y, T, x.shape[1], BLOCK=32)
    return y


@triton.jit
def circular_kernel(x_ptr, y_ptr, T, BLOCK: tl.constexpr):
    b = tl.program_id(1)
    t = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + b * T + t, mask=t < T, other=0.0)
    after = tl.load(x_ptr + b * T + (t + 1) % T, mask=t < T, other=0.0)
    before = tl.load(x_ptr + b * T + (t + T - 1) % T, mask=t < T, other=0.0)
    tl.store(y_ptr + b * T + t, x * after - before * before, mask=t < T)


def circular(x):
    y = torch.empty_like(x)
    circular_kernel[(triton.cdiv(x.shape[1], 16), x.shape[0])](x, y, x.shape[1], BLOCK=16)
    return y


@triton.jit
def far_kernel(x_ptr, y_ptr, n, d, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    z = tl.load(x_ptr + i + d, mask=(i + d < n) & (i + d >= 0) & (i < n), other=0.0)
    tl.store(y_ptr + i, x * z + z, mask=i < n)


def far(x, d):
    y = torch.empty_like(x)
    far_kernel[(triton.cdiv(x.shape[0], 16),)](x, y, x.shape[0], d, BLOCK=16)
    return y


@triton.jit
def clamped_kernel(x_ptr, y_ptr, T, BLOCK: tl.constexpr):
    b = tl.program_id(1)
    t = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + b * T + t, mask=t < T, other=0.0)
    before = tl.load(x_ptr + b * T + tl.maximum(t - 1, 0), mask=t < T, other=0.0)
    after = tl.load(x_ptr + b * T + tl.minimum(t + 1, T - 1), mask=t < T, other=0.0)
    tl.store(y_ptr + b * T + t, x * after + before * before, mask=t < T)


def clamped(x):
    y = torch.empty_like(x)
    clamped_kernel[(triton.cdiv(x.shape[1], 16), x.shape[0])](x, y, x.shape[1], BLOCK=16)
    return y


@triton.jit
def previous_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
    p = tl.load(x_ptr + row * n - n + cols, mask=(cols < n) & (row > 0), other=1.0)
    q = tl.load(
        x_ptr + row * n + n + cols, mask=(cols < n) & (row + 1 < tl.num_programs(0)), other=1.0
    )
    tl.store(y_ptr + row * n + cols, x * p * q, mask=cols < n)


def previous(x):
    y = torch.empty_like(x)
    previous_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=32)
    return y


@triton.jit
def stencil_kernel(x_ptr, y_ptr, H, W, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    at = r * W + c
    x = tl.load(x_ptr + at, mask=c < W, other=0.0)
    up = tl.load(x_ptr + at - W, mask=(c < W) & (r > 0), other=0.0)
    down = tl.load(x_ptr + at + W, mask=(c < W) & (r < H - 1), other=0.0)
    left = tl.load(x_ptr + at - 1, mask=(c < W) & (c > 0), other=0.0)
    right = tl.load(x_ptr + at + 1, mask=c < W - 1, other=0.0)
    tl.store(y_ptr + at, (up + down + left + right - 4 * x) * x, mask=c < W)


def stencil(x):
    y = torch.empty_like(x)
    stencil_kernel[(x.shape[0], triton.cdiv(x.shape[1], 8))](x, y, x.shape[0], x.shape[1], BLOCK=8)
    return y


@triton.jit
def strided_kernel(x_ptr, y_ptr, n, out, BLOCK: tl.constexpr):
    b = tl.program_id(1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x_ptr + b * n + 2 * i, mask=i < out, other=0.0)
    c = tl.load(x_ptr + b * n + 2 * i + 1, mask=i < out, other=0.0)
    d = tl.load(x_ptr + b * n + 2 * i + 2, mask=i < out, other=0.0)
    tl.store(y_ptr + b * out + i, a * c + d * d, mask=i < out)


def strided(x):
    out = (x.shape[1] - 1) // 2
    y = torch.empty((x.shape[0], out), dtype=x.dtype)
    strided_kernel[(triton.cdiv(out, 8), x.shape[0])](x, y, x.shape[1], out, BLOCK=8)
    return y


@triton.jit
def valid_kernel(x_ptr, w_ptr, y_ptr, n, out, K: tl.constexpr, BLOCK: tl.constexpr):
    b = tl.program_id(1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for k in tl.static_range(K):
        acc += tl.load(x_ptr + b * n + i + k, mask=i < out, other=0.0) * tl.load(w_ptr + k)
    tl.store(y_ptr + b * out + i, acc * acc, mask=i < out)


def valid(x, w):
    out = x.shape[1] - w.shape[0] + 1
    y = torch.empty((x.shape[0], out), dtype=x.dtype)
    valid_kernel[(triton.cdiv(out, 8), x.shape[0])](x, w, y, x.shape[1], out, K=w.shape[0], BLOCK=8)
    return y


@triton.jit
def differences_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x_ptr + i, mask=i < n - 1, other=0.0)
    b = tl.load(x_ptr + i + 1, mask=i < n - 1, other=0.0)
    tl.store(y_ptr + i, (b - a) * (b - a), mask=i < n - 1)


def differences(x):
    y = torch.empty(x.shape[0] - 1, dtype=x.dtype)
    differences_kernel[(triton.cdiv(x.shape[0], 16),)](x, y, x.shape[0], BLOCK=16)
    return y


@triton.jit
def picky_kernel(x_ptr, k_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.load(k_ptr + i, mask=i < n, other=0) > 0
    a = tl.load(x_ptr + i, mask=i < n, other=0.0)
    b = tl.load(x_ptr + i + 1, mask=(i + 1 < n) & keep, other=0.0)
    c = tl.load(x_ptr + i - 2, mask=(i >= 2) & (i < n), other=0.0)
    tl.store(y_ptr + i, tl.where(keep, a * b, a * c), mask=i < n)


def picky(x, keep):
    y = torch.empty_like(x)
    picky_kernel[(triton.cdiv(x.shape[0], 16),)](x, keep, y, x.shape[0], BLOCK=16)
    return y


@triton.jit
def causal_conv_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, T, C, sb, st, sc, yb, yt, yc, W: tl.constexpr, BLOCK: tl.constexpr
):
    t = tl.program_id(0)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    b = tl.program_id(2)
    acc = tl.load(b_ptr + c, mask=c < C, other=0.0)
    for k in tl.static_range(W):
        at = t - W + 1 + k
        x = tl.load(x_ptr + b * sb + at * st + c * sc, mask=(c < C) & (at >= 0), other=0.0)
        acc += x * tl.load(w_ptr + c * W + k, mask=c < C, other=0.0)
    tl.store(y_ptr + b * yb + t * yt + c * yc, acc * tl.sigmoid(acc), mask=c < C)


def causal_conv(x, w, bias):
    B, T, C = x.shape
    y = torch.empty_like(x)
    causal_conv_kernel[(T, triton.cdiv(C, 8), B)](
        x, w, bias, y, T, C, *x.stride(), *y.stride(), W=w.shape[1], BLOCK=8
    )
    return y


@triton.jit
def mix_kernel(x_ptr, u_ptr, y_ptr, T, D, sb, st, BLOCK: tl.constexpr):
    t = tl.program_id(0)
    b = tl.program_id(1)
    d = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + b * sb + t * st + d, mask=d < D, other=0.0)
    p = tl.load(x_ptr + b * sb + (t - 1) * st + d, mask=(d < D) & (t > 0), other=0.0)
    u = tl.load(u_ptr + d, mask=d < D, other=0.0)
    tl.store(y_ptr + (b * T + t) * D + d, x * u + p * (1 - u), mask=d < D)


def mix(x, u):
    B, T, D = x.shape
    y = torch.empty((B, T, D), dtype=x.dtype)
    mix_kernel[(T, B)](x, u, y, T, D, x.stride(0), x.stride(1), BLOCK=32)
    return y


@triton.jit
def part_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
    p = tl.load(x_ptr + (row + 3) * n + cols, mask=cols < n, other=0.0)
    tl.store(y_ptr + row * n + cols, x * p, mask=cols < n)


def part(x):
    y = torch.empty((x.shape[0] - 3, x.shape[1]), dtype=x.dtype)
    part_kernel[(x.shape[0] - 3,)](x, y, x.shape[1], BLOCK=32)
    return y
