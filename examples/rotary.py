"""Rotary position embedding of queries or keys, out of place and in place."""

import torch
import triton
import triton.language as tl


@triton.jit
def rotary_kernel(
    x_ptr,
    cos_ptr,
    sin_ptr,
    out_ptr,
    stride_xb,
    stride_xs,
    stride_xh,
    stride_ob,
    stride_os,
    stride_oh,
    seq_len,
    n_heads,
    HALF: tl.constexpr,
    BLOCK_HALF: tl.constexpr,
    BLOCK_HEADS: tl.constexpr,
):
    """All heads of one position per program; the two halves of a head rotate against each other."""
    pid = tl.program_id(0)
    batch = pid // seq_len
    pos = pid % seq_len
    half = tl.arange(0, BLOCK_HALF)
    half_mask = half < HALF
    cos = tl.load(cos_ptr + pos * HALF + half, mask=half_mask, other=0.0)
    sin = tl.load(sin_ptr + pos * HALF + half, mask=half_mask, other=0.0)

    heads = tl.arange(0, BLOCK_HEADS)
    mask = (heads[:, None] < n_heads) & half_mask[None, :]
    x_offsets = batch * stride_xb + pos * stride_xs + heads[:, None] * stride_xh + half[None, :]
    x1 = tl.load(x_ptr + x_offsets, mask=mask, other=0.0)
    x2 = tl.load(x_ptr + x_offsets + HALF, mask=mask, other=0.0)
    y1 = x1 * cos[None, :] - x2 * sin[None, :]
    y2 = x2 * cos[None, :] + x1 * sin[None, :]
    out_offsets = batch * stride_ob + pos * stride_os + heads[:, None] * stride_oh + half[None, :]
    tl.store(out_ptr + out_offsets, y1, mask=mask)
    tl.store(out_ptr + out_offsets + HALF, y2, mask=mask)


@triton.jit
def rotary_inplace_kernel(
    q_ptr, cos_ptr, sin_ptr, row_stride, head_dim, INVERSE: tl.constexpr, BLOCK: tl.constexpr
):
    """Overwrites `q`: one (position, head) per program."""
    row = tl.program_id(0)
    head = tl.program_id(1)
    half_dim = head_dim // 2
    idx = tl.arange(0, BLOCK)
    mask = idx < half_dim
    cos = tl.load(cos_ptr + row * half_dim + idx, mask=mask, other=0.0)
    sin = tl.load(sin_ptr + row * half_dim + idx, mask=mask, other=0.0)
    if INVERSE:
        sin = -sin
    first = q_ptr + row * row_stride + head * head_dim + idx
    second = first + half_dim
    a = tl.load(first, mask=mask, other=0.0)
    b = tl.load(second, mask=mask, other=0.0)
    tl.store(first, a * cos - b * sin, mask=mask)
    tl.store(second, b * cos + a * sin, mask=mask)


def rotary(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """`x` is [batch, seq, heads, head_dim]; `cos` and `sin` are [seq, head_dim // 2]."""
    batch, seq_len, n_heads, head_dim = x.shape
    out = torch.empty_like(x)
    half = head_dim // 2
    rotary_kernel[(batch * seq_len,)](
        x,
        cos,
        sin,
        out,
        x.stride(0),
        x.stride(1),
        x.stride(2),
        out.stride(0),
        out.stride(1),
        out.stride(2),
        seq_len,
        n_heads,
        HALF=half,
        BLOCK_HALF=triton.next_power_of_2(half),
        BLOCK_HEADS=triton.next_power_of_2(n_heads),
    )
    return out


def rotary_inplace(q, cos, sin, inverse=False):
    """`q` is [rows, heads, head_dim] and contiguous; rotated in place and returned."""
    rows, n_heads, head_dim = q.shape
    rotary_inplace_kernel[(rows, n_heads)](
        q,
        cos,
        sin,
        q.stride(0),
        head_dim,
        INVERSE=inverse,
        BLOCK=triton.next_power_of_2(head_dim // 2),
    )
    return q
