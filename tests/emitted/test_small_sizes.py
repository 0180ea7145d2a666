"""Kernels without masks are made for multiples of their blocks: sizes beside these say nothing against a gradient."""

from __future__ import annotations

import json
from pathlib import Path

from tests.emitted.plan import tad

FILE = """import torch
import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, s_ptr, c_ptr, sam, sak, sbk, sbn, scm, scn, sg, sn, group, m, n, k,
            BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) // tl.cdiv(n, BN) * BM + tl.arange(0, BM)
    cols = tl.program_id(0) % tl.cdiv(n, BN) * BN + tl.arange(0, BN)
    terms = tl.arange(0, BK)
    a_ptrs = a_ptr + rows[:, None] * sam + terms[None, :] * sak
    b_ptrs = b_ptr + terms[:, None] // 8 * sbk + cols[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(0, tl.cdiv(k, BK)):
        s = tl.load(s_ptr + i // (group // BK) * sg + cols * sn)
        b = (tl.load(b_ptrs) >> ((terms % 8) * 4)[:, None]) & 15
        acc += tl.dot(tl.load(a_ptrs), b * s[None, :])
        a_ptrs += BK * sak
        b_ptrs += BK // 8 * sbk
    tl.store(c_ptr + rows[:, None] * scm + cols[None, :] * scn, acc)


class Product(torch.autograd.Function):
    def forward(ctx, a, b, s):
        m, k = a.shape
        _, n = b.shape
        c = torch.zeros((m, n), device=b.device, dtype=torch.float16)
        grid = (triton.cdiv(m, 16) * triton.cdiv(n, 32), 1)
        product[grid](a, b, s, c, a.stride(0), a.stride(1), b.stride(0), b.stride(1),
                      c.stride(0), c.stride(1), s.stride(0), s.stride(1), 128, m, n, k, 16, 32, 128)
        return c
"""


def test_sizes_below_a_tile(tmp_path: Path) -> None:
    """One tile stores an element twice where rows are shorter than it: which number stays, nobody knows."""
    file = tmp_path / "product.py"
    file.write_text(FILE)
    (kernel,) = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)["kernels"]
    assert kernel["status"] == "proved", kernel["reason"]
