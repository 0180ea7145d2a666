"""Control flow: loops with sums and with recurrences, nested, run-time bounds, while, conditions, helpers, early return."""

import triton
import triton.language as tl


# tad: m=3, n=45, x=f32[m, n], out=f32[m], BLOCK=16, grid=(m,)
@triton.jit
def loop_of_sums(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        j = start + tl.arange(0, BLOCK)
        a = tl.load(x + row * n + j, mask=j < n, other=0.0)
        total += a * a
    tl.store(out + row, tl.sum(total, axis=0))


# tad: n=9, x=f32[n], decay=f32[1], out=f32[n], grid=(1,)
@triton.jit
def recurrence(x, decay, out, n):
    h = 0.0
    a = tl.load(decay)
    for t in range(n):
        h = h * a + tl.load(x + t)
        tl.store(out + t, h * h)


# tad: steps=5, x=f32[5, 16], out=f32[16], N=16, grid=(1,)
@triton.jit
def nonlinear_recurrence(x, out, steps, N: tl.constexpr):
    j = tl.arange(0, N)
    h = tl.zeros([N], dtype=tl.float32) + 0.5
    for t in range(steps):
        h = tl.sigmoid(h * tl.load(x + t * N + j)) * h + 0.1
    tl.store(out + j, h)


# tad: m=3, n=4, x=f32[m, n, 8], out=f32[8], N=8, grid=(1,)
@triton.jit
def nested_loops(x, out, m, n, N: tl.constexpr):
    j = tl.arange(0, N)
    total = tl.zeros([N], dtype=tl.float32)
    for r in range(m):
        part = tl.zeros([N], dtype=tl.float32)
        for c in range(n):
            part += tl.load(x + (r * n + c) * N + j)
        total += part * part
    tl.store(out + j, total)


# tad: m=3, n=4, x=f32[m, n, 8], out=f32[8], N=8, grid=(1,)
@triton.jit
def nested_recurrence(x, out, m, n, N: tl.constexpr):
    j = tl.arange(0, N)
    h = tl.full([N], 0.3, dtype=tl.float32)
    for r in range(m):
        for c in range(n):
            h = h * tl.sin(tl.load(x + (r * n + c) * N + j)) + 0.2
        h = h * h
    tl.store(out + j, h)


# tad: b=4, x=f32[24], ends=i32[5] in (0, 5, 5, 13, 24), out=f32[b], BLOCK=4, grid=(b,)
@triton.jit
def ragged_rows(x, ends, out, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    begin = tl.load(ends + b)
    end = tl.load(ends + b + 1)
    total = 0.0
    for start in range(begin, end, BLOCK):
        j = start + tl.arange(0, BLOCK)
        a = tl.load(x + j, mask=j < end, other=0.0)
        total += tl.sum(a * a, axis=0)
    tl.store(out + b, total)


# tad: n=45, x=f32[n], out=f32[n], BLOCK=16, grid=(1,)
@triton.jit
def while_loop(x, out, n, BLOCK: tl.constexpr):
    start = 0
    while start < n:
        j = start + tl.arange(0, BLOCK)
        a = tl.load(x + j, mask=j < n, other=0.0)
        tl.store(out + j, a * tl.exp(a), mask=j < n)
        start += BLOCK


# tad: n=6, x=f32[n, 8], out=f32[8], N=8, grid=(1,)
@triton.jit
def while_recurrence(x, out, n, N: tl.constexpr):
    j = tl.arange(0, N)
    h = tl.full([N], 1.0, dtype=tl.float32)
    t = 0
    while t < n:
        h = h * tl.cos(tl.load(x + t * N + j)) + 0.1
        t += 1
    tl.store(out + j, h)


# tad: x=f32[4, 8], out=f32[8], STEPS=4, N=8, grid=(1,)
@triton.jit
def unrolled(x, out, STEPS: tl.constexpr, N: tl.constexpr):
    j = tl.arange(0, N)
    h = tl.load(x + j)
    for t in tl.static_range(1, STEPS):
        h = h * tl.load(x + t * N + j) + h
    tl.store(out + j, h)


# tad: n=20, x=f32[n, 8], w=f32[5], out=f32[n, 8], K=5, N=8, grid=(n,)
@triton.jit
def convolution(x, w, out, n, K: tl.constexpr, N: tl.constexpr):
    t = tl.program_id(0)
    j = tl.arange(0, N)
    total = tl.zeros([N], dtype=tl.float32)
    for k in tl.static_range(K):
        at = t - K + 1 + k
        total += tl.load(x + at * N + j, mask=(at >= 0) & (j < N), other=0.0) * tl.load(w + k)
    tl.store(out + t * N + j, total)


# tad: m=4, x=f32[4, 8], flag=i32[4] in (1, 0, 2, 0), out=f32[4, 8], N=8, grid=(m,)
@triton.jit
def runtime_if(x, flag, out, N: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, N)
    a = tl.load(x + row * N + j)
    f = tl.load(flag + row)
    if f > 0:
        b = a * a
        c = tl.sin(a) * f
    else:
        b = -a
        c = a
    tl.store(out + row * N + j, b * c)


# tad: m=4, x=f32[4, 8], out=f32[4, 8], N=8, grid=(m,)
@triton.jit
def if_without_else(x, out, N: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, N)
    a = tl.load(x + row * N + j)
    if row % 2 == 0:
        a = a * a + 1.0
    tl.store(out + row * N + j, a * 3.0)


# tad: n=33, x=f32[n], w=f32[n], out=f32[n], KIND=1, BLOCK=32, grid=(2,)
@triton.jit
def constexpr_if(x, w, out, n, KIND: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(x + offsets, mask=mask, other=0.0)
    if KIND == 0:
        result = a * a
    elif KIND == 1:
        weight = tl.load(w + offsets, mask=mask, other=0.0)
        result = a * weight * weight
    else:
        result = tl.exp(a)
    tl.store(out + offsets, result, mask=mask)


# tad: n=40, x=f32[n], out=f32[n], BLOCK=16, grid=(4,)
@triton.jit
def early_return(x, out, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    if start >= n:
        return
    j = start + tl.arange(0, BLOCK)
    a = tl.load(x + j, mask=j < n, other=0.0)
    tl.store(out + j, a * a * a, mask=j < n)


@triton.jit
def rotate(a, b, c, s):
    return a * c - b * s, a * s + b * c


@triton.jit
def activation(x, KIND: tl.constexpr):
    if KIND == "silu":
        return x * tl.sigmoid(x)
    return tl.maximum(x, 0.0)


# tad: m=3, n=8, x=f32[m, 16], angle=f32[m, 8], out=f32[m, 16], KIND="silu", N=8, grid=(m,)
@triton.jit
def helpers_with_tuples(x, angle, out, n, KIND: tl.constexpr, N: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, N)
    theta = tl.load(angle + row * n + j)
    a = tl.load(x + row * 2 * n + j)
    b = tl.load(x + row * 2 * n + n + j)
    p, q = rotate(a, b, tl.cos(theta), tl.sin(theta))
    tl.store(out + row * 2 * n + j, activation(p, KIND))
    tl.store(out + row * 2 * n + n + j, activation(q, KIND) * p)


# tad: m=3, n=40, x=f32[m, n], out=f32[m, n], BLOCK=16, grid=(m,)
@triton.jit
def loop_then_loop(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, n, BLOCK):
        j = start + tl.arange(0, BLOCK)
        a = tl.load(x + row * n + j, mask=j < n, other=0.0)
        total += tl.sum(a * a, axis=0)
    scale = tl.rsqrt(total / n + 1e-3)
    for start in range(0, n, BLOCK):
        j = start + tl.arange(0, BLOCK)
        a = tl.load(x + row * n + j, mask=j < n, other=0.0)
        tl.store(out + row * n + j, a * scale, mask=j < n)


# tad: m=3, n=40, x=f32[m, n], out=f32[m], BLOCK=16, grid=(m,)
@triton.jit
def online_logsumexp(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top = -float("inf")
    total = 0.0
    for start in range(0, n, BLOCK):
        j = start + tl.arange(0, BLOCK)
        a = tl.load(x + row * n + j, mask=j < n, other=-float("inf"))
        new = tl.maximum(top, tl.max(a, axis=0))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(a - new), axis=0)
        top = new
    tl.store(out + row, top + tl.log(total))


# tad: n=70, x=f32[n], out=f32[n], BLOCK=16, grid=(2,)
@triton.jit
def persistent(x, out, n, BLOCK: tl.constexpr):
    for tile in range(tl.program_id(0), tl.cdiv(n, BLOCK), tl.num_programs(0)):
        j = tile * BLOCK + tl.arange(0, BLOCK)
        a = tl.load(x + j, mask=j < n, other=0.0)
        tl.store(out + j, tl.exp(a) * a, mask=j < n)


# tad: n=40, x=f32[n], y=f32[n], out=f32[n], BLOCK=16, grid=(3,)
@triton.jit
def stored_then_loaded(x, out, n, BLOCK: tl.constexpr):
    j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + j, mask=j < n, other=0.0)
    tl.store(out + j, a * a, mask=j < n)
    b = tl.load(out + j, mask=j < n, other=0.0)
    tl.store(out + j, b * 3.0 + a, mask=j < n)


# tad: n=40, x=f32[n], BLOCK=16, grid=(3,)
@triton.jit
def scaled_in_place(x, n, BLOCK: tl.constexpr):
    j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + j, mask=j < n, other=0.0)
    tl.store(x + j, a * 0.5, mask=j < n)


# tad: n=40, x=f32[n], out=f32[n], FAST=False, BLOCK=16, grid=(3,)
@triton.jit
def conditional_expression(x, out, n, FAST: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    j = pid * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + j, mask=j < n, other=0.0)
    scale = 2.0 if FAST else 3.0
    shift = 1.0 if pid == 0 else -1.0
    tl.store(out + j, a * a * scale + shift * a, mask=j < n)


# tad: n=5, m=3, x=f32[40], y=f32[8], BLOCK=8, grid=(1,)
@triton.jit
def loops_of_other_lengths(x, y, n, m, BLOCK: tl.constexpr):
    """Two loops add to the gradient of the same rows, one to fewer of them."""
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(n):
        total += tl.load(x + k * BLOCK + i)
    squares = tl.zeros((BLOCK,), tl.float32)
    for k in range(m):
        v = tl.load(x + k * BLOCK + i)
        squares += v * v * total
    tl.store(y + i, squares)
