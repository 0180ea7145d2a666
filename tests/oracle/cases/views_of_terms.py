"""Terms of a sum are views of leaves, which keep what they get: a second backward adds to each of them once."""

# case: {"class": "aliases", "call": "m.add_norm(x, r, w)", "inputs": {"x": [2, 3, 6], "r": [2, 3, 6], "w": [6]}}
# case: {"call": "m.add(x, r)", "inputs": {"x": [3, 6], "r": [3, 6]}}
# case: {"call": "m.add(x, r).view(18) + s", "inputs": {"x": [18], "r": [18], "s": [18]}}
# case: {"call": "m.add_norm(x, m.add(x, r.transpose(0, 1).reshape(2, 3, 6)), w)", "inputs": {"x": [2, 3, 6], "r": [3, 2, 6], "w": [6]}}

import torch
import triton
import triton.language as tl


@triton.jit
def add_norm_kernel(X, R, W, S, Y, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    s = tl.load(X + row * stride + cols, mask=mask, other=0) + tl.load(R + row * stride + cols, mask=mask, other=0)
    tl.store(S + row * n + cols, s, mask=mask)
    scale = tl.rsqrt(tl.sum(s * s, axis=0) / n + eps)
    tl.store(Y + row * n + cols, s * scale * tl.load(W + cols, mask=mask), mask=mask)


def add_norm(x, r, w, eps=1e-2):
    shape = x.shape
    x = x.view(-1, shape[-1])
    r = r.view(-1, shape[-1])
    rows, n = x.shape
    s = torch.empty(rows, n, dtype=x.dtype, device=x.device)
    y = torch.empty_like(s)
    add_norm_kernel[(rows,)](x, r, w, s, y, x.stride(0), n, eps, BLOCK=triton.next_power_of_2(n))
    return y.view(shape), s.view(shape)

@triton.jit
def add_kernel(x_ptr, r_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < n
    x = tl.load(x_ptr + at, mask=keep, other=0.0)
    e = tl.exp(2 * x)
    tl.store(y_ptr + at, (e - 1) / (e + 1) + tl.load(r_ptr + at, mask=keep), mask=keep)


def add(x, r):
    y = torch.empty_like(x)
    n = x.numel()
    add_kernel[(triton.cdiv(n, 8),)](x, r.reshape(-1), y, n, BLOCK=8)
    return y
