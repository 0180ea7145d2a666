"""Programs add less than they read: each keeps its share of a sum in memory of its own."""

# case: {"class": "slices", "call": "m.run_one_scale(x, scale)", "inputs": {"x": [3, 37], "scale": [1]}}
# case: {"class": "slices", "call": "m.run_scale_of_a_row(x, scale)", "inputs": {"x": [3, 37], "scale": [3]}}
# case: {"class": "slices", "call": "m.run_scales_by_channel(x, scale, shift)", "inputs": {"x": [3, 2, 19], "scale": [2], "shift": [2]}}
# case: {"class": "slices", "call": "m.run_query_of_splits(q, k)", "inputs": {"q": [2, 8], "k": [2, 11, 8]}}
# case: {"class": "slices", "call": "m.run_blocks_of_a_program(x, scale)", "inputs": {"x": [37], "scale": [37]}}
# case: {"class": "slices", "call": "m.run_scale_of_even_programs(x, scale)", "inputs": {"x": [37], "scale": [1]}}
# case: {"class": "slices", "call": "m.run_recurrent(q, k, v)", "inputs": {"q": [2, 5, 3], "k": [2, 5, 3], "v": [2, 5, 21]}}
# case: {"class": "slices", "call": "m.run_states(k, v)", "inputs": {"k": [2, 9, 6], "v": [2, 9, 21]}}
# case: {"class": "slices", "call": "m.run_parts_of_rows(q, v, None, False)", "inputs": {"q": [2, 5, 3], "v": [2, 5, 21]}}
# case: {"class": "slices", "call": "m.run_parts_of_rows(q, v, None, True)", "inputs": {"q": [2, 5, 3], "v": [2, 5, 21]}}
# case: {"class": "slices", "call": "m.run_parts_of_rows(q, v, torch.tensor([0, 3, 3, 10]), True)", "inputs": {"q": [1, 10, 3], "v": [1, 10, 21]}}

import torch
import triton
import triton.language as tl


@triton.jit
def one_scale(x, scale, y, m, n, B: tl.constexpr):
    i = tl.program_id(0)
    j = tl.program_id(1) * B + tl.arange(0, B)
    a = tl.load(x + i * n + j, mask=j < n, other=0.0)
    tl.store(y + i * n + j, a * tl.load(scale), mask=j < n)


@triton.jit
def scale_of_a_row(x, scale, y, m, n, B: tl.constexpr):
    i = tl.program_id(0)
    j = tl.program_id(1) * B + tl.arange(0, B)
    a = tl.load(x + i * n + j, mask=j < n, other=0.0)
    tl.store(y + i * n + j, tl.exp(a * tl.load(scale + i)), mask=j < n)


@triton.jit
def scales_by_channel(x, scale, shift, y, channels, pixels, B: tl.constexpr):
    image = tl.program_id(0)
    for c in range(channels):
        w = tl.load(scale + c)
        b = tl.load(shift + c)
        for start in range(0, pixels, B):
            i = start + tl.arange(0, B)
            at = (image * channels + c) * pixels + i
            a = tl.load(x + at, mask=i < pixels, other=0.0)
            tl.store(y + at, tl.exp(a * w + b), mask=i < pixels)


@triton.jit
def query_of_splits(q, k, y, n, D: tl.constexpr, B: tl.constexpr):
    b = tl.program_id(0)
    i = tl.program_id(1) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    query = tl.load(q + b * D + d)
    keys = tl.load(k + (b * n + i[:, None]) * D + d[None, :], mask=i[:, None] < n, other=0.0)
    tl.store(y + b * n + i, tl.sum(keys * query[None, :], 1), mask=i < n)


@triton.jit
def scale_below_a_flag(x, scale, y, n, SCALED: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i, mask=i < n, other=0.0)
    if SCALED:
        a = a * tl.load(scale)
    tl.store(y + i, tl.exp(a), mask=i < n)


@triton.jit
def blocks_of_a_program(x, scale, y, n, B: tl.constexpr, BLOCKS: tl.constexpr):
    """Each program has blocks that follow each other: how many they are is no stride."""
    lanes = tl.arange(0, B)
    total = tl.zeros((B,), dtype=tl.float32)
    for block in range(BLOCKS):
        at = tl.program_id(0) * B * BLOCKS + block * B + lanes
        factor = tl.load(scale + at, mask=at < n, other=0.0)
        total += tl.load(x + at, mask=at < n, other=0.0) * factor
    tl.store(y + tl.program_id(0) * B + lanes, tl.exp(total))


@triton.jit
def scale_of_even_programs(x, scale, y, n, B: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * B + tl.arange(0, B)
    a = tl.load(x + i, mask=i < n, other=0.0)
    if pid % 2 == 0:
        a = a * tl.load(scale)
    tl.store(y + i, tl.exp(a), mask=i < n)


def run_one_scale(x, scale):
    m, n = x.shape
    y = torch.empty_like(x)
    one_scale[(m, triton.cdiv(n, 16))](x, scale, y, m, n, B=16)
    return y


def run_scale_of_a_row(x, scale):
    m, n = x.shape
    y = torch.empty_like(x)
    scale_of_a_row[(m, triton.cdiv(n, 16))](x, scale, y, m, n, B=16)
    return y


def run_scales_by_channel(x, scale, shift):
    images, channels, pixels = x.shape
    y = torch.empty_like(x)
    scales_by_channel[(images,)](x, scale, shift, y, channels, pixels, B=8)
    return y


def run_query_of_splits(q, k):
    b, n, d = k.shape
    y = q.new_empty(b, n)
    query_of_splits[(b, triton.cdiv(n, 4))](q, k, y, n, D=d, B=4)
    return y


def run_scale_below_a_flag(x, scale):
    y = torch.empty_like(x)
    scale_below_a_flag[(triton.cdiv(x.numel(), 16),)](x, scale, y, x.numel(), SCALED=True, B=16)
    return y


def run_blocks_of_a_program(x, scale):
    programs = triton.cdiv(x.numel(), 32)
    y = x.new_empty(programs * 8)
    blocks_of_a_program[(programs,)](x, scale, y, x.numel(), B=8, BLOCKS=4)
    return y


def run_scale_of_even_programs(x, scale):
    y = torch.empty_like(x)
    scale_of_even_programs[(triton.cdiv(x.numel(), 16),)](x, scale, y, x.numel(), B=16)
    return y


@triton.jit
def recurrent(q, k, v, y, n, K, V, BK: tl.constexpr, BV: tl.constexpr):
    b = tl.program_id(1)
    lanes = tl.arange(0, BK)
    columns = tl.program_id(0) * BV + tl.arange(0, BV)
    state = tl.zeros([BK, BV], dtype=tl.float32)
    for t in range(n):
        row = b * n + t
        one = tl.load(k + row * K + lanes, mask=lanes < K, other=0.0)
        values = tl.load(v + row * V + columns, mask=columns < V, other=0.0)
        state = 0.9 * state + one[:, None] * values[None, :]
        query = tl.load(q + row * K + lanes, mask=lanes < K, other=0.0)
        tl.store(y + row * V + columns, tl.sum(state * query[:, None], 0), mask=columns < V)


def run_recurrent(q, k, v):
    y = torch.empty_like(v)
    recurrent[(triton.cdiv(v.shape[2], 8), len(v))](q, k, v, y, v.shape[1], q.shape[2], v.shape[2], 4, 8)
    return y


@triton.jit
def states(k, v, y, n, K, V, BT: tl.constexpr, BK: tl.constexpr, BV: tl.constexpr):
    b = tl.program_id(2)
    lanes = tl.program_id(0) * BK + tl.arange(0, BK)
    columns = tl.program_id(1) * BV + tl.arange(0, BV)
    state = tl.zeros([BK, BV], dtype=tl.float32)
    inside = (lanes < K)[:, None] & (columns < V)[None, :]
    for chunk in range(tl.cdiv(n, BT)):
        at = ((b * tl.cdiv(n, BT) + chunk) * K + lanes[:, None]) * V + columns[None, :]
        tl.store(y + at, state, mask=inside)
        rows = chunk * BT + tl.arange(0, BT)
        keys = tl.load(
            k + (b * n + rows[None, :]) * K + lanes[:, None],
            mask=(lanes < K)[:, None] & (rows < n)[None, :],
            other=0.0,
        )
        values = tl.load(
            v + (b * n + rows[:, None]) * V + columns[None, :],
            mask=(rows < n)[:, None] & (columns < V)[None, :],
            other=0.0,
        )
        state = 0.9 * state + tl.sum(keys[:, :, None] * values[None, :, :], 1)


def run_states(k, v):
    (b, n, K), V = k.shape, v.shape[2]
    y = torch.empty(b, triton.cdiv(n, 4), K, V, dtype=k.dtype, device=k.device)
    states[(triton.cdiv(K, 4), triton.cdiv(V, 8), b)](k, v, y, n, K, V, 4, 4, 8)
    return y


@triton.jit
def parts_of_rows(
    q, v, y, ends, B, T, K, V, BK: tl.constexpr, BV: tl.constexpr, REVERSE: tl.constexpr, IS_VARLEN: tl.constexpr
):
    """Rows from either end, of sequences of one length or of several; each block of K has a part of the output."""
    i_v, i_k, n = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    all_rows = B * T
    if IS_VARLEN:
        start, end = tl.load(ends + n), tl.load(ends + n + 1)
        T = end - start
    else:
        start, end = n * T, n * T + T
    lanes = i_k * BK + tl.arange(0, BK)
    columns = i_v * BV + tl.arange(0, BV)
    first = start + ((T - 1) if REVERSE else 0)
    p_q = q + first * K + lanes
    p_v = v + first * V + columns
    p_y = y + (i_k * all_rows + start + ((T - 1) if REVERSE else 0)) * V + columns
    state = tl.zeros([BK, BV], dtype=tl.float32)
    for _ in range(0, T):
        query = tl.load(p_q, mask=lanes < K, other=0.0)
        values = tl.load(p_v, mask=columns < V, other=0.0)
        state = 0.9 * state + query[:, None] * values[None, :]
        tl.store(p_y, tl.sum(state * query[:, None], 0), mask=columns < V)
        p_q += (-1 if REVERSE else 1) * K
        p_v += (-1 if REVERSE else 1) * V
        p_y += (-1 if REVERSE else 1) * V


def run_parts_of_rows(q, v, ends, reverse):
    (b, t, K), V = q.shape, v.shape[2]
    parts = triton.cdiv(K, 2)
    y = torch.empty(parts, b, t, V, dtype=q.dtype, device=q.device)
    sequences = b if ends is None else len(ends) - 1
    grid = (triton.cdiv(V, 8), parts, sequences)
    parts_of_rows[grid](q, v, y, ends, b, t, K, V, 2, 8, REVERSE=reverse, IS_VARLEN=ends is not None)
    return y.sum(0)
