"""A row is read in parts, by a program each; the one that has the label reads it apart, in a branch that asks for it."""

# case: {"class": "losses", "call": "m.entropy(x, labels)[0]", "inputs": {"x": [6, 37], "labels": {"shape": [6], "dtype": "int64", "values": [0, 36, -100, 7, 15, 16]}}}
# case: {"class": "losses", "call": "m.entropy(x, labels, 5)[1]", "inputs": {"x": [6, 37], "labels": {"shape": [6], "dtype": "int64", "values": [5, 41, -100, 20, 21, 4]}}}
# case: {"class": "losses", "call": "m.entropy(torch.nn.functional.pad(x, (0, 3))[:, :37], labels)[0]", "inputs": {"x": [6, 37], "labels": {"shape": [6], "dtype": "int32", "values": [-100, 36, 37, 8, -1, 0]}}}
# case: {"class": "losses", "call": "m.weigh(x, labels, torch.arange(6.0, device=x.device))", "inputs": {"x": [6, 37], "labels": {"shape": [6], "dtype": "int64", "values": [0, 36, -100, 7, 37, 16]}}}
# case: {"class": "losses", "call": "m.weigh(x, labels)", "inputs": {"x": [6, 37], "labels": {"shape": [6], "dtype": "int64", "values": [0, 36, -100, 7, 37, 16]}}}

import torch
import triton
import triton.language as tl


@triton.jit
def parts_kernel(
    loss_ptr, lse_ptr, x_ptr, label_ptr, ignored, first, n, rows, stride, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    part = tl.program_id(1)
    x_ptr += row * stride
    cols = part * BLOCK + tl.arange(0, BLOCK)
    label = tl.load(label_ptr + row)
    x = tl.load(x_ptr + cols, mask=cols < n, other=-float("inf")).to(tl.float32)
    top = tl.max(x, 0)
    lse = tl.log(tl.sum(tl.exp(x - top), 0)) + top
    tl.store(lse_ptr + part * rows + row, lse)
    if label == ignored:
        loss = 0.0
    else:
        label -= first
        if label >= part * BLOCK and label < min(n, (part + 1) * BLOCK):
            loss = lse - tl.load(x_ptr + label)
        else:
            loss = 0.0
    tl.store(loss_ptr + part * rows + row, loss)


def entropy(x, labels, first=0):
    rows, n = x.shape
    parts = triton.cdiv(n, 16)
    loss = torch.empty(parts, rows, dtype=x.dtype, device=x.device)
    lse = torch.empty(parts, rows, dtype=x.dtype, device=x.device)
    parts_kernel[(rows, parts)](loss, lse, x, labels, -100, first, n, rows, x.stride(0), BLOCK=16)
    return loss, lse


@triton.jit
def weigh_kernel(
    loss_ptr, x_ptr, sum_ptr, label_ptr, n, stride, KNOWN: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    x_ptr += row * stride
    if KNOWN:
        total = tl.load(sum_ptr + row)
    else:
        total = 0.0
        for start in range(0, n, BLOCK):
            cols = start + tl.arange(0, BLOCK)
            x = tl.load(x_ptr + cols, mask=cols < n, other=0.0)
            total += tl.sum(x * x, 0)
    label = tl.load(label_ptr + row)
    loss = total
    if label >= 0 and label < n:
        loss = total - 3.0 * tl.exp(tl.load(x_ptr + label))
    tl.store(loss_ptr + row, loss)


def weigh(x, labels, known=None):
    rows, n = x.shape
    loss = torch.empty(rows, dtype=x.dtype, device=x.device)
    sums = known if known is not None else torch.empty(rows, dtype=x.dtype, device=x.device)
    weigh_kernel[(rows,)](loss, x, sums, labels, n, x.stride(0), KNOWN=known is not None, BLOCK=16)
    return loss
