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


@triton.jit
def rows_of_an_optional(total, ptr, n, HAS: tl.constexpr, BLOCK: tl.constexpr):
    """Moves a block pointer that is there in some instances only."""
    if HAS:
        ptr = tl.advance(ptr, (0, 0))
    for _ in range(0, n, BLOCK):
        if HAS:
            tile = tl.load(ptr)
            total += tl.sum(tile * tile, 1)
            ptr = tl.advance(ptr, (0, BLOCK))
        total = total * 1.5
    return total


# tad: M=16, n=32, extra=f32[M, n], x=f32[M], out=f32[M], HAS=True, BLOCK=16, grid=(1,)
# tad: M=16, n=32, extra=f32[M, n], x=f32[M], out=f32[M], HAS=False, BLOCK=16, grid=(1,)
@triton.jit
def optional_block(x, extra, out, M, n, HAS: tl.constexpr, BLOCK: tl.constexpr):
    """A block pointer or None."""
    if HAS:
        ptr = tl.make_block_ptr(extra, (M, n), (n, 1), (0, 0), (BLOCK, BLOCK), (1, 0))
    else:
        ptr = None
    i = tl.arange(0, BLOCK)
    total = rows_of_an_optional(tl.load(x + i), ptr, n, HAS, BLOCK)
    tl.store(out + i, total)
