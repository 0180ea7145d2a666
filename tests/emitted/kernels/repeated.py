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


@triton.jit
def enlarged_by_rows(x, y, H, W, S: tl.constexpr, B: tl.constexpr):
    """A program for a row of the larger picture."""
    plane = tl.program_id(0)
    oh = tl.program_id(1)
    ow = tl.arange(0, B)
    a = tl.load(x + (plane * H + oh // S) * W + ow // S, mask=ow < W * S, other=0.0)
    tl.store(y + (plane * H * S + oh) * W * S + ow, a * a * (ow + 1), mask=ow < W * S)


@triton.jit
def enlarged_by_tiles(x, y, H, W, S: tl.constexpr, BH: tl.constexpr, BW: tl.constexpr):
    plane = tl.program_id(2)
    h = tl.program_id(0) * BH + tl.arange(0, BH)
    w = tl.program_id(1) * BW + tl.arange(0, BW)
    keep = (h < H * S)[:, None] & (w < W * S)[None, :]
    a = tl.load(x + plane * H * W + (h // S)[:, None] * W + (w // S)[None, :], mask=keep, other=0.0)
    tl.store(y + plane * H * S * W * S + h[:, None] * W * S + w[None, :], a * a, mask=keep)


@triton.jit
def enlarged_but_some(x, y, W, S: tl.constexpr, B: tl.constexpr):
    """Not each first one of the readers adds something."""
    row = tl.program_id(0)
    w = tl.program_id(1) * B + tl.arange(0, B)
    keep = (w < W * S) & (w % 3 != 0)
    a = tl.load(x + row * W + w // S, mask=keep, other=0.0)
    tl.store(y + row * W * S + w, a * a, mask=w < W * S)


@triton.jit
def enlarged_sums(x, y, W, S: tl.constexpr, B: tl.constexpr):
    """What a reader adds is made of its whole row."""
    row = tl.program_id(0)
    w = tl.arange(0, B)
    keep = w < W * S
    a = tl.load(x + row * W + w // S, mask=keep, other=0.0)
    tl.store(y + row * W * S + w, a * tl.sum(a), mask=keep)


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


def run_enlarged_by_rows(x, S=2):
    P, H, W = x.shape
    y = torch.empty(P, H * S, W * S)
    enlarged_by_rows[(P, H * S)](x, y, H, W, S=S, B=triton.next_power_of_2(W * S))
    return y


def run_enlarged_by_tiles(x, S=3):
    P, H, W = x.shape
    y = torch.empty(P, H * S, W * S)
    grid = (triton.cdiv(H * S, 4), triton.cdiv(W * S, 8), P)
    enlarged_by_tiles[grid](x, y, H, W, S=S, BH=4, BW=8)
    return y


def run_enlarged_but_some(x, S=2):
    M, W = x.shape
    y = torch.empty(M, W * S)
    enlarged_but_some[(M, triton.cdiv(W * S, 8))](x, y, W, S=S, B=8)
    return y


def run_enlarged_sums(x, S=2):
    M, W = x.shape
    y = torch.empty(M, W * S)
    enlarged_sums[(M,)](x, y, W, S=S, B=triton.next_power_of_2(W * S))
    return y
