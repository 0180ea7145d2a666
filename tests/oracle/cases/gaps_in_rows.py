"""Kernels that take the elements of a row for neighbours get views whose rows have gaps: they read what lies between."""

# case: {"class": "gaps", "call": "m.norm(x[:, ::2])[0]", "inputs": {"x": [4, 10]}, "expect": "loud"}
# case: {"class": "gaps", "call": "m.norm(torch.view_as_complex(x).real)[0]", "inputs": {"x": [4, 5, 2]}, "expect": "loud"}
# case: {"class": "gaps", "call": "m.norm(torch.complex(x, 2 * x).real)[0]", "inputs": {"x": [4, 5]}, "expect": "loud"}
# case: {"class": "gaps", "call": "m.norm(torch.complex(x, 2 * x).imag)[0]", "inputs": {"x": [4, 5]}, "expect": "loud"}
# case: {"class": "gaps", "call": "m.norm(x[..., 0])[0]", "inputs": {"x": [4, 5, 2]}, "expect": "loud"}
# case: {"class": "gaps", "call": "m.norm(torch.stack([x, 2 * x], -1)[..., 0])[0]", "inputs": {"x": [4, 5]}, "expect": "loud"}
# case: {"class": "gaps", "call": "m.norm(torch.stack([x, 2 * x], -1).select(-1, 1))[0]", "inputs": {"x": [4, 5]}, "expect": "loud"}
# case: {"class": "gaps", "call": "m.norm(torch.stack([x, 2 * x], -1).unbind(-1)[1])[0]", "inputs": {"x": [4, 5]}, "expect": "loud"}
# case: {"class": "gaps", "call": "m.norm(torch.stack([x, 2 * x]).permute(1, 2, 0)[:, :, 0])[0]", "inputs": {"x": [4, 5]}}
# case: {"class": "gaps", "call": "m.norm(torch.cat([x, 2 * x], 1)[:, ::2])[0]", "inputs": {"x": [4, 5]}, "expect": "loud"}
# case: {"class": "gaps", "call": "m.biased(x, w[::2])", "inputs": {"x": [4, 5], "w": [10]}, "expect": "loud"}
# case: {"class": "gaps", "call": "m.biased(x, w[:, 1])", "inputs": {"x": [4, 5], "w": [5, 3]}, "expect": "loud"}
# case: {"class": "gaps", "call": "m.biased(x, w[0])", "inputs": {"x": [4, 5], "w": [2, 5]}, "expect": "right"}
# case: {"class": "gaps", "call": "m.biased(x[:, :5], w)", "inputs": {"x": [4, 8], "w": [5]}, "expect": "right"}
# case: {"class": "gaps", "call": "m.biased(x[::2], w)", "inputs": {"x": [6, 5], "w": [5]}, "expect": "right"}
# case: {"class": "gaps", "call": "m.biased(x[:, ::2], w)", "inputs": {"x": [4, 10], "w": [5]}, "expect": "loud"}
# case: {"class": "gaps", "call": "m.gathered(x[::2], i)", "inputs": {"x": [10], "i": {"shape": [4], "dtype": "int64", "values": [0, 1, 1, 3]}}, "expect": "loud"}
# case: {"class": "gaps", "call": "m.gathered(x[3:], i)", "inputs": {"x": [10], "i": {"shape": [4], "dtype": "int64", "values": [0, 1, 1, 3]}}, "expect": "right"}
# case: {"class": "gaps", "call": "m.tuned(x[:, ::2], w)", "inputs": {"x": [4, 10], "w": [5]}, "expect": "loud"}
# case: {"class": "gaps", "call": "m.tuned(x[:, :5], w)", "inputs": {"x": [4, 8], "w": [5]}, "expect": "right"}
# case: {"class": "gaps", "call": "m.tuned(x, w[::2])", "inputs": {"x": [4, 5], "w": [10]}, "expect": "loud"}
# case: {"class": "gaps", "call": "m.grown(x, w[::2])", "inputs": {"x": [5], "w": [10]}, "expect": "loud"}
# case: {"class": "gaps", "call": "m.grown(x[::2], w)", "inputs": {"x": [10], "w": [5]}}
# case: {"class": "gaps", "call": "m.strided(x[:, ::2])", "inputs": {"x": [4, 10]}, "expect": "right"}
# case: {"class": "gaps", "call": "m.strided(x.t())", "inputs": {"x": [4, 10]}, "expect": "right"}
# case: {"class": "gaps", "call": "m.strided(x[1::2, 1:6:2])", "inputs": {"x": [4, 10]}, "expect": "right"}

import torch
import triton
import triton.language as tl


@triton.jit
def bias_kernel(y, x, w, d, sx, sy, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    a = tl.load(x + row * sx + at, mask=at < d, other=0.0)
    b = tl.load(w + at, mask=at < d, other=0.0)
    tl.store(y + row * sy + at, tl.sin(a) * b, mask=at < d)


def biased(x, w):
    y = torch.empty(x.shape, dtype=x.dtype)
    bias_kernel[(x.shape[0],)](y, x, w, x.shape[1], x.stride(0), y.stride(0), BLOCK=16)
    return y


@triton.autotune(configs=[triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 8})], key=["d"])
@triton.jit
def tuned_kernel(y, x, w, d, sx, sy, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    a = tl.load(x + row * sx + at, mask=at < d, other=0.0)
    b = tl.load(w + at, mask=at < d, other=0.0)
    tl.store(y + row * sy + at, tl.sin(a) * b, mask=at < d)


def tuned(x, w):
    y = torch.empty(x.shape, dtype=x.dtype)
    tuned_kernel[(x.shape[0],)](y, x, w, x.shape[1], x.stride(0), y.stride(0))
    return y


@triton.jit
def gather_kernel(y, x, index, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    i = tl.load(index + at, mask=at < n, other=0)
    tl.store(y + at, tl.load(x + i, mask=at < n) * 2.0, mask=at < n)


def gathered(x, index):
    y = torch.empty(index.numel(), dtype=x.dtype)
    gather_kernel[(1,)](y, x, index, index.numel(), BLOCK=8)
    return y


@triton.jit
def grow_kernel(x, w, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n)
    tl.store(x + at, a * tl.load(w + at, mask=at < n), mask=at < n)


def grown(x, w):
    x = x.clone(memory_format=torch.preserve_format) * 1 if x.is_contiguous() else x
    y = x * 1
    big = torch.zeros(2 * y.numel(), dtype=y.dtype)
    big[::2] = y
    v = big[::2] if w.numel() == x.numel() and not x.is_contiguous() else y
    grow_kernel[(1,)](v, w, v.numel(), BLOCK=8)
    return v


@triton.jit
def stride_kernel(y, x, m, n, sm, sn, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    a = tl.load(x + row * sm + at * sn, mask=at < n, other=0.0)
    tl.store(y + row * n + at, a * a * a, mask=at < n)


def strided(x):
    m, n = x.shape
    y = torch.empty(m, n, dtype=x.dtype)
    stride_kernel[(m,)](y, x, m, n, x.stride(0), x.stride(1), BLOCK=16)
    return y


@triton.jit
def norm_kernel(y, rstd, x, d, sx, sy, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    a = tl.load(x + row * sx + at, mask=at < d, other=0.0)
    r = 1 / tl.sqrt(tl.sum(a * a) / d + 0.1)
    tl.store(rstd + row, r)
    tl.store(y + row * sy + at, a * r, mask=at < d)


def norm(x):
    y = torch.empty_like(x)
    rstd = torch.empty(x.shape[0], dtype=x.dtype)
    norm_kernel[(x.shape[0],)](y, rstd, x, x.shape[1], x.stride(0), y.stride(0), BLOCK=16)
    return y, rstd
