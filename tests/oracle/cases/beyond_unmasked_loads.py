"""Loads without a bound read beyond the rows that are stored: what lies there is NaN, and comes into no gradient."""

# case: {"class": "unmasked", "call": "m.product(torch.nn.functional.pad(a, (0, 0, 0, 24), value=torch.nan), torch.nn.functional.pad(b, (0, 0, 0, 14), value=torch.nan), 40, 50)", "wide": true, "inputs": {"a": {"shape": [40, 50], "dtype": "float32"}, "b": {"shape": [50, 60], "dtype": "float32"}}}
# case: {"class": "unmasked", "call": "m.scaled(torch.nn.functional.pad(x, (0, 0, 0, 12), value=torch.nan), torch.nn.functional.pad(s, (0, 12), value=torch.nan), 20)", "inputs": {"x": [20, 37], "s": [20]}}
# case: {"class": "unmasked", "call": "m.squares(torch.nn.functional.pad(x, (0, 0, 0, 12), value=torch.nan), torch.nn.functional.pad(w, (0, 27), value=torch.nan), 20, 37)", "inputs": {"x": [20, 37], "w": [37]}}

import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    columns = tl.cdiv(N, BN)
    rm = tl.program_id(0) // columns * BM + tl.arange(0, BM)
    rn = tl.program_id(0) % columns * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(
            a_ptr + rm[:, None] * K + (k + rk)[None, :], mask=(k + rk)[None, :] < K, other=0.0
        )
        b = tl.load(
            b_ptr + (k + rk)[:, None] * N + rn[None, :], mask=(k + rk)[:, None] < K, other=0.0
        )
        acc += tl.dot(a, b)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


def product(a, b, M, K):
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype)
    grid = (triton.cdiv(M, 32) * triton.cdiv(N, 32),)
    product_kernel[grid](a, b, c, M, N, K, BM=32, BN=32, BK=16)
    return c


@triton.jit
def scaled_kernel(x_ptr, s_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    at = rm[:, None] * N + rn[None, :]
    y = tl.load(x_ptr + at) * tl.load(s_ptr + rm)[:, None]
    tl.store(y_ptr + at, y, mask=(rm[:, None] < M) & (rn[None, :] < N))


def scaled(x, s, M):
    N = x.shape[1]
    y = torch.empty((M, N), dtype=x.dtype)
    scaled_kernel[(triton.cdiv(M, 16), triton.cdiv(N, 32))](x, s, y, M, N, BM=16, BN=32)
    return y


@triton.jit
def squares_kernel(x_ptr, w_ptr, y_ptr, M, N, BM: tl.constexpr, BLOCK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.arange(0, BLOCK)
    at = rm[:, None] * N + cols[None, :]
    x = tl.load(x_ptr + at, mask=cols[None, :] < N, other=0.0)
    w = tl.load(w_ptr + cols)
    inside = cols[None, :] < N
    total = tl.sum(tl.where(inside, x * x, 0.0), 1)
    tl.store(y_ptr + at, x * w[None, :] / (1.0 + total[:, None]), mask=(rm[:, None] < M) & inside)


def squares(x, w, M, N):
    y = torch.empty((M, N), dtype=x.dtype)
    squares_kernel[(triton.cdiv(M, 16),)](x, w, y, M, N, BM=16, BLOCK=64)
    return y
