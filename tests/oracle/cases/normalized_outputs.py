"""What a row is divided by its sum is loaded from the output: uneven rows, padded rows, several loops, lanes, below the diagonal."""

# case: {"class": "softmaxes", "call": "m.row(x)", "inputs": {"x": [5, 37]}}
# case: {"class": "softmaxes", "call": "m.row(torch.nn.functional.pad(x, (0, 3))[:, :37])", "inputs": {"x": [5, 37]}}
# case: {"class": "softmaxes", "call": "m.row(x).t().contiguous() * m.row(x * 2.0)[:, :1].sum()", "inputs": {"x": [3, 16]}}
# case: {"class": "softmaxes", "call": "m.causal(x, 0.7)", "inputs": {"x": [2, 19, 19]}}
# case: {"class": "softmaxes", "call": "m.loops(x)", "inputs": {"x": [4, 45]}}
# case: {"class": "softmaxes", "call": "m.lanes(x)", "inputs": {"x": [4, 45]}}
# case: {"class": "softmaxes", "call": "m.lanes(x)", "inputs": {"x": [4, 5]}}
# case: {"class": "softmaxes", "call": "m.tiles(x)", "inputs": {"x": [6, 21]}}

import torch
import triton
import triton.language as tl


@triton.jit
def row_kernel(y_ptr, x_ptr, y_stride, x_stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * x_stride + cols, mask=cols < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * y_stride + cols, e / tl.sum(e, axis=0), mask=cols < n)


@triton.jit
def causal_kernel(x_ptr, y_ptr, scale, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    keep = (cols < n) & (cols <= pid % n)
    x = tl.load(x_ptr + pid * n + cols, mask=keep, other=-float("inf")) * scale
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + pid * n + cols, e / tl.sum(e, axis=0), mask=cols < n)


@triton.jit
def loops_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top = -float("inf")
    total = 0.0
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))
        higher = tl.maximum(top, tl.max(x, axis=0))
        total = total * tl.exp2((top - higher) * 1.4426950408889634)
        total += tl.sum(tl.exp2((x - higher) * 1.4426950408889634), axis=0)
        top = higher
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
        y = tl.exp2((x - top) * 1.4426950408889634) / total
        tl.store(y_ptr + row * n + cols, y, mask=cols < n)


@triton.jit
def lanes_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top = tl.full([BLOCK], -float("inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))
        higher = tl.maximum(x, top)
        empty = higher == -float("inf")
        total = tl.where(empty, total, total * tl.exp(top - higher) + tl.exp(x - higher))
        top = higher
    of_all = tl.max(top, axis=0)
    lse = of_all + tl.log(tl.sum(total * tl.exp(top - of_all), axis=0))
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n)
        tl.store(y_ptr + row * n + cols, x - lse, mask=cols < n)


@triton.jit
def tiles_kernel(x_ptr, y_ptr, rows, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, BLOCK)
    at = r[:, None] * n + cols[None, :]
    mask = (r[:, None] < rows) & (cols[None, :] < n)
    x = tl.load(x_ptr + at, mask=mask, other=-1e30)
    x -= tl.max(x, axis=1)[:, None]
    tl.store(y_ptr + at, x - tl.log(tl.sum(tl.exp(x), axis=1))[:, None], mask=mask)


def row(x):
    rows, n = x.shape
    y = torch.empty(rows, n, dtype=x.dtype, device=x.device)
    row_kernel[(rows,)](y, x, y.stride(0), x.stride(0), n, BLOCK=triton.next_power_of_2(n))
    return y


def causal(x, scale):
    n = x.shape[-1]
    y = torch.empty_like(x)
    causal_kernel[(x.numel() // n,)](x, y, scale, n, BLOCK=triton.next_power_of_2(n))
    return y


def loops(x):
    y = torch.empty_like(x)
    loops_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=16)
    return y


def lanes(x):
    y = torch.empty_like(x)
    lanes_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=16)
    return y


def tiles(x):
    rows, n = x.shape
    y = torch.empty_like(x)
    tiles_kernel[(triton.cdiv(rows, 4),)](x, y, rows, n, ROWS=4, BLOCK=triton.next_power_of_2(n))
    return y
