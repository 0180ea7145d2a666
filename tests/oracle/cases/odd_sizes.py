"""Index maps, norms by channel, stencils and recurrences in other spellings, on odd sizes and on views."""

# case: {"class": "spellings", "call": "m.pairs(x, c, s)", "inputs": {"x": [3, 5, 11], "c": [5, 5], "s": [5, 5]}}
# case: {"class": "spellings", "call": "m.pairs(x.transpose(0, 1), c, s)", "inputs": {"x": [5, 3, 10], "c": [5, 5], "s": [5, 5]}}
# case: {"class": "spellings", "call": "m.pairs(x[1:], c, s)", "inputs": {"x": [3, 5, 10], "c": [5, 5], "s": [5, 5]}}
# case: {"class": "spellings", "call": "m.pairs_from_one(x)", "inputs": {"x": [3, 13]}}
# case: {"class": "spellings", "call": "m.enlarged(x, 3)", "inputs": {"x": [2, 3, 5]}}
# case: {"class": "spellings", "call": "m.enlarged(x, 2)", "inputs": {"x": [1, 1, 1]}}
# case: {"class": "spellings", "call": "m.enlarged(x.transpose(1, 2), 3)", "inputs": {"x": [2, 3, 5]}}
# case: {"class": "spellings", "call": "m.cropped(x, 7)", "inputs": {"x": [2, 5]}}
# case: {"class": "spellings", "call": "m.heads(k)", "inputs": {"k": [2, 3, 7]}}
# case: {"class": "spellings", "call": "m.flipped(x)", "inputs": {"x": [3, 13]}}
# case: {"class": "spellings", "call": "m.flipped(x.t())", "inputs": {"x": [13, 3]}}
# case: {"class": "spellings", "call": "m.pooled(x)", "inputs": {"x": [2, 7, 5]}}
# case: {"class": "spellings", "call": "m.dilated(x, w)", "inputs": {"x": [2, 19, 5], "w": [5, 3]}}
# case: {"class": "spellings", "call": "m.dilated(x[:, ::2], w)", "inputs": {"x": [2, 19, 5], "w": [5, 3]}}
# case: {"class": "spellings", "call": "m.grouped(x, w, b, 2)", "inputs": {"x": [3, 6, 11], "w": [6], "b": [6]}}
# case: {"class": "spellings", "call": "m.grouped(x, w, b, 3)", "inputs": {"x": [2, 6, 1], "w": [6], "b": [6]}}
# case: {"class": "spellings", "call": "m.batched(x, w, b)", "inputs": {"x": [3, 4, 21], "w": [4], "b": [4]}}
# case: {"class": "spellings", "call": "m.strided_bias(x, w)", "inputs": {"x": [101], "w": [7]}}
# case: {"class": "spellings", "call": "m.strided_bias(x, w)", "inputs": {"x": [3], "w": [7]}}
# case: {"class": "spellings", "call": "m.strided_bias(x, w)", "inputs": {"x": [700], "w": [1]}}
# case: {"class": "spellings", "call": "m.shared_bias(x, b, 2)", "inputs": {"x": [6, 9], "b": [2, 9]}}
# case: {"class": "spellings", "call": "m.shared_bias(x, b, 4)", "inputs": {"x": [6, 9], "b": [4, 9]}}
# case: {"class": "spellings", "call": "m.padded(x, 3, 2)", "inputs": {"x": [2, 9]}}
# case: {"class": "spellings", "call": "m.joined(x, y)", "inputs": {"x": [3, 5], "y": [3, 9]}}
# case: {"class": "spellings", "call": "m.gated(q, k, v, g, None, True)", "inputs": {"q": [2, 5, 3], "k": [2, 5, 3], "v": [2, 5, 11], "g": [2, 5]}}
# case: {"class": "spellings", "call": "m.gated(q, k, v, g, torch.tensor([0, 4, 4, 9]), False)", "inputs": {"q": [1, 9, 3], "k": [1, 9, 3], "v": [1, 9, 11], "g": [1, 9]}}
# case: {"class": "spellings", "call": "m.gated(q.expand(2, 5, 3).contiguous(), k, v, g, None, False)", "inputs": {"q": [1, 5, 3], "k": [2, 5, 3], "v": [2, 5, 11], "g": [2, 5]}}
# case: {"class": "spellings", "call": "m.gated(x, x, v, g, None, False)", "inputs": {"x": [2, 5, 3], "v": [2, 5, 11], "g": [2, 5]}}
# case: {"class": "spellings", "call": "m.bytes_of(x)", "inputs": {"x": [3, 300]}}

import torch
import triton
import triton.language as tl


@triton.jit
def pairs_kernel(x, c, s, y, sb, st, T, D, B: tl.constexpr):
    p = tl.program_id(0)
    b, t = p // T, p % T
    i = tl.arange(0, B)
    m = i < D // 2
    base = x + b * sb + t * st
    even = tl.load(base + 2 * i, mask=m, other=0.0)
    odd = tl.load(base + 2 * i + 1, mask=m, other=0.0)
    cos = tl.load(c + t * (D // 2) + i, mask=m, other=0.0)
    sin = tl.load(s + t * (D // 2) + i, mask=m, other=0.0)
    out = y + p * D
    tl.store(out + 2 * i, even * cos - odd * sin, mask=m)
    tl.store(out + 2 * i + 1, odd * cos + even * sin, mask=m)


def pairs(x, c, s):
    b, T, D = x.shape
    y = torch.zeros(b, T, D, dtype=x.dtype)
    pairs_kernel[(b * T,)](x, c, s, y, x.stride(0), x.stride(1), T, D, B=8)
    return y


@triton.jit
def pairs_from_one_kernel(x, y, N, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.program_id(1) * B + tl.arange(0, B)
    m = 2 * i + 2 < N
    a = tl.load(x + r * N + 2 * i + 1, mask=m, other=0.0)
    b = tl.load(x + r * N + 2 * i + 2, mask=m, other=0.0)
    tl.store(y + r * N + 2 * i + 1, a * b, mask=m)
    tl.store(y + r * N + 2 * i + 2, a - b * b, mask=m)


def pairs_from_one(x):
    y = torch.zeros_like(x)
    pairs_from_one_kernel[(len(x), triton.cdiv(x.shape[1], 8))](x, y, x.shape[1], B=4)
    return y


@triton.jit
def enlarged_kernel(x, y, sx0, sx1, sx2, H, W, S: tl.constexpr, B: tl.constexpr):
    p, h = tl.program_id(0), tl.program_id(1)
    w = tl.program_id(2) * B + tl.arange(0, B)
    m = w < W * S
    v = tl.load(x + p * sx0 + (h // S) * sx1 + (w // S) * sx2, mask=m, other=0.0)
    tl.store(y + (p * H * S + h) * W * S + w, v * v, mask=m)


def enlarged(x, s):
    P, H, W = x.shape
    y = torch.empty(P, H * s, W * s, dtype=x.dtype)
    enlarged_kernel[(P, H * s, triton.cdiv(W * s, 8))](x, y, *x.stride(), H, W, S=s, B=8)
    return y


@triton.jit
def cropped_kernel(x, y, N, M, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.program_id(1) * B + tl.arange(0, B)
    v = tl.load(x + r * N + i // 2, mask=i < M, other=0.0)
    tl.store(y + r * M + i, tl.exp(v), mask=i < M)


def cropped(x, m):
    y = torch.empty(len(x), m, dtype=x.dtype)
    cropped_kernel[(len(x), triton.cdiv(m, 4))](x, y, x.shape[1], m, B=4)
    return y


@triton.jit
def heads_kernel(k, y, D, G: tl.constexpr, B: tl.constexpr):
    b, h = tl.program_id(0), tl.program_id(1)
    H = tl.num_programs(1)
    d = tl.arange(0, B)
    v = tl.load(k + (b * (H // G) + h // G) * D + d, mask=d < D, other=0.0)
    tl.store(y + (b * H + h) * D + d, v * (h + 1), mask=d < D)


def heads(k):
    b, h, D = k.shape
    y = torch.empty(b, 3 * h, D, dtype=k.dtype)
    heads_kernel[(b, 3 * h)](k, y, D, G=3, B=8)
    return y


@triton.jit
def flipped_kernel(x, y, s0, s1, N, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.program_id(1) * B + tl.arange(0, B)
    v = tl.load(x + r * s0 + (N - 1 - i) * s1, mask=i < N, other=0.0)
    tl.store(y + r * N + i, v * v, mask=i < N)


def flipped(x):
    y = torch.empty(x.shape, dtype=x.dtype)
    flipped_kernel[(len(x), triton.cdiv(x.shape[1], 4))](x, y, *x.stride(), x.shape[1], B=4)
    return y


@triton.jit
def pooled_kernel(x, y, H, W, OH, OW, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    p, h, w = o // (OH * OW), o // OW % OH, o % OW
    acc = tl.zeros((B,), dtype=tl.float32)
    for i in tl.static_range(3):
        for j in tl.static_range(3):
            r, c = 2 * h - 1 + i, 2 * w - 1 + j
            ok = (o < n) & (r >= 0) & (r < H) & (c >= 0) & (c < W)
            acc += tl.load(x + (p * H + r) * W + c, mask=ok, other=0.0)
    tl.store(y + o, acc / 9, mask=o < n)


def pooled(x):
    P, H, W = x.shape
    OH, OW = (H - 1) // 2 + 1, (W - 1) // 2 + 1
    y = torch.empty(P, OH, OW, dtype=x.dtype)
    pooled_kernel[(triton.cdiv(y.numel(), 8),)](x, y, H, W, OH, OW, y.numel(), B=8)
    return y


@triton.jit
def dilated_kernel(x, w, y, s0, s1, n, D, BT: tl.constexpr, BD: tl.constexpr):
    d = tl.program_id(0) * BD + tl.arange(0, BD)
    t = tl.program_id(1) * BT + tl.arange(0, BT)
    b = tl.program_id(2)
    acc = tl.zeros((BT, BD), dtype=tl.float32)
    for i in tl.static_range(3):
        r = t + 2 * i - 2
        m = ((r >= 0) & (r < n))[:, None] & (d < D)[None, :]
        v = tl.load(x + b * s0 + r[:, None] * s1 + d[None, :], mask=m, other=0.0)
        acc += v * tl.load(w + d * 3 + i, mask=d < D, other=0.0)[None, :]
    tl.store(y + (b * n + t)[:, None] * D + d[None, :], acc * acc, mask=(t < n)[:, None] & (d < D)[None, :])


def dilated(x, w):
    b, n, D = x.shape
    y = torch.empty(b, n, D, dtype=x.dtype)
    dilated_kernel[(triton.cdiv(D, 4), triton.cdiv(n, 4), b)](x, w, y, x.stride(0), x.stride(1), n, D, BT=4, BD=4)
    return y


@triton.jit
def grouped_kernel(x, w, b, y, C, HW, CG: tl.constexpr, B: tl.constexpr):
    n, g = tl.program_id(0), tl.program_id(1)
    base = (n * C + g * CG) * HW
    total = tl.zeros((B,), dtype=tl.float32)
    for at in range(0, CG * HW, B):
        i = at + tl.arange(0, B)
        total += tl.load(x + base + i, mask=i < CG * HW, other=0.0)
    mean = tl.sum(total) / (CG * HW)
    square = tl.zeros((B,), dtype=tl.float32)
    for at in range(0, CG * HW, B):
        i = at + tl.arange(0, B)
        d = tl.where(i < CG * HW, tl.load(x + base + i, mask=i < CG * HW, other=0.0) - mean, 0.0)
        square += d * d
    rstd = 1 / tl.sqrt(tl.sum(square) / (CG * HW) + 1e-3)
    for at in range(0, CG * HW, B):
        i = at + tl.arange(0, B)
        m = i < CG * HW
        c = g * CG + i // HW
        v = (tl.load(x + base + i, mask=m, other=0.0) - mean) * rstd
        v = v * tl.load(w + c, mask=m, other=0.0) + tl.load(b + c, mask=m, other=0.0)
        tl.store(y + base + i, v, mask=m)


def grouped(x, w, b, groups):
    N, C, HW = x.shape
    y = torch.empty_like(x)
    grouped_kernel[(N, groups)](x, w, b, y, C, HW, CG=C // groups, B=8)
    return y


@triton.jit
def batched_kernel(x, w, b, y, N, C, HW, B: tl.constexpr):
    c = tl.program_id(0)
    s, q = 0.0, 0.0
    for n in range(N):
        for at in range(0, HW, B):
            i = at + tl.arange(0, B)
            v = tl.load(x + (n * C + c) * HW + i, mask=i < HW, other=0.0)
            s += tl.sum(v)
            q += tl.sum(v * v)
    mean = s / (N * HW)
    rstd = 1 / tl.sqrt(q / (N * HW) - mean * mean + 1e-3)
    ww, bb = tl.load(w + c), tl.load(b + c)
    for n in range(N):
        for at in range(0, HW, B):
            i = at + tl.arange(0, B)
            v = tl.load(x + (n * C + c) * HW + i, mask=i < HW, other=0.0)
            tl.store(y + (n * C + c) * HW + i, (v - mean) * rstd * ww + bb, mask=i < HW)


def batched(x, w, b):
    N, C, HW = x.shape
    y = torch.empty_like(x)
    batched_kernel[(C,)](x, w, b, y, N, C, HW, B=8)
    return y


@triton.jit
def strided_bias_kernel(x, w, y, n, C, B: tl.constexpr):
    for start in range(tl.program_id(0) * B, n, tl.num_programs(0) * B):
        i = start + tl.arange(0, B)
        v = tl.load(x + i, mask=i < n, other=0.0) * tl.load(w + i % C, mask=i < n, other=0.0)
        tl.store(y + i, tl.exp(v), mask=i < n)


def strided_bias(x, w):
    y = torch.empty_like(x)
    strided_bias_kernel[(3,)](x, w, y, x.numel(), w.numel(), B=16)
    return y


@triton.jit
def shared_bias_kernel(x, b, y, H, N, B: tl.constexpr):
    p = tl.program_id(0)
    j = tl.arange(0, B)
    v = tl.load(x + p * N + j, mask=j < N, other=-float("inf"))
    v += tl.load(b + (p % H) * N + j, mask=j < N, other=0.0)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + p * N + j, e / tl.sum(e, 0), mask=j < N)


def shared_bias(x, b, h):
    y = torch.empty_like(x)
    shared_bias_kernel[(len(x),)](x, b, y, h, x.shape[1], B=16)
    return y


@triton.jit
def padded_kernel(x, y, N, M, left, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.program_id(1) * B + tl.arange(0, B)
    inside = (i >= left) & (i < left + N)
    v = tl.load(x + r * N + i - left, mask=inside, other=0.0)
    tl.store(y + r * M + i, v * v, mask=i < M)


def padded(x, left, right):
    M = x.shape[1] + left + right
    y = torch.empty(len(x), M, dtype=x.dtype)
    padded_kernel[(len(x), triton.cdiv(M, 4))](x, y, x.shape[1], M, left, B=4)
    return y


@triton.jit
def joined_kernel(x, y, o, N, M, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    a = tl.load(x + r * N + i, mask=i < N, other=0.0)
    b = tl.load(y + r * M + i - N, mask=(i >= N) & (i < N + M), other=0.0)
    tl.store(o + r * (N + M) + i, tl.where(i < N, a * a, b * 3), mask=i < N + M)


def joined(x, y):
    o = torch.empty(len(x), x.shape[1] + y.shape[1], dtype=x.dtype)
    joined_kernel[(len(x),)](x, y, o, x.shape[1], y.shape[1], B=16)
    return o


@triton.jit
def gated_kernel(q, k, v, g, y, ends, T, K, V, BK: tl.constexpr, BV: tl.constexpr, BACK: tl.constexpr, RAGGED: tl.constexpr):
    i_v, n = tl.program_id(0), tl.program_id(1)
    if RAGGED:
        start = tl.load(ends + n)
        T = tl.load(ends + n + 1) - start
    else:
        start = n * T
    lanes, cols = tl.arange(0, BK), i_v * BV + tl.arange(0, BV)
    first = start + (T - 1 if BACK else 0)
    p_q, p_k, p_g = q + first * K + lanes, k + first * K + lanes, g + first
    p_v, p_y = v + first * V + cols, y + first * V + cols
    h = tl.zeros((BK, BV), dtype=tl.float32)
    for _ in range(T):
        b_q = tl.load(p_q, mask=lanes < K, other=0.0)
        b_k = tl.load(p_k, mask=lanes < K, other=0.0)
        b_v = tl.load(p_v, mask=cols < V, other=0.0)
        h = h * tl.sigmoid(tl.load(p_g)) + b_k[:, None] * b_v[None, :]
        tl.store(p_y, tl.sum(h * b_q[:, None], 0), mask=cols < V)
        p_q += (-1 if BACK else 1) * K
        p_k += (-1 if BACK else 1) * K
        p_g += -1 if BACK else 1
        p_v += (-1 if BACK else 1) * V
        p_y += (-1 if BACK else 1) * V


def gated(q, k, v, g, ends, back):
    b, T, K = q.shape
    V = v.shape[2]
    y = torch.zeros_like(v)
    n = b if ends is None else len(ends) - 1
    gated_kernel[(triton.cdiv(V, 4), n)](q, k, v, g, y, ends, T, K, V, 4, 4, BACK=back, RAGGED=ends is not None)
    return y


@triton.jit
def bytes_kernel(x, keep, y, N, B: tl.constexpr):
    r = tl.program_id(0)
    for at in range(0, N, B):
        i = at + tl.arange(0, B)
        m = tl.load(keep + r * N + i, mask=i < N, other=0)
        v = tl.load(x + r * N + i, mask=i < N, other=0.0)
        tl.store(y + r * N + i, tl.where(m, v * v, 0.0), mask=i < N)


def bytes_of(x, keep=None):
    keep = torch.arange(x.numel()).reshape(x.shape) % 3 > 0
    y = torch.empty_like(x)
    bytes_kernel[(len(x),)](x, keep, y, x.shape[1], B=64)
    return y
