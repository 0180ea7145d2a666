"""Kernels that move elements by digits of numbers, in the spellings of people who do not know each other."""

import torch
import triton
import triton.language as tl


@triton.jit
def pixel_unshuffle_tile_kernel(
    inp, out, H, W, r: tl.constexpr, BH: tl.constexpr, BW: tl.constexpr
):
    """A tile of a channel of the output; which channel, and which of its pixels, is in one id."""
    nc = tl.program_id(2)
    sub = nc % (r * r)
    src_c = nc // (r * r)
    oh = H // r
    ow = W // r
    y = tl.program_id(0) * BH + tl.arange(0, BH)
    x = tl.program_id(1) * BW + tl.arange(0, BW)
    ok = (y < oh)[:, None] & (x < ow)[None, :]
    src = inp + src_c * H * W + (y * r + sub // r)[:, None] * W + (x * r + sub % r)[None, :]
    tl.store(out + nc * oh * ow + y[:, None] * ow + x[None, :], tl.load(src, mask=ok), mask=ok)


def pixel_unshuffle_tile(x, r=2):
    N, C, H, W = x.shape
    out = torch.empty(N, C * r * r, H // r, W // r, device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(H // r, 8), triton.cdiv(W // r, 128), N * C * r * r)
    pixel_unshuffle_tile_kernel[grid](x, out, H, W, r=r, BH=8, BW=128)
    return out


@triton.jit
def roll_rows_kernel(x, y, n_cols, shift, BLOCK: tl.constexpr):
    """torch.roll along the last axis by a shift of either sign."""
    row = tl.program_id(0)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    src = (col - shift + n_cols) % n_cols
    v = tl.load(x + row * n_cols + src, mask=col < n_cols)
    tl.store(y + row * n_cols + col, v, mask=col < n_cols)


def roll_rows(x, shift):
    y = torch.empty_like(x)
    M, N = x.shape
    roll_rows_kernel[(M, triton.cdiv(N, 1024))](x, y, N, shift, BLOCK=1024)
    return y


@triton.jit
def interleave_kernel(a_ptr, b_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Elements of two tensors by turns: an element of the output a lane."""
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = o < 2 * n
    even = o % 2 == 0
    a = tl.load(a_ptr + o // 2, mask=m & even, other=0.0)
    b = tl.load(b_ptr + o // 2, mask=m & (o % 2 == 1), other=0.0)
    tl.store(out_ptr + o, tl.where(even, a, b), mask=m)


def interleave(a, b):
    out = torch.empty(a.shape[0], 2 * a.shape[1], device=a.device, dtype=a.dtype)
    n = a.numel()
    interleave_kernel[(triton.cdiv(2 * n, 1024),)](a, b, out, n, BLOCK=1024)
    return out


@triton.jit
def reverse_rows_kernel(x_ptr, y_ptr, n_rows, n_cols, BLOCK: tl.constexpr):
    """Rows from the last one to the first."""
    row = tl.program_id(0)
    src = n_rows - 1 - row
    for start in range(0, n_cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        v = tl.load(x_ptr + src * n_cols + c, mask=c < n_cols)
        tl.store(y_ptr + row * n_cols + c, v, mask=c < n_cols)


def reverse_rows(x):
    y = torch.empty_like(x)
    M, N = x.shape
    reverse_rows_kernel[(M,)](x, y, M, N, BLOCK=1024)
    return y


@triton.jit
def space_to_batch_kernel(src, dst, N, H, W, C, S: tl.constexpr, BLOCK_C: tl.constexpr):
    """(N, H, W, C) to (S * S * N, H / S, W / S, C): a program for a pixel of the output."""
    pid = tl.program_id(0)
    ow = W // S
    oh = H // S
    x = pid % ow
    rest = pid // ow
    y = rest % oh
    rest = rest // oh
    n = rest % N
    phase = rest // N
    dy = phase // S
    dx = phase % S
    c = tl.arange(0, BLOCK_C)
    v = tl.load(src + ((n * H + y * S + dy) * W + x * S + dx) * C + c, mask=c < C)
    tl.store(dst + pid * C + c, v, mask=c < C)


def space_to_batch(x, s=2):
    N, H, W, C = x.shape
    out = torch.empty(s * s * N, H // s, W // s, C, device=x.device, dtype=x.dtype)
    grid = (s * s * N * (H // s) * (W // s),)
    space_to_batch_kernel[grid](x, out, N, H, W, C, S=s, BLOCK_C=triton.next_power_of_2(C))
    return out


@triton.jit
def expand_kv_kernel(kv, out, T, KVH, G, D, total, BLOCK: tl.constexpr):
    """(B, T, KVH, D) to (B, KVH * G, T, D): heads of keys repeated for groups, and moved before time."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < total
    d = i % D
    t = (i // D) % T
    h = (i // (D * T)) % (KVH * G)
    b = i // (D * T * KVH * G)
    v = tl.load(kv + ((b * T + t) * KVH + h // G) * D + d, mask=m)
    tl.store(out + i, v, mask=m)


def expand_kv(x, g):
    B, T, KVH, D = x.shape
    out = torch.empty(B, KVH * g, T, D, device=x.device, dtype=x.dtype)
    total = out.numel()
    expand_kv_kernel[(triton.cdiv(total, 1024),)](x, out, T, KVH, g, D, total, BLOCK=1024)
    return out


@triton.jit
def merge_heads_rows_kernel(x_ptr, y_ptr, T, H, D: tl.constexpr):
    """(B, H, T, D) to (B, T, H * D): a program for a token's head."""
    pid = tl.program_id(0)
    h = pid % H
    t = pid // H % T
    b = pid // (H * T)
    d = tl.arange(0, D)
    tl.store(y_ptr + pid * D + d, tl.load(x_ptr + ((b * H + h) * T + t) * D + d))


def merge_heads_rows(x):
    B, H, T, D = x.shape
    y = torch.empty(B, T, H * D, device=x.device, dtype=x.dtype)
    merge_heads_rows_kernel[(B * T * H,)](x, y, T, H, D=D)
    return y


@triton.jit
def stack_two_kernel(a_ptr, b_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """Two matrices one above the other, in tiles; a tile may have rows of both."""
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.program_id(1) * BN + tl.arange(0, BN)
    cols = c < N
    upper = r < M
    lower = (r >= M) & (r < 2 * M)
    a = tl.load(a_ptr + r[:, None] * N + c[None, :], mask=upper[:, None] & cols[None, :], other=0.0)
    at = b_ptr + (r - M)[:, None] * N + c[None, :]
    b = tl.load(at, mask=lower[:, None] & cols[None, :], other=0.0)
    y = tl.where(upper[:, None], a, b)
    tl.store(y_ptr + r[:, None] * N + c[None, :], y, mask=(r < 2 * M)[:, None] & cols[None, :])


def stack_two(a, b):
    M, N = a.shape
    y = torch.empty(2, M, N, device=a.device, dtype=a.dtype)
    grid = (triton.cdiv(2 * M, 16), triton.cdiv(N, 128))
    stack_two_kernel[grid](a, b, y, M, N, BM=16, BN=128)
    return y


@triton.jit
def split_columns_kernel(x_ptr, a_ptr, b_ptr, NA, NB, n, BLOCK: tl.constexpr):
    """Columns to two tensors, an element a lane."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    width = NA + NB
    row = i // width
    col = i - row * width
    x = tl.load(x_ptr + i, mask=m, other=0.0)
    tl.store(a_ptr + row * NA + col, x, mask=m & (col < NA))
    tl.store(b_ptr + row * NB + col - NA, x, mask=m & (col >= NA))


def split_columns(x, na):
    M, N = x.shape
    a = torch.empty(M, na, device=x.device, dtype=x.dtype)
    b = torch.empty(M, N - na, device=x.device, dtype=x.dtype)
    n = x.numel()
    split_columns_kernel[(triton.cdiv(n, 1024),)](x, a, b, na, N - na, n, BLOCK=1024)
    return a, b


@triton.jit
def unpatch_kernel(tok, img, GH, GW, C, P: tl.constexpr, BLOCK: tl.constexpr):
    """(B, GH * GW, P * P * C) to (B, C, GH * P, GW * P): a program for a row of the picture."""
    row = tl.program_id(0)
    H = GH * P
    W = GW * P
    y = row % H
    bc = row // H
    c = bc % C
    b = bc // C
    for start in range(0, W, BLOCK):
        x = start + tl.arange(0, BLOCK)
        m = x < W
        patch = (b * GH + y // P) * GW + x // P
        v = tl.load(tok + (patch * P * P + (y % P) * P + x % P) * C + c, mask=m)
        tl.store(img + row * W + x, v, mask=m)


def unpatch(tok, gh, gw, p=14):
    B, n, E = tok.shape
    C = E // (p * p)
    img = torch.empty(B, C, gh * p, gw * p, device=tok.device, dtype=tok.dtype)
    unpatch_kernel[(B * C * gh * p,)](tok, img, gh, gw, C, P=p, BLOCK=256)
    return img


@triton.jit
def shift_right_kernel(x_ptr, y_ptr, S, D, BLOCK: tl.constexpr):
    """Tokens one later, zeros first: a program for a token."""
    s = tl.program_id(0)
    b = tl.program_id(1)
    d = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)
    keep = (d < D) & (s > 0)
    v = tl.load(x_ptr + (b * S + s - 1) * D + d, mask=keep, other=0.0)
    tl.store(y_ptr + (b * S + s) * D + d, v, mask=d < D)


def shift_right(x):
    B, S, D = x.shape
    y = torch.empty_like(x)
    shift_right_kernel[(S, B, triton.cdiv(D, 1024))](x, y, S, D, BLOCK=1024)
    return y


@triton.jit
def channel_shift_tile_kernel(x_ptr, y_ptr, T, C, F, BT: tl.constexpr, BC: tl.constexpr):
    """Some channels come from the last token, as many from the next one: a tile of tokens by channels."""
    b = tl.program_id(0)
    t = tl.program_id(1) * BT + tl.arange(0, BT)
    c = tl.program_id(2) * BC + tl.arange(0, BC)
    by = tl.where(c < F, -1, tl.where(c < 2 * F, 1, 0))
    at = t[:, None] + by[None, :]
    inside = (t[:, None] < T) & (c[None, :] < C)
    v = tl.load(
        x_ptr + (b * T + at) * C + c[None, :], mask=inside & (at >= 0) & (at < T), other=0.0
    )
    tl.store(y_ptr + (b * T + t[:, None]) * C + c[None, :], v, mask=inside)


def channel_shift_tile(x, div=4):
    B, T, C = x.shape
    y = torch.empty_like(x)
    grid = (B, triton.cdiv(T, 16), triton.cdiv(C, 128))
    channel_shift_tile_kernel[grid](x, y, T, C, C // div, BT=16, BC=128)
    return y


@triton.jit
def gather_frames_kernel(x_ptr, y_ptr, T, TO, HW, RATE, BLOCK: tl.constexpr):
    """Each RATE-th frame: a program for a part of one."""
    o = tl.program_id(0)
    b = tl.program_id(1)
    i = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x_ptr + (b * T + o * RATE) * HW + i, mask=i < HW)
    tl.store(y_ptr + (b * TO + o) * HW + i, v, mask=i < HW)


def gather_frames(x, rate=2):
    B, T, HW = x.shape
    TO = (T + rate - 1) // rate
    y = torch.empty(B, TO, HW, device=x.device, dtype=x.dtype)
    gather_frames_kernel[(TO, B, triton.cdiv(HW, 1024))](x, y, T, TO, HW, rate, BLOCK=1024)
    return y
