"""A digit of a program's id that only one side of a flag reads: on the other side, programs that differ by it do the same."""

import torch
import triton
import triton.language as tl


@triton.jit
def table_kernel(
    x,
    h,
    y,
    starts,
    chunks,
    T,
    H: tl.constexpr,
    D: tl.constexpr,
    B: tl.constexpr,
    VARIABLE: tl.constexpr,
):
    block = tl.program_id(0)
    batch = tl.program_id(1) // H
    head = tl.program_id(1) % H
    if VARIABLE:
        at = block
        part = tl.load(chunks + block * 2)
        block = tl.load(chunks + block * 2 + 1)
        first = tl.load(starts + part)
        length = tl.load(starts + part + 1) - first
    else:
        at = batch * tl.cdiv(T, B) + block
        first = batch * T
        length = T
    rows = block * B + tl.arange(0, B)
    cols = tl.arange(0, D)
    inside = (rows < length)[:, None]
    there = ((first + rows) * H + head)[:, None] * D + cols[None, :]
    scale = tl.load(h + (at * H + head) * D + cols)
    a = tl.load(x + there, mask=inside, other=0.0)
    tl.store(y + there, a * tl.exp(scale)[None, :], mask=inside)


def run(x, h, starts=None):
    y = torch.empty_like(x)
    B, H = 8, x.shape[-2]
    if starts is None:
        T = x.shape[1]
        grid = (triton.cdiv(T, B), x.shape[0] * H)
        table_kernel[grid](x, h, y, None, None, T, H=H, D=16, B=B, VARIABLE=False)
        return y
    lengths = (starts[1:] - starts[:-1]).tolist()
    chunks = torch.tensor(
        [[part, i] for part, n in enumerate(lengths) for i in range(triton.cdiv(n, B))],
        dtype=torch.int64,
        device=x.device,
    )
    table_kernel[(chunks.shape[0], H)](
        x, h, y, starts, chunks, x.shape[0], H=H, D=16, B=B, VARIABLE=True
    )
    return y
