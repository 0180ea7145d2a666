"""Made-up rows reach into each other, those of the launcher do not."""

import torch
import triton
import triton.language as tl


@triton.jit
def turned_heads(
    x_ptr,
    cos_ptr,
    skipped,
    heads,
    stride_row,
    stride_head,
    D: tl.constexpr,
    B: tl.constexpr,
    BACK: tl.constexpr,
):
    row = tl.program_id(0)
    x_ptr += row * stride_row + tl.program_id(1) * B * stride_head
    head = tl.arange(0, B)[:, None] * stride_head + skipped
    mask = head < heads * stride_head
    left = head + tl.arange(0, D // 2)[None, :]
    right = left + D // 2
    cos = tl.load(cos_ptr + row * D + tl.arange(0, D // 2))[None, :]
    a = tl.load(x_ptr + left, mask=mask, other=0.0)
    b = tl.load(x_ptr + right, mask=mask, other=0.0)
    if BACK:
        b = -b
    tl.store(x_ptr + left, a * cos + b, mask=mask)
    tl.store(x_ptr + right, b * cos - a, mask=mask)


def turn(x: torch.Tensor, cos: torch.Tensor, skipped: int, turned: int, back: bool) -> torch.Tensor:
    rows, heads, d = x.shape
    assert heads % 4 == 0
    assert d == skipped + turned
    assert turned % 4 == 0
    grid = lambda meta: (rows, triton.cdiv(heads, meta["B"]))  # noqa: E731
    turned_heads[grid](x, cos, skipped, heads, x.stride(0), x.stride(1), D=turned, B=4, BACK=back)
    return x
