"""Several outputs, of which callers use some: the others have no upstream gradient."""

# case: {"class": "views", "call": "m.gated(x, w)[0].sum()", "inputs": {"x": [21], "w": [21]}}
# case: {"call": "m.gated(x, w)[1] * 2", "inputs": {"x": [21], "w": [21]}}
# case: {"call": "m.gated(x, w)", "inputs": {"x": [21], "w": [21]}}
# case: {"call": "m.gated(x, m.gated(x, w)[1])[0]", "inputs": {"x": [21], "w": [21]}}
# case: {"call": "m.norm(x)[0].t() * w", "inputs": {"x": [6, 20], "w": [20, 6]}}
# case: {"call": "m.norm(x)[1].expand(4, 6) * w", "inputs": {"x": [6, 20], "w": [4, 6]}}
# case: {"call": "m.norm(x)[2].sum() + m.norm(x)[0][:, ::2].sum(1)", "inputs": {"x": [6, 20]}}
# case: {"call": "m.halves(x)[0] * w", "inputs": {"x": [4, 6], "w": [4, 6]}}
# case: {"call": "m.halves(x)[1].t().contiguous()", "inputs": {"x": [4, 6]}}
# case: {"call": "m.softmax(x)[0] * w", "inputs": {"x": [4, 6], "w": [4, 6]}}
# case: {"call": "m.softmax(x)[1]", "inputs": {"x": [4, 6]}}
# case: {"call": "m.rows(x)[0].sum(0)", "inputs": {"x": [4, 6]}}
# case: {"call": "m.rows(x)[1].t() * 3", "inputs": {"x": [4, 6]}}

import torch
import triton
import triton.language as tl


@triton.jit
def gated_kernel(x, w, a, b, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    u = tl.load(x + offs, mask=offs < n, other=0.0)
    v = tl.load(w + offs, mask=offs < n, other=0.0)
    tl.store(a + offs, u * tl.exp(v), mask=offs < n)
    tl.store(b + offs, tl.sin(u) - v, mask=offs < n)


def gated(x, w):
    a, b = torch.empty_like(x), torch.empty_like(x)
    gated_kernel[(triton.cdiv(x.numel(), 8),)](x, w, a, b, x.numel(), BLOCK=8)
    return a, b


@triton.jit
def norm_kernel(x, y, mean, rstd, stride, n, BLOCK: tl.constexpr):
    """What is stored of a row is read again by the backward."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + cols, mask=cols < n, other=0.0)
    m = tl.sum(v, axis=0) / n
    centred = tl.where(cols < n, v - m, 0.0)
    r = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / n + 1e-5)
    tl.store(mean + row, m)
    tl.store(rstd + row, r)
    tl.store(y + row * stride + cols, centred * r, mask=cols < n)


def norm(x):
    y = torch.empty_like(x)
    mean = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    rstd = torch.empty_like(mean)
    norm_kernel[(x.shape[0],)](x, y, mean, rstd, x.stride(0), x.shape[1], BLOCK=32)
    return y, mean, rstd


@triton.jit
def halves_kernel(x, y, z, n, sx, sy, sz, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    v = tl.load(x + row * sx + cols, mask=cols < n)
    tl.store(y + row * sy + cols, v * v, mask=cols < n)
    tl.store(z + row * sz + cols, tl.exp(v), mask=cols < n)


def halves(x):
    """Both outputs are views of one tensor."""
    both = torch.zeros((x.shape[0], 2 * x.shape[1]), dtype=x.dtype, device=x.device)
    y, z = both[:, : x.shape[1]], both[:, x.shape[1] :]
    halves_kernel[(x.shape[0],)](
        x, y, z, x.shape[1], x.stride(0), y.stride(0), z.stride(0), BLOCK=8
    )
    return y, z


def rows(x):
    y, z = torch.empty_like(x), torch.empty_like(x)
    halves_kernel[(x.shape[0],)](
        x, y, z, x.shape[1], x.stride(0), y.stride(0), z.stride(0), BLOCK=8
    )
    return y, z


@triton.jit
def softmax_kernel(x, y, lse, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf"))
    top = tl.max(v, axis=0)
    e = tl.exp(v - top)
    total = tl.sum(e, axis=0)
    tl.store(y + row * n + cols, e / total, mask=cols < n)
    tl.store(lse + row, top + tl.log(total))


def softmax(x):
    y = torch.empty_like(x)
    lse = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    softmax_kernel[(x.shape[0],)](x, y, lse, x.shape[1], BLOCK=8)
    return y, lse
