"""Launches with lists and strides that nobody tells the rest of: programs that meet there are no race of the launch."""

import torch
import triton
import triton.language as tl


# A state for each token, a token's stride from a tensor of which the launcher says no more.
@triton.jit
def token_states(
    x, state, out, T, H: tl.constexpr, K: tl.constexpr, V: tl.constexpr, stride_token: tl.constexpr,
    KEEP: tl.constexpr,
):
    n, h = tl.program_id(0) // H, tl.program_id(0) % H
    k = tl.arange(0, K)
    v = tl.arange(0, V)
    held = tl.zeros((K, V), dtype=tl.float32)
    for t in range(0, T):
        at = n * T + t
        a = tl.load(x + (at * H + h) * K + k)
        held += a[:, None]
        if KEEP:
            tl.store(
                state + at * stride_token + h * K * V + k[:, None] * V + v[None, :], held
            )
        tl.store(out + (at * H + h) * V + v, tl.sum(held * a[:, None], 0))


def run_token_states(x, initial_state, v):
    n, t, h, k = x.shape
    out = torch.empty(n, t, h, v)
    token_states[(n * h,)](
        x, initial_state, out, t, h, k, v, initial_state.stride(0), KEEP=True
    )
    return out


# Rows of each head between offsets, and a number for each row.
@triton.jit
def row_sums(
    x, offsets, out, x_head, x_row, out_head, heads, longest, D: tl.constexpr, B: tl.constexpr
):
    b, h = tl.program_id(1) // heads, tl.program_id(1) % heads
    first = tl.load(offsets + b)
    count = tl.minimum(tl.load(offsets + b + 1) - first, longest)
    r = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    at = x + h * x_head + (first + r)[:, None] * x_row + d[None, :]
    a = tl.load(at, mask=(r < count)[:, None], other=0.0)
    tl.store(out + h * out_head + first + r, tl.sum(tl.exp(a), 1), mask=r < count)


def run_row_sums(x, offsets, longest):
    heads, rows, d = x.shape
    batch = offsets.size(0) - 1
    out = torch.zeros(heads, rows)
    row_sums[(triton.cdiv(longest, 16), batch * heads)](
        x, offsets, out, x.stride(0), x.stride(1), out.stride(0), heads, longest, d, B=16
    )
    return out
