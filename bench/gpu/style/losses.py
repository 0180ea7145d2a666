"""Losses as they are written in public training code."""

import torch
import triton
import triton.language as tl


@triton.jit
def cross_entropy_kernel(
    logits_ptr, row_stride, loss_ptr, lse_ptr, labels_ptr, VOCAB: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    logits_ptr += row * row_stride.to(tl.int64)
    m = -float("inf")
    d = 0.0
    for i in range(0, VOCAB, BLOCK):
        cols = i + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + cols, mask=cols < VOCAB, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(x))
        d = d * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new))
        m = m_new
    lse = m + tl.log(d)
    label = tl.load(labels_ptr + row).to(tl.int32)
    if label != -100:
        loss = lse - tl.load(logits_ptr + label).to(tl.float32)
    else:
        loss = 0.0
    tl.store(lse_ptr + row, lse)
    tl.store(loss_ptr + row, loss)


def cross_entropy(logits, labels):
    rows, vocab = logits.shape
    loss = torch.empty(rows, dtype=torch.float32, device=logits.device)
    lse = torch.empty(rows, dtype=torch.float32, device=logits.device)
    cross_entropy_kernel[(rows,)](logits, logits.stride(0), loss, lse, labels, VOCAB=vocab, BLOCK=4096, num_warps=8)
    return loss


@triton.jit
def kl_div_kernel(p_ptr, q_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        keep = cols < n_cols
        log_p = tl.load(p_ptr + row * n_cols + cols, mask=keep, other=0.0).to(tl.float32)
        log_q = tl.load(q_ptr + row * n_cols + cols, mask=keep, other=0.0).to(tl.float32)
        total += tl.sum(tl.where(keep, tl.exp(log_q) * (log_q - log_p), 0.0))
    tl.store(out_ptr + row, total)


def kl_div(log_p, log_q):
    out = torch.empty(log_p.shape[0], device=log_p.device, dtype=torch.float32)
    kl_div_kernel[(log_p.shape[0],)](log_p, log_q, out, log_p.shape[1], BLOCK=4096, num_warps=8)
    return out


@triton.jit
def bce_kernel(x_ptr, t_ptr, loss_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = i < n
    x = tl.load(x_ptr + i, mask=keep, other=0.0)
    t = tl.load(t_ptr + i, mask=keep, other=0.0)
    loss = tl.maximum(x, 0) - x * t + tl.log(1 + tl.exp(-tl.abs(x)))
    tl.store(loss_ptr + i, loss, mask=keep)


def bce(x, target):
    loss = torch.empty_like(x)
    n = x.numel()
    bce_kernel[(triton.cdiv(n, 1024),)](x, target, loss, n, BLOCK=1024)
    return loss


@triton.jit
def huber_rows_kernel(x_ptr, t_ptr, out_ptr, n_cols, delta, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    keep = cols < n_cols
    d = tl.load(x_ptr + row * n_cols + cols, mask=keep, other=0.0) - tl.load(
        t_ptr + row * n_cols + cols, mask=keep, other=0.0
    )
    a = tl.abs(d)
    loss = tl.where(a < delta, 0.5 * d * d, delta * (a - 0.5 * delta))
    tl.store(out_ptr + row, tl.sum(loss, axis=0) / n_cols)


def huber_rows(x, target, delta):
    out = torch.empty(x.shape[0], device=x.device, dtype=x.dtype)
    huber_rows_kernel[(x.shape[0],)](x, target, out, x.shape[1], delta, BLOCK=triton.next_power_of_2(x.shape[1]))
    return out
