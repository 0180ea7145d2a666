"""What divides rows and what becomes of the output: in place, given by the caller, changed later, other divisors, two outputs."""

# case: {"class": "softmaxes", "call": "m.inplace(x)", "inputs": {"x": {"shape": [5, 37], "in_place": true}}}
# case: {"class": "softmaxes", "call": "m.inplace(x * 1.0) + x", "inputs": {"x": [5, 37]}}
# case: {"class": "softmaxes", "call": "m.given(x, torch.empty(5, 37, dtype=x.dtype))", "inputs": {"x": [5, 37]}}
# case: {"class": "softmaxes", "call": "m.changed(x)", "inputs": {"x": [5, 37]}}
# case: {"class": "softmaxes", "call": "m.zeroed(x)", "inputs": {"x": [5, 37]}}
# case: {"class": "softmaxes", "call": "m.inplace(x).mul_(2.0)", "inputs": {"x": {"shape": [5, 37], "in_place": true}}}
# case: {"class": "softmaxes", "call": "m.row(x).mul_(2.0)", "inputs": {"x": [5, 37]}}
# case: {"class": "softmaxes", "call": "m.row(x).detach().mul_(2.0).sum() * 0 + m.row(x)", "inputs": {"x": [5, 37]}}
# case: {"class": "softmaxes", "call": "m.row(x.t())", "inputs": {"x": [37, 5]}}
# case: {"class": "softmaxes", "call": "m.row(x.expand(5, 37))", "inputs": {"x": [1, 37]}}
# case: {"class": "softmaxes", "call": "m.row(torch.cat([x, torch.full((5, 3), float('-inf'), dtype=x.dtype)], 1))", "inputs": {"x": [5, 37]}}
# case: {"class": "softmaxes", "call": "m.one_more(x)", "inputs": {"x": [5, 37]}}
# case: {"class": "softmaxes", "call": "m.sink(x, s)", "inputs": {"x": [5, 37], "s": [5]}}
# case: {"class": "softmaxes", "call": "m.scaled(x, g)", "inputs": {"x": [5, 37], "g": [37]}}
# case: {"class": "softmaxes", "call": "m.tempered(x, t)", "inputs": {"x": [5, 37], "t": {"shape": [5], "low": 0.5, "high": 2.0}}}
# case: {"class": "softmaxes", "call": "m.both(x)", "inputs": {"x": [5, 37]}}
# case: {"class": "softmaxes", "call": "m.squares(x)", "inputs": {"x": {"shape": [5, 37], "low": 0.3, "high": 2.0}}}
# case: {"class": "softmaxes", "call": "m.sigmoids(x)", "inputs": {"x": [5, 37]}}
# case: {"class": "softmaxes", "call": "m.row(x)", "inputs": {"x": {"shape": [5, 37], "dtype": "float16"}}}
# case: {"class": "softmaxes", "call": "m.into_view(x, torch.zeros(5, 64, dtype=x.dtype))", "inputs": {"x": [5, 37]}}
# case: {"class": "softmaxes", "call": "m.z_loss(x, labels)", "inputs": {"x": [6, 37], "labels": {"shape": [6], "dtype": "int64", "values": [0, 36, 5, 7, 15, 16]}}}
# case: {"class": "softmaxes", "call": "m.dropped(x, keep)", "inputs": {"x": [5, 37], "keep": {"shape": [5, 37], "dtype": "float64", "grad": false}}}
# case: {"class": "softmaxes", "call": "m.flagged(x, True) * m.flagged(x, False)", "inputs": {"x": [5, 37]}}
# case: {"class": "softmaxes", "call": "m.row(m.row(x)) + m.row(x)", "inputs": {"x": [5, 37]}}
# case: {"class": "softmaxes", "call": "m.twice(x)", "inputs": {"x": [5, 37]}}
# case: {"class": "softmaxes", "call": "m.relued(x)", "inputs": {"x": [5, 37]}}
# case: {"class": "softmaxes", "call": "m.floored(x)", "inputs": {"x": [5, 37]}}
# case: {"class": "softmaxes", "call": "m.epsilon(x)", "inputs": {"x": [5, 37]}}

import torch
import triton
import triton.language as tl


@triton.jit
def row_kernel(y_ptr, x_ptr, y_stride, x_stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * x_stride + cols, mask=cols < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * y_stride + cols, e / tl.sum(e, axis=0), mask=cols < n)


def row(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    row_kernel[(x.shape[0],)](y, x, y.stride(0), x.stride(0), x.shape[1], BLOCK=64)
    return y


def inplace(x):
    row_kernel[(x.shape[0],)](x, x, x.stride(0), x.stride(0), x.shape[1], BLOCK=64)
    return x


def given(x, out):
    row_kernel[(x.shape[0],)](out, x, out.stride(0), x.stride(0), x.shape[1], BLOCK=64)
    return out


def changed(x):
    out = torch.empty_like(x)
    row_kernel[(x.shape[0],)](out, x, out.stride(0), x.stride(0), x.shape[1], BLOCK=64)
    out *= 3.0
    return out


def zeroed(x):
    out = torch.empty_like(x)
    row_kernel[(x.shape[0],)](out, x, out.stride(0), x.stride(0), x.shape[1], BLOCK=64)
    out[:, 0] = 0.0
    return out


@triton.jit
def one_more_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))
    top = tl.max(x, axis=0)
    e = tl.exp(x - top)
    tl.store(y_ptr + row * n + cols, e / (tl.sum(e, axis=0) + 1.0), mask=cols < n)


def one_more(x):
    y = torch.empty_like(x)
    one_more_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)
    return y


@triton.jit
def sink_kernel(x_ptr, s_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    s = tl.load(s_ptr + row)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))
    top = tl.maximum(tl.max(x, axis=0), s)
    e = tl.exp(x - top)
    total = tl.sum(e, axis=0) + tl.exp(s - top)
    tl.store(y_ptr + row * n + cols, e / total, mask=cols < n)


def sink(x, s):
    y = torch.empty_like(x)
    sink_kernel[(x.shape[0],)](x, s, y, x.shape[1], BLOCK=64)
    return y


@triton.jit
def scaled_kernel(x_ptr, g_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))
    g = tl.load(g_ptr + cols, mask=cols < n, other=0.0)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * n + cols, g * e / tl.sum(e, axis=0), mask=cols < n)


def scaled(x, g):
    y = torch.empty_like(x)
    scaled_kernel[(x.shape[0],)](x, g, y, x.shape[1], BLOCK=64)
    return y


@triton.jit
def tempered_kernel(x_ptr, t_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    t = tl.load(t_ptr + row)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf")) / t
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * n + cols, e / tl.sum(e, axis=0), mask=cols < n)


def tempered(x, t):
    y = torch.empty_like(x)
    tempered_kernel[(x.shape[0],)](x, t, y, x.shape[1], BLOCK=64)
    return y


@triton.jit
def both_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))
    top = tl.max(x, axis=0)
    e = tl.exp(x - top)
    total = tl.sum(e, axis=0)
    tl.store(y_ptr + row * n + cols, e / total, mask=cols < n)
    tl.store(z_ptr + row * n + cols, x - top - tl.log(total), mask=cols < n)


def both(x):
    y = torch.empty_like(x)
    z = torch.empty_like(x)
    both_kernel[(x.shape[0],)](x, y, z, x.shape[1], BLOCK=64)
    return y, z


@triton.jit
def squares_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
    e = x * x
    tl.store(y_ptr + row * n + cols, e / tl.sum(e, axis=0), mask=cols < n)


def squares(x):
    y = torch.empty_like(x)
    squares_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)
    return y


@triton.jit
def sigmoids_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))
    e = tl.sigmoid(x)
    tl.store(y_ptr + row * n + cols, e / tl.sum(e, axis=0), mask=cols < n)


def sigmoids(x):
    y = torch.empty_like(x)
    sigmoids_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)
    return y


def into_view(x, buffer):
    out = buffer[:, 3:40]
    row_kernel[(x.shape[0],)](out, x, out.stride(0), x.stride(0), x.shape[1], BLOCK=64)
    return buffer


@triton.jit
def z_loss_kernel(x_ptr, label_ptr, loss_ptr, lse_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))
    top = tl.max(x, axis=0)
    lse = top + tl.log(tl.sum(tl.exp(x - top), axis=0))
    label = tl.load(label_ptr + row)
    picked = tl.load(x_ptr + row * n + label)
    tl.store(loss_ptr + row, lse - picked + 0.1 * lse * lse)
    tl.store(lse_ptr + row, lse)


def z_loss(x, labels):
    loss = torch.empty(x.shape[0], dtype=x.dtype)
    lse = torch.empty(x.shape[0], dtype=x.dtype)
    z_loss_kernel[(x.shape[0],)](x, labels, loss, lse, x.shape[1], BLOCK=64)
    return loss.sum() + (lse * lse).sum()


@triton.jit
def dropped_kernel(x_ptr, k_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))
    k = tl.load(k_ptr + row * n + cols, mask=cols < n, other=0.0)
    e = tl.exp(x - tl.max(x, axis=0))
    y = e / tl.sum(e, axis=0)
    tl.store(y_ptr + row * n + cols, y, mask=cols < n)
    tl.store(z_ptr + row * n + cols, tl.where(k > 0, y / 0.5, 0.0), mask=cols < n)


def dropped(x, keep):
    y = torch.empty_like(x)
    z = torch.empty_like(x)
    dropped_kernel[(x.shape[0],)](x, keep, y, z, x.shape[1], BLOCK=64)
    return y, z


@triton.jit
def flagged_kernel(x_ptr, y_ptr, n, LOG: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))
    top = tl.max(x, axis=0)
    e = tl.exp(x - top)
    total = tl.sum(e, axis=0)
    if LOG:
        y = x - top - tl.log(total)
    else:
        y = e / total
    tl.store(y_ptr + row * n + cols, y, mask=cols < n)


def flagged(x, log):
    y = torch.empty_like(x)
    flagged_kernel[(x.shape[0],)](x, y, x.shape[1], LOG=log, BLOCK=64)
    return y


@triton.jit
def twice_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    y = e / tl.sum(e, axis=0)
    tl.store(y_ptr + row * n + cols, y, mask=cols < n)
    tl.store(z_ptr + row * n + cols, y * y, mask=cols < n)


def twice(x):
    y = torch.empty_like(x)
    z = torch.empty_like(x)
    twice_kernel[(x.shape[0],)](x, y, z, x.shape[1], BLOCK=64)
    y.zero_()
    return z


@triton.jit
def relued_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
    x = tl.where(cols < n, tl.maximum(x, 0.0), -float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * n + cols, e / tl.sum(e, axis=0), mask=cols < n)


def relued(x):
    y = torch.empty_like(x)
    relued_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)
    return y


@triton.jit
def floored_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    y = e / tl.sum(e, axis=0)
    tl.store(y_ptr + row * n + cols, tl.where(y > 0.02, y, 0.0), mask=cols < n)


def floored(x):
    y = torch.empty_like(x)
    floored_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)
    return y


@triton.jit
def epsilon_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * n + cols, e / (tl.sum(e, axis=0) + 0.5), mask=cols < n)


def epsilon(x):
    y = torch.empty_like(x)
    epsilon_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)
    return y
