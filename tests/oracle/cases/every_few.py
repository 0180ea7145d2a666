"""Every few elements of rows whose ends lie in the next row: programs add to one element there, so it has to be said."""

# case: {"class": "between", "call": "m.run(x, 2)", "inputs": {"x": [3, 8]}, "expect": "loud"}
# case: {"call": "m.run(x, 3)", "inputs": {"x": [3, 9]}, "expect": "loud"}
# case: {"call": "m.inside(x, 2)", "inputs": {"x": [3, 8]}, "expect": "right"}
# case: {"call": "m.inside(x, 3)", "inputs": {"x": [3, 8]}, "expect": "right"}

import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, y_ptr, N, NO, STEP: tl.constexpr, B: tl.constexpr):
    row = tl.program_id(0)
    o = tl.program_id(1) * B + tl.arange(0, B)
    x = tl.load(x_ptr + row * N + o * STEP, mask=o < NO, other=0.0)
    tl.store(y_ptr + row * NO + o, x * x, mask=o < NO)


def run(x, step):
    M, N = x.shape
    NO = (N + 2 * step) // step
    y = torch.zeros((M, NO), dtype=x.dtype)
    k[(M - 1, triton.cdiv(NO, 4))](x, y, N, NO, STEP=step, B=4)
    return y


def inside(x, step):
    M, N = x.shape
    NO = (N + step - 1) // step
    y = torch.zeros((M, NO), dtype=x.dtype)
    k[(M, triton.cdiv(NO, 4))](x, y, N, NO, STEP=step, B=4)
    return y
