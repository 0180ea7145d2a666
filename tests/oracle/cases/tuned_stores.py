"""Gradients of a tuned kernel: set to 0 first only where some choice of its tuner leaves elements out."""

# case: {"class": "numbers", "call": "m.all_of_it(x)", "inputs": {"x": [262147]}}
# case: {"call": "m.half_by_one(x)", "inputs": {"x": [262144]}}
# case: {"call": "m.half(x)", "inputs": {"x": [2, 131072]}}
# case: {"call": "m.rows(x.T)", "inputs": {"x": [512, 513]}}

import torch
import triton
import triton.language as tl

CONFIGS = [triton.Config({"BLOCK": b}, num_warps=w) for b, w in ((16384, 4), (32768, 8))]


@triton.autotune(configs=CONFIGS, key=["n"])
@triton.jit
def square_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, x * x, mask=offs < n)


@triton.autotune(configs=[triton.Config({}, num_warps=w) for w in (4, 8)], key=["n"])
@triton.jit
def row_kernel(x_ptr, y_ptr, x_stride, y_stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * x_stride + cols, mask=cols < n)
    tl.store(y_ptr + row * y_stride + cols, x * x, mask=cols < n)


def all_of_it(x):
    y = torch.zeros_like(x)
    n = x.numel()
    square_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    return y


def half_by_one(x):
    y = torch.zeros_like(x)
    square_kernel[(8,)](x, y, x.numel() // 2)
    return y


def half(x):
    y = torch.zeros_like(x)
    n = x.numel()
    square_kernel[lambda meta: (triton.cdiv(n // 2, meta["BLOCK"]),)](x, y, n)
    return y


def rows(x):
    x = x.contiguous()
    y = torch.zeros_like(x)
    m, n = x.shape
    row_kernel[(m - 1,)](x, y, x.stride(0), y.stride(0), n, BLOCK=1024)
    return y
