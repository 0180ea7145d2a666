"""Embedding lookup: rows of a table picked by token, plus learned positions."""

import torch
import triton
import triton.language as tl


@triton.jit
def embedding_kernel(
    table_ptr,
    token_ptr,
    position_ptr,
    out_ptr,
    n_tokens,
    seq_len,
    dim,
    scale,
    ADD_POSITION: tl.constexpr,
    BLOCK_TOKENS: tl.constexpr,
    BLOCK_DIM: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_TOKENS + tl.arange(0, BLOCK_TOKENS)
    cols = tl.program_id(1) * BLOCK_DIM + tl.arange(0, BLOCK_DIM)
    row_mask = rows < n_tokens
    mask = row_mask[:, None] & (cols[None, :] < dim)
    tokens = tl.load(token_ptr + rows, mask=row_mask, other=0)
    out = tl.load(table_ptr + tokens[:, None] * dim + cols[None, :], mask=mask, other=0.0) * scale
    if ADD_POSITION:
        position = (rows % seq_len)[:, None] * dim + cols[None, :]
        out += tl.load(position_ptr + position, mask=mask, other=0.0)
    tl.store(out_ptr + rows[:, None] * dim + cols[None, :], out, mask=mask)


def embedding(tokens, table, positions=None, scale=1.0):
    """`tokens` is [batch, seq], `table` [vocabulary, dim], `positions` [seq, dim] or None."""
    batch, seq_len = tokens.shape
    dim = table.shape[1]
    n_tokens = tokens.numel()
    out = torch.empty(batch, seq_len, dim, device=table.device, dtype=table.dtype)
    BLOCK_TOKENS = 16
    BLOCK_DIM = min(128, triton.next_power_of_2(dim))
    grid = (triton.cdiv(n_tokens, BLOCK_TOKENS), triton.cdiv(dim, BLOCK_DIM))
    embedding_kernel[grid](
        table,
        tokens.contiguous().view(-1),
        positions,
        out,
        n_tokens,
        seq_len,
        dim,
        scale,
        ADD_POSITION=positions is not None,
        BLOCK_TOKENS=BLOCK_TOKENS,
        BLOCK_DIM=BLOCK_DIM,
    )
    return out
