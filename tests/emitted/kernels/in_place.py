"""Buffers that a kernel reads and writes: updates in place, scratch rows, stores over stores."""

import triton
import triton.language as tl


# tad: n=40, x=f32[n], BLOCK=16, grid=(3,)
@triton.jit
def exponential_in_place(x, n, BLOCK: tl.constexpr):
    """The derivative needs what was there before."""
    j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + j, mask=j < n, other=0.0)
    tl.store(x + j, tl.exp(a) * a, mask=j < n)


# tad: n=40, x=f32[n], BLOCK=16, grid=(3,)
@triton.jit
def part_in_place(x, n, BLOCK: tl.constexpr):
    """Only some of the elements that are read are overwritten."""
    j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + j, mask=j < n, other=0.0)
    tl.store(x + j, a * a, mask=(j < n) & (j % 3 == 0))


# tad: n=21, x=f32[n, 8], BLOCK=8, grid=(n,)
@triton.jit
def halves_swapped(x, n, BLOCK: tl.constexpr):
    """Each half is read before the other one is stored over it."""
    half = BLOCK // 2
    j = tl.arange(0, BLOCK // 2)
    row = x + tl.program_id(0) * BLOCK
    a = tl.load(row + j)
    b = tl.load(row + half + j)
    tl.store(row + j, a * b)
    tl.store(row + half + j, a - 2.0 * b)


# tad: heads=3, d=6, stride_r=32, stride_h=8, x=f32[4, 4, 8], cos=f32[4, d], BLOCK=8, grid=(4,)
@triton.jit
def heads_in_place(x, cos, heads, d, stride_r, stride_h, BLOCK: tl.constexpr):
    """A loop over heads; the tail of each head stays as it is."""
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    c = tl.load(cos + row * d + j, mask=j < d, other=0.0)
    for head in range(heads):
        at = x + row * stride_r + head * stride_h + j
        a = tl.load(at, mask=j < d, other=0.0)
        tl.store(at, a * c, mask=j < d)


# tad: n=37, x=f32[2, n], r=f32[2, n], s=f32[2, n], out=f32[2, n], BLOCK=16, grid=(2,)
@triton.jit
def rows_through_memory(x, r, s, out, n, BLOCK: tl.constexpr):
    """The first loop keeps its row in memory for the second."""
    row = tl.program_id(0) * n
    total = 0.0
    for start in range(0, n, BLOCK):
        j = start + tl.arange(0, BLOCK)
        a = tl.load(x + row + j, mask=j < n, other=0.0) + tl.load(
            r + row + j, mask=j < n, other=0.0
        )
        tl.store(s + row + j, a, mask=j < n)
        total += tl.sum(a * a)
    scale = 1.0 / tl.sqrt(total / n + 0.1)
    for start in range(0, n, BLOCK):
        j = start + tl.arange(0, BLOCK)
        a = tl.load(s + row + j, mask=j < n, other=0.0)
        tl.store(out + row + j, a * scale, mask=j < n)


# tad: n=20, x=f32[n], out=f32[4], BLOCK=4, grid=(1,)
@triton.jit
def last_store_wins(x, out, n, BLOCK: tl.constexpr):
    """Each turn stores over the turn before."""
    lanes = tl.arange(0, BLOCK)
    for start in range(0, n, BLOCK):
        a = tl.load(x + start + lanes)
        tl.store(out + lanes, a * a)


# tad: n=24, x=f32[n], out=f32[n], BLOCK=8, grid=(1,)
@triton.jit
def overlapping_stores(x, out, n, BLOCK: tl.constexpr):
    """Windows that overlap: of the stores to one element the last one counts."""
    lanes = tl.arange(0, BLOCK)
    for start in range(0, n - BLOCK + 1, BLOCK // 2):
        a = tl.load(x + start + lanes)
        tl.store(out + start + lanes, a * a * (start + 1.0))


# tad: n=5, x=f32[n, 8], out=f32[8], BLOCK=8, grid=(1,)
@triton.jit
def sum_in_memory(x, out, n, BLOCK: tl.constexpr):
    """A running sum that lives in memory: no value of it is needed on the way back."""
    lanes = tl.arange(0, BLOCK)
    for i in range(n):
        a = tl.load(x + i * BLOCK + lanes)
        tl.store(out + lanes, tl.load(out + lanes) * 0.5 + a * a)


# tad: n=40, x=f32[n], y=f32[n], out=f32[n], FLAG=True, BLOCK=16, grid=(3,)
@triton.jit
def stored_in_branches(x, y, out, n, FLAG: tl.constexpr, BLOCK: tl.constexpr):
    """What one of two branches stored is read again below them."""
    pid = tl.program_id(0)
    j = pid * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + j, mask=j < n, other=0.0)
    if pid % 2 == 0:
        tl.store(y + j, a * a, mask=j < n)
    else:
        tl.store(y + j, tl.exp(a), mask=j < n)
    tl.debug_barrier()
    b = tl.load(y + j, mask=j < n, other=0.0)
    tl.store(out + j, b * a, mask=j < n)


# tad: half=6, x=f32[4, 12], cos=f32[4, 6], sin=f32[4, 6], BLOCK=4, grid=(4,)
@triton.jit
def pairs_in_place(x, cos, sin, half, BLOCK: tl.constexpr):
    """Real and imaginary parts in turn, a block of pairs each time: no two turns meet."""
    row = tl.program_id(0)
    for start in range(0, half, BLOCK):
        j = start + tl.arange(0, BLOCK)
        c = tl.load(cos + row * half + j, mask=j < half, other=0.0)
        s = tl.load(sin + row * half + j, mask=j < half, other=0.0)
        real = x + row * half * 2 + j * 2
        a = tl.load(real, mask=j < half, other=0.0)
        b = tl.load(real + 1, mask=j < half, other=0.0)
        tl.store(real, a * c - b * s, mask=j < half)
        tl.store(real + 1, a * s + b * c, mask=j < half)


# tad: T=11, x=f32[T], state=f32[3, 4, 8], total=f32[3], NT=3, BT=4, K=4, V=8, grid=(1,)
@triton.jit
def states_of_tiles(x, state, total, T, NT, BT: tl.constexpr, K: tl.constexpr, V: tl.constexpr):
    """Each turn reads and replaces a state of its own; that tiles of rows are compared with T takes nothing from that."""
    places = tl.arange(0, K)[:, None] * V + tl.arange(0, V)[None, :]
    running = tl.zeros([K, V], dtype=tl.float32)
    for t in range(NT - 1, -1, -1):
        rows = t * BT + tl.arange(0, BT)
        a = tl.load(x + rows, mask=rows < T, other=0.0)
        old = tl.load(state + t * K * V + places)
        if t % 2 == 0:
            tl.store(state + t * K * V + places, running + old)
        else:
            tl.store(total + t, tl.sum(old * (running + old)))
        running += tl.sum(a * a)


# tad: x=f32[3, 8, 8], a=f32[3, 8, 8], N=8, grid=(3,)
@triton.jit
def rows_read_back(x, a, N: tl.constexpr):
    """What is stored first is read back row by row, before the last store goes over it."""
    i = tl.arange(0, N)
    at = tl.program_id(0) * N * N + i[:, None] * N + i[None, :]
    tile = tl.where(i[:, None] > i[None, :], tl.load(x + at), 0.0)
    tl.store(a + at, tile * tile)
    tl.debug_barrier()
    solved = -tile
    for row in range(1, N):
        line = tl.where(i < row, -tl.load(a + tl.program_id(0) * N * N + row * N + i), 0.0)
        line += tl.sum(line[:, None] * solved, 0)
        solved = tl.where((i == row)[:, None], line[None, :], solved)
    tl.store(a + at, solved)


# tad: N=16, x=f32[2, 16], scratch=f32[2, 16], out=f32[2], flags=i32[2] in range(0, 2), grid=(2,)
@triton.jit
def read_back_in_branches(x, scratch, out, flags, N: tl.constexpr):
    """Both branches store, read back and store again."""
    row = tl.program_id(0)
    i = tl.arange(0, N)
    v = tl.load(x + row * N + i)
    total = tl.sum(v)
    if tl.load(flags + row) > 0:
        tl.store(scratch + row * N + i, tl.exp(v))
        tl.debug_barrier()
        for k in range(N // 2):
            total += tl.load(scratch + row * N + k) * tl.load(scratch + row * N + 2 * k)
        tl.store(scratch + row * N + i, v)
    else:
        tl.store(scratch + row * N + i, v * v)
        tl.debug_barrier()
        for k in range(N // 2):
            total += tl.load(scratch + row * N + k) * tl.load(scratch + row * N + 2 * k + 1)
        tl.store(scratch + row * N + i, 2.0 * v)
    tl.store(out + row, total)


# tad: n=24, x=f32[n], out=f32[n], BLOCK=8, grid=(3,)
@triton.jit
def stored_before_and_after(x, out, n, BLOCK: tl.constexpr):
    """Contents from before the launch are read, then what the first store left; the second store stays."""
    i = tl.arange(0, BLOCK)
    start = tl.program_id(0) * BLOCK
    a = tl.load(x + start + i)
    tl.store(x + start + i, tl.exp(a))
    tl.debug_barrier()
    mirrored = tl.load(x + start + BLOCK - 1 - i)
    tl.store(out + start + i, mirrored * a)
    tl.debug_barrier()
    tl.store(x + start + i, a * mirrored)


# tad: heads=3, q=f32[2, 3, 10], cos=f32[2, 5], half=5, size=10, BLOCK=4, grid=(2,)
@triton.jit
def pairs_by_quotient(q, cos, heads, half, size, BLOCK: tl.constexpr):
    """Pairs of all heads in one row of lanes: their places are quotients and remainders."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    for _ in range(0, heads * half, BLOCK):
        inside = i < heads * half
        at = q + row * heads * size + (i // half) * size + i % half
        x = tl.load(at, mask=inside, other=0.0)
        y = tl.load(at + half, mask=inside, other=0.0)
        c = tl.load(cos + row * half + i % half, mask=inside, other=0.0)
        tl.store(at, x * c - y * y, mask=inside)
        tl.store(at + half, y * c + x, mask=inside)
        i += BLOCK


# tad: x=f32[4], z=f32[4], w=f32[4], y=f32[4], B=4, grid=(1,)
@triton.jit
def read_then_replaced(x, z, w, y, B: tl.constexpr):
    """The gradient of what is stored is read before that of what was loaded takes its place."""
    c = tl.arange(0, B)
    a = tl.load(w + c)
    squares = tl.load(w + c)
    tl.store(x + c, a * squares)
    b = tl.load(z + c)
    tl.store(z + c, a)
    tl.store(y + c, squares * squares + b)


# tad: x=f32[2, 4], L=2, B=4, y=f32[4], grid=(1,)
@triton.jit
def stored_and_read_back(x, y, L, B: tl.constexpr):
    """What each turn reads back is what it stored: the value that the loop began with."""
    c = tl.arange(0, B)
    b = tl.load(x + c)
    for i in range(L):
        tl.store(x + i * B + c, b)
        b = tl.load(x + i * B + c)
        tl.store(x + i * B + c, tl.sin(b))
    tl.store(y + c, b * b)


# tad: n=4, stride=8, x=f32[64], BLOCK=8, grid=(1,)
@triton.jit
def read_where_an_earlier_turn_stored(x, n, stride, BLOCK: tl.constexpr):
    """Turn 2 reads what turn 1 stored."""
    i = tl.arange(0, BLOCK)
    for k in range(1, n):
        v = tl.load(x + k * stride + i)
        tl.debug_barrier()
        tl.store(x + 2 * k * stride + i, v * v)


# tad: n=4, stride=8, x=f32[64], BLOCK=8, grid=(1,)
@triton.jit
def squares_of_the_row_before(x, n, stride, BLOCK: tl.constexpr):
    """Each turn reads the row that the one before stored."""
    i = tl.arange(0, BLOCK)
    for k in range(1, n):
        v = tl.load(x + (k - 1) * stride + i)
        tl.debug_barrier()
        tl.store(x + k * stride + i, v * v + 0.5)


# tad: n=11, ignored=3, x=f32[4, 11], labels=i32[4] in range(0, 5), M=4, N=16, grid=(1,)
@triton.jit
def rows_but_some(x, labels, n, ignored, M: tl.constexpr, N: tl.constexpr):
    """Rows that a label leaves out become 0: so does their gradient, and what came for them from outside is gone."""
    rows, cols = tl.arange(0, M), tl.arange(0, N)
    label = tl.load(labels + rows)
    at = x + rows[:, None] * n + cols[None, :]
    mask = cols[None, :] < n
    v = tl.load(at, mask=mask, other=0.0)
    u = tl.exp(v) - tl.where(cols[None, :] == label[:, None], 1.0, 0.0)
    tl.store(at, tl.where(label[:, None] != ignored, u, 0.0), mask=mask)


# tad: n=11, kept=7, x=f32[4, 11], N=16, grid=(4,)
@triton.jit
def beginning_of_rows(x, n, kept, N: tl.constexpr):
    """Behind the beginning a row becomes 0."""
    at = x + tl.program_id(0) * n + tl.arange(0, N)
    inside = tl.arange(0, N) < n
    v = tl.load(at, mask=inside, other=0.0)
    tl.store(at, tl.where(tl.arange(0, N) < kept, tl.exp(v), 0.0), mask=inside)
