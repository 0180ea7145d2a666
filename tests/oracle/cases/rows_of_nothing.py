"""A row without any element is NaN, which a test for NaN drops: 0 * NaN of it is no gradient of what other rows share."""

# case: {"class": "voids", "call": "m.weights(x, n)", "inputs": {"x": [3, 5], "n": {"shape": [3], "dtype": "int32", "values": [5, 0, 2]}}, "expect": "right"}
# case: {"call": "m.queries(q, k, v, n)", "inputs": {"q": [3, 4], "k": [5, 4], "v": [5, 4], "n": {"shape": [3, 5], "dtype": "bool", "values": [1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]}}, "expect": "right"}
# case: {"call": "m.online(q, k, v, n)", "inputs": {"q": [3, 4], "k": [5, 4], "v": [5, 4], "n": {"shape": [3], "dtype": "int32", "values": [5, 0, 2]}}, "expect": "right"}

import torch
import triton
import triton.language as tl


@triton.jit
def weights_k(x_ptr, n_ptr, w_ptr, y_ptr, C, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    n = tl.load(n_ptr + r)
    x = tl.load(x_ptr + r * C + c, mask=c < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    y = e / tl.sum(e, axis=0)
    y = tl.where(y == y, y, 0.0) * tl.load(w_ptr + c, mask=c < C, other=0.0)
    tl.store(y_ptr + r * C + c, y, mask=c < C)


@triton.jit
def queries_k(q_ptr, k_ptr, v_ptr, n_ptr, o_ptr, S, scale, D: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0)
    d = tl.arange(0, D)
    j = tl.arange(0, BN)
    ok = tl.load(n_ptr + i * S + j, mask=j < S, other=0).to(tl.int1)
    q = tl.load(q_ptr + i * D + d) * scale
    k = tl.load(k_ptr + j[:, None] * D + d[None, :], mask=(j < S)[:, None], other=0.0)
    v = tl.load(v_ptr + j[:, None] * D + d[None, :], mask=(j < S)[:, None], other=0.0)
    s = tl.where(ok, tl.sum(k * q[None, :], axis=1), -float("inf"))
    p = tl.exp(s - tl.max(s, axis=0))
    o = tl.sum((p / tl.sum(p, axis=0))[:, None] * v, axis=0)
    seen = tl.sum(ok.to(tl.int32), axis=0) > 0
    tl.store(o_ptr + i * D + d, tl.where(seen, o, 0.0))


@triton.jit
def online_k(q_ptr, k_ptr, v_ptr, n_ptr, o_ptr, S, scale, D: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0)
    d = tl.arange(0, D)
    n = tl.load(n_ptr + i)
    q = tl.load(q_ptr + i * D + d) * scale
    m = -float("inf")
    l = 0.0
    acc = tl.zeros((D,), tl.float64)
    for start in range(0, S, BN):
        j = start + tl.arange(0, BN)
        k = tl.load(k_ptr + j[:, None] * D + d[None, :], mask=(j < S)[:, None], other=0.0)
        v = tl.load(v_ptr + j[:, None] * D + d[None, :], mask=(j < S)[:, None], other=0.0)
        s = tl.where(j < n, tl.sum(k * q[None, :], axis=1), -float("inf"))
        new = tl.maximum(m, tl.max(s, axis=0))
        p = tl.exp(s - new)
        scaled = tl.exp(m - new)
        l = l * scaled + tl.sum(p, axis=0)
        acc = acc * scaled + tl.sum(p[:, None] * v, axis=0)
        m = new
    o = acc / l
    tl.store(o_ptr + i * D + d, tl.where(o == o, o, 0.0))


def weights(x, n):
    y = torch.empty_like(x)
    w = torch.arange(1, x.shape[1] + 1, dtype=x.dtype)
    weights_k[(x.shape[0],)](x, n, w, y, x.shape[1], B=8)
    return y


def queries(q, k, v, n):
    o = torch.empty_like(q)
    queries_k[(q.shape[0],)](q, k, v, n, o, k.shape[0], 0.5, D=4, BN=8)
    return o


def online(q, k, v, n):
    o = torch.empty_like(q)
    online_k[(q.shape[0],)](q, k, v, n, o, k.shape[0], 0.5, D=4, BN=2)
    return o
