"""Numbers that a launcher reads off its inputs by more than arithmetic: it is said, with exit status 1."""

# case: {"class": "numbers", "call": "m.by_max(x)", "inputs": {"x": [9]}}
# case: {"call": "m.by_norm(x)", "inputs": {"x": [9]}}
# case: {"call": "m.by_list(x, s)", "inputs": {"x": [9], "s": [3]}}
# case: {"call": "m.relisted(x, s)", "inputs": {"x": [6], "s": [2]}}
# case: {"call": "m.by_clamped(x, a)", "inputs": {"x": [9], "a": {"shape": [], "low": 0.5, "high": 2.0}}}

import torch
import triton
import triton.language as tl


@triton.jit
def scalek(x_ptr, y_ptr, s, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, x * x * s, mask=i < n)


def scale(x, s):
    y = torch.empty_like(x)
    scalek[(1,)](x, y, s, x.numel(), BLOCK=16)
    return y


def by_max(x):
    y = torch.empty_like(x)
    s = x.abs().max().item()
    scalek[(1,)](x, y, 1.0 / s, x.numel(), BLOCK=16)
    return y


def by_norm(x):
    y = torch.empty_like(x)
    scalek[(1,)](x, y, float(torch.norm(x)), x.numel(), BLOCK=16)
    return y


def by_list(x, s):
    total = torch.zeros_like(x)
    for v in s.tolist():
        total = total + scale(x, v)
    return total


def by_clamped(x, a):
    y = torch.empty_like(x)
    scalek[(1,)](x, y, max(a.item(), 0.1), x.numel(), BLOCK=16)
    return y


@triton.jit
def affine(x_ptr, s_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, x * tl.load(s_ptr) + tl.load(s_ptr + 1), mask=i < n)


def relisted(x, s):
    t = torch.tensor(s.tolist(), dtype=x.dtype)
    y = torch.empty_like(x)
    affine[(1,)](x, t, y, x.numel(), BLOCK=8)
    return y
