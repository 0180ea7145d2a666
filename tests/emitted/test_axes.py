"""Operations along an axis whose number is a constexpr of the caller's: a backward for each, and a proof."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.emitted.plan import tad

TEXT = """import torch
import triton
import triton.language as tl


@triton.jit
def k(x, y, N: tl.constexpr, AXIS: tl.constexpr):
    i = tl.arange(0, N)
    p = i[:, None] * N + i[None, :]
    t = tl.load(x + p)
    tl.store(y + p, {value})


def run(x, dim=-1):
    y = torch.empty_like(x)
    k[(1,)](x, y, N=16, AXIS=dim)
    return y
"""
ALONG = {
    "cumsum": "tl.cumsum(t * t, axis=AXIS)",
    "sum": "t * tl.rsqrt(tl.sum(t * t, axis=AXIS, keep_dims=True) + 1.0)",
    "max": "t * tl.max(t, AXIS, keep_dims=True)",
    "softmax": "tl.exp(t - tl.max(t, axis=AXIS, keep_dims=True)) / tl.sum(tl.exp(t), axis=AXIS, keep_dims=True)",
}


@pytest.mark.parametrize("name", ALONG)
def test_each_axis_is_proved(name: str, tmp_path: Path) -> None:
    file = tmp_path / "axes.py"
    file.write_text(TEXT.format(value=ALONG[name]))
    shown = tad("--dump", "configurations", file).stdout
    assert "k: proved" in shown and "AXIS=0/1" in shown, shown
    (kernel,) = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)["kernels"]
    assert kernel["status"] == "proved"
    text = tad("--backward", "--no-proof", file).stdout
    is_one_text = name == "cumsum"  # whose backward takes the same `axis=AXIS`
    assert ("if AXIS == 0 or AXIS == -2:" in text) != is_one_text
