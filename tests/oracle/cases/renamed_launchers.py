"""Names at module level for calls of launchers: lambdas, partial functions, tables of both."""

# case: {"class": "hosts", "call": "m.cube(x)", "inputs": {"x": [19]}, "expect": "right"}
# case: {"call": "m.fourth(x) + m.chained(x)", "inputs": {"x": [19]}, "expect": "right"}
# case: {"call": "m.TABLE['p3'](x) * m.TABLE['p5'](x) + m.LAMBDAS[1](x)", "inputs": {"x": [19]}, "expect": "right"}

import functools

import torch
import triton
import triton.language as tl


@triton.jit
def power(x_ptr, y_ptr, n, P: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    r = x
    for _ in tl.static_range(P - 1):
        r = r * x
    tl.store(y_ptr + i, r, mask=i < n)


def pow_n(x, p):
    y = torch.empty_like(x)
    power[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]), 1, 1)](x, y, x.numel(), P=p, BLOCK=16)
    return y


cube = functools.partial(pow_n, p=3)
fourth = lambda t: pow_n(t, 4)
chained = lambda t: fourth(t * 0.5)
TABLE = {f"p{k}": functools.partial(pow_n, p=k) for k in (2, 3, 5)}
LAMBDAS = [lambda t: pow_n(t, 2), lambda t: cube(t)]
