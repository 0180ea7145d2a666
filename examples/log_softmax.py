"""Log-softmax over the last dimension, several short rows per program."""

import torch
import triton
import triton.language as tl


@triton.jit
def log_softmax_kernel(
    x_ptr,
    y_ptr,
    stride_row,
    n_rows,
    n_cols,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLS: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    cols = tl.arange(0, BLOCK_COLS)
    offsets = rows[:, None] * stride_row + cols[None, :]
    mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
    # A finite fill keeps the rows that do not exist free of NaN.
    x = tl.load(x_ptr + offsets, mask=mask, other=-1e30).to(tl.float32)
    shifted = x - tl.max(x, axis=1)[:, None]
    log_sum = tl.log(tl.sum(tl.exp(shifted), axis=1))
    tl.store(y_ptr + offsets, shifted - log_sum[:, None], mask=mask)


def log_softmax(x: torch.Tensor) -> torch.Tensor:
    assert x.dim() == 2 and x.is_contiguous()
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    block_cols = triton.next_power_of_2(n_cols)
    block_rows = max(1, 4096 // block_cols)

    def grid(meta):
        return (triton.cdiv(n_rows, meta["BLOCK_ROWS"]),)

    log_softmax_kernel[grid](
        x, y, x.stride(0), n_rows, n_cols, BLOCK_ROWS=block_rows, BLOCK_COLS=block_cols
    )
    return y
