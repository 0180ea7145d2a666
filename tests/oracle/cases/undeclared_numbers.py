"""`float(a)` of an argument that may be a tensor: the emitted code says so at the call."""

# case: {"class": "numbers", "call": "m.run(x, a)", "inputs": {"x": [9], "a": []}}
# case: {"call": "m.run2(x, a)", "inputs": {"x": [9], "a": []}}
# case: {"call": "m.run3(x, a)", "inputs": {"x": [9], "a": []}}
# case: {"call": "m.run(x, 2.5)", "inputs": {"x": [9]}}
# case: {"call": "m.run2(x, 2.5)", "inputs": {"x": [9]}}
# case: {"call": "m.run4(x, a)", "inputs": {"x": [9], "a": []}}

import torch
import triton
import triton.language as tl


@triton.jit
def scalek(x_ptr, y_ptr, s, n, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, x * x * s, mask=i < n)


def run(x, a):
    y = torch.empty_like(x)
    scalek[(1,)](x, y, float(a), x.numel(), B=16)
    return y


def run2(x, a):
    y = torch.empty_like(x)
    s = float(a) ** 2
    scalek[(1,)](x, y, s, x.numel(), B=16)
    return y


def run3(x, a):
    y = torch.empty_like(x)
    scalek[(1,)](x, y, max(float(a), 0.0), x.numel(), B=16)
    return y + float(a)


def run4(x, a=1.0):
    y = torch.empty_like(x)
    scalek[(1,)](x, y, math_scale(a), x.numel(), B=16)
    return y


def math_scale(a):
    return 1.0 / (1.0 + float(a) * float(a))
