"""A flag of the launcher leaves programs or lanes out, or chooses an element type: what holds by default is no fact."""

# case: {"class": "flags", "call": "m.rows_by_flag(x)", "inputs": {"x": [6, 5]}, "expect": "right"}
# case: {"call": "m.rows_by_flag(x, True)", "inputs": {"x": [6, 5]}, "expect": "right"}
# case: {"call": "m.rows_by_number(x, 2)", "inputs": {"x": [6, 5]}, "expect": "right"}
# case: {"call": "m.block_by_flag(x, True)", "inputs": {"x": [6, 5]}, "expect": "right"}
# case: {"call": "m.enlarged(x, True)", "inputs": {"x": [6, 5]}, "expect": "right"}
# case: {"call": "m.unfolded(x, True)", "inputs": {"x": [4, 9]}, "expect": "right"}
# case: {"call": "m.index_type(x, True)", "inputs": {"x": [4, 300]}, "expect": "right"}
# case: {"call": "m.index_type(x)", "inputs": {"x": [4, 300]}, "expect": "right"}
# case: {"call": "m.rows_by_decision(x, mode='half')", "inputs": {"x": [6, 5]}, "expect": "right"}
# case: {"call": "m.rows_by_decision(x, level=4)", "inputs": {"x": [6, 5]}, "expect": "right"}
# case: {"call": "m.rows_by_decision(x, a=True, b=True)", "inputs": {"x": [6, 5]}, "expect": "right"}
# case: {"call": "m.index_type_by_size(x)", "inputs": {"x": [4, 300]}, "expect": "right"}

import torch
import triton
import triton.language as tl


@triton.jit
def taps(x, y, H, W, BLOCK: tl.constexpr):
    h = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], x.dtype.element_ty)
    for a in tl.static_range(3):
        for b in tl.static_range(3):
            r = h + a - 1
            c = j + b - 1
            inside = (j < W) & (r >= 0) & (r < H) & (c >= 0) & (c < W)
            acc += tl.load(x + r * W + c, mask=inside, other=0.0) * (a + 2 * b + 1)
    tl.store(y + h * W + j, acc, mask=j < W)


@triton.jit
def number_taps(x, y, H, W, BLOCK: tl.constexpr):
    h = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], x.dtype.element_ty)
    for a in tl.static_range(3):
        r = h + a - 1
        acc += tl.load(x + r * W + j, mask=(j < W) & (r >= 0) & (r < H), other=0.0) * (a + 1)
    tl.store(y + h * W + j, acc, mask=j < W)


@triton.jit
def block_taps(x, y, H, W, BLOCK: tl.constexpr):
    h = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], x.dtype.element_ty)
    for b in tl.static_range(3):
        c = j + b - 1
        acc += tl.load(x + h * W + c, mask=(j < W) & (c >= 0) & (c < W), other=0.0) * (2 * b + 1)
    tl.store(y + h * W + j, acc, mask=j < W)


def rows_by_flag(x, few=False):
    H, W = x.shape
    y = torch.zeros_like(x)
    grid = (H,)
    if few:
        grid = (H // 2,)
    taps[grid](x, y, H, W, BLOCK=triton.next_power_of_2(W))
    return y


def rows_by_number(x, rows=None):
    H, W = x.shape
    y = torch.zeros_like(x)
    rows = H if rows is None else rows
    number_taps[(rows,)](x, y, H, W, BLOCK=triton.next_power_of_2(W))
    return y


def block_by_flag(x, few=False):
    H, W = x.shape
    y = torch.zeros_like(x)
    block = triton.next_power_of_2(W)
    if few:
        block = block // 2
    block_taps[(H,)](x, y, H, W, BLOCK=block)
    return y


@triton.jit
def enlarge(x, y, H, W, n, S: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    w = i % (W * S)
    h = i // (W * S)
    v = tl.load(x + h // S * W + w // S, mask=i < n, other=0.0)
    tl.store(y + i, v * 3, mask=i < n)


def enlarged(x, part=False):
    H, W = x.shape
    y = torch.zeros(H * 2, W * 2, dtype=x.dtype)
    grid = (triton.cdiv(y.numel(), 8),)
    if part:
        grid = (3,)
    enlarge[grid](x, y, H, W, y.numel(), S=2, BLOCK=8)
    return y


@triton.jit
def unfold(x, y, L, O, n, K: tl.constexpr, S: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    k = i % K
    o = i // K % O
    c = i // (K * O)
    v = tl.load(x + c * L + o * S + k, mask=i < n, other=0.0)
    tl.store(y + i, v * 3, mask=i < n)


def unfolded(x, part=False):
    C, L = x.shape
    windows = (L - 3) // 2 + 1
    y = torch.zeros(C, windows, 3, dtype=x.dtype)
    grid = (triton.cdiv(C * windows * 3, 8),)
    if part:
        grid = (2,)
    unfold[grid](x, y, L, windows, C * windows * 3, K=3, S=2, BLOCK=8)
    return y


@triton.jit
def row_max(x, y, index, N, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + r * N + i, mask=i < N, other=-float("inf"))
    m, at = tl.max(v, 0, return_indices=True)
    tl.store(y + r, m)
    tl.store(index + r, at)


def index_type(x, small=False):
    y = torch.empty(x.shape[0], dtype=x.dtype)
    index = torch.empty(x.shape[0], dtype=torch.int8 if small else torch.int64)
    row_max[(x.shape[0],)](x, y, index, x.shape[1], BLOCK=512)
    return y


@triton.jit
def decided_taps(x, y, H, W, BLOCK: tl.constexpr):
    h = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], x.dtype.element_ty)
    for a in tl.static_range(3):
        for b in tl.static_range(3):
            r = h + a - 1
            c = j + b - 1
            inside = (j < W) & (r >= 0) & (r < H) & (c >= 0) & (c < W)
            acc += tl.load(x + r * W + c, mask=inside, other=0.0) * (a + 2 * b + 1)
    tl.store(y + h * W + j, acc, mask=j < W)


def rows_by_decision(x, mode="full", level=0, a=False, b=False):
    H, W = x.shape
    y = torch.zeros_like(x)
    rows = H
    if mode == "half" or level > 3:
        rows = H // 2
    elif a and b:
        rows = H - 2
    decided_taps[(rows,)](x, y, H, W, BLOCK=triton.next_power_of_2(W))
    return y


@triton.jit
def sized_max(x, y, index, N, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + r * N + i, mask=i < N, other=-float("inf"))
    m, at = tl.max(v, 0, return_indices=True)
    tl.store(y + r, m)
    tl.store(index + r, at)


def index_type_by_size(x):
    y = torch.empty(x.shape[0], dtype=x.dtype)
    index = torch.empty(x.shape[0], dtype=torch.int64 if x.shape[1] < 200 else torch.int8)
    sized_max[(x.shape[0],)](x, y, index, x.shape[1], BLOCK=512)
    return y
