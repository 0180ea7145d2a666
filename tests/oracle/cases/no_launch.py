"""A kernel without a launch in its file: its Function is called by hand, with new tensors, contents, views."""

# case: {"class": "aliases", "call": "(lambda y: (m.PlainFunction.apply((2,), x, y, 8, 8) if hasattr(m, \"PlainFunction\") else (m.plain[(2,)](x, y, 8, 8), y)[1]))(torch.zeros(16, dtype=x.dtype))", "inputs": {"x": [20]}}
# case: {"call": "(lambda y: (m.PlainFunction.apply((2,), x, y, 3, 8) if hasattr(m, \"PlainFunction\") else (m.plain[(2,)](x, y, 3, 8), y)[1]))(torch.zeros(16, dtype=x.dtype))", "inputs": {"x": [20]}}
# case: {"call": "(lambda y: (m.PlainFunction.apply((2,), x, y, 8, 8) if hasattr(m, \"PlainFunction\") else (m.plain[(2,)](x, y, 8, 8), y)[1]))(w * 1)", "inputs": {"x": [20], "w": [20]}}
# case: {"call": "(lambda y: (m.PlainFunction.apply((2,), x, y, 8, 8) if hasattr(m, \"PlainFunction\") else (m.plain[(2,)](x, y, 8, 8), y)[1]))(torch.zeros(2, 16, dtype=x.dtype)[0])", "inputs": {"x": [20]}}
# case: {"call": "(lambda buf: ((m.PlainFunction.apply((2,), x, buf[0], 8, 8) if hasattr(m, \"PlainFunction\") else m.plain[(2,)](x, buf[0], 8, 8)), buf)[1])(torch.zeros(2, 16, dtype=x.dtype))", "inputs": {"x": [20]}}

import torch
import triton
import triton.language as tl


@triton.jit
def plain(x, y, hop, N: tl.constexpr):
    f = tl.program_id(0)
    o = tl.arange(0, N)
    a = tl.load(x + f * hop + o)
    tl.store(y + f * N + o, a * a)
