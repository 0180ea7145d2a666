"""A number that may be None for the launcher, and is none for the kernel, which multiplies by it."""

import torch
import triton
import triton.language as tl


@triton.jit
def scaled(x_ptr, y_ptr, n, scale, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(y_ptr + at, tl.exp(x) * scale, mask=at < n)


def scale_rows(x, scale: float | None = None):
    y = torch.empty_like(x)
    scaled[(triton.cdiv(x.numel(), 16),)](x, y, x.numel(), scale, BLOCK=16)
    return y
