"""Inputs whose elements share memory: quotients of ids, size-one axes, flags, loops of launches, several kernels."""

# case: {"class": "views", "expect": "right", "call": "m.heads(q, k[:, None].expand(2, 3, 4))", "inputs": {"q": [2, 3, 4], "k": [2, 4]}}
# case: {"expect": "right", "call": "m.heads(q, k.expand(2, 3, 4))", "inputs": {"q": [2, 3, 4], "k": [3, 4]}}
# case: {"expect": "right", "call": "m.heads(q[:1], k.expand(1, 3, 4))", "inputs": {"q": [2, 3, 4], "k": [3, 4]}}
# case: {"expect": "right", "call": "m.heads(q[:1], k[None].expand(1, 3, 4))", "inputs": {"q": [2, 3, 4], "k": [3, 4]}}
# case: {"call": "m.flat_heads(q, k)", "inputs": {"q": [2, 3, 4], "k": [2, 3, 4]}}
# case: {"call": "m.shared_stride(x.expand(3, 5), z)", "inputs": {"x": [5], "z": [3, 5]}}
# case: {"call": "m.shared_stride(x, z.expand(3, 5))", "inputs": {"x": [3, 5], "z": [5]}}
# case: {"expect": "right", "call": "m.transposing(x.expand(3, 5))", "inputs": {"x": [5]}}
# case: {"expect": "right", "call": "m.transposing(x[:, None].expand(5, 3))", "inputs": {"x": [5]}}
# case: {"call": "m.flagged(x.expand(3, 5))", "inputs": {"x": [5]}}
# case: {"call": "m.flagged(x)", "inputs": {"x": [3, 5]}}
# case: {"expect": "right", "call": "m.softmax_rows(x.expand(3, 5))", "inputs": {"x": [5]}}
# case: {"expect": "right", "call": "m.softmax_rows(x.unfold(0, 5, 2))", "inputs": {"x": [11]}}
# case: {"expect": "right", "call": "m.norm(x.expand(3, 5), w)", "inputs": {"x": [5], "w": [5]}}
# case: {"call": "m.inside(x[:, 1:].expand(3, 5))", "inputs": {"x": [1, 6]}}
# case: {"call": "m.optional(x.expand(3, 5), None)", "inputs": {"x": [5]}}
# case: {"call": "m.optional(x.expand(3, 5), z.expand(3, 5))", "inputs": {"x": [5], "z": [5]}}
# case: {"call": "m.optional(x, z.expand(3, 5))", "inputs": {"x": [3, 5], "z": [5]}}
# case: {"expect": "right", "call": "m.steps(x.expand(3, 5), 3)", "inputs": {"x": [5]}}
# case: {"call": "m.beyond(x.expand(2, 5), z)", "inputs": {"x": [5], "z": [4, 5]}}
# case: {"expect": "right", "call": "m.outer(x[:, None].expand(4, 3), z[None].expand(4, 3))", "inputs": {"x": [4], "z": [3]}}
import torch
import triton
import triton.language as tl


@triton.jit
def heads_kernel(q, k, y, H, sqb, sqh, skb, skh, D: tl.constexpr):
    pid = tl.program_id(0)
    b = pid // H
    h = pid % H
    d = tl.arange(0, D)
    a = tl.load(q + b * sqb + h * sqh + d)
    c = tl.load(k + b * skb + h * skh + d)
    tl.store(y + pid * D + d, a * tl.sin(c))


def heads(q, k):
    B, H, D = q.shape
    y = torch.empty(q.shape, dtype=q.dtype)
    heads_kernel[(B * H,)](q, k, y, H, q.stride(0), q.stride(1), k.stride(0), k.stride(1), D=D)
    return y


@triton.jit
def flat_kernel(q, k, y, sq, sk, D: tl.constexpr):
    pid = tl.program_id(0)
    d = tl.arange(0, D)
    a = tl.load(q + pid * sq + d)
    c = tl.load(k + pid * sk + d)
    tl.store(y + pid * D + d, a * tl.sin(c))


def flat_heads(q, k):
    B, H, D = q.shape
    y = torch.empty(q.shape, dtype=q.dtype)
    flat_kernel[(B * H,)](q, k, y, q.stride(1), k.stride(1), D=D)
    return y


@triton.jit
def shared_kernel(x, z, y, stride, N, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    a = tl.load(x + r * stride + c, mask=c < N, other=0.0)
    b = tl.load(z + r * N + c, mask=c < N, other=0.0)
    tl.store(y + r * N + c, a * a * b, mask=c < N)


def shared_stride(x, z):
    y = torch.empty(x.shape, dtype=x.dtype)
    shared_kernel[(x.shape[0],)](x, z.contiguous(), y, x.stride(0), x.shape[1], B=8)
    return y


@triton.jit
def one_kernel(x, y, s0, s1, N, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    a = tl.load(x + r * s0 + c * s1, mask=c < N, other=0.0)
    tl.store(y + r * N + c, tl.exp(a), mask=c < N)


def transposing(x):
    x = x.t()
    y = torch.empty(x.shape, dtype=x.dtype)
    one_kernel[(x.shape[0],)](x, y, x.stride(0), x.stride(1), x.shape[1], B=8)
    return y


@triton.jit
def flag_kernel(x, y, s0, N, DENSE: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    if DENSE:
        a = tl.load(x + r * N + c, mask=c < N, other=0.0)
    else:
        a = tl.load(x + r * s0 + c, mask=c < N, other=0.0)
    tl.store(y + r * N + c, tl.exp(a), mask=c < N)


def flagged(x):
    y = torch.empty(x.shape, dtype=x.dtype)
    flag_kernel[(x.shape[0],)](x, y, x.stride(0), x.shape[1], x.is_contiguous(), B=8)
    return y


@triton.jit
def softmax_kernel(x, y, sx, sy, N, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    a = tl.load(x + r * sx + c, mask=c < N, other=-float("inf"))
    e = tl.exp(a - tl.max(a, 0))
    tl.store(y + r * sy + c, e / tl.sum(e, 0), mask=c < N)


def softmax_rows(x):
    y = torch.empty(x.shape, dtype=x.dtype)
    softmax_kernel[(x.shape[0],)](x, y, x.stride(0), y.stride(0), x.shape[1], B=8)
    return y


@triton.jit
def norm_kernel(x, w, y, sx, sw, N, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    a = tl.load(x + r * sx + c, mask=c < N, other=0.0)
    g = tl.load(w + c * sw, mask=c < N, other=0.0)
    s = 1 / tl.sqrt(tl.sum(a * a, 0) / N + 0.1)
    tl.store(y + r * N + c, a * s * g, mask=c < N)


def norm(x, w):
    if x.stride(1) != 1:
        x = x.contiguous()
    y = torch.empty(x.shape, dtype=x.dtype)
    norm_kernel[(x.shape[0],)](x, w, y, x.stride(0), w.stride(0), x.shape[1], B=8)
    return y


@triton.jit
def inside_kernel(x, y, sx, N, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    a = tl.load(x + r * sx + c, mask=c < N, other=0.0)
    before = tl.load(x + r * sx + c - 1, mask=c < N, other=0.0)
    tl.store(y + r * N + c, a * before, mask=c < N)


def inside(x):
    y = torch.empty(x.shape, dtype=x.dtype)
    inside_kernel[(x.shape[0],)](x, y, x.stride(0), x.shape[1], B=8)
    return y


@triton.jit
def optional_kernel(x, z, y, sx, sz, N, HAS: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    a = tl.load(x + r * sx + c, mask=c < N, other=0.0)
    if HAS:
        a *= tl.load(z + r * sz + c, mask=c < N, other=0.0)
    tl.store(y + r * N + c, a * a, mask=c < N)


def optional(x, z=None):
    y = torch.empty(x.shape, dtype=x.dtype)
    has = z is not None
    optional_kernel[(x.shape[0],)](
        x, z if has else x, y, x.stride(0), z.stride(0) if has else 0, x.shape[1], HAS=has, B=8
    )
    return y


def steps(x, n):
    for _ in range(n):
        x = softmax_rows(x).sum(0, keepdim=True).expand(x.shape[0], -1)
    return x


def beyond(x, z):
    y = torch.empty(z.shape, dtype=x.dtype)
    optional_kernel[(z.shape[0],)](x, z, y, x.stride(0), z.stride(0), z.shape[1], HAS=True, B=8)
    return y


def outer(x, z):
    y = torch.empty(x.shape, dtype=x.dtype)
    outer_kernel[(x.shape[0],)](x, z, y, *x.stride(), *z.stride(), x.shape[1], B=4)
    return y


@triton.jit
def outer_kernel(x, z, y, sx0, sx1, sz0, sz1, N, B: tl.constexpr):
    r = tl.program_id(0)
    for c in range(N):
        tl.store(
            y + r * N + c, tl.load(x + r * sx0 + c * sx1) * tl.exp(tl.load(z + r * sz0 + c * sz1))
        )
