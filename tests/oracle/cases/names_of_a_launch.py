"""Parameters whose names a launch has keywords for: `grid`, `warmup`, `num_warps`, `stream`."""

# case: {"class": "host", "expect": "right", "call": "m.rms(x, w)", "inputs": {"x": [20, 5], "w": [5]}}
# case: {"expect": "right", "call": "m.rec(x, w)", "inputs": {"x": [5, 4], "w": [5, 4]}}
# case: {"expect": "right", "call": "m.f(x)", "inputs": {"x": [7]}}
# case: {"expect": "right", "call": "m.g(x, 3)", "inputs": {"x": [7]}}
# case: {"expect": "right", "call": "m.h(x)", "inputs": {"x": [7]}}
import torch
import triton
import triton.language as tl


@triton.jit
def k(x, y, grid, warmup, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < grid)
    tl.store(y + i, v * tl.sin(v) * warmup, mask=i < grid)


def f(x):
    y = torch.empty_like(x)
    k[(triton.cdiv(x.numel(), 4),)](x, y, x.numel(), 2, B=4)
    return y


@triton.jit
def k2(x, y, n, stream, num_stages: tl.constexpr, num_warps: tl.constexpr, device, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, v * tl.sin(v) * stream * num_stages + num_warps + device, mask=i < n)


def g(x, s):
    y = torch.empty_like(x)
    k2[(triton.cdiv(x.numel(), 4),)](x, y, x.numel(), s, num_stages=2, num_warps=4, device=3, B=4)
    return y


@triton.jit
def k3(grid, warmup, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(grid + i, mask=i < n)
    tl.store(warmup + i, v * tl.sin(v), mask=i < n)


def h(x):
    y = torch.empty_like(x)
    k3[(triton.cdiv(x.numel(), 4),)](x, y, x.numel(), B=4)
    return y


@triton.jit
def k4(x, grid, y, N, warmup, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x + r * N + c, mask=c < N, other=0.0)
    w = tl.load(grid + c, mask=c < N, other=0.0)
    s = tl.sum(v * v, 0) / N
    tl.store(y + r * N + c, v * w / tl.sqrt(s + warmup), mask=c < N)


def rms(x, w):
    y = torch.empty_like(x)
    k4[(x.shape[0],)](x, w, y, x.shape[1], 0.5, B=8)
    return y


@triton.jit
def k5(x, grid, y, warmup, B: tl.constexpr):
    c = tl.arange(0, B)
    h = tl.zeros([B], dtype=tl.float64)
    for t in range(warmup):
        h = tl.sin(h) * tl.load(grid + t * B + c) + tl.load(x + t * B + c)
        tl.store(y + t * B + c, h)


def rec(x, w):
    y = torch.empty_like(x)
    k5[(1,)](x, w, y, x.shape[0], B=4)
    return y
