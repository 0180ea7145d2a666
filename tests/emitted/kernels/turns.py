"""Programs take turns with the tiles of products."""

import torch
import triton
import triton.language as tl


@triton.jit
def tile_of_product(a, b, c, row, column, M, N, K, B: tl.constexpr):
    rows = row * B + tl.arange(0, B)
    columns = column * B + tl.arange(0, B)
    a_rows = tl.where(rows < M, rows, 0)
    b_columns = tl.where(columns < N, columns, 0)
    total = tl.zeros((B, B), dtype=tl.float32)
    for k in range(tl.cdiv(K, B)):
        terms = k * B + tl.arange(0, B)
        x = tl.load(a + a_rows[:, None] * K + terms, mask=terms[None, :] < K, other=0.0)
        y = tl.load(b + terms[:, None] * N + b_columns, mask=terms[:, None] < K, other=0.0)
        total = tl.dot(x, y, total)
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * N + columns, total, mask=mask)


@triton.jit
def in_groups(a, b, c, M, N, K, B: tl.constexpr, G: tl.constexpr):
    """In groups of rows, as many tiles apart as there are programs."""
    down = tl.cdiv(M, B)
    across = tl.cdiv(N, B)
    in_group = G * across
    for tile_id in tl.range(tl.program_id(0), down * across, tl.num_programs(0)):
        first = tile_id // in_group * G
        height = min(down - first, G)
        row = first + tile_id % height
        column = (tile_id % in_group) // height
        tile_of_product(a, b, c, row, column, M, N, K, B)


@triton.jit
def of_batches(a, b, c, M, N, K, B: tl.constexpr):
    """Row by row; another axis of the grid is the matrix of a batch."""
    batch = tl.program_id(1)
    a += batch * M * K
    b += batch * K * N
    c += batch * M * N
    across = tl.cdiv(N, B)
    tiles = tl.cdiv(M, B) * across
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        tile_of_product(a, b, c, tile // across, tile % across, M, N, K, B)


@triton.jit
def by_another_number(a, b, c, M, N, K, B: tl.constexpr, PROGRAMS: tl.constexpr):
    """Nothing here says that there is a program for each of the first tiles: each keeps what it adds apart."""
    across = tl.cdiv(N, B)
    tiles = tl.cdiv(M, B) * across
    for tile in range(tl.program_id(0), tiles, PROGRAMS):
        tile_of_product(a, b, c, tile // across, tile % across, M, N, K, B)


@triton.jit
def with_what_was_before(x, w, y, n, B: tl.constexpr):
    """Each turn takes something from the one before: the turns belong together, and all add to the weights."""
    lanes = tl.arange(0, B)
    weights = tl.load(w + lanes)
    carried = tl.zeros((B,), dtype=tl.float32)
    for row in range(tl.program_id(0), n, tl.num_programs(0)):
        carried = 0.5 * carried + tl.load(x + row * B + lanes) * weights
        tl.store(y + row * B + lanes, carried)


def launch_in_groups(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    M, K = a.shape
    K, N = b.shape
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    tiles = triton.cdiv(M, 16) * triton.cdiv(N, 16)
    in_groups[(min(tiles, 4),)](a, b, c, M, N, K, B=16, G=2)
    return c


def launch_of_batches(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    batches, M, K = a.shape
    batches, K, N = b.shape
    c = torch.empty((batches, M, N), device=a.device, dtype=a.dtype)
    of_batches[(5, batches)](a, b, c, M, N, K, B=16)
    return c


def launch_by_another_number(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    M, K = a.shape
    K, N = b.shape
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    by_another_number[(4,)](a, b, c, M, N, K, B=16, PROGRAMS=4)
    return c


def launch_with_what_was_before(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    assert x.shape[1] == 16 and w.shape[0] == 16
    with_what_was_before[(3,)](x, w, y, x.shape[0], B=16)
    return y
