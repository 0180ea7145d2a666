"""Tensors that are read at places a fixed distance apart: rows and their neighbours, elements and those beside them."""

# case: {"class": "neighbours", "call": "m.run_row_before(x, mix)", "inputs": {"x": [3, 5, 11], "mix": [11]}}
# case: {"class": "neighbours", "call": "m.run_row_behind(x)", "inputs": {"x": [2, 3, 5]}}
# case: {"class": "neighbours", "call": "m.run_taps(x, w)", "inputs": {"x": [2, 4, 5], "w": [3, 5]}}
# case: {"class": "neighbours", "call": "m.run_elements_beside(x)", "inputs": {"x": [21]}}
# case: {"class": "neighbours", "call": "m.run_elements_beside(x)", "inputs": {"x": [16]}}
# case: {"class": "neighbours", "call": "m.run_rows_of_a_tile(x, w)", "inputs": {"x": [2, 6, 11], "w": [2, 11]}}
# case: {"class": "neighbours", "call": "m.run_behind_a_state(x, s, w)", "inputs": {"x": [2, 5, 7], "s": [2, 7], "w": [7]}}

import torch
import triton
import triton.language as tl


@triton.jit
def row_before(x, mix, y, T, C, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.program_id(1) * B + tl.arange(0, B)
    keep = c < C
    a = tl.load(x + row * C + c, mask=keep, other=0.0)
    before = tl.load(x + (row - 1) * C + c, mask=keep & (row % T > 0), other=0.0)
    w = tl.load(mix + c, mask=keep, other=0.0)
    tl.store(y + row * C + c, a * w + tl.exp(before) * (1 - w), mask=keep)


@triton.jit
def row_behind(x, y, T, C, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    keep = c < C
    a = tl.load(x + row * C + c, mask=keep, other=0.0)
    behind = tl.load(x + (row + 1) * C + c, mask=keep & (row % T < T - 1), other=0.0)
    tl.store(y + row * C + c, a * behind, mask=keep)


@triton.jit
def taps(x, w, y, T, C, B: tl.constexpr):
    t = tl.program_id(0)
    b = tl.program_id(1)
    c = tl.arange(0, B)
    keep = c < C
    at = x + (b * T + t) * C + c
    s = tl.load(at, mask=keep, other=0.0) * tl.load(w + c, mask=keep, other=0.0)
    first = tl.load(at - C, mask=keep & (t >= 1), other=0.0)
    second = tl.load(at - 2 * C, mask=keep & (t > 1), other=0.0)
    s += first * tl.load(w + C + c, mask=keep, other=0.0)
    s += second * tl.load(w + 2 * C + c, mask=keep, other=0.0)
    tl.store(y + (b * T + t) * C + c, s * tl.sigmoid(s), mask=keep)


@triton.jit
def elements_beside(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i, mask=i < n, other=0.0)
    left = tl.load(x + i - 1, mask=(i > 0) & (i < n), other=0.0)
    right = tl.load(x + i + 1, mask=i + 1 < n, other=0.0)
    tl.store(y + i, a * (right - left), mask=i < n)


@triton.jit
def rows_of_a_tile(x, w, y, T, C, BT: tl.constexpr, BC: tl.constexpr):
    b = tl.program_id(2)
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    keep = (t < T)[:, None] & (c < C)[None, :]
    at = x + b * T * C + t[:, None] * C + c[None, :]
    a = tl.load(at, mask=keep, other=0.0)
    before = tl.load(at - C, mask=keep & (t >= 1)[:, None], other=0.0)
    w0 = tl.load(w + c, mask=c < C, other=0.0)
    w1 = tl.load(w + C + c, mask=c < C, other=0.0)
    s = a * w0[None, :] + before * w1[None, :]
    tl.store(y + b * T * C + t[:, None] * C + c[None, :], s * tl.sigmoid(s), mask=keep)


@triton.jit
def other_batch_behind(x, y, T, C, B: tl.constexpr):
    t = tl.program_id(0)
    b = tl.program_id(1)
    c = tl.arange(0, B)
    a = tl.load(x + (b * T + t) * C + c, mask=c < C, other=0.0)
    behind = tl.load(x + (b * T + t + 1) * C + c, mask=(c < C) & (t + 1 < T), other=0.0)
    tl.store(y + (b * T + t) * C + c, a * behind, mask=c < C)


@triton.jit
def scales_of_two_rows(x, w, y, n, P, B: tl.constexpr):
    """Images share a row's scale, and each row takes the next one's, too."""
    image, row = tl.program_id(0), tl.program_id(1)
    c = tl.arange(0, B)
    v = tl.load(x + (image * n + row) * P + c, mask=c < P, other=0.0)
    own, behind = tl.load(w + row), tl.load(w + row + 1)
    tl.store(y + (image * n + row) * P + c, tl.exp(v * own) + v * behind, mask=c < P)


@triton.jit
def sum_of_neighbours(x, y, T, C, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    a = tl.load(x + row * C + c, mask=c < C, other=0.0)
    before = tl.load(x + (row - 1) * C + c, mask=(c < C) & (row > 0), other=0.0)
    s = a * tl.sum(before * before)
    tl.store(y + row * C + c, s / (1 + tl.sum(s * s)), mask=c < C)


@triton.jit
def frames_apart(x, y, T, C, BT: tl.constexpr, BC: tl.constexpr):
    """A frame less the one before it: the last frame has no lane of its own where T - 1 is a multiple of BT."""
    b = tl.program_id(0)
    t = tl.program_id(1) * BT + tl.arange(0, BT)
    c = tl.program_id(2) * BC + tl.arange(0, BC)
    p = x + (b * T + t[:, None]) * C + c[None, :]
    keep = (t < T - 1)[:, None] & (c < C)[None, :]
    d = tl.load(p + C, mask=keep, other=0.0) - tl.load(p, mask=keep, other=0.0)
    tl.store(y + (b * (T - 1) + t[:, None]) * C + c[None, :], d * d, mask=keep)


@triton.jit
def frames_beyond(x, y, T, C, BT: tl.constexpr, BC: tl.constexpr):
    """The last frame of a batch is compared with the first one of the next: two programs have it."""
    b = tl.program_id(0)
    t = tl.program_id(1) * BT + tl.arange(0, BT)
    c = tl.program_id(2) * BC + tl.arange(0, BC)
    p = x + (b * T + t[:, None]) * C + c[None, :]
    keep = (t < T)[:, None] & (c < C)[None, :]
    d = tl.load(p + C, mask=keep, other=0.0) - tl.load(p, mask=keep, other=0.0)
    tl.store(y + (b * T + t[:, None]) * C + c[None, :], d * d, mask=keep)


@triton.jit
def lanes_laid_out(x, w, y, T, C, BT: tl.constexpr, BC: tl.constexpr):
    """Lanes are put along their axis as they are numbered."""
    b = tl.program_id(0)
    t = tl.program_id(1) * BT + tl.arange(0, BT)[:, None]
    c = tl.program_id(2) * BC + tl.arange(0, BC)[None, :]
    inside = (t < T) & (c < C)
    base = x + b * T * C
    a = tl.load(base + t * C + c, mask=inside, other=0.0)
    before = tl.load(base + (t - 1) * C + c, mask=inside & (t > 0), other=0.0)
    mix = tl.load(w + c, mask=c < C, other=0.0)
    tl.store(y + b * T * C + t * C + c, a + (before - a) * mix, mask=inside)


@triton.jit
def five_points(x, y, H, W, BH: tl.constexpr, BW: tl.constexpr):
    plane = tl.program_id(2)
    h = tl.program_id(0) * BH + tl.arange(0, BH)[:, None]
    w = tl.program_id(1) * BW + tl.arange(0, BW)[None, :]
    m = (h < H) & (w < W)
    p = x + plane * H * W + h * W + w
    c = tl.load(p, mask=m, other=0.0)
    up = tl.load(p - W, mask=m & (h > 0), other=0.0)
    down = tl.load(p + W, mask=m & (h < H - 1), other=0.0)
    left = tl.load(p - 1, mask=m & (w > 0), other=0.0)
    right = tl.load(p + 1, mask=m & (w < W - 1), other=0.0)
    tl.store(y + plane * H * W + h * W + w, (up + down + left + right - 4 * c) * c, mask=m)


def run_row_before(x, mix):
    b, t, c = x.shape
    y = torch.empty_like(x)
    row_before[(b * t, triton.cdiv(c, 8))](x, mix, y, t, c, B=8)
    return y


def run_row_behind(x):
    b, t, c = x.shape
    y = torch.empty_like(x)
    row_behind[(b * t,)](x, y, t, c, B=16)
    return y


def run_taps(x, w):
    b, t, c = x.shape
    y = torch.empty_like(x)
    taps[(t, b)](x, w, y, t, c, B=16)
    return y


def run_elements_beside(x):
    y = torch.empty_like(x)
    elements_beside[(triton.cdiv(x.numel(), 8),)](x, y, x.numel(), B=8)
    return y


def run_rows_of_a_tile(x, w):
    b, t, c = x.shape
    y = torch.empty_like(x)
    rows_of_a_tile[(triton.cdiv(t, 4), triton.cdiv(c, 8), b)](x, w, y, t, c, BT=4, BC=8)
    return y


def run_scales_of_two_rows(x, w):
    images, n, pixels = x.shape
    y = torch.empty_like(x)
    scales_of_two_rows[(images, n)](x, w, y, n, pixels, B=16)
    return y


def run_other_batch_behind(x):
    b, t, c = x.shape
    y = torch.empty_like(x)
    other_batch_behind[(t, b)](x, y, t, c, B=16)
    return y


def run_sum_of_neighbours(x):
    b, t, c = x.shape
    y = torch.empty_like(x)
    sum_of_neighbours[(b * t,)](x, y, t, c, B=16)
    return y


def run_frames_apart(x):
    B, T, C = x.shape
    y = torch.empty(B, T - 1, C)
    frames_apart[(B, triton.cdiv(T - 1, 4), triton.cdiv(C, 8))](x, y, T, C, BT=4, BC=8)
    return y


def run_frames_beyond(x):
    B, T, C = x.shape
    y = torch.empty(B - 1, T, C)
    frames_beyond[(B - 1, triton.cdiv(T, 4), triton.cdiv(C, 8))](x, y, T, C, BT=4, BC=8)
    return y


def run_lanes_laid_out(x, w):
    B, T, C = x.shape
    y = torch.empty_like(x)
    lanes_laid_out[(B, triton.cdiv(T, 4), triton.cdiv(C, 8))](x, w, y, T, C, BT=4, BC=8)
    return y


def run_five_points(x):
    N, H, W = x.shape
    y = torch.empty_like(x)
    five_points[(triton.cdiv(H, 4), triton.cdiv(W, 8), N)](x, y, H, W, BH=4, BW=8)
    return y


@triton.jit
def behind_a_state(x_ptr, s_ptr, w_ptr, y_ptr, T, C, BLOCK: tl.constexpr):
    """A branch chooses the state for the first row, and the row before for each other one."""
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < C
    x = tl.load(x_ptr + row * C + c, mask=m, other=0.0)
    if row % T == 0:
        last = tl.load(s_ptr + row // T * C + c, mask=m, other=0.0)
    else:
        last = tl.load(x_ptr + (row - 1) * C + c, mask=m, other=0.0)
    w = tl.load(w_ptr + c, mask=m, other=0.0)
    tl.store(y_ptr + row * C + c, x + (last - x) * w, mask=m)


def run_behind_a_state(x, s, w):
    B, T, C = x.shape
    y = torch.empty_like(x)
    behind_a_state[(B * T,)](x, s, w, y, T, C, BLOCK=triton.next_power_of_2(C))
    return y
