"""A table that is read by an index from memory, alike in many programs: they sum first, and add to the table once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emitted.plan import tad

BIAS = """import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a, table, index, y, N, H, BLOCK: tl.constexpr):
    window = tl.program_id(1)
    head = window % H
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < N
    k = tl.load(index + i, mask=m, other=0)
    bias = tl.load(table + k * H + head, mask=m, other=0.0)
    v = tl.load(a + window * N + i, mask=m, other=0.0)
    tl.store(y + window * N + i, v + bias, mask=m)


def run(a, table, index):
    W, H, N = a.shape
    y = torch.empty_like(a)
    kernel[(triton.cdiv(N, 16), W * H)](a, table, index, y, N, H, BLOCK=16)
    return y
"""


def module_of(tmp_path: Path, *changes: tuple[str, str]) -> str:
    text = BIAS
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "bias.py"
    path.write_text(text)
    done = tad("--backward", path)
    assert "gradients proved" in done.stderr, done.stderr
    return done.stdout


def test_programs_that_share_an_index_sum_first(tmp_path: Path) -> None:
    module = module_of(tmp_path)
    kernel = module.split("def kernel_backward_dtable(")[1].split("\nclass ")[0]
    assert kernel.count("tl.atomic_add(") == 1
    # behind the loop
    assert kernel.index("for forward_program in") < kernel.index("tl.atomic_add(")
    indent = kernel.split("tl.atomic_add(")[0].rsplit("\n", 1)[1]
    assert len(indent) == 8
    # who asks for the scores alone pays nothing for it
    assert "if ctx.needs_input_grad[2]:" in module
    first = module.split("def kernel_backward(")[1].split("@triton.jit")[0]
    assert "atomic" not in first and "index" not in first


@pytest.mark.parametrize(
    "changes",
    [
        [("table + k * H + head", "table + k + head")],
        [("table + k * H + head", "table + k * H + window // H % H")],
        [("mask=m, other=0.0)\n    v", "mask=m & (head > 0), other=0.0)\n    v")],
    ],
    ids=["rows that meet", "another digit", "some heads"],
)
def test_in_other_spellings_the_gradient_is_right_too(
    changes: list[tuple[str, str]], tmp_path: Path
) -> None:
    assert "tl.atomic_add(" in module_of(tmp_path, *changes)


def test_an_address_of_all_ids_is_added_to_as_before(tmp_path: Path) -> None:
    module = module_of(tmp_path, ("index + i, mask=m", "index + window * N + i, mask=m"))
    assert "kernel_backward_dtable" not in module
