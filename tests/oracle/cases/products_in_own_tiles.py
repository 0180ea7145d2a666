"""Products with tiles of their own: sizes that no tile divides, rows left out, masks that differ, numbers drawn by tile."""

# case: {"class": "products", "call": "m.tail(a, b)", "wide": true, "inputs": {"a": {"shape": [96, 45], "dtype": "float32"}, "b": {"shape": [45, 96], "dtype": "float32"}}}
# case: {"class": "products", "call": "m.first_rows(a, b, 65)", "wide": true, "inputs": {"a": {"shape": [70, 40], "dtype": "float32"}, "b": {"shape": [40, 66], "dtype": "float32"}}}
# case: {"class": "products", "call": "m.narrow(a, b, 37, 41)", "wide": true, "inputs": {"a": {"shape": [70, 45], "dtype": "float32"}, "b": {"shape": [45, 75], "dtype": "float32"}}}
# case: {"class": "products", "call": "m.tril(a, b)", "wide": true, "inputs": {"a": {"shape": [70, 45], "dtype": "float32"}, "b": {"shape": [45, 70], "dtype": "float32"}}}
# case: {"class": "products", "call": "m.dropped(x, w, 0.4, 123)", "wide": true, "inputs": {"x": {"shape": [70, 45], "dtype": "float32"}, "w": {"shape": [45, 75], "dtype": "float32"}}}
# case: {"class": "products", "call": "m.stats(x, w)", "wide": true, "inputs": {"x": {"shape": [70, 45], "dtype": "float32"}, "w": {"shape": [45, 75], "dtype": "float32"}}}

import torch
import triton
import triton.language as tl


@triton.jit
def tail_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K // BK):
        a = tl.load(a_ptr + rm[:, None] * K + (k * BK + rk)[None, :])
        b = tl.load(b_ptr + (k * BK + rk)[:, None] * N + rn[None, :])
        acc += tl.dot(a, b)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc)


def tail(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype)
    tail_kernel[(M // 32, N // 32)](a, b, c, M, N, K, BM=32, BN=32, BK=16)
    return c


@triton.jit
def first_rows_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        rk = k * BK + tl.arange(0, BK)
        a = tl.load(
            a_ptr + rm[:, None] * K + rk[None, :],
            mask=(rm[:, None] < M) & (rk[None, :] < K),
            other=0.0,
        )
        b = tl.load(
            b_ptr + rk[:, None] * N + rn[None, :],
            mask=(rk[:, None] < K) & (rn[None, :] < N),
            other=0.0,
        )
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


def first_rows(a, b, rows):
    K = a.shape[1]
    N = b.shape[1]
    c = torch.zeros((a.shape[0], N), dtype=a.dtype)
    first_rows_kernel[(triton.cdiv(rows, 32) - 1, triton.cdiv(N, 32))](
        a, b, c, a.shape[0], N, K, BM=32, BN=32, BK=16
    )
    return c


@triton.jit
def narrow_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, top, left, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        a = tl.load(
            a_ptr + rm[:, None] * K + rk[None, :],
            mask=(rm[:, None] < top) & (rk[None, :] < K),
            other=0.0,
        )
        b = tl.load(
            b_ptr + rk[:, None] * N + rn[None, :],
            mask=(rk[:, None] < K) & (rn[None, :] < left),
            other=1.0,
        )
        acc += tl.dot(a, b)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


def narrow(a, b, top, left):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype)
    narrow_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](
        a, b, c, M, N, K, top, left, BM=32, BN=32, BK=16
    )
    return c


@triton.jit
def tril_kernel(a_ptr, b_ptr, c_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    if pn * BN <= pm * BM + BM - 1:
        for k in range(0, K, BK):
            rk = k + tl.arange(0, BK)
            a = tl.load(
                a_ptr + rm[:, None] * K + rk[None, :],
                mask=(rm[:, None] < N) & (rk[None, :] < K),
                other=0.0,
            )
            b = tl.load(
                b_ptr + rk[:, None] * N + rn[None, :],
                mask=(rk[:, None] < K) & (rn[None, :] < N),
                other=0.0,
            )
            acc += tl.dot(a, b)
    acc = tl.where(rm[:, None] >= rn[None, :], acc, 0.0)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < N) & (rn[None, :] < N))


def tril(a, b):
    N, K = a.shape
    c = torch.empty((N, N), dtype=a.dtype)
    tril_kernel[(triton.cdiv(N, 32), triton.cdiv(N, 32))](a, b, c, N, K, BM=32, BN=32, BK=16)
    return c


@triton.jit
def dropped_kernel(
    x_ptr, w_ptr, y_ptr, M, N, K, p, seed, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(
            x_ptr + rm[:, None] * K + rk[None, :],
            mask=(rm[:, None] < M) & (rk[None, :] < K),
            other=0.0,
        )
        w = tl.load(
            w_ptr + rk[:, None] * N + rn[None, :],
            mask=(rk[:, None] < K) & (rn[None, :] < N),
            other=0.0,
        )
        acc += tl.dot(x, w)
    draw = tl.rand(
        seed + tl.program_id(0),
        tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :] + tl.program_id(1) * 1000,
    )
    acc = tl.where(draw > p, acc / (1 - p), 0.0)
    tl.store(y_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


def dropped(x, w, p, seed):
    M, K = x.shape
    N = w.shape[1]
    y = torch.empty((M, N), dtype=x.dtype)
    dropped_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](
        x, w, y, M, N, K, p, seed, BM=32, BN=32, BK=16
    )
    return y


@triton.jit
def stats_kernel(
    x_ptr, w_ptr, y_ptr, s_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(
            x_ptr + rm[:, None] * K + rk[None, :],
            mask=(rm[:, None] < M) & (rk[None, :] < K),
            other=0.0,
        )
        w = tl.load(
            w_ptr + rk[:, None] * N + rn[None, :],
            mask=(rk[:, None] < K) & (rn[None, :] < N),
            other=0.0,
        )
        acc += tl.dot(x, w)
    tl.store(y_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))
    tl.store(s_ptr + tl.program_id(1) * M + rm, tl.sum(acc * acc, 1), mask=rm < M)


def stats(x, w):
    M, K = x.shape
    N = w.shape[1]
    y = torch.empty((M, N), dtype=x.dtype)
    s = torch.empty((triton.cdiv(N, 32), M), dtype=torch.float32)
    stats_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](x, w, y, s, M, N, K, BM=32, BN=32, BK=16)
    return y, s
