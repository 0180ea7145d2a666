"""Flags by which callers say that no tile is cut: programs reach into the next row where one is."""

import triton
import triton.language as tl


@triton.jit
def scaled_rows(x_ptr, w_ptr, y_ptr, N, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    """Only whole tiles are loaded without a mask."""
    row = tl.program_id(0)
    for start in range(0, N, BLOCK):
        column = start + tl.arange(0, BLOCK)
        w = tl.load(w_ptr + column, mask=column < N, other=0.0)
        if EVEN:
            x = tl.load(x_ptr + row * N + column)
        else:
            x = tl.load(x_ptr + row * N + column, mask=column < N, other=0.0)
        tl.store(y_ptr + row * N + column, x * x * w, mask=column < N)


@triton.heuristics({"EVEN": lambda a: a["N"] % a["BN"] == 0})
@triton.jit
def column_energies(x_ptr, s_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr, EVEN: tl.constexpr):
    """The flag is computed, and the mask is put together."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = row[:, None] < M
    if not EVEN:
        mask = mask & (column[None, :] < N)
    x = tl.load(x_ptr + row[:, None] * N + column[None, :], mask=mask, other=0.0)
    tl.atomic_add(s_ptr + column, tl.sum(x * x, axis=0), mask=column < N)
