"""Three digits of a program's id, spelled by a product and by quotients; views with gaps; gradients are right, new memory is all stored."""

# case: {"class": "digits", "call": "m.scaled(x, w)", "inputs": {"x": [3, 2, 5, 13], "w": [2, 5, 13]}}
# case: {"class": "digits", "call": "m.scaled(x[:, :, 1:4], w[:, 1:4])", "inputs": {"x": [3, 2, 5, 13], "w": [2, 5, 13]}}
# case: {"class": "digits", "call": "m.scaled(x.transpose(1, 2), w.transpose(0, 1))", "inputs": {"x": [3, 2, 5, 13], "w": [2, 5, 13]}}

import torch
import triton
import triton.language as tl

@triton.jit
def k(x, w, y, sxa, sxb, sxc, swb, swc, B, C, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    a, b, c = pid // (B * C), pid // C % B, pid % C
    v = tl.load(x + a * sxa + b * sxb + c * sxc + o, mask=o < n, other=0.0)
    u = tl.load(w + b * swb + c * swc + o, mask=o < n, other=0.0)
    tl.store(y + pid * n + o, v * v * u, mask=o < n)
def scaled(x, w):
    A, B, C, n = x.shape
    y = torch.empty(A, B, C, n, device=x.device)
    k[(A * B * C,)](x, w, y, x.stride(0), x.stride(1), x.stride(2), w.stride(0), w.stride(1), B, C, n, BLOCK=16)
    return y
