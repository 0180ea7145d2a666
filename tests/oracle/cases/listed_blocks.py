"""Blocks of sequences that memory lists, one for each program, and blocks that programs share in parts."""

# case: {"class": "listed", "call": "m.pooled(x)", "inputs": {"x": [2, 19, 3, 20]}}
# case: {"class": "listed", "call": "m.pooled(x, starts)", "inputs": {"x": [1, 37, 3, 20], "starts": {"shape": [6], "dtype": "int64", "values": [0, 5, 5, 21, 36, 37]}}}
# case: {"class": "listed", "call": "m.pooled(x, starts)", "inputs": {"x": [1, 40, 1, 16], "starts": {"shape": [3], "dtype": "int64", "values": [3, 11, 35]}}}
# case: {"class": "listed", "call": "m.crossed(q, k)", "inputs": {"q": [2, 37, 2, 20], "k": [2, 37, 2, 20]}}
# case: {"class": "listed", "call": "m.crossed(q, k, starts)", "inputs": {"q": [1, 75, 2, 20], "k": [1, 75, 2, 20], "starts": {"shape": [4], "dtype": "int64", "values": [0, 37, 38, 75]}}}

import torch
import triton
import triton.language as tl


@triton.jit
def pool_kernel(
    x,
    o,
    starts,
    blocks,
    T,
    H: tl.constexpr,
    D: tl.constexpr,
    BT: tl.constexpr,
    BD: tl.constexpr,
    VARIES: tl.constexpr,
):
    program = tl.program_id(0)
    i_d, i_t = program % tl.cdiv(D, BD), program // tl.cdiv(D, BD)
    i_n, i_h = tl.program_id(1) // H, tl.program_id(1) % H
    if VARIES:
        at = i_t
        i_n = tl.load(blocks + i_t * 2)
        i_t = tl.load(blocks + i_t * 2 + 1)
        first = tl.load(starts + i_n)
        T = tl.load(starts + i_n + 1) - first
    else:
        at = i_n * tl.cdiv(T, BT) + i_t
        first = i_n * T
    rows = i_t * BT + tl.arange(0, BT)
    cols = i_d * BD + tl.arange(0, BD)
    inside = (rows[:, None] < T) & (cols[None, :] < D)
    place = ((first + rows[:, None]) * H + i_h) * D + cols[None, :]
    a = tl.load(x + place, mask=inside, other=0.0)
    mean = tl.sum(a * a, axis=0) / min(BT, T - i_t * BT)
    tl.store(o + (at * H + i_h) * D + cols, mean, mask=cols < D)


def listed(starts, size):
    lengths = (starts[1:] - starts[:-1]).tolist()
    return torch.tensor(
        [[part, i] for part, n in enumerate(lengths) for i in range(triton.cdiv(n, size))],
        dtype=torch.int64,
        device=starts.device,
    )


def pooled(x, starts=None):
    B, T, H, D = x.shape
    blocks = None if starts is None else listed(starts, 8)
    count = triton.cdiv(T, 8) if starts is None else blocks.shape[0]
    o = torch.empty(B, count, H, D, device=x.device)
    grid = (triton.cdiv(D, 16) * count, B * H)
    pool_kernel[grid](x, o, starts, blocks, T, H=H, D=D, BT=8, BD=16, VARIES=starts is not None)
    return o


@triton.jit
def cross_kernel(
    q,
    k,
    y,
    starts,
    blocks,
    T,
    H: tl.constexpr,
    D: tl.constexpr,
    BT: tl.constexpr,
    BC: tl.constexpr,
    BD: tl.constexpr,
    PARTS: tl.constexpr,
    VARIES: tl.constexpr,
):
    i_t, i_p = tl.program_id(0), tl.program_id(1)
    i_n, i_h = tl.program_id(2) // H, tl.program_id(2) % H
    i_i, i_j = i_p // PARTS, i_p % PARTS
    if VARIES:
        i_n = tl.load(blocks + i_t * 2)
        i_t = tl.load(blocks + i_t * 2 + 1)
        first = tl.load(starts + i_n)
        T = tl.load(starts + i_n + 1) - first
    else:
        first = i_n * T
    if i_t * BT + i_i * BC >= T:
        return
    if i_i <= i_j:
        return
    of_q = i_t * BT + i_i * BC + tl.arange(0, BC)
    of_k = i_t * BT + i_j * BC + tl.arange(0, BC)
    acc = tl.zeros([BC, BC], dtype=tl.float32)  # of a block's later part, and of an earlier one
    for i_d in range(tl.cdiv(D, BD)):
        cols = i_d * BD + tl.arange(0, BD)
        at_q = ((first + of_q[:, None]) * H + i_h) * D + cols[None, :]
        at_k = ((first + of_k[:, None]) * H + i_h) * D + cols[None, :]
        a = tl.load(q + at_q, mask=(of_q < T)[:, None] & (cols < D)[None, :], other=0.0)
        b = tl.load(k + at_k, mask=(of_k < T)[:, None] & (cols < D)[None, :], other=0.0)
        acc += tl.sum(a[:, None, :] * b[None, :, :], axis=2)
    to = i_j * BC + tl.arange(0, BC)
    place = ((first + of_q[:, None]) * H + i_h) * BT + to[None, :]
    tl.store(y + place, acc, mask=(of_q < T)[:, None] & (to < BT)[None, :])


def crossed(q, k, starts=None):
    B, T, H, D = q.shape
    blocks = None if starts is None else listed(starts, 8)
    count = triton.cdiv(T, 8) if starts is None else blocks.shape[0]
    y = torch.zeros(B, T, H, 8, device=q.device)
    grid = (count, 16, B * H)
    cross_kernel[grid](
        q,
        k,
        y,
        starts,
        blocks,
        T,
        H=H,
        D=D,
        BT=8,
        BC=2,
        BD=16,
        PARTS=4,
        VARIES=starts is not None,
    )
    return y
