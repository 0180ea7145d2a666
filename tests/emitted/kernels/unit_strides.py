"""Pointers that advance by a block as if a stride were 1, though the kernel is passed it."""

import triton
import triton.language as tl


# tad: m=20, n=24, k=37, a=f32[m, 2 * k] strides (128, 2), b=f32[k, n], out=f32[m, n], am=128, ak=2, M=16, N=16, K=16, grid=(2, 2)
@triton.jit
def blocks_that_overlap(
    a, b, out, am, ak, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    """Of columns two elements apart the blocks overlap: several iterations add to one element's gradient."""
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    a_ptrs = a + rows[:, None] * am + depth[None, :] * ak
    total = tl.zeros([M, N], dtype=tl.float32)
    for start in range(0, k, K):
        inside = start + depth < k
        left = tl.load(a_ptrs, mask=(rows[:, None] < m) & inside[None, :], other=0.0)
        right = tl.load(
            b + (start + depth)[:, None] * n + columns[None, :],
            mask=inside[:, None] & (columns[None, :] < n),
            other=0.0,
        )
        total += tl.dot(left, right)
        a_ptrs += K
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(out + rows[:, None] * n + columns[None, :], total, mask=mask)
