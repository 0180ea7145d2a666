"""Dropout whose mask is never stored: the same seed gives the same mask in the backward pass."""

import torch
import triton
import triton.language as tl


@triton.jit
def seeded_dropout_kernel(x_ptr, y_ptr, n_elements, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    keep = tl.rand(seed, offsets) > p
    tl.store(y_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=mask)


@triton.jit
def dropout_add_kernel(x_ptr, residual_ptr, bias_ptr, y_ptr, n_cols, p, seed, BLOCK: tl.constexpr):
    """y = residual + dropout(x + bias), one row per program."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    offsets = row * n_cols + cols
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    x += tl.load(bias_ptr + cols, mask=mask, other=0.0)
    keep = tl.rand(seed, offsets) >= p
    kept = tl.where(keep, x * (1 / (1 - p)), 0.0)
    residual = tl.load(residual_ptr + offsets, mask=mask, other=0.0)
    tl.store(y_ptr + offsets, residual + kept, mask=mask)


def seeded_dropout(x: torch.Tensor, p: float, seed: int) -> torch.Tensor:
    assert x.is_contiguous()
    y = torch.empty_like(x)
    n_elements = x.numel()
    grid = lambda meta: (triton.cdiv(n_elements, meta["BLOCK"]),)
    seeded_dropout_kernel[grid](x, y, n_elements, p, seed, BLOCK=1024)
    return y


def dropout_add(x, residual, bias, p, seed):
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    block = triton.next_power_of_2(n_cols)
    dropout_add_kernel[(n_rows,)](x, residual, bias, y, n_cols, p, seed, BLOCK=block)
    return y
