"""Sizes for which a kernel computes in another way: a product of one row is a sum."""

from __future__ import annotations

import json
from pathlib import Path

from tests.emitted.plan import tad

FILE = """import torch
import triton
import triton.language as tl


@triton.jit
def times(A, B):
    if A.shape[0] == 1:
        y = tl.sum(A.T * B, axis=0, keep_dims=True)
    elif A.shape[1] == 1:
        y = A * B
    else:
        y = tl.dot(A, B)
    return y


@triton.jit
def layer(x_ptr, w_ptr, y_ptr, n, ROWS: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, D)
    inside = (rows < n)[:, None]
    x = tl.load(x_ptr + rows[:, None] * D + cols[None, :], mask=inside, other=0.0)
    w = tl.load(w_ptr + cols[:, None] * D + cols[None, :])
    y = times(x, w)
    tl.store(y_ptr + rows[:, None] * D + cols[None, :], y * y, mask=inside)


def run(x, w):
    n, d = x.shape
    y = torch.empty_like(x)
    layer[(triton.cdiv(n, 16),)](x, w, y, n, ROWS=16, D=d)
    return y
"""


def test_product_or_sum(tmp_path: Path) -> None:
    """With one row the sum has another shape by its names: the backward is that of several rows, and says so."""
    file = tmp_path / "layer.py"
    file.write_text(FILE)
    report = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)
    (kernel,) = report["kernels"]
    assert kernel["status"] == "proved", kernel["reason"]
    assert "gradient-flag-left-out" in [entry["name"] for entry in report["diagnostics"]]
    text = tad("--backward", f"{file}:layer", "--wrapper", "none", "--no-proof").stdout
    kernels = text.count("def layer_backward")
    assert text.count('tl.static_assert(ROWS != 1, "no gradient where ROWS is 1")') == kernels


TWO = """
@triton.jit
def layers(x_ptr, v_ptr, w_ptr, y_ptr, z_ptr, n, ROWS: tl.constexpr, MORE: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    more = tl.program_id(0) * MORE + tl.arange(0, MORE)
    cols = tl.arange(0, D)
    x = tl.load(x_ptr + rows[:, None] * D + cols[None, :], mask=(rows < n)[:, None], other=0.0)
    v = tl.load(v_ptr + more[:, None] * D + cols[None, :], mask=(more < n)[:, None], other=0.0)
    w = tl.load(w_ptr + cols[:, None] * D + cols[None, :])
    y, z = times(x, w), times(v, w)
    tl.store(y_ptr + rows[:, None] * D + cols[None, :], y, mask=(rows < n)[:, None])
    tl.store(z_ptr + more[:, None] * D + cols[None, :], z, mask=(more < n)[:, None])
"""


def test_each_size_is_said(tmp_path: Path) -> None:
    file = tmp_path / "layers.py"
    file.write_text(FILE + TWO)
    entries = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)["diagnostics"]
    said = [e["message"] for e in entries if e["name"] == "gradient-flag-left-out"]
    assert sorted(said) == [
        "no gradient where ROWS is 1",
        "no gradient where ROWS is 1, or MORE is 1",
    ]
    text = tad("--backward", f"{file}:layers", "--wrapper", "none", "--no-proof").stdout
    for size in ("ROWS", "MORE"):
        assert f'tl.static_assert({size} != 1, "no gradient where {size} is 1")' in text


def test_tuple_of_strides_without_a_launch(tmp_path: Path) -> None:
    """The proof makes up strides of as many axes as the kernel reads."""
    file = tmp_path / "rows.py"
    file.write_text(
        """import triton
import triton.language as tl


@triton.jit
def rows(x_ptr, x_stride, y_ptr, y_stride, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    at = tl.program_id(0) * x_stride[0] + tl.program_id(1) * x_stride[1] + cols * x_stride[2]
    to = tl.program_id(0) * y_stride[0] + tl.program_id(1) * y_stride[1] + cols * y_stride[2]
    x = tl.load(x_ptr + at, mask=cols < n, other=0.0)
    tl.store(y_ptr + to, x * x, mask=cols < n)
"""
    )
    (kernel,) = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)["kernels"]
    assert kernel["status"] == "proved", kernel["reason"]
