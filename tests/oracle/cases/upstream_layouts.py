"""Upstream gradients that are expanded, transposed or parts of larger tensors, read by kernels with strides for them."""

# case: {"class": "views", "call": "m.strided(x).sum() * 2", "inputs": {"x": [21, 5]}}
# case: {"call": "(m.strided(x).t() * w).sum(0)", "inputs": {"x": [21, 5], "w": [5, 21]}}
# case: {"call": "torch.cat([m.strided(x), m.rows(w)], 1).pow(2)", "inputs": {"x": [4, 5], "w": [4, 7]}}
# case: {"call": "m.rows(x).mean(0)", "inputs": {"x": [6, 5]}}
# case: {"call": "m.rows(x).t().contiguous() * w", "inputs": {"x": [6, 5], "w": [5, 6]}}
# case: {"call": "m.pairs(x).sum(0) + m.pairs(x).t().sum(0).sum()", "inputs": {"x": [6, 8]}}
# case: {"call": "m.heads(x).transpose(1, 2).reshape(2, 5, 12) * w", "inputs": {"x": [2, 3, 5, 4], "w": [2, 5, 12]}}

import torch
import triton
import triton.language as tl


@triton.jit
def strided_kernel(x_ptr, y_ptr, M, N, sxm, sxn, sym, syn, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    x = tl.load(x_ptr + rows[:, None] * sxm + cols[None, :] * sxn, mask=inside)
    tl.store(y_ptr + rows[:, None] * sym + cols[None, :] * syn, x * x * x, mask=inside)


def strided(x):
    y = torch.empty_like(x)
    M, N = x.shape
    grid = (triton.cdiv(M, 8), triton.cdiv(N, 4))
    strided_kernel[grid](x, y, M, N, *x.stride(), *y.stride(), BM=8, BN=4)
    return y


@triton.jit
def rows_kernel(x_ptr, y_ptr, N, sx, sy, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * sx + cols, mask=cols < N, other=0.0)
    tl.store(y_ptr + row * sy + cols, x * tl.sum(x, axis=0), mask=cols < N)


def rows(x):
    y = torch.empty_like(x)
    M, N = x.shape
    rows_kernel[(M,)](x, y, N, x.stride(0), y.stride(0), BLOCK=triton.next_power_of_2(N))
    return y


@triton.jit
def pairs_kernel(x_ptr, y_ptr, N, sx, sy, BLOCK: tl.constexpr):
    """Two rows at once: its columns run into the next row."""
    pair = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + 2 * pair * sx + cols, mask=cols < 2 * N)
    tl.store(y_ptr + 2 * pair * sy + cols, x * x, mask=cols < 2 * N)


def pairs(x):
    y = torch.empty_like(x)
    M, N = x.shape
    pairs_kernel[(M // 2,)](x, y, N, x.stride(0), y.stride(0), BLOCK=16)
    return y


@triton.jit
def heads_kernel(x_ptr, y_ptr, H, N, sxb, sxh, sxn, syb, syh, syn, D: tl.constexpr, B: tl.constexpr):
    pid = tl.program_id(1)
    batch, head = pid // H, pid % H
    at = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    x_ptr += batch * sxb + head * sxh
    y_ptr += batch * syb + head * syh
    x = tl.load(x_ptr + at[:, None] * sxn + d[None, :], mask=at[:, None] < N)
    tl.store(y_ptr + at[:, None] * syn + d[None, :], x * x, mask=at[:, None] < N)


def heads(x):
    y = torch.empty_like(x)
    batch, H, N, D = x.shape
    grid = (triton.cdiv(N, 4), batch * H)
    heads_kernel[grid](
        x, y, H, N, x.stride(0), x.stride(1), x.stride(2), y.stride(0), y.stride(1), y.stride(2), D=D, B=4
    )
    return y
