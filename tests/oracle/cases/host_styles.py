"""Launches in comprehensions, generators, with-blocks, walrus, try; outputs that are views; empty inputs."""

# case: {"class": "host", "expect": "right", "call": "m.comp(x)", "inputs": {"x": [3, 6]}}
# case: {"expect": "right", "call": "m.ctxman(x)", "inputs": {"x": [6]}}
# case: {"expect": "right", "call": "m.walrus(x)", "inputs": {"x": [6]}}
# case: {"expect": "right", "call": "m.trying(x)", "inputs": {"x": [6]}}
# case: {"expect": "right", "call": "m.nested_tuple(x)", "inputs": {"x": [6]}}
# case: {"expect": "right", "call": "m.defaulted(x)", "inputs": {"x": [6]}}
# case: {"expect": "right", "call": "m.inplace_ops(x)", "inputs": {"x": [6]}}
# case: {"expect": "right", "call": "m.data_copy(x)", "inputs": {"x": [6]}}
# case: {"expect": "right", "call": "m.while_loop(x)", "inputs": {"x": [6]}}
# case: {"expect": "right", "call": "m.early(x, 0)", "inputs": {"x": [6]}}
# case: {"expect": "right", "call": "m.early(x, 1)", "inputs": {"x": [6]}}
# case: {"expect": "right", "call": "m.generator(x)", "inputs": {"x": [2, 6]}}
# case: {"expect": "right", "call": "m.nothing(x)", "inputs": {"x": [0, 6]}, "reference": "m.nothing(x).sum() + x.sum()"}
# case: {"expect": "right", "call": "m.zero_batch(x, w).sum() + w.sum() + x.sum()", "inputs": {"x": [0, 6], "w": [6]}}
# case: {"expect": "right", "call": "m.slices_out(x)", "inputs": {"x": [4, 6]}}
# case: {"expect": "right", "call": "m.strided_out(x)", "inputs": {"x": [4, 6]}}
# case: {"expect": "right", "call": "m.cat_out(x, w)", "inputs": {"x": [6], "w": [6]}}
# case: {"expect": "right", "call": "m.ping_pong(x, 4)", "inputs": {"x": [6]}}
# case: {"expect": "right", "call": "m.expand_out(x)", "inputs": {"x": [6]}}
# case: {"expect": "right", "call": "m.select_out(x)", "inputs": {"x": [6]}}
# case: {"expect": "right", "call": "m.masked_fill(x, k)", "inputs": {"x": [6], "k": {"shape": [6], "dtype": "bool"}}}
# case: {"expect": "right", "call": "m.index_in(x, i)", "inputs": {"x": [6, 6], "i": {"shape": [3], "dtype": "int64", "values": [4, 0, 4]}}}
# case: {"expect": "right", "call": "m.clamp_after(x)", "inputs": {"x": [6]}}
# case: {"expect": "right", "call": "m.out_of_function(x)[0] + x.sum()", "inputs": {"x": [6]}}
import contextlib

import torch
import triton
import triton.language as tl


@triton.jit
def k(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, v * tl.sin(v), mask=i < n)


def f(x):
    y = torch.empty_like(x)
    k[(triton.cdiv(x.numel(), 4),)](x, y, x.numel(), B=4)
    return y


def comp(x):
    return torch.stack([f(r) for r in x if r.numel()]) * torch.cat([f(x[:1]), f(x[1:])])


def ctxman(x):
    with contextlib.nullcontext():
        y = torch.empty_like(x)
        with torch.enable_grad() if torch.is_grad_enabled() else contextlib.nullcontext():
            k[(2,)](x, y, x.numel(), B=4)
    return y


def walrus(x):
    k[(2,)](x, (y := torch.empty_like(x)), (n := x.numel()), B=4)
    return y * n


def trying(x):
    try:
        y = torch.empty_like(x)
        k[(2,)](x, y, x.numel(), B=4)
    finally:
        pass
    return y


def nested_tuple(x):
    (a, b), c = (torch.empty_like(x), torch.empty_like(x)), torch.empty_like(x)
    k[(2,)](x, a, x.numel(), B=4)
    k[(2,)](a, b, x.numel(), B=4)
    k[(2,)](b, c, x.numel(), B=4)
    return a, (b, [c])


def defaulted(x, *, out=None, block=4):
    out = out if out is not None else x.new_zeros(x.shape)
    k[(-(-x.numel() // block),)](x=x, y=out, n=x.numel(), B=block)
    return out


def inplace_ops(x):
    y = f(x)
    y.mul_(2).add_(x)
    y[1:3] *= x[1:3]
    return f(y)


def data_copy(x):
    y = torch.empty_like(x)
    z = x.clone()
    z[2] = 0
    k[(2,)](z, y, x.numel(), B=4)
    return y + z


def while_loop(x):
    i = 0
    while i < 3:
        x = f(x) + x
        i += 1
    return x


def early(x, flag):
    if flag:
        return x * 2
    y = torch.empty_like(x)
    k[(2,)](x, y, x.numel(), B=4)
    if not flag:
        return y
    return None


def rows_of(x):
    for r in x:
        yield f(r)


def generator(x):
    return sum(rows_of(x))


def nothing(x):
    y = torch.empty_like(x)
    if x.numel() > 0:
        k[(2,)](x, y, x.numel(), B=4)
    return y


@triton.jit
def kw(x, w, y, N, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x + r * N + c, mask=c < N) * tl.load(w + c, mask=c < N)
    tl.store(y + r * N + c, v, mask=c < N)


def zero_batch(x, w):
    y = torch.empty_like(x)
    if x.shape[0]:
        kw[(x.shape[0],)](x, w, y, x.shape[1], B=8)
    return y


def slices_out(x):
    out = torch.zeros(4, 12, dtype=x.dtype)
    for i in range(4):
        k[(2,)](x[i], out[i, 6:], 6, B=4)
        k[(2,)](x[i] * 2, out[i, :6], 6, B=4)
    return out


def strided_out(x):
    out = torch.zeros(6, 4, dtype=x.dtype).t()
    tmp = f(x)
    out.copy_(tmp)
    out[0] = f(x[1])
    return out


def cat_out(x, w):
    buf = x.new_empty(2 * x.numel())
    a, b = buf[: x.numel()], buf[x.numel() :]
    k[(2,)](x, a, x.numel(), B=4)
    k[(2,)](w, b, w.numel(), B=4)
    return buf


def ping_pong(x, n):
    a, b = x.clone(), torch.empty_like(x)
    for _ in range(n):
        k[(2,)](a, b, x.numel(), B=4)
        a, b = b, torch.empty_like(x)
    return a


def expand_out(x):
    return f(x).expand(3, -1) * f(x)[:, None].expand(-1, 6)[:3]


def select_out(x):
    y = f(x)
    return y[2], y[[0, 3]], y[::2].sum()


def masked_fill(x, k_):
    return f(x.masked_fill(k_, 0.5)).masked_fill(~k_, 1.0)


def index_in(x, i):
    return f(x[i]) + f(x.index_select(0, i)) * x.gather(0, i[:, None].expand(-1, 6))


def clamp_after(x):
    return f(x).clamp(min=0).sqrt()[f(x) > 0].sum() + torch.where(x > 0, f(x), x)


CACHE = {}


def out_of_function(x):
    if "b" not in CACHE:
        CACHE["b"] = 4
    y = torch.empty_like(x)
    k[(2,)](x, y, x.numel(), B=CACHE["b"])
    return y
