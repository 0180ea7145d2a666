"""Two ids of the grid together number its own tiles in another order."""

import torch
import triton
import triton.language as tl


@triton.jit
def product(a, b, c, row, column, m, n, k, B: tl.constexpr):
    rows = row * B + tl.arange(0, B)
    columns = column * B + tl.arange(0, B)
    total = tl.zeros((B, B), dtype=tl.float32)
    for start in range(0, k, B):
        terms = start + tl.arange(0, B)
        x = tl.load(
            a + rows[:, None] * k + terms, mask=(rows[:, None] < m) & (terms < k), other=0.0
        )
        y = tl.load(
            b + terms[:, None] * n + columns, mask=(terms[:, None] < k) & (columns < n), other=0.0
        )
        total += tl.dot(x, y)
    tl.store(c + rows[:, None] * n + columns, total, mask=(rows[:, None] < m) & (columns < n))


@triton.jit
def turned_grid(a, b, c, m, n, k, B: tl.constexpr, G: tl.constexpr):
    i, j = tl.program_id(1).to(tl.int64), tl.program_id(0).to(tl.int64)
    row, column = tl.swizzle2d(i, j, tl.num_programs(1), tl.num_programs(0), G)
    product(a, b, c, row, column, m, n, k, B)


@triton.jit
def id_beside(a, b, c, done, m, n, k, B: tl.constexpr, G: tl.constexpr):
    """The id itself is seen, too."""
    i, j = tl.program_id(0), tl.program_id(1)
    row, column = tl.swizzle2d(i, j, tl.num_programs(0), tl.num_programs(1), G)
    product(a, b, c, row, column, m, n, k, B)
    tl.store(done + i * tl.num_programs(1) + j, row)


@triton.jit
def other_grid(a, b, c, m, n, k, B: tl.constexpr, G: tl.constexpr):
    """In groups of what there are of tiles, which may be more than the grid has."""
    i, j = tl.program_id(0), tl.program_id(1)
    row, column = tl.swizzle2d(i, j, tl.cdiv(m, B), tl.cdiv(n, B), G)
    product(a, b, c, row, column, m, n, k, B)


def run_turned_grid(a, b):
    (m, k), n = a.shape, b.shape[1]
    c = a.new_empty(m, n)
    turned_grid[(triton.cdiv(n, 16), triton.cdiv(m, 16))](a, b, c, m, n, k, B=16, G=2)
    return c


def run_id_beside(a, b):
    (m, k), n = a.shape, b.shape[1]
    c = a.new_empty(m, n)
    grid = (triton.cdiv(m, 16), triton.cdiv(n, 16))
    done = torch.empty(grid, device=a.device, dtype=torch.int32)
    id_beside[grid](a, b, c, done, m, n, k, B=16, G=2)
    return c


def run_other_grid(a, b):
    (m, k), n = a.shape, b.shape[1]
    c = a.new_empty(m, n)
    grid = (triton.cdiv(m, 16), triton.cdiv(n, 16))
    other_grid[grid](a, b, c, m, n, k, B=16, G=2)
    return c
