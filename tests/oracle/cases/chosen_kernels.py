"""Which kernel a launch starts is known where it runs: by a flag, by branches, by an argument."""

# case: {"class": "flags", "call": "m.by_flag(x)", "inputs": {"x": [3, 5]}}
# case: {"call": "m.by_flag(x, True)", "inputs": {"x": [3, 5]}}
# case: {"call": "m.by_branches(x, 0)", "inputs": {"x": [3, 5]}}
# case: {"call": "m.by_branches(x, 1)", "inputs": {"x": [3, 5]}}
# case: {"call": "m.by_branches(x, 2)", "inputs": {"x": [3, 5]}}
# case: {"call": "m.default(x)", "inputs": {"x": [70]}}
# case: {"call": "m.default(x, 2.0)", "inputs": {"x": [70]}}
# case: {"call": "m.squares(x) + m.cubes(x) + m.squares(x * x)", "inputs": {"x": [3, 5]}}
# case: {"call": "m.in_place(x)", "inputs": {"x": [7]}}

import torch
import triton
import triton.language as tl


@triton.jit
def square(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, v * v, mask=i < n)


@triton.jit
def cube(source, to, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(source + i, mask=i < n)
    tl.store(to + i, v * v * v, mask=i < n)


@triton.jit
def sine(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.sin(tl.load(x + i, mask=i < n)), mask=i < n)


@triton.jit
def scaled(x, y, n, s, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, s * tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def doubled(y, y_too, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_too + i, 2 * tl.load(y + i, mask=i < n), mask=i < n)


def by_flag(x, cubic=False):
    y = torch.empty_like(x)
    run = cube if cubic else square
    run[(triton.cdiv(x.numel(), 8),)](x, y, x.numel(), B=8)
    return y


def by_branches(x, degree):
    y = torch.empty_like(x)
    if degree == 0:
        kernel = sine
    elif degree == 1:
        kernel = cube
    else:
        kernel = square
    grid = lambda meta: (triton.cdiv(x.numel(), meta["B"]),)
    kernel[grid](x, y, x.numel(), B=8)
    return y * x


def default(x, s=None):
    y = torch.empty_like(x)
    n = x.numel()
    kernel = sine
    if s is not None:
        scaled[(triton.cdiv(n, 16),)](x, y, n, s, B=16)
        return y
    kernel[(triton.cdiv(n, 16),)](x, y, n, B=16)
    return y


def start(kernel, x):
    y = torch.empty_like(x)
    launch = kernel[(triton.cdiv(x.numel(), 8),)]
    launch(x, y, x.numel(), B=8)
    return y


def squares(x):
    return start(square, x)


def cubes(x):
    return start(kernel=cube, x=x)


def in_place(x):
    y = x * 3
    kernel = square
    if x.numel() > 5:
        kernel = doubled
    kernel[(1,)](y, y, x.numel(), B=8)
    return y
