"""Cross entropy of each row of logits: label gather, ignored rows, label smoothing."""

import torch
import triton
import triton.language as tl


@triton.jit
def cross_entropy_kernel(
    logits_ptr,
    label_ptr,
    loss_ptr,
    lse_ptr,
    logits_stride,
    n_cols,
    ignore_index,
    smoothing,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    logits_ptr += row * logits_stride
    label = tl.load(label_ptr + row)

    m = float("-inf")
    d = 0.0
    total = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(logits_ptr + cols, mask=mask, other=float("-inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(x, 0))
        d = d * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new), 0)
        m = m_new
        total += tl.sum(tl.where(mask, x, 0.0), 0)
    lse = m + tl.log(d)
    tl.store(lse_ptr + row, lse)

    if label == ignore_index:
        loss = 0.0
    else:
        picked = tl.load(logits_ptr + label).to(tl.float32)
        loss = lse - (1 - smoothing) * picked - smoothing * total / n_cols
    tl.store(loss_ptr + row, loss)


def cross_entropy(logits, labels, ignore_index=-100, smoothing=0.0):
    """Loss of each row; ignored rows have loss 0."""
    n_rows, n_cols = logits.shape
    assert labels.shape == (n_rows,)
    losses = torch.empty(n_rows, dtype=torch.float32, device=logits.device)
    lse = torch.empty(n_rows, dtype=torch.float32, device=logits.device)
    cross_entropy_kernel[(n_rows,)](
        logits,
        labels.to(torch.int64),
        losses,
        lse,
        logits.stride(0),
        n_cols,
        ignore_index,
        smoothing,
        BLOCK=min(4096, triton.next_power_of_2(n_cols)),
    )
    return losses, lse
