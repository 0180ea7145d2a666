"""Rows that advance under constexpr conditions."""

import torch
import triton
import triton.language as tl


@triton.jit
def advanced(x, r, y, stride, n, HAS_R: tl.constexpr, B: tl.constexpr):
    row = tl.program_id(0)
    x += row * stride
    y += row * stride
    if HAS_R:
        r += row * n
    j = tl.arange(0, B)
    a = tl.load(x + j, mask=j < n, other=0.0)
    if HAS_R:
        a += tl.load(r + j, mask=j < n, other=0.0)
    tl.store(y + j, a / tl.sqrt(tl.sum(a * a) / n + 1.0), mask=j < n)


@triton.jit
def advanced_otherwise(x, r, y, stride, n, BY_ROW: tl.constexpr, B: tl.constexpr):
    """Where the flag is off all programs read one row."""
    row = tl.program_id(0)
    if BY_ROW:
        r += row * n
    j = tl.arange(0, B)
    a = tl.load(x + row * stride + j, mask=j < n, other=0.0)
    a *= tl.load(r + j, mask=j < n, other=0.0)
    tl.store(y + row * stride + j, tl.exp(a), mask=j < n)


def launch_advanced(x, r, adds):
    y = torch.empty_like(x)
    advanced[(x.shape[0],)](x, r, y, x.stride(0), x.shape[1], adds, B=16)
    return y


def launch_advanced_otherwise(x, r):
    y = torch.empty_like(x)
    by_row = r.dim() == 2
    advanced_otherwise[(x.shape[0],)](x, r, y, x.stride(0), x.shape[1], by_row, B=16)
    return y


# tad: n=37, x=f32[n], y=f32[n], HALF=1, B=16, grid=(5,)
@triton.jit
def half_blocks(x, y, n, HALF: tl.constexpr, B: tl.constexpr):
    """A flag chooses the size of a tile, and how far loads run ahead: numbers known while Triton compiles."""
    SIZE: tl.constexpr = B // 2 if HALF else B
    i = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    total = tl.zeros([SIZE], tl.float32)
    for k in tl.range(0, 3, num_stages=2 if HALF else 1):
        total += tl.load(x + i, mask=i < n, other=0.0) * k
    tl.store(y + i, tl.exp(total), mask=i < n)


# tad: n=37, x=f32[n], y=f32[n], HALF=1, B=16, grid=(3,)
@triton.jit
def blocks_of_two_sizes(x, y, n, HALF: tl.constexpr, B: tl.constexpr):
    """A number that differs between the iterations that Triton writes out: no name is assigned for it in them."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    total = tl.zeros([B], tl.float32)
    for k in tl.static_range(3):
        total += tl.load(x + i, mask=i < n, other=0.0) * (k * (B if k == HALF else 2 * B))
    tl.store(y + i, tl.exp(total / B), mask=i < n)


# tad: n=4, x=f32[n, 8], last=f32[n], y=f32[n, 8], HAS=True, B=8, grid=(1,)
# tad: n=4, x=f32[n, 8], last=None, y=f32[n, 8], HAS=False, B=8, grid=(1,)
@triton.jit
def state_of_an_optional_tensor(x, last, y, n, HAS: tl.constexpr, B: tl.constexpr):
    """The state `seen` has the elements' type of a tensor that may be None."""
    i = tl.arange(0, B)
    h = tl.zeros([B], dtype=tl.float32)
    if HAS:
        seen = tl.load(last)
    for t in range(n):
        scale = 0.5
        if HAS:
            new = tl.load(last + t)
            scale = tl.where(new > seen, 0.25, 0.5)
            seen = new
        h = h * h * scale + tl.load(x + t * B + i)
        tl.store(y + t * B + i, h)


# tad: n=32, x=f32[n, 16], s=f32[16], y=f32[16], MODE=0, K=16, N=16, grid=(1,)
# tad: n=32, x=f32[n, 16], s=f32[16], y=f32[16], MODE=1, K=16, N=16, grid=(1,)
@triton.jit
def one_row_or_all(x, s, y, n, MODE: tl.constexpr, K: tl.constexpr, N: tl.constexpr):
    """What is summed has one row in one mode, and many in the other."""
    k = tl.arange(0, K)
    j = tl.arange(0, N)
    if MODE == 0:
        acc = tl.zeros([K, N], tl.float32)
    if MODE == 1:
        acc = tl.zeros([1, N], tl.float32)
    for start in range(0, n, K):
        v = tl.load(x + (start + k)[:, None] * N + j[None, :])
        if MODE == 0:
            acc += v * v
        if MODE == 1:
            acc += tl.sum(v * v, axis=0, keep_dims=True)
    if MODE == 0:
        acc = tl.sum(acc, axis=0, keep_dims=True)
    acc = acc * tl.load(s + j)[None, :]
    tl.store(y + tl.arange(0, 1)[:, None] * N + j[None, :], acc)
