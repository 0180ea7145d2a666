"""In-place launches with a grid of their own: programs read rows that others store, or that nobody does."""

# case: {"class": "literal-grids", "call": "m.reversed_flat(x)", "inputs": {"x": {"shape": [29], "in_place": true}}, "expect": "refused"}
# case: {"class": "literal-grids", "call": "m.reversed_blocks(x)", "inputs": {"x": {"shape": [32], "in_place": true}}, "expect": "refused"}
# case: {"class": "literal-grids", "call": "m.reversed_rows(x)", "inputs": {"x": {"shape": [4, 7], "in_place": true}}, "expect": "refused"}
# case: {"class": "literal-grids", "call": "m.reversed_two_names(x)", "inputs": {"x": {"shape": [4, 7], "in_place": true}}, "expect": "refused"}
# case: {"class": "literal-grids", "call": "m.shifted_up(x)", "inputs": {"x": {"shape": [6, 7], "in_place": true}}, "expect": "refused"}
# case: {"class": "literal-grids", "call": "m.shifted_down(x)", "inputs": {"x": {"shape": [6, 7], "in_place": true}}, "expect": "refused"}
# case: {"class": "literal-grids", "call": "m.rotated(x)", "inputs": {"x": {"shape": [4, 7], "in_place": true}}, "expect": "refused"}
# case: {"class": "literal-grids", "call": "m.swapped_pairs(x)", "inputs": {"x": {"shape": [4, 7], "in_place": true}}, "expect": "refused"}
# case: {"class": "literal-grids", "call": "m.transposed(x)", "inputs": {"x": {"shape": [4, 4], "in_place": true}}, "expect": "refused"}
# case: {"class": "literal-grids", "call": "m.first_row_for_all(x)", "inputs": {"x": {"shape": [4, 7], "in_place": true}}, "expect": "refused"}
# case: {"class": "literal-grids", "call": "m.sum_of_all(x)", "inputs": {"x": {"shape": [4, 7], "in_place": true}}, "expect": "refused"}
# case: {"class": "literal-grids", "call": "m.halves(x)", "inputs": {"x": {"shape": [30], "in_place": true}}}
# case: {"class": "literal-grids", "call": "m.own_rows(x)", "inputs": {"x": {"shape": [4, 7], "in_place": true}}, "expect": "right"}
# case: {"class": "literal-grids", "call": "m.own_row_reversed(x)", "inputs": {"x": {"shape": [4, 7], "in_place": true}}, "expect": "right"}
# case: {"class": "literal-grids", "call": "m.from_another(x, y)", "inputs": {"x": {"shape": [4, 7], "in_place": true}, "y": {"shape": [4, 7], "in_place": true}}, "expect": "right"}
# case: {"class": "literal-grids", "call": "m.behind_the_stored(x)", "inputs": {"x": {"shape": [8, 7], "in_place": true}}}
# case: {"class": "literal-grids", "call": "m.even_from_odd(x)", "inputs": {"x": {"shape": [6, 7], "in_place": true}}, "expect": "right"}
# case: {"class": "literal-grids", "call": "m.one_program(x)", "inputs": {"x": {"shape": [29], "in_place": true}}, "expect": "right"}
# case: {"class": "literal-grids", "call": "m.lower_from_upper(x)", "inputs": {"x": {"shape": [8, 7], "in_place": true}}, "expect": "right"}
# case: {"class": "literal-grids", "call": "m.both_axes(x)", "inputs": {"x": {"shape": [3, 8], "in_place": true}}, "expect": "refused"}
# case: {"class": "literal-grids", "call": "m.by_keyword(x)", "inputs": {"x": {"shape": [29], "in_place": true}}, "expect": "refused"}

import torch
import triton
import triton.language as tl


@triton.jit
def reversed_flat_kernel(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + n - 1 - at, mask=at < n, other=0.0)
    tl.store(x + at, v * v, mask=at < n)


def reversed_flat(x):
    reversed_flat_kernel[(4,)](x, x.numel(), BLOCK=8)
    return x


@triton.jit
def reversed_blocks_kernel(x, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + (3 - pid) * BLOCK + at)
    tl.store(x + pid * BLOCK + at, tl.sin(v))


def reversed_blocks(x):
    reversed_blocks_kernel[(4,)](x, BLOCK=8)
    return x


@triton.jit
def reversed_rows_kernel(x, rows, cols, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + (rows - 1 - pid) * cols + at, mask=at < cols, other=0.0)
    tl.store(x + pid * cols + at, v * v, mask=at < cols)


def reversed_rows(x):
    rows, cols = x.shape
    reversed_rows_kernel[(4,)](x, rows, cols, BLOCK=8)
    return x


@triton.jit
def reversed_two_names_kernel(x, y, rows, cols, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + (rows - 1 - pid) * cols + at, mask=at < cols, other=0.0)
    tl.store(y + pid * cols + at, v * v, mask=at < cols)


def reversed_two_names(x):
    rows, cols = x.shape
    reversed_two_names_kernel[(4,)](x, x, rows, cols, BLOCK=8)
    return x


@triton.jit
def shifted_up_kernel(x, cols, step, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + (pid + step) * cols + at, mask=at < cols, other=0.0)
    tl.store(x + pid * cols + at, v * v, mask=at < cols)


def shifted_up(x):
    shifted_up_kernel[(4,)](x, x.shape[1], 2, BLOCK=8)
    return x


@triton.jit
def shifted_down_kernel(x, cols, step, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + pid * cols + at, mask=at < cols, other=0.0)
    tl.store(x + (pid + step) * cols + at, v * v, mask=at < cols)


def shifted_down(x):
    shifted_down_kernel[(4,)](x, x.shape[1], 2, BLOCK=8)
    return x


@triton.jit
def rotated_kernel(x, rows, cols, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + ((pid + 1) % rows) * cols + at, mask=at < cols, other=0.0)
    tl.store(x + pid * cols + at, v * v, mask=at < cols)


def rotated(x):
    rotated_kernel[(4,)](x, x.shape[0], x.shape[1], BLOCK=8)
    return x


@triton.jit
def swapped_pairs_kernel(x, cols, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + (pid ^ 1) * cols + at, mask=at < cols, other=0.0)
    tl.store(x + pid * cols + at, v * 2.0, mask=at < cols)


def swapped_pairs(x):
    swapped_pairs_kernel[(4,)](x, x.shape[1], BLOCK=8)
    return x


@triton.jit
def transposed_kernel(x, N: tl.constexpr):
    i = tl.program_id(0)
    j = tl.program_id(1)
    v = tl.load(x + j * N + i)
    tl.store(x + i * N + j, v * v)


def transposed(x):
    transposed_kernel[(4, 4)](x, N=4)
    return x


@triton.jit
def first_row_for_all_kernel(x, cols, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    first = tl.load(x + at, mask=at < cols, other=0.0)
    own = tl.load(x + pid * cols + at, mask=at < cols, other=0.0)
    tl.store(x + pid * cols + at, own * first, mask=at < cols)


def first_row_for_all(x):
    first_row_for_all_kernel[(4,)](x, x.shape[1], BLOCK=8)
    return x


@triton.jit
def sum_of_all_kernel(x, rows, cols, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float64)
    for r in range(rows):
        total += tl.load(x + r * cols + at, mask=at < cols, other=0.0)
    own = tl.load(x + pid * cols + at, mask=at < cols, other=0.0)
    tl.store(x + pid * cols + at, own * total, mask=at < cols)


def sum_of_all(x):
    sum_of_all_kernel[(4,)](x, x.shape[0], x.shape[1], BLOCK=8)
    return x


@triton.jit
def halves_kernel(x, half, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + half + at, mask=at < half, other=0.0)
    w = tl.load(x + at, mask=at < half, other=0.0)
    tl.store(x + at, v * w, mask=at < half)


def halves(x):
    halves_kernel[(2,)](x, x.numel() // 2, BLOCK=8)
    return x


@triton.jit
def own_rows_kernel(x, cols, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + pid * cols + at, mask=at < cols, other=0.0)
    tl.store(x + pid * cols + at, v * v, mask=at < cols)


def own_rows(x):
    own_rows_kernel[(4,)](x, x.shape[1], BLOCK=8)
    return x


@triton.jit
def own_row_reversed_kernel(x, cols, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + pid * cols + cols - 1 - at, mask=at < cols, other=0.0)
    tl.debug_barrier()
    tl.store(x + pid * cols + at, v * v, mask=at < cols)


def own_row_reversed(x):
    own_row_reversed_kernel[(4,)](x, x.shape[1], BLOCK=8)
    return x


@triton.jit
def from_another_kernel(x, y, rows, cols, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(y + (rows - 1 - pid) * cols + at, mask=at < cols, other=0.0)
    w = tl.load(x + pid * cols + at, mask=at < cols, other=0.0)
    tl.store(x + pid * cols + at, v * w, mask=at < cols)


def from_another(x, y):
    rows, cols = x.shape
    from_another_kernel[(4,)](x, y, rows, cols, BLOCK=8)
    return x


@triton.jit
def behind_the_stored_kernel(x, cols, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + (pid + 4) * cols + at, mask=at < cols, other=0.0)
    w = tl.load(x + pid * cols + at, mask=at < cols, other=0.0)
    tl.store(x + pid * cols + at, v * w, mask=at < cols)


def behind_the_stored(x):
    behind_the_stored_kernel[(4,)](x, x.shape[1], BLOCK=8)
    return x


@triton.jit
def even_from_odd_kernel(x, cols, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + (2 * pid + 1) * cols + at, mask=at < cols, other=0.0)
    w = tl.load(x + 2 * pid * cols + at, mask=at < cols, other=0.0)
    tl.store(x + 2 * pid * cols + at, v * w, mask=at < cols)


def even_from_odd(x):
    even_from_odd_kernel[(3,)](x, x.shape[1], BLOCK=8)
    return x


@triton.jit
def one_program_kernel(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + n - 1 - at, mask=at < n, other=0.0)
    tl.debug_barrier()
    tl.store(x + at, v * v, mask=at < n)


def one_program(x):
    one_program_kernel[(1,)](x, x.numel(), BLOCK=32)
    return x


@triton.jit
def lower_from_upper_kernel(x, rows, cols, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + (rows - 1 - pid) * cols + at, mask=at < cols, other=0.0)
    w = tl.load(x + pid * cols + at, mask=at < cols, other=0.0)
    tl.store(x + pid * cols + at, v * w, mask=at < cols)


def lower_from_upper(x):
    rows, cols = x.shape
    lower_from_upper_kernel[(rows // 2,)](x, rows, cols, BLOCK=8)
    return x


@triton.jit
def both_axes_kernel(x, rows, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + cols - 1 - at, mask=at < cols, other=0.0)
    tl.store(x + row * cols + at, v * v, mask=at < cols)


def both_axes(x):
    rows, cols = x.shape
    both_axes_kernel[(rows, 2)](x, rows, cols, BLOCK=4)
    return x


@triton.jit
def by_keyword_kernel(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + n - 1 - at, mask=at < n, other=0.0)
    tl.store(x + at, v * v, mask=at < n)


def by_keyword(x):
    grid = lambda meta: (4,)
    by_keyword_kernel[grid](x=x, n=x.shape[0], BLOCK=8)
    return x
