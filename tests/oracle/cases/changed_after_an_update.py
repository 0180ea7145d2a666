"""Updates in place of which the backward keeps a copy: a caller who changes the tensor further changes nothing of it."""

# case: {"class": "aliases", "call": "m.rope(q, c, s)", "inputs": {"q": {"shape": [2, 3, 2, 8], "in_place": true}, "c": [3, 4], "s": [3, 4]}, "expect": "right"}
# case: {"call": "m.rope(q, c, s).mul_(2.0)", "inputs": {"q": {"shape": [2, 3, 2, 8], "in_place": true}, "c": [3, 4], "s": [3, 4]}, "expect": "right"}
# case: {"call": "m.rope(q.transpose(1, 2), c, s)", "inputs": {"q": {"shape": [2, 2, 3, 8], "in_place": true}, "c": [3, 4], "s": [3, 4]}, "expect": "right"}
# case: {"call": "m.rope(q[..., 2:], c[:, :3], s[:, :3], False)", "inputs": {"q": {"shape": [2, 3, 2, 8], "in_place": true}, "c": [3, 4], "s": [3, 4]}, "expect": "right"}
# case: {"call": "m.scaled(x, w, b).mul_(3.0)", "inputs": {"x": {"shape": [4, 9], "in_place": true}, "w": [9], "b": [9]}, "expect": "right"}
# case: {"call": "m.scaled(x, w, b).mul_(3.0)", "inputs": {"x": {"shape": [4, 9], "grad": false}, "w": [9], "b": [9]}, "expect": "right"}
# case: {"call": "m.scaled(x, w, b).mul_(3.0)", "inputs": {"x": {"shape": [4, 9], "in_place": true, "dtype": "float16"}, "w": {"shape": [9], "dtype": "float16"}, "b": {"shape": [9], "dtype": "float16"}}, "expect": "right"}

import torch
import triton
import triton.language as tl


@triton.jit
def rope_k(Q, C, S, sb, st, sh, sc, T, H, HALF, B: tl.constexpr, INTER: tl.constexpr):
    t = tl.program_id(0)
    b = tl.program_id(1)
    d = tl.arange(0, B)
    m = d < HALF
    c = tl.load(C + t * sc + d, mask=m)
    s = tl.load(S + t * sc + d, mask=m)
    for h in range(H):
        base = Q + b * sb + t * st + h * sh
        if INTER:
            p1 = base + 2 * d
            p2 = base + 2 * d + 1
        else:
            p1 = base + d
            p2 = base + HALF + d
        x1 = tl.load(p1, mask=m)
        x2 = tl.load(p2, mask=m)
        tl.store(p1, x1 * c - x2 * s, mask=m)
        tl.store(p2, x1 * s + x2 * c, mask=m)


@triton.jit
def scaled_k(X, W, Bi, s, N, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    for _ in range(2):
        p = X + r * s + c
        x = tl.load(p, mask=c < N)
        w = tl.load(W + c, mask=c < N).to(X.dtype.element_ty)
        b = tl.load(Bi + c, mask=c < N)
        tl.store(p, (x * w).to(X.dtype.element_ty) + b, mask=c < N)


def rope(q, c, s, inter=True):
    B, T, H, D = q.shape
    half = triton.next_power_of_2(D // 2)
    rope_k[(T, B)](q, c, s, q.stride(0), q.stride(1), q.stride(2), c.stride(0), T, H, D // 2, B=half, INTER=inter)
    return q


def scaled(x, w, b):
    scaled_k[(x.shape[0],)](x, w, b, x.stride(0), x.shape[1], B=16)
    return x
