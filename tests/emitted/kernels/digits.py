"""Flat indices that are divided: where quotients and remainders tell elements apart, and where they do not."""

import torch
import triton
import triton.language as tl


@triton.jit
def packed_halves(x, y, n, width, B: tl.constexpr):
    """Each row holds a gate and a value, one behind the other."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    row = at // width
    column = at % width
    gate = tl.load(x + row * 2 * width + column, mask=at < n, other=0.0)
    value = tl.load(x + row * 2 * width + width + column, mask=at < n, other=0.0)
    tl.store(y + at, gate * gate * value, mask=at < n)


@triton.jit
def gate_behind_the_index(x, y, n, width, B: tl.constexpr):
    """The same, from the index itself and one row more for each row."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    gate = tl.load(x + at + at // width * width, mask=at < n, other=0.0)
    value = tl.load(x + at + (at // width + 1) * width, mask=at < n, other=0.0)
    tl.store(y + at, tl.exp(gate) * value, mask=at < n)


@triton.jit
def transposed(x, y, n, rows, columns, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + at % columns * rows + at // columns, mask=at < n, other=0.0)
    tl.store(y + at, tl.sin(a), mask=at < n)


@triton.jit
def strided_rows(x, y, n, width, stride, B: tl.constexpr):
    at = (tl.program_id(0) * B + tl.arange(0, B)).to(tl.int64)
    a = tl.load(x + at // width * stride + at % width, mask=at < n, other=0.0)
    tl.store(y + at, a * a, mask=at < n)


@triton.jit
def three_digits(x, y, n, heads, depth, B: tl.constexpr):
    """Of (batch, heads, depth) to (heads, batch, depth): the batch is the last digit."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    d = at % depth
    h = at // depth % heads
    b = at // (depth * heads)
    batch = n // (depth * heads)
    a = tl.load(x + h * batch * depth + b * depth + d, mask=at < n, other=0.0)
    tl.store(y + at, a * tl.exp(a), mask=at < n)


@triton.jit
def whole_of_a_digit(x, y, n, heads, depth, stride_h, stride_b, B: tl.constexpr):
    """The same with strides of the tensor's own."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    d = at % depth
    h = at // depth % heads
    b = at // depth // heads
    a = tl.load(x + h * stride_h + b * stride_b + d, mask=at < n, other=0.0)
    tl.store(y + at, a * tl.exp(a), mask=at < n)


@triton.jit
def grid_strided(x, y, n, width, B: tl.constexpr):
    for start in range(tl.program_id(0) * B, n, tl.num_programs(0) * B):
        at = start + tl.arange(0, B)
        gate = tl.load(x + at // width * 2 * width + at % width, mask=at < n, other=0.0)
        tl.store(y + at, gate * gate, mask=at < n)


@triton.jit
def channels(x, w, y, n, size, count, B: tl.constexpr):
    """Several elements share a weight: runs of `size` lanes."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    s = tl.load(w + at // size % count, mask=at < n, other=0.0)
    a = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(y + at, a * s * s, mask=at < n)


@triton.jit
def some_channels(x, w, y, n, m, size, count, B: tl.constexpr):
    """The same, of the first `m` elements: nobody knows whether the channels behind have weights."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    s = tl.load(w + at // size % count, mask=(at < n) & (at < m), other=1.0)
    a = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(y + at, a * s * s, mask=at < n)


@triton.jit
def rows_that_overlap(x, y, n, width, B: tl.constexpr):
    """Rows are half as far apart as they are long."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + at // (2 * width) * width + at % (2 * width), mask=at < n, other=0.0)
    tl.store(y + at, a * a, mask=at < n)


@triton.jit
def a_digit_is_missing(x, y, n, heads, depth, B: tl.constexpr):
    """All batches read the same."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + at // depth % heads * depth + at % depth, mask=at < n, other=0.0)
    tl.store(y + at, a * a, mask=at < n)


@triton.jit
def halves_that_meet(x, y, n, width, B: tl.constexpr):
    """The second read is one element behind the first one, not one row."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + at // width * 2 * width + at % width, mask=at < n, other=0.0)
    b = tl.load(x + at // width * 2 * width + at % width + 1, mask=at < n, other=0.0)
    tl.store(y + at, a * b, mask=at < n)


@triton.jit
def rows_longer_than_they_are(x, y, n, width, stride, B: tl.constexpr):
    """Lanes behind the end of a row have the numbers of the next one."""
    at = tl.program_id(0) * width + tl.arange(0, B)
    a = tl.load(x + at // width * stride + at % width, mask=at < n, other=0.0)
    tl.atomic_add(y + at, a * a, mask=at < n)


def launch_packed_halves(x):
    y = x.new_empty(x.shape[0], x.shape[1] // 2)
    packed_halves[(triton.cdiv(y.numel(), 32),)](x, y, y.numel(), y.shape[1], B=32)
    return y


def launch_gate_behind_the_index(x):
    y = x.new_empty(x.shape[0], x.shape[1] // 2)
    gate_behind_the_index[(triton.cdiv(y.numel(), 32),)](x, y, y.numel(), y.shape[1], B=32)
    return y


def launch_transposed(x):
    y = x.new_empty(x.shape[1], x.shape[0])
    transposed[(triton.cdiv(y.numel(), 32),)](x, y, y.numel(), x.shape[1], x.shape[0], B=32)
    return y


def launch_strided_rows(x):
    y = x.new_empty(x.shape[0], x.shape[1])
    strided_rows[(triton.cdiv(y.numel(), 32),)](x, y, y.numel(), x.shape[1], x.stride(0), B=32)
    return y


def launch_three_digits(x):
    heads, batch, depth = x.shape
    y = x.new_empty(batch, heads, depth)
    three_digits[(triton.cdiv(y.numel(), 32),)](x, y, y.numel(), heads, depth, B=32)
    return y


def launch_whole_of_a_digit(x):
    heads, batch, depth = x.shape
    y = x.new_empty(batch, heads, depth)
    grid = (triton.cdiv(y.numel(), 32),)
    whole_of_a_digit[grid](x, y, y.numel(), heads, depth, x.stride(0), x.stride(1), B=32)
    return y


def launch_grid_strided(x):
    y = x.new_empty(x.shape[0], x.shape[1] // 2)
    grid_strided[(3,)](x, y, y.numel(), y.shape[1], B=16)
    return y


def launch_channels(x, w):
    y = torch.empty_like(x)
    n, size = x.numel(), x.shape[2]
    channels[(triton.cdiv(n, 16),)](x, w, y, n, size, x.shape[1], B=16)
    return y


def launch_some_channels(x, w, m: int):
    y = torch.empty_like(x)
    n, size = x.numel(), x.shape[2]
    some_channels[(triton.cdiv(n, 16),)](x, w, y, n, m, size, x.shape[1], B=16)
    return y


def launch_rows_that_overlap(x):
    width = x.shape[0] // 5
    y = x.new_empty(4, 2 * width)
    rows_that_overlap[(triton.cdiv(y.numel(), 32),)](x, y, y.numel(), width, B=32)
    return y


def launch_a_digit_is_missing(x, batch: int):
    heads, depth = x.shape
    y = x.new_empty(batch, heads, depth)
    a_digit_is_missing[(triton.cdiv(y.numel(), 32),)](x, y, y.numel(), heads, depth, B=32)
    return y


def launch_halves_that_meet(x):
    y = x.new_empty(x.shape[0], x.shape[1] // 2)
    halves_that_meet[(triton.cdiv(y.numel(), 32),)](x, y, y.numel(), y.shape[1], B=32)
    return y


def launch_rows_longer_than_they_are(x):
    y = torch.zeros(x.shape, device=x.device)
    m, n = x.shape
    rows_longer_than_they_are[(m,)](x, y, m * n, n, x.stride(0), B=2 * triton.next_power_of_2(n))
    return y


@triton.jit
def channels_of_a_group(x, w, y, size, count, groups, B: tl.constexpr):
    """A tile has all pixels of some channels: each channel's sum is added once."""
    group = tl.program_id(0) % groups
    n = size * count
    lanes = tl.arange(0, B)
    keep = lanes < n
    a = tl.load(x + tl.program_id(0) * n + lanes, mask=keep, other=0.0)
    scale = tl.load(w + group * count + lanes // size, mask=keep, other=0.0)
    tl.store(y + tl.program_id(0) * n + lanes, a * a * scale, mask=keep)


def launch_channels_of_a_group(x, w, groups: int = 2):
    y = torch.empty_like(x)
    batch, rows, size = x.shape
    count = rows // groups
    block = triton.next_power_of_2(count * size)
    channels_of_a_group[(batch * groups,)](x, w, y, size, count, groups, B=block)
    return y
