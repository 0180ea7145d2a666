"""Block pointers that begin in front of the first element: a row before the first one, in a loop and for the first program."""

import triton
import triton.language as tl


@triton.jit
def falling(x_ptr, v_ptr, y_ptr, N, T, B: tl.constexpr):
    at = tl.program_id(0) * B
    acc = tl.zeros([1, B], dtype=tl.float32)
    for t in range(T - 1, -1, -1):
        x_block = tl.make_block_ptr(x_ptr, (T, N), (N, 1), (t, at), (1, B), (1, 0))
        x = tl.load(x_block, boundary_check=(1,), padding_option="zero")
        v_block = tl.make_block_ptr(v_ptr, (T, N), (N, 1), (t - 1, at), (1, B), (1, 0))
        v = tl.load(v_block, boundary_check=(0, 1), padding_option="zero")
        acc = acc * v + x * x
        y_block = tl.make_block_ptr(y_ptr, (T, N), (N, 1), (t, at), (1, B), (1, 0))
        tl.store(y_block, acc * v, boundary_check=(1,))


@triton.jit
def from_a_row_before(x_ptr, y_ptr, N, T, B: tl.constexpr):
    at = tl.program_id(0) * B
    acc = tl.zeros([1, B], dtype=tl.float32)
    for t in range(-2, T):
        x_block = tl.make_block_ptr(x_ptr, (T, N), (N, 1), (t, at), (1, B), (1, 0))
        x = tl.load(x_block, boundary_check=(0, 1), padding_option="zero")
        acc += x * x
    y_block = tl.make_block_ptr(y_ptr, (1, N), (N, 1), (0, at), (1, B), (1, 0))
    tl.store(y_block, acc, boundary_check=(1,))


@triton.jit
def from_a_block_before(x_ptr, y_ptr, N, B: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros([B], dtype=tl.float32)
    for start in range(-B, N, B):
        x_block = tl.make_block_ptr(x_ptr + row * N, (N,), (1,), (start,), (B,), (0,))
        x = tl.load(x_block, boundary_check=(0,), padding_option="zero")
        acc += x * x
    tl.store(y_ptr + row * B + tl.arange(0, B), acc)


@triton.jit
def neighbours(x_ptr, y_ptr, N, B: tl.constexpr):
    at = tl.program_id(0) * B
    before = tl.make_block_ptr(x_ptr, (N,), (1,), (at - 1,), (B,), (0,))
    here = tl.make_block_ptr(x_ptr, (N,), (1,), (at,), (B,), (0,))
    a = tl.load(before, boundary_check=(0,), padding_option="zero")
    b = tl.load(here, boundary_check=(0,), padding_option="zero")
    y_block = tl.make_block_ptr(y_ptr, (N,), (1,), (at,), (B,), (0,))
    tl.store(y_block, a * b + a * a, boundary_check=(0,))
