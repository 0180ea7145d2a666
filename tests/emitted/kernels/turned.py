"""Copies in a circle, corners of windows, pairs of neighbours: each element has one reader, in whatever spelling."""

# case: {"class": "turned", "call": "m.run_rolled(x, 3)", "inputs": {"x": [4, 37]}}
# case: {"class": "turned", "call": "m.run_rolled_back(x, 5)", "inputs": {"x": [3, 32]}}
# case: {"class": "turned", "call": "m.run_rolled_either_way(x, -41)", "inputs": {"x": [4, 37]}}
# case: {"class": "turned", "call": "m.run_rolled_either_way(x, 3)", "inputs": {"x": [4, 37]}}
# case: {"class": "turned", "call": "m.run_windows(x, 2, 1)", "inputs": {"x": [2, 3, 5, 19]}}
# case: {"class": "turned", "call": "m.run_flat_windows(x, 2, 4)", "inputs": {"x": [3, 5, 7]}}
# case: {"class": "turned", "call": "m.run_some(x, 3)", "inputs": {"x": [4, 37]}}
# case: {"class": "turned", "call": "m.run_twice(x, 3)", "inputs": {"x": [4, 74]}}
# case: {"class": "turned", "call": "m.run_corners(x)", "inputs": {"x": [2, 6, 4, 19]}}
# case: {"class": "turned", "call": "m.run_corners(x)", "inputs": {"x": [2, 5, 7, 16]}}
# case: {"class": "turned", "call": "m.run_pairs(x)", "inputs": {"x": [6, 3, 10]}}
# case: {"class": "turned", "call": "m.run_pairs(x)", "inputs": {"x": [5, 4, 7]}}

import torch
import triton
import triton.language as tl


@triton.jit
def rolled(x, y, n, shift, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.program_id(1) * B + tl.arange(0, B)
    a = tl.load(x + row * n + (c + shift) % n, mask=c < n, other=0.0)
    tl.store(y + row * n + c, a * a, mask=c < n)


def run_rolled(x, shift):
    y = torch.empty_like(x)
    rows, n = x.shape
    rolled[(rows, triton.cdiv(n, 16))](x, y, n, shift, B=16)
    return y


@triton.jit
def rolled_back(x, y, n, shift, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    a = tl.load(x + row * n + (c - shift + n) % n, mask=c < n, other=0.0)
    tl.store(y + row * n + c, a * a, mask=c < n)


def run_rolled_back(x, shift):
    y = torch.empty_like(x)
    rows, n = x.shape
    rolled_back[(rows,)](x, y, n, shift, B=triton.next_power_of_2(n))
    return y


@triton.jit
def rolled_either_way(x, y, n, shift, B: tl.constexpr):
    """The remainder of a number below 0 is below 0, too."""
    row = tl.program_id(0)
    c = tl.arange(0, B)
    a = tl.load(x + row * n + ((c + shift) % n + n) % n, mask=c < n, other=0.0)
    tl.store(y + row * n + c, a * a, mask=c < n)


def run_rolled_either_way(x, shift):
    y = torch.empty_like(x)
    rows, n = x.shape
    rolled_either_way[(rows,)](x, y, n, shift, B=triton.next_power_of_2(n))
    return y


@triton.jit
def windows(x, y, H, W, C, sh, sw, B: tl.constexpr):
    """A program for a pixel, channels last."""
    pid = tl.program_id(0)
    w = pid % W
    h = pid // W % H
    source = (pid // (W * H) * H + (h + sh) % H) * W + (w + sw) % W
    c = tl.arange(0, B)
    a = tl.load(x + source * C + c, mask=c < C, other=0.0)
    tl.store(y + pid * C + c, a * a, mask=c < C)


def run_windows(x, sh, sw):
    y = torch.empty_like(x)
    batch, H, W, C = x.shape
    windows[(batch * H * W,)](x, y, H, W, C, sh, sw, B=triton.next_power_of_2(C))
    return y


@triton.jit
def flat_windows(x, y, H, W, sh, sw, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    w = i % W
    h = i // W % H
    source = (i // (W * H) * H + (h + sh) % H) * W + (w + sw) % W
    a = tl.load(x + source, mask=i < n, other=0.0)
    tl.store(y + i, a * a, mask=i < n)


def run_flat_windows(x, sh, sw):
    y = torch.empty_like(x)
    n = x.numel()
    flat_windows[(triton.cdiv(n, 16),)](x, y, x.shape[1], x.shape[2], sh, sw, n, B=16)
    return y


@triton.jit
def some(x, y, n, m, shift, B: tl.constexpr):
    """Turned around in rows that are shorter than what is read: two lanes may have one element."""
    row = tl.program_id(0)
    c = tl.arange(0, B)
    a = tl.load(x + row * n + (c + shift) % m, mask=c < n, other=0.0)
    tl.store(y + row * n + c, a * a, mask=c < n)


def run_some(x, shift):
    y = torch.empty_like(x)
    rows, n = x.shape
    some[(rows,)](x, y, n, n - 5, shift, B=triton.next_power_of_2(n))
    return y


@triton.jit
def twice(x, y, n, shift, B: tl.constexpr):
    """What is turned around, and the same number as it is: sums of both may be one."""
    row = tl.program_id(0)
    c = tl.arange(0, B)
    a = tl.load(x + row * 2 * n + (c + shift) % n + c, mask=c < n, other=0.0)
    tl.store(y + row * n + c, a * a, mask=c < n)


def run_twice(x, shift):
    rows, n = x.shape
    y = torch.empty(rows, n // 2, device=x.device, dtype=x.dtype)
    twice[(rows,)](x, y, n // 2, shift, B=triton.next_power_of_2(n // 2))
    return y


@triton.jit
def corners(x, y, H, W, C, OH, OW, B: tl.constexpr):
    """Windows of 2 by 2, channels last, each corner in a statement of its own."""
    pid = tl.program_id(0)
    ow = pid % OW
    oh = pid // OW % OH
    c = tl.arange(0, B)
    keep = c < C
    first = x + ((pid // (OW * OH) * H + 2 * oh) * W + 2 * ow) * C + c
    a = tl.load(first, mask=keep, other=0.0)
    b = tl.load(first + C, mask=keep, other=0.0)
    d = tl.load(first + W * C, mask=keep, other=0.0)
    e = tl.load(first + W * C + C, mask=keep, other=0.0)
    tl.store(y + pid * C + c, (a * a + b + d * e) * 0.25, mask=keep)


def run_corners(x):
    batch, H, W, C = x.shape
    y = torch.empty(batch, H // 2, W // 2, C, device=x.device, dtype=x.dtype)
    grid = (batch * (H // 2) * (W // 2),)
    corners[grid](x, y, H, W, C, H // 2, W // 2, B=triton.next_power_of_2(C))
    return y


@triton.jit
def pairs(x, y, H, D, BH: tl.constexpr, BD: tl.constexpr):
    """Neighbours of a row, which may have one element more, are turned together: a program for a token."""
    pid = tl.program_id(0)
    h = tl.arange(0, BH)
    d = tl.arange(0, BD)
    at = (pid * H + h[:, None]) * D + 2 * d[None, :]
    keep = (h[:, None] < H) & (d[None, :] < D // 2)
    a = tl.load(x + at, mask=keep, other=0.0)
    b = tl.load(x + at + 1, mask=keep, other=0.0)
    tl.store(y + at, a * 0.8 - b * a, mask=keep)
    tl.store(y + at + 1, a + b * 0.6, mask=keep)


def run_pairs(x):
    y = torch.zeros_like(x)
    tokens, H, D = x.shape
    block = triton.next_power_of_2
    pairs[(tokens,)](x, y, H, D, BH=block(H), BD=block(D // 2))
    return y
