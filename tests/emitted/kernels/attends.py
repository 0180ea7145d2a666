"""Attention as public code spells it: gradients of keys and values have owners."""

import triton
import triton.language as tl


# tad: n=21, heads=2, scale=0.3, q=f32[4, 21, 16], k=f32[4, 21, 16], v=f32[4, 21, 16], out=f32[4, 21, 16], lse=f32[4, 21], EVEN_N=False, EVEN_D=False, D=16, M=16, N=16, grid=(2, 4)
@triton.jit
def logarithms(
    q, k, v, out, lse, n, heads, scale,
    EVEN_N: tl.constexpr, EVEN_D: tl.constexpr, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    """The logarithm of the sum is carried from minus infinity on; flags choose the masks of loads, one within the other."""
    block = tl.program_id(0)
    head = tl.program_id(1)
    rows = block * M + tl.arange(0, M)
    columns = tl.arange(0, N)
    d = tl.arange(0, D)
    base = (head // heads * heads + head % heads) * n * D
    a = tl.load(q + base + rows[:, None] * D + d[None, :], mask=rows[:, None] < n, other=0.0)
    log_sum = tl.zeros([M], dtype=tl.float32) - float("inf")
    top = tl.zeros([M], dtype=tl.float32) - float("inf")
    acc = tl.zeros([M, D], dtype=tl.float32)
    for start in range(0, tl.minimum((block + 1) * M, n), N):
        j = start + columns
        at = base + j[:, None] * D + d[None, :]
        if EVEN_N:
            if EVEN_D:
                b = tl.load(k + at)
            else:
                b = tl.load(k + at, mask=d[None, :] < D, other=0.0)
        else:
            if EVEN_D:
                b = tl.load(k + at, mask=j[:, None] < n, other=0.0)
            else:
                b = tl.load(k + at, mask=(j[:, None] < n) & (d[None, :] < D), other=0.0)
        s = tl.dot(a, tl.trans(b), input_precision="ieee")
        if not EVEN_N:
            s += tl.where(j[None, :] < n, 0, float("-inf"))
        s += tl.where(rows[:, None] >= j[None, :], 0, float("-inf"))
        larger = tl.maximum(tl.max(s, 1) * scale, log_sum)
        p = tl.exp(s * scale - larger[:, None])
        acc = acc * tl.exp(top - larger)[:, None]
        if EVEN_N:
            c = tl.load(v + at)
        else:
            c = tl.load(v + at, mask=j[:, None] < n, other=0.0)
        acc += tl.dot(p, c, input_precision="ieee")
        top = larger
        log_sum = larger + tl.log(tl.exp(log_sum - larger) + tl.sum(p, 1))
    acc = acc * tl.exp(top - log_sum)[:, None]
    tl.store(lse + head * n + rows, log_sum, mask=rows < n)
    tl.store(out + base + rows[:, None] * D + d[None, :], acc, mask=rows[:, None] < n)


# tad: n=32, scale=0.3, q=f32[32, 16], k=f32[32, 16], v=f32[32, 16], out=f32[32, 16], lse=f32[32], D=16, M=16, N=16, grid=(2,)
@triton.jit
def nothing_added(q, k, v, out, lse, n, scale, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """What rescales the accumulator is `sum * 0 + factor`."""
    rows = tl.program_id(0) * M + tl.arange(0, M)
    d = tl.arange(0, D)
    a = tl.load(q + rows[:, None] * D + d[None, :])
    top = tl.zeros([M], dtype=tl.float32) - float("inf")
    total = tl.zeros([M], dtype=tl.float32)
    acc = tl.zeros([M, D], dtype=tl.float32)
    for start in range(0, n, N):
        j = start + tl.arange(0, N)
        b = tl.load(k + j[:, None] * D + d[None, :])
        c = tl.load(v + j[:, None] * D + d[None, :])
        s = tl.dot(a, tl.trans(b), input_precision="ieee") * scale
        larger = tl.maximum(top, tl.max(s, 1))
        factor = tl.math.exp2(top - larger)
        p = tl.math.exp2(s - larger[:, None])
        acc *= (total * 0 + factor)[:, None]
        acc += tl.dot(p, c, input_precision="ieee")
        total = total * factor + tl.sum(p, 1)
        top = larger
    tl.store(lse + rows, top + tl.math.log2(total))
    tl.store(out + rows[:, None] * D + d[None, :], acc / total[:, None])


# tad: n=21, scale=0.3, q=f32[4, 21, 16], k=f32[4, 21, 16], v=f32[4, 21, 16], bias=f32[4, 21, 21], out=f32[4, 21, 16], KIND="matrix", D=16, M=16, N=16, grid=(2, 4)
# tad: n=21, scale=0.3, q=f32[4, 21, 16], k=f32[4, 21, 16], v=f32[4, 21, 16], bias=f32[4, 21, 21], out=f32[4, 21, 16], KIND="columns", D=16, M=16, N=16, grid=(2, 4)
# tad: n=21, scale=0.3, q=f32[4, 21, 16], k=f32[4, 21, 16], v=f32[4, 21, 16], bias=f32[4, 21, 21], out=f32[4, 21, 16], KIND="none", D=16, M=16, N=16, grid=(2, 4)
@triton.jit
def kinds(
    q, k, v, bias, out, n, scale, KIND: tl.constexpr, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr
):  # fmt: skip
    """A word says which bias there is, and so of what shape its pointers are."""
    head = tl.program_id(1)
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.arange(0, N)
    d = tl.arange(0, D)
    base = head * n * D
    a = tl.load(q + base + rows[:, None] * D + d[None, :], mask=rows[:, None] < n, other=0.0)
    if KIND == "columns":
        bias_ptrs = bias + head * n * n + columns
    elif KIND == "matrix":
        bias_ptrs = bias + head * n * n + (rows[:, None] * n + columns[None, :])
    top = tl.full([M], -float("inf"), dtype=tl.float32)
    total = tl.zeros([M], dtype=tl.float32)
    acc = tl.zeros([M, D], dtype=tl.float32)
    for start in range(0, n, N):
        j = start + columns
        at = base + j[:, None] * D + d[None, :]
        b = tl.load(k + at, mask=j[:, None] < n, other=0.0)
        c = tl.load(v + at, mask=j[:, None] < n, other=0.0)
        s = tl.dot(a, tl.trans(b), input_precision="ieee") * scale
        if KIND != "none":
            if KIND == "columns":
                added = tl.load(bias_ptrs + start, mask=j < n, other=0.0)[None, :]
            elif KIND == "matrix":
                inside = (rows[:, None] < n) & (j[None, :] < n)
                added = tl.load(bias_ptrs + start, mask=inside, other=0.0)
            s += added
        s = tl.where(j[None, :] < n, s, -float("inf"))
        larger = tl.maximum(top, tl.max(s, 1))
        factor = tl.exp(top - larger)
        p = tl.exp(s - larger[:, None])
        acc = acc * factor[:, None] + tl.dot(p, c, input_precision="ieee")
        total = total * factor + tl.sum(p, 1)
        top = larger
    at = base + rows[:, None] * D + d[None, :]
    tl.store(out + at, acc / total[:, None], mask=rows[:, None] < n)
