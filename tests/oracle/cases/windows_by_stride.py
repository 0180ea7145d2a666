"""A launcher passes strides of its tensors, and rows, frames or windows may lie on each other."""

# case: {"class": "beyond", "call": "m.blocks(x)", "inputs": {"x": [6, 5]}}
# case: {"class": "beyond", "call": "m.blocks(x[:, :5])", "inputs": {"x": [6, 6]}}
# case: {"class": "beyond", "call": "m.blocks(x)", "inputs": {"x": [6, 8]}}
# case: {"class": "beyond", "call": "m.blocks(x[:, :8])", "inputs": {"x": [6, 11]}}
# case: {"class": "views", "call": "m.blocks(x.unfold(0, 8, 3))", "inputs": {"x": [32]}}
# case: {"class": "views", "call": "m.blocks(x.expand(6, 8))", "inputs": {"x": [1, 8]}}
# case: {"class": "views", "call": "m.masked(x.as_strided((5, 8), (4, 1)))", "inputs": {"x": [40]}}
# case: {"class": "views", "call": "m.masked(x[:, 1:6])", "inputs": {"x": [5, 8]}}
# case: {"class": "views", "call": "m.masked(x.t())", "inputs": {"x": [5, 8]}}
# case: {"class": "beyond", "call": "m.tiles(x)", "inputs": {"x": [2, 6, 5]}}
# case: {"class": "beyond", "call": "m.tiles(x)", "inputs": {"x": [2, 6, 8]}}
# case: {"class": "beyond", "call": "m.tiles(x.transpose(0, 1))", "inputs": {"x": [6, 2, 8]}}
# case: {"class": "beyond", "call": "m.heads(x, 3)", "inputs": {"x": [4, 24]}}
# case: {"class": "beyond", "call": "m.heads(x, 3)", "inputs": {"x": [4, 15]}}
# case: {"class": "beyond", "call": "m.frames(x, 4)", "inputs": {"x": [40]}}
# case: {"class": "beyond", "call": "m.frames(x, 8)", "inputs": {"x": [40]}}
# case: {"class": "beyond", "call": "m.tuned(x)", "inputs": {"x": [6, 5]}}
# case: {"class": "beyond", "call": "m.tuned(x)", "inputs": {"x": [6, 8]}}
# case: {"class": "beyond", "call": "m.heur(x)", "inputs": {"x": [6, 5]}}
# case: {"class": "beyond", "call": "m.heur(x)", "inputs": {"x": [6, 8]}}
# case: {"class": "beyond", "call": "m.cols(x, w)", "inputs": {"x": [6, 5], "w": [8]}}
# case: {"class": "beyond", "call": "m.cols(x, w)", "inputs": {"x": [6, 8], "w": [8]}}
# case: {"class": "beyond", "call": "m.looped(x)", "inputs": {"x": [6, 5]}}
# case: {"class": "beyond", "call": "m.looped(x)", "inputs": {"x": [6, 8]}}
# case: {"class": "beyond", "call": "m.looped(x)", "inputs": {"x": [6, 13]}}
# case: {"class": "beyond", "call": "m.persistent(x)", "inputs": {"x": [6, 5]}}
# case: {"class": "beyond", "call": "m.persistent(x)", "inputs": {"x": [6, 9]}}
# case: {"class": "beyond", "call": "m.tile2(x)", "inputs": {"x": [8, 5]}}
# case: {"class": "beyond", "call": "m.tile2(x)", "inputs": {"x": [8, 8]}}
# case: {"class": "beyond", "call": "m.divided(x)", "inputs": {"x": [3, 2, 5]}}
# case: {"class": "beyond", "call": "m.divided(x)", "inputs": {"x": [3, 2, 8]}}

import torch
import triton
import triton.language as tl


@triton.jit
def block_row(o, x, so, sx, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    a = tl.load(x + r * sx + c)
    tl.store(o + r * so + c, a * a)


def blocks(x):
    o = torch.empty(x.shape[0] - 2, 8, dtype=x.dtype)
    block_row[(o.shape[0],)](o, x, o.stride(0), x.stride(0), BLOCK=8)
    return o


@triton.jit
def masked_row(o, x, so, sx, sc, n, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    a = tl.load(x + r * sx + c * sc, mask=c < n, other=0.0)
    tl.store(o + r * so + c, a * a, mask=c < n)


def masked(x):
    o = torch.empty(x.shape, dtype=x.dtype)
    masked_row[(x.shape[0],)](o, x, o.stride(0), x.stride(0), x.stride(1), x.shape[1], BLOCK=8)
    return o


@triton.jit
def tile(o, x, sb, sr, rows, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    r = tl.program_id(1)
    c = tl.arange(0, BLOCK)
    a = tl.load(x + b * sb + r * sr + c)
    tl.store(o + (b * rows + r) * BLOCK + c, tl.exp(a))


def tiles(x):
    o = torch.empty(x.shape[0], x.shape[1] - 2, 8, dtype=x.dtype)
    tile[(x.shape[0], o.shape[1])](o, x, x.stride(0), x.stride(1), o.shape[1], BLOCK=8)
    return o


@triton.jit
def head(o, x, sr, sh, heads, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    h = tl.program_id(1)
    c = tl.arange(0, BLOCK)
    a = tl.load(x + r * sr + h * sh + c)
    tl.store(o + (r * heads + h) * BLOCK + c, a * a * a)


def heads(x, count):
    v = x.view(x.shape[0], count, -1)
    o = torch.empty(v.shape[0] - 1, count, 8, dtype=x.dtype)
    head[(o.shape[0], count)](o, v, v.stride(0), v.stride(1), count, BLOCK=8)
    return o


def frames(x, hop):
    v = x.view(-1, hop)
    o = torch.empty(v.shape[0] - 1, 8, dtype=x.dtype)
    block_row[(o.shape[0],)](o, v, 8, v.stride(0), BLOCK=8)
    return o


@triton.autotune(configs=[triton.Config({"ROWS": 2}), triton.Config({"ROWS": 4})], key=["n"])
@triton.jit
def tuned_row(o, x, sx, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, BLOCK)
    m = (r < n)[:, None]
    a = tl.load(x + r[:, None] * sx + c[None, :], mask=m, other=0.0)
    tl.store(o + r[:, None] * BLOCK + c[None, :], a * a, mask=m)


def tuned(x):
    o = torch.empty(x.shape[0] - 2, 8, dtype=x.dtype)
    tuned_row[lambda meta: (triton.cdiv(o.shape[0], meta["ROWS"]),)](o, x, x.stride(0), o.shape[0], BLOCK=8)
    return o


@triton.heuristics({"EVEN": lambda a: a["n"] % 2 == 0})
@triton.jit
def heur_row(o, x, sx, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    a = tl.load(x + r * sx + c)
    if EVEN:
        a = a * 2.0
    tl.store(o + r * BLOCK + c, a * a)


def heur(x):
    o = torch.empty(x.shape[0] - 2, 8, dtype=x.dtype)
    heur_row[(o.shape[0],)](o, x, x.stride(0), o.shape[0], BLOCK=8)
    return o


@triton.jit
def weighted(o, x, w, sx, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    a = tl.load(x + r * sx + c)
    b = tl.load(w + c)
    tl.store(o + r * BLOCK + c, a * b * b)


def cols(x, w):
    o = torch.empty(x.shape[0] - 2, 8, dtype=x.dtype)
    weighted[(o.shape[0],)](o, x, w, x.stride(0), BLOCK=8)
    return o


@triton.jit
def loop_row(o, x, sx, n, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    for i in range(0, n, BLOCK):
        c = i + tl.arange(0, BLOCK)
        a = tl.load(x + r * sx + c)
        tl.store(o + r * n + c, a * a)


def looped(x):
    o = torch.empty(x.shape[0] - 2, 16, dtype=x.dtype)
    loop_row[(o.shape[0],)](o, x, x.stride(0), 8, BLOCK=4)
    return o[:, :8] * 1.0


@triton.jit
def persist(o, x, sx, rows, BLOCK: tl.constexpr):
    for r in range(tl.program_id(0), rows, tl.num_programs(0)):
        c = tl.arange(0, BLOCK)
        a = tl.load(x + r * sx + c)
        tl.store(o + r * BLOCK + c, a * a)


def persistent(x):
    o = torch.empty(x.shape[0] - 2, 8, dtype=x.dtype)
    persist[(2,)](o, x, x.stride(0), o.shape[0], BLOCK=8)
    return o


@triton.jit
def tile2_kernel(o, x, sx, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, BLOCK)
    a = tl.load(x + r[:, None] * sx + c[None, :])
    tl.store(o + r[:, None] * BLOCK + c[None, :], a * a)


def tile2(x):
    o = torch.empty(4, 8, dtype=x.dtype)
    tile2_kernel[(2,)](o, x, x.stride(0), ROWS=2, BLOCK=8)
    return o


@triton.jit
def div_kernel(o, x, sb, sh, heads, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    b = pid // heads
    h = pid % heads
    c = tl.arange(0, BLOCK)
    a = tl.load(x + b * sb + h * sh + c)
    tl.store(o + pid * BLOCK + c, a * a)


def divided(x):
    o = torch.empty(4, 8, dtype=x.dtype)
    div_kernel[(4,)](o, x, x.stride(0), x.stride(1), x.shape[1], BLOCK=8)
    return o
