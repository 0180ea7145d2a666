"""Pairs of elements that lie side by side, in flat kernels: odd counts, views, masks that differ, strides."""

# case: {"class": "views", "call": "m.magnitude(x)", "inputs": {"x": [7, 2]}, "expect": "right"}
# case: {"call": "m.magnitude(x[1:])", "inputs": {"x": [6, 2]}, "expect": "right"}
# case: {"call": "m.magnitude(x.view(-1)[2:8].view(3, 2))", "inputs": {"x": [6, 2]}, "expect": "right"}
# case: {"call": "m.gated(x)", "inputs": {"x": [5, 22]}, "expect": "right"}
# case: {"call": "m.gated(x[:, 2:18])", "inputs": {"x": [5, 22]}, "expect": "right"}
# case: {"call": "m.odd(x)", "inputs": {"x": [11]}, "expect": "right"}
# case: {"call": "m.odd(x[1:])", "inputs": {"x": [12]}, "expect": "right"}
# case: {"call": "m.backwards(x)", "inputs": {"x": [12]}, "expect": "right"}
# case: {"call": "m.apart(x, 3)", "inputs": {"x": [24]}, "expect": "right"}
# case: {"call": "m.apart(x, 1)", "inputs": {"x": [24]}, "expect": "right"}

import torch
import triton
import triton.language as tl


@triton.jit
def magnitude_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    a = tl.load(x_ptr + 2 * i, mask=m, other=1.0)
    b = tl.load(x_ptr + 2 * i + 1, mask=m, other=1.0)
    tl.store(y_ptr + i, tl.sqrt(a * a + b * b), mask=m)


def magnitude(x):
    n = x.numel() // 2
    y = torch.empty(n, device=x.device, dtype=x.dtype)
    magnitude_kernel[(triton.cdiv(n, 4),)](x, y, n, BLOCK=4)
    return y


@triton.jit
def gated_kernel(x_ptr, y_ptr, stride, D, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    d = tl.arange(0, BLOCK)
    m = d < D
    a = tl.load(x_ptr + row * stride + 2 * d, mask=m, other=0.0)
    b = tl.load(x_ptr + row * stride + 2 * d + 1, mask=m, other=0.0)
    tl.store(y_ptr + row * D + d, a * tl.sigmoid(b), mask=m)


def gated(x):
    M, N = x.shape
    y = torch.empty(M, N // 2, device=x.device, dtype=x.dtype)
    gated_kernel[(M,)](x, y, x.stride(0), N // 2, BLOCK=triton.next_power_of_2(N // 2))
    return y


@triton.jit
def odd_kernel(x_ptr, y_ptr, n, total, BLOCK: tl.constexpr):
    """The last pair may be half of one."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x_ptr + 2 * i, mask=2 * i < total, other=0.0)
    b = tl.load(x_ptr + 2 * i + 1, mask=2 * i + 1 < total, other=0.0)
    tl.store(y_ptr + i, a * a + 3 * b, mask=i < n)


def odd(x):
    n = (x.numel() + 1) // 2
    y = torch.empty(n, device=x.device, dtype=x.dtype)
    odd_kernel[(triton.cdiv(n, 4),)](x, y, n, x.numel(), BLOCK=4)
    return y


@triton.jit
def backwards_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """The element before the pair's first."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    a = tl.load(x_ptr + 2 * i, mask=m, other=0.0)
    b = tl.load(x_ptr + 2 * i - 1, mask=m & (i > 0), other=0.0)
    tl.store(y_ptr + i, a * b + a, mask=m)


def backwards(x):
    n = x.numel() // 2
    y = torch.empty(n, device=x.device, dtype=x.dtype)
    backwards_kernel[(triton.cdiv(n, 4),)](x, y, n, BLOCK=4)
    return y


@triton.jit
def apart_kernel(x_ptr, y_ptr, n, gap, BLOCK: tl.constexpr):
    """Pairs whose second one lies as far as the caller says."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    a = tl.load(x_ptr + 2 * i, mask=m, other=0.0)
    b = tl.load(x_ptr + 2 * i + gap, mask=m, other=0.0)
    tl.store(y_ptr + i, a * b, mask=m)


def apart(x, gap):
    n = (x.numel() - gap) // 2
    y = torch.empty(n, device=x.device, dtype=x.dtype)
    apart_kernel[(triton.cdiv(n, 4),)](x, y, n, gap, BLOCK=4)
    return y
