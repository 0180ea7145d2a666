"""Two stores of a program to one tensor: where other programs store by the one what this one stores by the other, only one value stays."""

# case: {"class": "overlaps", "call": "m.rotated(q, c, 16)", "inputs": {"q": [3, 7, 80], "c": [7, 32]}, "expect": "right"}
# case: {"call": "m.chosen(x, y, 8)", "inputs": {"x": [4, 12], "y": [4, 4]}, "expect": "right"}
# case: {"call": "m.chosen(x, y, 12)", "inputs": {"x": [4, 12], "y": [4, 4]}, "expect": "right"}
# case: {"call": "m.chosen(x, y, 16)", "inputs": {"x": [4, 12], "y": [4, 4]}, "expect": "loud"}
# case: {"call": "m.chosen(x, y, 32)", "inputs": {"x": [4, 12], "y": [4, 4]}, "expect": "loud"}
# case: {"call": "m.chosen(x, y, 100)", "inputs": {"x": [4, 12], "y": [4, 4]}, "expect": "right"}
# case: {"call": "m.chosen(x[:1], y[:1], 8)", "inputs": {"x": [4, 12], "y": [4, 4]}, "expect": "right"}

import torch
import triton
import triton.language as tl


@triton.jit
def chosen_k(X, Y, O, gap, BX: tl.constexpr, NX: tl.constexpr, NY: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BX)
    j = tl.arange(0, NY)
    x = tl.load(X + r * NX + i, mask=i < NX)
    y = tl.load(Y + r * NY + j)
    tl.store(O + r * 16 + i, x * x, mask=i < NX)
    tl.store(O + r * 16 + gap + j, y * y)


@triton.jit
def rotated_k(Q, O, C, stride_t, stride_h, n_heads, head_dim, ROT: tl.constexpr, BH: tl.constexpr, BD: tl.constexpr):
    t = tl.program_id(0)
    half: tl.constexpr = ROT // 2
    h = tl.arange(0, BH)
    f = tl.arange(0, half)
    cos = tl.load(C + t * ROT + f)[None, :]
    sin = tl.load(C + t * ROT + half + f)[None, :]
    base = t * stride_t + h[:, None] * stride_h
    heads = h[:, None] < n_heads
    a = tl.load(Q + base + f[None, :], mask=heads, other=0.0)
    b = tl.load(Q + base + half + f[None, :], mask=heads, other=0.0)
    tl.store(O + base + f[None, :], a * cos - b * sin, mask=heads)
    tl.store(O + base + half + f[None, :], b * cos + a * sin, mask=heads)
    d = ROT + tl.arange(0, BD)
    rest = heads & (d[None, :] < head_dim)
    tl.store(O + base + d[None, :], tl.load(Q + base + d[None, :], mask=rest), mask=rest)


def chosen(x, y, gap):
    o = x.new_zeros(200)
    chosen_k[(x.shape[0],)](x, y, o, gap, BX=16, NX=12, NY=4)
    return o


def rotated(q, c, _):
    H, T, D = q.shape
    o = torch.empty_like(q)
    rot = c.shape[1]
    rotated_k[(T,)](q, o, c, q.stride(1), q.stride(0), H, D, ROT=rot, BH=triton.next_power_of_2(H), BD=triton.next_power_of_2(D - rot))
    return o
