"""Rows between numbers from memory: where these fall, two programs store the same rows, and the Function says so."""

# case: {"class": "falling-rows", "call": "m.run(x, a, s)", "inputs": {"x": [9, 7], "a": [9, 7], "s": {"shape": [4], "dtype": "int64", "values": [0, 5, 3, 9]}}, "expect": "loud"}
# case: {"class": "falling-rows", "call": "m.run(x, a, s)", "inputs": {"x": [9, 7], "a": [9, 7], "s": {"shape": [4], "dtype": "int64", "values": [0, 3, 5, 9]}}}
# case: {"class": "falling-rows", "call": "m.flagged(x, s)", "inputs": {"x": [9, 7], "s": {"shape": [4], "dtype": "int64", "values": [0, 5, 3, 9]}}, "expect": "loud"}
# case: {"class": "falling-rows", "call": "m.flagged(x, s)", "inputs": {"x": [9, 7], "s": {"shape": [4], "dtype": "int64", "values": [0, 3, 5, 9]}}}
# case: {"class": "falling-rows", "call": "m.flagged(x)", "inputs": {"x": [9, 7]}}
# case: {"class": "falling-rows", "call": "m.chunked(x, s)", "inputs": {"x": [9, 8], "s": {"shape": [4], "dtype": "int64", "values": [0, 5, 3, 9]}}, "expect": "loud"}
# case: {"class": "falling-rows", "call": "m.chunked(x, s)", "inputs": {"x": [9, 8], "s": {"shape": [4], "dtype": "int64", "values": [0, 3, 5, 9]}}}
# case: {"class": "falling-rows", "call": "m.tuned(x, s)", "inputs": {"x": [9, 7], "s": {"shape": [4], "dtype": "int64", "values": [0, 5, 3, 9]}}, "expect": "loud"}
# case: {"class": "falling-rows", "call": "m.tuned(x, s)", "inputs": {"x": [9, 7], "s": {"shape": [4], "dtype": "int64", "values": [0, 3, 5, 9]}}}
# case: {"class": "falling-rows", "call": "m.lengths(x, s, n)", "inputs": {"x": [9, 7], "s": {"shape": [3], "dtype": "int64", "values": [0, 5, 3]}, "n": {"shape": [3], "dtype": "int64", "values": [5, 1, 6]}}, "expect": "loud"}
# case: {"class": "falling-rows", "call": "m.lengths(x, s, n)", "inputs": {"x": [9, 7], "s": {"shape": [3], "dtype": "int64", "values": [0, 6, 3]}, "n": {"shape": [3], "dtype": "int64", "values": [3, 3, 3]}}}
# case: {"class": "falling-rows", "call": "m.ends(x, s, n)", "inputs": {"x": [9, 7], "s": {"shape": [3], "dtype": "int64", "values": [0, 5, 3]}, "n": {"shape": [3], "dtype": "int64", "values": [5, 6, 9]}}, "expect": "loud"}
# case: {"class": "falling-rows", "call": "m.ends(x, s, n)", "inputs": {"x": [9, 7], "s": {"shape": [3], "dtype": "int64", "values": [0, 6, 3]}, "n": {"shape": [3], "dtype": "int64", "values": [3, 9, 6]}}}
# case: {"class": "falling-rows", "call": "m.soft(x, s)", "inputs": {"x": [9], "s": {"shape": [4], "dtype": "int64", "values": [0, 5, 3, 9]}}, "expect": "loud"}
# case: {"class": "falling-rows", "call": "m.soft(x, s)", "inputs": {"x": [9], "s": {"shape": [4], "dtype": "int64", "values": [0, 3, 5, 9]}}}
# case: {"class": "falling-rows", "call": "m.persistent(x, s)", "inputs": {"x": [9, 7], "s": {"shape": [4], "dtype": "int64", "values": [0, 5, 3, 9]}}}
# case: {"class": "falling-rows", "call": "m.persistent(x, s)", "inputs": {"x": [9, 7], "s": {"shape": [4], "dtype": "int64", "values": [0, 3, 5, 9]}}}
# case: {"class": "falling-rows", "call": "m.heads(x, s)", "inputs": {"x": [9, 2, 4], "s": {"shape": [4], "dtype": "int64", "values": [0, 5, 3, 9]}}, "expect": "loud"}
# case: {"class": "falling-rows", "call": "m.heads(x, s)", "inputs": {"x": [9, 2, 4], "s": {"shape": [4], "dtype": "int64", "values": [0, 3, 5, 9]}}}
# case: {"class": "falling-rows", "call": "m.backwards(x, s)", "inputs": {"x": [9, 7], "s": {"shape": [4], "dtype": "int64", "values": [0, 5, 3, 9]}}, "expect": "loud"}
# case: {"class": "falling-rows", "call": "m.backwards(x, s)", "inputs": {"x": [9, 7], "s": {"shape": [4], "dtype": "int64", "values": [0, 3, 5, 9]}}}
# case: {"class": "falling-rows", "call": "m.run(x, a, s)", "inputs": {"x": [9, 7], "a": [9, 7], "s": {"shape": [5], "dtype": "int64", "values": [0, 4, 4, 4, 9]}}}
# case: {"class": "falling-rows", "call": "m.run(x, a, s)", "inputs": {"x": [9, 37], "a": [9, 37], "s": {"shape": [4], "dtype": "int64", "values": [2, 2, 5, 8]}}}
# case: {"class": "falling-rows", "call": "m.lengths(x, s, n)", "inputs": {"x": [9, 7], "s": {"shape": [4], "dtype": "int64", "values": [0, 3, 3, 0]}, "n": {"shape": [4], "dtype": "int64", "values": [3, 0, 4, 0]}}}
# case: {"class": "falling-rows", "call": "m.sided(x, s)", "inputs": {"x": [9, 7], "s": {"shape": [4], "dtype": "int64", "values": [0, 5, 3, 9]}}, "expect": "loud"}
# case: {"class": "falling-rows", "call": "m.sided(x, s)", "inputs": {"x": [9, 7], "s": {"shape": [4], "dtype": "int64", "values": [0, 3, 3, 9]}}}
# case: {"class": "falling-rows", "call": "m.sided(x)", "inputs": {"x": [8, 7]}}
# case: {"class": "falling-rows", "call": "m.early(x, s, 8)", "inputs": {"x": [19, 8], "s": {"shape": [4], "dtype": "int64", "values": [0, 9, 7, 19]}}, "expect": "loud"}
# case: {"class": "falling-rows", "call": "m.early(x, s, 8)", "inputs": {"x": [19, 8], "s": {"shape": [4], "dtype": "int64", "values": [0, 7, 7, 19]}}}
# case: {"class": "falling-rows", "call": "m.columns(x, s, c)", "inputs": {"x": [6, 12], "s": {"shape": [4], "dtype": "int64", "values": [0, 4, 2, 6]}, "c": {"shape": [3], "dtype": "int64", "values": [0, 4, 8]}}}

import torch
import triton
import triton.language as tl


@triton.jit
def recur(x_ptr, a_ptr, y_ptr, offs_ptr, D, BLOCK: tl.constexpr):
    seg = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < D
    start = tl.load(offs_ptr + seg)
    end = tl.load(offs_ptr + seg + 1)
    h = tl.zeros((BLOCK,), dtype=tl.float64)
    for t in range(start, end):
        a = tl.load(a_ptr + t * D + cols, mask=mask, other=0.0)
        x = tl.load(x_ptr + t * D + cols, mask=mask, other=0.0)
        h = a * h + x
        tl.store(y_ptr + t * D + cols, h, mask=mask)


def run(x, a, offsets):
    T, D = x.shape
    y = torch.zeros_like(x)
    n = offsets.numel() - 1
    recur[(n, triton.cdiv(D, 16))](x, a, y, offsets, D, BLOCK=16)
    return y


@triton.jit
def recur_flag(x_ptr, y_ptr, offs_ptr, T, D, BLOCK: tl.constexpr, VARLEN: tl.constexpr):
    seg = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < D
    if VARLEN:
        start = tl.load(offs_ptr + seg)
        end = tl.load(offs_ptr + seg + 1)
    else:
        start = seg * T
        end = start + T
    h = tl.zeros((BLOCK,), dtype=tl.float64)
    for t in range(start, end):
        x = tl.load(x_ptr + t * D + cols, mask=mask, other=0.0)
        h = tl.sin(h) + x
        tl.store(y_ptr + t * D + cols, h, mask=mask)


def flagged(x, offsets=None):
    T, D = x.shape
    y = torch.zeros_like(x)
    if offsets is None:
        recur_flag[(3,)](x, y, None, T // 3, D, BLOCK=16, VARLEN=False)
    else:
        recur_flag[(offsets.numel() - 1,)](x, y, offsets, T, D, BLOCK=16, VARLEN=True)
    return y


@triton.jit
def chunk_kernel(q, y, starts, chunks, D: tl.constexpr, B: tl.constexpr):
    block = tl.program_id(0)
    part = tl.load(chunks + block * 2)
    block = tl.load(chunks + block * 2 + 1)
    first = tl.load(starts + part)
    length = tl.load(starts + part + 1) - first
    rows = block * B + tl.arange(0, B)
    at = (first + rows)[:, None] * D + tl.arange(0, D)[None, :]
    here = (rows < length)[:, None]
    a = tl.load(q + at, mask=here, other=0.0)
    tl.store(y + at, tl.cumsum(a * a, 0), mask=here)


def chunks_of(starts, B):
    lengths = (starts[1:] - starts[:-1]).tolist()
    pairs = [[part, i] for part, n in enumerate(lengths) for i in range(max(triton.cdiv(n, B), 0))]
    return torch.tensor(pairs, dtype=torch.int64, device=starts.device)


def chunked(x, starts):
    y = torch.zeros_like(x)
    chunks = chunks_of(starts, 4)
    chunk_kernel[(chunks.shape[0],)](x, y, starts, chunks, D=x.shape[1], B=4)
    return y


@triton.autotune(configs=[triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 8})], key=["D"])
@triton.jit
def recur_tuned(x_ptr, y_ptr, offs_ptr, D, BLOCK: tl.constexpr):
    seg = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < D
    start = tl.load(offs_ptr + seg)
    end = tl.load(offs_ptr + seg + 1)
    h = tl.zeros((BLOCK,), dtype=tl.float64)
    for t in range(start, end):
        x = tl.load(x_ptr + t * D + cols, mask=mask, other=0.0)
        h = tl.sin(h) + x
        tl.store(y_ptr + t * D + cols, h, mask=mask)


def tuned(x, offsets):
    T, D = x.shape
    y = torch.zeros_like(x)
    grid = lambda meta: (offsets.numel() - 1, triton.cdiv(D, meta["BLOCK"]))
    recur_tuned[grid](x, y, offsets, D)
    return y


@triton.jit
def recur_lengths(x_ptr, y_ptr, starts, lengths, D, BLOCK: tl.constexpr):
    seg = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < D
    start = tl.load(starts + seg)
    n = tl.load(lengths + seg)
    h = tl.zeros((BLOCK,), dtype=tl.float64)
    for t in range(n):
        x = tl.load(x_ptr + (start + t) * D + cols, mask=mask, other=0.0)
        h = tl.sin(h) + x
        tl.store(y_ptr + (start + t) * D + cols, h, mask=mask)


def lengths(x, starts, lengths):
    T, D = x.shape
    y = torch.zeros_like(x)
    recur_lengths[(starts.numel(),)](x, y, starts, lengths, D, BLOCK=16)
    return y


@triton.jit
def recur_ends(x_ptr, y_ptr, starts, ends, D, BLOCK: tl.constexpr):
    seg = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < D
    h = tl.zeros((BLOCK,), dtype=tl.float64)
    for t in range(tl.load(starts + seg), tl.load(ends + seg)):
        x = tl.load(x_ptr + t * D + cols, mask=mask, other=0.0)
        h = tl.sin(h) + x
        tl.store(y_ptr + t * D + cols, h, mask=mask)


def ends(x, starts, ends):
    T, D = x.shape
    y = torch.zeros_like(x)
    recur_ends[(starts.numel(),)](x, y, starts, ends, D, BLOCK=16)
    return y


@triton.jit
def soften(x, starts, y, B: tl.constexpr):
    part = tl.program_id(0)
    first = tl.load(starts + part)
    end = tl.load(starts + part + 1)
    at = first + tl.arange(0, B)
    a = tl.load(x + at, mask=at < end, other=-float("inf"))
    e = tl.exp(a - tl.max(a, 0))
    tl.store(y + at, e / tl.sum(e, 0), mask=at < end)


def soft(x, starts):
    y = torch.empty_like(x)
    soften[(starts.shape[0] - 1,)](x, starts, y, B=64)
    return y


@triton.jit
def recur_persistent(x_ptr, y_ptr, offs_ptr, parts, D, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    mask = cols < D
    for seg in range(tl.program_id(0), parts, tl.num_programs(0)):
        start = tl.load(offs_ptr + seg)
        end = tl.load(offs_ptr + seg + 1)
        h = tl.zeros((BLOCK,), dtype=tl.float64)
        for t in range(start, end):
            x = tl.load(x_ptr + t * D + cols, mask=mask, other=0.0)
            h = tl.sin(h) + x
            tl.store(y_ptr + t * D + cols, h, mask=mask)


def persistent(x, offsets):
    T, D = x.shape
    y = torch.zeros_like(x)
    recur_persistent[(2,)](x, y, offsets, offsets.numel() - 1, D, BLOCK=16)
    return y


@triton.jit
def recur_heads(x_ptr, y_ptr, offs_ptr, H, BLOCK: tl.constexpr):
    seg = tl.program_id(0) // H
    head = tl.program_id(0) % H
    cols = tl.arange(0, BLOCK)
    start = tl.load(offs_ptr + seg)
    n = tl.load(offs_ptr + seg + 1) - start
    h = tl.zeros((BLOCK,), dtype=tl.float64)
    p = x_ptr + (start * H + head) * BLOCK + cols
    o = y_ptr + (start * H + head) * BLOCK + cols
    for _ in range(n):
        h = tl.sin(h) + tl.load(p)
        tl.store(o, h)
        p += H * BLOCK
        o += H * BLOCK


def heads(x, offsets):
    y = torch.zeros_like(x)
    H = x.shape[1]
    recur_heads[((offsets.numel() - 1) * H,)](x, y, offsets, H, BLOCK=x.shape[2])
    return y


@triton.jit
def recur_back(x_ptr, y_ptr, offs_ptr, D, BLOCK: tl.constexpr):
    seg = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < D
    start = tl.load(offs_ptr + seg)
    end = tl.load(offs_ptr + seg + 1)
    h = tl.zeros((BLOCK,), dtype=tl.float64)
    for i in range(start, end):
        t = end - 1 - (i - start)
        x = tl.load(x_ptr + t * D + cols, mask=mask, other=0.0)
        h = tl.sin(h) + x
        tl.store(y_ptr + t * D + cols, h, mask=mask)


def backwards(x, offsets):
    T, D = x.shape
    y = torch.zeros_like(x)
    recur_back[(offsets.numel() - 1,)](x, y, offsets, D, BLOCK=16)
    return y


@triton.heuristics({"VARLEN": lambda args: args["offs_ptr"] is not None})
@triton.jit
def recur_sided(x_ptr, y_ptr, offs_ptr, T, D, BLOCK: tl.constexpr, VARLEN: tl.constexpr):
    seg = tl.program_id(1)
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < D
    if VARLEN:
        start = tl.load(offs_ptr + seg).to(tl.int64)
        T = (tl.load(offs_ptr + seg + 1) - start).to(tl.int32)
    else:
        start = (seg * T).to(tl.int64)
    h = tl.zeros((BLOCK,), dtype=tl.float64)
    for t in range(0, T):
        x = tl.load(x_ptr + (start + t) * D + cols, mask=mask, other=0.0)
        h = tl.sin(h) + x
        tl.store(y_ptr + (start + t) * D + cols, h, mask=mask)


def sided(x, offsets=None):
    T, D = x.shape
    y = torch.zeros_like(x)
    parts = 2 if offsets is None else offsets.numel() - 1
    recur_sided[(triton.cdiv(D, 4), parts)](x, y, offsets, T // 2, D, BLOCK=4)
    return y


@triton.jit
def scan_early(x, y, starts, D: tl.constexpr, B: tl.constexpr):
    first = tl.load(starts + tl.program_id(1))
    length = tl.load(starts + tl.program_id(1) + 1) - first
    if tl.program_id(0) * B >= length:
        return
    rows = tl.program_id(0) * B + tl.arange(0, B)
    at = (first + rows)[:, None] * D + tl.arange(0, D)[None, :]
    here = rows[:, None] < length
    a = tl.load(x + at, mask=here, other=0.0)
    tl.store(y + at, tl.cumsum(a * a, 0), mask=here)


def early(x, starts, longest):
    y = torch.zeros_like(x)
    scan_early[(triton.cdiv(longest, 4) + 1, starts.numel() - 1)](x, y, starts, D=x.shape[1], B=4)
    return y


@triton.jit
def recur_columns(x_ptr, y_ptr, offs_ptr, columns, D, BLOCK: tl.constexpr):
    seg = tl.program_id(0)
    cols = tl.load(columns + seg) + tl.arange(0, BLOCK)
    h = tl.zeros((BLOCK,), dtype=tl.float64)
    for t in range(tl.load(offs_ptr + seg), tl.load(offs_ptr + seg + 1)):
        h = tl.sin(h) + tl.load(x_ptr + t * D + cols)
        tl.store(y_ptr + t * D + cols, h)


def columns(x, offsets, columns):
    """Rows that two programs have, in columns of their own."""
    y = torch.zeros_like(x)
    recur_columns[(columns.numel(),)](x, y, offsets, columns, x.shape[1], BLOCK=4)
    return y
