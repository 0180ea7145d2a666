"""Kernels that call what their launches pass: activations by name, from tables, as attributes, through callers."""

import functools

import torch
import triton
import triton.language as tl


@triton.jit
def rectified(x):
    return tl.maximum(x, 0.0)


@triton.jit
def swish(x):
    return x * tl.sigmoid(x)


@triton.jit
def bent(x, slope=0.25):
    return tl.where(x > 0, x, slope * x)


@triton.jit
def cubed(x):
    return x * x * x


TABLE = {"rectified": rectified, "swish": swish, "bent": bent}


@triton.jit
def activated(x, y, n, ACT: tl.constexpr, BLOCK: tl.constexpr):
    j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + j, mask=j < n, other=0.0)
    tl.store(y + j, ACT(a * 2.0) + a, mask=j < n)


def activate(x, name="swish"):
    """The function comes from a table."""
    y = torch.empty_like(x)
    activated[(triton.cdiv(x.numel(), 16),)](x, y, x.numel(), ACT=TABLE[name], BLOCK=16)
    return y


bend = functools.partial(activate, name="bent")


@triton.jit
def applied(x, ACT: tl.constexpr):
    return ACT(x) * 0.5


@triton.jit
def activated_if_given(x, w, y, n, BLOCK: tl.constexpr, ACT: tl.constexpr = None):
    j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + j, mask=j < n, other=0.0) * tl.load(w + j, mask=j < n, other=0.0)
    if ACT is not None:
        a = applied(a, ACT)
    tl.store(y + j, a * a, mask=j < n)


class Layer(torch.nn.Module):
    """The function is an attribute."""

    def __init__(self, act=None):
        super().__init__()
        self.act = act

    def forward(self, x, w):
        y = torch.empty_like(x)
        grid = (triton.cdiv(x.numel(), 16),)
        activated_if_given[grid](x, w, y, x.numel(), BLOCK=16, ACT=self.act)
        return y


def layers():
    """Those that there are."""
    return [Layer(), Layer(cubed), Layer(act=swish)]


@triton.jit
def two_functions(x, y, n, FIRST: tl.constexpr, SECOND: tl.constexpr, BLOCK: tl.constexpr):
    j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + j, mask=j < n, other=0.0)
    tl.store(y + j, SECOND(FIRST(a)), mask=j < n)


def twice(x, smooth: bool):
    y = torch.empty_like(x)
    first = swish if smooth else bent
    two_functions[(triton.cdiv(x.numel(), 16),)](x, y, x.numel(), first, cubed, BLOCK=16)
    return y
