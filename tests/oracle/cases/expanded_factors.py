"""A tensor whose elements share memory, as both factors of a product."""

# case: {"class": "views", "call": "m.gram(x)", "inputs": {"x": [16, 16]}}
# case: {"class": "views", "call": "m.gram(x.expand(16, 16))", "inputs": {"x": [1, 16]}}
# case: {"class": "views", "call": "m.gram(x.expand(16, 16))", "inputs": {"x": [16, 1]}}
# case: {"class": "views", "call": "m.gram_inside(x)", "inputs": {"x": [16]}}
# case: {"class": "views", "call": "m.gram_turned(x)", "inputs": {"x": [16]}}
# case: {"class": "views", "call": "m.row_product(x)", "inputs": {"x": [16]}}

# case: {"class": "views", "call": "m.own(x)", "inputs": {"x": [20, 16]}}
# case: {"class": "views", "call": "m.own(x.expand(20, 16))", "inputs": {"x": [1, 16]}}
# case: {"class": "views", "call": "m.own(x.expand(20, 16))", "inputs": {"x": [20, 1]}}
# case: {"class": "views", "call": "m.own_inside(x)", "inputs": {"x": [16]}}

import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    terms = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * sam + (k + terms)[None, :] * sak, mask=(rows[:, None] < M) & (k + terms < K)[None, :], other=0.0)
        y = tl.load(b + (k + terms)[:, None] * sbk + cols[None, :] * sbn, mask=(k + terms < K)[:, None] & (cols[None, :] < N), other=0.0)
        total += tl.dot(x, y)
    tl.store(c + rows[:, None] * scm + cols[None, :] * scn, total, mask=(rows[:, None] < M) & (cols[None, :] < N))


def gram(x):
    m, k = x.shape
    c = torch.empty(m, m, dtype=x.dtype, device=x.device)
    product_kernel[(triton.cdiv(m, 16), triton.cdiv(m, 16))](x, x, c, m, m, k, x.stride(0), x.stride(1), x.stride(1), x.stride(0), c.stride(0), c.stride(1), BM=16, BN=16, BK=16)
    return c


def gram_inside(x):
    x = x.expand(16, 16)
    return gram(x)


def gram_turned(x):
    x = x[:, None].expand(16, 16)
    c = torch.empty(16, 16, dtype=x.dtype, device=x.device)
    product_kernel[(1, 1)](x, x, c, 16, 16, 16, x.stride(0), x.stride(1), x.stride(0), x.stride(1), c.stride(0), c.stride(1), BM=16, BN=16, BK=16)
    return c


@triton.jit
def row_kernel(a, b, c, M, N, sa, sb, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.arange(0, BM)
    cols = tl.arange(0, BN)
    x = tl.load(a + rows[:, None] * sa + cols[None, :], mask=(rows[:, None] < M) & (cols[None, :] < N), other=0.0)
    y = tl.load(b + rows[:, None] * sb + cols[None, :], mask=(rows[:, None] < M) & (cols[None, :] < N), other=0.0)
    tl.store(c + rows, tl.sum(x * y, axis=1), mask=rows < M)


def row_product(x):
    x = x.expand(8, 16)
    c = torch.empty(8, dtype=x.dtype, device=x.device)
    row_kernel[(1,)](x, x, c, 8, 16, x.stride(0), x.stride(0), BM=8, BN=16)
    return c


@triton.jit
def own_kernel(a, c, M, K, sam, sak, BM: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BM + tl.arange(0, BM)
    terms = tl.arange(0, BK)
    total = tl.zeros((BM, BM), dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * sam + (k + terms)[None, :] * sak, mask=(rows[:, None] < M) & (k + terms < K)[None, :], other=0.0)
        y = tl.load(a + cols[None, :] * sam + (k + terms)[:, None] * sak, mask=(k + terms < K)[:, None] & (cols[None, :] < M), other=0.0)
        total += tl.dot(x, y)
    tl.store(c + rows[:, None] * M + cols[None, :], total, mask=(rows[:, None] < M) & (cols[None, :] < M))


def own(x):
    m, k = x.shape
    c = torch.empty(m, m, dtype=x.dtype, device=x.device)
    own_kernel[(triton.cdiv(m, 16), triton.cdiv(m, 16))](x, c, m, k, x.stride(0), x.stride(1), BM=16, BK=16)
    return c


def own_inside(x):
    x = x.expand(20, 16)
    c = torch.empty(20, 20, dtype=x.dtype, device=x.device)
    own_kernel[(2, 2)](x, c, 20, 16, x.stride(0), x.stride(1), BM=16, BK=16)
    return c
