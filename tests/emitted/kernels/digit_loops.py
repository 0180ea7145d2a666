"""Loops that walk the rows of a group as one: the number of a row is a quotient of an element's."""

import torch
import triton
import triton.language as tl


@triton.jit
def groups(x_ptr, w_ptr, b_ptr, y_ptr, per_group, hw, G, eps, BLOCK: tl.constexpr):
    """A group norm whose channels have a weight and a shift each."""
    pid = tl.program_id(0)
    n = per_group * hw
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    squares = 0.0
    for at in range(0, n, BLOCK):
        x = tl.load(x_ptr + pid * n + at + lanes, mask=at + lanes < n, other=0.0).to(tl.float32)
        total += x
        squares += tl.sum(x * x)
    mean = tl.sum(total) / n
    rstd = tl.rsqrt(squares / n - mean * mean + eps)
    for at in range(0, n, BLOCK):
        keep = at + lanes < n
        channel = pid % G * per_group + (at + lanes) // hw
        x = tl.load(x_ptr + pid * n + at + lanes, mask=keep, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + channel, mask=keep, other=0.0).to(tl.float32)
        b = tl.load(b_ptr + channel, mask=keep)
        tl.store(y_ptr + pid * n + at + lanes, (x - mean) * rstd * w + b, mask=keep)


def run_groups(x, w, b, G: int):
    N, C, hw = x.shape
    y = torch.empty_like(x)
    groups[(N * G,)](x, w, b, y, C // G, hw, G, 1e-5, BLOCK=16)
    return y


@triton.jit
def both_digits(x_ptr, w_ptr, p_ptr, y_ptr, C, hw, BLOCK: tl.constexpr):
    """A scale for each row, and one for each place in it."""
    pid = tl.program_id(0)
    for start in range(0, C * hw, BLOCK):
        i = start + tl.arange(0, BLOCK)
        keep = i < C * hw
        x = tl.load(x_ptr + pid * C * hw + i, mask=keep, other=0.0)
        w = tl.load(w_ptr + i // hw, mask=keep, other=0.0)
        p = tl.load(p_ptr + i % hw, mask=keep, other=0.0)
        tl.store(y_ptr + pid * C * hw + i, tl.exp(x) * w * p, mask=keep)


def run_both_digits(x, w, p):
    y = torch.empty_like(x)
    both_digits[(x.shape[0],)](x, w, p, y, x.shape[1], x.shape[2], BLOCK=16)
    return y


@triton.jit
def summed_weights(x_ptr, w_ptr, y_ptr, C, hw, BLOCK: tl.constexpr):
    """The weights are summed, too: those behind the mask are 0, and stay so."""
    pid = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for at in range(0, C * hw, BLOCK):
        keep = at + lanes < C * hw
        x = tl.load(x_ptr + pid * C * hw + at + lanes, mask=keep, other=0.0)
        w = tl.load(w_ptr + (at + lanes) // hw, mask=keep, other=0.0)
        total += x * w + w
    tl.store(y_ptr + pid, tl.sum(total))


def run_summed_weights(x, w):
    y = torch.empty(x.shape[0])
    summed_weights[(x.shape[0],)](x, w, y, x.shape[1], x.shape[2], BLOCK=16)
    return y


@triton.jit
def shifted_behind(x_ptr, w_ptr, y_ptr, C, hw, BLOCK: tl.constexpr):
    """What lies behind the mask counts: rows would have more of it than the whole."""
    pid = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for at in range(0, C * hw, BLOCK):
        keep = at + lanes < C * hw
        x = tl.load(x_ptr + pid * C * hw + at + lanes, mask=keep, other=0.0)
        w = tl.load(w_ptr + (at + lanes) // hw, mask=keep, other=0.0)
        total += (x - 1.0) * (x - 1.0) * 0.5 + w * x
    tl.store(y_ptr + pid, tl.sum(total))


def run_shifted_behind(x, w):
    y = torch.empty(x.shape[0])
    shifted_behind[(x.shape[0],)](x, w, y, x.shape[1], x.shape[2], BLOCK=16)
    return y


@triton.jit
def asks_for_a_place(x_ptr, w_ptr, y_ptr, C, hw, BLOCK: tl.constexpr):
    """The first element of all is left out by its number."""
    pid = tl.program_id(0)
    for start in range(0, C * hw, BLOCK):
        i = start + tl.arange(0, BLOCK)
        keep = (i < C * hw) & (i > 0)
        x = tl.load(x_ptr + pid * C * hw + i, mask=keep, other=0.0)
        w = tl.load(w_ptr + i // hw, mask=keep, other=0.0)
        tl.store(y_ptr + pid * C * hw + i, x * w, mask=keep)


def run_asks_for_a_place(x, w):
    y = torch.zeros_like(x)
    asks_for_a_place[(x.shape[0],)](x, w, y, x.shape[1], x.shape[2], BLOCK=16)
    return y


@triton.jit
def planes(x_ptr, w_ptr, y_ptr, N, C, hw, eps, BLOCK: tl.constexpr):
    """A batch norm of which each program walks the planes of its channel, which lie apart, as one."""
    c = tl.program_id(0)
    n = N * hw
    total = tl.zeros([BLOCK], dtype=tl.float32)
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        at = (i // hw) * C * hw + c * hw + i % hw
        x = tl.load(x_ptr + at, mask=i < n, other=0.0).to(tl.float32)
        total += x
        squares += x * x
    mean = tl.sum(total) / n
    rstd = tl.rsqrt(tl.sum(squares) / n - mean * mean + eps)
    w = tl.load(w_ptr + c)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        at = (i // hw) * (C * hw) + c * hw + i % hw
        x = tl.load(x_ptr + at, mask=i < n, other=0.0).to(tl.float32)
        tl.store(y_ptr + at, (x - mean) * rstd * w, mask=i < n)


def run_planes(x, w):
    N, C, hw = x.shape
    y = torch.empty_like(x)
    planes[(C,)](x, w, y, N, C, hw, 1e-5, BLOCK=16)
    return y


@triton.jit
def rows_beside(x_ptr, w_ptr, y_ptr, C, hw, BLOCK: tl.constexpr):
    """A mean over all elements as one, then channel by channel: the author has loops over rows already."""
    pid = tl.program_id(0)
    n = C * hw
    lanes = tl.arange(0, BLOCK)
    total = 0.0
    for at in range(0, n, BLOCK):
        total += tl.sum(tl.load(x_ptr + pid * n + at + lanes, mask=at + lanes < n, other=0.0))
    mean = total / n
    for c in range(C):
        w = tl.load(w_ptr + c)
        for at in range(0, hw, BLOCK):
            keep = at + lanes < hw
            x = tl.load(x_ptr + pid * n + c * hw + at + lanes, mask=keep, other=0.0)
            d = x - mean
            tl.store(y_ptr + pid * n + c * hw + at + lanes, tl.exp(d) * d * w, mask=keep)


def run_rows_beside(x, w):
    y = torch.empty_like(x)
    rows_beside[(x.shape[0],)](x, w, y, x.shape[1], x.shape[2], BLOCK=16)
    return y


@triton.jit
def fewer_rows_beside(x_ptr, w_ptr, y_ptr, C, hw, BLOCK: tl.constexpr):
    """The loop over all elements has rows that the other has not."""
    pid = tl.program_id(0)
    n = C * hw
    lanes = tl.arange(0, BLOCK)
    total = 0.0
    for at in range(0, n, BLOCK):
        total += tl.sum(tl.load(x_ptr + pid * n + at + lanes, mask=at + lanes < n, other=0.0))
    mean = total / n
    for c in range(C - 1):
        w = tl.load(w_ptr + c)
        for at in range(0, hw, BLOCK):
            keep = at + lanes < hw
            x = tl.load(x_ptr + pid * n + c * hw + at + lanes, mask=keep, other=0.0)
            tl.store(y_ptr + pid * n + c * hw + at + lanes, (x - mean) * (x - mean) * w, mask=keep)


def run_fewer_rows_beside(x, w):
    y = torch.empty_like(x)
    fewer_rows_beside[(x.shape[0],)](x, w, y, x.shape[1], x.shape[2], BLOCK=16)
    return y
