"""Pointers that the kernel takes for pointers to floats of its own; nobody says what the tensors hold."""

import torch
import triton
import triton.language as tl


@triton.jit
def largest(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    x_ptr = x_ptr.to(tl.pointer_type(tl.float32))
    y_ptr = y_ptr.to(tl.pointer_type(tl.float32))
    block = tl.program_id(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=-float("inf"))
    tl.store(y_ptr + block, tl.max(x, axis=0))


@triton.jit
def exponentials(x_ptr, y_ptr, total, n, BLOCK: tl.constexpr):
    x_ptr = x_ptr.to(tl.pointer_type(tl.float32))
    y_ptr = y_ptr.to(tl.pointer_type(tl.float32))
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=-float("inf"))
    tl.store(y_ptr + at, tl.exp(x) / total, mask=at < n)


def shares(x, n):
    y = torch.empty_like(x)
    exponentials[(triton.cdiv(n, 16),)](x, y, 3.0, n, BLOCK=16)
    return y


def largest_of_blocks(x, n):
    y = torch.empty_like(x)
    largest[(triton.cdiv(n, 16),)](x, y, n, BLOCK=16)
    return y
