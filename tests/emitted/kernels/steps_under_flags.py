"""Pointers that a flag turns around, some of which are there under another flag only."""

import torch
import triton
import triton.language as tl


@triton.jit
def turned_states(
    x,
    g,
    y,
    ends,
    T,
    H: tl.constexpr,
    K: tl.constexpr,
    REVERSE: tl.constexpr,
    USE_G: tl.constexpr,
    RAGGED: tl.constexpr,
):
    i = tl.program_id(0)
    if RAGGED:
        first = tl.load(ends + i)
        T = tl.load(ends + i + 1) - first
    else:
        first = i * T
    c = tl.arange(0, K)
    p_x = x + (first + ((T - 1) if REVERSE else 0)) * H * K + c
    p_y = y + (first + ((T - 1) if REVERSE else 0)) * H * K + c
    if USE_G:
        p_g = g + (first + ((T - 1) if REVERSE else 0)) * H
    h = tl.zeros([K], tl.float32)
    for _ in range(0, T):
        a = tl.load(p_x)
        if USE_G:
            h = h * tl.exp(tl.load(p_g))
        h += a
        tl.store(p_y, h)
        p_x += (-1 if REVERSE else 1) * H * K
        p_y += (-1 if REVERSE else 1) * H * K
        if USE_G:
            p_g += (-1 if REVERSE else 1) * H


def run_turned_states(x, g, reverse):
    b, t, k = x.shape
    y = torch.empty_like(x)
    turned_states[(b,)](
        x, g, y, None, t, 1, k, REVERSE=reverse, USE_G=g is not None, RAGGED=False
    )
    return y
