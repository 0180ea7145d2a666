"""Updates in place in a loop: a later iteration of one program may reach what another program updates."""

# case: {"class": "overlaps", "call": "m.run(x, 12)", "inputs": {"x": [3, 12]}, "expect": "right"}
# case: {"call": "m.run(x, 4)", "inputs": {"x": [3, 12]}, "expect": "loud"}
# case: {"call": "m.run(x, 8)", "inputs": {"x": [3, 12]}, "expect": "loud"}

import torch
import triton
import triton.language as tl


@triton.jit
def k(X, O, hop, T, W: tl.constexpr):
    r = tl.program_id(0)
    j = tl.arange(0, W)
    for t in range(T):
        x = tl.load(X + r * T * W + t * W + j)
        o = tl.load(O + r * hop + t * W + j)
        tl.store(O + r * hop + t * W + j, x * x + 0.5 * o)


def run(x, hop):
    o = x.new_ones(60)
    k[(x.shape[0],)](x, o, hop, x.shape[1] // 4, W=4)
    return o
