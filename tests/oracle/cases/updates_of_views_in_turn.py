"""Persistent programs that go through each of their rows twice, in place, also of a view."""

# case: {"class": "aliases", "call": "m.run(x, w, 3)", "inputs": {"x": {"shape": [7, 9], "in_place": true}, "w": [9]}, "expect": "right"}
# case: {"call": "m.run(x.t(), w, 3)", "inputs": {"x": {"shape": [9, 7], "in_place": true}, "w": [9]}, "expect": "right"}
# case: {"call": "m.run(x[:, ::2], w, 2)", "inputs": {"x": {"shape": [7, 18], "in_place": true}, "w": [9]}, "expect": "right"}

import torch
import triton
import triton.language as tl


@triton.jit
def twice(X, W, M, N, s0, s1, B: tl.constexpr):
    for r in range(tl.program_id(0), M, tl.num_programs(0)):
        for first in range(0, N, B):
            c = first + tl.arange(0, B)
            x = tl.load(X + r * s0 + c * s1, mask=c < N)
            w = tl.load(W + c, mask=c < N)
            tl.store(X + r * s0 + c * s1, x * w, mask=c < N)
        for first in range(0, N, B):
            c = first + tl.arange(0, B)
            x = tl.load(X + r * s0 + c * s1, mask=c < N)
            tl.store(X + r * s0 + c * s1, x * x, mask=c < N)


def run(x, w, programs):
    twice[(programs,)](x, w, *x.shape, *x.stride(), B=4)
    return x
