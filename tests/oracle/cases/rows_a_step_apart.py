"""Rows whose elements lie side by side, a step of 1 apart: they overlap, and their gradients are added up."""

# case: {"class": "windows", "call": "m.inner(x, k)", "inputs": {"x": [4, 8], "k": [8, 8]}}
# case: {"class": "windows", "call": "m.inner(x, k.t())", "inputs": {"x": [4, 8], "k": [8, 8]}}
# case: {"class": "windows", "call": "m.named(x, k)", "inputs": {"x": [4, 8], "k": [8, 8]}}
# case: {"class": "windows", "call": "m.written(x, k)", "inputs": {"x": [4, 8], "k": [8, 8]}}
# case: {"class": "windows", "call": "m.spread(x, k)", "inputs": {"x": [4, 8], "k": [8, 8]}}
# case: {"class": "windows", "call": "m.turns(x, k)", "inputs": {"x": [4, 8], "k": [8, 8]}}
# case: {"class": "windows", "call": "m.programs(x, k)", "inputs": {"x": [4, 8], "k": [8, 8]}}

import torch
import triton
import triton.language as tl


@triton.jit
def inner_kernel(x, k, out, step_x, step_k, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    d = tl.arange(0, D)
    a = tl.load(x + m[:, None] * step_x + d[None, :])
    b = tl.load(k + d[:, None] + n[None, :] * step_k)
    s = tl.sum(a[:, :, None] * b[None, :, :], axis=1)
    tl.store(out + m, tl.sum(s * s, axis=1))


@triton.jit
def turns_kernel(x, k, out, step_k, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    d = tl.arange(0, D)
    total = tl.zeros((D,), dtype=tl.float32)
    for n in range(N):
        b = tl.load(k + n * step_k + d)
        total += b * b * tl.load(x + d)
    tl.store(out + d, total)


@triton.jit
def programs_kernel(x, k, out, step_k, D: tl.constexpr):
    n = tl.program_id(0)
    d = tl.arange(0, D)
    b = tl.load(k + n * step_k + d)
    tl.store(out + n * D + d, b * b * tl.load(x + d))


def inner(x, k):
    depth, columns = k.shape
    out = torch.empty(x.shape[0], dtype=x.dtype)
    inner_kernel[(1,)](x, k, out, x.stride(0), k.stride(1), M=x.shape[0], N=k.shape[1], D=8)
    return out


def named(x, k):
    depth, columns = k.shape
    out = torch.empty(x.shape[0], dtype=x.dtype)
    step = k.stride(-1)
    inner_kernel[(1,)](x, k, out, step_x=x.stride(0), step_k=step, M=x.shape[0], N=k.shape[1], D=8)
    return out


def written(x, k):
    depth, columns = k.shape
    out = torch.empty(x.shape[0], dtype=x.dtype)
    inner_kernel[(1,)](x, k, out, x.stride(0), 1, M=x.shape[0], N=k.shape[1], D=8)
    return out


def spread(x, k):
    assert k.dim() == 2
    out = torch.empty(x.shape[0], dtype=x.dtype)
    inner_kernel[(1,)](x, k, out, *k.stride(), M=x.shape[0], N=k.shape[1], D=8)
    return out


def turns(x, k):
    depth, columns = k.shape
    out = torch.empty(8, dtype=x.dtype)
    turns_kernel[(1,)](x, k, out, k.stride(1), M=x.shape[0], N=k.shape[1], D=8)
    return out


def programs(x, k):
    depth, columns = k.shape
    out = torch.empty(8, 8, dtype=x.dtype)
    programs_kernel[(8,)](x, k, out, k.stride(1), D=8)
    return out
