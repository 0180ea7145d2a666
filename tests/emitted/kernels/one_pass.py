"""Programs with gradients of their own that also share some: what one pass over their rows gives."""

import torch
import triton
import triton.language as tl


@triton.jit
def norm(x, w, b, y, n, stride, eps, HAS_BIAS: tl.constexpr, B: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, B)
    inside = j < n
    a = tl.load(x + row * stride + j, mask=inside, other=0.0)
    scale = tl.rsqrt(tl.sum(a * a) / n + eps)
    out = a * scale * tl.load(w + j, mask=inside, other=0.0)
    if HAS_BIAS:
        out += tl.load(b + j, mask=inside, other=0.0)
    tl.store(y + row * stride + j, out, mask=inside)


@triton.jit
def rows_in_tiles(x, w, y, m, n, R: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * R + tl.arange(0, R)
    j = tl.arange(0, B)
    inside = (i[:, None] < m) & (j[None, :] < n)
    at = i[:, None] * n + j[None, :]
    a = tl.load(x + at, mask=inside, other=0.0)
    s = tl.load(w + j, mask=j < n, other=0.0)
    tl.store(y + at, tl.exp(a * s[None, :]), mask=inside)


@triton.jit
def columns_in_blocks(x, w, y, n, B: tl.constexpr):
    """Programs along the second axis own their columns of `w`, those along the first share them."""
    row = tl.program_id(0)
    j = tl.program_id(1) * B + tl.arange(0, B)
    a = tl.load(x + row * n + j, mask=j < n, other=0.0)
    s = tl.load(w + j, mask=j < n, other=0.0)
    tl.store(y + row * n + j, a * tl.exp(s), mask=j < n)


@triton.jit
def heads_and_rows(x, w, y, h, n, B: tl.constexpr):
    """All programs along both axes share `w`."""
    at = (tl.program_id(1) * h + tl.program_id(0)) * n
    j = tl.arange(0, B)
    a = tl.load(x + at + j, mask=j < n, other=0.0)
    s = tl.load(w + j, mask=j < n, other=0.0)
    tl.store(y + at + j, a * s * s, mask=j < n)


@triton.jit
def in_place(x, w, n, B: tl.constexpr):
    """The gradient is loaded and stored in one place: no load may run ahead."""
    at = tl.program_id(0) * n + tl.arange(0, B)
    j = tl.arange(0, B)
    a = tl.load(x + at, mask=j < n, other=0.0)
    s = tl.load(w + j, mask=j < n, other=0.0)
    tl.store(x + at, a * tl.exp(s), mask=j < n)


@triton.jit
def with_product(x, v, w, y, n, B: tl.constexpr, D: tl.constexpr):
    """Few programs with a share each would leave a part of the GPU without products to do."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    at = i[:, None] * D + d[None, :]
    a = tl.load(x + at, mask=i[:, None] < n, other=0.0)
    k = tl.load(v + at, mask=i[:, None] < n, other=0.0)
    s = tl.load(w + d)
    p = tl.dot(a, tl.trans(k), input_precision="ieee")
    tl.store(y + at, tl.dot(p, k, input_precision="ieee") + a * s[None, :], mask=i[:, None] < n)


def launch_norm(x, w, b=None):
    y = torch.empty_like(x)
    m, n = x.shape
    block = triton.next_power_of_2(n)
    norm[(m,)](x, w, b, y, n, x.stride(0), 1e-5, HAS_BIAS=b is not None, B=block)
    return y


def launch_rows_in_tiles(x, w):
    y = torch.empty_like(x)
    m, n = x.shape
    rows_in_tiles[(triton.cdiv(m, 4),)](x, w, y, m, n, R=4, B=triton.next_power_of_2(n))
    return y


def launch_columns_in_blocks(x, w):
    y = torch.empty_like(x)
    columns_in_blocks[(x.shape[0], triton.cdiv(x.shape[1], 16))](x, w, y, x.shape[1], B=16)
    return y


def launch_heads_and_rows(x, w):
    y = torch.empty_like(x)
    b, h, n = x.shape
    heads_and_rows[(h, b)](x, w, y, h, n, B=triton.next_power_of_2(n))
    return y


def launch_in_place(x, w):
    x = x.clone()
    in_place[(x.shape[0],)](x, w, x.shape[1], B=triton.next_power_of_2(x.shape[1]))
    return x


def launch_with_product(x, v, w):
    y = torch.empty_like(x)
    with_product[(triton.cdiv(x.shape[0], 16),)](x, v, w, y, x.shape[0], B=16, D=16)
    return y
