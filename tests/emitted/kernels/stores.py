"""Stores that meet in one element: whose gradient it is."""

import triton
import triton.language as tl


# tad: M=4, N=6, x_ptr=f32[M, N], total_ptr=f32[M], y_ptr=f32[M, N], BLOCK=2, grid=(4, 3)
@triton.jit
def stored_by_all_columns(x_ptr, total_ptr, y_ptr, M, N, BLOCK: tl.constexpr):
    """Every program of a row stores the same sum of the row."""
    row = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = 0.0
    for k in range(N):
        total += tl.load(x_ptr + row * N + k)
    tl.store(total_ptr + row, total)
    x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=0.0)
    tl.store(y_ptr + row * N + columns, x * total, mask=columns < N)


# tad: M=4, N=11, x_ptr=f32[M, N], y_ptr=f32[M, N], GROUP=2, BLOCK=16, grid=(8,)
@triton.jit
def stored_by_a_group(x_ptr, y_ptr, M, N, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    """The programs of a group do the same."""
    row = tl.program_id(0) // GROUP
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=0.0)
    tl.store(y_ptr + row * N + columns, x * x, mask=columns < N)


# tad: M=4, x_ptr=f32[M], y_ptr=f32[M], grid=(7,)
@triton.jit
def stored_again_by_later_programs(x_ptr, y_ptr, M):
    row = tl.program_id(0) % M
    x = tl.load(x_ptr + row)
    tl.store(y_ptr + row, x * x)


# tad: M=3, n=10, x_ptr=f32[M, n], last_ptr=f32[M], grid=(3,)
@triton.jit
def last_of_a_while(x_ptr, last_ptr, M, n):
    """The last turn's value stays."""
    row = tl.program_id(0)
    i = 0
    while i < n:
        x = tl.load(x_ptr + row * n + i)
        tl.store(last_ptr + row, x * x)
        i += 1


# tad: n=16, x_ptr=f32[n], y_ptr=f32[n], BLOCK=16, grid=(1,)
@triton.jit
def added_then_stored(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """What is added before a store is lost."""
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes)
    tl.atomic_add(y_ptr + lanes, x * x)
    tl.debug_barrier()
    tl.store(y_ptr + lanes, x * 3.0, mask=lanes < 9)


# tad: n=16, x_ptr=f32[n], rows_ptr=i32[n], y_ptr=f32[n], BLOCK=16, grid=(1,)
@triton.jit
def stored_over_by_rows(x_ptr, rows_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Places read from memory are stored over all places: of each the last store counts."""
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes)
    tl.store(y_ptr + lanes, x * x)
    tl.debug_barrier()
    row = tl.load(rows_ptr)
    tl.store(y_ptr + row * 2 + tl.arange(0, 4), 3.0 * tl.load(x_ptr + tl.arange(0, 4)))


# tad: n=37, x_ptr=f32[n], y_ptr=f32[n], BLOCK=16, grid=(3,)
@triton.jit
def limited_and_masked(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """The mask leaves the lanes whose place is their own."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = tl.minimum(tl.maximum(offsets, 0), n - 1)
    x = tl.load(x_ptr + inside)
    tl.store(y_ptr + inside, x * x, mask=(offsets < n) & (offsets >= 0))


# tad: n=16, x_ptr=f32[n], y_ptr=f32[3], BLOCK=16, grid=(1,)
@triton.jit
def one_lane_of_many(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """All lanes have one address, the mask picks one lane."""
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes)
    place = y_ptr + tl.zeros([BLOCK], dtype=tl.int32)
    tl.store(place, x * x, mask=lanes == 3)
    tl.store(place + 1, tl.cumsum(x, 0), mask=lanes == BLOCK - 1)


# tad: H=3, W=5, x_ptr=f32[H, W], y_ptr=f32[H, 8], BLOCK=8, grid=(2,)
@triton.jit
def digits(x_ptr, y_ptr, H, W: tl.constexpr, BLOCK: tl.constexpr):
    """Row and column of a flat index: each lane has a place of its own."""
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row, column = index // W, index % W
    mask = index < H * W
    x = tl.load(x_ptr + index, mask=mask, other=0.0)
    tl.store(y_ptr + row * 8 + column, x * x, mask=mask)


# tad: n=37, x_ptr=f32[n], y_ptr=f32[n], BLOCK=16, grid=(3,)
@triton.jit
def limited(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Lanes past the end store the last element again."""
    offsets = tl.minimum(tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), n - 1)
    x = tl.load(x_ptr + offsets)
    tl.store(y_ptr + offsets, x * x)


# tad: n=37, x_ptr=f32[n], y_ptr=f32[n], BLOCK=16, grid=(3,)
@triton.jit
def limited_by_where(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = tl.where(offsets >= n, 0, offsets)
    x = tl.load(x_ptr + inside)
    tl.store(y_ptr + inside, x * x)


# tad: n=8, x_ptr=f32[n], y_ptr=f32[n], BLOCK=4, grid=(2,)
@triton.jit
def broadcast_rows(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """All rows of the tile have the addresses of the first one."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes)
    tile = tl.broadcast_to(x[None, :], [BLOCK, BLOCK])
    tl.store(tl.broadcast_to(y_ptr + lanes[None, :], [BLOCK, BLOCK]), tile * tile)


# tad: n=4, x_ptr=f32[n], y_ptr=f32[2 * n], BLOCK=4, grid=(1,)
@triton.jit
def diagonals(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes)
    tl.store(y_ptr + lanes[:, None] + lanes[None, :], x[:, None] * x[None, :])


# tad: n=8, x_ptr=f32[n], count_ptr=i32[1], y_ptr=f32[n], grid=(8,)
@triton.jit
def place_from_a_counter(x_ptr, count_ptr, y_ptr, n):
    """Where each program stored is not known afterwards."""
    place = tl.atomic_add(count_ptr, 1)
    x = tl.load(x_ptr + tl.program_id(0))
    tl.store(y_ptr + place, x * x)


# tad: n=16, x_ptr=f32[n], y_ptr=f32[n], BLOCK=16, grid=(1,)
@triton.jit
def replaced_by_an_atomic(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Which of the two values stays depends on them."""
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes)
    tl.store(y_ptr + lanes, x * x)
    tl.debug_barrier()
    tl.atomic_max(y_ptr + lanes, tl.full([BLOCK], 0.3, tl.float32))


# tad: M=37, N=21, x_ptr=f32[37, 21], w_ptr=f32[37], y_ptr=f32[37, 21], BM=16, BN=16, grid=(6,)
@triton.jit
def wrapped_tiles(x_ptr, w_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """The last tiles wrap around and store elements of the first ones again."""
    columns = tl.cdiv(N, BN)
    pid = tl.program_id(0)
    rm = (pid // columns * BM + tl.arange(0, BM)) % M
    rn = (pid % columns * BN + tl.arange(0, BN)) % N
    places = rm[:, None] * N + rn[None, :]
    x = tl.load(x_ptr + places) * tl.load(w_ptr + rm)[:, None]
    tl.store(y_ptr + places, x * x, mask=(rm[:, None] < M) & (rn[None, :] < N))


# tad: n=37, x_ptr=f32[n], y_ptr=f32[n], SHIFT=5, BLOCK=16, grid=(3,)
@triton.jit
def rolled(x_ptr, y_ptr, n, SHIFT: tl.constexpr, BLOCK: tl.constexpr):
    """Each element is stored once, some of them by an index past the end alone."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(y_ptr + (offsets + SHIFT) % n, x * x, mask=offsets < n)


# tad: n=16, x_ptr=f32[32], y_ptr=f32[n], BLOCK=16, grid=(2,)
@triton.jit
def second_round(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """The mask leaves the indices past the end alone."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(y_ptr + offsets % n, x * x, mask=offsets >= n)
