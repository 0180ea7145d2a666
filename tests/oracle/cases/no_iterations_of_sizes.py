"""Loops over sizes that may be 0, and downwards."""

# case: {"class": "loops", "call": "m.recur(x, h)", "inputs": {"x": [2, 3, 4], "h": [2, 4]}}
# case: {"call": "m.recur(x, h)", "inputs": {"x": [2, 0, 4], "h": [2, 4]}}
# case: {"call": "m.rowloop(x)", "inputs": {"x": [2, 3]}}
# case: {"call": "m.rowloop(x)", "inputs": {"x": [2, 0]}}
# case: {"call": "m.last(x)", "inputs": {"x": [2, 3]}}
# case: {"call": "m.last(x)", "inputs": {"x": [2, 0]}}
# case: {"call": "m.mm(a, b)", "inputs": {"a": [3, 5], "b": [5, 2]}}
# case: {"call": "m.mm(a, b)", "inputs": {"a": [3, 0], "b": [0, 2]}}
# case: {"call": "m.down(x, w, -1)", "inputs": {"x": [3, 6], "w": [3]}}
# case: {"call": "m.down(x, w, 2)", "inputs": {"x": [3, 4], "w": [3]}}
# case: {"call": "m.down(x, w, 4)", "inputs": {"x": [3, 3], "w": [3]}}
# case: {"call": "m.down(x, w, 5)", "inputs": {"x": [3, 1], "w": [3]}}

import torch
import triton
import triton.language as tl


@triton.jit
def recur_kernel(x_ptr, h0_ptr, y_ptr, ht_ptr, T, D: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, D)
    h = tl.load(h0_ptr + row * D + cols)
    for t in range(0, T):
        x = tl.load(x_ptr + (row * T + t) * D + cols)
        h = tl.sigmoid(x) * h + x
        tl.store(y_ptr + (row * T + t) * D + cols, h)
    tl.store(ht_ptr + row * D + cols, h)


def recur(x, h0):
    B, T, D = x.shape
    y = torch.empty_like(x)
    ht = torch.empty_like(h0)
    recur_kernel[(B,)](x, h0, y, ht, T, D=D)
    return y, ht


@triton.jit
def rowloop_kernel(x_ptr, y_ptr, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), tl.float32)
    for i in range(0, n, BLOCK):
        cols = i + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + cols, mask=cols < n, other=0.0)
        acc += x * x
    s = tl.sum(acc)
    tl.store(y_ptr + row, tl.sqrt(s + 1.0))


def rowloop(x):
    y = torch.empty(x.shape[0], device=x.device, dtype=x.dtype)
    rowloop_kernel[(x.shape[0],)](x, y, x.shape[1], x.stride(0), BLOCK=8)
    return y


@triton.jit
def last_kernel(x_ptr, y_ptr, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.zeros((BLOCK,), tl.float32) + 2.0
    for i in range(0, n, BLOCK):
        x = tl.load(x_ptr + row * stride + i + cols, mask=i + cols < n, other=0.0)
    tl.store(y_ptr + row * BLOCK + cols, x * x)


def last(x):
    y = torch.empty((x.shape[0], 8), device=x.device, dtype=x.dtype)
    last_kernel[(x.shape[0],)](x, y, x.shape[1], x.stride(0), BLOCK=8)
    return y


@triton.jit
def mm_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, tl.cdiv(K, BK)):
        kk = i * BK + tl.arange(0, BK)
        a = tl.load(
            a_ptr + m[:, None] * K + kk[None, :],
            mask=(m[:, None] < M) & (kk[None, :] < K),
            other=0.0,
        )
        b = tl.load(
            b_ptr + kk[:, None] * N + n[None, :],
            mask=(kk[:, None] < K) & (n[None, :] < N),
            other=0.0,
        )
        acc += tl.dot(a, b)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


def mm(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    mm_kernel[(triton.cdiv(M, 16), triton.cdiv(N, 16))](a, b, c, M, N, K, BM=16, BN=16, BK=16)
    return c


@triton.jit
def down_kernel(x_ptr, w_ptr, y_ptr, n, stop, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    w = tl.load(w_ptr + row)
    acc = w
    for i in range(n - 1, stop, -1):
        x = tl.load(x_ptr + row * stride + i)
        acc = acc * w + x * x
        tl.store(y_ptr + row * stride + i, acc)
    whole = n // BLOCK * BLOCK
    s = acc
    for i in range(0, whole, BLOCK):
        x = tl.load(x_ptr + row * stride + i + tl.arange(0, BLOCK))
        s += tl.sum(x * w)
    cols = whole + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + cols, mask=cols < n, other=0.0)
    s += tl.sum(x * w)
    tl.store(y_ptr + row * stride + n, s)


def down(x, w, stop):
    y = torch.zeros_like(x)
    down_kernel[(x.shape[0],)](x, w, y, x.shape[1] - 1, stop, x.stride(0), BLOCK=4)
    return y
