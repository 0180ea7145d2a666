"""The lanes of an address choose among tensors: each has an access of its own, under the mask of its lanes."""

# case: {"class": "views", "expect": "right", "call": "m.rows(q, a, b)", "inputs": {"q": [7], "a": [7], "b": [7]}}
# case: {"expect": "right", "call": "m.scalar(q, a, b)", "inputs": {"q": [3], "a": [3, 4], "b": [3, 4]}}
# case: {"expect": "right", "call": "m.pick(q, a, b)", "inputs": {"q": [3, 4], "a": [5, 4], "b": [5, 4]}}
# case: {"expect": "right", "call": "m.pick_plain(q, a, b)", "inputs": {"q": [8], "a": [8], "b": [8]}}
# case: {"expect": "right", "call": "m.pick_three(q, a, b, c)", "inputs": {"q": [7], "a": [7], "b": [7], "c": [7]}}
# case: {"expect": "right", "call": "m.put(q)", "inputs": {"q": [7]}}
# case: {"expect": "right", "call": "m.same(q, a)", "inputs": {"q": [7], "a": [8]}}
# case: {"expect": "right", "call": "m.cat(a, b)", "inputs": {"a": [3], "b": [6]}}
import torch
import triton
import triton.language as tl


@triton.jit
def pickk(q, a, b, y, n, m, R: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0)
    o = tl.arange(0, B)
    c = tl.arange(0, R)
    v = tl.load(q + r * R + c)
    at = o[:, None] * R + c[None, :]
    p = tl.where(v[None, :] >= 0, a + at, b + at)
    w = tl.load(p, mask=o[:, None] < m, other=0.0)
    tl.store(y + r * m + o, tl.sum(w * v[None, :], 1), mask=o < m)


def pick(q, a, b):
    y = q.new_empty(q.shape[0], a.shape[0])
    pickk[(q.shape[0],)](q, a, b, y, q.shape[0], a.shape[0], R=q.shape[1], B=8)
    return y


@triton.jit
def plaink(q, a, b, y, B: tl.constexpr):
    c = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(q + c)
    w = tl.load(tl.where(v >= 0, a, b) + c)
    tl.store(y + c, w * w * v)


def pick_plain(q, a, b):
    y = torch.empty_like(q)
    plaink[(2,)](q, a, b, y, B=4)
    return y


@triton.jit
def threek(q, a, b, c, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(q + i, mask=i < n)
    p = tl.where(v >= 0.3, a, tl.where(v < -0.3, b, c)) + i
    w = tl.load(p, mask=i < n)
    tl.store(y + i, w * w * v, mask=i < n)


def pick_three(q, a, b, c):
    y = torch.empty_like(q)
    threek[(2,)](q, a, b, c, y, q.numel(), B=4)
    return y


@triton.jit
def putk(q, a, b, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(q + i, mask=i < n)
    tl.store(tl.where(i % 2 == 0, a + i, b + i), v * v, mask=i < n)


def put(q):
    a, b = torch.zeros_like(q), torch.zeros_like(q)
    putk[(2,)](q, a, b, q.numel(), B=4)
    return a, b


@triton.jit
def samek(q, a, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(q + i, mask=i < n)
    w = tl.load(tl.where(v >= 0, a + i, a + i + 1), mask=i < n)
    tl.store(y + i, w * w * v, mask=i < n)


def same(q, a):
    y = torch.empty_like(q)
    samek[(2,)](q, a, y, q.numel(), B=4)
    return y


@triton.jit
def catk(a, b, y, na, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    p = tl.where(i < na, a + i, b + i - na)
    tl.store(y + i, tl.load(p, mask=i < n), mask=i < n)


def cat(a, b):
    y = a.new_empty(a.numel() + b.numel())
    catk[(3,)](a, b, y, a.numel(), y.numel(), B=4)
    return y


@triton.jit
def rowsk(q, a, b, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(q + i, mask=i < n, other=0.0)
    rows = tl.where((v > 0.1)[:, None], (a + i)[:, None], (b + n - 1 - i)[:, None])
    w = tl.sum(tl.load(rows, mask=(i < n)[:, None], other=0.0), axis=1)
    tl.store(tl.where(v > -0.2, y + i, y + n + i), w * v, mask=i < n)


def rows(q, a, b):
    y = q.new_zeros(2 * q.numel())
    rowsk[(2,)](q, a, b, y, q.numel(), B=4)
    return y


@triton.jit
def scalark(q, a, b, y, n, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    s = tl.load(q + r)
    p = tl.where(s > 0, a, b)
    v = tl.load((p + r * B + i)[None, :])
    tl.store((y + r * B + i)[None, :], v * v * s)


def scalar(q, a, b):
    y = torch.empty_like(a)
    scalark[(q.numel(),)](q, a, b, y, q.numel(), B=4)
    return y
