"""Launchers that are left out, or warned of: in a file of their own, so that no word about them excuses others."""

# case: {"class": "spellings", "call": "m.both_interleaved(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.both_same(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.ping_pong(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.alpha_of_mean(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.ping_pong(x.expand(2, 13))", "inputs": {"x": [13]}}

import contextlib
import dataclasses
import functools
import itertools
import torch
import triton
import triton.language as tl


@triton.jit
def act_kernel(y, x, n, alpha, NEG: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n, other=0.0)
    if NEG:
        a = -a
    tl.store(y + at, tl.sin(a) * alpha, mask=at < n)


@triton.jit
def add_kernel(y, x, b, n, HAS_BIAS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n, other=0.0)
    if HAS_BIAS:
        a = a * tl.load(b + at, mask=at < n, other=0.0)
    tl.store(y + at, a * a, mask=at < n)


@triton.jit
def two_kernel(y, z, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(y + at, a * a, mask=at < n)
    tl.store(z + at, tl.cos(a), mask=at < n)


@triton.jit
def bump_kernel(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(x + at, a * a + 1.0, mask=at < n)


def G(x, b=8):
    return (triton.cdiv(x.numel(), b),)


def both_interleaved(x):
    out = x.new_empty(2 * x.numel())
    two_kernel[G(x)](out, out[x.numel() :], x, x.numel(), BLOCK=8)
    return out


def both_same(x):
    y = torch.empty_like(x)
    two_kernel[G(x)](y, y, x, x.numel(), BLOCK=8)
    return y


def ping_pong(x):
    a, b = x * 1, torch.empty_like(x)
    for _ in range(3):
        act_kernel[G(a)](b, a, a.numel(), 1.1, NEG=False, BLOCK=8)
        a, b = b, a
    return a


def alpha_of_mean(x):
    y = torch.empty_like(x)
    act_kernel[G(x)](y, x, x.numel(), float(x.mean()), NEG=False, BLOCK=8)
    return y
