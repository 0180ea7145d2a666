"""Functions of libdevice that Python looks up by name, and the limits of element types."""

import importlib.util

import jax.numpy as jnp
import numpy as np
import torch
import triton
import triton.language as tl

LEAST: tl.constexpr = jnp.finfo(jnp.float32).min
MOST: tl.constexpr = torch.iinfo(torch.int32).max
NEVER: tl.constexpr = np.iinfo(np.int64).min


def find_function(name):
    for place in ("triton.language.extra.libdevice", "triton.language.math"):
        spec = importlib.util.find_spec(place)  # libdevice moves about
        if spec is not None:
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return getattr(module, name)
    raise ImportError(name)


inverse_root = find_function("rsqrt")
power = find_function("pow")


@triton.jit
def normalised(x_ptr, y_ptr, n, eps, B: tl.constexpr):
    at = tl.arange(0, B)
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0).to(tl.float32)
    scale = inverse_root(tl.sum(x * x, axis=0) / n + eps)
    tl.store(y_ptr + row * n + at, x * scale, mask=at < n)


@triton.jit
def raised(x_ptr, y_ptr, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + at, power(tl.exp(x), 1.5), mask=at < n)


@triton.jit
def largest(x_ptr, y_ptr, n, B: tl.constexpr):
    at = tl.arange(0, B)
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0).to(tl.float32)
    x = tl.where(at < n, x, -torch.finfo(torch.float32).max)
    tl.store(y_ptr + row, tl.max(x, axis=0))


@triton.jit
def limited(x_ptr, y_ptr, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + at, mask=at < n, other=LEAST)
    kept = (at < MOST) & (at > NEVER)
    tl.store(y_ptr + at, tl.where(kept, x * x, 0.0), mask=at < n)
