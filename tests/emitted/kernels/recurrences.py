"""Recurrences, whose backward reads the states of each turn in reverse: from scratch memory, all of them or some."""

import triton
import triton.language as tl


# tad: b=2, n=7, d=11, a=f32[b, n, d], x=f32[b, n, d], out=f32[b, n, d], BLOCK=8, grid=(2, 2)
@triton.jit
def channels(a, x, out, n, d, BLOCK: tl.constexpr):
    """A state per channel, only its square is stored."""
    channel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = channel < d
    h = tl.zeros([BLOCK], dtype=tl.float32)
    for t in range(n):
        at = (tl.program_id(1) * n + t) * d + channel
        keep = tl.load(a + at, mask=inside, other=0.0)
        h = tl.sigmoid(keep) * h + tl.load(x + at, mask=inside, other=0.0)
        tl.store(out + at, h * h, mask=inside)


# tad: b=3, n=8, q=f32[b, n, 8], k=f32[b, n, 8], v=f32[b, n, 4], beta=f32[b, n], out=f32[b, n, 4], D=8, E=4, grid=(b,)
@triton.jit
def delta_rule(q, k, v, beta, out, n, D: tl.constexpr, E: tl.constexpr):
    """A matrix of state: so many that not each is kept."""
    b = tl.program_id(0)
    i = tl.arange(0, D)
    j = tl.arange(0, E)
    state = tl.zeros([D, E], dtype=tl.float32)
    for t in range(n):
        row = b * n + t
        key = tl.load(k + row * D + i)
        value = tl.load(v + row * E + j)
        seen = tl.sum(state * key[:, None], axis=0)
        change = (value - seen) * tl.load(beta + row)
        state += key[:, None] * change[None, :]
        query = tl.load(q + row * D + i)
        tl.store(out + row * E + j, tl.sum(state * query[:, None], axis=0))


# tad: b=2, n=6, w=f32[8], u=f32[8], k=f32[b, n, 8], v=f32[b, n, 8], out=f32[b, n, 8], C=8, grid=(b,)
@triton.jit
def three_carried(w, u, k, v, out, n, C: tl.constexpr):
    """Numerator, denominator and their exponent, in each turn divided: no shift of the exponent goes unseen by all."""
    b = tl.program_id(0)
    c = tl.arange(0, C)
    decay = tl.load(w + c)
    bonus = tl.load(u + c)
    above = tl.zeros([C], dtype=tl.float32)
    below = tl.zeros([C], dtype=tl.float32)
    top = tl.full([C], -1.0e30, dtype=tl.float32)
    for t in range(n):
        at = (b * n + t) * C + c
        key = tl.load(k + at)
        value = tl.load(v + at)
        now = tl.maximum(top, bonus + key)
        old = tl.exp(top - now)
        new = tl.exp(bonus + key - now)
        tl.store(out + at, (old * above + new * value) / (old * below + new) + 0.1 * above)
        now = tl.maximum(top + decay, key)
        old = tl.exp(top + decay - now)
        new = tl.exp(key - now)
        above = old * above + new * value
        below = old * below + new
        top = now


# tad: n=9, x=f32[n, 8], out=f32[n, 8], C=8, grid=(1,)
@triton.jit
def last_to_first(x, out, n, C: tl.constexpr):
    """A loop that counts down."""
    c = tl.arange(0, C)
    h = tl.full([C], 0.5, dtype=tl.float32)
    for t in range(n - 1, -1, -1):
        h = tl.sin(h) * tl.load(x + t * C + c) + h * 0.5
        tl.store(out + t * C + c, h)


# tad: n=23, x=f32[n], out=f32[5], BLOCK=4, grid=(1,)
@triton.jit
def by_blocks(x, out, n, BLOCK: tl.constexpr):
    """Steps of a block, bounds that are no multiple of it, and a state that is a number."""
    h = 0.5
    for start in range(3, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        a = tl.load(x + i, mask=i < n, other=0.0)
        h = h * tl.sum(tl.cos(a), axis=0) * 0.3 + tl.sum(a, axis=0)
        tl.store(out + (start - 3) // BLOCK, h * h)


# tad: b=4, x=f32[24, 4], ends=i32[5] in (0, 5, 5, 13, 24), out=f32[b, 4], C=4, grid=(b,)
@triton.jit
def ragged(x, ends, out, C: tl.constexpr):
    """How many turns there are stands in memory."""
    b = tl.program_id(0)
    c = tl.arange(0, C)
    h = tl.full([C], 0.3, dtype=tl.float32)
    for t in range(tl.load(ends + b), tl.load(ends + b + 1)):
        h = h * tl.load(x + t * C + c) + tl.sin(h)
    tl.store(out + b * C + c, h)


# tad: m=3, n=5, x=f32[m, n, 8], y=f32[m, 8], out=f32[m, n, 8], C=8, grid=(1,)
@triton.jit
def reset_inside(x, y, out, m, n, C: tl.constexpr):
    """A recurrence in each turn of a recurrence, whose bound depends on the outer turn."""
    c = tl.arange(0, C)
    outer = tl.full([C], 0.4, dtype=tl.float32)
    for r in range(m):
        inner = outer * tl.load(y + r * C + c)
        for t in range(r, n):
            inner = inner * tl.sin(tl.load(x + (r * n + t) * C + c)) + 0.2 * inner * inner
            tl.store(out + (r * n + t) * C + c, inner)
        outer = outer * inner + 0.1


# tad: m=4, n=6, x=f32[m, n, 4], flag=i32[m] in (1, 0, 2, 0), out=f32[m, 4], BOTH=True, C=4, grid=(m,)
@triton.jit
def where_asked(x, flag, out, n, BOTH: tl.constexpr, C: tl.constexpr):
    """In a branch on a value, and in one on a flag, and two loops with one name."""
    row = tl.program_id(0)
    c = tl.arange(0, C)
    h = tl.full([C], 0.7, dtype=tl.float32)
    if tl.load(flag + row) > 0:
        for t in range(n):
            h = h * tl.load(x + (row * n + t) * C + c) + 0.3
    else:
        h = h * 2.0
    if BOTH:
        for t in range(n):
            h = tl.cos(h) * tl.load(x + (row * n + t) * C + c)
    tl.store(out + row * C + c, h)


# tad: b=3, x=f32[b, 4], out=f32[b, 4], C=4, grid=(b,)
@triton.jit
def until_small(x, out, C: tl.constexpr):
    """As many turns as the values want, and a count of them that is used."""
    c = tl.program_id(0) * C + tl.arange(0, C)
    a = tl.load(x + c)
    rest = 1.0 + tl.sum(a * a, axis=0)
    turn = 2
    while rest > 0.11:
        a = a * tl.sin(rest) + turn * 0.1
        rest = rest * 0.6
        turn += 3
    tl.store(out + c, a * rest)


# tad: n=6, x=f32[n, 8], order=i32[n] in (1, 3, 2, 5, 0, 4), out=f32[8], C=8, grid=(1,)
@triton.jit
def linked(x, order, out, n, C: tl.constexpr):
    """Where the next row is, each row says: whole numbers are states, too."""
    c = tl.arange(0, C)
    h = tl.full([C], 0.6, dtype=tl.float32)
    at = 0
    for _ in range(n):
        h = h * tl.cos(tl.load(x + at * C + c)) + 0.2
        at = tl.load(order + at)
    tl.store(out + c, h)


# tad: n=5, x=f32[n, 8], out=f32[8], C=8, grid=(1,)
@triton.jit
def type_of_input(x, out, n, C: tl.constexpr):
    """The state has the type of what is loaded."""
    c = tl.arange(0, C)
    h = tl.load(x + c)
    for t in range(1, n):
        h = (h * tl.load(x + t * C + c)).to(x.dtype.element_ty) + h
    tl.store(out + c, h)


# tad: n=6, d=5, x=f32[n, d], out=f32[n], C=8, grid=(1,)
@triton.jit
def logarithms(x, out, n, d, C: tl.constexpr):
    """Beyond the columns, states are infinite."""
    c = tl.arange(0, C)
    h = tl.zeros([C], dtype=tl.float32) + tl.where(c < d, 1.0, 0.0)
    total = 0.0
    for t in range(n):
        a = tl.load(x + t * d + c, mask=c < d, other=0.0)
        logarithm = tl.log(h)
        h = h * (1.0 + 0.1 * tl.cos(a))
        total = total * 0.5 + tl.sum(tl.where(c < d, logarithm * a + h, 0.0), axis=0)
        tl.store(out + t, total)


# tad: x=f32[16], steps=f32[5, 16], out=f32[16], T=5, N=16, grid=(1,)
@triton.jit
def start_read_again(x, steps, out, T, N: tl.constexpr):
    j = tl.arange(0, N)
    a = tl.load(x + j)
    state = a
    for t in range(T):
        state = state * 0.5 * tl.load(steps + t * N + j) + a * a
    tl.store(out + j, state * a)


# tad: x=f32[16], steps=f32[5, 16], out=f32[16], n=3, T=5, N=16, FLAG=True, grid=(1,)
# tad: x=f32[16], steps=f32[5, 16], out=f32[16], n=0, T=5, N=16, FLAG=False, grid=(1,)
@triton.jit
def read_before_within_and_after(x, steps, out, n, T, N: tl.constexpr, FLAG: tl.constexpr):
    j = tl.arange(0, N)
    a = tl.load(x + j)
    b = a * a
    if FLAG:
        b = b * a + tl.sum(a)
    if n > 1:
        for t in range(T):
            b += tl.load(steps + t * N + j) * a
    else:
        b = b * a
    tl.store(out + j, a * b)
