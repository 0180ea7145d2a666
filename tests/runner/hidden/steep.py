"""Numbers that go another way beyond a threshold, of which the data of a proof know nothing by themselves."""

import torch
import triton
import triton.language as tl


@triton.jit
def softplus_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n
    x = tl.load(x_ptr + index, mask=mask, other=0.0)
    y = tl.where(x > 20.0, x, tl.log(1.0 + tl.exp(x)))
    tl.store(y_ptr + index, y, mask=mask)


@triton.jit
def capped_square_kernel(x_ptr, y_ptr, n, cap, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n
    x = tl.load(x_ptr + index, mask=mask, other=0.0)
    tl.store(y_ptr + index, x * tl.minimum(x, cap), mask=mask)


def softplus(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    softplus_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


def capped_square(x: torch.Tensor, cap: float = 30.0) -> torch.Tensor:
    y = torch.empty_like(x)
    capped_square_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), cap, BLOCK=1024)
    return y
