"""Values that a kernel reads and overwrites later, in an order that only running it tells: kept on tapes."""

import triton
import triton.language as tl


# tad: n=5, x=f32[n, 8], out=f32[8], BLOCK=8, grid=(1,)
@triton.jit
def memory_as_state(x, out, n, BLOCK: tl.constexpr):
    """A state that lives in memory and is overwritten in each turn."""
    lanes = tl.arange(0, BLOCK)
    for i in range(n):
        a = tl.load(x + i * BLOCK + lanes)
        h = tl.load(out + lanes)
        tl.store(out + lanes, h * h + a)


# tad: x=f32[8], n=5, grid=(1,)
@triton.jit
def turns_come_back(x, n):
    """Every other turn updates the same element."""
    for turn in range(n):
        at = x + turn % 2
        v = tl.load(at)
        tl.store(at, tl.exp(v) * 0.1)


# tad: cache=f32[3, 8, 4], x=f32[3, 8], w=f32[8, 4], y=f32[3, 8], D=6, W=4, BD=8, grid=(3,)
@triton.jit
def window_moves(cache, x, w, y, D: tl.constexpr, W: tl.constexpr, BD: tl.constexpr):
    """A window of the last values, moved by one in place."""
    n = tl.program_id(0)
    d = tl.arange(0, BD)
    newest = tl.load(x + n * BD + d, mask=d < D, other=0.0)
    sum = tl.zeros([BD], dtype=tl.float32)
    for i in tl.static_range(0, W):
        if i < W - 1:
            c = tl.load(cache + (n * BD + d) * W + i + 1, mask=d < D, other=0.0)
        else:
            c = newest
        tl.store(cache + (n * BD + d) * W + i, c, mask=d < D)
        sum += c * c * tl.load(w + d * W + i, mask=d < D, other=0.0)
    tl.store(y + n * BD + d, sum, mask=d < D)


# tad: n=5, a=f32[2, n, n], grid=(2,)
@triton.jit
def triangular(a, n):
    """Each pair of rows is turned in place: the inner loop is shorter in every turn."""
    base = a + tl.program_id(0) * n * n
    for p in range(0, n - 1):
        for q in range(p + 1, n):
            u = tl.load(base + p * n + q)
            v = tl.load(base + q * n + p)
            t = u / (1.0 + v * v)
            tl.store(base + p * n + q, t * v)
            tl.debug_barrier()
            w = tl.load(base + p * n + p)
            tl.store(base + p * n + p, w * t + v)


# tad: n=11, x=f16[2, n, 8], h=f16[2, 8], B=8, grid=(2,)
@triton.jit
def half_state(x, h, n, B: tl.constexpr):
    """A state of half precision in memory, updated in a branch."""
    row = tl.program_id(0)
    lanes = tl.arange(0, B)
    for i in range(n):
        if i % 3 != 1:
            s = tl.load(h + row * B + lanes)
            v = tl.load(x + (row * n + i) * B + lanes)
            tl.store(h + row * B + lanes, s * v + tl.sin(s.to(tl.float32)).to(s.dtype))
        else:
            s = tl.load(h + row * B + lanes)
            tl.store(h + row * B + lanes, s * 0.5)


# tad: n=6, x=f32[n], c=i32[2] in range(0, 2), h=f32[2], grid=(1,)
@triton.jit
def counted(x, c, h, n):
    """A counter in memory says where the next value goes."""
    for i in range(n):
        at = tl.load(c + i % 2)
        v = tl.load(x + i)
        s = tl.load(h + at % 2)
        tl.store(h + at % 2, s * v + v)
        tl.store(c + i % 2, at + 1)


# tad: n=3, m=4, x=f32[2, n, m], h=f32[2, m], grid=(2,)
@triton.jit
def each_turn_of_two_loops(x, h, n, m):
    """The tape has a place for each turn of the inner loop in each of the outer."""
    row = tl.program_id(0)
    for i in range(n):
        for j in range(m):
            s = tl.load(h + row * m + j)
            v = tl.load(x + (row * n + i) * m + j)
            neighbour = tl.load(h + row * m + (j + 1) % m)
            tl.store(h + row * m + j, s * v + neighbour * neighbour)


# tad: n=6, x=f32[2, n, 8], h=f32[2, 8], B=8, grid=(2,)
@triton.jit
def counted_by_while(x, h, n, B: tl.constexpr):
    """A `while` that counts has as many iterations as a range, and a tape as many tiles."""
    row = tl.program_id(0)
    lanes = tl.arange(0, B)
    i = 0
    while i < n:
        s = tl.load(h + row * B + lanes)
        tl.store(h + row * B + lanes, s * s + tl.load(x + (row * n + i) * B + lanes))
        i += 1


# tad: turns=i32[2] in range(1, 4), h=f32[2, 8], B=8, grid=(2,)
@triton.jit
def as_many_as_memory_says(turns, h, B: tl.constexpr):
    """The number of turns is in memory."""
    row = tl.program_id(0)
    lanes = tl.arange(0, B)
    for _ in range(tl.load(turns + row)):
        s = tl.load(h + row * B + lanes)
        tl.store(h + row * B + lanes, s * s)


# tad: T=4, BLOCK=4, x=f32[T, BLOCK], y=f32[BLOCK], z=f32[T, BLOCK], grid=(1,)
@triton.jit
def branches_of_all_turns(x, y, z, T, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    for t in range(T):
        v = tl.load(x + t * BLOCK + lanes)
        if t % 2 == 0:
            tl.store(y + lanes, v)
        else:
            w = tl.load(y + lanes)
            tl.store(z + t * BLOCK + lanes, v * w * w)


# tad: T=4, BLOCK=4, x=f32[T, BLOCK], y=f32[T, BLOCK], z=f32[T, BLOCK], grid=(1,)
@triton.jit
def branches_of_their_own_turns(x, y, z, T, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    for t in range(T):
        v = tl.load(x + t * BLOCK + lanes)
        if t % 2 == 0:
            tl.store(y + t * BLOCK + lanes, v)
        else:
            w = tl.load(y + t * BLOCK + lanes)
            tl.store(z + t * BLOCK + lanes, v * w * w)


# tad: BLOCK=4, x=f32[BLOCK], y=f32[BLOCK], z=f32[BLOCK], grid=(1,)
@triton.jit
def before_and_behind(x, y, z, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    a = tl.load(y + lanes)
    tl.store(y + lanes, tl.load(x + lanes))
    tl.debug_barrier()
    b = tl.load(y + (3 - lanes))
    tl.store(z + lanes, a * a * b * b)


# tad: T=3, BLOCK=4, x=f32[T, BLOCK], y=f32[BLOCK], z=f32[T, BLOCK], grid=(1,)
@triton.jit
def the_turn_before(x, y, z, T, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    for t in range(T):
        w = tl.load(y + lanes)
        tl.store(z + t * BLOCK + lanes, w * w)
        tl.store(y + lanes, tl.load(x + t * BLOCK + lanes))


# tad: BLOCK=4, x=f32[BLOCK], y=f32[2 * BLOCK], z=f32[BLOCK], grid=(1,)
@triton.jit
def parts_that_never_meet(x, y, z, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(y + lanes, tl.load(x + lanes))
    b = tl.load(y + BLOCK + lanes)
    tl.store(z + lanes, b * b)
    tl.store(y + BLOCK + lanes, b * tl.load(x + lanes))
