"""One program id that numbers rows and columns: who has the gradient of what is stored once a row."""

import triton
import triton.language as tl


# tad: M=4, N=6, x_ptr=f32[M, N], total_ptr=f32[M], y_ptr=f32[M, N], B=2, grid=(12,)
@triton.jit
def rows_of_a_flat_grid(x_ptr, total_ptr, y_ptr, M, N, B: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    row = pid // tl.cdiv(N, B)
    columns = pid % tl.cdiv(N, B) * B + tl.arange(0, B)
    total = 0.0
    for k in range(N):
        total += tl.load(x_ptr + row * N + k)
    tl.store(total_ptr + row, total)
    x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=0.0)
    tl.store(y_ptr + row * N + columns, x * total, mask=columns < N)


# tad: M=2, H=3, N=6, x_ptr=f32[M, H, N], head_ptr=f32[M, H], row_ptr=f32[M], y_ptr=f32[M, H, N], B=2, grid=(18,)
@triton.jit
def three_digits(x_ptr, head_ptr, row_ptr, y_ptr, M, H, N, B: tl.constexpr):
    pid = tl.program_id(0)
    blocks = tl.cdiv(N, B)
    row = pid // (H * blocks)
    head = pid // blocks % H
    columns = pid % blocks * B + tl.arange(0, B)
    start = x_ptr + (row * H + head) * N
    x = tl.load(start + columns, mask=columns < N, other=0.0)
    first = tl.load(start)
    tl.store(head_ptr + row * H + head, first * first)
    top = tl.load(x_ptr + row * H * N)
    tl.store(row_ptr + row, tl.exp(top))
    tl.store(y_ptr + (row * H + head) * N + columns, x * first * top, mask=columns < N)


# tad: M=2, H=3, N=6, x_ptr=f32[M, H, N], column_ptr=f32[M, N], y_ptr=f32[M, H, N], B=2, grid=(18,)
@triton.jit
def middle_digit_missing(x_ptr, column_ptr, y_ptr, M, H, N, B: tl.constexpr):
    pid = tl.program_id(0)
    blocks = tl.cdiv(N, B)
    rest = pid // blocks
    columns = (pid - rest * blocks) * B + tl.arange(0, B)
    row = rest // H
    head = rest % H
    x = tl.load(x_ptr + (row * H + head) * N + columns, mask=columns < N, other=0.0)
    head_0 = tl.load(x_ptr + row * H * N + columns, mask=columns < N, other=0.0)
    tl.store(column_ptr + row * N + columns, head_0 * head_0, mask=columns < N)
    tl.store(y_ptr + (row * H + head) * N + columns, x * x, mask=columns < N)


# tad: M=4, N=6, x_ptr=f32[M, N], total_ptr=f32[M], y_ptr=f32[M, N], B=2, PROGRAMS=5, grid=(5,)
@triton.jit
def rows_of_persistent_tiles(
    x_ptr, total_ptr, y_ptr, M, N, B: tl.constexpr, PROGRAMS: tl.constexpr
):
    """Programs take tiles in turns."""
    blocks = tl.cdiv(N, B)
    for tile in range(tl.program_id(0), M * blocks, PROGRAMS):
        row = tile // blocks
        columns = tile % blocks * B + tl.arange(0, B)
        first = tl.load(x_ptr + row * N)
        tl.store(total_ptr + row, first * first)
        x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=0.0)
        tl.store(y_ptr + row * N + columns, x * first, mask=columns < N)


# tad: M=4, N=6, x_ptr=f32[M, N], top_ptr=f32[M], y_ptr=f32[M, N], B=2, G=2, grid=(12,)
@triton.jit
def rows_of_swizzled_tiles(x_ptr, top_ptr, y_ptr, M, N, B: tl.constexpr, G: tl.constexpr):
    """Groups of rows, as matrix products do it for their cache."""
    pid = tl.program_id(0)
    blocks = tl.cdiv(N, B)
    group = pid // (G * blocks)
    rows = tl.minimum(M - group * G, G)
    row = group * G + pid % (G * blocks) % rows
    columns = pid % (G * blocks) // rows * B + tl.arange(0, B)
    x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=0.0)
    tl.store(y_ptr + row * N + columns, x * x, mask=columns < N)
    top = tl.load(x_ptr + row * N)
    tl.store(top_ptr + row, top * top)


# tad: M=4, N=6, x_ptr=f32[M, N], total_ptr=f32[M], y_ptr=f32[M, N], B=2, PROGRAMS=5, grid=(5,)
@triton.jit
def rows_of_tiles_by_turn(x_ptr, total_ptr, y_ptr, M, N, B: tl.constexpr, PROGRAMS: tl.constexpr):
    blocks = tl.cdiv(N, B)
    for turn in range(tl.cdiv(M * blocks, PROGRAMS)):
        tile = tl.program_id(0) + turn * PROGRAMS
        row = tile // blocks
        inside = row < M
        columns = tile % blocks * B + tl.arange(0, B)
        first = tl.load(x_ptr + row * N, mask=inside, other=0.0)
        tl.store(total_ptr + row, first * first, mask=inside)
        x = tl.load(x_ptr + row * N + columns, mask=(columns < N) & inside, other=0.0)
        tl.store(y_ptr + row * N + columns, x * first, mask=(columns < N) & inside)


# tad: M=4, N=6, x_ptr=f32[M, N], total_ptr=f32[M], y_ptr=f32[M, N], B=2, grid=(5,)
@triton.jit
def rows_of_tiles_carried(x_ptr, total_ptr, y_ptr, M, N, B: tl.constexpr):
    blocks = tl.cdiv(N, B)
    tile = tl.program_id(0)
    programs = tl.num_programs(0)
    for _ in range(tl.cdiv(M * blocks, programs)):
        row = tile // blocks
        inside = row < M
        columns = tile % blocks * B + tl.arange(0, B)
        first = tl.load(x_ptr + row * N, mask=inside, other=0.0)
        tl.store(total_ptr + row, first * first, mask=inside)
        x = tl.load(x_ptr + row * N + columns, mask=(columns < N) & inside, other=0.0)
        tl.store(y_ptr + row * N + columns, x * first, mask=(columns < N) & inside)
        tile += programs


# tad: M=4, N=6, x_ptr=f32[M, N], total_ptr=f32[M], y_ptr=f32[M, N], B=2, TILES=2, grid=(6,)
@triton.jit
def rows_of_neighbouring_tiles(x_ptr, total_ptr, y_ptr, M, N, B: tl.constexpr, TILES: tl.constexpr):
    """A program takes tiles side by side."""
    blocks = tl.cdiv(N, B)
    for i in range(TILES):
        tile = tl.program_id(0) * TILES + i
        row = tile // blocks
        columns = tile % blocks * B + tl.arange(0, B)
        first = 0.0
        for k in range(N):
            first += tl.load(x_ptr + row * N + k)
        tl.store(total_ptr + row, first * first)
        x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=0.0)
        tl.store(y_ptr + row * N + columns, x * first, mask=columns < N)


# tad: M=4, N=6, x_ptr=f32[M, N], total_ptr=f32[M], y_ptr=f32[M, N], B=2, grid=(4, 3)
@triton.jit
def rows_of_two_ids(x_ptr, total_ptr, y_ptr, M, N, B: tl.constexpr):
    """One number made of two ids."""
    blocks = tl.cdiv(N, B)
    tile = tl.program_id(0) + tl.program_id(1) * tl.num_programs(0)
    row = tile // blocks
    columns = tile % blocks * B + tl.arange(0, B)
    first = tl.load(x_ptr + row * N)
    tl.store(total_ptr + row, first * first)
    x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=0.0)
    tl.store(y_ptr + row * N + columns, x * first, mask=columns < N)


# tad: M=4, N=6, x_ptr=f32[M, N], total_ptr=f32[M], y_ptr=f32[M, N], B=2, grid=(5,)
@triton.jit
def rows_of_tiles_while(x_ptr, total_ptr, y_ptr, M, N, B: tl.constexpr):
    blocks = tl.cdiv(N, B)
    tile = tl.program_id(0)
    while tile < M * blocks:
        row = tile // blocks
        columns = tile % blocks * B + tl.arange(0, B)
        first = tl.load(x_ptr + row * N)
        tl.store(total_ptr + row, first * first)
        x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=0.0)
        tl.store(y_ptr + row * N + columns, x * first, mask=columns < N)
        tile += tl.num_programs(0)


# tad: M=4, N=6, x_ptr=f32[M, N], total_ptr=f32[M], y_ptr=f32[M, N], B=2, grid=(12,)
@triton.jit
def rows_by_shifts(x_ptr, total_ptr, y_ptr, M, N, B: tl.constexpr):
    pid = tl.program_id(0)
    row = pid >> 2
    columns = (pid & 3) * B + tl.arange(0, B)
    first = tl.load(x_ptr + row * N, mask=row < M, other=0.0)
    tl.store(total_ptr + row, first * first, mask=row < M)
    x = tl.load(x_ptr + row * N + columns, mask=(columns < N) & (row < M), other=0.0)
    tl.store(y_ptr + row * N + columns, x * first, mask=(columns < N) & (row < M))


# tad: M=4, N=6, x_ptr=f32[M, N], total_ptr=f32[M], y_ptr=f32[M, N], B=2, grid=(12,)
@triton.jit
def rows_by_their_first_tile(x_ptr, total_ptr, y_ptr, M, N, B: tl.constexpr):
    """The first tile of a row is the nearest multiple below."""
    pid = tl.program_id(0)
    blocks = tl.cdiv(N, B)
    first_tile = pid - pid % blocks
    row = first_tile // blocks
    columns = (pid - first_tile) * B + tl.arange(0, B)
    first = tl.load(x_ptr + row * N)
    tl.store(total_ptr + row, first * first)
    x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=0.0)
    tl.store(y_ptr + row * N + columns, x * first, mask=columns < N)


# tad: M=4, N=6, x_ptr=f32[M, N], total_ptr=f32[M], B=2, DOWN=True, grid=(12,)
# tad: M=4, N=6, x_ptr=f32[M, N], total_ptr=f32[M], B=2, DOWN=False, grid=(12,)
@triton.jit
def rows_in_either_order(x_ptr, total_ptr, M, N, B: tl.constexpr, DOWN: tl.constexpr):
    """The id is read in the branches of a condition alone."""
    blocks = tl.cdiv(N, B)
    if DOWN:
        row = M - 1 - tl.program_id(0) // blocks
    else:
        row = tl.program_id(0) // blocks
    first = tl.load(x_ptr + row * N)
    tl.store(total_ptr + row, first * first)


# tad: M=4, N=6, x_ptr=f32[M, N], total_ptr=f32[M], y_ptr=f32[M, N], B=2, PER=5, grid=(3,)
@triton.jit
def rows_of_ranges(x_ptr, total_ptr, y_ptr, M, N, PER, B: tl.constexpr):
    """A program takes PER tiles side by side."""
    blocks = tl.cdiv(N, B)
    pid = tl.program_id(0)
    for tile in range(pid * PER, tl.minimum((pid + 1) * PER, M * blocks)):
        row = tile // blocks
        columns = tile % blocks * B + tl.arange(0, B)
        first = tl.load(x_ptr + row * N)
        tl.store(total_ptr + row, first * first)
        x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=0.0)
        tl.store(y_ptr + row * N + columns, x * first, mask=columns < N)


# tad: M=4, N=6, x_ptr=f32[M, N], total_ptr=f32[M], y_ptr=f32[M, N], B=2, grid=(5,)
@triton.jit
def rows_of_even_ranges(x_ptr, total_ptr, y_ptr, M, N, B: tl.constexpr):
    """The first programs take one tile more."""
    blocks = tl.cdiv(N, B)
    pid = tl.program_id(0)
    per = M * blocks // tl.num_programs(0)
    rest = M * blocks % tl.num_programs(0)
    start = pid * per + tl.minimum(pid, rest)
    for tile in range(start, start + per + (pid < rest)):
        row = tile // blocks
        columns = tile % blocks * B + tl.arange(0, B)
        first = tl.load(x_ptr + row * N)
        tl.store(total_ptr + row, first * first)
        x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=0.0)
        tl.store(y_ptr + row * N + columns, x * first, mask=columns < N)


# tad: M=4, N=6, x_ptr=f32[M, N], total_ptr=f32[M], y_ptr=f32[M, N], B=2, grid=(5,)
@triton.jit
def rows_of_shares(x_ptr, total_ptr, y_ptr, M, N, B: tl.constexpr):
    """Each program takes what lies between two shares of the whole."""
    blocks = tl.cdiv(N, B)
    pid = tl.program_id(0)
    tiles = M * blocks
    programs = tl.num_programs(0)
    for tile in range(pid * tiles // programs, (pid + 1) * tiles // programs):
        row = tile // blocks
        columns = tile % blocks * B + tl.arange(0, B)
        first = tl.load(x_ptr + row * N)
        tl.store(total_ptr + row, first * first)
        x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=0.0)
        tl.store(y_ptr + row * N + columns, x * first, mask=columns < N)


# tad: M=4, N=6, x_ptr=f32[M, N], total_ptr=f32[M], y_ptr=f32[M, N], B=2, grid=(5,)
@triton.jit
def rows_of_even_ranges_where(x_ptr, total_ptr, y_ptr, M, N, B: tl.constexpr):
    """The first programs take one tile more."""
    blocks = tl.cdiv(N, B)
    pid = tl.program_id(0).to(tl.int64)
    tiles = M * blocks
    programs = tl.num_programs(0)
    start = pid * (tiles // programs) + min(pid, tiles % programs)
    count = tiles // programs + tl.where(pid < tiles % programs, 1, 0)
    for tile in range(start, start + count):
        row = tile // blocks
        columns = tile % blocks * B + tl.arange(0, B)
        first = tl.load(x_ptr + row * N)
        tl.store(total_ptr + row, first * first)
        x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=0.0)
        tl.store(y_ptr + row * N + columns, x * first, mask=columns < N)


# tad: M=4, N=6, x_ptr=f32[M, N], total_ptr=f32[M], y_ptr=f32[M, N], B=2, PER=5, grid=(3,)
@triton.jit
def rows_of_cut_ranges(x_ptr, total_ptr, y_ptr, M, N, PER, B: tl.constexpr):
    blocks = tl.cdiv(N, B)
    start = tl.minimum(tl.program_id(0) * PER, M * blocks)
    end = tl.minimum((tl.program_id(0) + 1) * PER, M * blocks)
    for tile in range(start, end):
        row = tile // blocks
        columns = tile % blocks * B + tl.arange(0, B)
        first = tl.load(x_ptr + row * N)
        tl.store(total_ptr + row, first * first)
        x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=0.0)
        tl.store(y_ptr + row * N + columns, x * first, mask=columns < N)


# tad: M=4, N=6, x_ptr=f32[M, N], total_ptr=f32[M], y_ptr=f32[M, N], B=2, PER=5, grid=(3,)
@triton.jit
def rows_of_bounded_ranges(x_ptr, total_ptr, y_ptr, M, N, PER, B: tl.constexpr):
    blocks = tl.cdiv(N, B)
    start = tl.program_id(0) * PER
    for tile in range(start, start + PER):
        if tile < M * blocks:
            row = tile // blocks
            columns = tile % blocks * B + tl.arange(0, B)
            first = tl.load(x_ptr + row * N)
            tl.store(total_ptr + row, first * first)
            x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=0.0)
            tl.store(y_ptr + row * N + columns, x * first, mask=columns < N)


# tad: M=4, N=6, x_ptr=f32[M, N], total_ptr=f32[M], y_ptr=f32[M, N], B=2, grid=(14,)
@triton.jit
def rows_of_a_flat_grid_with_more_programs(x_ptr, total_ptr, y_ptr, M, N, B: tl.constexpr):
    blocks = tl.cdiv(N, B)
    tile = tl.program_id(0)
    if tile >= M * blocks:
        return
    row = tile // blocks
    columns = tile % blocks * B + tl.arange(0, B)
    first = tl.load(x_ptr + row * N)
    tl.store(total_ptr + row, first * first)
    x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=0.0)
    tl.store(y_ptr + row * N + columns, x * first, mask=columns < N)


# tad: M=4, N=6, x_ptr=f32[M, N], total_ptr=f32[M], y_ptr=f32[M, N], B=2, grid=(14,)
@triton.jit
def rows_of_a_flat_grid_masked(x_ptr, total_ptr, y_ptr, M, N, B: tl.constexpr):
    blocks = tl.cdiv(N, B)
    tile = tl.program_id(0)
    inside = tile < M * blocks
    row = tile // blocks
    columns = tile % blocks * B + tl.arange(0, B)
    first = tl.load(x_ptr + row * N, mask=inside, other=0.0)
    tl.store(total_ptr + row, first * first, mask=inside)
    x = tl.load(x_ptr + row * N + columns, mask=inside & (columns < N), other=0.0)
    tl.store(y_ptr + row * N + columns, x * first, mask=inside & (columns < N))


# tad: M=4, N=6, x_ptr=f32[M, N], total_ptr=f32[M], y_ptr=f32[M, N], B=2, PROGRAMS=5, grid=(5,)
@triton.jit
def rows_of_bounded_turns(x_ptr, total_ptr, y_ptr, M, N, B: tl.constexpr, PROGRAMS: tl.constexpr):
    blocks = tl.cdiv(N, B)
    for turn in range(tl.cdiv(M * blocks, PROGRAMS)):
        tile = tl.program_id(0) + turn * PROGRAMS
        if tile < M * blocks:
            row = tile // blocks
            columns = tile % blocks * B + tl.arange(0, B)
            first = tl.load(x_ptr + row * N)
            tl.store(total_ptr + row, first * first)
            x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=0.0)
            tl.store(y_ptr + row * N + columns, x * first, mask=columns < N)


# tad: x_ptr=f32[64], y_ptr=f32[64], A=2, B=4, grid=(8,)
@triton.jit
def rows_of_two_remainders(x_ptr, y_ptr, A: tl.constexpr, B: tl.constexpr):
    """The second of them is the larger one."""
    row = tl.program_id(0) % A % B
    x = tl.load(x_ptr + row)
    tl.store(y_ptr + row, x * x)
    row = tl.program_id(0) % 2 % 4 + 32
    x = tl.load(x_ptr + row)
    tl.store(y_ptr + row, x * x)


# tad: x_ptr=f32[64], y_ptr=f32[64], z_ptr=f32[64], A=5, B=3, grid=(15,)
@triton.jit
def parts_of_a_remainder(x_ptr, y_ptr, z_ptr, A, B):
    """What is left of a remainder, whose divisor is no multiple, and how often it fits."""
    pid = tl.program_id(0)
    turn = pid // A
    left = tl.load(x_ptr + turn * 8 + pid % A % B)
    tl.store(y_ptr + turn * 8 + pid % A % B, left * left)
    fits = tl.load(x_ptr + turn * 8 + pid % A // B)
    tl.store(z_ptr + turn * 8 + pid % A // B, fits * fits)
