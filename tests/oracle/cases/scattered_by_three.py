"""Three indices from memory tell the places of a scatter apart."""
# case: {"class": "sums", "call": "m.scatter(x, i, j, k, 3)", "inputs": {"x": [4], "i": {"shape": [4], "dtype": "int64", "values": [0, 0, 2, 2]}, "j": {"shape": [4], "dtype": "int64", "values": [0, 1, 1, 1]}, "k": {"shape": [4], "dtype": "int64", "values": [3, 3, 3, 4]}}, "expect": "right"}
# case: {"call": "m.scatter(x, i, j, k, 3)", "inputs": {"x": [4], "i": {"shape": [4], "dtype": "int64", "values": [0, 0, 2, 2]}, "j": {"shape": [4], "dtype": "int64", "values": [0, 1, 1, 1]}, "k": {"shape": [4], "dtype": "int64", "values": [3, 3, 4, 4]}}, "expect": "loud"}
# case: {"call": "m.scatter_at(x, p, 3)", "inputs": {"x": [3], "p": {"shape": [3, 3], "dtype": "int64", "values": [0,1,2, 0,1,3, 2,1,2]}}, "expect": "right"}
# case: {"call": "m.scatter_at(x, p, 3)", "inputs": {"x": [3], "p": {"shape": [3, 3], "dtype": "int64", "values": [0,1,2, 0,1,3, 0,1,2]}}, "expect": "loud"}
# case: {"call": "m.scatter_by_last(x, p)", "inputs": {"x": [3], "p": {"shape": [3, 3], "dtype": "int64", "values": [0,1,2, 0,1,3, 2,1,4]}}, "expect": "right"}
# case: {"call": "m.scatter_by_last(x, p)", "inputs": {"x": [3], "p": {"shape": [3, 3], "dtype": "int64", "values": [0,1,2, 0,3,3, 2,1,2]}}, "expect": "loud"}

import torch
import triton
import triton.language as tl


@triton.jit
def scatter3(o, x, i0, i1, i2, A, B, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    a, b, c = tl.load(i0 + i, mask=m, other=0), tl.load(i1 + i, mask=m, other=0), tl.load(i2 + i, mask=m, other=0)
    v = tl.load(x + i, mask=m, other=0.0)
    tl.store(o + (a * A + b) * B + c, v * v, mask=m)


def scatter(x, i0, i1, i2, shape0: int):
    o = torch.zeros(shape0, 4, 5, dtype=x.dtype, device=x.device)
    scatter3[(triton.cdiv(x.numel(), 16),)](o, x, i0, i1, i2, o.shape[1], o.shape[2], x.numel(), BLOCK=16)
    return o


@triton.jit
def scatter_points(o, x, points, A, B, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    a = tl.load(points + 3 * i, mask=m, other=0)
    b = tl.load(points + 3 * i + 1, mask=m, other=0)
    c = tl.load(points + 3 * i + 2, mask=m, other=0)
    v = tl.load(x + i, mask=m, other=0.0)
    tl.store(o + a * A * B + b * B + c, v * v, mask=m)


def scatter_at(x, points, shape0: int):
    o = torch.zeros(shape0, 4, 5, dtype=x.dtype, device=x.device)
    scatter_points[(triton.cdiv(x.numel(), 16),)](o, x, points, o.shape[1], o.shape[2], x.numel(), BLOCK=16)
    return o


@triton.jit
def scatter_column(o, x, points, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    c = tl.load(points + 3 * i + 2, mask=m, other=0)
    tl.store(o + c, tl.load(x + i, mask=m, other=0.0) * 2.0, mask=m)


def scatter_by_last(x, points):
    o = torch.zeros(9, dtype=x.dtype, device=x.device)
    scatter_column[(triton.cdiv(x.numel(), 16),)](o, x, points, x.numel(), BLOCK=16)
    return o
