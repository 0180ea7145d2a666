"""Softmax over the last dimension: a whole row at once, and any length with a running maximum."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(out_ptr, in_ptr, in_stride, out_stride, n_cols, BLOCK: tl.constexpr):
    """One row per program; the row fits one block."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(in_ptr + row * in_stride + cols, mask=mask, other=-float("inf"))
    numerator = tl.exp(x - tl.max(x, axis=0))
    y = numerator / tl.sum(numerator, axis=0)
    tl.store(out_ptr + row * out_stride + cols, y, mask=mask)


@triton.jit
def online_softmax_kernel(out_ptr, in_ptr, in_stride, out_stride, n_cols, BLOCK: tl.constexpr):
    """First pass: running maximum and sum. Second pass: normalise."""
    row = tl.program_id(0)
    in_ptr += row * in_stride
    out_ptr += row * out_stride

    running_max = float("-inf")
    running_sum = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(in_ptr + cols, mask=cols < n_cols, other=float("-inf")).to(tl.float32)
        new_max = tl.maximum(running_max, tl.max(x, axis=0))
        running_sum = running_sum * tl.exp(running_max - new_max)
        running_sum += tl.sum(tl.exp(x - new_max), axis=0)
        running_max = new_max

    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(in_ptr + cols, mask=mask, other=float("-inf")).to(tl.float32)
        tl.store(out_ptr + cols, tl.exp(x - running_max) / running_sum, mask=mask)


def softmax(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(n_cols)
    num_warps = 4
    if block >= 2048:
        num_warps = 8
    if block >= 4096:
        num_warps = 16
    softmax_kernel[(n_rows,)](
        out, x, x.stride(0), out.stride(0), n_cols, BLOCK=block, num_warps=num_warps
    )
    return out


def online_softmax(x: torch.Tensor) -> torch.Tensor:
    n_cols = x.shape[-1]
    rows = x.reshape(-1, n_cols)
    out = torch.empty_like(rows)
    grid = (rows.shape[0],)
    online_softmax_kernel[grid](out, rows, rows.stride(0), out.stride(0), n_cols, BLOCK=1024)
    return out.view_as(x)
