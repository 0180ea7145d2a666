"""Rows of one tensor behind those of another, by a branch on the program's number: both sides have the number of the order that they run in."""

# case: {"class": "branches", "call": "m.run(x, z)", "inputs": {"x": [3, 6], "z": [2, 6]}, "expect": "right"}
# case: {"call": "m.run(x, z)", "inputs": {"x": [1, 9], "z": [4, 9]}, "expect": "right"}

import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, z_ptr, y_ptr, N, NA, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.program_id(1) * B + tl.arange(0, B)
    if r < NA:
        v = tl.load(x_ptr + r * N + c, mask=c < N, other=0.0)
        tl.store(y_ptr + r * N + c, v * v, mask=c < N)
    else:
        v = tl.load(z_ptr + (r - NA) * N + c, mask=c < N, other=0.0)
        tl.store(y_ptr + r * N + c, v * v * v, mask=c < N)


def run(x, z):
    NA, N = x.shape
    y = torch.empty((NA + z.shape[0], N), dtype=x.dtype)
    k[(NA + z.shape[0], triton.cdiv(N, 4))](x, z, y, N, NA, B=4)
    return y
