"""Windows that overlap by numbers known at run time, and samples taken between the elements."""

import triton
import triton.language as tl


# tad: t=29, stride=2, dilation=3, pad=2, x=f32[t], w=f32[3], out=f32[14], TAPS=3, BLOCK=8, n_out=14, grid=(2,)
@triton.jit
def strided_window(
    x, w, out, t, n_out, stride, dilation, pad, TAPS: tl.constexpr, BLOCK: tl.constexpr
):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in range(TAPS):
        at = o * stride - pad + k * dilation
        acc += tl.load(x + at, mask=(at >= 0) & (at < t), other=0.0) * tl.load(w + k)
    tl.store(out + o, acc, mask=o < n_out)


# tad: h=7, v=9, c=2, stride=1, dilation=2, x=f32[2 * c, h, v], w=f32[c, 3, 3], out=f32[2 * c, 3, 5], K=3, BH=4, BW=4, grid=(4, 1, 2)
@triton.jit
def depthwise_window(
    x, w, out, c, h, v, stride, dilation, K: tl.constexpr, BH: tl.constexpr, BW: tl.constexpr
):
    plane = tl.program_id(0)
    channel = plane % c
    rows = tl.program_id(1) * BH + tl.arange(0, BH)
    columns = tl.program_id(2) * BW + tl.arange(0, BW)
    acc = tl.zeros((BH, BW), dtype=tl.float32)
    for i in range(K):
        for j in range(K):
            y = rows * stride + i * dilation
            z = columns * stride + j * dilation
            inside = (y < h)[:, None] & (z < v)[None, :]
            tile = tl.load(x + plane * h * v + y[:, None] * v + z[None, :], mask=inside, other=0.0)
            acc += tile * tl.load(w + channel * K * K + i * K + j)
    mask = (rows < 3)[:, None] & (columns < 5)[None, :]
    tl.store(out + plane * 15 + rows[:, None] * 5 + columns[None, :], acc, mask=mask)


# tad: n=3, h=6, d=11, points=f32[n, 2] in uniform(0.2, 3.8), plane=f32[5, h, d], out=f32[n, d], scale=0.9, BLOCK=16, grid=(n,)
@triton.jit
def sampled_between(points, plane, out, scale, h, d, BLOCK: tl.constexpr):
    """The first number of a point is rounded to a plane, the second lies between two of its rows."""
    point = tl.program_id(0)
    which = tl.load(points + point * 2).to(tl.int32)
    y = tl.load(points + point * 2 + 1) * scale + 0.25
    j = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for step in range(2):
        z = y + step * 0.5
        if (z > -1.0) & (z < h):
            low = tl.minimum(z.to(tl.int32), h - 1)
            high = tl.minimum(low + 1, h - 1)
            part = z - low
            base = plane + which * h * d
            acc += (1 - part) * tl.load(base + low * d + j, mask=j < d, other=0.0)
            acc += part * tl.load(base + high * d + j, mask=j < d, other=0.0)
    tl.store(out + point * d + j, acc, mask=j < d)
