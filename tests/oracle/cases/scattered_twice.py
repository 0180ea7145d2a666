"""Stores at indices from memory: an error where two of them are one, and right gradients where none are."""

# case: {"class": "sums", "expect": "right", "call": "m.rows(x, i)", "inputs": {"x": [4, 4], "i": {"shape": [4], "dtype": "int64", "values": [3, 0, 5, 1]}}}
# case: {"expect": "loud", "call": "m.rows(x, i)", "inputs": {"x": [4, 4], "i": {"shape": [4], "dtype": "int64", "values": [3, 0, 3, 1]}}}
# case: {"expect": "right", "call": "m.lanes(x, i)", "inputs": {"x": [5], "i": {"shape": [5], "dtype": "int32", "values": [3, 0, 6, 1, 2]}}}
# case: {"expect": "loud", "call": "m.lanes(x, i)", "inputs": {"x": [5], "i": {"shape": [5], "dtype": "int32", "values": [3, 0, 6, 1, 6]}}}
# case: {"expect": "right", "call": "m.slots(x, i)", "inputs": {"x": [4, 2, 4], "i": {"shape": [4], "dtype": "int64", "values": [-1, 0, 5, -1]}}}
# case: {"expect": "loud", "call": "m.slots(x, i)", "inputs": {"x": [4, 2, 4], "i": {"shape": [4], "dtype": "int64", "values": [5, 0, 5, -1]}}}
# case: {"expect": "right", "call": "m.even(x, i)", "inputs": {"x": [4, 4], "i": {"shape": [4], "dtype": "int64", "values": [3, 0, 5, 0]}}}
# case: {"expect": "right", "call": "m.apart(x, i)", "inputs": {"x": [4, 4], "i": {"shape": [4], "dtype": "int64", "values": [1, 1, 0, 1]}}}
# case: {"expect": "right", "call": "m.added(x, i)", "inputs": {"x": [4, 4], "i": {"shape": [4], "dtype": "int64", "values": [1, 1, 0, 1]}}}

import torch
import triton
import triton.language as tl


@triton.jit
def rows_kernel(x_ptr, i_ptr, y_ptr, D: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, D)
    at = tl.load(i_ptr + r)
    v = tl.load(x_ptr + r * D + c)
    tl.store(y_ptr + at * D + c, v * v)


def rows(x, i):
    y = x.new_zeros(7, x.shape[1])
    rows_kernel[(i.numel(),)](x, i, y, D=4)
    return y


@triton.jit
def lanes_kernel(x_ptr, i_ptr, y_ptr, n, B: tl.constexpr):
    j = tl.program_id(0) * B + tl.arange(0, B)
    at = tl.load(i_ptr + j, mask=j < n, other=0)
    v = tl.load(x_ptr + j, mask=j < n)
    tl.store(y_ptr + at, v * v, mask=j < n)


def lanes(x, i):
    y = x.new_zeros(7)
    lanes_kernel[(triton.cdiv(i.numel(), 4),)](x, i, y, i.numel(), B=4)
    return y


@triton.jit
def slots_kernel(x_ptr, i_ptr, y_ptr, H, PAGE: tl.constexpr, D: tl.constexpr):
    """Pages of a cache; slots below 0 are of padding."""
    t = tl.program_id(0)
    h = tl.program_id(1)
    slot = tl.load(i_ptr + t)
    if slot < 0:
        return
    c = tl.arange(0, D)
    v = tl.load(x_ptr + (t * H + h) * D + c)
    tl.store(y_ptr + ((slot // PAGE * H + h) * PAGE + slot % PAGE) * D + c, v * v)


def slots(x, i):
    y = x.new_zeros(4, x.shape[1], 2, x.shape[2])
    slots_kernel[(i.numel(), x.shape[1])](x, i, y, x.shape[1], PAGE=2, D=4)
    return y


@triton.jit
def even_kernel(x_ptr, i_ptr, y_ptr, D: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, D)
    at = tl.load(i_ptr + r)
    v = tl.load(x_ptr + r * D + c)
    tl.store(y_ptr + at * D + c, v * v, mask=(r % 2 == 0) & (c < D))


def even(x, i):
    y = x.new_zeros(7, x.shape[1])
    even_kernel[(i.numel(),)](x, i, y, D=4)
    return y


@triton.jit
def apart_kernel(x_ptr, i_ptr, y_ptr, D: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, D)
    at = tl.load(i_ptr + r)
    v = tl.load(x_ptr + r * D + c)
    tl.store(y_ptr + (r * 2 + at) * D + c, v * v)


def apart(x, i):
    y = x.new_zeros(8, x.shape[1])
    apart_kernel[(i.numel(),)](x, i, y, D=4)
    return y


@triton.jit
def added_kernel(x_ptr, i_ptr, y_ptr, D: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, D)
    at = tl.load(i_ptr + r)
    v = tl.load(x_ptr + r * D + c)
    tl.atomic_add(y_ptr + at * D + c, v * v)


def added(x, i):
    y = x.new_zeros(7, x.shape[1])
    added_kernel[(i.numel(),)](x, i, y, D=4)
    return y
