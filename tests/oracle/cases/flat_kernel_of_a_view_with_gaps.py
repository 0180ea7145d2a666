"""A kernel that takes no strides gets a view with gaps: it reads what lies between the view's elements."""

# case: {"class": "beyond", "call": "m.cubes(x[:, ::2])", "inputs": {"x": [3, 8]}}
# case: {"class": "beyond", "call": "m.cubes(x[:, :5])", "inputs": {"x": [3, 8]}}
# case: {"class": "beyond", "call": "m.cubes(x[:, 2])", "inputs": {"x": [5, 4]}}
# case: {"class": "beyond", "call": "m.first(x[::3], 7)", "inputs": {"x": [40]}}
# case: {"class": "beyond", "call": "m.rows(x[:, 1:6])", "inputs": {"x": [4, 8]}}
# case: {"class": "views", "call": "m.cubes(x.t())", "inputs": {"x": [5, 8]}}
# case: {"class": "views", "call": "m.cubes(x[1:3])", "inputs": {"x": [4, 8]}}
# case: {"class": "views", "call": "m.cubes(x[:, 3:4, :])", "inputs": {"x": [1, 5, 8]}}
# case: {"class": "views", "call": "m.first(x[:, :6], 5)", "inputs": {"x": [3, 8]}}
# case: {"class": "views", "call": "m.first(x[::2, ::3], 1)", "inputs": {"x": [3, 8]}}

import torch
import triton
import triton.language as tl


@triton.jit
def cube(o, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(o + i, a * a * a, mask=i < n)


def cubes(x):
    o = torch.empty(x.shape, dtype=x.dtype)
    if not x.is_contiguous():
        o = torch.empty_like(x)
    cube[(triton.cdiv(x.numel(), 8),)](o, x, x.numel(), BLOCK=8)
    return o


def first(x, n):
    o = torch.zeros(n, dtype=x.dtype)
    cube[(triton.cdiv(n, 4),)](o, x, n, BLOCK=4)
    return o


@triton.jit
def row(o, x, n, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + r * n + i, mask=i < n, other=0.0)
    tl.store(o + r * n + i, a * tl.sum(a, axis=0), mask=i < n)


def rows(x):
    o = torch.empty(x.shape, dtype=x.dtype)
    row[(x.shape[0],)](o, x, x.shape[1], BLOCK=8)
    return o
