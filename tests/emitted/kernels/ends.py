"""Programs that share out a loop in ranges: a mask ends each range, or turns are counted by how many programs there are."""

import torch
import triton
import triton.language as tl


@triton.jit
def splits_of_terms(
    x,
    w,
    part,
    m,
    n,
    k,
    per,
    R: tl.constexpr,
    C: tl.constexpr,
    B: tl.constexpr,
    GROUP: tl.constexpr,
    LONG: tl.constexpr,
):
    """No split is a multiple of a block: what lies behind its end is the next one's."""
    pid = tl.program_id(0)
    split = tl.program_id(1)
    start = split * per
    end = min(start + per, k)
    rows = tl.cdiv(m, R)
    group = GROUP * tl.cdiv(n, C)
    first = (pid // group) * GROUP
    height = min(rows - first, GROUP)
    i = (first + (pid % group) % height) * R + tl.arange(0, R)
    j = ((pid % group) // height) * C + tl.arange(0, C)
    if LONG:
        i, j = i.to(tl.int64), j.to(tl.int64)
    total = tl.zeros((R, C), dtype=tl.float32)
    for t0 in range(start, end, B):
        t = t0 + tl.arange(0, B)
        a = tl.load(
            x + i[:, None] * k + t[None, :], mask=(i[:, None] < m) & (t[None, :] < end), other=0.0
        )
        b = tl.load(
            w + j[None, :] * k + t[:, None], mask=(j[None, :] < n) & (t[:, None] < end), other=0.0
        )
        total += tl.dot(a, b)
    inside = (i[:, None] < m) & (j[None, :] < n)
    tl.store(part + split * m * n + i[:, None] * n + j[None, :], total, mask=inside)


@triton.jit
def splits_without_an_end(x, y, k, per, B: tl.constexpr):
    """The last block of a split reads what the next one reads: programs add to it both."""
    split = tl.program_id(0)
    start = split * per
    for t0 in range(start, min(start + per, k), B):
        t = t0 + tl.arange(0, B)
        a = tl.load(x + t, mask=t < k, other=0.0)
        tl.store(y + split * (per + B) + t - start, a * a, mask=t < k)


@triton.jit
def counted_turns(x, w, y, m, n, sx, B: tl.constexpr, C: tl.constexpr):
    pid = tl.program_id(0)
    stride = tl.num_programs(0) * B
    columns = tl.arange(0, C)
    weight = tl.load(w + columns, mask=columns < n, other=0.0)
    for turn in range(tl.cdiv(m, stride)):
        rows = turn * stride + pid * B + tl.arange(0, B)
        inside = (rows[:, None] < m) & (columns[None, :] < n)
        a = tl.load(x + rows[:, None] * sx + columns[None, :], mask=inside, other=0.0)
        scale = 1 / tl.sqrt(tl.sum(a * a, axis=1) / n + 1e-6)
        tl.store(
            y + rows[:, None] * n + columns[None, :],
            a * scale[:, None] * weight[None, :],
            mask=inside,
        )


def run_splits_of_terms(x, w):
    (m, k), n = x.shape, w.shape[0]
    per = triton.cdiv(k, 3)
    part = x.new_empty(3, m, n)
    grid = (triton.cdiv(m, 16) * triton.cdiv(n, 16), 3)
    splits_of_terms[grid](
        x, w, part, m, n, k, per, R=16, C=16, B=16, GROUP=2, LONG=x.numel() >= 2**31
    )
    return part.sum(0)


def run_splits_without_an_end(x):
    k = x.numel()
    per = triton.cdiv(k, 3)
    y = x.new_zeros(3 * (per + 8))
    splits_without_an_end[(3,)](x, y, k, per, B=8)
    return y


def run_counted_turns(x, w):
    m, n = x.shape
    y = x.new_empty(m, n)
    counted_turns[(3,)](x, w, y, m, n, x.stride(0), B=2, C=triton.next_power_of_2(n))
    return y
