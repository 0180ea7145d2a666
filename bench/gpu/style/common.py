"""Kernels as many people write them: activations of flat tensors, rows, tiles, persistent programs, tuned ones."""

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def _gelu_tanh(x_ptr, y_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    block_start = pid * BLOCK_SIZE
    offsets = block_start + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    inner = 0.7978845608 * (x + 0.044715 * x * x * x)
    t = 2 * tl.sigmoid(2 * inner) - 1
    tl.store(y_ptr + offsets, 0.5 * x * (1 + t), mask=mask)


def gelu_tanh(x, block=1024):
    y = torch.empty_like(x)
    n = x.numel()
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK_SIZE"]),)  # noqa: E731
    _gelu_tanh[grid](x, y, n, BLOCK_SIZE=block)
    return y


@triton.jit
def _silu_mul(gate_ptr, up_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    g = tl.load(gate_ptr + i, mask=m, other=0).to(tl.float32)
    u = tl.load(up_ptr + i, mask=m, other=0)
    s = g * tl.sigmoid(g)
    tl.store(out_ptr + i, s.to(u.dtype) * u, mask=m)


def silu_mul(g, u, block=1024):
    out = torch.empty_like(g)
    n = g.numel()
    _silu_mul[(triton.cdiv(n, block),)](g, u, out, n, BLOCK=block)
    return out


@triton.jit
def _mse(x_ptr, t_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    d = tl.load(x_ptr + i, mask=m, other=0.0) - tl.load(t_ptr + i, mask=m, other=0.0)
    tl.store(o_ptr + i, d * d, mask=m)


def mse(x, t, block=256):
    o = torch.empty_like(x)
    n = x.numel()
    _mse[(triton.cdiv(n, block),)](x, t, o, n, BLOCK=block)
    return o


@triton.jit
def _leaky(x_ptr, y_ptr, n, slope, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x = tl.load(x_ptr + i, mask=m)
    tl.store(y_ptr + i, tl.where(x > 0, x, x * slope), mask=m)


def leaky(x, slope=0.01, block=512):
    y = torch.empty_like(x)
    n = x.numel()
    _leaky[(triton.cdiv(n, block),)](x, y, n, slope, BLOCK=block)
    return y


@triton.jit
def _mul4(a, b, c, d, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(a + i, mask=m) * tl.load(b + i, mask=m) + tl.load(c + i, mask=m) * tl.load(d + i, mask=m)
    tl.store(o + i, v, mask=m)


def mul4(a, b, c, d, block=1024):
    o = torch.empty_like(a)
    n = a.numel()
    _mul4[(triton.cdiv(n, block),)](a, b, c, d, o, n, BLOCK=block)
    return o


@triton.jit
def _row_gate(x_ptr, g_ptr, y_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    g = tl.load(g_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + row * stride + cols, x * tl.sigmoid(g), mask=mask)


def row_gate(x, g, block=256):
    y = torch.empty_like(x)
    m, n = x.shape
    _row_gate[(m, triton.cdiv(n, block))](x, g, y, x.stride(0), n, BLOCK=block)
    return y


@triton.jit
def _tile_add(x_ptr, r_ptr, y_ptr, M, N, alpha, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    offs = rm[:, None] * N + rn[None, :]
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    r = tl.load(r_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + offs, tl.maximum(x, 0.0) * alpha + r * r, mask=mask)


def tile_add(x, r, alpha=0.5):
    y = torch.empty_like(x)
    M, N = x.shape
    _tile_add[(triton.cdiv(M, 16), triton.cdiv(N, 32))](x, r, y, M, N, alpha, BM=16, BN=32)
    return y


@triton.jit
def _softmax_grid(
    out_ptr, in_ptr, in_stride, out_stride, n_rows, n_cols, BLOCK_SIZE: tl.constexpr, num_stages: tl.constexpr
):
    row_start = tl.program_id(0)
    row_step = tl.num_programs(0)
    for row_idx in tl.range(row_start, n_rows, row_step, num_stages=num_stages):
        cols = tl.arange(0, BLOCK_SIZE)
        mask = cols < n_cols
        row = tl.load(in_ptr + row_idx * in_stride + cols, mask=mask, other=-float("inf"))
        row_minus_max = row - tl.max(row, axis=0)
        numerator = tl.exp(row_minus_max)
        tl.store(out_ptr + row_idx * out_stride + cols, numerator / tl.sum(numerator, axis=0), mask=mask)


def softmax_grid(x):
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    BLOCK_SIZE = triton.next_power_of_2(n_cols)
    _softmax_grid[(min(264, n_rows), 1, 1)](y, x, x.stride(0), y.stride(0), n_rows, n_cols, BLOCK_SIZE, 2, num_warps=8)
    return y


@triton.jit
def _flat_stride(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    step = tl.num_programs(0) * BLOCK
    for start in range(pid * BLOCK, n, step):
        i = start + tl.arange(0, BLOCK)
        m = i < n
        x = tl.load(x_ptr + i, mask=m, other=0.0).to(tl.float32)
        tl.store(y_ptr + i, x * tl.sigmoid(1.702 * x), mask=m)


def flat_stride(x):
    y = torch.empty_like(x)
    n = x.numel()
    _flat_stride[(min(528, triton.cdiv(n, 1024)),)](x, y, n, BLOCK=1024)
    return y


@triton.jit
def _l2(x_ptr, y_ptr, M, N, eps, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    cols = tl.arange(0, BN)[None, :]
    mask = (rows < M) & (cols < N)
    x = tl.load(x_ptr + rows * N + cols, mask=mask, other=0.0).to(tl.float32)
    n = tl.sqrt(tl.sum(x * x, axis=1) + eps)
    tl.store(y_ptr + rows * N + cols, x / n[:, None], mask=mask)


def l2(x):
    M, N = x.shape
    y = torch.empty_like(x)
    _l2[(triton.cdiv(M, 4),)](x, y, M, N, 1e-6, BM=4, BN=triton.next_power_of_2(N))
    return y


@triton.autotune(
    configs=[triton.Config({"BLOCK": b}, num_warps=w) for b, w in ((256, 2), (512, 4), (1024, 4), (2048, 8))], key=["n"]
)
@triton.jit
def _tuned_tanh(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x = tl.load(x_ptr + i, mask=m, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, libdevice.tanh(x), mask=m)


def tuned_tanh(x):
    y = torch.empty_like(x)
    n = x.numel()
    _tuned_tanh[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    return y


@triton.autotune(configs=[triton.Config({}, num_warps=w) for w in (2, 4, 8, 16)], key=["N"])
@triton.jit
def _tuned_rms(X, W, Y, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(X + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    r = tl.rsqrt(tl.sum(x * x, 0) / N + eps)
    w = tl.load(W + cols, mask=mask, other=0.0).to(tl.float32)
    tl.store(Y + row * stride + cols, x * r * w, mask=mask)


def tuned_rms(x, w):
    y = torch.empty_like(x)
    m, n = x.shape
    _tuned_rms[(m,)](x, w, y, x.stride(0), n, 1e-6, BLOCK=triton.next_power_of_2(n))
    return y


@triton.jit
def _smooth_ce(logits, labels, loss, stride, V, eps, ignore, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(labels + row)
    base = logits + row * stride
    m = -float("inf")
    d = 0.0
    total = 0.0
    for start in range(0, V, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(base + cols, mask=cols < V, other=-float("inf")).to(tl.float32)
        new = tl.maximum(m, tl.max(x))
        d = d * tl.exp(m - new) + tl.sum(tl.exp(x - new))
        total += tl.sum(tl.where(cols < V, x, 0.0))
        m = new
    lse = m + tl.log(d)
    if label == ignore:
        tl.store(loss + row, 0.0)
    else:
        picked = tl.load(base + label).to(tl.float32)
        tl.store(loss + row, (1 - eps) * (lse - picked) + eps * (lse - total / V))


def smooth_ce(logits, labels, eps=0.1, ignore=-100):
    rows, V = logits.shape
    loss = torch.empty(rows, device=logits.device, dtype=torch.float32)
    _smooth_ce[(rows,)](logits, labels, loss, logits.stride(0), V, eps, ignore, BLOCK=4096)
    return loss


@triton.jit
def _column_softmax(x_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    cols = tl.program_id(0) * BN + tl.arange(0, BN)
    rows = tl.arange(0, BM)
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    x = tl.load(x_ptr + rows[:, None] * N + cols[None, :], mask=mask, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0)[None, :])
    tl.store(y_ptr + rows[:, None] * N + cols[None, :], e / tl.sum(e, axis=0)[None, :], mask=mask)


def column_softmax(x):
    M, N = x.shape
    y = torch.empty_like(x)
    _column_softmax[(triton.cdiv(N, 32),)](x, y, M, N, BM=triton.next_power_of_2(M), BN=32)
    return y


@triton.jit
def _mask_dropout(x_ptr, keep_ptr, y_ptr, n, p, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x = tl.load(x_ptr + i, mask=m)
    keep = tl.load(keep_ptr + i, mask=m)
    tl.store(y_ptr + i, tl.where(keep, x / (1 - p), 0.0), mask=m)


def mask_dropout(x, keep, p=0.25):
    y = torch.empty_like(x)
    n = x.numel()
    _mask_dropout[(triton.cdiv(n, 1024),)](x, keep, y, n, p, BLOCK=1024)
    return y
