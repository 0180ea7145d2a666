"""Norms of rows under views, expansions, modules, Functions and upstream gradients of all kinds, and sums of parts."""

# case: {"class": "norms of all kinds", "call": "m.norm(x, w)", "inputs": {"x": [7, 19], "w": [19]}}
# case: {"class": "norms of all kinds", "call": "m.norm(x, w)", "inputs": {"x": [7, 1], "w": [1]}}
# case: {"class": "norms of all kinds", "call": "m.norm(x, w)", "inputs": {"x": [1, 33], "w": [33]}}
# case: {"class": "norms of all kinds", "call": "m.norm(x.t(), w)", "inputs": {"x": [19, 7], "w": [19]}}
# case: {"class": "norms of all kinds", "call": "m.norm(x, w)", "inputs": {"x": {"shape": [7, 19], "grad": false}, "w": [19]}}
# case: {"class": "norms of all kinds", "call": "m.norm(x, w)", "inputs": {"x": [7, 19], "w": {"shape": [19], "grad": false}}}
# case: {"class": "norms of all kinds", "call": "m.norm(x, w).expand(3, 7, 19)", "inputs": {"x": [7, 19], "w": [19]}}
# case: {"class": "norms of all kinds", "call": "m.norm(x, w).t()", "inputs": {"x": [7, 19], "w": [19]}}
# case: {"class": "norms of all kinds", "call": "m.norm(x, w)[::2, 1:]", "inputs": {"x": [7, 19], "w": [19]}}
# case: {"class": "norms of all kinds", "call": "m.norm(x, w).sum(0)", "inputs": {"x": [7, 19], "w": [19]}}
# case: {"class": "norms of all kinds", "call": "m.norm(x[:, :19], w)", "inputs": {"x": [7, 23], "w": [19]}}
# case: {"class": "norms of all kinds", "call": "m.norm(x[1:6:2], w)", "inputs": {"x": [7, 19], "w": [19]}}
# case: {"class": "norms of all kinds", "call": "m.norm(x[:1].expand(4, 19), w)", "inputs": {"x": [7, 19], "w": [19]}}
# case: {"class": "norms of all kinds", "call": "m.norm(m.norm(x, w), w)", "inputs": {"x": [7, 19], "w": [19]}}
# case: {"class": "norms of all kinds", "call": "m.norm(x, x[0])", "inputs": {"x": [7, 19]}}
# case: {"class": "norms of all kinds", "call": "m.norm_stats(x, w)", "inputs": {"x": [7, 19], "w": [19]}}
# case: {"class": "norms of all kinds", "call": "m.norm_stats(x, w)[1]", "inputs": {"x": [7, 19], "w": [19]}}
# case: {"class": "norms of all kinds", "call": "m.Module(w)(x)", "inputs": {"x": [7, 19], "w": [19]}}
# case: {"class": "norms of all kinds", "call": "m.Wrapped.apply(x, w)", "inputs": {"x": [7, 19], "w": [19]}}
# case: {"class": "norms of all kinds", "call": "m.partial_sums(x)", "inputs": {"x": [37]}}
# case: {"class": "norms of all kinds", "call": "m.partial_sums(x)", "inputs": {"x": [16]}}
# case: {"class": "norms of all kinds", "call": "m.partial_sums(x)", "inputs": {"x": [17]}}
# case: {"class": "norms of all kinds", "call": "m.partial_norm(x)", "inputs": {"x": [37]}}
# case: {"class": "norms of all kinds", "call": "m.partial_norm(x)", "inputs": {"x": [3, 9]}}
# case: {"class": "norms of all kinds", "call": "m.norm(x, w)", "inputs": {"x": {"shape": [0, 19], "grad": true}, "w": [19]}}
# case: {"class": "norms of all kinds", "call": "m.norm_all(x, w)", "inputs": {"x": [2, 3, 19], "w": [19]}}
# case: {"class": "norms of all kinds", "call": "m.norm_all(x.transpose(0, 1), w)", "inputs": {"x": [2, 3, 19], "w": [19]}}
# case: {"class": "norms of all kinds", "call": "m.residual(x, r, w)", "inputs": {"x": [5, 19], "r": [5, 19], "w": [19]}}
# case: {"class": "norms of all kinds", "call": "m.residual(x, x, w)", "inputs": {"x": [5, 19], "w": [19]}}
# case: {"class": "norms of all kinds", "call": "m.residual(x, r, w)[0]", "inputs": {"x": [5, 19], "r": [5, 19], "w": [19]}}
import torch
import triton
import triton.language as tl


@triton.jit
def norm_kernel(x, w, y, rstd, stride, n, EPS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    ok = at < n
    v = tl.load(x + row * stride + at, mask=ok, other=0.0)
    u = tl.load(w + at, mask=ok, other=0.0)
    r = 1.0 / tl.sqrt(tl.sum(v * v, 0) / n + EPS)
    tl.store(rstd + row, r)
    tl.store(y + row * n + at, v * r * u, mask=ok)


def norm_stats(x, w):
    if x.stride(-1) != 1:
        x = x.contiguous()
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    rstd = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    norm_kernel[(x.shape[0],)](
        x, w, y, rstd, x.stride(0), x.shape[1], 1e-3, BLOCK=triton.next_power_of_2(x.shape[1])
    )
    return y, rstd


def norm(x, w):
    if x.stride(-1) != 1:
        x = x.contiguous()
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    rstd = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    norm_kernel[(x.shape[0],)](
        x, w, y, rstd, x.stride(0), x.shape[1], 1e-3, BLOCK=triton.next_power_of_2(x.shape[1])
    )
    return y


def norm_all(x, w):
    flat = x.reshape(-1, x.shape[-1])
    y = torch.empty_like(flat)
    rstd = torch.empty(flat.shape[0], dtype=x.dtype, device=x.device)
    norm_kernel[(flat.shape[0],)](flat, w, y, rstd, flat.stride(0), flat.shape[1], 1e-3, BLOCK=32)
    return y.view(x.shape)


class Module(torch.nn.Module):
    def __init__(self, w):
        super().__init__()
        self.w = w
        self.eps = 1e-3

    def forward(self, x):
        y = torch.empty_like(x)
        rstd = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
        norm_kernel[(x.shape[0],)](x, self.w, y, rstd, x.stride(0), x.shape[1], self.eps, BLOCK=32)
        return y


class Wrapped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        y = torch.empty_like(x)
        rstd = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
        norm_kernel[(x.shape[0],)](x, w, y, rstd, x.stride(0), x.shape[1], 1e-3, BLOCK=32)
        ctx.save_for_backward(x, w, rstd)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, w, rstd = ctx.saved_tensors
        n = x.shape[1]
        g = dy * w
        r = rstd[:, None]
        return g * r - x * r**3 * (g * x).sum(1, keepdim=True) / n, (dy * x * r).sum(0)


@triton.jit
def sum_kernel(x, part, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(part + tl.program_id(0), tl.sum(v * v, 0))


@triton.jit
def scale_kernel(x, part, y, n, parts, BLOCK: tl.constexpr, PARTS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    k = tl.arange(0, PARTS)
    total = tl.sum(tl.load(part + k, mask=k < parts, other=0.0), 0)
    v = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(y + at, v / tl.sqrt(total + 0.1), mask=at < n)


def partial_sums(x):
    n = x.numel()
    parts = triton.cdiv(n, 16)
    part = torch.empty(parts, dtype=x.dtype, device=x.device)
    sum_kernel[(parts,)](x, part, n, BLOCK=16)
    return part.sum()


def partial_norm(x):
    n = x.numel()
    parts = triton.cdiv(n, 16)
    part = torch.empty(parts, dtype=x.dtype, device=x.device)
    y = torch.empty_like(x)
    sum_kernel[(parts,)](x, part, n, BLOCK=16)
    scale_kernel[(parts,)](x, part, y, n, parts, BLOCK=16, PARTS=8)
    return y


@triton.jit
def residual_kernel(x, r, w, h, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    ok = at < n
    v = tl.load(x + row * n + at, mask=ok, other=0.0) + tl.load(
        r + row * n + at, mask=ok, other=0.0
    )
    tl.store(h + row * n + at, v, mask=ok)
    rstd = tl.rsqrt(tl.sum(v * v, 0) / n + 0.01)
    tl.store(y + row * n + at, v * rstd * tl.load(w + at, mask=ok, other=0.0), mask=ok)


def residual(x, r, w):
    h = torch.empty_like(x)
    y = torch.empty_like(x)
    residual_kernel[(x.shape[0],)](x, r, w, h, y, x.shape[1], BLOCK=32)
    return y, h
