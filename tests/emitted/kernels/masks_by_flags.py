"""Elements that do not count where a flag chooses the mask, and where a loop begins with -inf in each of many splits."""

import triton
import triton.language as tl


# tad: x=f32[5, 37], tgt=i32[5] in range(0, 37), part=f32[3, 3, 5], n=37, rows=5, width=13, BLOCK=8, grid=(5, 3)
@triton.jit
def entropy_of_splits(x, tgt, part, n, rows, width, BLOCK: tl.constexpr):
    """The first block meets no sum yet: its share is where(0 > 0, -inf * 0, 0)."""
    row = tl.program_id(0)
    split = tl.program_id(1)
    cols = tl.arange(0, BLOCK)
    first = split * width
    end = tl.minimum(first + width, n)
    m = tl.full((), -float("inf"), tl.float32)
    s = tl.zeros((), tl.float32)
    a = tl.zeros((), tl.float32)
    own = tl.zeros((), tl.float32)
    t = tl.load(tgt + row)
    here = (t >= first) & (t < end)
    for start in range(first, end, BLOCK):
        ok = start + cols < end
        v = tl.load(x + row * n + start + cols, mask=ok, other=0.0)
        z = tl.where(ok, v * 2.0, -float("inf"))
        top = tl.maximum(m, tl.max(z, axis=0))
        r = tl.exp(m - top)
        e = tl.exp(z - top)
        shift = tl.where(s + own > 0, (m - top) * (s + own), 0.0)
        a = r * (a + shift) + tl.sum(tl.where(ok, e * (z - top), 0.0), axis=0)
        total = tl.sum(e, axis=0)
        inside = here & (t >= start) & (t < start + BLOCK)
        s = s * r + tl.where(inside, 0.0, total)
        own = own * r + tl.where(inside, total, 0.0)
        m = top
    at = part + split * rows * 3 + row
    tl.store(at, m)
    tl.store(at + rows, s)
    tl.store(at + 2 * rows, a)


# tad: n=5, D=8, seen=19, scale=0.5, q=f32[n, D], k=f32[32, D], v=f32[32, D], o=f32[n, D], CAUSAL=True, RAGGED=True, CH=8, BN=16, grid=(1,)
# tad: n=21, D=8, seen=19, scale=0.5, q=f32[n, D], k=f32[32, D], v=f32[32, D], o=f32[n, D], CAUSAL=False, RAGGED=True, CH=8, BN=16, grid=(3,)
# tad: n=21, D=8, seen=32, scale=0.5, q=f32[n, D], k=f32[32, D], v=f32[32, D], o=f32[n, D], CAUSAL=True, RAGGED=False, CH=8, BN=16, grid=(3,)
@triton.jit
def attention_by_flags(
    q,
    k,
    v,
    o,
    n,
    seen,
    scale,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    RAGGED: tl.constexpr,
    CH: tl.constexpr,
    BN: tl.constexpr,
):
    """Rows beyond the last have no key, and a flag says whether their store needs its mask."""
    rows = tl.program_id(0) * CH + tl.arange(0, CH)
    d = tl.arange(0, D)
    c = tl.arange(0, BN)
    own = rows[:, None] < n
    needs = True
    if RAGGED:
        needs = (tl.program_id(0) + 1) * CH > n
    at = rows[:, None] * D + d[None, :]
    q_tile = tl.load(q + at, mask=own, other=0.0)
    acc = tl.zeros([CH, D], tl.float32)
    m = tl.full([CH], -float("inf"), tl.float32)
    total = tl.zeros([CH], tl.float32)
    for start in range(0, 32, BN):
        keys = start + c
        k_tile = tl.load(k + keys[None, :] * D + d[:, None], mask=keys[None, :] < seen, other=0.0)
        s = scale * tl.dot(q_tile, k_tile, input_precision="ieee")
        mask = own & (keys[None, :] < seen)
        if CAUSAL:
            mask = mask & (rows[:, None] >= keys[None, :])
        s = tl.where(mask, s, -float("inf"))
        top = tl.maximum(m, tl.max(s, axis=1))
        p = tl.where(mask, tl.exp(s - top[:, None]), 0.0)
        alpha = tl.exp(m - top)
        v_tile = tl.load(v + keys[:, None] * D + d[None, :], mask=keys[:, None] < seen, other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p, v_tile, input_precision="ieee")
        total = total * alpha + tl.sum(p, axis=1)
        m = top
    acc = acc / total[:, None]
    if RAGGED:
        if needs:
            tl.store(o + at, acc, mask=own)
        else:
            tl.store(o + at, acc)
    else:
        tl.store(o + at, acc, mask=own)


# tad: n=5, D=8, seen=19, scale=0.5, q=f32[n, D], k=f32[32, D], v=f32[32, D], o=f32[n, D], CAUSAL=True, CH=8, BN=16, grid=(1,)
@triton.jit
def mask_by_flag(
    q,
    k,
    v,
    o,
    n,
    seen,
    scale,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    CH: tl.constexpr,
    BN: tl.constexpr,
):
    """The mask is what a branch left of it: whole rows may be beyond."""
    rows = tl.program_id(0) * CH + tl.arange(0, CH)
    d = tl.arange(0, D)
    c = tl.arange(0, BN)
    own = (rows < n)[:, None]
    at = rows[:, None] * D + d[None, :]
    q_tile = tl.load(q + at, mask=own, other=0.0)
    acc = tl.zeros([CH, D], tl.float32)
    m = tl.full([CH], -float("inf"), tl.float32)
    total = tl.zeros([CH], tl.float32)
    for start in range(0, 32, BN):
        keys = start + c
        k_tile = tl.load(k + keys[None, :] * D + d[:, None], mask=keys[None, :] < seen, other=0.0)
        s = scale * tl.dot(q_tile, k_tile, input_precision="ieee")
        mask = own & (keys[None, :] < seen)
        if CAUSAL:
            mask = mask & (rows[:, None] >= keys[None, :])
        s = tl.where(mask, s, -float("inf"))
        top = tl.maximum(m, tl.max(s, axis=1))
        p = tl.where(mask, tl.exp(s - top[:, None]), 0.0)
        alpha = tl.exp(m - top)
        v_tile = tl.load(v + keys[:, None] * D + d[None, :], mask=keys[:, None] < seen, other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p, v_tile, input_precision="ieee")
        total = total * alpha + tl.sum(p, axis=1)
        m = top
    tl.store(o + at, acc / total[:, None], mask=own)
