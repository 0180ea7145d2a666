"""Sums that programs share, kept apart: numbers, channels, groups; rows that an index from memory chooses."""

# case: {"class": "sums", "call": "m.number(x, a)", "inputs": {"x": [300], "a": [1]}}
# case: {"class": "sums", "call": "m.channels(x, g, b)", "inputs": {"x": [2, 5, 37], "g": [5], "b": [5]}}
# case: {"class": "sums", "call": "m.channels(x.transpose(0, 1).contiguous().transpose(0, 1), g, b)", "inputs": {"x": [2, 5, 37], "g": [5], "b": [5]}}
# case: {"class": "sums", "call": "m.group_norm(x, g, b, 2)", "inputs": {"x": [3, 6, 11], "g": [6], "b": [6]}}
# case: {"class": "sums", "call": "m.group_norm(x, g, b, 1)", "inputs": {"x": [3, 6, 11], "g": [6], "b": [6]}}
# case: {"class": "sums", "call": "m.group_norm(x, g, None, 3)", "inputs": {"x": [3, 6, 11], "g": [6]}}
# case: {"class": "sums", "call": "m.group_norm(x, g, b, 2)", "inputs": {"x": {"shape": [3, 6, 11], "grad": false}, "g": [6], "b": [6]}}
# case: {"class": "sums", "call": "m.gathered(x, index)", "inputs": {"x": [6, 21], "index": {"shape": [9], "dtype": "int64", "low": 0, "high": 5}}}
# case: {"class": "sums", "call": "m.scattered(x, index)", "inputs": {"x": [4, 21], "index": {"shape": [4], "dtype": "int64", "values": [3, 0, 5, 1]}}}
# case: {"class": "sums", "call": "m.splits(q, k)", "inputs": {"q": [3, 16], "k": [40, 16]}}
# case: {"class": "sums", "call": "m.rms(x, w)", "inputs": {"x": [20, 21], "w": [21]}}
# case: {"class": "sums", "call": "m.rms(x, w)", "inputs": {"x": {"shape": [20, 21], "dtype": "float16"}, "w": {"shape": [21], "dtype": "float32"}}}
# case: {"class": "sums", "call": "m.rms(x[:, :21], w[::2])", "inputs": {"x": [20, 30], "w": [42]}}

import torch
import triton
import triton.language as tl


@triton.jit
def number_kernel(x_ptr, a_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr)
    x = tl.load(x_ptr + i, mask=i < n, other=1.0)
    tl.store(y_ptr + i, tl.where(x > 0, x, tl.exp(a * x) - 1), mask=i < n)


def number(x, a):
    y = torch.empty_like(x)
    number_kernel[(triton.cdiv(x.numel(), 16),)](x, a, y, x.numel(), BLOCK=16)
    return y


@triton.jit
def channels_kernel(x_ptr, g_ptr, b_ptr, y_ptr, C, n, sb, sc, yb, yc, BLOCK: tl.constexpr):
    tile = tl.program_id(0)
    c = tl.program_id(1)
    z = tl.program_id(2)
    i = tile * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + z * sb + c * sc + i, mask=i < n, other=0.0)
    y = x * tl.load(g_ptr + c) + tl.load(b_ptr + c)
    tl.store(y_ptr + z * yb + c * yc + i, y * tl.sigmoid(y), mask=i < n)


def channels(x, g, b):
    B, C, n = x.shape
    y = torch.empty_like(x)
    channels_kernel[(triton.cdiv(n, 16), C, B)](
        x, g, b, y, C, n, x.stride(0), x.stride(1), y.stride(0), y.stride(1), BLOCK=16
    )
    return y


@triton.jit
def group_norm_kernel(
    x_ptr,
    g_ptr,
    b_ptr,
    y_ptr,
    C,
    n,
    groups,
    HAS_B: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    pid = tl.program_id(0)
    z = pid // groups
    group = pid % groups
    size = C // groups
    r = tl.arange(0, ROWS)
    i = tl.arange(0, BLOCK)
    keep = (r[:, None] < size) & (i[None, :] < n)
    at = (z * C + group * size + r[:, None]) * n + i[None, :]
    x = tl.load(x_ptr + at, mask=keep, other=0.0)
    count = size * n
    mean = tl.sum(tl.sum(x, 1), 0) / count
    d = tl.where(keep, x - mean, 0.0)
    var = tl.sum(tl.sum(d * d, 1), 0) / count
    y = d * tl.rsqrt(var + 1e-5)
    g = tl.load(g_ptr + group * size + r, mask=r < size, other=0.0)
    y = y * g[:, None]
    if HAS_B:
        y += tl.load(b_ptr + group * size + r, mask=r < size, other=0.0)[:, None]
    tl.store(y_ptr + at, y, mask=keep)


def group_norm(x, g, b, groups):
    B, C, n = x.shape
    y = torch.empty_like(x)
    group_norm_kernel[(B * groups,)](
        x, g, b, y, C, n, groups, HAS_B=b is not None, ROWS=8, BLOCK=16
    )
    return y


@triton.jit
def gathered_kernel(x_ptr, i_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    at = tl.load(i_ptr + row)
    x = tl.load(x_ptr + at * n + cols, mask=cols < n, other=0.0)
    tl.store(y_ptr + row * n + cols, x * x, mask=cols < n)


def gathered(x, index):
    y = torch.empty((index.shape[0], x.shape[1]), dtype=x.dtype)
    gathered_kernel[(index.shape[0],)](x, index, y, x.shape[1], BLOCK=32)
    return y


@triton.jit
def scattered_kernel(x_ptr, i_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    at = tl.load(i_ptr + row)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
    tl.store(y_ptr + at * n + cols, x * x, mask=cols < n)


def scattered(x, index):
    y = torch.zeros((6, x.shape[1]), dtype=x.dtype)
    scattered_kernel[(x.shape[0],)](x, index, y, x.shape[1], BLOCK=32)
    return y


@triton.jit
def splits_kernel(q_ptr, k_ptr, y_ptr, n, D: tl.constexpr, BLOCK: tl.constexpr):
    h = tl.program_id(0)
    part = tl.program_id(1)
    d = tl.arange(0, D)
    i = part * BLOCK + tl.arange(0, BLOCK)
    q = tl.load(q_ptr + h * D + d)
    k = tl.load(k_ptr + i[:, None] * D + d[None, :], mask=i[:, None] < n, other=0.0)
    s = tl.sum(k * q[None, :], 1)
    tl.store(y_ptr + h * n + i, tl.exp(s * 0.2), mask=i < n)


def splits(q, k):
    y = torch.empty((q.shape[0], k.shape[0]), dtype=q.dtype)
    splits_kernel[(q.shape[0], triton.cdiv(k.shape[0], 16))](q, k, y, k.shape[0], D=16, BLOCK=16)
    return y


@triton.jit
def rms_kernel(x_ptr, w_ptr, y_ptr, sx, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * sx + cols, mask=cols < n, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=cols < n, other=0.0)
    r = tl.rsqrt(tl.sum(x * x) / n + 1e-5)
    tl.store(y_ptr + row * n + cols, x * r * w, mask=cols < n)


def rms(x, w):
    y = torch.empty(x.shape, dtype=x.dtype)
    w = w.contiguous()
    rms_kernel[(x.shape[0],)](x, w, y, x.stride(0), x.shape[1], BLOCK=32)
    return y
