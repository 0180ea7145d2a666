"""Kernels that take apart a tuple which their launches pass, for a constexpr or at run time."""

import torch
import triton
import triton.language as tl


@triton.jit
def parts_side_by_side(x, w, y, SIZES: tl.constexpr, BLOCK: tl.constexpr):
    j = tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    offset = 0
    for i in tl.static_range(len(SIZES)):
        a = tl.load(x + offset + j, mask=j < SIZES[i], other=0.0)
        acc += a * a * tl.load(w + i)
        offset += SIZES[i]
    tl.store(y + j, acc)


def three_parts(x, w):
    y = torch.empty(16, device=x.device)
    parts_side_by_side[(1,)](x, w, y, SIZES=(5, 9, 12), BLOCK=16)
    return y


def two_parts(x, w):
    y = torch.empty(16, device=x.device)
    parts_side_by_side[(1,)](x, w, y, SIZES=(16, 7), BLOCK=16)
    return y


@triton.jit
def of_a_shape(x, y, SHAPE: tl.constexpr):
    rows, columns = SHAPE
    at = tl.arange(0, SHAPE[0])[:, None] * columns + tl.arange(0, SHAPE[1])[None, :]
    a = tl.load(x + at)
    tl.store(y + at, tl.exp(a) * (rows + columns))


def eight_rows(x):
    y = torch.empty_like(x)
    of_a_shape[(1,)](x, y, SHAPE=(8, 16))
    return y


@triton.jit
def of_strides(x, x_stride, y, y_stride, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    y_row, y_column = y_stride
    a = tl.load(x + row * x_stride[0] + j * x_stride[1], mask=j < N, other=0.0)
    tl.store(y + row * y_row + j * y_column, tl.exp(a) * a, mask=j < N)


def strided_rows(x):
    y = torch.empty_like(x)
    rows, N = x.shape
    of_strides[(rows,)](x, x.stride(), y, y.stride(), N, BLOCK=triton.next_power_of_2(N))
    return y


@triton.jit
def of_a_block_type(x, y, N, BLOCK: tl.constexpr):
    j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + j, mask=j < N)
    twos = tl.full(a.type.get_block_shapes(), 2.0, tl.float32)
    tl.store(y + j, a * a * twos + tl.zeros(a.type.shape, tl.float32), mask=j < N)


def blocks_like_others(x):
    y = torch.empty_like(x)
    of_a_block_type[(triton.cdiv(x.numel(), 16),)](x, y, x.numel(), BLOCK=16)
    return y
