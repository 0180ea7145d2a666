"""What "Generate backward" writes below a kernel."""

import torch
import triton
import triton.language as tl


@triton.jit
def gate_kernel(x_ptr, gate_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    gate = tl.load(gate_ptr + offsets, mask=mask)
    tl.store(y_ptr + offsets, x * tl.sigmoid(gate), mask=mask)


def gate(x, gates):
    y = torch.empty_like(x)
    gate_kernel[(triton.cdiv(x.numel(), 1024),)](x, gates, y, x.numel(), BLOCK=1024)
    return y


@triton.jit
def sorted_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes)
    tl.store(y_ptr + lanes, tl.inline_asm_elementwise("nop", "=r,r", [x], tl.float32, True, 1))


def sort_them(x):
    y = torch.empty_like(x)
    sorted_kernel[(1,)](x, y, x.numel(), BLOCK=1024)
    return y


@triton.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, 2 * x * x, mask=offsets < n)


@triton.jit
def double_kernel_backward(x_ptr, dy_ptr, dx_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    dy = tl.load(dy_ptr + offsets, mask=offsets < n)
    tl.store(dx_ptr + offsets, 2 * dy, mask=offsets < n)
