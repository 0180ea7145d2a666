"""What a caller passes instead of a default: memory that the launcher else allocates for itself holds something then."""

# case: {"class": "dummies", "call": "m.by_default(x)", "inputs": {"x": [12]}, "expect": "right"}
# case: {"call": "m.by_default(x, out=y * 1)", "inputs": {"x": [12], "y": [12]}, "expect": "right"}
# case: {"call": "m.by_flag(x * 1, True)", "inputs": {"x": [12]}, "expect": "right"}
# case: {"call": "m.by_helper(x, y * 1)", "inputs": {"x": [12], "y": [12]}, "expect": "right"}
# case: {"call": "m.behind_flags(x, out=y * 1)", "inputs": {"x": [12], "y": [12]}, "expect": "right"}
# case: {"call": "m.by_keywords(x)", "inputs": {"x": [12]}, "expect": "right"}
# case: {"call": "m.by_keywords(x, out=y * 1)", "inputs": {"x": [12], "y": [12]}, "expect": "right"}

import torch
import triton
import triton.language as tl


@triton.jit
def thirds(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(o_ptr + i, v * v, mask=(i < n) & (i % 3 > 0))


@triton.jit
def by_helper_kernel(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(o_ptr + i, v * v, mask=(i < n) & (i % 3 > 0))


@triton.jit
def by_flag_kernel(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(o_ptr + i, v * v, mask=(i < n) & (i % 3 > 0))


@triton.jit
def behind_flags_kernel(x_ptr, o_ptr, n, NEGATE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0)
    if NEGATE:
        v = -v
    tl.store(o_ptr + i, v * v * v, mask=(i < n) & (i % 3 > 0))


@triton.jit
def by_keywords_kernel(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(o_ptr + i, v * v, mask=(i < n) & (i % 3 > 0))


def by_default(x, out=None):
    if out is None:
        out = torch.zeros_like(x)
    thirds[(triton.cdiv(x.numel(), 4),)](x, out, x.numel(), BLOCK=4)
    return out


def by_flag(x, inplace=False):
    o = x if inplace else torch.zeros_like(x)
    by_flag_kernel[(triton.cdiv(x.numel(), 4),)](x, o, x.numel(), BLOCK=4)
    return o


def allocated(x, out):
    if out is not None:
        return out
    return torch.zeros_like(x)


def by_helper(x, out=None):
    out = allocated(x, out)
    by_helper_kernel[(triton.cdiv(x.numel(), 4),)](x, out, x.numel(), BLOCK=4)
    return out


def behind_flags(x, negate=False, scale=None, shift=None, out=None):
    if out is None:
        out = torch.zeros_like(x)
    if scale is not None:
        x = x * scale
    if shift is not None:
        x = x + shift
    behind_flags_kernel[(triton.cdiv(x.numel(), 4),)](x, out, x.numel(), NEGATE=negate, BLOCK=4)
    return out


def by_keywords(x, **options):
    out = options.get("out")
    if out is None:
        out = torch.zeros_like(x)
    by_keywords_kernel[(triton.cdiv(x.numel(), 4),)](x, out, x.numel(), BLOCK=4)
    return out
