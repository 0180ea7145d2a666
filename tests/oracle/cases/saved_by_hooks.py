"""Hooks that pack what a Function saves, and lay it out anew."""

# case: {"class": "strangers", "call": "m.packed(x.t())", "inputs": {"x": [4, 6]}, "expect": "right"}
# case: {"call": "m.packed(x[:, ::2])", "inputs": {"x": [4, 6]}, "expect": "right"}
# case: {"call": "m.packed(x[:, 1:4])", "inputs": {"x": [4, 6]}, "expect": "right"}
# case: {"call": "m.packed(x.expand(4, 6))", "inputs": {"x": [1, 6]}, "expect": "right"}
# case: {"call": "m.picked(x[2:], i)", "inputs": {"x": [5, 3], "i": {"shape": [3], "dtype": "int64", "values": [0, 2, 1]}}, "expect": "right"}
# case: {"call": "m.picked(x[2:], i)", "inputs": {"x": [5, 3], "i": {"shape": [3], "dtype": "int64", "values": [0, -1, 1]}}, "expect": "loud"}

import torch
import triton
import triton.language as tl


@triton.jit
def square_kernel(o, x, m, n, sm, sn, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    a = tl.load(x + r * sm + c * sn, mask=c < n, other=0.0)
    tl.store(o + r * n + c, a * a * a, mask=c < n)


@triton.jit
def pick_kernel(o, x, index, d, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + tl.load(index + row) * d + i, mask=i < d, other=0.0)
    tl.store(o + row * d + i, a * a, mask=i < d)


def square(x):
    m, n = x.shape
    o = torch.empty(m, n, dtype=x.dtype, device=x.device)
    square_kernel[(m,)](o, x, m, n, x.stride(0), x.stride(1), BLOCK=8)
    return o


def pick(x, index):
    o = torch.empty(index.shape[0], x.shape[1], dtype=x.dtype, device=x.device)
    pick_kernel[(index.shape[0],)](o, x, index, x.shape[1], BLOCK=4)
    return o


def pack(tensor):
    return tensor.detach().clone(memory_format=torch.contiguous_format)


def packed(x):
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        return square(x)


def picked(x, index):
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        return pick(x, index)
