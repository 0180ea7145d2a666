"""Columns wrap around (`% n`), and memory says which rows are stored: lanes past the end store what those below it do."""

# case: {"class": "told", "call": "m.expert(x, w, rows)", "inputs": {"x": [4, 6], "w": [6, 8], "rows": {"shape": [4], "dtype": "int32", "values": [2, 0, 3, 1]}}, "expect": "right"}
# case: {"class": "told", "call": "m.expert(x, w, rows)", "inputs": {"x": [4, 6], "w": [6, 5], "rows": {"shape": [4], "dtype": "int32", "values": [2, 0, 3, 1]}}, "expect": "right"}
# case: {"class": "told", "call": "m.expert(x, w, rows)", "inputs": {"x": [3, 6], "w": [6, 11], "rows": {"shape": [3], "dtype": "int32", "values": [2, 0, 1]}}, "expect": "right"}
# case: {"class": "told", "call": "m.expert(x, w, rows)", "inputs": {"x": [3, 6], "w": [6, 11], "rows": {"shape": [3], "dtype": "int32", "values": [2, 0, 2]}}}

import torch
import triton
import triton.language as tl


@triton.jit
def told_rows(o, x, w, rows, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    at = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = (tl.program_id(1) * BN + tl.arange(0, BN)) % n
    inner = tl.arange(0, BK)
    row = tl.load(rows + at, mask=at < m, other=0)
    a = tl.load(x + at[:, None] * k + inner[None, :], mask=(at < m)[:, None] & (inner < k)[None, :], other=0.0)
    b = tl.load(w + inner[:, None] * n + columns[None, :], mask=(inner < k)[:, None], other=0.0)
    c = tl.sum(a[:, :, None] * b[None, :, :], axis=1)
    tl.store(o + row[:, None] * n + columns[None, :], c * c, mask=(at < m)[:, None])


def expert(x, w, rows):
    m, k = x.shape
    n = w.shape[1]
    o = torch.zeros(m, n, dtype=x.dtype)
    told_rows[(triton.cdiv(m, 4), triton.cdiv(n, 8))](o, x, w, rows, m, n, k, BM=4, BN=8, BK=8)
    return o
