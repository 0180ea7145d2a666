"""A kernel goes through rows in whole blocks, and the launcher passes any length of them: blocks reach into the next row."""

# case: {"class": "beyond", "call": "m.total(x)", "inputs": {"x": [3, 8]}}
# case: {"class": "beyond", "call": "m.total(x)", "inputs": {"x": [3, 16]}}
# case: {"class": "beyond", "call": "m.total(x)", "inputs": {"x": [3, 13]}}
# case: {"class": "beyond", "call": "m.total(x)", "inputs": {"x": [3, 5]}}
# case: {"class": "beyond", "call": "m.scaled(x)", "inputs": {"x": [3, 8]}, "expect": "right"}
# case: {"class": "beyond", "call": "m.scaled(x)", "inputs": {"x": [3, 5]}}

import torch
import triton
import triton.language as tl


@triton.jit
def row_sums(o, x, n, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    acc = tl.zeros((BLOCK,), dtype=o.dtype.element_ty)
    for start in range(0, n, BLOCK):
        a = tl.load(x + r * n + start + tl.arange(0, BLOCK))
        acc += a * a
    tl.store(o + r, tl.sum(acc, axis=0))


def total(x):
    rows, n = x.shape
    room = torch.cat([x.reshape(-1), torch.zeros(16, dtype=x.dtype)])
    o = torch.empty(rows, dtype=x.dtype)
    row_sums[(rows,)](o, room, n, BLOCK=8)
    return o


@triton.jit
def scaled_rows(o, x, n, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + r * n + i)
    tl.store(o + r * BLOCK + i, a * a * a)


def scaled(x):
    rows, n = x.shape
    room = torch.cat([x.reshape(-1), torch.zeros(16, dtype=x.dtype)])
    o = torch.empty(rows, 8, dtype=x.dtype)
    scaled_rows[(rows,)](o, room, n, BLOCK=8)
    return o
