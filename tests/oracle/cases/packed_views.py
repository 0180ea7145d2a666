"""Views of one tensor side by side: read, written in place, interleaved."""

# case: {"class": "views", "call": "m.rotate(qkv, cos)", "inputs": {"qkv": {"shape": [5, 24], "in_place": true}, "cos": [5, 8]}}
# case: {"call": "m.rotate_unbound(qkv, cos)", "inputs": {"qkv": {"shape": [2, 5, 8], "in_place": true}, "cos": [5, 8]}}
# case: {"call": "m.split(x)", "inputs": {"x": [5, 16]}}
# case: {"call": "m.interleaved(x)", "inputs": {"x": [5, 8]}}
# case: {"call": "m.attend(qkv)", "inputs": {"qkv": [16, 48]}}

import torch
import triton
import triton.language as tl

@triton.jit
def rope(q, k, cos, stride, D: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, D)
    w = tl.load(cos + r * D + c)
    a = tl.load(q + r * stride + c)
    b = tl.load(k + r * stride + c)
    tl.store(q + r * stride + c, a * w * w)
    tl.store(k + r * stride + c, b * tl.cos(w))


def rotate(qkv, cos):
    q, k, v = qkv.chunk(3, dim=-1)
    rope[(qkv.shape[0],)](q, k, cos, qkv.stride(0), D=8)
    return qkv


def rotate_unbound(qk, cos):
    q, k = qk.unbind(0)
    rope[(qk.shape[1],)](q, k, cos, qk.stride(1), D=8)
    return qk * 2.0


@triton.jit
def parts(x, a, b, sx, so, D: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, D)
    u = tl.load(x + r * sx + c)
    v = tl.load(x + r * sx + D + c)
    tl.store(a + r * so + c, u * v)
    tl.store(b + r * so + c, tl.exp(u) * v)


def split(x):
    out = torch.empty_like(x)
    parts[(x.shape[0],)](x, out[:, :8], out[:, 8:], x.stride(0), out.stride(0), D=8)
    return out


@triton.jit
def twins(x, a, b, s, so, D: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, D)
    u = tl.load(x + r * s + c)
    tl.store(a + r * so + 2 * c, u * u)
    tl.store(b + r * so + 2 * c, tl.exp(u))


def interleaved(x):
    out = torch.empty(x.shape[0], 2 * x.shape[1], dtype=x.dtype)
    twins[(x.shape[0],)](x, out[:, 0::2], out[:, 1::2], x.stride(0), out.stride(0), D=8)
    return out


@triton.jit
def attn(q, k, v, o, s, so, N: tl.constexpr, D: tl.constexpr):
    r = tl.arange(0, N)
    d = tl.arange(0, D)
    a = tl.load(q + r[:, None] * s + d[None, :])
    b = tl.load(k + r[:, None] * s + d[None, :])
    c = tl.load(v + r[:, None] * s + d[None, :])
    p = tl.dot(a, tl.trans(b))
    p = tl.exp(p - tl.max(p, 1)[:, None])
    p = p / tl.sum(p, 1)[:, None]
    tl.store(o + r[:, None] * so + d[None, :], tl.dot(p, c))


def attend(qkv):
    q, k, v = qkv[:, :16], qkv[:, 16:32], qkv[:, 32:]
    o = torch.empty(16, 16, dtype=qkv.dtype)
    attn[(1,)](q, k, v, o, qkv.stride(0), o.stride(0), N=16, D=16)
    return o
