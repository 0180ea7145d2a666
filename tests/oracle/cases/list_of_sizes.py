"""A list of sizes whose item the launcher assigns: from then on it is that."""

# case: {"class": "views", "call": "m.run(x)", "inputs": {"x": [3, 5, 14]}}
# case: {"call": "m.run(x.transpose(0, 1).contiguous()).sum(0)", "inputs": {"x": [3, 5, 6]}}

import torch
import triton
import triton.language as tl


@triton.jit
def halves_kernel(x_ptr, y_ptr, n, width, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row, col = i // width, i % width
    gate = tl.load(x_ptr + row * 2 * width + col, mask=i < n)
    up = tl.load(x_ptr + row * 2 * width + width + col, mask=i < n)
    tl.store(y_ptr + i, gate * up, mask=i < n)


def run(x):
    shape = list(x.shape)
    shape[-1] = shape[-1] // 2
    y = torch.empty(shape, device=x.device, dtype=x.dtype)
    n = y.numel()
    halves_kernel[(triton.cdiv(n, 128),)](x, y, n, shape[-1], BLOCK=128)
    return y
