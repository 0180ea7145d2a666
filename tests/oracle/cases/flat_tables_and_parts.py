"""Stores at places that are no sums of lanes, blocks in parts, states or rows in front, flat tables with no batch, merged parts of an attention."""

# case: {"class": "tiles", "call": "m.like_q(x, w)", "inputs": {"x": [3, 4], "w": [2, 12]}, "expect": "right"}
# case: {"call": "m.like_masked(x, w)", "inputs": {"x": [12], "w": [12]}, "expect": "right"}
# case: {"call": "m.like_two(x, y)", "inputs": {"x": [12], "y": [12]}, "expect": "right"}
# case: {"call": "m.parts(x, 8, 4)", "inputs": {"x": [24]}, "expect": "right"}
# case: {"call": "m.parts(x, 4, 8)", "inputs": {"x": [24]}, "expect": "loud"}
# case: {"call": "m.chosen_rows(x, s, 3)", "inputs": {"x": [6, 4], "s": [2, 4]}, "expect": "right"}
# case: {"call": "m.chosen_rows(x, s, 2)", "inputs": {"x": [6, 4], "s": [3, 4]}, "expect": "right"}
# case: {"call": "m.chosen_rows(x, s, 1)", "inputs": {"x": [3, 4], "s": [3, 4]}, "expect": "right"}
# case: {"call": "m.chosen_rows(x, s, 4)", "inputs": {"x": [6, 4], "s": [2, 4]}, "expect": "right"}
# case: {"call": "m.flat_two(x, a, b)", "inputs": {"x": [2, 3, 4], "a": [4], "b": [2, 4]}, "expect": "right"}
# case: {"call": "m.flat_two(x, a, b)", "inputs": {"x": [0, 3, 4], "a": [4], "b": [0, 4]}, "expect": "right"}
# case: {"call": "m.flat_two(x, a, b)", "inputs": {"x": [2, 3, 4], "a": [4], "b": [1, 4]}, "expect": "right"}
# case: {"call": "m.segs(x, w, 3)", "inputs": {"x": [9, 4], "w": [3, 4]}, "expect": "right"}
# case: {"call": "m.segs(x, w, 3)", "inputs": {"x": [8, 4], "w": [3, 4]}, "expect": "right"}
# case: {"call": "m.segs(x, w, 4)", "inputs": {"x": [9, 4], "w": [3, 4]}, "expect": "right"}
# case: {"call": "m.lse_merge(a, b, x, y)", "inputs": {"a": [5], "b": [5], "x": [5, 4], "y": [5, 4]}, "expect": "right"}

import torch
import triton
import triton.language as tl


@triton.jit
def like_q_k(x_ptr, w_ptr, o_ptr, p_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    k = tl.program_id(1)
    at = i // 2 + (i % 2) * (n // 2)
    x = tl.load(x_ptr + at, mask=i < n, other=0.0)
    w = tl.load(w_ptr + k * n + i, mask=i < n, other=0.0)
    if k == 0:
        tl.store(o_ptr + at, x * x, mask=i < n)
    tl.store(p_ptr + k * n + i, tl.sin(x * w), mask=i < n)


def like_q(x, w):
    o = torch.empty_like(x)
    p = torch.empty_like(w)
    n = x.numel()
    like_q_k[(triton.cdiv(n, 4), w.shape[0])](x, w, o, p, n, B=4)
    return o, p


@triton.jit
def like_masked_k(x_ptr, w_ptr, o_ptr, p_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    at = i // 2
    m = i < n
    x = tl.load(x_ptr + at, mask=m, other=0.0)
    w = tl.load(w_ptr + i, mask=m, other=0.0)
    tl.store(o_ptr + at, x * x, mask=m & (i % 2 == 0))
    tl.store(p_ptr + i, tl.sin(x * w), mask=m)


def like_masked(x, w):
    o = torch.zeros_like(x)
    p = torch.empty_like(w)
    like_masked_k[(triton.cdiv(x.numel(), 4),)](x, w, o, p, x.numel(), B=4)
    return o, p


@triton.jit
def like_two_k(x_ptr, y_ptr, o_ptr, n, H, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    at = i // H * 2 * H + i % H
    m = i < n
    x = tl.load(x_ptr + at, mask=m, other=0.0)
    y = tl.load(x_ptr + at + H, mask=m, other=0.0)
    z = tl.load(y_ptr + i % H, mask=m, other=0.0)
    tl.store(o_ptr + at, x * z - y, mask=m)
    tl.store(o_ptr + at + H, y * z + x, mask=m)


def like_two(x, y):
    o = torch.empty_like(x)
    like_two_k[(2,)](x, y, o, x.numel() // 2, 3, B=4)
    return o


@triton.jit
def parts_k(x_ptr, o_ptr, n, BLOCK: tl.constexpr, PART: tl.constexpr):
    p = tl.program_id(0)
    for s in range(0, BLOCK, PART):
        i = p * BLOCK + s + tl.arange(0, PART)
        x = tl.load(x_ptr + i, mask=i < n, other=0.0)
        tl.store(o_ptr + i, x * tl.sin(x), mask=i < n)


def parts(x, b, q):
    o = torch.empty_like(x)
    parts_k[(triton.cdiv(x.numel(), b),)](x, o, x.numel(), BLOCK=b, PART=q)
    return o


@triton.jit
def chosen_rows_k(x_ptr, s_ptr, o_ptr, T, N, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    x = tl.load(x_ptr + row * N + c, mask=c < N, other=0.0)
    if row % T == 0:
        last = tl.load(s_ptr + row // T * N + c, mask=c < N, other=0.0)
    else:
        last = tl.load(x_ptr + (row - 1) * N + c, mask=c < N, other=0.0)
    tl.store(o_ptr + row * N + c, x * tl.sin(last) + last, mask=c < N)


def chosen_rows(x, s, t):
    o = torch.empty_like(x)
    chosen_rows_k[(x.shape[0],)](x, s, o, t, x.shape[1], B=4)
    return o


@triton.jit
def flat_two_k(x_ptr, a_ptr, b_ptr, o_ptr, n, T, D, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    x = tl.load(x_ptr + i, mask=m, other=0.0)
    a = tl.load(a_ptr + i % D, mask=m, other=0.0)
    b = tl.load(b_ptr + i // (T * D) * D + i % D, mask=m, other=0.0)
    tl.store(o_ptr + i, tl.sin(x * a) * b, mask=m)


def flat_two(x, a, b):
    o = torch.empty_like(x)
    b = b.expand(x.shape[0], b.shape[1]).contiguous()
    n = x.numel()
    flat_two_k[(triton.cdiv(n, 8),)](x, a, b, o, n, x.shape[1], x.shape[2], B=8)
    return o


@triton.jit
def segs_k(x_ptr, w_ptr, o_ptr, M, L, N, R: tl.constexpr, B: tl.constexpr):
    s = tl.program_id(0)
    c = tl.arange(0, B)
    w = tl.load(w_ptr + s * N + c, mask=c < N, other=0.0)
    end = tl.minimum((s + 1) * L, M)
    for t in range(s * L, end, R):
        r = t + tl.arange(0, R)
        m = (r < end)[:, None] & (c < N)[None, :]
        x = tl.load(x_ptr + r[:, None] * N + c[None, :], mask=m, other=0.0)
        tl.store(o_ptr + r[:, None] * N + c[None, :], tl.sin(x * w[None, :]), mask=m)


def segs(x, w, l):
    o = torch.zeros_like(x)
    segs_k[(w.shape[0],)](x, w, o, x.shape[0], l, x.shape[1], R=2, B=4)
    return o


@triton.jit
def lse_merge_k(a_ptr, b_ptr, x_ptr, y_ptr, o_ptr, l_ptr, D: tl.constexpr):
    r = tl.program_id(0)
    d = tl.arange(0, D)
    a = tl.load(a_ptr + r)
    b = tl.load(b_ptr + r)
    m = tl.maximum(a, b)
    ea = tl.exp(a - m)
    eb = tl.exp(b - m)
    x = tl.load(x_ptr + r * D + d)
    y = tl.load(y_ptr + r * D + d)
    tl.store(o_ptr + r * D + d, (x * ea + y * eb) / (ea + eb))
    tl.store(l_ptr + r, m + tl.log(ea + eb))


def lse_merge(a, b, x, y):
    o = torch.empty_like(x)
    l = torch.empty_like(a)
    lse_merge_k[(a.numel(),)](a, b, x, y, o, l, D=4)
    return o, l
