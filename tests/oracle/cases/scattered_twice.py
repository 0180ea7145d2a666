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
# case: {"expect": "right", "call": "m.places(x, i, j)", "inputs": {"x": [6], "i": {"shape": [6], "dtype": "int64", "values": [0, 1, 1, 4, 0, 1]}, "j": {"shape": [6], "dtype": "int64", "values": [0, 1, 2, 3, 1, 3]}}}
# case: {"expect": "loud", "call": "m.places(x, i, j)", "inputs": {"x": [6], "i": {"shape": [6], "dtype": "int64", "values": [0, 1, 1, 4, 0, 1]}, "j": {"shape": [6], "dtype": "int64", "values": [0, 1, 2, 3, 1, 2]}}}
# case: {"expect": "right", "call": "m.crossed(x, i, j)", "inputs": {"x": [3, 3], "i": {"shape": [3], "dtype": "int64", "values": [4, 0, 2]}, "j": {"shape": [3], "dtype": "int64", "values": [3, 1, 0]}}}
# case: {"expect": "loud", "call": "m.crossed(x, i, j)", "inputs": {"x": [3, 3], "i": {"shape": [3], "dtype": "int64", "values": [4, 0, 2]}, "j": {"shape": [3], "dtype": "int64", "values": [3, 1, 3]}}}
# case: {"expect": "loud", "call": "m.crossed(x, i, j)", "inputs": {"x": [3, 3], "i": {"shape": [3], "dtype": "int64", "values": [4, 2, 2]}, "j": {"shape": [3], "dtype": "int64", "values": [3, 1, 0]}}}

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


@triton.jit
def places_kernel(x_ptr, i_ptr, j_ptr, y_ptr, n, D: tl.constexpr, B: tl.constexpr):
    t = tl.program_id(0) * B + tl.arange(0, B)
    i = tl.load(i_ptr + t, mask=t < n, other=0)
    j = tl.load(j_ptr + t, mask=t < n, other=0)
    v = tl.load(x_ptr + t, mask=t < n)
    tl.store(y_ptr + i * D + j, v * v, mask=t < n)


def places(x, i, j):
    y = x.new_zeros(5, 4)
    places_kernel[(triton.cdiv(i.numel(), 4),)](x, i, j, y, i.numel(), D=4, B=4)
    return y


@triton.jit
def crossed_kernel(x_ptr, i_ptr, j_ptr, y_ptr, n, D: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    i = tl.load(i_ptr + r)
    j = tl.load(j_ptr + c, mask=c < n, other=0)
    v = tl.load(x_ptr + r * n + c, mask=c < n)
    tl.store(y_ptr + i * D + j, v * v, mask=c < n)


def crossed(x, i, j):
    y = x.new_zeros(5, 4)
    crossed_kernel[(i.numel(),)](x, i, j, y, j.numel(), D=4, B=4)
    return y
