import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(y_ptr + offsets, 2 * x, mask=offsets < n)


@triton.jit
def square_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = offsets < n
    x = tl.load(x_ptr + offsets, mask=keep)
    tl.store(
        y_ptr + offsets,
        x * x,
    )


@triton.jit
def copy_tile_kernel(x_ptr, y_ptr, m, n, stride, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * 16 + tl.arange(0, 16)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    keep = (rows < m)[:, None] & (columns < n)[None, :]
    offsets = rows[:, None].to(tl.int64) * stride + columns[None, :]
    x = tl.load(x_ptr + offsets, mask=keep, other=0.0)
    tl.store(y_ptr + offsets, x, mask=(rows < m)[:, None])


@triton.jit
def row_maximum_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0).to(tl.int64) * n + offsets, mask=offsets < n)
    tl.store(y_ptr + tl.program_id(0), tl.max(x.to(tl.float32), axis=0))


@triton.jit
def whole_tile_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes, mask=lanes < BLOCK, other=0.0)
    unused = tl.load(y_ptr + lanes + BLOCK)
    tl.store(y_ptr + lanes, x)


@triton.jit
def other_alone_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(y_ptr + lanes, tl.load(x_ptr + lanes, other=0.0))


@triton.jit
def twice_loaded_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    keep = lanes < n
    first = tl.load(x_ptr + lanes, mask=keep, other=0.0)
    total = tl.sum(first.to(tl.float32), axis=0)
    again = tl.load(x_ptr + lanes, mask=keep, other=0.0)
    tl.store(y_ptr + lanes, again / total, mask=keep)


@triton.jit
def long_rows_kernel(x_ptr, y_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + lanes, mask=lanes < n)
    tl.store(y_ptr + row.to(tl.int64) * stride + lanes, x, mask=lanes < n)


@triton.jit
def bound_of_columns_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, D: tl.constexpr):
    rows, columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, D)
    mask = (rows[:, None] < n) & (columns[None, :] < D)
    x = tl.load(x_ptr + rows[:, None] * D + columns[None, :], mask=mask, other=0.0)
    tl.store(y_ptr + rows[:, None] * D + columns[None, :], x, mask=mask)


@triton.jit
def counted_mask_kernel(i_ptr, n, BLOCK: tl.constexpr, D: tl.constexpr):
    """Without the comparison the mask would have one column, and the count would be another."""
    rows, columns = tl.arange(0, BLOCK), tl.arange(0, D)
    mask = (rows[:, None] < n) & (columns[None, :] < D)
    tl.store(i_ptr + rows, tl.sum(mask.to(tl.int32), axis=1), mask=rows < n)


@triton.jit
def softmax_row_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    keep = lanes < n
    row = tl.program_id(0).to(tl.int64) * n
    x = tl.load(x_ptr + row + lanes).to(tl.float32)
    exponentials = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row + lanes, exponentials / tl.sum(exponentials, axis=0), mask=keep)


@triton.jit
def spread_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes).to(tl.float32)
    tl.store(y_ptr + lanes, x * tl.max(x, axis=0) / tl.sum(x, axis=0), mask=lanes < n)


@triton.jit
def two_strides_kernel(x_ptr, y_ptr, n, stride, m, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + offsets, mask=offsets < n, other=0.0)
    tl.store(y_ptr + row * m + offsets, x, mask=offsets < n)


@triton.jit
def carried_row_kernel(x_ptr, y_ptr, n, stride, BLOCK: tl.constexpr):
    """In 64 bits the row is no longer of the type that `last` starts with."""
    row = tl.program_id(0)
    last = 0
    for i in range(n):
        last = row + i
    x = tl.load(x_ptr + row * stride + tl.arange(0, BLOCK))
    tl.store(y_ptr + last + tl.arange(0, BLOCK), x)


@triton.jit
def dropout_kernel(x_ptr, y_ptr, stride, seed, BLOCK: tl.constexpr):
    """In 64 bits the random numbers are others."""
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    kept = tl.rand(seed, row * BLOCK + lanes) > 0.5
    x = tl.load(x_ptr + row * stride + lanes)
    tl.store(y_ptr + row * stride + lanes, tl.where(kept, x, 0.0))


@triton.jit
def columns_kernel(x_ptr, y_ptr, m, n, BLOCK: tl.constexpr):
    """The bound of the columns goes to the other axis here."""
    rows, columns = tl.arange(0, 64), tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + rows[:, None] + columns[None, :] * 8, mask=columns[None, :] < n, other=0.0)
    y = tl.load(x_ptr + columns[:, None] * 8 + rows[None, :])
    tl.store(y_ptr + rows[:, None] + columns[None, :] * 8, x + tl.trans(y), mask=columns[None, :] < n)


@triton.jit
def square_tile_kernel(x_ptr, y_ptr, m, n, BLOCK: tl.constexpr):
    """Rows and columns are the same numbers: which of them each limit is for is not certain."""
    rows, columns = tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + rows[:, None] + columns[None, :] * 8)
    tl.store(y_ptr + rows[:, None] + columns[None, :] * 8, x, mask=(rows[:, None] < m) & (columns[None, :] < n))


def launch_long_rows(device):
    x = torch.empty((70000, 40000), device=device)
    long_rows_kernel[(70000,)](x, torch.empty_like(x), x.stride(0), 40000, BLOCK=65536)
    two_strides_kernel[(70000,)](x, torch.empty_like(x), 40000, x.stride(0), 40000, BLOCK=65536)


@triton.jit
def other_without_its_mask_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes, other=0.0)
    tl.store(y_ptr + lanes, x, mask=lanes < n)


@triton.jit
def mask_named_below_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes)
    keep = lanes < n
    tl.store(y_ptr + lanes, x, mask=keep)


@triton.jit
def scale_of_rows_kernel(x_ptr, s_ptr, y_ptr, m, n, stride, M: tl.constexpr, N: tl.constexpr):
    """One axis of the tile's mask: the scale lies along the rows alone."""
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.arange(0, N)
    at = rows[:, None] * stride + columns[None, :]
    scale = tl.load(s_ptr + rows)
    x = tl.load(x_ptr + at, mask=(rows[:, None] < m) & (columns[None, :] < n), other=0.0)
    tl.store(y_ptr + at, x * scale[:, None], mask=(rows[:, None] < m) & (columns[None, :] < n))
