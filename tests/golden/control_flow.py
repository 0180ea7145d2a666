"""Early returns, branches on constexprs and run-time values, unrolled and carried loops, tuples."""

import triton
import triton.language as tl

NEGATIVE: tl.constexpr = -1
EPSILON = tl.constexpr(1e-6)


@triton.jit
def power(x, n: tl.constexpr):
    if n == 0:
        return x * 0 + 1
    return x * power(x, n - 1)


@triton.jit
def both(a, b):
    return a + b, a - b


@triton.jit
def combine(a, b):
    return tl.maximum(a, b)


@triton.jit
def early_return(x, y, bias, n, HAS_BIAS: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    if pid * BLOCK >= n:
        return
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + offsets, mask=offsets < n)
    if HAS_BIAS:
        b = tl.load(bias + offsets, mask=offsets < n)
        value += b
    else:
        value *= NEGATIVE
    if not HAS_BIAS:
        value = value + EPSILON
    tl.store(y + offsets, power(value, 3), mask=offsets < n)


@triton.jit
def optional(x, bias, y, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    value = tl.load(x + offsets)
    if bias is not None:
        value += tl.load(bias + offsets)
    tl.store(y + offsets, value)


@triton.jit
def tuples(x, y, z, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    pointers = (x, y)
    state = (tl.zeros([BLOCK], tl.float32), 0.0)
    for pointer in pointers:
        tl.store(z + offsets, tl.load(pointer + offsets))
    for i in tl.static_range(STEPS):
        total, last = state
        value = tl.load(x + i * BLOCK + offsets).to(tl.float32)
        state = (total + value, last + tl.sum(value))
    a, b = both(*state)
    first, *rest = [offset * 2 for offset in (a, b, a)]
    tl.store(z + offsets, first + rest[-1])


@triton.jit
def search(x, y, n):
    low = 0
    high = n
    while low < high:
        middle = (low + high) // 2
        if tl.load(x + middle) < 0:
            low = middle + 1
        else:
            high = middle
    tl.store(y, low)


@triton.jit
def reduce_with(x, y, BLOCK: tl.constexpr):
    value = tl.load(x + tl.arange(0, BLOCK)[:, None] * 4 + tl.arange(0, 4)[None, :])
    largest, where = tl.max(value, axis=1, return_indices=True)
    tl.store(y + tl.arange(0, BLOCK), tl.reduce(value, 1, combine) + largest + where)
