"""Elements beyond the mask are infinite."""

# case: {"class": "nan", "call": "m.run_loop1(x, w)", "inputs": {"x": {"shape": [5], "low": 0.5, "high": 1.5}, "w": [1]}}
# case: {"class": "nan", "call": "m.run_loop2(x, w)", "inputs": {"x": {"shape": [5], "low": 0.5, "high": 1.5}, "w": [1]}}
# case: {"class": "nan", "call": "m.run_branch(x, w)", "inputs": {"x": {"shape": [5], "low": 0.5, "high": 1.5}, "w": [1]}}
# case: {"class": "nan", "call": "m.run_sumloop(x, w)", "inputs": {"x": {"shape": [5], "low": 0.5, "high": 1.5}, "w": [1]}}

import torch, triton
import triton.language as tl


@triton.jit
def loop1(x_ptr, w_ptr, y_ptr, n, T, B: tl.constexpr):
    o = tl.arange(0, B)
    m = o < n
    x = tl.load(x_ptr + o, mask=m, other=0.0)
    w = tl.load(w_ptr)
    a = x
    for t in range(0, T):
        a = 1.0 / x
    tl.store(y_ptr + o, a * w, mask=m)


@triton.jit
def loop2(x_ptr, w_ptr, y_ptr, n, T, B: tl.constexpr):
    o = tl.arange(0, B)
    m = o < n
    x = tl.load(x_ptr + o, mask=m, other=0.0)
    w = tl.load(w_ptr)
    a = x
    b = x
    for t in range(0, T):
        a = b
        b = 1.0 / x
    tl.store(y_ptr + o, a * w, mask=m)


@triton.jit
def branch(x_ptr, w_ptr, y_ptr, n, T, F, B: tl.constexpr):
    o = tl.arange(0, B)
    m = o < n
    x = tl.load(x_ptr + o, mask=m, other=0.0)
    w = tl.load(w_ptr)
    if F > 0:
        a = 1.0 / x
    else:
        a = x
    tl.store(y_ptr + o, a * w, mask=m)


@triton.jit
def sumloop(x_ptr, w_ptr, y_ptr, n, T, B: tl.constexpr):
    o = tl.arange(0, B)
    m = o < n
    x = tl.load(x_ptr + o, mask=m, other=0.0)
    w = tl.load(w_ptr)
    a = tl.zeros([B], tl.float32)
    for t in range(0, T):
        a = a + 1.0 / x
    tl.store(y_ptr + o, a * w, mask=m)


def run_loop1(x, w):
    y = torch.empty_like(x)
    loop1[(1,)](x, w, y, x.numel(), 3, B=8)
    return y


def run_loop2(x, w):
    y = torch.empty_like(x)
    loop2[(1,)](x, w, y, x.numel(), 3, B=8)
    return y


def run_branch(x, w):
    y = torch.empty_like(x)
    branch[(1,)](x, w, y, x.numel(), 3, 1, B=8)
    return y


def run_sumloop(x, w):
    y = torch.empty_like(x)
    sumloop[(1,)](x, w, y, x.numel(), 3, B=8)
    return y
