"""Online softmaxes as people guard them: rows that see no key, masks that are added, scaled exponents."""

import triton
import triton.language as tl


# tad: m=5, n=21, x=f32[m, n], seen=i32[m, n], out=f32[m, n], M=8, B=8, grid=(1,)
@triton.jit
def guarded_rows(x, seen, out, m, n, M: tl.constexpr, B: tl.constexpr):
    """The maximum of a row without anything seen is -inf, and is not subtracted."""
    i = tl.arange(0, M)
    top = tl.full((M,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((M,), dtype=tl.float32)
    for start in range(0, n, B):
        j = start + tl.arange(0, B)
        inside = (i < m)[:, None] & (j < n)[None, :]
        at = i[:, None] * n + j[None, :]
        a = tl.load(x + at, mask=inside, other=0.0)
        s = tl.where(tl.load(seen + at, mask=inside, other=0) > 0, a, -float("inf"))
        larger = tl.maximum(top, tl.max(s, axis=1))
        safe = tl.where(larger == -float("inf"), 0.0, larger)
        total = total * tl.exp(top - safe) + tl.sum(tl.exp(s - safe[:, None]), axis=1)
        top = larger
    safe = tl.where(top == -float("inf"), 0.0, top)
    total = tl.where(total == 0.0, 1.0, total)
    for start in range(0, n, B):
        j = start + tl.arange(0, B)
        inside = (i < m)[:, None] & (j < n)[None, :]
        at = i[:, None] * n + j[None, :]
        a = tl.load(x + at, mask=inside, other=0.0)
        s = tl.where(tl.load(seen + at, mask=inside, other=0) > 0, a, -float("inf"))
        tl.store(out + at, tl.exp(s - safe[:, None]) / total[:, None], mask=inside)


# tad: n=19, scale=0.3, q=f32[n, 16], k=f32[n, 16], v=f32[n, 16], out=f32[n, 16], D=16, B=16, grid=(2,)
@triton.jit
def added_masks(q, k, v, out, n, scale, D: tl.constexpr, B: tl.constexpr):
    """Causal with a bias by distance; the mask is added, the exponents are of 2."""
    pid = tl.program_id(0)
    i = pid * B + tl.arange(0, B)
    d = tl.arange(0, D)
    a = tl.load(q + i[:, None] * D + d[None, :], mask=(i < n)[:, None], other=0.0)
    top = tl.zeros((B,), dtype=tl.float32) - float("inf")
    total = tl.zeros((B,), dtype=tl.float32)
    acc = tl.zeros((B, D), dtype=tl.float32)
    for start in range(0, (pid + 1) * B, B):
        j = start + tl.arange(0, B)
        b = tl.load(k + j[:, None] * D + d[None, :], mask=(j < n)[:, None], other=0.0)
        c = tl.load(v + j[:, None] * D + d[None, :], mask=(j < n)[:, None], other=0.0)
        s = tl.dot(a, tl.trans(b), input_precision="ieee") * scale
        s -= 0.1 * (i[:, None] - j[None, :])
        s += tl.where((i[:, None] >= j[None, :]) & (j[None, :] < n), 0, -float("inf"))
        larger = tl.maximum(top, tl.max(s, 1))
        p = tl.math.exp2((s - larger[:, None]) * 1.44269504)
        keep = tl.math.exp2((top - larger) * 1.44269504)
        total = total * keep + tl.sum(p, 1)
        acc = tl.dot(p.to(c.dtype), c, acc * keep[:, None], input_precision="ieee")
        top = larger
    tl.store(out + i[:, None] * D + d[None, :], acc / total[:, None], mask=(i < n)[:, None])


# tad: n=21, x=f32[n], seen=i32[n], out=f32[1], best=f32[1], B=8, grid=(1,)
@triton.jit
def guarded_maximum_seen(x, seen, out, best, n, B: tl.constexpr):
    """The guarded maximum is stored, too: a gradient flows through it."""
    top = -float("inf")
    total = 0.0
    for start in range(0, n, B):
        j = start + tl.arange(0, B)
        a = tl.load(x + j, mask=j < n, other=0.0)
        s = tl.where(tl.load(seen + j, mask=j < n, other=0) > 0, a, -float("inf"))
        larger = tl.maximum(top, tl.max(s, axis=0))
        safe = tl.where(larger == -float("inf"), 0.0, larger)
        total = total * tl.exp(top - safe) + tl.sum(tl.exp(s - safe), axis=0)
        top = larger
    safe = tl.where(top == -float("inf"), 0.0, top)
    tl.store(out, total)
    tl.store(best, safe * safe)
