"""What products and rows share besides: scales and bias of swizzled tiles, scales of blocks, numbers, rows of a batch."""

# case: {"class": "slices", "call": "m.run_scaled(a, b, rows, columns, bias)", "inputs": {"a": [19, 21], "b": [21, 35], "rows": [19], "columns": [35], "bias": [35]}}
# case: {"class": "slices", "call": "m.run_scaled_blocks(a, b, sa, sb)", "inputs": {"a": [19, 70], "b": [35, 70], "sa": [19, 3], "sb": [5, 3]}}
# case: {"class": "slices", "call": "m.run_three_numbers(x, w)", "inputs": {"x": [9, 7], "w": [3]}}
# case: {"class": "slices", "call": "m.run_batch_rows(x, scale)", "inputs": {"x": [14, 5], "scale": [2, 5]}}
# case: {"class": "slices", "call": "m.run_batch_rows(x, part[:, 2:7])", "inputs": {"x": [14, 5], "part": [2, 9]}}

import torch
import triton
import triton.language as tl


@triton.jit
def tile_of(m, n, B: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    down, across = tl.cdiv(m, B), tl.cdiv(n, B)
    first = pid // (GROUP * across) * GROUP
    height = min(down - first, GROUP)
    rest = pid % (GROUP * across)
    return first + rest % height, rest // height


@triton.jit
def scaled(a, b, rows, columns, bias, c, m, n, k, B: tl.constexpr, GROUP: tl.constexpr):
    """Rows, columns and bias are read at places that wrap around, under no mask."""
    row, column = tile_of(m, n, B, GROUP)
    i, j, t = row * B + tl.arange(0, B), column * B + tl.arange(0, B), tl.arange(0, B)
    ri, rj = i % m, j % n
    acc = tl.zeros((B, B), dtype=tl.float32)
    for start in range(0, k, B):
        left = tl.load(
            a + ri[:, None] * k + (start + t)[None, :], mask=(start + t < k)[None, :], other=0.0
        )
        right = tl.load(
            b + (start + t)[:, None] * n + rj[None, :], mask=(start + t < k)[:, None], other=0.0
        )
        acc += tl.dot(left, right)
    acc = (
        acc * tl.load(rows + ri)[:, None] * tl.load(columns + rj)[None, :]
        + tl.load(bias + rj)[None, :]
    )
    tl.store(c + i[:, None] * n + j[None, :], acc, mask=(i < m)[:, None] & (j < n)[None, :])


@triton.jit
def scaled_blocks(
    a,
    b,
    sa,
    sb,
    c,
    m,
    n,
    k,
    sa_row,
    sa_col,
    sb_row,
    sb_col,
    PER_N: tl.constexpr,
    PER_K: tl.constexpr,
    B: tl.constexpr,
    GROUP: tl.constexpr,
):
    """Of the one factor each row has a scale for some terms, of the other each block of rows and terms."""
    row, column = tile_of(m, n, B, GROUP)
    i, j, t = (row * B + tl.arange(0, B)) % m, (column * B + tl.arange(0, B)) % n, tl.arange(0, B)
    acc = tl.zeros((B, B), dtype=tl.float32)
    for step in range(0, tl.cdiv(k, B)):
        inside = t < k - step * B
        left = tl.load(
            a + i[:, None] * k + (step * B + t)[None, :], mask=inside[None, :], other=0.0
        )
        right = tl.load(
            b + j[None, :] * k + (step * B + t)[:, None], mask=inside[:, None], other=0.0
        )
        block = step * B // PER_K
        left_scale = tl.load(sa + i * sa_row + block * sa_col)
        right_scale = tl.load(sb + j // PER_N * sb_row + block * sb_col)
        acc += tl.dot(left, right) * left_scale[:, None] * right_scale[None, :]
    i, j = row * B + tl.arange(0, B), column * B + tl.arange(0, B)
    tl.store(c + i[:, None] * n + j[None, :], acc, mask=(i < m)[:, None] & (j < n)[None, :])


@triton.jit
def three_numbers(x, w, y, n, B: tl.constexpr):
    i = tl.program_id(0)
    j = tl.arange(0, B)
    a = tl.load(x + i * n + j, mask=j < n, other=0.0)
    mean = tl.sum(a * a, 0) / n
    out = tl.load(w) * a + tl.load(w + 1) * a * a + tl.load(w + 2) * a * tl.rsqrt(mean + 1.0)
    tl.store(y + i * n + j, out, mask=j < n)


@triton.jit
def batch_rows(x, scale, y, n, per, x_row, scale_row, y_row, B: tl.constexpr):
    i = tl.program_id(0)
    j = tl.arange(0, B)
    a = tl.load(x + i * x_row + j, mask=j < n, other=0.0)
    s = tl.load(scale + i // per * scale_row + j, mask=j < n, other=0.0)
    a = a * tl.rsqrt(tl.sum(a * a, 0) / n + 1.0)
    tl.store(y + i * y_row + j, a * (1 + s), mask=j < n)


# tad: per=2, x_row=16, scale_row=16, y_row=16, B=16, x=f32[96], scale=f32[48], y=f32[96], grid=(6,)
@triton.jit
def whole_batch_rows(x, scale, y, per, x_row, scale_row, y_row, B: tl.constexpr):
    """No mask ends a row, which may be shorter than the tile: the next one may be another program's."""
    i = tl.program_id(0)
    j = tl.arange(0, B)
    s = tl.load(scale + i // per * scale_row + j)
    tl.store(y + i * y_row + j, tl.exp(tl.load(x + i * x_row + j)) * s)


@triton.jit
def peeled(a, b, c, m, n, k, B: tl.constexpr, GROUP: tl.constexpr):
    """The last block always stands behind the loop, and casts stand below a condition on types."""
    row, column = tile_of(m, n, B, GROUP)
    i, j, t = row * B + tl.arange(0, B), column * B + tl.arange(0, B), tl.arange(0, B)
    last = tl.cdiv(k, B) * B - B
    acc = tl.zeros((B, B), dtype=tl.float32)
    for start in range(0, last, B):
        left = tl.load(a + (i % m)[:, None] * k + (start + t)[None, :])
        right = tl.load(b + (start + t)[:, None] * n + (j % n)[None, :])
        if left.dtype != right.dtype:
            left = left.to(c.dtype.element_ty)
            right = right.to(c.dtype.element_ty)
        acc += tl.dot(left, right)
    t = last + t
    left = tl.load(a + (i % m)[:, None] * k + t[None, :], mask=(t < k)[None, :], other=0.0)
    right = tl.load(b + t[:, None] * n + (j % n)[None, :], mask=(t < k)[:, None], other=0.0)
    if left.dtype != right.dtype:
        left = left.to(c.dtype.element_ty)
        right = right.to(c.dtype.element_ty)
    acc += tl.dot(left, right)
    tl.store(c + i[:, None] * n + j[None, :], acc, mask=(i < m)[:, None] & (j < n)[None, :])


@triton.jit
def added_where_given(a, d, c, m, n, d_row, d_col, HAS_D: tl.constexpr, B: tl.constexpr):
    """Without `d` its strides are 0, and nothing is read."""
    i, j = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, B)
    inside = (i < m)[:, None] & (j < n)[None, :]
    out = tl.exp(tl.load(a + i[:, None] * n + j[None, :], mask=inside, other=0.0))
    if HAS_D:
        out += tl.load(d + i[:, None] * d_row + j[None, :] * d_col, mask=inside, other=0.0)
    tl.store(c + i[:, None] * n + j[None, :], out, mask=inside)


def run_scaled(a, b, rows, columns, bias):
    (m, k), n = a.shape, b.shape[1]
    c = a.new_empty(m, n)
    grid = (triton.cdiv(m, 16) * triton.cdiv(n, 16),)
    scaled[grid](a, b, rows, columns, bias, c, m, n, k, B=16, GROUP=2)
    return c


def run_scaled_blocks(a, b, sa, sb):
    (m, k), n = a.shape, b.shape[0]
    c = a.new_empty(m, n)
    grid = (triton.cdiv(m, 16) * triton.cdiv(n, 16),)
    scaled_blocks[grid](
        a,
        b,
        sa,
        sb,
        c,
        m,
        n,
        k,
        sa.stride(0),
        sa.stride(1),
        sb.stride(0),
        sb.stride(1),
        PER_N=8,
        PER_K=32,
        B=16,
        GROUP=2,
    )
    return c


def run_three_numbers(x, w):
    y = torch.empty_like(x)
    three_numbers[(x.shape[0],)](x, w, y, x.shape[1], B=triton.next_power_of_2(x.shape[1]))
    return y


def run_batch_rows(x, scale):
    y = torch.empty_like(x)
    m, n = x.shape
    per = m // scale.shape[0]
    batch_rows[(m,)](
        x, scale, y, n, per, x.stride(0), scale.stride(0), y.stride(0), B=triton.next_power_of_2(n)
    )
    return y


def run_whole_batch_rows(x, scale):
    y = torch.empty_like(x)
    per = x.shape[0] // scale.shape[0]
    whole_batch_rows[(x.shape[0],)](
        x, scale, y, per, x.stride(0), scale.stride(0), y.stride(0), B=16
    )
    return y


def run_peeled(a, b):
    (m, k), n = a.shape, b.shape[1]
    c = a.new_empty(m, n)
    grid = (triton.cdiv(m, 16) * triton.cdiv(n, 16),)
    peeled[grid](a, b, c, m, n, k, B=16, GROUP=2)
    return c


def run_added_where_given(a, d=None):
    c = torch.empty_like(a)
    has_d = d is not None
    if has_d:
        strides = (d.stride(0), d.stride(1))
    else:
        strides = (0, 0)
    added_where_given[(triton.cdiv(a.shape[0], 8),)](
        a,
        d if has_d else a,
        c,
        a.shape[0],
        a.shape[1],
        strides[0],
        strides[1],
        HAS_D=1 if has_d else 0,
        B=8,
    )
    return c
