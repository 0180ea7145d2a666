"""Rows of new memory that Python goes through: autograd takes them for views by `unbind`, which nobody may write to."""

# case: {"class": "views", "call": "m.run(x)", "inputs": {"x": [3, 4]}, "expect": "right"}
# case: {"call": "m.new(x)", "inputs": {"x": [3, 4]}, "expect": "right"}
# case: {"call": "m.loop(x)", "inputs": {"x": [3, 4]}, "expect": "right"}
# case: {"call": "m.listed(x)", "inputs": {"x": [3, 4]}, "expect": "right"}
# case: {"call": "m.stats(x)", "inputs": {"x": [3, 4]}, "expect": "right"}

import torch
import triton
import triton.language as tl


@triton.jit
def two(x_ptr, a_ptr, b_ptr, sa, sb, n, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    x = tl.load(x_ptr + r * n + c, mask=c < n)
    tl.store(a_ptr + r * sa + c, tl.exp(x), mask=c < n)
    tl.store(b_ptr + r * sb + c, x * x, mask=c < n)


def run(x):
    buf = x.new_empty(2, *x.shape)
    a, b = buf
    two[(x.shape[0],)](x, a, b, a.stride(0), b.stride(0), x.shape[1], B=4)
    return buf.sum(0), a * b


def new(x):
    a, b = torch.empty((2, *x.shape), dtype=x.dtype)
    two[(x.shape[0],)](x, a, b, a.stride(0), b.stride(0), x.shape[1], B=4)
    return a * b, a


def loop(x):
    out = torch.empty(2, *x.shape, dtype=x.dtype)
    rest = []
    for o in out:
        b = torch.empty_like(x)
        two[(x.shape[0],)](x, o, b, o.stride(0), b.stride(0), x.shape[1], B=4)
        rest.append(b)
    return out, rest


def listed(x):
    out = torch.empty(2, *x.shape, dtype=x.dtype)
    a, b = [o for o in out]
    two[(x.shape[0],)](x, a, b, a.stride(0), b.stride(0), x.shape[1], B=4)
    return a * b


def stats(x):
    buf = torch.empty(2, *x.shape, dtype=x.dtype)
    parts = list(buf)
    two[(x.shape[0],)](
        x, parts[0], parts[1], parts[0].stride(0), parts[1].stride(0), x.shape[1], B=4
    )
    return parts[0] * parts[1]
