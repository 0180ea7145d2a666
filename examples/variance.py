"""Variance of each row in one pass: running statistics per lane, merged by a custom reduction."""

import torch
import triton
import triton.language as tl


@triton.jit
def merge(mean_a, m2_a, count_a, mean_b, m2_b, count_b):
    """Mean, sum of squared differences and count of two groups together."""
    count = count_a + count_b
    delta = mean_b - mean_a
    share = tl.where(count == 0, 0.0, count_b / tl.maximum(count, 1.0))
    mean = mean_a + delta * share
    m2 = m2_a + m2_b + delta * delta * count_a * share
    return mean, m2, count


@triton.jit
def variance_kernel(x_ptr, var_ptr, mean_ptr, row_stride, n_cols, correction, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    mean = tl.zeros([BLOCK], dtype=tl.float32)
    m2 = tl.zeros([BLOCK], dtype=tl.float32)
    count = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(x_ptr + row * row_stride + cols, mask=mask, other=0.0).to(tl.float32)
        count += mask.to(tl.float32)
        delta = tl.where(mask, x - mean, 0.0)
        mean += delta / tl.maximum(count, 1.0)
        m2 += delta * tl.where(mask, x - mean, 0.0)
    row_mean, row_m2, row_count = tl.reduce((mean, m2, count), 0, merge)
    tl.store(mean_ptr + row, row_mean)
    tl.store(var_ptr + row, row_m2 / (row_count - correction))


def variance(x: torch.Tensor, correction: int = 1):
    """Variance and mean over the last dimension."""
    n_cols = x.shape[-1]
    x2d = x.reshape(-1, n_cols)
    n_rows = x2d.shape[0]
    var = torch.empty(n_rows, device=x.device, dtype=torch.float32)
    mean = torch.empty_like(var)
    block = min(1024, triton.next_power_of_2(n_cols))
    variance_kernel[(n_rows,)](x2d, var, mean, x2d.stride(0), n_cols, correction, BLOCK=block)
    return var.view(x.shape[:-1]), mean.view(x.shape[:-1])
