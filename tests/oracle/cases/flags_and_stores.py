"""Addresses that a flag of the launch chooses, those that a store has as well; and those beside them that programs share."""

# case: {"class": "flags", "call": "m.in_tiles(x, w)", "inputs": {"x": [2, 19, 3, 6], "w": [3]}}
# case: {"class": "flags", "call": "m.in_tiles(x, w, starts)", "inputs": {"x": [21, 3, 6], "w": [3], "starts": {"shape": [5], "dtype": "int64", "values": [0, 5, 5, 16, 21]}}}
# case: {"class": "flags", "call": "m.turned(x)", "inputs": {"x": [3, 9, 10]}}
# case: {"class": "flags", "call": "m.turned(x, starts)", "inputs": {"x": [21, 10], "starts": {"shape": [5], "dtype": "int64", "values": [0, 5, 5, 16, 21]}}}
# case: {"class": "flags", "call": "m.rows_first(h, x)", "inputs": {"h": [3, 8, 16], "x": [3, 8]}}
# case: {"class": "flags", "call": "m.columns_first(h, x)", "inputs": {"h": [3, 16, 8], "x": [3, 8]}}
# case: {"class": "flags", "call": "m.again(x, keys)", "inputs": {"x": [6, 10], "keys": [3, 10]}}
# case: {"class": "flags", "call": "m.again(x, keys)", "inputs": {"x": [9, 3], "keys": [1, 3]}}
# case: {"class": "flags", "call": "m.alike(x)", "inputs": {"x": [7, 8]}}
# case: {"class": "flags", "call": "m.alike(x)", "inputs": {"x": [3, 7, 8]}}
# case: {"class": "flags", "call": "m.with_pair(x)", "inputs": {"x": [2, 9, 4, 8]}}
# case: {"class": "flags", "call": "m.with_pair(x, starts)", "inputs": {"x": [21, 4, 8], "starts": {"shape": [5], "dtype": "int64", "values": [0, 5, 5, 16, 21]}}}
# case: {"class": "flags", "call": "m.rows_of(x, 8)", "inputs": {"x": [40]}}
# case: {"class": "flags", "call": "m.rows_of(x, 4)", "inputs": {"x": [40]}}
# case: {"class": "flags", "call": "m.rows_of(x, 3)", "inputs": {"x": [41]}}
# case: {"class": "flags", "call": "m.rows_of(x, 8, order)", "inputs": {"x": [40], "order": {"shape": [4], "dtype": "int64", "values": [4, 0, 1, 3]}}}
# case: {"class": "flags", "call": "m.rows_of(x, 4, order)", "inputs": {"x": [40], "order": {"shape": [4], "dtype": "int64", "values": [5, 4, 1, 0]}}}

import torch
import triton
import triton.language as tl


@triton.jit
def tile_kernel(
    x,
    w,
    y,
    starts,
    chunks,
    T,
    H: tl.constexpr,
    D: tl.constexpr,
    B: tl.constexpr,
    C: tl.constexpr,
    PACKED: tl.constexpr,
):
    column = tl.program_id(0)
    block = tl.program_id(1)
    batch = tl.program_id(2) // H
    head = tl.program_id(2) % H
    if PACKED:
        part = tl.load(chunks + block * 2)
        block = tl.load(chunks + block * 2 + 1)
        first = tl.load(starts + part)
        length = tl.load(starts + part + 1) - first
    else:
        first = batch * T
        length = T
    if block * B >= length:
        return
    rows = block * B + tl.arange(0, B)
    cols = column * C + tl.arange(0, C)
    inside = (rows < length)[:, None] & (cols < D)[None, :]
    at = (first * H + head) * D + rows[:, None] * (H * D) + cols[None, :]
    a = tl.load(x + at, mask=inside, other=0.0)
    b = tl.load(w + head)
    tl.store(y + at, tl.sin(a) * b, mask=inside)


def in_tiles(x, w, starts=None):
    y = torch.empty_like(x)
    B, C, H, D = 8, 4, x.shape[-2], x.shape[-1]
    if starts is None:
        T = x.shape[1]
        grid = (triton.cdiv(D, C), triton.cdiv(T, B), x.shape[0] * H)
        tile_kernel[grid](x, w, y, None, None, T, H=H, D=D, B=B, C=C, PACKED=False)
        return y
    lengths = (starts[1:] - starts[:-1]).tolist()
    chunks = torch.tensor(
        [[part, i] for part, n in enumerate(lengths) for i in range(triton.cdiv(n, B))],
        dtype=torch.int64,
        device=x.device,
    )
    grid = (triton.cdiv(D, C), chunks.shape[0], H)
    tile_kernel[grid](x, w, y, starts, chunks, x.shape[0], H=H, D=D, B=B, C=C, PACKED=True)
    return y


@triton.jit
def turn_kernel(x, y, starts, T, R, D: tl.constexpr, B: tl.constexpr, PACKED: tl.constexpr):
    batch = tl.program_id(1)
    if PACKED:
        first = tl.load(starts + batch)
        length = tl.load(starts + batch + 1) - first
        x = x + first * D
        y = y + first * D
    else:
        length = T
        x = x + batch * T * D
        y = y + batch * T * D
    rows = tl.program_id(0) * B + tl.arange(0, B)
    cols = tl.arange(0, 8)
    inside = (rows < length)[:, None] & (cols < R)[None, :]
    at = rows[:, None] * D + cols[None, :]
    a = tl.load(x + at, mask=inside, other=0.0)
    b = tl.load(x + at + R, mask=inside, other=0.0)
    tl.store(y + at, tl.sin(a) * b, mask=inside)
    tl.store(y + at + R, a - b * b, mask=inside)


def turned(x, starts=None):
    y = torch.empty_like(x)
    D, B = x.shape[-1], 4
    if starts is None:
        T = x.shape[1]
        turn_kernel[(triton.cdiv(T, B), x.shape[0])](x, y, None, T, D // 2, D=D, B=B, PACKED=False)
        return y
    T = int((starts[1:] - starts[:-1]).max())
    grid = (triton.cdiv(T, B), starts.shape[0] - 1)
    turn_kernel[grid](x, y, starts, T, D // 2, D=D, B=B, PACKED=True)
    return y


@triton.jit
def state_kernel(h, x, y, D: tl.constexpr, E: tl.constexpr, TURNED: tl.constexpr):
    program = tl.program_id(0)
    rows = tl.arange(0, D)
    cols = tl.arange(0, E)
    at = program * D * E
    if TURNED:
        state = tl.trans(tl.load(h + at + cols[:, None] * D + rows[None, :]))
    else:
        state = tl.load(h + at + rows[:, None] * E + cols[None, :])
    values = tl.load(x + program * D + rows)
    tl.store(y + program * E + cols, tl.sum(tl.sin(state) * values[:, None], 0))


def by_state(h, x, turned):
    D, E = x.shape[1], h.shape[1 if turned else 2]
    y = torch.empty(x.shape[0], E, dtype=x.dtype, device=x.device)
    state_kernel[(x.shape[0],)](h, x, y, D=D, E=E, TURNED=turned)
    return y


def rows_first(h, x):
    return by_state(h, x, False)


def columns_first(h, x):
    return by_state(h, x, True)


@triton.jit
def pair_kernel(
    x, y, starts, T, H: tl.constexpr, D: tl.constexpr, B: tl.constexpr, PACKED: tl.constexpr
):
    batch = tl.program_id(1) // H
    head = tl.program_id(1) % H
    if PACKED:
        first = tl.load(starts + batch)
        length = tl.load(starts + batch + 1) - first
    else:
        first = batch * T
        length = T
    rows = tl.program_id(0) * B + tl.arange(0, B)
    cols = tl.arange(0, D)
    inside = (rows < length)[:, None]
    at = (first * H + head) * D + rows[:, None] * (H * D) + cols[None, :]
    of_pair = (first * H + head // 2 * 2) * D + rows[:, None] * (H * D) + cols[None, :]
    a = tl.load(x + at, mask=inside, other=0.0)
    b = tl.load(x + of_pair, mask=inside, other=0.0)
    tl.store(y + at, tl.sin(a) * b, mask=inside)


def with_pair(x, starts=None):
    y = torch.empty_like(x)
    B, H, D = 4, x.shape[-2], x.shape[-1]
    if starts is None:
        grid = (triton.cdiv(x.shape[1], B), x.shape[0] * H)
        pair_kernel[grid](x, y, None, x.shape[1], H=H, D=D, B=B, PACKED=False)
        return y
    longest = int((starts[1:] - starts[:-1]).max())
    grid = (triton.cdiv(longest, B), (starts.shape[0] - 1) * H)
    pair_kernel[grid](x, y, starts, longest, H=H, D=D, B=B, PACKED=True)
    return y


@triton.jit
def backward_kernel(x, y, order, stride, D: tl.constexpr, BY_ORDER: tl.constexpr):
    if BY_ORDER:
        row = tl.load(order + tl.program_id(0))
    else:
        row = tl.program_id(0)
    cols = tl.arange(0, D)
    a = tl.load(x + row * stride + cols)
    b = tl.load(x + row * stride + D + cols)
    tl.store(y + row * (2 * D) + D + cols, tl.sin(a) * b)
    tl.store(y + row * (2 * D) + cols, a + b * b)


def rows_of(x, stride, order=None):
    """Rows `stride` elements apart, of 8 elements each: with 4 they lie on each other."""
    rows = (x.shape[0] - 8) // stride + 1 if order is None else order.shape[0]
    y = torch.zeros((x.shape[0] - 8) // stride + 1, 8, dtype=x.dtype, device=x.device)
    backward_kernel[(rows,)](x, y, order, stride, D=4, BY_ORDER=order is not None)
    return y


@triton.jit
def again_kernel(x, keys, y, N, R, D, B: tl.constexpr, C: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    total = tl.zeros([B], dtype=tl.float32)
    for n in range(N):
        score = tl.zeros([B], dtype=tl.float32)
        for c in range(0, D, C):
            cols = c + tl.arange(0, C)
            inside = (rows < R)[:, None] & (cols < D)[None, :]
            a = tl.load(x + rows[:, None] * D + cols[None, :], mask=inside, other=0.0)
            k = tl.load(keys + n * D + cols, mask=cols < D, other=0.0)
            score += tl.sum(tl.sin(a) * k[None, :], 1)
        total += tl.exp(score)
    tl.store(y + rows, total, mask=rows < R)


def again(x, keys):
    R, D = x.shape
    y = torch.empty(R, dtype=x.dtype, device=x.device)
    again_kernel[(triton.cdiv(R, 4),)](x, keys, y, keys.shape[0], R, D, B=4, C=4)
    return y


@triton.jit
def alike_kernel(x, y, T, D: tl.constexpr, B: tl.constexpr, PACKED: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    cols = tl.arange(0, D)
    if PACKED:
        at = rows[:, None] * D + cols[None, :]
        a = tl.load(x + at, mask=(rows < T)[:, None], other=0.0)
        tl.store(y + at, tl.cumsum(a * a, 1), mask=(rows < T)[:, None])
    else:
        at = (tl.program_id(1) * T + rows)[:, None] * D + cols[None, :]
        a = tl.load(x + at, mask=(rows < T)[:, None], other=0.0)
        tl.store(y + at, tl.cumsum(a * a, 1), mask=(rows < T)[:, None])


def alike(x):
    y = torch.empty_like(x)
    T, D = x.shape[-2:]
    batches = x.shape[0] if x.dim() == 3 else 2
    alike_kernel[(triton.cdiv(T, 4), batches)](x, y, T, D=D, B=4, PACKED=x.dim() == 2)
    return y


def alike_packed(x):
    return alike(x)
