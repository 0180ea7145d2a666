"""Grids with axes that a kernel does not read: programs along them add each for itself, and store alike."""

import torch
import triton
import triton.language as tl


@triton.jit
def adds_alone(x, total, n, B: tl.constexpr):
    lanes = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + lanes, mask=lanes < n, other=0.0)
    tl.atomic_add(total, tl.sum(v * v))


def launch_adds_alone(x):
    total = torch.zeros(1, device=x.device, dtype=torch.float32)
    adds_alone[(triton.cdiv(x.numel(), 16), 1, 2)](x, total, x.numel(), B=16)
    return total


@triton.jit
def adds_and_stores(x, total, y, n, B: tl.constexpr):
    lanes = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + lanes, mask=lanes < n, other=0.0)
    tl.store(y + lanes, v * v, mask=lanes < n)
    tl.atomic_add(total, tl.sum(tl.exp(v)))


def launch_adds_and_stores(x):
    y = torch.empty_like(x)
    total = torch.zeros(1, device=x.device, dtype=torch.float32)
    adds_and_stores[(triton.cdiv(x.numel(), 16), 3)](x, total, y, x.numel(), B=16)
    return total, y


@triton.jit
def stores_scaled(x, w, y, n, B: tl.constexpr):
    lanes = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + lanes, mask=lanes < n, other=0.0)
    tl.store(y + lanes, v * tl.load(w) + tl.load(w + 1), mask=lanes < n)


def launch_stores_scaled(x, w):
    y = torch.empty_like(x)
    stores_scaled[lambda meta: (triton.cdiv(x.numel(), meta["B"]), 2, 3)](x, w, y, x.numel(), B=16)
    return y


# tad: n=20, x=f32[n], total=f32[n], B=16, grid=(2, 3)
@triton.jit
def adds_as_said(x, total, n, B: tl.constexpr):
    lanes = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + lanes, mask=lanes < n, other=0.0)
    tl.atomic_add(total + lanes, v * v, mask=lanes < n)


@triton.jit
def adds_scaled(x, scale, total, n, B: tl.constexpr):
    unused = tl.program_id(1)  # noqa: F841
    lanes = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + lanes, mask=lanes < n, other=0.0)
    tl.atomic_add(total + lanes, v * scale, mask=lanes < n)


def launch_adds_scaled(x, scale):
    total = torch.zeros_like(x)
    repeats = 2
    adds_scaled[(triton.cdiv(x.numel(), 16), repeats, 2)](x, scale.item(), total, x.numel(), B=16)
    return total
