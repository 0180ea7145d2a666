"""Elements of the input that several elements of the output read: repeated, enlarged, turned around."""

import torch
import triton
import triton.language as tl


@triton.jit
def repeated(x, y, n, R: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    keep = i < n
    a = tl.load(x + i // R, mask=keep, other=0.0)
    tl.store(y + i, a * a * (i % R + 1), mask=keep)


@triton.jit
def enlarged_some(x, y, H, W, OH, OW, n, S: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    keep = i < n
    ow = i % OW
    oh = i // OW % OH
    plane = i // (OW * OH)
    a = tl.load(x + (plane * H + oh // S) * W + ow // S, mask=keep, other=0.0)
    tl.store(y + i, a * a, mask=keep)


@triton.jit
def turned_over(x, y, H, W, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    keep = i < n
    w = i % W
    h = i // W % H
    plane = i // (W * H)
    a = tl.load(x + (plane * H + H - 1 - h) * W + W - 1 - w, mask=keep, other=0.0)
    tl.store(y + i, a * a * (w + 1), mask=keep)


@triton.jit
def enlarged_by_batch(x, y, n, N, R: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    b = tl.program_id(1)
    keep = i < n
    a = tl.load(x + i // R, mask=keep, other=0.0)
    tl.store(y + b * n + i, a * a * (b + 1), mask=keep)


@triton.jit
def repeated_parts(x, y, n, R: tl.constexpr, C, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    keep = i < n
    c = i % C
    g = i // (C * R)
    a = tl.load(x + g * C + c, mask=keep, other=0.0)
    tl.store(y + i, a * a, mask=keep)


@triton.jit
def repeated_as_often(x, y, n, R, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    keep = i < n
    a = tl.load(x + i // R, mask=keep, other=0.0)
    tl.store(y + i, a * a, mask=keep)


def run_repeated_as_often(x, R):
    y = torch.empty(x.numel() * R)
    n = y.numel()
    repeated_as_often[(triton.cdiv(n, 16),)](x, y, n, R, B=16)
    return y


def run_repeated(x, R=3):
    y = torch.empty(x.numel() * R)
    n = y.numel()
    repeated[(triton.cdiv(n, 16),)](x, y, n, R=R, B=16)
    return y


def run_enlarged_some(x, OW, S=2):
    P, H, W = x.shape
    y = torch.empty(P, H * S, OW)
    n = y.numel()
    enlarged_some[(triton.cdiv(n, 16),)](x, y, H, W, H * S, OW, n, S=S, B=16)
    return y


def run_turned_over(x):
    P, H, W = x.shape
    y = torch.empty_like(x)
    n = y.numel()
    turned_over[(triton.cdiv(n, 16),)](x, y, H, W, n, B=16)
    return y


def run_enlarged_by_batch(x, N, R=2):
    y = torch.empty(N, x.numel() * R)
    n = x.numel() * R
    enlarged_by_batch[(triton.cdiv(n, 16), N)](x, y, n, N, R=R, B=16)
    return y


def run_repeated_parts(x, R=2):
    G, C = x.shape
    y = torch.empty(G, R, C)
    n = y.numel()
    repeated_parts[(triton.cdiv(n, 16),)](x, y, n, R=R, C=C, B=16)
    return y
