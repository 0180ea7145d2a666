"""Elements that are moved: packed triangles, padded and mirrored rows, heads split and merged, pairs exchanged."""

# case: {"class": "tiles", "call": "m.im2col(x, 3, 1)", "inputs": {"x": [2, 8]}, "expect": "right"}
# case: {"call": "m.im2col(x, 3, 2)", "inputs": {"x": [2, 9]}, "expect": "right"}
# case: {"call": "m.col2im(x, 8, 1)", "inputs": {"x": [6, 3]}, "expect": "right"}
# case: {"call": "m.col2im(x, 9, 3)", "inputs": {"x": [3, 3]}, "expect": "right"}
# case: {"call": "m.pixel_shuffle(x, 2)", "inputs": {"x": [4, 3]}, "expect": "right"}
# case: {"call": "m.heads_split(x, 2)", "inputs": {"x": [5, 6]}, "expect": "right"}
# case: {"call": "m.heads_merge(x)", "inputs": {"x": [2, 5, 3]}, "expect": "right"}
# case: {"call": "m.concat2(x, y)", "inputs": {"x": [5], "y": [7]}, "expect": "right"}
# case: {"call": "m.concat_cols(x, y)", "inputs": {"x": [3, 5], "y": [3, 2]}, "expect": "right"}
# case: {"call": "m.pad(x, 2, 3)", "inputs": {"x": [3, 5]}, "expect": "right"}
# case: {"call": "m.pad_reflect(x, 2)", "inputs": {"x": [3, 5]}, "expect": "right"}
# case: {"call": "m.pad_edge(x, 2)", "inputs": {"x": [3, 5]}, "expect": "right"}
# case: {"call": "m.strided_slice(x, 2)", "inputs": {"x": [3, 9]}, "expect": "right"}
# case: {"call": "m.strided_slice(x, 3)", "inputs": {"x": [3, 9]}, "expect": "right"}
# case: {"call": "m.repeat_kv(x, 3)", "inputs": {"x": [2, 4]}, "expect": "right"}
# case: {"call": "m.tril_pack(x)", "inputs": {"x": [5, 5]}, "expect": "right"}
# case: {"call": "m.tril_unpack(x, 4)", "inputs": {"x": [10]}, "expect": "right"}
# case: {"call": "m.block_diag(x)", "inputs": {"x": [3, 2, 2]}, "expect": "right"}
# case: {"call": "m.snake(x)", "inputs": {"x": [4, 5]}, "expect": "right"}
# case: {"call": "m.zorder(x)", "inputs": {"x": [4, 4]}, "expect": "right"}
# case: {"call": "m.two_halves(x)", "inputs": {"x": [10]}, "expect": "right"}
# case: {"call": "m.two_halves(x)", "inputs": {"x": [11]}, "expect": "right"}
# case: {"call": "m.swap_pairs(x)", "inputs": {"x": [10]}, "expect": "right"}
# case: {"call": "m.swap_pairs(x)", "inputs": {"x": [11]}, "expect": "right"}

import torch
import triton
import triton.language as tl


@triton.jit
def im2col_k(x_ptr, o_ptr, N, ON, K: tl.constexpr, S, B: tl.constexpr, KB: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)[:, None]
    k = tl.arange(0, KB)[None, :]
    m = (i < ON) & (k < K)
    x = tl.load(x_ptr + r * N + i * S + k, mask=m, other=0.0)
    tl.store(o_ptr + (r * ON + i) * K + k, x * x, mask=m)


def im2col(x, k, s):
    on = (x.shape[1] - k) // s + 1
    o = torch.empty(x.shape[0], on, k, dtype=x.dtype)
    im2col_k[(x.shape[0],)](x, o, x.shape[1], on, K=k, S=s, B=8, KB=4)
    return o


@triton.jit
def col2im_k(x_ptr, o_ptr, R, S, K: tl.constexpr, KB: tl.constexpr):
    r = tl.program_id(0)
    k = tl.arange(0, KB)
    x = tl.load(x_ptr + r * K + k, mask=k < K, other=0.0)
    tl.atomic_add(o_ptr + r * S + k, x * x, mask=k < K)


def col2im(x, n, s):
    o = torch.zeros(n, dtype=x.dtype)
    col2im_k[(x.shape[0],)](x, o, x.shape[0], s, K=x.shape[1], KB=4)
    return o


@triton.jit
def ps_k(x_ptr, o_ptr, C, W, R: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < C * W
    c = i // W
    w = i % W
    x = tl.load(x_ptr + i, mask=m)
    tl.store(o_ptr + (c // R) * (W * R) + w * R + c % R, tl.sin(x), mask=m)


def pixel_shuffle(x, r):
    C, W = x.shape
    o = torch.empty(C // r, W * r, dtype=x.dtype)
    ps_k[(triton.cdiv(C * W, 4),)](x, o, C, W, R=r, B=4)
    return o


@triton.jit
def heads_split_k(x_ptr, o_ptr, T, H, D, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < T * H * D
    t = i // (H * D)
    h = (i // D) % H
    d = i % D
    x = tl.load(x_ptr + i, mask=m)
    tl.store(o_ptr + (h * T + t) * D + d, x * x, mask=m)


def heads_split(x, h):
    T, C = x.shape
    o = torch.empty(h, T, C // h, dtype=x.dtype)
    heads_split_k[(triton.cdiv(T * C, 8),)](x, o, T, h, C // h, B=8)
    return o


@triton.jit
def heads_merge_k(x_ptr, o_ptr, H, T, D, B: tl.constexpr):
    t = tl.program_id(0)
    h = tl.program_id(1)
    d = tl.arange(0, B)
    x = tl.load(x_ptr + (h * T + t) * D + d, mask=d < D)
    tl.store(o_ptr + t * H * D + h * D + d, x * x, mask=d < D)


def heads_merge(x):
    H, T, D = x.shape
    o = torch.empty(T, H * D, dtype=x.dtype)
    heads_merge_k[(T, H)](x, o, H, T, D, B=4)
    return o


@triton.jit
def concat2_k(x_ptr, y_ptr, o_ptr, n, k, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    y = tl.load(y_ptr + i - n, mask=(i >= n) & (i < n + k), other=0.0)
    tl.store(o_ptr + i, tl.where(i < n, x * x, tl.sin(y)), mask=i < n + k)


def concat2(x, y):
    o = torch.empty(x.numel() + y.numel(), dtype=x.dtype)
    concat2_k[(triton.cdiv(o.numel(), 4),)](x, y, o, x.numel(), y.numel(), B=4)
    return o


@triton.jit
def concat_cols_k(x_ptr, y_ptr, o_ptr, n, k, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    x = tl.load(x_ptr + r * n + c, mask=c < n, other=0.0)
    tl.store(o_ptr + r * (n + k) + c, x * x, mask=c < n)
    y = tl.load(y_ptr + r * k + c, mask=c < k, other=0.0)
    tl.store(o_ptr + r * (n + k) + n + c, y * x, mask=c < k)


def concat_cols(x, y):
    o = torch.empty(x.shape[0], x.shape[1] + y.shape[1], dtype=x.dtype)
    concat_cols_k[(x.shape[0],)](x, y, o, x.shape[1], y.shape[1], B=8)
    return o


@triton.jit
def pad_k(x_ptr, o_ptr, N, L, ON, MODE: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    j = c - L
    m = c < ON
    if MODE == 0:
        m2 = m & (j >= 0) & (j < N)
    elif MODE == 1:
        j = tl.abs(j)
        j = tl.where(j >= N, 2 * (N - 1) - j, j)
        m2 = m
    else:
        j = tl.minimum(tl.maximum(j, 0), N - 1)
        m2 = m
    x = tl.load(x_ptr + r * N + j, mask=m2, other=0.0)
    tl.store(o_ptr + r * ON + c, x * x + x, mask=m)


def pad(x, a, b):
    o = torch.empty(x.shape[0], x.shape[1] + a + b, dtype=x.dtype)
    pad_k[(x.shape[0],)](x, o, x.shape[1], a, o.shape[1], MODE=0, B=16)
    return o


def pad_reflect(x, a):
    o = torch.empty(x.shape[0], x.shape[1] + 2 * a, dtype=x.dtype)
    pad_k[(x.shape[0],)](x, o, x.shape[1], a, o.shape[1], MODE=1, B=16)
    return o


def pad_edge(x, a):
    o = torch.empty(x.shape[0], x.shape[1] + 2 * a, dtype=x.dtype)
    pad_k[(x.shape[0],)](x, o, x.shape[1], a, o.shape[1], MODE=2, B=16)
    return o


@triton.jit
def slice_k(x_ptr, o_ptr, N, ON, S, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    x = tl.load(x_ptr + r * N + c * S, mask=c < ON, other=0.0)
    tl.store(o_ptr + r * ON + c, x * x, mask=c < ON)


def strided_slice(x, s):
    on = triton.cdiv(x.shape[1], s)
    o = torch.empty(x.shape[0], on, dtype=x.dtype)
    slice_k[(x.shape[0],)](x, o, x.shape[1], on, s, B=8)
    return o


@triton.jit
def repeat_k(x_ptr, o_ptr, N, R, B: tl.constexpr):
    h = tl.program_id(0)
    c = tl.arange(0, B)
    x = tl.load(x_ptr + (h // R) * N + c, mask=c < N, other=0.0)
    tl.store(o_ptr + h * N + c, x * (h + 1), mask=c < N)


def repeat_kv(x, r):
    o = torch.empty(x.shape[0] * r, x.shape[1], dtype=x.dtype)
    repeat_k[(o.shape[0],)](x, o, x.shape[1], r, B=4)
    return o


@triton.jit
def tril_pack_k(x_ptr, o_ptr, N, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    x = tl.load(x_ptr + r * N + c, mask=c <= r, other=0.0)
    tl.store(o_ptr + r * (r + 1) // 2 + c, x * x, mask=c <= r)


def tril_pack(x):
    n = x.shape[0]
    o = torch.empty(n * (n + 1) // 2, dtype=x.dtype)
    tril_pack_k[(n,)](x, o, n, B=8)
    return o


@triton.jit
def tril_unpack_k(x_ptr, o_ptr, N, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    x = tl.load(x_ptr + r * (r + 1) // 2 + c, mask=c <= r, other=0.0)
    tl.store(o_ptr + r * N + c, x * x, mask=c < N)


def tril_unpack(x, n):
    o = torch.empty(n, n, dtype=x.dtype)
    tril_unpack_k[(n,)](x, o, n, B=4)
    return o


@triton.jit
def bdiag_k(x_ptr, o_ptr, G, K: tl.constexpr):
    g = tl.program_id(0)
    i = tl.arange(0, K)[:, None]
    j = tl.arange(0, K)[None, :]
    x = tl.load(x_ptr + g * K * K + i * K + j)
    tl.store(o_ptr + (g * K + i) * (G * K) + g * K + j, x * x)


def block_diag(x):
    G, K, _ = x.shape
    o = torch.zeros(G * K, G * K, dtype=x.dtype)
    bdiag_k[(G,)](x, o, G, K=K)
    return o


@triton.jit
def snake_k(x_ptr, o_ptr, M, N, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    d = tl.where(r % 2 == 0, c, N - 1 - c)
    x = tl.load(x_ptr + r * N + d, mask=c < N, other=0.0)
    tl.store(o_ptr + r * N + c, x * x, mask=c < N)


def snake(x):
    o = torch.empty_like(x)
    snake_k[(x.shape[0],)](x, o, *x.shape, B=8)
    return o


@triton.jit
def zorder_k(x_ptr, o_ptr, N: tl.constexpr):
    p = tl.program_id(0)
    r = ((p >> 1) & 1) | ((p >> 2) & 2)
    c = (p & 1) | ((p >> 1) & 2)
    x = tl.load(x_ptr + r * N + c)
    tl.store(o_ptr + p, x * x)


def zorder(x):
    o = torch.empty(16, dtype=x.dtype)
    zorder_k[(16,)](x, o, N=4)
    return o


@triton.jit
def two_halves_k(x_ptr, o_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    h = n // 2
    a = tl.load(x_ptr + i, mask=i < h, other=0.0)
    b = tl.load(x_ptr + h + i, mask=i < h, other=0.0)
    tl.store(o_ptr + i, a * tl.sin(b), mask=i < h)
    tl.store(o_ptr + h + i, b * a, mask=i < h)


def two_halves(x):
    o = torch.zeros_like(x)
    two_halves_k[(triton.cdiv(x.numel() // 2, 4),)](x, o, x.numel(), B=4)
    return o


@triton.jit
def swap_pairs_k(x_ptr, o_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = i ^ 1
    x = tl.load(x_ptr + j, mask=(i < n) & (j < n), other=0.0)
    y = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(o_ptr + i, x * tl.sin(y), mask=i < n)


def swap_pairs(x):
    o = torch.zeros_like(x)
    swap_pairs_k[(triton.cdiv(x.numel(), 4),)](x, o, x.numel(), B=4)
    return o
