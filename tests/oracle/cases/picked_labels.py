"""A label's logit is read apart from its row: labels at both edges, ignored ones, a padded row, labels that are smoothed."""

# case: {"class": "losses", "call": "m.entropy(x, labels)", "inputs": {"x": [6, 37], "labels": {"shape": [6], "dtype": "int64", "values": [0, 36, -100, 7, 15, 16]}}}
# case: {"class": "losses", "call": "m.entropy(torch.nn.functional.pad(x, (0, 3))[:, :37], labels)", "inputs": {"x": [6, 37], "labels": {"shape": [6], "dtype": "int32", "values": [-100, 36, 35, 8, -100, 0]}}}
# case: {"class": "losses", "call": "m.picked_first(x, labels)", "inputs": {"x": [4, 21], "labels": {"shape": [4], "dtype": "int64", "values": [20, 0, 3, 3]}}}

import torch
import triton
import triton.language as tl


@triton.jit
def entropy_kernel(x_ptr, label_ptr, loss_ptr, stride, n, ignored, smoothing, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * stride
    label = tl.load(label_ptr + row)
    top = -float("inf")
    total = 0.0
    whole = 0.0
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n, other=-float("inf"))
        higher = tl.maximum(top, tl.max(x, 0))
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(x - higher), 0)
        top = higher
        whole += tl.sum(tl.where(cols < n, x, 0.0), 0)
    if label == ignored:
        loss = 0.0
    else:
        lse = top + tl.log(total)
        loss = lse - (1 - smoothing) * tl.load(x_ptr + label) - smoothing * whole / n
    tl.store(loss_ptr + row, loss)


@triton.jit
def picked_first_kernel(x_ptr, label_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    picked = tl.load(x_ptr + row * n + tl.load(label_ptr + row))
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
    tl.store(y_ptr + row * n + cols, x * picked, mask=cols < n)


def entropy(x, labels):
    rows, n = x.shape
    loss = torch.empty(rows, dtype=x.dtype, device=x.device)
    entropy_kernel[(rows,)](x, labels, loss, x.stride(0), n, -100, 0.125, BLOCK=16)
    return loss


def picked_first(x, labels):
    y = torch.empty_like(x)
    rows, n = x.shape
    picked_first_kernel[(rows,)](x, labels, y, n, BLOCK=triton.next_power_of_2(n))
    return y
