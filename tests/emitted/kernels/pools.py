"""Windows side by side, and digits of digits: each element has one reader. Windows that overlap have several."""

# case: {"class": "pools", "call": "m.run_average(x)", "inputs": {"x": [3, 4, 6]}}
# case: {"class": "pools", "call": "m.run_average(x)", "inputs": {"x": [3, 5, 7]}}
# case: {"class": "pools", "call": "m.run_rows(x, 2)", "inputs": {"x": [2, 4, 6]}}
# case: {"class": "pools", "call": "m.run_rows(x, 3)", "inputs": {"x": [2, 7, 10]}}
# case: {"class": "pools", "call": "m.run_largest(x)", "inputs": {"x": [3, 4, 6]}}
# case: {"class": "pools", "call": "m.run_shuffle(x, 2)", "inputs": {"x": [8, 3, 5]}}
# case: {"class": "pools", "call": "m.run_overlapping(x)", "inputs": {"x": [3, 5, 7]}}
# case: {"class": "pools", "call": "m.run_overlapping_rows(x, 3)", "inputs": {"x": [2, 5, 7]}}

import torch
import triton
import triton.language as tl


@triton.jit
def average(x, y, H, W, OH, OW, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    inside = i < n
    at = i // (OW * OH) * H * W + (i // OW) % OH * 2 * W + i % OW * 2
    a = tl.load(x + at, mask=inside, other=0.0)
    b = tl.load(x + at + 1, mask=inside, other=0.0)
    c = tl.load(x + at + W, mask=inside, other=0.0)
    d = tl.load(x + at + W + 1, mask=inside, other=0.0)
    tl.store(y + i, (a * a + b + c + d) * 0.25, mask=inside)


@triton.jit
def average_of_tiles(x, y, H, W, OH, OW, BH: tl.constexpr, BW: tl.constexpr):
    p = tl.program_id(2)
    oh = tl.program_id(0) * BH + tl.arange(0, BH)
    ow = tl.program_id(1) * BW + tl.arange(0, BW)
    m = (oh[:, None] < OH) & (ow[None, :] < OW)
    base = x + p * H * W + (2 * oh[:, None]) * W + 2 * ow[None, :]
    s = tl.load(base, mask=m, other=0.0) + tl.load(base + 1, mask=m, other=0.0)
    s += tl.load(base + W, mask=m, other=0.0) + tl.load(base + W + 1, mask=m, other=0.0)
    tl.store(y + p * OH * OW + oh[:, None] * OW + ow[None, :], s * 0.25, mask=m)


def run_average(x):
    planes, H, W = x.shape
    y = torch.empty(planes, H // 2, W // 2, device=x.device, dtype=x.dtype)
    n = y.numel()
    average[(triton.cdiv(n, 16),)](x, y, H, W, H // 2, W // 2, n, B=16)
    return y


@triton.jit
def rows(x, y, H, W, OH, OW, K: tl.constexpr, B: tl.constexpr):
    plane = tl.program_id(0)
    oh = tl.program_id(1)
    ow = tl.arange(0, B)
    total = tl.zeros((B,), dtype=tl.float32)
    for i in tl.static_range(K):
        for j in tl.static_range(K):
            at = (plane * H + oh * K + i) * W + ow * K + j
            a = tl.load(x + at, mask=ow < OW, other=0.0)
            total += a * a
    tl.store(y + (plane * OH + oh) * OW + ow, total / (K * K), mask=ow < OW)


def run_rows(x, k):
    planes, H, W = x.shape
    y = torch.empty(planes, H // k, W // k, device=x.device, dtype=x.dtype)
    block = triton.next_power_of_2(W // k)
    rows[(planes, H // k)](x, y, H, W, H // k, W // k, K=k, B=block)
    return y


@triton.jit
def largest(x, y, H, W, OH, OW, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    inside = i < n
    ow = i % OW
    oh = (i // OW) % OH
    plane = i // (OW * OH)
    best = tl.full((B,), float("-inf"), tl.float32)
    for a in tl.static_range(2):
        for b in tl.static_range(2):
            at = (plane * H + oh * 2 + a) * W + ow * 2 + b
            best = tl.maximum(best, tl.load(x + at, mask=inside, other=float("-inf")))
    tl.store(y + i, best, mask=inside)


def run_largest(x):
    planes, H, W = x.shape
    y = torch.empty(planes, H // 2, W // 2, device=x.device, dtype=x.dtype)
    n = y.numel()
    largest[(triton.cdiv(n, 16),)](x, y, H, W, H // 2, W // 2, n, B=16)
    return y


@triton.jit
def shuffle(x, y, H, W, n, R: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    w = i % (W * R)
    h = i // (W * R) % (H * R)
    c = i // (W * R * H * R)
    at = ((c * R * R + h % R * R + w % R) * H + h // R) * W + w // R
    a = tl.load(x + at, mask=i < n, other=0.0)
    tl.store(y + i, a * a, mask=i < n)


def run_shuffle(x, r):
    C, H, W = x.shape
    y = torch.empty(C // (r * r), H * r, W * r, device=x.device, dtype=x.dtype)
    n = y.numel()
    shuffle[(triton.cdiv(n, 16),)](x, y, H, W, n, R=r, B=16)
    return y


@triton.jit
def overlapping(x, y, H, W, OH, OW, n, B: tl.constexpr):
    """Windows of three, two apart."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    inside = i < n
    at = i // (OW * OH) * H * W + (i // OW) % OH * 2 * W + i % OW * 2
    total = tl.zeros((B,), dtype=tl.float32)
    for k in tl.static_range(3):
        total += tl.load(x + at + k, mask=inside, other=0.0)
    tl.store(y + i, total, mask=inside)


def run_overlapping(x):
    planes, H, W = x.shape
    y = torch.empty(planes, H // 2, (W - 3) // 2 + 1, device=x.device, dtype=x.dtype)
    n = y.numel()
    overlapping[(triton.cdiv(n, 16),)](x, y, H, W, H // 2, y.shape[2], n, B=16)
    return y


@triton.jit
def overlapping_rows(x, y, H, W, OH, OW, K: tl.constexpr, B: tl.constexpr):
    """Windows of K, K - 1 apart."""
    plane = tl.program_id(0)
    oh = tl.program_id(1)
    ow = tl.arange(0, B)
    total = tl.zeros((B,), dtype=tl.float32)
    for j in tl.static_range(K):
        at = (plane * H + oh) * W + ow * (K - 1) + j
        total += tl.load(x + at, mask=ow < OW, other=0.0)
    tl.store(y + (plane * OH + oh) * OW + ow, total, mask=ow < OW)


def run_overlapping_rows(x, k):
    planes, H, W = x.shape
    y = torch.empty(planes, H, (W - k) // (k - 1) + 1, device=x.device, dtype=x.dtype)
    block = triton.next_power_of_2(y.shape[2])
    overlapping_rows[(planes, H)](x, y, H, W, H, y.shape[2], K=k, B=block)
    return y


def run_average_of_tiles(x):
    P, H, W = x.shape
    OH, OW = H // 2, W // 2
    y = torch.empty(P, OH, OW)
    average_of_tiles[(triton.cdiv(OH, 4), triton.cdiv(OW, 32), P)](x, y, H, W, OH, OW, BH=4, BW=32)
    return y
