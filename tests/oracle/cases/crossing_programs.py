"""In place, programs read what others store: in which order is nobody's choice, so no gradient is proved."""

# case: {"class": "communication", "call": "m.transposed(x)", "inputs": {"x": [4, 4]}, "expect": "refused"}
# case: {"call": "m.permuted(x, torch.arange(15, -1, -1))", "inputs": {"x": [16]}, "expect": "refused"}
# case: {"call": "m.turned(x)", "inputs": {"x": [16]}, "expect": "refused"}
# case: {"call": "m.permuted_apart(x, torch.arange(15, -1, -1))", "inputs": {"x": [16]}, "expect": "right"}

import torch
import triton
import triton.language as tl


@triton.jit
def transpose_kernel(x_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + c * N + row)
    tl.store(x_ptr + row * N + c, x * x)


def transposed(x):
    x = x.clone()
    transpose_kernel[(4,)](x, 4, BLOCK=4)
    return x


@triton.jit
def permute_kernel(x_ptr, places_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = tl.load(places_ptr + i, mask=i < n, other=0)
    x = tl.load(x_ptr + place, mask=i < n, other=0.0)
    tl.store(x_ptr + i, x * x, mask=i < n)


def permuted(x, places):
    x = x.clone()
    permute_kernel[(triton.cdiv(x.numel(), 4),)](x, places, x.numel(), BLOCK=4)
    return x


@triton.jit
def turn_kernel(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + n - 1 - i, mask=i < n, other=0.0)
    tl.store(x_ptr + i, x * x, mask=i < n)


def turned(x):
    x = x.clone()
    turn_kernel[(triton.cdiv(x.numel(), 4),)](x, x.numel(), BLOCK=4)
    return x


@triton.jit
def apart_kernel(x_ptr, places_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = tl.load(places_ptr + i, mask=i < n, other=0)
    x = tl.load(x_ptr + place, mask=i < n, other=0.0)
    tl.store(y_ptr + i, x * x, mask=i < n)


def permuted_apart(x, places):
    y = torch.empty_like(x)
    apart_kernel[(triton.cdiv(x.numel(), 4),)](x, places, y, x.numel(), BLOCK=4)
    return y
