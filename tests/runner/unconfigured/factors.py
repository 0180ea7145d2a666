"""Constexpr sizes that the kernel multiplies with each other in 32 bits: made-up ones must not overflow there."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_up(
    states, d: tl.constexpr, e: tl.constexpr, BLOCKS: tl.constexpr, D: tl.constexpr, E: tl.constexpr
):
    above = tl.program_id(0) * (BLOCKS + 1) * d * e
    p = states + above + tl.arange(0, D)[:, None] * e + tl.arange(0, E)[None, :]
    total = tl.zeros([D, E], dtype=tl.float32)
    for _ in range(BLOCKS):
        total = total + tl.load(p)
        p += d * e
    tl.store(p, total)


def run(q, v, states):
    """States of blocks of 64 rows, and behind them their sum."""
    batch, rows, d = q.shape
    e = v.shape[-1]
    add_up[(batch,)](states, d, e, BLOCKS=rows // 64, D=d, E=e)
    return torch.sum(states)
