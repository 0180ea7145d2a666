"""Tensors that launches turn around in place, in loops over launches and with grids of their own."""

# case: {"class": "turned in place", "call": "m.squares(x)", "inputs": {"x": [13]}}
# case: {"class": "turned in place", "call": "m.squares_of(x)", "inputs": {"x": {"shape": [13], "in_place": true}}}
# case: {"class": "turned in place", "call": "m.in_blocks(x)", "inputs": {"x": [13]}}
# case: {"class": "turned in place", "call": "m.rows_of(x)", "inputs": {"x": [3, 13]}}
# case: {"class": "turned in place", "call": "m.exchanged(x)", "inputs": {"x": [14]}}
# case: {"class": "turned in place", "call": "m.looped(x)", "inputs": {"x": [29]}}
# case: {"class": "turned in place", "call": "m.ping(x)", "inputs": {"x": [13]}}
# case: {"class": "turned in place", "call": "m.wide(x)", "inputs": {"x": {"shape": [13], "in_place": true}}}
# case: {"class": "turned in place", "call": "m.counted(x, 3)", "inputs": {"x": [13]}}
# case: {"class": "turned in place", "call": "m.until(x)", "inputs": {"x": [13]}}
# case: {"class": "turned in place", "call": "m.grids(x)", "inputs": {"x": [29]}, "expect": "refused"}
# case: {"class": "turned in place", "call": "m.two_dim(x)", "inputs": {"x": [5, 6]}}
# case: {"class": "turned in place", "call": "m.transposed_one(x)", "inputs": {"x": [6, 6]}}
# case: {"class": "turned in place", "call": "m.one_name(x)", "inputs": {"x": [13]}}
# case: {"class": "turned in place", "call": "m.one_name_twice(x)", "inputs": {"x": [13]}}
# case: {"class": "turned in place", "call": "m.rows_literal(x)", "inputs": {"x": [2, 13]}}
# case: {"class": "turned in place", "call": "m.rows_beyond(x)", "inputs": {"x": [4, 13]}}
# case: {"class": "turned in place", "call": "m.doubling(x)", "inputs": {"x": [16]}}
# case: {"class": "turned in place", "call": "m.butterfly(x)", "inputs": {"x": [16]}}
import torch
import triton
import triton.language as tl


@triton.jit
def square(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + n - 1 - offs, mask=mask, other=0.0)
    tl.store(y_ptr + offs, x * x + 0.1, mask=mask)


def squares(x):
    x = x.clone()
    for _ in range(2):
        square[(1,)](x, x, x.shape[0], BLOCK=16)
    return x


def squares_of(x):
    for _ in range(2):
        square[(1,)](x, x, x.shape[0], BLOCK=16)
    return x


def ping(x):
    y = torch.empty_like(x)
    z = torch.empty_like(x)
    square[(1,)](x, y, x.shape[0], BLOCK=16)
    for _ in range(2):
        square[(1,)](y, z, x.shape[0], BLOCK=16)
        square[(1,)](z, y, x.shape[0], BLOCK=16)
    return y


def wide(x):
    for _ in range(2):
        square[(1,)](x, x, x.shape[0], BLOCK=64)
    return x


def counted(x, n):
    x = x.clone()
    for _ in range(n):
        square[(1,)](x, x, x.shape[0], BLOCK=16)
    return x


def until(x):
    x = x.clone()
    steps = 0
    while steps < 2:
        square[(1,)](x, x, x.shape[0], BLOCK=16)
        steps += 1
    return x


@triton.jit
def block_reverse(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + n - 1 - offs, mask=mask, other=0.0)
    tl.store(y_ptr + offs, tl.sin(x), mask=mask)


def in_blocks(x):
    x = x.clone()
    for _ in range(2):
        block_reverse[(1,)](x, x, x.shape[0], BLOCK=16)
    return x


def grids(x):
    x = x.clone()
    for _ in range(2):
        block_reverse[(2,)](x, x, x.shape[0], BLOCK=16)
    return x


def rows_of(x):
    x = x.clone()
    for i in range(3):
        square[(1,)](x[i], x[i], x.shape[1], BLOCK=16)
    return x


@triton.jit
def exchange(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    mask = offs < n // 2
    a = tl.load(x_ptr + offs, mask=mask, other=0.0)
    b = tl.load(x_ptr + n - 1 - offs, mask=mask, other=0.0)
    tl.store(x_ptr + offs, b * 2.0, mask=mask)
    tl.store(x_ptr + n - 1 - offs, a * b, mask=mask)


def exchanged(x):
    x = x.clone()
    for _ in range(2):
        exchange[(1,)](x, x.shape[0], BLOCK=16)
    return x


@triton.jit
def loop_reverse(x_ptr, n, BLOCK: tl.constexpr):
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < n
        x = tl.load(x_ptr + n - 1 - offs, mask=mask, other=0.0)
        tl.store(x_ptr + offs, x * 0.5, mask=mask)


def looped(x):
    x = x.clone()
    loop_reverse[(1,)](x, x.shape[0], BLOCK=8)
    return x


@triton.jit
def turn(x_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.arange(0, BM)[:, None]
    c = tl.arange(0, BN)[None, :]
    mask = (r < M) & (c < N)
    x = tl.load(x_ptr + (M - 1 - r) * N + (N - 1 - c), mask=mask, other=0.0)
    tl.store(y_ptr + r * N + c, x * x, mask=mask)


def two_dim(x):
    x = x.clone()
    M, N = x.shape
    for _ in range(2):
        turn[(1,)](x, x, M, N, 8, 8)
    return x


@triton.jit
def flip_over(x_ptr, y_ptr, M, BM: tl.constexpr):
    r = tl.arange(0, BM)[:, None]
    c = tl.arange(0, BM)[None, :]
    mask = (r < M) & (c < M)
    x = tl.load(x_ptr + c * M + r, mask=mask, other=0.0)
    tl.store(y_ptr + r * M + c, x * (1.0 + r), mask=mask)


def transposed_one(x):
    x = x.clone()
    for _ in range(2):
        flip_over[(1,)](x, x, x.shape[0], 8)
    return x


@triton.jit
def own(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + n - 1 - offs, mask=mask, other=0.0)
    tl.store(x_ptr + offs, tl.exp(x * 0.3), mask=mask)


def one_name(x):
    x = x.clone()
    own[(1,)](x, x.shape[0], BLOCK=16)
    return x


def one_name_twice(x):
    x = x.clone()
    for _ in range(2):
        own[(1,)](x, x.shape[0], BLOCK=16)
    return x


@triton.jit
def row_turn(x_ptr, y_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + row * stride + n - 1 - offs, mask=mask, other=0.0)
    tl.store(y_ptr + row * stride + offs, x * x, mask=mask)


def rows_literal(x):
    x = x.clone()
    for _ in range(2):
        row_turn[(2,)](x, x, x.stride(0), x.shape[1], BLOCK=16)
    return x


def rows_beyond(x):
    x = x.clone()
    for _ in range(2):
        row_turn[(2,)](x, x, x.stride(0), x.shape[1], BLOCK=16)
    return x


@triton.jit
def scan_step(x_ptr, y_ptr, n, step, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    before = tl.load(x_ptr + offs - step, mask=mask & (offs >= step), other=0.0)
    tl.store(y_ptr + offs, x + before * 0.5, mask=mask)


def doubling(x):
    x = x.clone()
    step = 1
    while step < 16:
        scan_step[(1,)](x, x, x.shape[0], step, BLOCK=16)
        step *= 2
    return x


@triton.jit
def fly(x_ptr, y_ptr, n, bit, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    other = tl.load(x_ptr + (offs ^ bit))
    tl.store(y_ptr + offs, x + other * x)


def butterfly(x):
    x = x.clone()
    for bit in (1, 2, 4, 8):
        fly[(1,)](x, x, x.shape[0], bit, BLOCK=16)
    return x
