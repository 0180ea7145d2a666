"""Strides of many dimensions, sizes that multiply strides, dimensions named by constexprs, sums that cancel to nothing."""

import torch
import triton
import triton.language as tl


@triton.jit
def five_dimensions(
    heads,
    parts,
    x_ptr,
    x_batch,
    x_head,
    x_part,
    x_row,
    x_col,
    y_ptr,
    y_batch,
    y_head,
    y_row,
    y_col,
    B: tl.constexpr,
):
    batch = tl.program_id(1) // heads
    head = tl.program_id(1) % heads
    rows = (tl.program_id(0) * B + tl.arange(0, B))[:, None]
    cols = tl.arange(0, B)[None, :]
    total = tl.zeros([B, B], tl.float32)
    for part in range(0, parts):
        at = batch * x_batch + head * x_head + part * x_part + rows * x_row + cols * x_col
        x = tl.load(x_ptr + at)
        total += x * x
    tl.store(y_ptr + batch * y_batch + head * y_head + rows * y_row + cols * y_col, total)


@triton.jit
def ranks_apart(x_ptr, x_stride, y_ptr, rows, ranks):
    row = tl.program_id(0)
    x_ptr += row * 2 * x_stride
    largest = tl.load(x_ptr)
    total = tl.load(x_ptr + x_stride)
    for rank in range(1, ranks):
        other_ptr = x_ptr + rank * 2 * rows * x_stride
        other = tl.load(other_ptr)
        both = tl.maximum(largest, other)
        total = total * tl.exp(largest - both) + tl.load(other_ptr + x_stride) * tl.exp(
            other - both
        )
        largest = both
    tl.store(y_ptr + row, largest + total)


@triton.jit
def ordered_by_constexprs(
    x_ptr, y_ptr, m, n, x_stride, y_stride, O0: tl.constexpr, O1: tl.constexpr, B: tl.constexpr
):
    at = tl.program_id(0) * B
    x_block = tl.make_block_ptr(x_ptr, (m, n), (x_stride, 1), (at, 0), (B, B), (O0, O1))
    x = tl.load(x_block, boundary_check=(O0, O1))
    y_block = tl.make_block_ptr(y_ptr, (m, n), (y_stride, 1), (at, 0), (B, B), (O0, O1))
    tl.store(y_block, x * x, boundary_check=(O0, O1))


@triton.jit
def merge_of_splits(sum_ptr, max_ptr, part_ptr, out_ptr, SPLITS: tl.constexpr, D: tl.constexpr):
    at = tl.program_id(0) * SPLITS + tl.arange(0, SPLITS)
    d = tl.arange(0, D)
    largest = tl.load(max_ptr + at)
    scale = tl.exp(largest - tl.max(largest, axis=0))
    total = tl.sum(tl.load(sum_ptr + at) * scale, axis=0)
    parts = tl.load(part_ptr + at[:, None] * D + d[None, :])
    tl.store(out_ptr + tl.program_id(0) * D + d, tl.sum(parts * scale[:, None], axis=0) / total)


def merge(sums: torch.Tensor, maxima: torch.Tensor, parts: torch.Tensor) -> torch.Tensor:
    # Of a single split, so that the gradient by the maxima is nothing.
    rows = sums.shape[0]
    out = torch.empty((rows, 64), dtype=torch.float32, device=parts.device)
    assert sums.shape == (rows, 1) and maxima.shape == (rows, 1) and parts.shape == (rows, 1, 64)
    merge_of_splits[(rows,)](sums, maxima, parts, out, SPLITS=1, D=64)
    return out


@triton.jit
def parts_apart(x_ptr, y_ptr, stride, rows, parts):
    row = tl.program_id(0)
    total = 0.0
    for part in range(parts):
        total += tl.load(x_ptr + row * stride + stride * part * rows)
    tl.store(y_ptr + row, total * total)


@triton.jit
def contiguous_columns(x_ptr, y_ptr, x_row, x_col, y_row, y_col, B: tl.constexpr):
    tl.device_assert(x_col == 1)
    tl.device_assert(y_col == 1)
    row = tl.program_id(0)
    cols = tl.arange(0, B)
    x = tl.load(x_ptr + row * x_row + cols * x_col)
    tl.store(y_ptr + row * y_row + cols * y_col, x * x)


@triton.jit
def contiguous_blocks(x_ptr, y_ptr, m, n, x_row, x_col, y_row, y_col, B: tl.constexpr):
    tl.device_assert(x_col == 1)
    tl.device_assert(y_col == 1)
    at = tl.program_id(0) * B
    x_block = tl.make_block_ptr(x_ptr, (m, n), (x_row, x_col), (at, 0), (B, B), (1, 0))
    x = tl.load(x_block, boundary_check=(0, 1))
    y_block = tl.make_block_ptr(y_ptr, (m, n), (y_row, y_col), (at, 0), (B, B), (1, 0))
    tl.store(y_block, x * x, boundary_check=(0, 1))


# The strides of one tensor place all of them: what lies inside of its rows is another tensor's, and must not reach them.
@triton.jit
def placed_alike(
    q_ptr, k_ptr, out_ptr, heads, n, d, q_batch, q_row, q_head, q_col, k_row, k_col, o_row, o_col,
    B: tl.constexpr, D: tl.constexpr,
):
    program = tl.program_id(1)
    place = (program // heads) * q_batch + (program % heads) * q_head
    q_ptr += place
    k_ptr += place
    out_ptr += place
    rows = (tl.program_id(0) * B + tl.arange(0, B))[:, None]
    cols = tl.arange(0, D)
    inside = (rows < n) & (cols < d)[None, :]
    q = tl.load(q_ptr + rows * q_row + cols[None, :] * q_col, mask=inside, other=0.0)
    total = tl.zeros((B, D), dtype=tl.float32)
    for i in range(0, n):
        k = tl.load(k_ptr + i * k_row + cols * k_col, mask=cols < d, other=0.0)
        total += q * k[None, :]
    tl.store(out_ptr + rows * o_row + cols[None, :] * o_col, tl.sin(total), mask=inside)
