"""Loops over neighbouring ranges that become one, and what keeps them two."""

# case: {"class": "joined", "expect": "right", "call": "m.causal(q, k, v)", "inputs": {"q": {"shape": [37, 16], "dtype": "float32"}, "k": {"shape": [37, 16], "dtype": "float32"}, "v": {"shape": [37, 16], "dtype": "float32"}}}
# case: {"expect": "right", "call": "m.two_scales(x, w, 4)", "inputs": {"x": [3, 11], "w": [11]}}
# case: {"expect": "right", "call": "m.two_scales(x, w, 0)", "inputs": {"x": [3, 11], "w": [11]}}
# case: {"expect": "right", "call": "m.two_scales(x, w, 12)", "inputs": {"x": [3, 11], "w": [11]}}
# case: {"expect": "right", "call": "m.extra(x, w, b, 4)", "inputs": {"x": [3, 11], "w": [11], "b": [11]}}
# case: {"expect": "right", "call": "m.extra(x, w, b, 8)", "inputs": {"x": [3, 11], "w": [11], "b": [5]}}
import torch
import triton
import triton.language as tl


@triton.jit
def part(
    acc,
    m,
    l,
    q,
    k_ptr,
    v_ptr,
    lo,
    hi,
    rows,
    T,
    DIAG: tl.constexpr,
    B: tl.constexpr,
    D: tl.constexpr,
):
    d = tl.arange(0, D)
    for start in range(lo, hi, B):
        cols = start + tl.arange(0, B)
        ok = cols[:, None] < T
        k = tl.load(k_ptr + cols[:, None] * D + d[None, :], mask=ok, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee")
        if DIAG:
            s = tl.where((rows[:, None] >= cols[None, :]) & (cols < T)[None, :], s, float("-inf"))
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        scale = tl.exp(m - new)
        l = l * scale + tl.sum(p, 1)
        v = tl.load(v_ptr + cols[:, None] * D + d[None, :], mask=ok, other=0.0)
        acc = acc * scale[:, None] + tl.dot(p, v, input_precision="ieee")
        m = new
    return acc, m, l


@triton.jit
def causal_kernel(q_ptr, k_ptr, v_ptr, o_ptr, T, B: tl.constexpr, D: tl.constexpr):
    i = tl.program_id(0)
    rows = i * B + tl.arange(0, B)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + d[None, :], mask=rows[:, None] < T, other=0.0)
    m = tl.full([B], float("-inf"), tl.float32)
    l = tl.zeros([B], tl.float32)
    acc = tl.zeros([B, D], tl.float32)
    acc, m, l = part(acc, m, l, q, k_ptr, v_ptr, 0, i * B, rows, T, False, B, D)
    acc, m, l = part(acc, m, l, q, k_ptr, v_ptr, i * B, (i + 1) * B, rows, T, True, B, D)
    tl.store(o_ptr + rows[:, None] * D + d[None, :], acc / l[:, None], mask=rows[:, None] < T)


def causal(q, k, v):
    o = torch.empty_like(q)
    causal_kernel[(triton.cdiv(q.shape[0], 16),)](q, k, v, o, q.shape[0], B=16, D=q.shape[1])
    return o


@triton.jit
def two_kernel(x, w, y, middle, n, B: tl.constexpr):
    r = tl.program_id(0)
    total = tl.zeros([B], tl.float64)
    for k in range(0, middle, B):
        c = k + tl.arange(0, B)
        total += tl.load(x + r * n + c, mask=c < n, other=0.0) * tl.load(
            w + c, mask=c < n, other=0.0
        )
    for k in range(middle, n, B):
        c = k + tl.arange(0, B)
        v = tl.load(x + r * n + c, mask=c < n, other=0.0)
        total += v * v * tl.load(w + c, mask=c < n, other=0.0)
    tl.store(y + r, tl.sum(total))


def two_scales(x, w, middle):
    y = torch.empty(x.shape[0], dtype=x.dtype)
    two_kernel[(x.shape[0],)](x, w, y, middle, x.shape[1], B=4)
    return y


@triton.jit
def extra_kernel(x, w, b, y, middle, n, m, B: tl.constexpr):
    r = tl.program_id(0)
    total = tl.zeros([B], tl.float64)
    for k in range(0, middle, B):
        c = k + tl.arange(0, B)
        v = tl.load(x + r * n + c, mask=c < n, other=0.0)
        total += v * tl.load(w + c, mask=c < n, other=0.0)
    for k in range(middle, n, B):
        c = k + tl.arange(0, B)
        v = tl.load(x + r * n + c, mask=c < n, other=0.0)
        g = tl.load(b + c - middle, mask=c - middle < m, other=1.0)
        total += v * g * tl.load(w + c, mask=c < n, other=0.0)
    tl.store(y + r, tl.sum(total))


def extra(x, w, b, middle):
    y = torch.empty(x.shape[0], dtype=x.dtype)
    extra_kernel[(x.shape[0],)](x, w, b, y, middle, x.shape[1], b.shape[0], B=4)
    return y
