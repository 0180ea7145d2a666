"""One Function twice in a graph, kept graphs, gradients that add up, other streams of calls."""

# case: {"class": "graphs", "expect": "right", "call": "m.fill(x, w) + m.fill(x * 2, w) * x.sum()", "inputs": {"x": [4, 5], "w": [5]}}
# case: {"expect": "right", "call": "m.fill(m.fill(m.fill(x, w), w), w)", "inputs": {"x": [4, 5], "w": [5]}}
# case: {"expect": "right", "call": "m.checkpointed(x, w)", "inputs": {"x": [4, 5], "w": [5]}}
# case: {"expect": "right", "call": "m.hooked(x, w)", "inputs": {"x": [4, 5], "w": [5]}}
# case: {"expect": "right", "call": "m.own(x, w)", "inputs": {"x": [4, 5], "w": [5]}}
# case: {"expect": "right", "call": "m.branches(x, w)", "inputs": {"x": [4, 5], "w": [5]}}
# case: {"expect": "right", "call": "m.rows(x, w)", "inputs": {"x": [4, 70], "w": [70]}}
# case: {"expect": "right", "call": "m.rows(x, w) + m.rows(x[:2], w).sum()", "inputs": {"x": [4, 70], "w": [70]}}
# case: {"expect": "right", "call": "m.same_twice(x)", "inputs": {"x": [4, 5]}}
# case: {"expect": "right", "call": "m.partly(x, w)", "inputs": {"x": [4, 5], "w": [5]}}
# case: {"expect": "right", "call": "m.partial_fill(x, 3)", "inputs": {"x": [4, 8]}}
# case: {"expect": "right", "call": "m.partial_fill(x, 8)", "inputs": {"x": [4, 8]}}
# case: {"expect": "right", "call": "m.partial_fill(x, 0).sum() + x.sum()", "inputs": {"x": [4, 8]}}
# case: {"expect": "right", "call": "m.partial_fill(x[:, ::2], 3)", "inputs": {"x": [4, 8]}}
import torch
import torch.utils.checkpoint
import triton
import triton.language as tl


@triton.jit
def gate(x, w, y, N, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    m = c < N
    a = tl.load(x + r * N + c, mask=m, other=0.0)
    b = tl.load(w + c, mask=m, other=0.0)
    tl.store(y + r * N + c, a * tl.sigmoid(b) + tl.sin(a), mask=m)


def fill(x, w):
    y = torch.empty_like(x)
    gate[(x.shape[0],)](x, w, y, x.shape[1], B=8)
    return y


def checkpointed(x, w):
    if not torch.is_grad_enabled():
        return fill(fill(x, w), w)
    return torch.utils.checkpoint.checkpoint(lambda a, b: fill(fill(a, b), b), x, w)


def hooked(x, w):
    y = fill(x, w)
    if y.requires_grad:
        y.register_hook(lambda g: g * 1)
    return y * y


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return (g * 2).expand_as(g)


def own(x, w):
    return Double.apply(fill(Double.apply(x), w).t()).t()


def branches(x, w):
    y = fill(x, w)
    a, b = y.split(2, 0)
    return fill(a, w).sum(0, keepdim=True).expand(2, 5) * b, y.mean()


@triton.jit
def norm(x, w, y, N, B: tl.constexpr):
    r = tl.program_id(0)
    s = tl.zeros([B], tl.float64)
    for k in range(0, N, B):
        c = k + tl.arange(0, B)
        a = tl.load(x + r * N + c, mask=c < N, other=0.0)
        s += a * a
    rs = 1 / tl.sqrt(tl.sum(s, 0) / N + 1e-3)
    for k in range(0, N, B):
        c = k + tl.arange(0, B)
        a = tl.load(x + r * N + c, mask=c < N, other=0.0)
        tl.store(y + r * N + c, a * rs * tl.load(w + c, mask=c < N, other=0.0), mask=c < N)


def rows(x, w):
    y = torch.empty_like(x)
    norm[(x.shape[0],)](x, w, y, x.shape[1], B=32)
    return y


@triton.jit
def pair(x, z, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 3 + tl.load(z + i, mask=i < n), mask=i < n)


def same_twice(x):
    y = torch.empty_like(x)
    pair[(5,)](x, x, y, x.numel(), B=4)
    z = torch.empty_like(x)
    pair[(5,)](y, x, z, x.numel(), B=4)
    return z


def partly(x, w):
    y = torch.zeros(6, 5, dtype=x.dtype)
    gate[(4,)](x, w, y, 5, B=8)
    y[4:] = x[:2] * 2
    return y


@triton.jit
def prefix(x, y, N, n, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    a = tl.load(x + r * N + c, mask=c < n, other=0.0)
    tl.store(y + r * N + c, tl.exp(a), mask=c < N)


def partial_fill(x, n):
    x = x.contiguous()
    y = torch.empty_like(x)
    prefix[(x.shape[0],)](x, y, x.shape[1], n, B=8)
    return y
