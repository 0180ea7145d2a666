"""Tensors that are read at shifted places, in loops over taps or along several axes, by whoever owns an element."""

# case: {"class": "taps", "call": "m.run_last_elements(x, 3)", "inputs": {"x": [2, 21]}}
# case: {"class": "taps", "call": "m.run_causal(x, w, b)", "inputs": {"x": [2, 19, 5], "w": [4, 5], "b": [5]}}
# case: {"class": "taps", "call": "m.run_around(x, w)", "inputs": {"x": [2, 5, 7], "w": [3, 3]}}
# case: {"class": "taps", "call": "m.run_differences(x)", "inputs": {"x": [2, 5, 7]}}
# case: {"class": "taps", "call": "m.run_before_in_time(x)", "inputs": {"x": [2, 5, 3]}}
# case: {"class": "taps", "call": "m.run_dilated(x, w, 2)", "inputs": {"x": [2, 21], "w": [3]}}
# case: {"class": "taps", "call": "m.run_as_long(x, w)", "inputs": {"x": [2, 21], "w": [1]}}
# case: {"class": "taps", "call": "m.run_as_long(x, w)", "inputs": {"x": [2, 21], "w": [4]}}
# case: {"class": "taps", "call": "m.run_as_long(x, w)", "inputs": {"x": [2, 21], "w": [5]}}
# case: {"class": "taps", "call": "m.run_valid(x, w)", "inputs": {"x": [2, 21], "w": [3]}}
# case: {"class": "taps", "call": "m.run_around_some(x)", "inputs": {"x": [37]}}
# case: {"class": "taps", "call": "m.run_shifted_by(x, 3)", "inputs": {"x": [37]}}
# case: {"class": "taps", "call": "m.run_shifted_by(x, -3)", "inputs": {"x": [37]}}
# case: {"class": "taps", "call": "m.run_causal_tile(x, w)", "inputs": {"x": [2, 19, 5], "w": [5, 3]}}

import torch
import triton
import triton.language as tl


@triton.jit
def last_elements(x, y, n, W: tl.constexpr, B: tl.constexpr):
    """The mean of the last elements of a row: no read without an owner, and none of a later reader."""
    row = tl.program_id(0)
    t = tl.program_id(1) * B + tl.arange(0, B)
    total = tl.zeros((B,), dtype=tl.float32)
    for k in tl.static_range(W):
        total += tl.load(x + row * n + t - k, mask=(t < n) & (t - k >= 0), other=0.0)
    tl.store(y + row * n + t, total / W, mask=t < n)


@triton.jit
def five_points_flat(x, y, H, W, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    w = i % W
    h = (i // W) % H
    c = tl.load(x + i, mask=m, other=0.0)
    l = tl.load(x + i - 1, mask=m & (w > 0), other=0.0)
    r = tl.load(x + i + 1, mask=m & (w < W - 1), other=0.0)
    u = tl.load(x + i - W, mask=m & (h > 0), other=0.0)
    d = tl.load(x + i + W, mask=m & (h < H - 1), other=0.0)
    tl.store(y + i, l + r + u + d - 4 * c, mask=m)


@triton.jit
def five_points_of_some(x, y, H, W, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    w = i % W
    h = (i // W) % H
    c = tl.load(x + i, mask=m, other=0.0)
    l = tl.load(x + i - 1, mask=m & (w > 0), other=0.0)
    r = tl.load(x + i + 1, mask=m & (w < W - 1), other=0.0)
    u = tl.load(x + i - W, mask=m & (h > 0), other=0.0)
    d = tl.load(x + i + W, mask=m & (h < H - 1), other=0.0)
    tl.store(y + i, l + r + u + d - 4 * c, mask=m)


@triton.jit
def two_columns_on(x, y, H, W, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    w = i % W
    h = (i // W) % H
    c = tl.load(x + i, mask=m, other=0.0)
    l = tl.load(x + i - 1, mask=m & (w > 0), other=0.0)
    r = tl.load(x + i + 2, mask=m & (w < W - 2), other=0.0)
    u = tl.load(x + i - W, mask=m & (h != 0), other=0.0)
    d = tl.load(x + i + W, mask=m & (h != H - 1), other=0.0)
    tl.store(y + i, l + r + u + d - 4 * c, mask=m)


@triton.jit
def taps_written_out(x, w, y, T, C, B: tl.constexpr):
    b = tl.program_id(0)
    t = tl.program_id(1)
    c = tl.program_id(2) * B + tl.arange(0, B)
    m = c < C
    p = x + (b * T + t) * C + c
    x0 = tl.load(p - 3 * C, mask=m & (t >= 3), other=0.0)
    x1 = tl.load(p - 2 * C, mask=m & (t >= 2), other=0.0)
    x2 = tl.load(p - C, mask=m & (t >= 1), other=0.0)
    x3 = tl.load(p, mask=m, other=0.0)
    w0 = tl.load(w + c * 4, mask=m)
    w1 = tl.load(w + c * 4 + 1, mask=m)
    w2 = tl.load(w + c * 4 + 2, mask=m)
    w3 = tl.load(w + c * 4 + 3, mask=m)
    tl.store(y + (b * T + t) * C + c, x0 * w0 + x1 * w1 + x2 * w2 + x3 * w3, mask=m)


def run_last_elements(x, window):
    y = torch.empty_like(x)
    m, n = x.shape
    last_elements[(m, triton.cdiv(n, 16))](x, y, n, W=window, B=16)
    return y


@triton.jit
def causal(x, w, b, y, T, D, BT: tl.constexpr, BD: tl.constexpr):
    """What is added needs the reader's own taps: its loop runs once more for each."""
    batch = tl.program_id(0)
    t = tl.program_id(1) * BT + tl.arange(0, BT)
    d = tl.program_id(2) * BD + tl.arange(0, BD)
    here = (t[:, None] < T) & (d[None, :] < D)
    total = tl.zeros((BT, BD), dtype=tl.float32)
    total += tl.load(b + d, mask=d < D, other=0.0)[None, :]
    for tap in tl.static_range(4):
        s = t - 3 + tap
        at = (batch * T + s[:, None]) * D + d[None, :]
        a = tl.load(x + at, mask=here & (s[:, None] >= 0), other=0.0)
        total += a * tl.load(w + tap * D + d, mask=d < D, other=0.0)[None, :]
    total = total * tl.sigmoid(total)
    tl.store(y + (batch * T + t[:, None]) * D + d[None, :], total, mask=here)


def run_causal(x, w, b):
    batch, T, D = x.shape
    y = torch.empty_like(x)
    causal[(batch, triton.cdiv(T, 8), triton.cdiv(D, 4))](x, w, b, y, T, D, BT=8, BD=4)
    return y


@triton.jit
def around(x, w, y, H, W, B: tl.constexpr):
    """Shifts along rows and columns, both ways: the grid and the block have all that masks let through."""
    plane = tl.program_id(0)
    h = tl.program_id(1)
    c = tl.arange(0, B)
    total = tl.zeros((B,), dtype=tl.float32)
    for i in tl.static_range(3):
        for j in tl.static_range(3):
            hh = h + i - 1
            cc = c + j - 1
            inside = (hh >= 0) & (hh < H) & (cc >= 0) & (cc < W)
            a = tl.load(x + (plane * H + hh) * W + cc, mask=inside, other=0.0)
            total += a * tl.load(w + i * 3 + j)
    tl.store(y + (plane * H + h) * W + c, total, mask=c < W)


def run_around(x, w):
    planes, H, W = x.shape
    y = torch.empty_like(x)
    around[(planes, H)](x, w, y, H, W, B=triton.next_power_of_2(W))
    return y


@triton.jit
def differences(x, out, H, W, B: tl.constexpr):
    """Three reads, each shifted along another axis, of a sum of squares."""
    plane = tl.program_id(0)
    h = tl.program_id(1)
    c = tl.arange(0, B)
    at = (plane * H + h) * W + c
    a = tl.load(x + at, mask=c < W, other=0.0)
    right = tl.load(x + at + 1, mask=c + 1 < W, other=0.0)
    below = tl.load(x + at + W, mask=(c < W) & (h + 1 < H), other=0.0)
    dx = tl.where(c + 1 < W, right - a, 0.0)
    dy = tl.where((c < W) & (h + 1 < H), below - a, 0.0)
    tl.store(out + plane * H + h, tl.sum(dx * dx + dy * dy))


def run_differences(x):
    planes, H, W = x.shape
    out = torch.empty(planes, H, device=x.device, dtype=x.dtype)
    differences[(planes, H)](x, out, H, W, B=triton.next_power_of_2(W))
    return out


@triton.jit
def before_in_time(x, y, n, T, C, B: tl.constexpr):
    """A shift by as many elements as a number of the launch says."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    t = i // C % T
    a = tl.load(x + i, mask=i < n, other=0.0)
    before = tl.load(x + i - C, mask=(i < n) & (t > 0), other=0.0)
    tl.store(y + i, a * a - 0.9 * before, mask=i < n)


def run_before_in_time(x):
    y = torch.empty_like(x)
    n = x.numel()
    before_in_time[(triton.cdiv(n, 16),)](x, y, n, x.shape[1], x.shape[2], B=16)
    return y


@triton.jit
def dilated(x, w, y, n, step, K: tl.constexpr, B: tl.constexpr):
    """A step that a caller chooses may be negative: nobody knows who is in front of whom."""
    row = tl.program_id(0)
    t = tl.program_id(1) * B + tl.arange(0, B)
    total = tl.zeros((B,), dtype=tl.float32)
    for k in tl.static_range(K):
        s = t - k * step
        total += tl.load(x + row * n + s, mask=(s >= 0) & (s < n), other=0.0) * tl.load(w + k)
    tl.store(y + row * n + t, total, mask=t < n)


def run_dilated(x, w, step):
    y = torch.empty_like(x)
    m, n = x.shape
    dilated[(m, triton.cdiv(n, 8))](x, w, y, n, step, K=w.shape[0], B=8)
    return y


@triton.jit
def as_long(x, w, y, n, K: tl.constexpr, B: tl.constexpr):
    """As many results as elements: half of the taps are in front of one, half behind."""
    row = tl.program_id(0)
    t = tl.program_id(1) * B + tl.arange(0, B)
    total = tl.zeros((B,), dtype=tl.float32)
    for k in tl.static_range(K):
        s = t + k - K // 2
        total += tl.load(x + row * n + s, mask=(s >= 0) & (s < n), other=0.0) * tl.load(w + k)
    tl.store(y + row * n + t, total, mask=t < n)


def run_as_long(x, w):
    y = torch.empty_like(x)
    m, n = x.shape
    as_long[(m, triton.cdiv(n, 8))](x, w, y, n, K=w.shape[0], B=8)
    return y


@triton.jit
def valid(x, w, y, n, width, K: tl.constexpr, B: tl.constexpr):
    """The last elements of a row have readers, but no owner."""
    row = tl.program_id(0)
    t = tl.program_id(1) * B + tl.arange(0, B)
    total = tl.zeros((B,), dtype=tl.float32)
    for k in tl.static_range(K):
        total += tl.load(x + row * n + t + k, mask=t < width, other=0.0) * tl.load(w + k)
    tl.store(y + row * width + t, total, mask=t < width)


def run_valid(x, w):
    m, n = x.shape
    width = n - w.shape[0] + 1
    y = torch.empty(m, width, device=x.device, dtype=x.dtype)
    valid[(m, triton.cdiv(width, 8))](x, w, y, n, width, K=w.shape[0], B=8)
    return y


@triton.jit
def around_some(x, y, n, B: tl.constexpr):
    """The launch computes a part of what the masks let through."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    total = tl.zeros((B,), dtype=tl.float32)
    for k in tl.static_range(5):
        s = i + k - 2
        total += tl.load(x + s, mask=(s >= 0) & (s < n), other=0.0)
    tl.store(y + i, total, mask=i < n)


def run_around_some(x):
    y = torch.zeros_like(x)
    around_some[(2,)](x, y, x.numel(), B=8)
    return y


@triton.jit
def shifted_by(x, y, n, shift, B: tl.constexpr):
    """A caller's shift may go both ways, and both have owners."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    s = i + shift
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.load(x + s, mask=(i < n) & (s >= 0) & (s < n), other=0.0)
    tl.store(y + i, a * a + b, mask=i < n)


def run_shifted_by(x, shift):
    y = torch.empty_like(x)
    n = x.numel()
    shifted_by[(triton.cdiv(n, 8),)](x, y, n, shift, B=8)
    return y


def run_five_points_flat(x):
    P, H, W = x.shape
    y = torch.empty_like(x)
    n = x.numel()
    five_points_flat[(triton.cdiv(n, 32),)](x, y, H, W, n, B=32)
    return y


def run_five_points_of_some(x, n):
    P, H, W = x.shape
    y = torch.empty_like(x)
    five_points_of_some[(triton.cdiv(n, 32),)](x, y, H, W, n, B=32)
    return y


def run_two_columns_on(x):
    P, H, W = x.shape
    y = torch.empty_like(x)
    n = x.numel()
    two_columns_on[(triton.cdiv(n, 32),)](x, y, H, W, n, B=32)
    return y


@triton.jit
def causal_tile(x, w, y, n, D: tl.constexpr, BT: tl.constexpr, BD: tl.constexpr):
    """Both ends of the rows are one mask, which is spread over the columns."""
    d = tl.program_id(0) * BD + tl.arange(0, BD)
    t = tl.program_id(1) * BT + tl.arange(0, BT)
    b = tl.program_id(2)
    total = tl.zeros([BT, BD], dtype=tl.float32)
    for i in tl.static_range(3):
        row = t + i - 2
        mask = ((row >= 0) & (row < n))[:, None] & (d < D)[None, :]
        read = tl.load(x + (b * n + row)[:, None] * D + d[None, :], mask=mask, other=0.0)
        total += read * tl.load(w + d * 3 + i, mask=d < D, other=0.0)[None, :]
    tl.store(
        y + (b * n + t)[:, None] * D + d[None, :],
        total * tl.sigmoid(total),
        mask=(t < n)[:, None] & (d < D)[None, :],
    )


def run_causal_tile(x, w):
    B, n, D = x.shape
    y = torch.empty_like(x)
    causal_tile[(triton.cdiv(D, 4), triton.cdiv(n, 8), B)](x, w, y, n, D, 8, 4)
    return y


def run_taps_written_out(x, w):
    Bt, T, C = x.shape
    y = torch.empty_like(x)
    taps_written_out[(Bt, T, triton.cdiv(C, 32))](x, w, y, T, C, B=32)
    return y
