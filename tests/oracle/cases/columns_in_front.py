"""Rows that a mask begins later, and blocks from the last to the first: tensors in another order have gradients, too."""

# case: {"class": "indices", "call": "m.padded(x)", "inputs": {"x": [6, 4]}, "expect": "right"}
# case: {"call": "m.padded(x.t())", "inputs": {"x": [5, 9]}, "expect": "right"}
# case: {"call": "m.falling(x, w)", "inputs": {"x": [4, 9], "w": [9]}, "expect": "right"}
# case: {"call": "m.falling(x[:, :5], w)", "inputs": {"x": [4, 9], "w": [9]}, "expect": "right"}
# case: {"call": "m.falling(x, w)", "inputs": {"x": [1, 1], "w": [9]}, "expect": "right"}

import torch
import triton
import triton.language as tl


@triton.jit
def padded_kernel(x, o, rows, columns, N, M, s0, s1, BLOCK: tl.constexpr):
    row = (tl.program_id(0) * 4 + tl.arange(0, 4))[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    ok = (row < rows) & (column < columns)
    v = tl.load(
        x + (row - 1) * s0 + (M - 1 - column) * s1,
        mask=ok & (row >= 1) & (row < N + 1),
        other=0.0,
    )
    tl.store(o + row * columns + column, v * 2.5, mask=ok)


def padded(x):
    N, M = x.shape
    y = torch.empty(N + 3, M, dtype=x.dtype, device=x.device)
    grid = (triton.cdiv(N + 3, 4),)
    block = triton.next_power_of_2(M)
    padded_kernel[grid](x, y, y.shape[0], y.shape[1], N, M, x.stride(0), x.stride(1), BLOCK=block)
    return y


@triton.jit
def falling_kernel(x, w, y, M, N, step, BLOCK: tl.constexpr):
    for row in range(tl.program_id(0), M, tl.num_programs(0)):
        for start in range((tl.cdiv(N, BLOCK) - 1) * BLOCK, -1, -BLOCK):
            cols = start + tl.arange(0, BLOCK)
            v = tl.load(x + row * step + cols, mask=cols < N, other=0.0)
            u = tl.load(w + cols, mask=cols < N, other=0.0)
            tl.store(y + row * N + cols, v * v * u, mask=cols < N)


def falling(x, w):
    M, N = x.shape
    y = torch.empty(M, N, dtype=x.dtype)
    falling_kernel[(3,)](x, w, y, M, N, x.stride(0), BLOCK=4)
    return y
