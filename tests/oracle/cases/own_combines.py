"""Scans and reductions by functions of the user's own: sums that begin anew, sums that saturate, chances that add up."""

# case: {"class": "combines", "call": "m.groups(x, starts)", "inputs": {"x": [3, 5], "starts": {"shape": [3, 5], "dtype": "int32", "values": [0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0]}}}
# case: {"class": "combines", "call": "m.backwards(x, starts)", "inputs": {"x": [3, 5], "starts": {"shape": [3, 5], "dtype": "int32", "values": [0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0]}}}
# case: {"class": "combines", "call": "m.chances(x)", "inputs": {"x": [3, 13]}}
# case: {"class": "combines", "call": "m.chances(x)[1]", "inputs": {"x": {"shape": [2, 3], "values": [1, 0.5, 0.25, 1, 1, 0.5]}}}
# case: {"class": "combines", "call": "m.steps(x)", "inputs": {"x": [3, 9]}}

import torch
import triton
import triton.language as tl


@triton.jit
def begin_anew(f1, v1, f2, v2):
    return f1 | f2, tl.where(f2, v2, v1 + v2)


@triton.jit
def group_kernel(x_ptr, start_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
    starts = tl.load(start_ptr + row * n + cols, mask=cols < n, other=0)
    _, y = tl.associative_scan((starts, x * x), 0, begin_anew)
    tl.store(y_ptr + row * n + cols, y, mask=cols < n)


def groups(x, starts):
    y = torch.empty_like(x)
    group_kernel[(x.shape[0],)](x, starts, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y


@triton.jit
def two_at_once(v1, w1, f1, v2, w2, f2):
    v = tl.where(f2 > 0, v2, v1 + v2)
    w = tl.where(f2 > 0, w2, w1 + w2 + 0.25 * w1 * w2)
    return v, w, tl.maximum(f1, f2)


@triton.jit
def backwards_kernel(x_ptr, start_ptr, y_ptr, m, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, BLOCK)
    at = rows[:, None] * n + cols[None, :]
    mask = (rows < m)[:, None] & (cols < n)[None, :]
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    starts = tl.load(start_ptr + at, mask=mask, other=0).to(tl.int32)
    a, b, _ = tl.associative_scan((x * x, tl.sin(x), starts), 1, two_at_once, reverse=True)
    tl.store(y_ptr + at, a * b, mask=mask)


def backwards(x, starts):
    m, n = x.shape
    y = torch.empty_like(x)
    block = triton.next_power_of_2(n)
    backwards_kernel[(triton.cdiv(m, 2),)](x, starts, y, m, n, ROWS=2, BLOCK=block)
    return y


@triton.jit
def either(p, q):
    return p + q - p * q


@triton.jit
def chance_kernel(x_ptr, running_ptr, all_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
    tl.store(running_ptr + row * n + cols, tl.associative_scan(x, 0, either), mask=cols < n)
    tl.store(all_ptr + row, tl.reduce(x, 0, either))


def chances(x):
    m, n = x.shape
    running = torch.empty_like(x)
    whole = torch.empty(m, dtype=x.dtype, device=x.device)
    chance_kernel[(m,)](x, running, whole, n, BLOCK=triton.next_power_of_2(n))
    return running, whole


@triton.jit
def larger_and_product(a, p, b, q):
    return tl.maximum(a, b), p * q


@triton.jit
def step_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-1.0e9)
    factor = tl.where(cols < n, x + 1.5, 1.0)
    largest, product = tl.reduce((x, factor), 0, larger_and_product)
    tl.store(y_ptr + row, largest * product)


def steps(x):
    m, n = x.shape
    y = torch.empty(m, dtype=x.dtype, device=x.device)
    step_kernel[(m,)](x, y, n, BLOCK=triton.next_power_of_2(n))
    return y
