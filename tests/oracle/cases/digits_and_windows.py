"""Patches, windows, shuffles, rotations, groups and pools whose addresses are quotients and remainders."""

# case: {"class": "digits and windows", "call": "m.patches(x, w)", "inputs": {"x": [2, 3, 8, 12], "w": [4, 3, 2, 3]}}
# case: {"class": "digits and windows", "call": "m.patches(x, w)", "inputs": {"x": [1, 1, 2, 3], "w": [4, 1, 2, 3]}}
# case: {"class": "digits and windows", "call": "m.windows(x, 3, 2)", "inputs": {"x": [4, 17]}}
# case: {"class": "digits and windows", "call": "m.windows(x, 3, 5)", "inputs": {"x": [4, 17]}}
# case: {"class": "digits and windows", "call": "m.windows(x, 4, 4)", "inputs": {"x": [1, 16]}}
# case: {"class": "digits and windows", "call": "m.windows(x, 1, 1)", "inputs": {"x": [3, 1]}}
# case: {"class": "digits and windows", "call": "m.shuffle(x, 2)", "inputs": {"x": [2, 8, 3, 5]}}
# case: {"class": "digits and windows", "call": "m.shuffle(x, 1)", "inputs": {"x": [2, 8, 3, 5]}}
# case: {"class": "digits and windows", "call": "m.rotate_rows(x, 5)", "inputs": {"x": [3, 18]}}
# case: {"class": "digits and windows", "call": "m.rotate_rows(x, 0)", "inputs": {"x": [3, 18]}}
# case: {"class": "digits and windows", "call": "m.rotate_rows(x, 18)", "inputs": {"x": [3, 18]}}
# case: {"class": "digits and windows", "call": "m.rotate_rows(x, -4)", "inputs": {"x": [3, 18]}}
# case: {"class": "digits and windows", "call": "m.groups(x, g)", "inputs": {"x": [5, 12], "g": [5, 4]}}
# case: {"class": "digits and windows", "call": "m.groups(x, g)", "inputs": {"x": [5, 12], "g": [5, 1]}}
# case: {"class": "digits and windows", "call": "m.groups(x, g)", "inputs": {"x": [1, 12], "g": [1, 12]}}
# case: {"class": "digits and windows", "call": "m.interleave(a, b)", "inputs": {"a": [3, 7], "b": [3, 7]}}
# case: {"class": "digits and windows", "call": "m.upsample(x)", "inputs": {"x": [2, 5, 3]}}
# case: {"class": "digits and windows", "call": "m.upsample(x)", "inputs": {"x": [1, 1, 1]}}
# case: {"class": "digits and windows", "call": "m.pooled(x, 3)", "inputs": {"x": [4, 12]}}
# case: {"class": "digits and windows", "call": "m.pooled(x, 5)", "inputs": {"x": [4, 13]}}
# case: {"class": "digits and windows", "call": "m.clamped(x, 2)", "inputs": {"x": [4, 13]}}
# case: {"class": "digits and windows", "call": "m.clamped(x, 9)", "inputs": {"x": [2, 5]}}
# case: {"class": "digits and windows", "call": "m.mirrored(x, 2)", "inputs": {"x": [4, 13]}}
# case: {"class": "digits and windows", "call": "m.digits(x, t)", "inputs": {"x": [30], "t": [6]}}
# case: {"class": "digits and windows", "call": "m.digits(x, t)", "inputs": {"x": [33], "t": [6]}}
import torch
import triton
import triton.language as tl


@triton.jit
def patch_kernel(
    x,
    w,
    y,
    C,
    H,
    W,
    OH,
    OW,
    KH: tl.constexpr,
    KW: tl.constexpr,
    O: tl.constexpr,
    BLOCK: tl.constexpr,
):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1)
    ok = at < OH * OW
    oh = at // OW
    ow = at % OW
    outs = tl.arange(0, O)
    acc = tl.zeros([BLOCK, O], tl.float32)
    for c in range(C):
        for i in range(KH):
            for j in range(KW):
                v = tl.load(
                    x + ((n * C + c) * H + oh * KH + i) * W + ow * KW + j, mask=ok, other=0.0
                )
                u = tl.load(w + ((outs * C + c) * KH + i) * KW + j)
                acc += v[:, None] * u[None, :]
    tl.store(y + (n * OH * OW + at[:, None]) * O + outs[None, :], acc, mask=ok[:, None])


def patches(x, w):
    N, C, H, W = x.shape
    O, _, KH, KW = w.shape
    OH, OW = H // KH, W // KW
    y = torch.empty(N, OH * OW, O, dtype=x.dtype, device=x.device)
    patch_kernel[(triton.cdiv(OH * OW, 8), N)](x, w, y, C, H, W, OH, OW, KH, KW, O, BLOCK=8)
    return y


@triton.jit
def window_kernel(x, y, L, count, step, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    ok = at < count
    acc = tl.zeros([BLOCK], tl.float32)
    for k in range(SIZE):
        acc += (k + 1.0) * tl.load(x + row * L + at * step + k, mask=ok, other=0.0)
    tl.store(y + row * count + at, acc * acc, mask=ok)


def windows(x, size, step):
    rows, L = x.shape
    count = (L - size) // step + 1
    y = torch.empty(rows, count, dtype=x.dtype, device=x.device)
    window_kernel[(rows, triton.cdiv(count, 4))](x, y, L, count, step, SIZE=size, BLOCK=4)
    return y


@triton.jit
def shuffle_kernel(x, y, C, H, W, R, total, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = at < total
    ow = at % (W * R)
    oh = at // (W * R) % (H * R)
    oc = at // (W * R * H * R) % (C // (R * R))
    n = at // (W * R * H * R * (C // (R * R)))
    c = oc * R * R + oh % R * R + ow % R
    v = tl.load(x + ((n * C + c) * H + oh // R) * W + ow // R, mask=ok, other=0.0)
    tl.store(y + at, tl.sin(v) * v, mask=ok)


def shuffle(x, r):
    N, C, H, W = x.shape
    y = torch.empty(N, C // (r * r), H * r, W * r, dtype=x.dtype, device=x.device)
    shuffle_kernel[(triton.cdiv(y.numel(), 32),)](x, y, C, H, W, r, y.numel(), BLOCK=32)
    return y


@triton.jit
def rotate_kernel(x, y, n, by, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    ok = at < n
    v = tl.load(x + row * n + (at + by + n) % n, mask=ok, other=0.0)
    u = tl.load(x + row * n + at, mask=ok, other=0.0)
    tl.store(y + row * n + at, v * u, mask=ok)


def rotate_rows(x, by):
    y = torch.empty_like(x)
    rotate_kernel[(x.shape[0],)](x, y, x.shape[1], by, BLOCK=32)
    return y


@triton.jit
def group_kernel(x, g, y, n, per, groups, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = at < n
    s = tl.load(g + row * groups + at // per, mask=ok, other=1.0)
    v = tl.load(x + row * n + at, mask=ok, other=0.0)
    tl.store(y + row * n + at, v * tl.exp(s), mask=ok)


def groups(x, g):
    y = torch.empty_like(x)
    rows, n = x.shape
    group_kernel[(triton.cdiv(n, 8), rows)](x, g, y, n, n // g.shape[1], g.shape[1], BLOCK=8)
    return y


@triton.jit
def interleave_kernel(a, b, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    ok = at < 2 * n
    va = tl.load(a + row * n + at // 2, mask=ok & (at % 2 == 0), other=0.0)
    vb = tl.load(b + row * n + at // 2, mask=ok & (at % 2 == 1), other=0.0)
    tl.store(y + row * 2 * n + at, tl.where(at % 2 == 0, va * va, vb * 3.0), mask=ok)


def interleave(a, b):
    y = torch.empty(a.shape[0], 2 * a.shape[1], dtype=a.dtype, device=a.device)
    interleave_kernel[(a.shape[0],)](a, b, y, a.shape[1], BLOCK=16)
    return y


@triton.jit
def upsample_kernel(x, y, H, W, BLOCK: tl.constexpr):
    n = tl.program_id(1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = at < 4 * H * W
    oh = at // (2 * W)
    ow = at % (2 * W)
    v = tl.load(x + n * H * W + oh // 2 * W + ow // 2, mask=ok, other=0.0)
    tl.store(y + n * 4 * H * W + at, v * v, mask=ok)


def upsample(x):
    n, H, W = x.shape
    y = torch.empty(n, 2 * H, 2 * W, dtype=x.dtype, device=x.device)
    upsample_kernel[(triton.cdiv(4 * H * W, 16), n)](x, y, H, W, BLOCK=16)
    return y


@triton.jit
def pool_kernel(x, y, n, size, out, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    ok = at < out
    total = tl.zeros([BLOCK], tl.float32)
    for k in range(size):
        inside = ok & (at * size + k < n)
        total += tl.load(x + row * n + at * size + k, mask=inside, other=0.0)
    tl.store(y + row * out + at, total * total / size, mask=ok)


def pooled(x, size):
    rows, n = x.shape
    out = (n + size - 1) // size
    y = torch.empty(rows, out, dtype=x.dtype, device=x.device)
    pool_kernel[(rows,)](x, y, n, size, out, BLOCK=8)
    return y


@triton.jit
def clamp_kernel(x, y, n, reach, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    ok = at < n
    left = tl.maximum(at - reach, 0)
    right = tl.minimum(at + reach, n - 1)
    a = tl.load(x + row * n + left, mask=ok, other=0.0)
    b = tl.load(x + row * n + right, mask=ok, other=0.0)
    tl.store(y + row * n + at, a * b, mask=ok)


def clamped(x, reach):
    y = torch.empty_like(x)
    clamp_kernel[(x.shape[0],)](x, y, x.shape[1], reach, BLOCK=16)
    return y


@triton.jit
def mirror_kernel(x, y, n, pad, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    ok = at < n + 2 * pad
    from_ = tl.abs(at - pad)
    from_ = tl.where(from_ >= n, 2 * (n - 1) - from_, from_)
    v = tl.load(x + row * n + from_, mask=ok, other=0.0)
    tl.store(y + row * (n + 2 * pad) + at, v * v, mask=ok)


def mirrored(x, pad):
    rows, n = x.shape
    y = torch.empty(rows, n + 2 * pad, dtype=x.dtype, device=x.device)
    mirror_kernel[(rows,)](x, y, n, pad, BLOCK=32)
    return y


@triton.jit
def digit_kernel(x, t, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = at < n
    a = tl.load(t + at % 3, mask=ok, other=0.0)
    b = tl.load(t + 3 + at // 3 % 3, mask=ok, other=0.0)
    v = tl.load(x + at, mask=ok, other=0.0)
    tl.store(y + at, v * a + b * b, mask=ok)


def digits(x, t):
    y = torch.empty_like(x)
    digit_kernel[(triton.cdiv(x.numel(), 16),)](x, t, y, x.numel(), BLOCK=16)
    return y
