"""Positions, broadcasts and pooling as they are written in public training code."""

import torch
import triton
import triton.language as tl


@triton.jit
def rope_kernel(x_ptr, cos_ptr, sin_ptr, y_ptr, T, H, D: tl.constexpr, BLOCK_H: tl.constexpr):
    pid = tl.program_id(0)
    t = pid % T
    half = tl.arange(0, D // 2)
    h = tl.arange(0, BLOCK_H)
    keep = h[:, None] < H
    at = pid * H * D + h[:, None] * D + half[None, :]
    cos = tl.load(cos_ptr + t * (D // 2) + half).to(tl.float32)
    sin = tl.load(sin_ptr + t * (D // 2) + half).to(tl.float32)
    a = tl.load(x_ptr + at, mask=keep, other=0.0).to(tl.float32)
    b = tl.load(x_ptr + at + D // 2, mask=keep, other=0.0).to(tl.float32)
    tl.store(y_ptr + at, a * cos[None, :] - b * sin[None, :], mask=keep)
    tl.store(y_ptr + at + D // 2, b * cos[None, :] + a * sin[None, :], mask=keep)


def rope(x, cos, sin):
    B, T, H, D = x.shape
    y = torch.empty_like(x)
    rope_kernel[(B * T,)](x, cos, sin, y, T, H, D=D, BLOCK_H=triton.next_power_of_2(H))
    return y


@triton.jit
def add_position_kernel(x_ptr, pos_ptr, y_ptr, n, period, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = offs < n
    x = tl.load(x_ptr + offs, mask=keep)
    p = tl.load(pos_ptr + offs % period, mask=keep)
    tl.store(y_ptr + offs, x + p, mask=keep)


def add_position(x, position):
    y = torch.empty_like(x)
    n = x.numel()
    add_position_kernel[(triton.cdiv(n, 1024),)](x, position, y, n, position.numel(), BLOCK=1024)
    return y


@triton.jit
def token_shift_kernel(x_ptr, mix_ptr, y_ptr, T, C, BLOCK_C: tl.constexpr):
    bt = tl.program_id(0)
    c = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    keep = c < C
    x = tl.load(x_ptr + bt * C + c, mask=keep, other=0.0).to(tl.float32)
    before = tl.load(x_ptr + (bt - 1) * C + c, mask=keep & (bt % T > 0), other=0.0).to(tl.float32)
    mix = tl.load(mix_ptr + c, mask=keep, other=0.0).to(tl.float32)
    tl.store(y_ptr + bt * C + c, x * mix + before * (1 - mix), mask=keep)


def token_shift(x, mix):
    B, T, C = x.shape
    y = torch.empty_like(x)
    token_shift_kernel[(B * T, triton.cdiv(C, 1024))](x, mix, y, T, C, BLOCK_C=1024)
    return y


@triton.jit
def mean_pool_kernel(x_ptr, y_ptr, T, C, BLOCK_T: tl.constexpr, BLOCK_C: tl.constexpr):
    b = tl.program_id(0)
    c = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    acc = tl.zeros([BLOCK_C], dtype=tl.float32)
    for start in range(0, T, BLOCK_T):
        t = start + tl.arange(0, BLOCK_T)
        keep = (t[:, None] < T) & (c[None, :] < C)
        x = tl.load(x_ptr + b * T * C + t[:, None] * C + c[None, :], mask=keep, other=0.0)
        acc += tl.sum(x.to(tl.float32), axis=0)
    tl.store(y_ptr + b * C + c, acc / T, mask=c < C)


def mean_pool(x):
    B, T, C = x.shape
    y = torch.empty(B, C, device=x.device, dtype=x.dtype)
    mean_pool_kernel[(B, triton.cdiv(C, 128))](x, y, T, C, BLOCK_T=32, BLOCK_C=128)
    return y


@triton.jit
def dropout_residual_kernel(x_ptr, r_ptr, y_ptr, n, p, seed, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = offs < n
    x = tl.load(x_ptr + offs, mask=keep)
    r = tl.load(r_ptr + offs, mask=keep)
    alive = tl.rand(seed, offs) > p
    tl.store(y_ptr + offs, r + tl.where(alive, x / (1 - p), 0.0), mask=keep)


def dropout_residual(x, residual, p, seed):
    y = torch.empty_like(x)
    n = x.numel()
    dropout_residual_kernel[(triton.cdiv(n, 1024),)](x, residual, y, n, p, seed, BLOCK=1024)
    return y


@triton.jit
def embedding_kernel(ids_ptr, table_ptr, y_ptr, D, BLOCK_D: tl.constexpr):
    row = tl.program_id(0)
    token = tl.load(ids_ptr + row)
    d = tl.arange(0, BLOCK_D)
    x = tl.load(table_ptr + token * D + d, mask=d < D)
    tl.store(y_ptr + row * D + d, x, mask=d < D)


def embedding(ids, table):
    D = table.shape[1]
    y = torch.empty(ids.numel(), D, device=table.device, dtype=table.dtype)
    embedding_kernel[(ids.numel(),)](ids, table, y, D, BLOCK_D=triton.next_power_of_2(D))
    return y
