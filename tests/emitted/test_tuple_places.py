"""Places in a tuple of strides that a condition of the launch decides."""

from __future__ import annotations

import json
from pathlib import Path

from tests.emitted.plan import tad

FILE = """import torch
import triton
import triton.language as tl


@triton.jit
def rows(x_ptr, x_stride, y_ptr, y_stride, starts_ptr, n, BLOCK: tl.constexpr):
    PACKED: tl.constexpr = starts_ptr is not None
    HEAD: tl.constexpr = 2 - PACKED
    LANE: tl.constexpr = 3 - PACKED
    batch, head, cols = tl.program_id(0), tl.program_id(1), tl.arange(0, BLOCK)
    if PACKED:
        at = tl.load(starts_ptr + batch) * x_stride[0]
        to = tl.load(starts_ptr + batch) * y_stride[0]
    else:
        at = batch * x_stride[0]
        to = batch * y_stride[0]
    x = tl.load(x_ptr + at + head * x_stride[HEAD] + cols * x_stride[LANE], mask=cols < n, other=0.0)
    tl.store(y_ptr + to + head * y_stride[HEAD] + cols * y_stride[LANE], x * x, mask=cols < n)


def run(x):
    y = torch.zeros_like(x)
    batches, length, heads, n = x.shape
    rows[(batches, heads)](x, x.stride(), y, y.stride(), None, n, BLOCK=triton.next_power_of_2(n))
    return y
"""


def test_place_that_a_condition_decides(tmp_path: Path) -> None:
    """`x_stride[2 - PACKED]` is one of two items, each below the condition."""
    file = tmp_path / "rows.py"
    file.write_text(FILE)
    (kernel,) = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)["kernels"]
    assert kernel["status"] == "proved", kernel["reason"]
    text = tad("--backward", f"{file}:rows", "--wrapper", "none", "--no-proof").stdout
    first, _, second = text.split("def rows_backward")[1].partition("else:")
    assert "x_stride[3]" not in first
    assert "x_stride[1]" not in second
