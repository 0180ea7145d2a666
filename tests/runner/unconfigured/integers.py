"""Pointers that nothing but a sum in int32 says are of integers."""

import triton
import triton.language as tl


@triton.jit
def whole_accumulator(a_ptr, b_ptr, scale_ptr, out_ptr, K, EVEN: tl.constexpr, B: tl.constexpr):
    # What adds up in int32 is of integers, though nothing else says so of the pointers.
    i = tl.arange(0, B)
    a_ptrs = a_ptr + i[:, None] * K + i[None, :]
    b_ptrs = b_ptr + i[:, None] * B + i[None, :]
    total = tl.zeros((B, B), dtype=tl.int32)
    for k in range(0, K, B):
        if EVEN:
            a = tl.load(a_ptrs)
            b = tl.load(b_ptrs)
        else:
            a = tl.load(a_ptrs, mask=i[None, :] < K - k, other=0.0)
            b = tl.load(b_ptrs, mask=i[:, None] < K - k, other=0.0)
        total += tl.dot(a, b)
        a_ptrs += B
        b_ptrs += B * B
    scale = tl.load(scale_ptr + i).to(tl.float32)
    tl.store(out_ptr + i[:, None] * B + i[None, :], total.to(tl.float32) * scale[:, None])


@triton.jit
def product_and_sum(a_ptr, b_ptr, c_ptr, out_ptr, K, B: tl.constexpr):
    # `a` multiplies floats, too: it is of integers all the same, and has no gradient.
    i = tl.arange(0, B)
    total = tl.zeros((B, B), dtype=tl.int32)
    a = tl.load(a_ptr + i[:, None] * B + i[None, :])
    for k in range(0, K, B):
        b = tl.load(b_ptr + (i[:, None] + k) * B + i[None, :])
        total += tl.dot(a, b)
    x = tl.load(c_ptr + i[:, None] * B + i[None, :])
    tl.store(out_ptr + i[:, None] * B + i[None, :], x * a + total)
