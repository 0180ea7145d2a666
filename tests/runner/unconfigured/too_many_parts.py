"""Rows that are split into parts, of which the grid may have more than there are: what these store is not finite."""

import triton
import triton.language as tl


@triton.jit
def parts_of_a_row(
    x,
    y,
    out,
    totals,
    n,
    row,
    parts,
    PART: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCKS: tl.constexpr,
    D: tl.constexpr,
    E: tl.constexpr,
):
    r, part = tl.program_id(0), tl.program_id(1)
    d, e = tl.arange(0, D), tl.arange(0, E)
    most = -float("inf")
    total = 0.0
    sums = tl.zeros((E,), dtype=tl.float32)
    for b in tl.static_range(BLOCKS):
        at = part * PART + b * BLOCK + tl.arange(0, BLOCK)
        inside = (at < n)[:, None]
        a = tl.load(x + r * row + at[:, None] * D + d[None, :], mask=inside, other=0.0)
        v = tl.load(y + r * row + at[:, None] * E + e[None, :], mask=inside, other=0.0)
        s = tl.where(at < n, tl.sum(a, axis=1), -float("inf"))
        new = tl.maximum(most, tl.max(s, axis=0))
        p, old = tl.exp(s - new), tl.exp(most - new)
        total = total * old + tl.sum(p, axis=0)
        sums = sums * old + tl.sum(p[:, None] * v, axis=0)
        most = new
    tl.store(totals + r * parts + part, total)
    tl.store(out + (r * parts + part) * E + e, sums)
