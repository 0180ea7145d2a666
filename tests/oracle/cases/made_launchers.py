"""Functions that make launchers: what calls of them give is called."""

# case: {"class": "names", "call": "m.both(x)", "inputs": {"x": [6]}, "expect": "right"}
# case: {"call": "m.cube(x)", "inputs": {"x": [6]}, "expect": "right"}
# case: {"call": "m.TABLE['fourth'](x)", "inputs": {"x": [6]}, "expect": "right"}

import torch
import triton
import triton.language as tl


def make(power):
    @triton.jit
    def power_kernel(x_ptr, o_ptr, n, BLOCK: tl.constexpr, POWER: tl.constexpr):
        i = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n)
        y = x
        for _ in tl.static_range(POWER - 1):
            y = y * x
        tl.store(o_ptr + i, y, mask=i < n)

    def run(x):
        o = torch.empty_like(x)
        power_kernel[(1,)](x, o, x.numel(), BLOCK=8, POWER=power)
        return o

    return run


square = make(2)
cube = make(power=3)
TABLE = {"fourth": make(4)}


def both(x):
    return square(x) * cube(x)
