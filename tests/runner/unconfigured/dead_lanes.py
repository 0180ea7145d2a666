"""Lanes that the forward leaves out hold infinities: their gradients are 0 all the same."""

import triton
import triton.language as tl


@triton.jit
def divergence(p_ptr, q_ptr, y_ptr, n, B: tl.constexpr):
    at = tl.arange(0, B)
    row = tl.program_id(0)
    p = tl.load(p_ptr + row * n + at, mask=at < n, other=float("-inf"))
    q = tl.load(q_ptr + row * n + at, mask=at < n, other=float("-inf"))
    p -= tl.max(p)
    q -= tl.max(q)
    p -= tl.log(tl.sum(tl.exp(p)))
    q -= tl.log(tl.sum(tl.exp(q)))
    tl.store(y_ptr + row, tl.sum(tl.where(at < n, tl.exp(p) * (p - q), 0.0)))


@triton.jit
def steep(x_ptr, y_ptr, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0) * 2000.0
    tl.store(y_ptr + at, tl.where(x > 20.0, x, tl.log(1.0 + tl.exp(x))), mask=at < n)


@triton.jit
def ratio(a_ptr, b_ptr, y_ptr, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(a_ptr + at, mask=at < n, other=0.0)
    b = tl.load(b_ptr + at, mask=at < n, other=0.0)
    b = tl.where(b > 0.0, b, 0.0)
    tl.store(y_ptr + at, tl.where(b > 0.0, a / b, a), mask=at < n)


# Of several programs the last one stores what its masked-off lanes read; a single one has none.
@triton.jit
def stored_whole(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * (2 * B) + tl.arange(0, 2 * B)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, x * x)


@triton.jit
def stored_in_whole_chunks(
    x_ptr, starts_ptr, y_ptr, T, H: tl.constexpr, B: tl.constexpr, VARIES: tl.constexpr
):
    chunk, head = tl.program_id(0), tl.program_id(1)
    first = 0
    if VARIES:
        first = tl.load(starts_ptr + chunk)
        T = tl.load(starts_ptr + chunk + 1) - first
    x_block = tl.make_block_ptr(
        x_ptr + first * H + head, (T, 1), (H, 1), (chunk * B, 0), (B, 1), (1, 0)
    )
    y_block = tl.make_block_ptr(
        y_ptr + first * H + head, (T, 1), (H, 1), (chunk * B, 0), (B, 1), (1, 0)
    )
    x = tl.load(x_block, boundary_check=(0, 1))
    tl.store(y_block, x + tl.sum(x * x), boundary_check=(0, 1))
