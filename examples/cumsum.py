"""Running sums along the last dimension: one block, and rows of any length with a carry."""

import torch
import triton
import triton.language as tl


@triton.jit
def cumsum_row_kernel(x_ptr, y_ptr, n_cols, REVERSE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)
    tl.store(y_ptr + row * n_cols + cols, tl.cumsum(x, axis=0, reverse=REVERSE), mask=mask)


@triton.jit
def cumsum_kernel(x_ptr, y_ptr, stride_x, stride_y, T, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    carry = 0.0
    for start in range(0, T, BLOCK):
        t = start + tl.arange(0, BLOCK)
        mask = t < T
        x = tl.load(x_ptr + row * stride_x + t, mask=mask, other=0.0).to(tl.float32)
        tl.store(y_ptr + row * stride_y + t, carry + tl.cumsum(x, axis=0), mask=mask)
        carry += tl.sum(x, axis=0)


def cumsum_row(x: torch.Tensor, reverse: bool = False) -> torch.Tensor:
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    block = triton.next_power_of_2(n_cols)
    cumsum_row_kernel[(n_rows,)](x, y, n_cols, REVERSE=reverse, BLOCK=block)
    return y


def cumsum(x: torch.Tensor) -> torch.Tensor:
    B, T = x.shape
    y = torch.empty((B, T), device=x.device, dtype=torch.float32)
    cumsum_kernel[(B,)](x, y, x.stride(0), y.stride(0), T, BLOCK=256)
    return y
