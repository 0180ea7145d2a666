"""Indices from memory, which may lead a kernel out of the view that it gets: what the Function looks at."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emitted.plan import tad

KERNEL = """import torch
import triton
import triton.language as tl


@triton.jit
def k(o, x, index, d, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    {0}


def launch(x, index):
    n, d = index.shape[0], x.shape[1]
    o = {1}(n, d, dtype=x.dtype)
    k[(n,)](o, x, index, d, BLOCK=triton.next_power_of_2(d))
    return o
"""
AFFINE = "tl.store(o + row * d + i, tl.load(x + row * d + i, mask=i < d) * 2.0, mask=i < d)"
FORMS = {
    "gather": "at = tl.load(index + row)\n    a = tl.load(x + at * d + i, mask=i < d)\n"
    "    tl.store(o + row * d + i, a * a, mask=i < d)",
    "scatter": "at = tl.load(index + row)\n    a = tl.load(x + row * d + i, mask=i < d)\n"
    "    tl.store(o + at * d + i, a * a, mask=i < d)",
    "length": "a = tl.load(x + row * d + i, mask=i < tl.load(index + row), other=0.0)\n"
    "    tl.store(o + row * d + i, a * a, mask=i < d)",
    "iterations": "a = tl.zeros((BLOCK,), tl.float32)\n"
    "    for j in range(tl.load(index + row)):\n"
    "        a += tl.load(x + j * d + i, mask=i < d, other=0.0)\n"
    "    tl.store(o + row * d + i, a, mask=i < d)",
}
CHECKED = {"gather": "_check_within(", "scatter": "_check_stored("}


def emitted(tmp_path: Path, body: str, make: str = "torch.empty") -> str:
    path = tmp_path / "kernels.py"
    path.write_text(KERNEL.format(body, make))
    return tad("--backward", "--no-proof", path).stdout


@pytest.mark.parametrize("form", FORMS)
def test_places_from_memory_are_looked_at(form: str, tmp_path: Path) -> None:
    text = emitted(tmp_path, FORMS[form])
    assert text.count(CHECKED.get(form, "_check_within(")) >= 2  # the helper, and its call


def test_other_places_cost_nothing(tmp_path: Path) -> None:
    """An affine address, and a mask that is data: no bound."""
    text = emitted(tmp_path, AFFINE)
    assert "dx = _gradient_buffer(x" in text
    assert "_room_around" not in text
    data = AFFINE.replace("mask=i < d) * 2.0", "mask=(i < d) & (tl.load(index + i) == 1)) * 2.0")
    assert "_room_around" not in emitted(tmp_path, data, "torch.zeros")


def test_operators_look_at_their_inputs(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(KERNEL.format(FORMS["gather"], "torch.empty"))
    text = tad("--backward", "--no-proof", "--wrapper", "triton_op", path).stdout
    assert "dx = _gradient_within(x, accumulate=True, wanted=True)" in text
    assert '_check_within("x", dx, True)' in text
