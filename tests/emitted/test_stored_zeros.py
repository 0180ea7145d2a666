"""A kernel may read lanes that its output's mask drops: their gradient is 0, and the element is another program's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.emitted.plan import tad

PRODUCT = """import torch
import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, c_ptr, sam, sak, sbk, sbn, scm, scn, m, n, k,
            BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    terms = tl.arange(0, BK)
    a_ptrs = a_ptr + (rows[:, None] * sam + terms[None, :] * sak)
    b_ptrs = b_ptr + (terms[:, None] * sbk + cols[None, :] * sbn)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(0, tl.cdiv(k, BK)):
        a = tl.load(a_ptrs, mask=terms[None, :] < k - i * BK, other=0.0)
        b = tl.load(b_ptrs, mask=terms[:, None] < k - i * BK, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BK * sak
        b_ptrs += BK * sbk
    inside = {inside}
    tl.store(c_ptr + (rows[:, None] * scm + cols[None, :] * scn), acc, mask=inside)


def run(a, b):
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), device=a.device, dtype=a.dtype)
    grid = (triton.cdiv(m, 32), triton.cdiv(n, 32))
    product[grid](a, b, c, *a.stride(), *b.stride(), *c.stride(), m, n, k, 32, 32, 32)
    return c
"""


@pytest.mark.parametrize(
    "inside",
    [
        "(rows[:, None] < m) & (cols[None, :] < n)",
        "(rows < m)[:, None] & (cols < n)[None, :]",
        "tl.broadcast_to((rows < m)[:, None], (BM, BN)) & (cols[None, :] < n)",
    ],
)
def test_masks_of_rows_that_are_laid_along_a_tile(tmp_path: Path, inside: str) -> None:
    """However the mask is spelled, no program stores 0 where another one has an element."""
    file = tmp_path / "product.py"
    file.write_text(PRODUCT.format(inside=inside))
    (kernel,) = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)["kernels"]
    assert (kernel["status"], kernel["atomics"]) == ("proved", 0), kernel["reason"]
