"""Gradients that several programs share, summed by kernels whose programs own the elements: the bounds that they solve, what they
read of each program of the forward, and what stays as it is."""

import torch
import triton
import triton.language as tl


# tad: n=37, m=29, width=11, z=2, x=f32[z, m, 16], w=f32[z, n, 16], v=f32[z, n, 16], out=f32[z, m, 16], B=16, C=8, D=16, grid=(2, 2)
@triton.jit
def ahead(x, w, v, out, m, n, width, B: tl.constexpr, C: tl.constexpr, D: tl.constexpr):
    """Each row sees the columns up to `width` behind it: the first program with a column is solved for."""
    row = tl.program_id(0)
    i = row * B + tl.arange(0, B)
    d = tl.arange(0, D)
    above = tl.program_id(1) * m * D
    beside = tl.program_id(1) * n * D
    a = tl.load(x + above + i[:, None] * D + d[None, :], mask=i[:, None] < m, other=0.0)
    acc = tl.zeros([B, D], dtype=tl.float32)
    for start in range(0, tl.minimum(n, (row + 1) * B + width), C):
        j = start + tl.arange(0, C)
        b = tl.load(w + beside + j[:, None] * D + d[None, :], mask=j[:, None] < n, other=0.0)
        c = tl.load(v + beside + j[:, None] * D + d[None, :], mask=j[:, None] < n, other=0.0)
        s = tl.sum(a[:, None, :] * b[None, :, :], axis=2)
        seen = (j[None, :] < n) & (j[None, :] < i[:, None] + width)
        s = tl.where(seen, tl.sigmoid(s), 0.0)
        acc += tl.sum(s[:, :, None] * c[None, :, :], axis=1)
    tl.store(out + above + i[:, None] * D + d[None, :], acc, mask=i[:, None] < m)


# tad: n=37, m=29, b=2, x=f32[b, m, n], bias=f32[n], scale=f32[n], out=f32[b, m], B=16, C=8, HAS_SCALE=True, grid=(2, 2)
@triton.jit
def for_all(x, bias, scale, out, m, n, B: tl.constexpr, C: tl.constexpr, HAS_SCALE: tl.constexpr):
    """Programs of both axes share a row of numbers; one of them is optional."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    batch = tl.program_id(1)
    acc = tl.zeros([B], dtype=tl.float32)
    for start in range(0, n, C):
        j = start + tl.arange(0, C)
        mask = (i[:, None] < m) & (j[None, :] < n)
        a = tl.load(x + batch * m * n + i[:, None] * n + j[None, :], mask=mask, other=0.0)
        a += tl.load(bias + j, mask=j < n, other=0.0)[None, :]
        if HAS_SCALE:
            a *= tl.load(scale + j, mask=j < n, other=0.0)[None, :]
        acc += tl.sum(tl.where(mask, a * a, 0.0), axis=1)
    tl.store(out + batch * m + i, acc, mask=i < m)


# tad: b=3, t=24, x=f32[b, t, 8], w=f32[b, t, 8], ends=i32[b] in (9, 24, 1), out=f32[b, t, 8], B=8, D=8, grid=(3, 3)
@triton.jit
def ragged(x, w, ends, out, t, B: tl.constexpr, D: tl.constexpr):
    """How far the loop goes is in memory, and the same for all programs that share."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    batch = tl.program_id(1)
    d = tl.arange(0, D)
    end = tl.load(ends + batch)
    a = tl.load(x + (batch * t + i[:, None]) * D + d[None, :])
    acc = tl.zeros([B, D], dtype=tl.float32)
    top = tl.full([B], -1.0e30, dtype=tl.float32)
    for start in range(0, end, B):
        j = start + tl.arange(0, B)
        b = tl.load(w + (batch * t + j[:, None]) * D + d[None, :], mask=j[:, None] < end, other=0.0)
        s = tl.sum(a[:, None, :] * b[None, :, :], axis=2)
        acc += tl.sum(tl.exp(-s * s)[:, :, None] * b[None, :, :], axis=1)
        top = tl.maximum(top, tl.max(s, axis=1))
    tl.store(out + (batch * t + i[:, None]) * D + d[None, :], acc)


# tad: m=29, n=21, k=40, x=f32[m, k], w=f32[k, n], bias=f32[n], out=f32[m, n], B=16, C=16, grid=(2, 2)
@triton.jit
def gated(x, w, bias, out, m, n, k, B: tl.constexpr, C: tl.constexpr):
    """A tile of each program is read for the weights' gradient; that of the bias is not worth one."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros([B, B], dtype=tl.float32)
    for start in range(0, k, C):
        p = start + tl.arange(0, C)
        a = tl.load(
            x + i[:, None] * k + p[None, :], mask=(i[:, None] < m) & (p[None, :] < k), other=0.0
        )
        b = tl.load(
            w + p[:, None] * n + j[None, :], mask=(p[:, None] < k) & (j[None, :] < n), other=0.0
        )
        acc += tl.dot(a, b, input_precision="ieee")
    acc += tl.load(bias + j, mask=j < n, other=0.0)[None, :]
    inside = (i[:, None] < m) & (j[None, :] < n)
    tl.store(out + i[:, None] * n + j[None, :], acc * tl.sigmoid(acc), mask=inside)


# tad: m=5, n=13, x=f32[m, n], w=f32[n], out=f32[m, n], N=16, grid=(m,)
@triton.jit
def rows(x, w, out, n, N: tl.constexpr):
    """No loop at all: programs take a share of the rows each."""
    row = tl.program_id(0)
    j = tl.arange(0, N)
    a = tl.load(x + row * n + j, mask=j < n, other=0.0)
    b = tl.load(w + j, mask=j < n, other=0.0)
    length = tl.sqrt(tl.sum(a * a, axis=0) + 1.0)
    tl.store(out + row * n + j, a / length * b, mask=j < n)


# tad: n=37, m=29, offset=3, z=2, x=f32[z, m, 16], w=f32[z, n, 16], out=f32[z, m, 16], B=16, C=8, D=16, grid=(2, 2)
@triton.jit
def from_the_third_on(x, w, out, m, n, offset, B: tl.constexpr, C: tl.constexpr, D: tl.constexpr):
    """The loop starts at a number that the launch passes; a maximum over its turns is read of each program."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    above = tl.program_id(1) * m * D
    beside = tl.program_id(1) * n * D
    a = tl.load(x + above + i[:, None] * D + d[None, :], mask=i[:, None] < m, other=0.0)
    high = tl.full([B], -1.0e30, dtype=tl.float32)
    total = tl.zeros([B], dtype=tl.float32)
    acc = tl.zeros([B, D], dtype=tl.float32)
    for start in range(offset, n, C):
        j = start + tl.arange(0, C)
        b = tl.load(w + beside + j[:, None] * D + d[None, :], mask=j[:, None] < n, other=0.0)
        s = tl.sum(a[:, None, :] * b[None, :, :], axis=2)
        s = tl.where(j[None, :] < n, s, -1.0e30)
        higher = tl.maximum(high, tl.max(s, axis=1))
        e = tl.exp(s - higher[:, None])
        shrink = tl.exp(high - higher)
        total = total * shrink + tl.sum(e, axis=1)
        acc = acc * shrink[:, None] + tl.sum(e[:, :, None] * b[None, :, :], axis=1)
        high = higher
    tl.store(out + above + i[:, None] * D + d[None, :], acc / total[:, None], mask=i[:, None] < m)


# tad: n=24, m=20, x=f32[m, n], w=f32[n], out=f32[m], B=8, C=8, grid=(3,)
@triton.jit
def some_rows(x, w, out, m, n, B: tl.constexpr, C: tl.constexpr):
    """Whether a program takes part depends on which it is: its gradients stay where they are."""
    row = tl.program_id(0)
    i = row * B + tl.arange(0, B)
    acc = tl.zeros([B], dtype=tl.float32)
    if row * B < m - 2:
        for start in range(0, n, C):
            j = start + tl.arange(0, C)
            mask = i[:, None] < m
            a = tl.load(x + i[:, None] * n + j[None, :], mask=mask, other=0.0)
            acc += tl.sum(a * tl.load(w + j)[None, :], axis=1)
    tl.store(out + i, acc, mask=i < m)


# tad: z=2, n=37, m=29, x=f32[z, m, 16], w=f32[z, n, 16], out=f32[z, m, 16], B=16, C=8, D=16, grid=(2, 2, 3)
@triton.jit
def thrice(x, w, out, m, n, B: tl.constexpr, C: tl.constexpr, D: tl.constexpr):
    """Programs along an axis that nothing reads add, each for itself."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    above = tl.program_id(1) * m * D
    beside = tl.program_id(1) * n * D
    a = tl.load(x + above + i[:, None] * D + d[None, :], mask=i[:, None] < m, other=0.0)
    acc = tl.zeros([B, D], dtype=tl.float32)
    for start in range(0, n, C):
        j = start + tl.arange(0, C)
        b = tl.load(w + beside + j[:, None] * D + d[None, :], mask=j[:, None] < n, other=0.0)
        s = tl.sigmoid(tl.sum(a[:, None, :] * b[None, :, :], axis=2))
        acc += tl.sum(s[:, :, None] * b[None, :, :], axis=1)
    tl.atomic_add(out + above + i[:, None] * D + d[None, :], acc, mask=i[:, None] < m)


CONFIGS = [triton.Config({"B": b, "C": c}) for b in (16, 32) for c in (8, 16)]


# tad: n=37, m=29, x=f32[m, 16], w=f32[n, 16], out=f32[m, 16], B=16, C=8, D=16, grid=(2,)
@triton.autotune(configs=CONFIGS, key=["m", "n"])
@triton.jit
def tuned(x, w, out, m, n, B: tl.constexpr, C: tl.constexpr, D: tl.constexpr):
    """What a program leaves for the owners has the shape of its blocks: both kernels run in one configuration."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    a = tl.load(x + i[:, None] * D + d[None, :], mask=i[:, None] < m, other=0.0)
    total = tl.zeros([B], dtype=tl.float32)
    acc = tl.zeros([B, D], dtype=tl.float32)
    for start in range(0, n, C):
        j = start + tl.arange(0, C)
        b = tl.load(w + j[:, None] * D + d[None, :], mask=j[:, None] < n, other=0.0)
        s = tl.sigmoid(tl.sum(a[:, None, :] * b[None, :, :], axis=2))
        s = tl.where(j[None, :] < n, s, 0.0)
        total += tl.sum(s, axis=1)
        acc += tl.sum(s[:, :, None] * b[None, :, :], axis=1)
    tl.store(out + i[:, None] * D + d[None, :], acc / total[:, None], mask=i[:, None] < m)


def launch_tuned(x, w):
    m, n = x.shape[0], w.shape[0]
    out = torch.empty_like(x)
    tuned[lambda meta: (triton.cdiv(m, meta["B"]),)](x, w, out, m, n, D=16)
    return out


# tad: n=20, d=13, x=f32[n, d], w=f32[d], b=f32[d], out=f32[n, 26], PAIR=True, B=8, C=16, grid=(3,)
@triton.jit
def beside_its_input(x, w, b, out, n, d, PAIR: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    """The second store overwrites a part of the first one: what comes back is set to zero on the way."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    k = tl.arange(0, C)
    inside = (i < n)[:, None] & (k < d)[None, :]
    a = tl.load(x + i[:, None] * d + k[None, :], mask=inside, other=0.0)
    scale = tl.load(w + k, mask=k < d, other=0.0)
    y = a * scale[None, :] + tl.load(b + k, mask=k < d, other=0.0)[None, :]
    row = out + i[:, None] * 2 * d + k[None, :]
    if PAIR:
        tl.store(row, a, mask=(i < n)[:, None] & (k < 2 * d)[None, :])
        tl.store(row + d, y, mask=(i < n)[:, None] & (d + k < 2 * d)[None, :])
    else:
        tl.store(row, y, mask=inside)
