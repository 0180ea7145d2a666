"""Gated units and activations as they are written in public training code."""

import torch
import triton
import triton.language as tl


@triton.jit
def silu(x):
    return x * tl.sigmoid(x)


@triton.jit
def swiglu_rows_kernel(a_ptr, b_ptr, c_ptr, stride, n_cols: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    a_ptr += row * stride
    b_ptr += row * stride
    c_ptr += row * stride
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    a = tl.load(a_ptr + cols, mask=mask, other=0).to(tl.float32)
    b = tl.load(b_ptr + cols, mask=mask, other=0)
    c = silu(a).cast(b.dtype) * b
    tl.store(c_ptr + cols, c, mask=mask)


def swiglu_rows(a, b):
    shape = a.shape
    n_cols = shape[-1]
    a = a.view(-1, n_cols)
    b = b.view(-1, n_cols)
    c = torch.empty_like(a)
    block = triton.next_power_of_2(n_cols)
    swiglu_rows_kernel[(a.shape[0],)](a, b, c, c.stride(-2), n_cols=n_cols, BLOCK_SIZE=block, num_warps=16)
    return c.view(*shape)


@triton.jit
def geglu_packed_kernel(x_ptr, y_ptr, n_elements, width, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    row = offsets // width
    col = offsets % width
    gate = tl.load(x_ptr + row * 2 * width + col, mask=mask).to(tl.float32)
    up = tl.load(x_ptr + row * 2 * width + width + col, mask=mask).to(tl.float32)
    act = 0.5 * gate * (1 + tl.erf(gate * 0.7071067811865476))
    tl.store(y_ptr + offsets, (act * up).to(y_ptr.dtype.element_ty), mask=mask)


def geglu_packed(x):
    width = x.shape[-1] // 2
    y = torch.empty(*x.shape[:-1], width, device=x.device, dtype=x.dtype)
    n = y.numel()
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)  # noqa: E731
    geglu_packed_kernel[grid](x, y, n, width, BLOCK=1024)
    return y


@triton.jit
def squared_relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    r = tl.maximum(x, 0.0)
    tl.store(y_ptr + i, r * r, mask=i < n)


def squared_relu(x):
    y = torch.empty_like(x)
    squared_relu_kernel[(triton.cdiv(x.numel(), 2048),)](x, y, x.numel(), BLOCK=2048)
    return y


@triton.jit
def bias_gelu_kernel(x_ptr, bias_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (rows < M)[:, None] & (cols < N)[None, :]
    at = rows[:, None] * N + cols[None, :]
    bias = tl.load(bias_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32) + bias[None, :]
    y = 0.5 * x * (1.0 + tl.erf(x * 0.70710678))
    tl.store(y_ptr + at, y, mask=mask)


def bias_gelu(x, bias):
    M, N = x.shape
    y = torch.empty_like(x)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 128))
    bias_gelu_kernel[grid](x, bias, y, M, N, BLOCK_M=32, BLOCK_N=128)
    return y


@triton.jit
def soft_cap_kernel(x_ptr, y_ptr, cap, n, BLOCK: tl.constexpr):
    pid = tl.program_id(axis=0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    m = offs < n
    x = tl.load(x_ptr + offs, mask=m, other=0.0).to(tl.float32)
    e = tl.exp(2 * x / cap)
    tl.store(y_ptr + offs, cap * (1 - 2 / (e + 1)), mask=m)


def soft_cap(x, cap):
    y = torch.empty_like(x)
    soft_cap_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, cap, x.numel(), BLOCK=1024)
    return y
