"""Rows that memory chooses, which a store of the forward tells apart; and those beside it that programs share."""

# case: {"class": "told", "call": "m.in_chunks(q, g)", "inputs": {"q": [2, 19, 3, 6], "g": [2, 19, 3]}}
# case: {"class": "told", "call": "m.in_chunks(q, g, starts)", "inputs": {"q": [37, 3, 6], "g": [37, 3], "starts": {"shape": [6], "dtype": "int64", "values": [0, 5, 5, 21, 36, 37]}}}
# case: {"class": "told", "call": "m.in_chunks(q, g, starts)", "inputs": {"q": [40, 1, 4], "g": [40, 1], "starts": {"shape": [3], "dtype": "int64", "values": [3, 11, 35]}}}
# case: {"class": "told", "call": "m.in_chunks(q, g, starts)", "inputs": {"q": {"shape": [21, 2, 5], "grad": false}, "g": [21, 2], "starts": {"shape": [3], "dtype": "int64", "values": [0, 8, 21]}}}
# case: {"class": "told", "call": "m.in_chunks(q.transpose(0, 1).contiguous().transpose(0, 1).contiguous(), g, starts)", "inputs": {"q": [21, 2, 5], "g": [21, 2], "starts": {"shape": [3], "dtype": "int64", "values": [0, 9, 21]}}}
# case: {"class": "told", "call": "m.grouped(q, k, starts)", "inputs": {"q": [23, 4, 6], "k": [23, 2, 6], "starts": {"shape": [4], "dtype": "int64", "values": [0, 9, 10, 23]}}}
# case: {"class": "told", "call": "m.with_next(x, starts)", "inputs": {"x": [23, 6], "starts": {"shape": [4], "dtype": "int64", "values": [0, 9, 10, 23]}}}
# case: {"class": "told", "call": "m.by_order(q, w, order)", "inputs": {"q": [7, 16], "w": [7], "order": {"shape": [5], "dtype": "int64", "values": [6, 0, 2, 5, 1]}}}
# case: {"class": "told", "call": "m.twice(q, starts)", "inputs": {"q": [37, 3, 6], "starts": {"shape": [6], "dtype": "int64", "values": [0, 5, 5, 21, 36, 37]}}}
# case: {"class": "told", "call": "m.either(q, order)", "inputs": {"q": [7, 16], "order": {"shape": [6], "dtype": "int64", "values": [6, 6, 0, 2, 5, 5]}}}
# case: {"class": "told", "call": "m.some(q, order)", "inputs": {"q": [7, 16], "order": {"shape": [6], "dtype": "int64", "values": [6, 6, 0, 2, 5, 5]}}}

import torch
import triton
import triton.language as tl


@triton.jit
def chunk_kernel(
    q,
    g,
    y,
    starts,
    chunks,
    T,
    H: tl.constexpr,
    D: tl.constexpr,
    C: tl.constexpr,
    B: tl.constexpr,
    VARIABLE: tl.constexpr,
):
    block = tl.program_id(0)
    batch = tl.program_id(1) // H
    head = tl.program_id(1) % H
    if VARIABLE:
        part = tl.load(chunks + block * 2)
        block = tl.load(chunks + block * 2 + 1)
        first = tl.load(starts + part)
        length = tl.load(starts + part + 1) - first
    else:
        first = batch * T
        length = T
    rows = block * B + tl.arange(0, B)
    inside = rows < length
    gate = tl.load(g + (first + rows) * H + head, mask=inside, other=0.0)
    for c in range(tl.cdiv(D, C)):
        cols = c * C + tl.arange(0, C)
        at = ((first + rows) * H + head)[:, None] * D + cols[None, :]
        here = inside[:, None] & (cols < D)[None, :]
        a = tl.load(q + at, mask=here, other=0.0)
        tl.store(y + at, tl.sin(a) * gate[:, None], mask=here)


def chunks_of(starts, B):
    lengths = (starts[1:] - starts[:-1]).tolist()
    pairs = [[part, i] for part, n in enumerate(lengths) for i in range(triton.cdiv(n, B))]
    return torch.tensor(pairs, dtype=torch.int64, device=starts.device)


def in_chunks(q, g, starts=None):
    y = torch.zeros_like(q)
    B, H, D = 8, q.shape[-2], q.shape[-1]
    if starts is None:
        T = q.shape[1]
        grid = (triton.cdiv(T, B), q.shape[0] * H)
        chunk_kernel[grid](q, g, y, None, None, T, H=H, D=D, C=4, B=B, VARIABLE=False)
        return y
    chunks = chunks_of(starts, B)
    grid = (chunks.shape[0], H)
    chunk_kernel[grid](q, g, y, starts, chunks, q.shape[0], H=H, D=D, C=4, B=B, VARIABLE=True)
    return y


@triton.jit
def group_kernel(
    q,
    k,
    y,
    starts,
    chunks,
    H: tl.constexpr,
    G: tl.constexpr,
    D: tl.constexpr,
    B: tl.constexpr,
    C: tl.constexpr,
):
    block = tl.program_id(0)
    head = tl.program_id(1)
    part = tl.load(chunks + block * 2)
    first = tl.load(starts + part)
    length = tl.load(starts + part + 1) - first
    rows = tl.load(chunks + block * 2 + 1) * B + tl.arange(0, B)
    cols = tl.arange(0, C)
    here = (rows < length)[:, None] & (cols < D)[None, :]
    own = ((first + rows) * H + head)[:, None] * D + cols[None, :]
    group = ((first + rows) * (H // G) + head // G)[:, None] * D + cols[None, :]
    a = tl.load(q + own, mask=here, other=0.0)
    b = tl.load(k + group, mask=here, other=0.0)
    tl.store(y + own, a * tl.sin(b), mask=here)


def grouped(q, k, starts):
    y = torch.zeros_like(q)
    B, H, D = 8, q.shape[1], q.shape[2]
    chunks = chunks_of(starts, B)
    group_kernel[(chunks.shape[0], H)](
        q, k, y, starts, chunks, H=H, G=H // k.shape[1], D=D, B=B, C=8
    )
    return y


@triton.jit
def next_kernel(x, y, starts, chunks, D: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    block = tl.program_id(0)
    part = tl.load(chunks + block * 2)
    first = tl.load(starts + part)
    length = tl.load(starts + part + 1) - first
    rows = tl.load(chunks + block * 2 + 1) * B + tl.arange(0, B)
    cols = tl.arange(0, C)
    here = (rows < length)[:, None] & (cols < D)[None, :]
    after = (rows + 1 < length)[:, None] & (cols < D)[None, :]
    at = (first + rows)[:, None] * D + cols[None, :]
    a = tl.load(x + at, mask=here, other=0.0)
    b = tl.load(x + at + D, mask=after, other=0.0)
    tl.store(y + at, a * tl.sin(b), mask=here)


def with_next(x, starts):
    y = torch.zeros_like(x)
    chunks = chunks_of(starts, 8)
    next_kernel[(chunks.shape[0],)](x, y, starts, chunks, D=x.shape[1], B=8, C=8)
    return y


@triton.jit
def row_kernel(q, w, y, order, D: tl.constexpr):
    row = tl.load(order + tl.program_id(0))
    cols = tl.arange(0, D)
    a = tl.load(q + row * D + cols)
    tl.store(y + row * D + cols, a * a * tl.load(w + row))


def by_order(q, w, order):
    y = torch.zeros_like(q)
    row_kernel[(order.shape[0],)](q, w, y, order, D=16)
    return y


@triton.jit
def twice_kernel(
    q, y, starts, chunks, H: tl.constexpr, D: tl.constexpr, C: tl.constexpr, B: tl.constexpr
):
    block = tl.program_id(0)
    head = tl.program_id(1)
    part = tl.load(chunks + block * 2)
    first = tl.load(starts + part)
    length = tl.load(starts + part + 1) - first
    rows = tl.load(chunks + block * 2 + 1) * B + tl.arange(0, B)
    place = ((first + rows) * H + head)[:, None] * D
    total = tl.zeros([B], dtype=tl.float32)
    for c in range(tl.cdiv(D, C)):
        cols = c * C + tl.arange(0, C)
        here = (rows < length)[:, None] & (cols < D)[None, :]
        total += tl.sum(tl.load(q + place + cols[None, :], mask=here, other=0.0), 1)
    for c in range(tl.cdiv(D, C)):
        cols = c * C + tl.arange(0, C)
        here = (rows < length)[:, None] & (cols < D)[None, :]
        a = tl.load(q + place + cols[None, :], mask=here, other=0.0)
        tl.store(y + place + cols[None, :], tl.sin(a) * total[:, None], mask=here)


def twice(q, starts):
    y = torch.zeros_like(q)
    chunks = chunks_of(starts, 8)
    H, D = q.shape[1:]
    twice_kernel[(chunks.shape[0], H)](q, y, starts, chunks, H=H, D=D, C=4, B=8)
    return y


@triton.jit
def either_kernel(q, y, z, order, D: tl.constexpr):
    program = tl.program_id(0)
    row = tl.load(order + program)
    cols = tl.arange(0, D)
    if program % 2 == 0:
        tl.store(y + row * D + cols, tl.sin(tl.load(q + row * D + cols)))
    else:
        tl.store(z + row * D + cols, tl.exp(tl.load(q + row * D + cols)))


def either(q, order):
    y, z = torch.zeros_like(q), torch.zeros_like(q)
    either_kernel[(order.shape[0],)](q, y, z, order, D=16)
    return y, z


@triton.jit
def some_kernel(q, y, z, order, D: tl.constexpr):
    program = tl.program_id(0)
    row = tl.load(order + program)
    cols = tl.arange(0, D)
    a = tl.load(q + row * D + cols)
    if program % 2 == 0:
        tl.store(y + row * D + cols, tl.sin(a))
    tl.store(z + program * D + cols, tl.exp(a))


def some(q, order):
    y, z = torch.zeros_like(q), torch.zeros(order.shape[0], 16, dtype=q.dtype, device=q.device)
    some_kernel[(order.shape[0],)](q, y, z, order, D=16)
    return y, z
