"""Numbers that are kept between the limits of a type, which a launcher asks PyTorch for, or nobody says."""

import torch
import triton
import triton.language as tl


@triton.jit
def quantised(
    x_ptr,
    q_ptr,
    scale_ptr,
    n,
    eps,
    low: tl.constexpr,
    high: tl.constexpr,
    BLOCK: tl.constexpr,
):
    group = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + group * n + at, mask=at < n, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(x)), eps) / high
    q = tl.clamp(x / scale, low, high)
    tl.store(q_ptr + group * n + at, q.to(q_ptr.dtype.element_ty), mask=at < n)
    tl.store(scale_ptr + group, scale)


def run(x, size, dtype=torch.float8_e4m3fn):
    limits = torch.finfo(dtype)
    q = torch.empty_like(x, dtype=dtype)
    groups = x.numel() // size
    scale = torch.empty(groups, device=x.device, dtype=torch.float32)
    block = triton.next_power_of_2(size)
    quantised[(groups,)](x, q, scale, size, 1e-10, limits.min, limits.max, BLOCK=block)
    return q, scale


@triton.jit
def kept(x_ptr, y_ptr, n, LOW: tl.constexpr, HIGH: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(y_ptr + at, tl.minimum(tl.maximum(x, LOW), HIGH), mask=at < n)


@triton.jit
def kept_the_other_way(x_ptr, y_ptr, n, low, high, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(y_ptr + at, tl.maximum(tl.minimum(x, high), low), mask=at < n)
