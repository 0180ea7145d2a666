"""Helpers whose derivatives are given by hand, as expressions and by a function."""

# case: {"class": "given", "call": "m.swish(x, s)", "inputs": {"x": [7, 33], "s": [33]}}
# case: {"class": "given", "call": "m.swish(x, s[:5])", "inputs": {"x": [3, 5], "s": [6]}}

import torch
import triton
import triton.language as tl


# tad: backward of sigmoid(x): grad * result * (1 - result)
@triton.jit
def sigmoid(x):
    return 1 / (1 + tl.exp2(x * -1.4426950408889634))


# tad: backward of gated(x, s, SHARP): gated_backward(x, s, grad, SHARP)
@triton.jit
def gated(x, s, SHARP: tl.constexpr = 2):
    return x * sigmoid(s * x * SHARP)


@triton.jit
def gated_backward(x, s, grad, SHARP: tl.constexpr):
    g = sigmoid(s * x * SHARP)
    slope = x * g * (1 - g) * SHARP
    return grad * (g + s * slope), grad * x * slope, None


@triton.jit
def swish_kernel(x_ptr, s_ptr, y_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + row * stride + i, mask=mask, other=0.0)
    s = tl.load(s_ptr + i, mask=mask, other=0.0)
    y = tl.zeros([BLOCK], dtype=tl.float32)
    for k in range(3):
        if k != 1:
            y += gated(x, s, SHARP=3) * k
        else:
            y = sigmoid(y + x)
    tl.store(y_ptr + row * stride + i, y, mask=mask)


def swish(x, s):
    y = torch.empty_like(x)
    block = triton.next_power_of_2(x.shape[1])
    swish_kernel[(x.shape[0],)](x, s, y, x.stride(0), x.shape[1], BLOCK=block)
    return y
