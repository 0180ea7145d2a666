"""Loops that begin at their end, or behind it: numbers and memory say so."""

# case: {"class": "loops", "call": "m.skip(x, w, 2)", "inputs": {"x": [3, 5], "w": [3]}}
# case: {"call": "m.skip(x, w, 5)", "inputs": {"x": [3, 5], "w": [3]}}
# case: {"call": "m.skip(x, w, 7)", "inputs": {"x": [3, 5], "w": [3]}}
# case: {"call": "m.whil(x, w, 2)", "inputs": {"x": [3, 5], "w": [3]}}
# case: {"call": "m.whil(x, w, 5)", "inputs": {"x": [3, 5], "w": [3]}}
# case: {"call": "m.whil(x, w, 7)", "inputs": {"x": [3, 5], "w": [3]}}
# case: {"call": "m.startend(x, s)", "inputs": {"x": [20], "s": {"shape": [4], "dtype": "int64", "grad": false, "values": [0, 9, 9, 20]}}}
# case: {"call": "m.startend(x, s)", "inputs": {"x": [20], "s": {"shape": [4], "dtype": "int64", "grad": false, "values": [3, 3, 3, 3]}}}
# case: {"call": "m.first(x, w, 0)", "inputs": {"x": [3, 5], "w": [3]}}
# case: {"call": "m.first(x, w, 5)", "inputs": {"x": [3, 5], "w": [3]}}
# case: {"call": "m.first(x, w, 9)", "inputs": {"x": [3, 5], "w": [3]}}
# case: {"call": "m.nest(x, l, w)", "inputs": {"x": [3, 2, 9], "w": [3], "l": {"shape": [3], "dtype": "int64", "grad": false, "values": [0, 9, 4]}}}
# case: {"call": "m.nest(x, l, w)", "inputs": {"x": [3, 0, 9], "w": [3], "l": {"shape": [3], "dtype": "int64", "grad": false, "values": [0, 9, 4]}}}
# case: {"call": "m.nest(x, l, w)", "inputs": {"x": [3, 2, 9], "w": [3], "l": {"shape": [3], "dtype": "int64", "grad": false, "values": [0, 0, 0]}}}

import torch
import triton
import triton.language as tl


@triton.jit
def skip_kernel(x_ptr, w_ptr, y_ptr, n, skip, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.load(w_ptr + row)
    for i in range(skip, n):
        x = tl.load(x_ptr + row * stride + i)
        acc = acc * x
    tl.store(y_ptr + row, acc)


def skip(x, w, skip):
    y = torch.empty(x.shape[0], device=x.device, dtype=x.dtype)
    skip_kernel[(x.shape[0],)](x, w, y, x.shape[1], skip, x.stride(0), BLOCK=8)
    return y


@triton.jit
def whil_kernel(x_ptr, w_ptr, y_ptr, n, skip, stride):
    row = tl.program_id(0)
    acc = tl.load(w_ptr + row)
    i = skip
    while i < n:
        x = tl.load(x_ptr + row * stride + i)
        acc = acc * x + x
        i += 1
    tl.store(y_ptr + row, acc)


def whil(x, w, skip):
    y = torch.empty(x.shape[0], device=x.device, dtype=x.dtype)
    whil_kernel[(x.shape[0],)](x, w, y, x.shape[1], skip, x.stride(0))
    return y


@triton.jit
def startend_kernel(x_ptr, start_ptr, y_ptr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    start = tl.load(start_ptr + row)
    end = tl.load(start_ptr + row + 1)
    acc = tl.zeros((BLOCK,), tl.float32)
    m = 1.0
    for i in range(start, end, BLOCK):
        cols = i + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < end, other=0.0)
        acc += tl.exp(x) * m
        m = m * 0.5 + tl.sum(x)
    tl.store(y_ptr + row, tl.sum(acc) + m)


def startend(x, starts):
    n = starts.shape[0] - 1
    y = torch.empty(n, device=x.device, dtype=x.dtype)
    startend_kernel[(n,)](x, starts, y, BLOCK=8)
    return y


@triton.jit
def first_kernel(x_ptr, w_ptr, y_ptr, z_ptr, n, start, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    w = tl.load(w_ptr + row)
    m = w
    last = w * 2.0
    acc = 0.0
    for i in range(start, n, BLOCK):
        cols = i + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + cols, mask=cols < n, other=-1.0e9)
        new = tl.maximum(m, tl.max(x))
        acc = acc * tl.exp(m - new) + tl.sum(tl.exp(x - new))
        m = new
        last = tl.sum(tl.where(cols < n, x, 0.0)) * w
    tl.store(y_ptr + row, m + acc * w)
    tl.store(z_ptr + row, last)


def first(x, w, start):
    y = torch.empty_like(w)
    z = torch.empty_like(w)
    first_kernel[(x.shape[0],)](x, w, y, z, x.shape[1], start, x.stride(0), BLOCK=4)
    return y, z


@triton.jit
def nest_kernel(x_ptr, len_ptr, w_ptr, y_ptr, heads, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    length = tl.load(len_ptr + row)
    w = tl.load(w_ptr + row)
    state = w
    for h in range(heads):
        part = state * 0.5
        for i in range(0, length, BLOCK):
            cols = i + tl.arange(0, BLOCK)
            x = tl.load(x_ptr + (row * heads + h) * n + cols, mask=cols < length, other=0.0)
            part = tl.sin(part + tl.sum(x))
        state = tl.cos(state * part + 1.0)
    tl.store(y_ptr + row, state)


def nest(x, lens, w):
    rows, heads, n = x.shape
    y = torch.empty_like(w)
    nest_kernel[(rows,)](x, lens, w, y, heads, n, BLOCK=4)
    return y
