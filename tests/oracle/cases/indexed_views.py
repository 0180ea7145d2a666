"""Indices from memory, and views: what lies outside has a gradient, and it must not be lost."""

# case: {"class": "indexed", "call": "m.gather(x, i)", "inputs": {"x": [5, 3], "i": {"shape": [4], "dtype": "int64", "values": [0, 2, 2, 4]}}}
# case: {"class": "indexed", "call": "m.gather(x[2:], i)", "inputs": {"x": [5, 3], "i": {"shape": [4], "dtype": "int64", "values": [0, 2, 2, 1]}}}
# case: {"class": "indexed", "call": "m.gather(x[2:], i)", "inputs": {"x": [5, 3], "i": {"shape": [4], "dtype": "int64", "values": [0, 2, -1, 1]}}, "expect": "loud"}
# case: {"class": "indexed", "call": "m.gather(x[:2], i)", "inputs": {"x": [5, 3], "i": {"shape": [4], "dtype": "int64", "values": [0, 2, 1, 1]}}, "expect": "loud"}
# case: {"class": "indexed", "call": "m.gather_tail(x, i)", "inputs": {"x": [5, 3], "i": {"shape": [3], "dtype": "int32", "values": [0, -2, 1]}}, "expect": "loud"}
# case: {"class": "indexed", "call": "m.scatter(x, i, 6)", "inputs": {"x": [3, 3], "i": {"shape": [3], "dtype": "int64", "values": [0, 5, 1]}}}
# case: {"class": "indexed", "call": "m.scatter_tail(x, i, 6)", "inputs": {"x": [3, 3], "i": {"shape": [3], "dtype": "int64", "values": [0, 3, 1]}}}
# case: {"class": "indexed", "call": "m.scatter_tail(x, i, 6)", "inputs": {"x": [3, 3], "i": {"shape": [3], "dtype": "int64", "values": [0, -1, 1]}}, "expect": "loud"}
# case: {"class": "indexed", "call": "m.scatter_add(x, i, 6)", "inputs": {"x": [4, 3], "i": {"shape": [4], "dtype": "int64", "values": [0, 2, 2, 1]}}}
# case: {"class": "indexed", "call": "m.scatter_add_tail(x, i, 6)", "inputs": {"x": [4, 3], "i": {"shape": [4], "dtype": "int64", "values": [0, -2, 3, 1]}}, "expect": "loud"}
# case: {"class": "indexed", "call": "m.twice(x[1:], i, j)", "inputs": {"x": [5, 3], "i": {"shape": [3], "dtype": "int64", "values": [0, 2, 1]}, "j": {"shape": [3], "dtype": "int64", "values": [0, -1, 3]}}, "expect": "loud"}
# case: {"class": "indexed", "call": "m.segments(x[2:], s)", "inputs": {"x": [9, 3], "s": {"shape": [4], "dtype": "int32", "values": [0, 2, 3, 7]}}}
# case: {"class": "indexed", "call": "m.segments(x[2:5], s)", "inputs": {"x": [9, 3], "s": {"shape": [4], "dtype": "int32", "values": [0, 2, 3, 7]}}, "expect": "loud"}
# case: {"class": "indexed", "call": "m.lengths(x[:, :3], s)", "inputs": {"x": [3, 7], "s": {"shape": [3], "dtype": "int32", "values": [3, 0, 2]}}}
# case: {"class": "indexed", "call": "m.lengths(x[:, :3], s)", "inputs": {"x": [3, 7], "s": {"shape": [3], "dtype": "int32", "values": [3, 0, 5]}}, "expect": "loud"}
# case: {"class": "indexed", "call": "m.in_place(y * 1.0, x, i)", "inputs": {"y": [5, 3], "x": [3, 3], "i": {"shape": [3], "dtype": "int64", "values": [0, 4, 2]}}}
# case: {"class": "indexed", "call": "m.in_place_tail(y, x, i)", "inputs": {"y": [5, 3], "x": [3, 3], "i": {"shape": [3], "dtype": "int64", "values": [0, 2, 1]}}}
# case: {"class": "indexed", "call": "m.in_place_tail(y, x, i)", "inputs": {"y": [5, 3], "x": [3, 3], "i": {"shape": [3], "dtype": "int64", "values": [0, -1, 1]}}, "expect": "loud"}
# case: {"class": "indexed", "call": "m.in_place_tail(y, x, i)", "inputs": {"y": [5, 3], "x": {"shape": [3, 3], "grad": false}, "i": {"shape": [3], "dtype": "int64", "values": [0, -1, 1]}}, "expect": "loud"}
# case: {"class": "indexed", "call": "m.add_tail(y, x, i)", "inputs": {"y": [5, 3], "x": [3, 3], "i": {"shape": [3], "dtype": "int64", "values": [0, -1, 1]}}, "expect": "loud"}
# case: {"class": "indexed", "call": "m.add_tail(y, x, i)", "inputs": {"y": [5, 3], "x": {"shape": [3, 3], "grad": false}, "i": {"shape": [3], "dtype": "int64", "values": [0, -1, 1]}}}
# case: {"class": "indexed", "call": "m.add_tail(y, x, i)", "inputs": {"y": [5, 3], "x": [3, 3], "i": {"shape": [3], "dtype": "int64", "values": [0, 2, 1]}}}

import torch
import triton
import triton.language as tl


@triton.jit
def gather_kernel(o, x, index, d, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    at = tl.load(index + row)
    a = tl.load(x + at * d + i, mask=i < d, other=0.0)
    tl.store(o + row * d + i, a * a, mask=i < d)


@triton.jit
def scatter_kernel(o, x, index, d, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    at = tl.load(index + row)
    a = tl.load(x + row * d + i, mask=i < d, other=0.0)
    tl.store(o + at * d + i, a * a, mask=i < d)


@triton.jit
def scatter_add_kernel(o, x, index, d, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    at = tl.load(index + row)
    a = tl.load(x + row * d + i, mask=i < d, other=0.0)
    tl.atomic_add(o + at * d + i, a * a, mask=i < d)


@triton.jit
def twice_kernel(o, x, first, second, d, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    at = tl.load(second + tl.load(first + row))
    a = tl.load(x + at * d + i, mask=i < d, other=0.0)
    tl.store(o + row * d + i, a * a, mask=i < d)


@triton.jit
def segments_kernel(o, x, starts, d, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in range(tl.load(starts + row), tl.load(starts + row + 1)):
        a = tl.load(x + k * d + i, mask=i < d, other=0.0)
        total += a * a
    tl.store(o + row * d + i, total, mask=i < d)


@triton.jit
def lengths_kernel(o, x, length, step, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + row * step + i, mask=i < tl.load(length + row), other=0.0)
    tl.store(o + row, tl.sum(a * a))


@triton.jit
def in_place_kernel(y, x, index, d, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    at = tl.load(index + row)
    a = tl.load(x + row * d + i, mask=i < d, other=0.0)
    b = tl.load(y + at * d + i, mask=i < d, other=0.0)
    tl.store(y + at * d + i, a * b, mask=i < d)


def gather(x, index):
    n, d = index.shape[0], x.shape[1]
    o = torch.empty(n, d, dtype=x.dtype, device=x.device)
    gather_kernel[(n,)](o, x, index, d, BLOCK=4)
    return o


def gather_tail(x, index):
    n, d = index.shape[0], x.shape[1]
    o = torch.empty(n, d, dtype=x.dtype, device=x.device)
    gather_kernel[(n,)](o, x[2:], index, d, BLOCK=4)
    return o


def scatter(x, index, rows):
    n, d = x.shape
    o = torch.zeros(rows, d, dtype=x.dtype, device=x.device)
    scatter_kernel[(n,)](o, x, index, d, BLOCK=4)
    return o


def scatter_tail(x, index, rows):
    n, d = x.shape
    o = torch.zeros(rows, d, dtype=x.dtype, device=x.device)
    scatter_kernel[(n,)](o[2:], x, index, d, BLOCK=4)
    return o


def scatter_add(x, index, rows):
    n, d = x.shape
    o = torch.zeros(rows, d, dtype=x.dtype, device=x.device)
    scatter_add_kernel[(n,)](o, x, index, d, BLOCK=4)
    return o


def scatter_add_tail(x, index, rows):
    n, d = x.shape
    o = torch.zeros(rows, d, dtype=x.dtype, device=x.device)
    scatter_add_kernel[(n,)](o[2:], x, index, d, BLOCK=4)
    return o


def twice(x, first, second):
    n, d = first.shape[0], x.shape[1]
    o = torch.empty(n, d, dtype=x.dtype, device=x.device)
    twice_kernel[(n,)](o, x, first, second, d, BLOCK=4)
    return o


def segments(x, starts):
    n, d = starts.shape[0] - 1, x.shape[1]
    o = torch.empty(n, d, dtype=x.dtype, device=x.device)
    segments_kernel[(n,)](o, x, starts, d, BLOCK=4)
    return o


def lengths(x, length):
    o = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    lengths_kernel[(x.shape[0],)](o, x, length, x.stride(0), BLOCK=8)
    return o


def in_place(y, x, index):
    in_place_kernel[(x.shape[0],)](y, x, index, x.shape[1], BLOCK=4)
    return y


def in_place_tail(y, x, index):
    y = y * 1.0
    in_place_kernel[(x.shape[0],)](y[1:4], x, index, x.shape[1], BLOCK=4)
    return y


@triton.jit
def add_kernel(y, x, index, d, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    at = tl.load(index + row)
    a = tl.load(x + row * d + i, mask=i < d, other=0.0)
    b = tl.load(y + at * d + i, mask=i < d, other=0.0)
    tl.store(y + at * d + i, a * a + b, mask=i < d)


def add_tail(y, x, index):
    y = y * 1.0
    add_kernel[(x.shape[0],)](y[1:4], x, index, x.shape[1], BLOCK=4)
    return y
