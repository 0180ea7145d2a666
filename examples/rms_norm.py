"""RMS normalisation with an optional residual that is added first and handed on."""

import torch
import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(
    x_ptr,
    residual_ptr,
    weight_ptr,
    y_ptr,
    sum_ptr,
    rstd_ptr,
    row_stride,
    n_cols,
    eps,
    offset,
    HAS_RESIDUAL: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * row_stride + cols, mask=mask, other=0).to(tl.float32)
    if HAS_RESIDUAL:
        x += tl.load(residual_ptr + row * row_stride + cols, mask=mask, other=0).to(tl.float32)
        tl.store(sum_ptr + row * row_stride + cols, x, mask=mask)
    mean_square = tl.sum(x * x, axis=0) / n_cols
    rstd = tl.rsqrt(mean_square + eps)
    tl.store(rstd_ptr + row, rstd)
    w = tl.load(weight_ptr + cols, mask=mask, other=0).to(tl.float32)
    tl.store(y_ptr + row * row_stride + cols, x * rstd * (offset + w), mask=mask)


def rms_norm(x, weight, residual=None, eps=1e-6, offset=0.0):
    """`offset` is 1.0 for models that store their weight as a difference from one."""
    *_, n_cols = x.shape
    x = x.contiguous()
    rows = x.view(-1, n_cols)
    n_rows = rows.size(0)
    y = torch.empty_like(rows)
    total = torch.empty_like(rows) if residual is not None else None
    rstd = torch.empty(n_rows, dtype=torch.float32, device=x.device)
    rms_norm_kernel[(n_rows,)](
        rows,
        residual,
        weight,
        y,
        total,
        rstd,
        rows.stride(0),
        n_cols,
        eps,
        offset,
        HAS_RESIDUAL=residual is not None,
        BLOCK=triton.next_power_of_2(n_cols),
    )
    return y.view_as(x), total, rstd
