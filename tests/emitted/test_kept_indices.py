"""An index that a forward stored is loaded; the row in which it was found is not read again."""

from __future__ import annotations

import re
from pathlib import Path

from tests.emitted.plan import tad

ROW_MAX = """
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, v_ptr, i_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=-float("inf"))
    v, i = tl.max(x, axis=0, return_indices=True)
    tl.store(v_ptr + row, v)
    tl.store(i_ptr + row, i)


def row_max(x):
    M, N = x.shape
    v = torch.empty(M, dtype=x.dtype)
    i = torch.empty(M, dtype=torch.int32)
    kernel[(M,)](x, v, i, N, BLOCK=triton.next_power_of_2(N))
    return v, i
"""


def reads_row(tmp_path: Path, *changes: tuple[str, str]) -> bool:
    text = ROW_MAX
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "rows.py"
    path.write_text(text)
    done = tad("--backward", path)
    assert "gradients proved" in done.stderr, done.stderr
    backward = done.stdout.split("def kernel_backward(")[1].split("\nclass ")[0]
    return re.search(r"\bx_ptr \+", backward) is not None


def test_the_index_is_loaded(tmp_path: Path) -> None:
    assert not reads_row(tmp_path)
    assert not reads_row(tmp_path, ("torch.int32", "torch.int64"))
    assert not reads_row(
        tmp_path,
        ("i_ptr + row, i)", "i_ptr + row, i.to(tl.int64))"),
        ("torch.int32", "torch.int64"),
    )


def test_an_index_that_the_tensor_may_not_hold_is_found_again(tmp_path: Path) -> None:
    assert reads_row(tmp_path, ("torch.int32", "torch.uint8"))
    assert reads_row(tmp_path, ("torch.int32", "torch.float32"))
    assert reads_row(tmp_path, ("i_ptr + row, i)", "i_ptr + row, i.to(tl.int8))"))
    assert reads_row(tmp_path, ("i_ptr + row, i)", "i_ptr + row, i + 1)"))
