"""Reductions: row sums, column means, a full sum in two stages, squared distances."""

import torch
import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, stride_row, stride_col, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + row * stride_row + cols * stride_col, mask=cols < n_cols, other=0.0)
    tl.store(out_ptr + row, tl.sum(acc, axis=0))


@triton.jit
def column_mean_kernel(
    x_ptr, out_ptr, n_rows, n_cols, BLOCK_ROWS: tl.constexpr, BLOCK_COLS: tl.constexpr
):
    cols = tl.program_id(0) * BLOCK_COLS + tl.arange(0, BLOCK_COLS)
    col_mask = cols < n_cols
    total = tl.zeros([BLOCK_COLS], dtype=tl.float32)
    for start in range(0, n_rows, BLOCK_ROWS):
        rows = start + tl.arange(0, BLOCK_ROWS)
        mask = (rows < n_rows)[:, None] & col_mask[None, :]
        x = tl.load(x_ptr + rows[:, None] * n_cols + cols[None, :], mask=mask, other=0.0)
        total += tl.sum(x.to(tl.float32), axis=0)
    tl.store(out_ptr + cols, total / n_rows, mask=col_mask)


@triton.jit
def partial_sum_kernel(x_ptr, partial_ptr, n_elements, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n_elements, other=0.0)
    tl.store(partial_ptr + pid, tl.sum(x))


@triton.jit
def final_sum_kernel(partial_ptr, out_ptr, n_partials, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    partial = tl.load(partial_ptr + offsets, mask=offsets < n_partials, other=0.0)
    tl.store(out_ptr, tl.sum(partial))


@triton.jit
def squared_distance_kernel(a_ptr, b_ptr, out_ptr, n_cols, margin, BLOCK: tl.constexpr):
    """max(0, |a - b|^2 - margin) of each row."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    a = tl.load(a_ptr + row * n_cols + cols, mask=mask, other=0.0)
    b = tl.load(b_ptr + row * n_cols + cols, mask=mask, other=0.0)
    diff = a - b
    tl.store(out_ptr + row, tl.maximum(tl.sum(diff * diff, axis=0) - margin, 0.0))


def row_sum(x: torch.Tensor) -> torch.Tensor:
    M, N = x.size()
    out = torch.empty(M, device=x.device, dtype=torch.float32)
    row_sum_kernel[(M,)](x, out, x.stride(0), x.stride(1), N, BLOCK=512)
    return out


def column_mean(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    out = torch.empty((n_cols,), device=x.device, dtype=torch.float32)
    column_mean_kernel[(triton.cdiv(n_cols, 64),)](
        x.contiguous(), out, n_rows, n_cols, BLOCK_ROWS=32, BLOCK_COLS=64
    )
    return out


def full_sum(x: torch.Tensor) -> torch.Tensor:
    x = x.flatten()
    n_elements = x.numel()
    block = 1024
    n_partials = (n_elements + block - 1) // block
    partial = torch.empty(n_partials, device=x.device, dtype=torch.float32)
    out = torch.empty([], device=x.device, dtype=torch.float32)
    partial_sum_kernel[(n_partials, 1, 1)](x, partial, n_elements, BLOCK=block)
    final_sum_kernel[(1,)](partial, out, n_partials, BLOCK=triton.next_power_of_2(n_partials))
    return out


def squared_distance(a, b, margin=0.0):
    n_rows, n_cols = a.shape
    out = torch.empty(n_rows, device=a.device, dtype=a.dtype)
    block = triton.next_power_of_2(n_cols)
    squared_distance_kernel[(n_rows,)](a, b, out, n_cols, margin, BLOCK=block)
    return out
