"""A launcher that changes `w.data` after `w` was used: autograd counts the change."""

# case: {"class": "aliases", "call": "m.run(x, w)", "inputs": {"x": [9], "w": [9]}}
# case: {"call": "m.detached(x, w)", "inputs": {"x": [9], "w": [9]}}
# case: {"call": "m.nograd(x, w)", "inputs": {"x": [9], "w": [9]}}
# case: {"call": "m.kernel_data(x, w)", "inputs": {"x": [9], "w": [9]}}

import torch
import triton
import triton.language as tl


@triton.jit
def mulk(x_ptr, w_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.arange(0, B)
    m = i < n
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=m) * tl.load(w_ptr + i, mask=m), mask=m)


@triton.jit
def clampk(w_ptr, n, B: tl.constexpr):
    i = tl.arange(0, B)
    m = i < n
    w = tl.load(w_ptr + i, mask=m)
    tl.store(w_ptr + i, w * 0.5, mask=m)


def mul(x, w):
    y = torch.empty_like(x)
    mulk[(1,)](x, w, y, x.numel(), B=16)
    return y


def run(x, w):
    y = mul(x, w)
    clampk[(1,)](w.data, w.numel(), B=16)
    return y


def detached(x, w):
    y = mul(x, w)
    clampk[(1,)](w.detach(), w.numel(), B=16)
    return y


def nograd(x, w):
    y = mul(x, w)
    with torch.no_grad():
        w.mul_(0.5)
    return y


def kernel_data(x, w):
    y = mul(x, w)
    w.data.mul_(0.5)
    return y


def before(x, w):
    clampk[(1,)](w.data, w.numel(), B=16)
    return mul(x, w)
