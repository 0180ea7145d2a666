"""Inputs that the caller or the launcher expands."""
# case: {"class": "views", "call": "m.add(x, b.expand(4, 6))", "inputs": {"x": [4, 6], "b": [6]}, "expect": "right"}
# case: {"call": "m.add(x, b[:, None].expand(4, 6))", "inputs": {"x": [4, 6], "b": [4]}, "expect": "right"}
# case: {"call": "m.add(x.expand(4, 6), b.expand(4, 6)) * x", "inputs": {"x": [6], "b": [4, 1]}, "expect": "right"}
# case: {"call": "m.add(x.unfold(0, 4, 1), x.unfold(0, 4, 1))", "inputs": {"x": [9]}, "expect": "right"}
# case: {"call": "m.add(*torch.broadcast_tensors(x, b))", "inputs": {"x": [4, 1], "b": [1, 6]}, "expect": "right"}
# case: {"call": "m.add_row(x, b)", "inputs": {"x": [4, 6], "b": [6]}, "expect": "right"}
# case: {"call": "m.add_row(x.t(), b)", "inputs": {"x": [4, 6], "b": [4]}, "expect": "right"}
# case: {"call": "m.add3(x, b.expand(2, 3, 4))", "inputs": {"x": [2, 3, 4], "b": [3, 1]}, "expect": "right"}
# case: {"call": "m.add3(x, b.expand(2, 3, 4))", "inputs": {"x": [2, 3, 4], "b": [2, 1, 4]}, "expect": "right"}
# case: {"call": "m.add3(x.expand(2, 3, 4), b)", "inputs": {"x": [2, 1, 1], "b": [2, 3, 4]}, "expect": "right"}
# case: {"call": "m.matmul(x, w.expand(5, 4))", "inputs": {"x": [3, 5], "w": [4]}, "expect": "right"}
# case: {"call": "m.matmul(x[None].expand(3, 5), w)", "inputs": {"x": [5], "w": [5, 4]}, "expect": "right"}
# case: {"call": "m.matmul(x.t()[:, :1].expand(3, 5), w.t())", "inputs": {"x": [3, 3], "w": [4, 5]}, "expect": "right"}
# case: {"call": "m.attn(q, k.expand(2, 5, 4), v.expand(2, 5, 4))", "inputs": {"q": [2, 5, 4], "k": [1, 5, 4], "v": [5, 4]}, "expect": "right"}
# case: {"call": "m.attn_bias(q, k, b.expand(2, 5, 5))", "inputs": {"q": [2, 5, 4], "k": [2, 5, 4], "b": [5, 5]}, "expect": "right"}
# case: {"call": "m.attn_bias(q, k, b[:, None, None].expand(2, 5, 5))", "inputs": {"q": [2, 5, 4], "k": [2, 5, 4], "b": [2]}, "expect": "right"}
# case: {"call": "m.attn_bias(q, k, b.expand(2, 5, 5))", "inputs": {"q": [2, 5, 4], "k": [2, 5, 4], "b": {"shape": [5, 5], "grad": false}}, "expect": "right"}
# case: {"call": "m.flat(x.expand(4, 6), b)", "inputs": {"x": [6], "b": [4, 6]}, "expect": "right"}
# case: {"call": "m.scaled(x, b.expand(6))", "inputs": {"x": [6], "b": [1]}, "expect": "right"}
# case: {"call": "m.scaled(x.expand(6), b.expand(6)) * x", "inputs": {"x": [1], "b": []}, "expect": "right"}
# case: {"call": "m.tuned(x, b.expand(4, 6))", "inputs": {"x": [4, 6], "b": [6]}, "expect": "right"}
# case: {"call": "m.short(x, b.expand(3, 6))", "inputs": {"x": [4, 6], "b": [6]}, "expect": "right"}
# case: {"call": "m.gated(x.expand(4, 6), b.expand(4, 6))", "inputs": {"x": [6], "b": [6]}, "expect": "right"}
# case: {"call": "m.heads(x, b)", "inputs": {"x": [2, 6, 4], "b": [2, 2, 4]}, "expect": "right"}
# case: {"call": "m.rows_of(x.expand(4, 6), i)", "inputs": {"x": [6], "i": {"shape": [3], "dtype": "int64", "values": [3, 0, 2]}}}
# case: {"call": "m.rows_of(x.expand(4, 6), i)", "inputs": {"x": [6], "i": {"shape": [3], "dtype": "int64", "values": [3, 3, 2]}}}
# case: {"call": "m.update(x, b.expand(4, 6))", "inputs": {"x": {"shape": [4, 6], "in_place": true}, "b": [6]}, "expect": "right"}

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, b, y, M, N, sxm, sxn, sbm, sbn, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    ok = (rm[:, None] < M) & (rn[None, :] < N)
    a = tl.load(x + rm[:, None] * sxm + rn[None, :] * sxn, mask=ok)
    c = tl.load(b + rm[:, None] * sbm + rn[None, :] * sbn, mask=ok)
    tl.store(y + rm[:, None] * N + rn[None, :], a * tl.sin(c), mask=ok)


def add(x, b):
    M, N = x.shape
    y = torch.empty((M, N), dtype=x.dtype)
    add_kernel[(triton.cdiv(M, 2), triton.cdiv(N, 4))](
        x, b, y, M, N, x.stride(0), x.stride(1), b.stride(0), b.stride(1), BM=2, BN=4
    )
    return y


def add_row(x, b):
    b = b.expand(x.shape)
    y = torch.empty(x.shape, dtype=x.dtype)
    M, N = x.shape
    add_kernel[(triton.cdiv(M, 2), triton.cdiv(N, 4))](
        x, b, y, M, N, x.stride(0), x.stride(1), b.stride(0), b.stride(1), BM=2, BN=4
    )
    return y


@triton.jit
def add3_kernel(X, B, Y, N, sx0, sx1, sx2, sb0, sb1, sb2, sy0, sy1, sy2, BLOCK: tl.constexpr):
    i, j = tl.program_id(0), tl.program_id(1)
    k = tl.arange(0, BLOCK)
    x = tl.load(X + i * sx0 + j * sx1 + k * sx2, mask=k < N)
    b = tl.load(B + i * sb0 + j * sb1 + k * sb2, mask=k < N)
    tl.store(Y + i * sy0 + j * sy1 + k * sy2, x * b * b, mask=k < N)


def add3(x, b):
    y = torch.empty(x.shape, dtype=x.dtype)
    add3_kernel[x.shape[:2]](x, b, y, x.shape[2], *x.stride(), *b.stride(), *y.stride(), BLOCK=4)
    return y


@triton.jit
def mm(a, b, c, M, N, K, sam, sak, sbk, sbn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(
            a + rm[:, None] * sam + rk[None, :] * sak,
            mask=(rm[:, None] < M) & (rk[None, :] < K),
            other=0.0,
        )
        w = tl.load(
            b + rk[:, None] * sbk + rn[None, :] * sbn,
            mask=(rk[:, None] < K) & (rn[None, :] < N),
            other=0.0,
        )
        acc += tl.dot(x, w)
    tl.store(c + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


def matmul(a, b):
    a, b = a.float(), b.float()
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=torch.float32)
    mm[(triton.cdiv(M, 16), triton.cdiv(N, 16))](
        a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), BM=16, BN=16, BK=16
    )
    return c


@triton.jit
def attn_kernel(Q, K, V, O, T, sqb, sqt, skb, skt, svb, svt, D: tl.constexpr, BT: tl.constexpr):
    t, b = tl.program_id(0), tl.program_id(1)
    d = tl.arange(0, D)
    s = tl.arange(0, BT)
    q = tl.load(Q + b * sqb + t * sqt + d)
    k = tl.load(K + b * skb + s[:, None] * skt + d[None, :], mask=(s < T)[:, None], other=0.0)
    v = tl.load(V + b * svb + s[:, None] * svt + d[None, :], mask=(s < T)[:, None], other=0.0)
    a = tl.sum(k * q[None, :], 1)
    a = tl.where(s < T, a, -float("inf"))
    p = tl.exp(a - tl.max(a, 0))
    p = p / tl.sum(p, 0)
    tl.store(O + (b * T + t) * D + d, tl.sum(p[:, None] * v, 0))


def attn(q, k, v):
    B, T, D = q.shape
    o = torch.empty((B, T, D), dtype=q.dtype)
    attn_kernel[(T, B)](
        q,
        k,
        v,
        o,
        T,
        q.stride(0),
        q.stride(1),
        k.stride(0),
        k.stride(1),
        v.stride(0),
        v.stride(1),
        D=D,
        BT=8,
    )
    return o


@triton.jit
def bias_kernel(Q, K, BIAS, O, T, sb, sm, sn, D: tl.constexpr, BT: tl.constexpr):
    t, b = tl.program_id(0), tl.program_id(1)
    d = tl.arange(0, D)
    s = tl.arange(0, BT)
    q = tl.load(Q + (b * T + t) * D + d)
    k = tl.load(K + (b * T + s[:, None]) * D + d[None, :], mask=(s < T)[:, None], other=0.0)
    a = tl.sum(k * q[None, :], 1) + tl.load(BIAS + b * sb + t * sm + s * sn, mask=s < T, other=0.0)
    a = tl.where(s < T, a, -float("inf"))
    p = tl.exp(a - tl.max(a, 0))
    p = p / tl.sum(p, 0)
    tl.store(O + (b * T + t) * D + d, tl.sum(p[:, None] * k, 0))


def attn_bias(q, k, bias):
    B, T, D = q.shape
    o = torch.empty_like(q)
    bias_kernel[(T, B)](q, k, bias, o, T, bias.stride(0), bias.stride(1), bias.stride(2), D=D, BT=8)
    return o


@triton.jit
def flat_kernel(x, b, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * tl.load(b + i, mask=i < n), mask=i < n)


def flat(x, b):
    y = torch.empty_like(b)
    x = x.contiguous()
    flat_kernel[(triton.cdiv(b.numel(), 8),)](x, b, y, b.numel(), BLOCK=8)
    return y


@triton.autotune([triton.Config({"BM": 2}), triton.Config({"BM": 4})], key=["M"])
@triton.jit
def tuned_kernel(x, b, y, M, N, sx, sb, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.arange(0, BN)
    ok = (rm[:, None] < M) & (rn[None, :] < N)
    a = tl.load(x + rm[:, None] * sx + rn[None, :], mask=ok)
    c = tl.load(b + rm[:, None] * sb + rn[None, :], mask=ok)
    tl.store(y + rm[:, None] * N + rn[None, :], a * tl.exp(c), mask=ok)


def tuned(x, b):
    M, N = x.shape
    y = torch.empty_like(x)
    tuned_kernel[lambda m: (triton.cdiv(M, m["BM"]),)](
        x, b, y, M, N, x.stride(0), b.stride(0), BN=8
    )
    return y


def short(x, b):
    M, N = b.shape
    y = torch.zeros_like(x)
    tuned_kernel[lambda m: (triton.cdiv(M, m["BM"]),)](
        x, b, y, M, N, x.stride(0), b.stride(0), BN=8
    )
    return y


@triton.jit
def gate_kernel(x, g, y, N, sx, sg, B: tl.constexpr):
    r = tl.program_id(0)
    for c in range(0, N, B):
        i = c + tl.arange(0, B)
        a = tl.load(x + r * sx + i, mask=i < N, other=0.0)
        b = tl.load(g + r * sg + i, mask=i < N, other=0.0)
        tl.store(y + r * N + i, a * tl.sigmoid(b), mask=i < N)


def gated(x, g):
    y = torch.empty(x.shape, dtype=x.dtype)
    gate_kernel[(x.shape[0],)](x, g, y, x.shape[1], x.stride(0), g.stride(0), B=4)
    return y


@triton.jit
def head_kernel(x, b, y, T, sxb, sxh, sbb, sbh, D: tl.constexpr):
    h, n = tl.program_id(0), tl.program_id(1)
    d = tl.arange(0, D)
    tl.store(
        y + (n * T + h) * D + d,
        tl.load(x + n * sxb + h * sxh + d) * tl.load(b + n * sbb + h * sbh + d),
    )


def heads(x, kv):
    n, h, d = x.shape
    kv = kv[:, :, None].expand(n, 2, h // 2, d).reshape(n, h, d)
    kv2 = kv[:, :1].expand(-1, h, -1)
    y = torch.empty_like(x)
    head_kernel[(h, n)](x, kv2, y, h, x.stride(0), x.stride(1), kv2.stride(0), kv2.stride(1), D=d)
    head_kernel[(h, n)](
        y.clone(), kv, y, h, x.stride(0), x.stride(1), kv.stride(0), kv.stride(1), D=d
    )
    return y


@triton.jit
def pick_kernel(x, idx, y, N, sx, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    at = tl.load(idx + r)
    a = tl.load(x + at * sx + i, mask=i < N)
    tl.store(y + r * N + i, a * a, mask=i < N)


def rows_of(x, idx):
    y = torch.empty(idx.shape[0], x.shape[1], dtype=x.dtype)
    pick_kernel[(idx.shape[0],)](x, idx, y, x.shape[1], x.stride(0), B=8)
    return y


@triton.jit
def upd_kernel(x, b, N, sx, sb, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    a = tl.load(x + r * sx + i, mask=i < N)
    c = tl.load(b + r * sb + i, mask=i < N)
    tl.store(x + r * sx + i, a * c, mask=i < N)


def update(x, b):
    upd_kernel[(x.shape[0],)](x, b, x.shape[1], x.stride(0), b.stride(0), B=8)
    return x


@triton.jit
def scaled_kernel(x_ptr, b_ptr, y_ptr, n, step_x, step_b, BLOCK: tl.constexpr):
    """One axis, whose step the launch passes."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * step_x, mask=i < n)
    tl.store(y_ptr + i, x * x * tl.load(b_ptr + i * step_b, mask=i < n), mask=i < n)


def scaled(x, b):
    y = torch.empty(x.shape, dtype=x.dtype)
    scaled_kernel[(triton.cdiv(x.numel(), 4),)](
        x, b, y, x.numel(), x.stride(0), b.stride(0), BLOCK=4
    )
    return y
