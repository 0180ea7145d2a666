"""Tensors that may be None, used where only some programs come by: without them that flag is one of no kernel."""

import triton
import triton.language as tl


@triton.jit
def products(
    x,
    w,
    out,
    N,
    K,
    stride,
    LOW=None,
    OUT_LOW=None,
    HAS_LOW: tl.constexpr = False,
    M: tl.constexpr = 16,
    BLOCK: tl.constexpr = 16,
):
    block = tl.program_id(0)
    rows, k = tl.arange(0, M), tl.arange(0, BLOCK)
    a = tl.load(x + rows[:, None] * K + k[None, :], mask=k[None, :] < K, other=0.0)
    if HAS_LOW:
        if block == tl.cdiv(N, BLOCK):
            low = tl.load(
                LOW + k[:, None] * stride + tl.arange(0, BLOCK)[None, :],
                mask=k[:, None] < K,
                other=0.0,
            )
            if low.dtype == tl.float32:
                h = tl.dot(a.to(tl.float32), low, input_precision="ieee")
            else:
                h = tl.dot(a.to(low.dtype), low)
            tl.store(OUT_LOW + rows[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :], h)
            return
    n = block * BLOCK + tl.arange(0, BLOCK)
    b = tl.load(
        w + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0
    )
    tl.store(out + rows[:, None] * N + n[None, :], tl.dot(a, b), mask=n[None, :] < N)
