"""Softmax in its public spellings."""

import torch
import triton
import triton.language as tl


@triton.jit
def persistent_softmax_kernel(
    output_ptr, input_ptr, in_stride, out_stride, n_rows, n_cols, BLOCK_SIZE: tl.constexpr
):
    start = tl.program_id(0)
    step = tl.num_programs(0)
    for row in tl.range(start, n_rows, step):
        cols = tl.arange(0, BLOCK_SIZE)
        mask = cols < n_cols
        x = tl.load(input_ptr + row * in_stride + cols, mask=mask, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(output_ptr + row * out_stride + cols, e / tl.sum(e, axis=0), mask=mask)


def persistent_softmax(x):
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    programs = min(n_rows, 1056)
    persistent_softmax_kernel[(programs,)](
        y, x, x.stride(0), y.stride(0), n_rows, n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols), num_warps=8
    )
    return y


@triton.jit
def causal_softmax_kernel(s_ptr, p_ptr, scale, T, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    row = pid % T
    cols = tl.arange(0, BLOCK)
    keep = (cols < T) & (cols <= row)
    s = tl.load(s_ptr + pid * T + cols, mask=keep, other=-float("inf")).to(tl.float32) * scale
    s = s - tl.max(s, axis=0)
    e = tl.exp(s)
    p = e / tl.sum(e, axis=0)
    tl.store(p_ptr + pid * T + cols, p, mask=cols < T)


def causal_softmax(scores, scale):
    T = scores.shape[-1]
    p = torch.empty_like(scores)
    causal_softmax_kernel[(scores.numel() // T,)](scores, p, scale, T, BLOCK=triton.next_power_of_2(T), num_warps=4)
    return p


@triton.jit
def log_softmax_kernel(x_ptr, y_ptr, M, N, TILE_N: tl.constexpr):
    row = tl.program_id(0)
    m = tl.full([TILE_N], value=float("-inf"), dtype=tl.float32)
    z = tl.zeros([TILE_N], dtype=tl.float32)
    for start in range(0, N, TILE_N):
        n = start + tl.arange(0, TILE_N)
        x = tl.load(x_ptr + row * N + n, mask=n < N, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(x, m)
        safe = m_new == float("-inf")
        z = tl.where(safe, z, z * tl.exp(m - m_new) + tl.exp(x - m_new))
        m = m_new
    m_all = tl.max(m, axis=0)
    z_all = tl.sum(z * tl.exp(m - m_all), axis=0)
    lse = m_all + tl.log(z_all)
    for start in range(0, N, TILE_N):
        n = start + tl.arange(0, TILE_N)
        x = tl.load(x_ptr + row * N + n, mask=n < N).to(tl.float32)
        tl.store(y_ptr + row * N + n, x - lse, mask=n < N)


def log_softmax(x):
    y = torch.empty_like(x)
    M, N = x.shape
    log_softmax_kernel[(M,)](x, y, M, N, TILE_N=2048, num_warps=8)
    return y
