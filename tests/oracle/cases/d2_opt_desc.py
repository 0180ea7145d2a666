"""A descriptor that may be None."""

# case: {"class": "dummies", "call": "m.maybe_descriptor(x)", "inputs": {"x": [70]}}
# case: {"call": "m.with_descriptor(x)", "inputs": {"x": [70]}}

import torch, triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def k(x, desc, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    if desc is not None:
        a = desc.load([tl.program_id(0) * B])
    else:
        a = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, tl.exp(a), mask=i < n)

def maybe_descriptor(x):
    y = torch.empty_like(x)
    k[(triton.cdiv(x.numel(), 64),)](x, None, y, x.numel(), B=64)
    return y


def with_descriptor(x):
    y = torch.empty_like(x)
    described = TensorDescriptor.from_tensor(x, [64])
    k[(triton.cdiv(x.numel(), 64),)](x, described, y, x.numel(), B=64)
    return y
