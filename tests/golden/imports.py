"""Names of triton.language however they were imported, and kernels made by calls and alternatives."""

import math
import triton as t
from triton import jit
from triton import language as lang
from triton.language.extra import libdevice

try:
    from triton.language.extra.libdevice import rsqrt
except ImportError:
    from triton.language.math import rsqrt

LOG2_E = lang.constexpr(1.0 / math.log(2.0))


@jit
def first(x, y, N: lang.constexpr):
    offsets = lang.arange(0, N)
    value = lang.load(x + offsets)
    lang.store(y + offsets, rsqrt(value) + libdevice.tanh(value) * LOG2_E)


def second(x, y, n, N: lang.constexpr):
    offsets = lang.arange(0, N)
    lang.store(y + offsets, lang.load(x + offsets, mask=offsets < n, other=0), mask=offsets < n)


second = t.jit(second)


# tad: a comment that belongs to the kernel
@t.autotune(configs=[t.Config({"N": size}) for size in (64, 128)], key=["n"])
# between decorators
@t.heuristics({"EVEN": lambda args: args["n"] % args["N"] == 0})
@t.jit(do_not_specialize=["n"])
def third(x, y, n, N: "tl.constexpr", EVEN: lang.constexpr):
    offsets = lang.program_id(0) * N + lang.arange(0, N)
    if EVEN:
        value = lang.load(x + offsets)
    else:
        value = lang.load(x + offsets, mask=offsets < n)
    lang.store(y + offsets, lang.exp(value))


def launch(x, y):
    grid = (1,)
    first[grid](x, y, N=64)
    third[grid](x, y, x.numel())
