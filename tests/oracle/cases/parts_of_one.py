"""Parts of one tensor by `chunk`, `split` and `unbind`, each written by a launch of its own."""

# case: {"class": "views", "expect": "right", "call": "m.chunks(x, w)", "inputs": {"x": [8], "w": [4]}}
# case: {"expect": "right", "call": "m.chunks_given_back(x, w)", "inputs": {"x": [8], "w": [4]}}
# case: {"expect": "right", "call": "m.three(x, w)", "inputs": {"x": [3, 5], "w": [5]}}
# case: {"expect": "right", "call": "m.split_then_read(x, w)", "inputs": {"x": [9], "w": [4]}}
# case: {"expect": "right", "call": "m.both_in_one(x, w)", "inputs": {"x": [6], "w": [6]}}
# case: {"expect": "right", "call": "m.by_index(x, w)", "inputs": {"x": [8], "w": [4]}}
# case: {"expect": "right", "call": "m.of_inputs(x, w)", "inputs": {"x": [8], "w": [4]}}
# case: {"expect": "right", "call": "m.in_a_loop(x, w)", "inputs": {"x": [3, 5], "w": [5]}}

import torch
import triton
import triton.language as tl


@triton.jit
def scaled(x, w, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(y + i, tl.load(x + i, mask=m) * tl.sin(tl.load(w + i, mask=m)), mask=m)


@triton.jit
def two(x, w, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    a = tl.load(x + i, mask=m)
    b = tl.load(w + i, mask=m)
    tl.store(y + i, a * b, mask=m)
    tl.store(z + i, tl.exp(a) + b, mask=m)


def chunks(x, w):
    a, b = x.chunk(2)
    y = torch.empty_like(x)
    c, d = y.chunk(2)
    scaled[(1,)](a, w, c, 4, BLOCK=4)
    scaled[(1,)](w, b, d, 4, BLOCK=4)
    return y


def chunks_given_back(x, w):
    a, b = x.chunk(2)
    c, d = torch.empty_like(x).chunk(2)
    scaled[(1,)](a, w, c, 4, BLOCK=4)
    scaled[(1,)](w, b, d, 4, BLOCK=4)
    return c, d


def three(x, w):
    y = torch.empty_like(x)
    a, b, c = y.unbind(0)
    scaled[(2,)](x[0], w, a, 5, BLOCK=4)
    scaled[(2,)](x[1], w, b, 5, BLOCK=4)
    scaled[(2,)](w, x[2], c, 5, BLOCK=4)
    return y * y


def split_then_read(x, w):
    y = torch.empty_like(x)
    a, b = y.split([4, 5])
    scaled[(1,)](x[:4], w, a, 4, BLOCK=4)
    scaled[(2,)](x[4:], x[4:], b, 5, BLOCK=4)
    return a.sum() + b * y[0]


def both_in_one(x, w):
    y, z = torch.empty((2 * x.numel(),), dtype=x.dtype, device=x.device).chunk(2)
    two[(2,)](x, w, y, z, x.numel(), BLOCK=4)
    return y * z


def in_a_loop(x, w):
    y = torch.empty_like(x)
    for source, part in zip(x, y.unbind(0)):
        scaled[(2,)](source, w, part, 5, BLOCK=4)
    return y


def by_index(x, w):
    parts = torch.empty_like(x).chunk(2)
    scaled[(1,)](x[:4], w, parts[0], 4, BLOCK=4)
    scaled[(1,)](w, x[4:], parts[1], 4, BLOCK=4)
    return torch.cat(parts) * x


def of_inputs(x, w):
    """Parts that are read have their gradients as they are."""
    a, b = x.chunk(2)
    y = torch.zeros_like(w)
    scaled[(1,)](a, b, y[:4], 4, BLOCK=4)
    return y * a + w * b
