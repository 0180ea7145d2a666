"""A tile of one element has axes, too: a mask of it stands in front of values of as many."""

from __future__ import annotations

import json
from pathlib import Path

from tests.emitted.plan import tad

FILE = """import math

import torch
import triton
import triton.language as tl


@triton.jit
def norms(x_ptr, y_ptr, z_ptr, i_ptr, w_ptr, stride, n, BLOCK: tl.constexpr):
    rows = tl.full((1,), tl.program_id(0), dtype=tl.int32)
    keep = rows < n
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + rows[:, None] * stride + cols[None, :], mask=keep[:, None], other=0.0)
    size = tl.sqrt(tl.sum(x * x, axis=1) + 1e-8)
    rest = x / size[:, None] - tl.load(w_ptr + tl.load(i_ptr + cols))[None, :]
    far = tl.sqrt(tl.sum(rest * rest, axis=1) + 1e-8) / math.sqrt(2 * BLOCK)
    tl.store(y_ptr + rows[:, None], size[:, None], mask=keep[:, None])
    tl.store(z_ptr + rows[:, None], far[:, None], mask=keep[:, None])


def run(x, i, w):
    n = x.shape[0]
    y = torch.empty(n, dtype=torch.float32, device=x.device)
    z = torch.empty(n, dtype=torch.float32, device=x.device)
    norms[(n,)](x, y, z, i, w, x.stride(0), n, 16)
    return y, z
"""


def test_mask_of_one_row(tmp_path: Path) -> None:
    """`keep[:, None]` is [1, 1], and what it keeps finite has the shape [1]."""
    file = tmp_path / "norms.py"
    file.write_text(FILE)
    (kernel,) = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)["kernels"]
    assert kernel["status"] == "proved", kernel["reason"]
