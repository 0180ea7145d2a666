"""Kernels over a flat index, whose programs add to gradients that digits of that index number."""

import torch
import triton
import triton.language as tl


@triton.jit
def bias(x_ptr, b_ptr, y_ptr, n, width, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    y = x + tl.load(b_ptr + offs % width, mask=mask)
    tl.store(y_ptr + offs, y, mask=mask)


def run_bias(x, b):
    y = torch.empty_like(x)
    bias[(triton.cdiv(x.numel(), 64),)](x, b, y, x.numel(), b.numel(), BLOCK=64)
    return y


@triton.jit
def scaled_table(x_ptr, w_ptr, y_ptr, rows, T, D, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    i = start + tl.arange(0, BLOCK)
    keep = i < rows * D
    w = tl.load(w_ptr + i % (T * D), mask=keep, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + i, mask=keep, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, tl.exp(x * w) * w, mask=keep)


def run_scaled_table(x, w):
    B, T, D = x.shape
    y = torch.empty_like(x)
    grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)
    scaled_table[grid](x, w, y, B * T, T, D, BLOCK=64)
    return y


@triton.jit
def channels(x_ptr, scale_ptr, shift_ptr, y_ptr, n, C, size, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    c = offs // size % C
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.sigmoid(x * tl.load(scale_ptr + c, mask=mask) + tl.load(shift_ptr + c, mask=mask))
    tl.store(y_ptr + offs, y, mask=mask)


def run_channels(x, scale, shift):
    y = torch.empty_like(x)
    C, size = x.shape[1], x.shape[2] * x.shape[3]
    channels[(triton.cdiv(x.numel(), 64),)](x, scale, shift, y, x.numel(), C, size, BLOCK=64)
    return y


@triton.jit
def whole_blocks(x_ptr, b_ptr, y_ptr, C, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    b = tl.load(b_ptr + offs % C)
    tl.store(y_ptr + offs, x * tl.abs(b) + b)


def run_whole_blocks(x, b):
    y = torch.empty_like(x)
    whole_blocks[(x.numel() // 16,)](x, b, y, b.numel(), BLOCK=16)
    return y


@triton.jit
def prelu(x_ptr, slope_ptr, y_ptr, n, C, size, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    slope = tl.load(slope_ptr + (offs // size) % C, mask=mask)
    tl.store(y_ptr + offs, tl.where(x > 0, x, slope * x), mask=mask)


def run_prelu(x, slope):
    y = torch.empty_like(x)
    size = x.shape[2]
    prelu[(triton.cdiv(x.numel(), 32),)](x, slope, y, x.numel(), slope.numel(), size, BLOCK=32)
    return y


@triton.jit
def first_rows(x_ptr, b_ptr, y_ptr, n, m, C, BLOCK: tl.constexpr):
    """Elements from `m` on are not scaled: what reads the table has a mask of its own."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    b = tl.load(b_ptr + offs % C, mask=mask & (offs < m), other=1.0)
    tl.store(y_ptr + offs, x * b, mask=mask)


def run_first_rows(x, b, m: int):
    y = torch.empty_like(x)
    first_rows[(triton.cdiv(x.numel(), 32),)](x, b, y, x.numel(), m, b.numel(), BLOCK=32)
    return y


@triton.jit
def of_scalar(x_ptr, s_ptr, g_ptr, y_ptr, n, C, BLOCK: tl.constexpr):
    """A scale of all beside one for each column: the number's gradient has no digit, and a kernel of its own."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    s = tl.load(s_ptr)
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    g = tl.load(g_ptr + offs % C, mask=mask, other=0.0)
    tl.store(y_ptr + offs, x * g * s, mask=mask)


def run_of_scalar(x, s, g):
    y = torch.empty_like(x)
    of_scalar[(triton.cdiv(x.numel(), 32),)](x, s, g, y, x.numel(), g.numel(), BLOCK=32)
    return y


@triton.jit
def of_scalar_alone(x_ptr, s_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """The scale of all alone: one kernel."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(y_ptr + offs, x * tl.load(s_ptr), mask=offs < n)


def run_of_scalar_alone(x, s):
    y = torch.empty_like(x)
    of_scalar_alone[(triton.cdiv(x.numel(), 32),)](x, s, y, x.numel(), BLOCK=32)
    return y


@triton.jit
def runs_alone(x_ptr, s_ptr, y_ptr, n, size, BLOCK: tl.constexpr):
    """Each row has a number: the top digit."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    s = tl.load(s_ptr + offs // size, mask=mask, other=0.0)
    tl.store(y_ptr + offs, x * s, mask=mask)


def run_runs_alone(x, s):
    y = torch.empty_like(x)
    runs_alone[(triton.cdiv(x.numel(), 32),)](x, s, y, x.numel(), x.shape[1], BLOCK=32)
    return y


@triton.jit
def strided(x_ptr, b_ptr, y_ptr, n, C, stride, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    b = tl.load(b_ptr + offs % C * stride, mask=mask, other=0.0)
    tl.store(y_ptr + offs, x * b, mask=mask)


def run_strided(x, b):
    y = torch.empty_like(x)
    strided[(triton.cdiv(x.numel(), 32),)](x, b, y, x.numel(), b.shape[0], b.stride(0), BLOCK=32)
    return y


@triton.jit
def wide_index(x_ptr, b_ptr, r_ptr, y_ptr, n, C, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    x += tl.load(b_ptr + offs % C, mask=mask).to(tl.float32)
    y = 0.5 * x * (1 + tl.math.erf(x * 0.7071067811865476)) + tl.load(r_ptr + offs, mask=mask)
    tl.store(y_ptr + offs, y, mask=mask)


def run_wide_index(x, b, r):
    y = torch.empty_like(x)
    wide_index[(triton.cdiv(x.numel(), 32),)](x, b, r, y, x.numel(), b.numel(), BLOCK=32)
    return y


@triton.autotune(configs=[triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})], key=["n"])
@triton.jit
def tuned(x_ptr, b_ptr, y_ptr, n, C, size, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    b = tl.load(b_ptr + offs // size % C, mask=mask)
    tl.store(y_ptr + offs, x * b, mask=mask)


def run_tuned(x, b):
    y = torch.empty_like(x)
    n, C, size = x.numel(), b.numel(), x.shape[2]
    tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, b, y, n, C, size)
    return y


@triton.jit
def dropped(x_ptr, b_ptr, y_ptr, n, C, p, seed, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    b = tl.load(b_ptr + offs % C, mask=mask)
    keep = tl.rand(seed, offs) > p
    tl.store(y_ptr + offs, tl.where(keep, x * b / (1 - p), 0.0), mask=mask)


def run_dropped(x, b, p: float, seed: int):
    y = torch.empty_like(x)
    dropped[(triton.cdiv(x.numel(), 32),)](x, b, y, x.numel(), b.numel(), p, seed, BLOCK=32)
    return y


@triton.jit
def summed(x_ptr, b_ptr, y_ptr, n, C, BLOCK: tl.constexpr):
    """A sum of a whole tile: what a lane adds is no matter of its own element."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    b = tl.load(b_ptr + offs % C, mask=mask, other=0.0)
    tl.store(y_ptr + tl.program_id(0), tl.sum(x * b))


def run_summed(x, b):
    y = torch.empty(triton.cdiv(x.numel(), 32))
    summed[(y.numel(),)](x, b, y, x.numel(), b.numel(), BLOCK=32)
    return y


@triton.jit
def beside_a_mask(x_ptr, b_ptr, y_ptr, n, C, BLOCK: tl.constexpr):
    """The table is read in all lanes: those behind the end are not left out."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    b = tl.load(b_ptr + offs % C)
    tl.store(y_ptr + offs, x * b, mask=mask)


def run_beside_a_mask(x, b):
    y = torch.empty_like(x)
    beside_a_mask[(triton.cdiv(x.numel(), 32),)](x, b, y, x.numel(), b.numel(), BLOCK=32)
    return y


@triton.jit
def turns(x_ptr, w_ptr, y_ptr, C, n, BLOCK: tl.constexpr):
    """Programs stride over blocks of a flat index, of which each column has a weight."""
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n, other=0.0)
        w = tl.load(w_ptr + i % C, mask=i < n, other=0.0)
        tl.store(y_ptr + i, x * w, mask=i < n)


def run_turns(x, w):
    y = torch.empty_like(x)
    turns[(3,)](x, w, y, x.shape[1], x.numel(), BLOCK=16)
    return y


@triton.jit
def numbered_turns(x_ptr, b_ptr, y_ptr, C, HW, n, BLOCK: tl.constexpr):
    """The same with tiles that are numbered, and a weight for each run of elements."""
    for tile in range(tl.program_id(0), tl.cdiv(n, BLOCK), tl.num_programs(0)):
        i = tile * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n, other=0.0)
        b = tl.load(b_ptr + i // HW % C, mask=i < n, other=0.0)
        tl.store(y_ptr + i, tl.exp(x) * b, mask=i < n)


def run_numbered_turns(x, b):
    y = torch.empty_like(x)
    numbered_turns[(2,)](x, b, y, x.shape[1], x.shape[2] * x.shape[3], x.numel(), BLOCK=16)
    return y


@triton.jit
def turns_to_another_end(x_ptr, w_ptr, y_ptr, C, n, end, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, end, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n, other=0.0)
        w = tl.load(w_ptr + i % C, mask=i < n, other=0.0)
        tl.store(y_ptr + i, x * w, mask=i < n)


def run_turns_to_another_end(x, w):
    y = torch.zeros_like(x)
    turns_to_another_end[(3,)](x, w, y, x.shape[1], x.numel(), x.numel() // 2, BLOCK=16)
    return y


@triton.jit
def of_batches(x_ptr, scale_ptr, shift_ptr, y_ptr, T, C, n, BLOCK: tl.constexpr):
    """A scale and a shift for each channel of each batch: tokens lie between the two."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    at = i // (T * C) * C + i % C
    x = tl.load(x_ptr + i, mask=mask, other=0.0)
    scale = tl.load(scale_ptr + at, mask=mask, other=0.0)
    shift = tl.load(shift_ptr + at, mask=mask, other=0.0)
    tl.store(y_ptr + i, x * (1 + scale) + shift, mask=mask)


def run_of_batches(x, scale, shift):
    y = torch.empty_like(x)
    B, T, C = x.shape
    n = x.numel()
    of_batches[(triton.cdiv(n, 32),)](x, scale, shift, y, T, C, n, BLOCK=32)
    return y


@triton.jit
def token_and_time(x_ptr, p_ptr, e_ptr, y_ptr, T, C, n, BLOCK: tl.constexpr):
    """A row for each token, and one for each batch: two kernels, each with owners of its own."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    c = i % C
    t = i // C % T
    b = i // (C * T)
    x = tl.load(x_ptr + i, mask=mask, other=0.0)
    p = tl.load(p_ptr + t * C + c, mask=mask, other=0.0)
    e = tl.load(e_ptr + b * C + c, mask=mask, other=0.0)
    tl.store(y_ptr + i, x * p * e, mask=mask)


def run_token_and_time(x, p, e):
    y = torch.empty_like(x)
    B, T, C = x.shape
    n = x.numel()
    token_and_time[(triton.cdiv(n, 16),)](x, p, e, y, T, C, n, BLOCK=16)
    return y


@triton.jit
def heads_of_batches(x_ptr, g_ptr, y_ptr, T, H, D, n, BLOCK: tl.constexpr):
    """Runs of elements in periods: owners are in neither of the two forms."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(g_ptr + i // (T * H * D) * H + i // D % H, mask=i < n, other=0.0)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, x * g, mask=i < n)


def run_heads_of_batches(x, g):
    y = torch.empty_like(x)
    B, T, H, D = x.shape
    heads_of_batches[(triton.cdiv(x.numel(), 32),)](x, g, y, T, H, D, x.numel(), BLOCK=32)
    return y


@triton.jit
def twice_in_a_table(x_ptr, w_ptr, y_ptr, T, C, n, BLOCK: tl.constexpr):
    """One tensor is a row for each token and one for each batch: its gradient is no one kernel's."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask, other=0.0)
    p = tl.load(w_ptr + i % (T * C), mask=mask, other=0.0)
    e = tl.load(w_ptr + i // (T * C) * C + i % C, mask=mask, other=0.0)
    tl.store(y_ptr + i, x + p * e, mask=mask)


def run_twice_in_a_table(x, w):
    y = torch.empty_like(x)
    B, T, C = x.shape
    n = x.numel()
    twice_in_a_table[(triton.cdiv(n, 32),)](x, w, y, T, C, n, BLOCK=32)
    return y


@triton.jit
def short_runs(x_ptr, gate_ptr, w_ptr, y_ptr, n, D, BLOCK: tl.constexpr):
    """Several runs in a tile, with the number of an element in its run; the last run may be short."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    row = offs // D
    column = offs % D
    x = tl.load(x_ptr + row * D + column, mask=mask)
    gate = tl.load(gate_ptr + row, mask=mask)
    w = tl.load(w_ptr + row, mask=mask)
    tl.store(y_ptr + offs, x * tl.sigmoid(gate) + w, mask=mask)


def run_short_runs(x, gate, w, D: int):
    y = torch.empty_like(x)
    n = x.numel()
    short_runs[(triton.cdiv(n, 32),)](x, gate, w, y, n, D, BLOCK=32)
    return y


@triton.jit
def wide_runs(x_ptr, gate_ptr, y_ptr, n, stride, D: tl.constexpr, BLOCK: tl.constexpr):
    """An index of 64 bits, and numbers of runs that do not lie side by side."""
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    gate = tl.load(gate_ptr + offs // D * stride, mask=mask)
    tl.store(y_ptr + offs, x * gate, mask=mask)


def run_wide_runs(x, gate):
    y = torch.empty_like(x)
    n = x.numel()
    wide_runs[(triton.cdiv(n, 32),)](x, gate, y, n, gate.stride(0), D=x.shape[1], BLOCK=32)
    return y


@triton.jit
def whole_runs(x_ptr, gate_ptr, y_ptr, D: tl.constexpr, BLOCK: tl.constexpr):
    """No mask: programs have all that there is."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs) + tl.load(gate_ptr + offs // D))


def run_whole_runs(x, gate):
    y = torch.empty_like(x)
    whole_runs[(x.numel() // 32,)](x, gate, y, D=x.shape[1], BLOCK=32)
    return y


@triton.jit
def flagged_runs(x_ptr, gate_ptr, flag_ptr, y_ptr, n, D, BLOCK: tl.constexpr):
    """What a run is read under is another mask."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    on = tl.load(flag_ptr + offs // D, mask=mask, other=0) > 0
    gate = tl.load(gate_ptr + offs // D, mask=mask)
    x = tl.load(x_ptr + offs, mask=mask & on, other=0.0)
    tl.store(y_ptr + offs, x * gate, mask=mask)


def run_flagged_runs(x, gate, flag):
    y = torch.empty_like(x)
    n = x.numel()
    flagged_runs[(triton.cdiv(n, 32),)](x, gate, flag, y, n, x.shape[1], BLOCK=32)
    return y


@triton.jit
def runs_and_columns(x_ptr, gate_ptr, b_ptr, y_ptr, n, D, BLOCK: tl.constexpr):
    """A table of runs beside one of columns: a kernel each."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    gate = tl.load(gate_ptr + offs // D, mask=mask)
    b = tl.load(b_ptr + offs % D, mask=mask)
    tl.store(y_ptr + offs, x * gate * b, mask=mask)


def run_runs_and_columns(x, gate, b):
    y = torch.empty_like(x)
    n = x.numel()
    runs_and_columns[(triton.cdiv(n, 32),)](x, gate, b, y, n, b.numel(), BLOCK=32)
    return y


@triton.autotune(configs=[triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})], key=["n"])
@triton.jit
def tuned_runs(x_ptr, b_ptr, y_ptr, n, D, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    b = tl.load(b_ptr + offs // D, mask=mask)
    tl.store(y_ptr + offs, x * b, mask=mask)


def run_tuned_runs(x, b):
    y = torch.empty_like(x)
    n = x.numel()
    tuned_runs[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, b, y, n, x.shape[-1])
    return y


@triton.jit
def first_of_a_run(x_ptr, gate_ptr, y_ptr, n, D, BLOCK: tl.constexpr):
    """The number stands where its run begins."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    gate = tl.load(gate_ptr + (offs - offs % D), mask=mask)
    tl.store(y_ptr + offs, x * gate, mask=mask)


def run_first_of_a_run(x, gate):
    y = torch.empty_like(x)
    n = x.numel()
    first_of_a_run[(triton.cdiv(n, 32),)](x, gate, y, n, x.shape[1], BLOCK=32)
    return y


@triton.jit
def capped_runs(x_ptr, gate_ptr, y_ptr, n, D, most, BLOCK: tl.constexpr):
    """A tile of one number, in the shape of the block."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    top = tl.full([BLOCK], most, tl.float32)
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    gate = tl.load(gate_ptr + offs // D, mask=mask, other=1.0)
    tl.store(y_ptr + offs, tl.minimum(x * gate, top) * top, mask=mask)


def run_capped_runs(x, gate, most: float):
    y = torch.empty_like(x)
    n = x.numel()
    capped_runs[(triton.cdiv(n, 32),)](x, gate, y, n, x.shape[1], most, BLOCK=32)
    return y


@triton.jit
def spread_runs(x_ptr, gate_ptr, y_ptr, n, D, BLOCK: tl.constexpr):
    """A shape that is said keeps the forward's block."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs[:, None], mask=mask[:, None], other=0.0)
    gate = tl.load(gate_ptr + (offs // D)[:, None], mask=mask[:, None], other=1.0)
    tl.store(y_ptr + offs[:, None], x * gate, mask=mask[:, None])


def run_spread_runs(x, gate):
    y = torch.empty_like(x)
    n = x.numel()
    spread_runs[(triton.cdiv(n, 32),)](x, gate, y, n, x.shape[1], BLOCK=32)
    return y
