"""Block pointers, which Triton 3.9 no longer has."""

import triton
import triton.language as tl


# tad: m=20, n=40, x=f32[m, n], out=f32[m], M=16, N=16, grid=(2,)
@triton.jit
def block_row_sums(x, out, m, n, M: tl.constexpr, N: tl.constexpr):
    pid = tl.program_id(0)
    block = tl.make_block_ptr(x, (m, n), (n, 1), (pid * M, 0), (M, N), (1, 0))
    total = tl.zeros([M], dtype=tl.float32)
    for _ in range(0, n, N):
        a = tl.load(block, boundary_check=(0, 1), padding_option="zero")
        total += tl.sum(a * a, axis=1)
        block = tl.advance(block, (0, N))
    i = pid * M + tl.arange(0, M)
    tl.store(out + i, total, mask=i < m)
