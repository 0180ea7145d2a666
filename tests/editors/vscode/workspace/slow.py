"""A kernel whose check takes long: to be cancelled."""

import triton
import triton.language as tl


# tad: N=4096, K=4096, BLOCK=64
@triton.jit
def slow_kernel(a_ptr, b_ptr, c_ptr, N, K, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK, BLOCK], dtype=tl.float32)
    for k in range(0, K, BLOCK):
        inner = k + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + row[:, None] * K + inner[None, :])
        b = tl.load(b_ptr + inner[:, None] * N + column[None, :])
        total += tl.dot(a, b)
    tl.store(c_ptr + row[:, None] * N + column[None, :], tl.exp(total))
