"""Gathers, scatters, what no launch stores, several launches of one kernel, views, flags, products."""

# case: {"class": "launches of all kinds", "call": "m.gather(x, i)", "inputs": {"x": [9, 5], "i": {"shape": [13], "dtype": "int64", "values": [8, 0, 3, 3, 1, 7, 2, 8, 4, 5, 0, 6, 3]}}}
# case: {"class": "launches of all kinds", "call": "m.gather(x, i.int())", "inputs": {"x": [9, 5], "i": {"shape": [13], "dtype": "int64", "values": [8, 0, 3, 3, 1, 7, 2, 8, 4, 5, 0, 6, 3]}}}
# case: {"class": "launches of all kinds", "call": "m.gather(x.t().contiguous().t(), i)", "inputs": {"x": [9, 5], "i": {"shape": [13], "dtype": "int64", "values": [8, 0, 3, 3, 1, 7, 2, 8, 4, 5, 0, 6, 3]}}}
# case: {"class": "launches of all kinds", "call": "m.gather(x, i)", "inputs": {"x": [1, 5], "i": {"shape": [3], "dtype": "int64", "values": [0, 0, 0]}}}
# case: {"class": "launches of all kinds", "call": "m.scatter(x, i)", "inputs": {"x": [4, 5], "i": {"shape": [4], "dtype": "int64", "values": [2, 0, 3, 1]}}}
# case: {"class": "launches of all kinds", "call": "m.scatter(x, i)", "inputs": {"x": [4, 5], "i": {"shape": [4], "dtype": "int64", "values": [2, 5, 3, 1]}}}
# case: {"class": "launches of all kinds", "call": "m.added(x, i)", "inputs": {"x": [6, 5], "i": {"shape": [6], "dtype": "int64", "values": [2, 0, 2, 1, 0, 2]}}}
# case: {"class": "launches of all kinds", "call": "m.part_filled(x)", "inputs": {"x": [4, 21]}}
# case: {"class": "launches of all kinds", "call": "m.part_filled(x)", "inputs": {"x": [4, 16]}}
# case: {"class": "launches of all kinds", "call": "m.half_stored(x, 2)", "inputs": {"x": [4, 21]}}
# case: {"class": "launches of all kinds", "call": "m.half_stored(x, 4)", "inputs": {"x": [4, 21]}}
# case: {"class": "launches of all kinds", "call": "m.half_stored(x, 0)", "inputs": {"x": [4, 21]}}
# case: {"class": "launches of all kinds", "call": "m.accumulate(x, 3)", "inputs": {"x": [17]}}
# case: {"class": "launches of all kinds", "call": "m.accumulate(x, 1)", "inputs": {"x": [17]}}
# case: {"class": "launches of all kinds", "call": "m.chunks(x)", "inputs": {"x": [5, 24]}}
# case: {"class": "launches of all kinds", "call": "m.chunks(x)", "inputs": {"x": [1, 8]}}
# case: {"class": "launches of all kinds", "call": "m.by_flag(x, True)", "inputs": {"x": [17]}}
# case: {"class": "launches of all kinds", "call": "m.by_flag(x, False)", "inputs": {"x": [17]}}
# case: {"class": "launches of all kinds", "call": "m.many(x)", "inputs": {"x": [17]}}
# case: {"class": "launches of all kinds", "call": "m.into_views(x)", "inputs": {"x": [5, 8]}}
# case: {"class": "launches of all kinds", "call": "m.from_views(x)", "inputs": {"x": [5, 24]}}
# case: {"class": "launches of all kinds", "call": "m.matmul(a, b)", "inputs": {"a": [17, 9], "b": [9, 33]}}
# case: {"class": "launches of all kinds", "call": "m.matmul(a, b)", "inputs": {"a": [1, 1], "b": [1, 1]}}
# case: {"class": "launches of all kinds", "call": "m.matmul(a, b.t())", "inputs": {"a": [17, 9], "b": [33, 9]}}
# case: {"class": "launches of all kinds", "call": "m.matmul(a, a.t())", "inputs": {"a": [17, 9]}}
# case: {"class": "launches of all kinds", "call": "m.matmul(a[::2], b[:, 1:])", "inputs": {"a": [17, 9], "b": [9, 20]}}
# case: {"class": "launches of all kinds", "call": "m.matmul(a, b).sum(1)", "inputs": {"a": [17, 9], "b": [9, 33]}}
# case: {"class": "launches of all kinds", "call": "m.matmul(a, b)[3]", "inputs": {"a": [17, 9], "b": [9, 33]}}
# case: {"class": "launches of all kinds", "call": "m.matmul(a, b)", "inputs": {"a": {"shape": [17, 9], "grad": false}, "b": [9, 33]}}
# case: {"class": "launches of all kinds", "call": "m.matmul(a[:1].expand(17, 9), b)", "inputs": {"a": [17, 9], "b": [9, 33]}}
# case: {"class": "launches of all kinds", "call": "m.matmul(a, b)", "inputs": {"a": [0, 9], "b": [9, 33]}}
import torch
import triton
import triton.language as tl


@triton.jit
def gather_kernel(x, i, y, rows, cols, s0, s1, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    k = tl.load(i + row)
    v = tl.load(x + k * s0 + at * s1, mask=at < cols, other=0.0)
    tl.store(y + row * cols + at, v * v, mask=at < cols)


def gather(x, i):
    y = torch.empty(i.shape[0], x.shape[1], dtype=x.dtype, device=x.device)
    gather_kernel[(i.shape[0],)](x, i, y, x.shape[0], x.shape[1], *x.stride(), BLOCK=8)
    return y


@triton.jit
def scatter_kernel(x, i, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    k = tl.load(i + row)
    v = tl.load(x + row * cols + at, mask=at < cols, other=0.0)
    tl.store(y + k * cols + at, tl.sin(v), mask=at < cols)


def scatter(x, i):
    y = torch.zeros(6, x.shape[1], dtype=x.dtype, device=x.device)
    scatter_kernel[(x.shape[0],)](x, i, y, x.shape[1], BLOCK=8)
    return y


@triton.jit
def added_kernel(x, i, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    k = tl.load(i + row)
    v = tl.load(x + row * cols + at, mask=at < cols, other=0.0)
    tl.atomic_add(y + k * cols + at, v * v, mask=at < cols)


def added(x, i):
    y = torch.zeros(3, x.shape[1], dtype=x.dtype, device=x.device)
    added_kernel[(x.shape[0],)](x, i, y, x.shape[1], BLOCK=8)
    return y


@triton.jit
def copy_kernel(x, y, n, xs, ys, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + row * xs + at, mask=at < n, other=0.0)
    tl.store(y + row * ys + at, v * tl.exp(v), mask=at < n)


def part_filled(x):
    y = torch.ones(x.shape[0], 24, dtype=x.dtype, device=x.device)
    n = x.shape[1]
    copy_kernel[(x.shape[0], n // 16)](x, y, n, x.stride(0), y.stride(0), BLOCK=16)
    return y


def half_stored(x, rows):
    y = x.clone()
    copy_kernel[(rows, 2)](x, y, x.shape[1], x.stride(0), y.stride(0), BLOCK=16)
    return y


@triton.jit
def add_kernel(x, y, n, k, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = at < n
    v = tl.load(x + at, mask=ok, other=0.0)
    u = tl.load(y + at, mask=ok, other=0.0)
    tl.store(y + at, u * 0.5 + v * k, mask=ok)


def accumulate(x, times):
    y = torch.zeros_like(x)
    for k in range(times):
        add_kernel[(triton.cdiv(x.numel(), 8),)](x, y, x.numel(), k + 1.0, BLOCK=8)
    return y


def chunks(x):
    outs = []
    for part in x.split(8, dim=1):
        y = torch.empty(part.shape, dtype=x.dtype, device=x.device)
        copy_kernel[(x.shape[0], 1)](part, y, 8, part.stride(0), y.stride(0), BLOCK=8)
        outs.append(y)
    return torch.cat(outs, 1)


@triton.jit
def flag_kernel(x, y, n, FLAG: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0.0)
    if FLAG:
        v = v * v
    else:
        v = tl.sin(v) + 1.0
    tl.store(y + at, v, mask=at < n)


def by_flag(x, flag):
    y = torch.empty_like(x)
    if flag:
        flag_kernel[(triton.cdiv(x.numel(), 16),)](x, y, x.numel(), True, BLOCK=16)
    else:
        flag_kernel[(1,)](x, y, x.numel(), False, BLOCK=32)
    return y


def many(x):
    a, b, c = (torch.empty_like(x) for _ in range(3))
    flag_kernel[(3,)](x, a, x.numel(), True, BLOCK=8)
    flag_kernel[(3,)](a, b, x.numel(), False, BLOCK=8)
    flag_kernel[(2,)](b, c, x.numel(), True, BLOCK=16)
    return a + c


def into_views(x):
    y = torch.zeros(5, 24, dtype=x.dtype, device=x.device)
    for k in range(3):
        part = y[:, 8 * k : 8 * k + 8]
        copy_kernel[(5, 1)](x, part, 8, x.stride(0), part.stride(0), BLOCK=8)
    return y


def from_views(x):
    y = torch.empty(5, 8, dtype=x.dtype, device=x.device)
    z = torch.empty(5, 8, dtype=x.dtype, device=x.device)
    q, k, _ = x.chunk(3, dim=1)
    copy_kernel[(5, 1)](q, y, 8, q.stride(0), y.stride(0), BLOCK=8)
    copy_kernel[(5, 1)](k, z, 8, k.stride(0), z.stride(0), BLOCK=8)
    return y * z


@triton.jit
def mm_kernel(
    a, b, c, M, N, K, am, ak, bk, bn, cm, cn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros([BM, BN], tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        u = tl.load(
            a + m[:, None] * am + k[None, :] * ak,
            mask=(m[:, None] < M) & (k[None, :] < K),
            other=0.0,
        )
        v = tl.load(
            b + k[:, None] * bk + n[None, :] * bn,
            mask=(k[:, None] < K) & (n[None, :] < N),
            other=0.0,
        )
        acc += tl.sum(u[:, :, None] * v[None, :, :], 1)
    tl.store(c + m[:, None] * cm + n[None, :] * cn, acc, mask=(m[:, None] < M) & (n[None, :] < N))


def matmul(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty(M, N, dtype=a.dtype, device=a.device)
    mm_kernel[(triton.cdiv(M, 8), triton.cdiv(N, 16))](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), 8, 16, 4
    )
    return c
