"""A residual is added before a norm: the terms of a sum have one gradient, and may share its memory."""

# case: {"class": "aliases", "call": "m.add_norm(x, r, w)", "inputs": {"x": [3, 6], "r": [3, 6], "w": [6]}}
# case: {"call": "m.add_norm(x, x, w)", "inputs": {"x": [3, 6], "w": [6]}}
# case: {"call": "m.add_norm(x, r, w)", "inputs": {"x": {"shape": [3, 6], "grad": false}, "r": [3, 6], "w": [6]}}
# case: {"call": "m.add_norm(x, r, w)", "inputs": {"x": [3, 6], "r": {"shape": [3, 6], "grad": false}, "w": [6]}}
# case: {"call": "m.add_norm(x, r, w)", "inputs": {"x": [3, 6], "r": {"shape": [3, 6], "dtype": "float32"}, "w": [6]}}
# case: {"call": "m.add_norm(x[:, :4], r[:, 2:], w[:4])", "inputs": {"x": [3, 6], "r": [3, 6], "w": [6]}}
# case: {"call": "m.add_norm(x, m.add_norm(x, r, w)[0], w)", "inputs": {"x": [3, 6], "r": [3, 6], "w": [6]}}
# case: {"call": "m.add_norm(x * 1, r * 2, w)[0] + x * r", "inputs": {"x": [3, 6], "r": [3, 6], "w": [6]}}
# case: {"call": "m.add_norm(both[0], both[1], w)", "inputs": {"both": [2, 3, 6], "w": [6]}}

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
    rows, n = x.shape
    s = torch.empty(rows, n, dtype=x.dtype, device=x.device)
    y = torch.empty_like(s)
    add_norm_kernel[(rows,)](x, r, w, s, y, x.stride(0), n, eps, BLOCK=triton.next_power_of_2(n))
    return y, s
