"""One program id numbers the tiles of a grid of rows and columns, in several orders."""

import torch
import triton
import triton.language as tl


@triton.jit
def product(a, b, c, row, column, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = row * BM + tl.arange(0, BM)
    columns = column * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, k, BK):
        terms = start + tl.arange(0, BK)
        x = tl.load(
            a + rows[:, None] * k + terms, mask=(rows[:, None] < m) & (terms < k), other=0.0
        )
        y = tl.load(
            b + terms[:, None] * n + columns, mask=(terms[:, None] < k) & (columns < n), other=0.0
        )
        total += tl.dot(x, y)
    tl.store(c + rows[:, None] * n + columns, total, mask=(rows[:, None] < m) & (columns < n))


@triton.jit
def in_groups(
    a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, G: tl.constexpr
):
    tile = tl.program_id(0)
    down, across = tl.cdiv(m, BM), tl.cdiv(n, BN)
    size = G * across
    group = tile // size
    height = min(down - group * G, G)
    inner = tile - group * size
    row = inner % height + group * G
    product(a, b, c, row, inner // height, m, n, k, BM, BN, BK)


@triton.jit
def in_turned_groups(
    a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, G: tl.constexpr
):
    tile = tl.program_id(0)
    down, across = tl.cdiv(m, BM), tl.cdiv(n, BN)
    first = tile // (G * across) * G
    height = min(G, down - first)
    column = (tile % (G * across)) // height
    product(a, b, c, first + tile % height, column, m, n, k, BM, BN, BK)


@triton.jit
def row_by_row(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tile = tl.program_id(0)
    across = tl.cdiv(n, BN)
    product(a, b, c, tile // across, tile % across, m, n, k, BM, BN, BK)


@triton.jit
def column_by_column(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tile = tl.program_id(0)
    down = tl.cdiv(m, BM)
    column = tile // down
    product(a, b, c, tile - column * down, column, m, n, k, BM, BN, BK)


def launch_in_groups(a, b):
    c = a.new_empty(a.shape[0], b.shape[1])
    grid = (triton.cdiv(a.shape[0], 16) * triton.cdiv(b.shape[1], 16),)
    in_groups[grid](a, b, c, a.shape[0], b.shape[1], a.shape[1], BM=16, BN=16, BK=16, G=2)
    return c


def launch_in_turned_groups(a, b):
    c = a.new_empty(a.shape[0], b.shape[1])
    grid = (triton.cdiv(a.shape[0], 16) * triton.cdiv(b.shape[1], 16),)
    in_turned_groups[grid](a, b, c, a.shape[0], b.shape[1], a.shape[1], BM=16, BN=16, BK=16, G=2)
    return c


def launch_row_by_row(a, b):
    c = a.new_empty(a.shape[0], b.shape[1])
    grid = (triton.cdiv(a.shape[0], 16) * triton.cdiv(b.shape[1], 16),)
    row_by_row[grid](a, b, c, a.shape[0], b.shape[1], a.shape[1], BM=16, BN=16, BK=16)
    return c


def launch_column_by_column(a, b):
    c = a.new_empty(a.shape[0], b.shape[1])
    grid = (triton.cdiv(a.shape[0], 16) * triton.cdiv(b.shape[1], 16),)
    column_by_column[grid](a, b, c, a.shape[0], b.shape[1], a.shape[1], BM=16, BN=16, BK=16)
    return c
