"""`*w.stride()` of a tensor of which the launcher says nothing else: the kernel takes so many strides."""

import torch
import triton
import triton.language as tl


@triton.jit
def scaled(
    x_ptr,
    w_ptr,
    y_ptr,
    x_batch,
    x_row,
    x_column,
    w_batch,
    w_row,
    w_column,
    y_batch,
    y_row,
    y_column,
    M,
    N,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    power,
):
    batch = tl.program_id(1)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, COLUMNS)[None, :]
    mask = (row < M) & (column < N)
    x = tl.load(x_ptr + batch * x_batch + row * x_row + column * x_column, mask=mask, other=0.0)
    w = tl.load(w_ptr + batch * w_batch + row * w_row + column * w_column, mask=mask, other=0.0)
    y = x * tl.exp(w * power)
    tl.store(y_ptr + batch * y_batch + row * y_row + column * y_column, y, mask=mask)


def scale(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    batches, m, n = x.shape
    y = torch.empty_like(x)
    grid = lambda meta: (triton.cdiv(m, meta["ROWS"]), batches)  # noqa: E731
    columns = triton.next_power_of_2(n)
    scaled[grid](x, w, y, *x.stride(), *w.stride(), *y.stride(), m, n, 4, columns, 0.5)
    return y
