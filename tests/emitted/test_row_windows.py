"""Windows that begin at every few elements of rows: each element asks those that have it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emitted.plan import proved_module, tad

TEXT = """import torch
import triton
import triton.language as tl


@triton.jit
def pool(x_ptr, y_ptr, T, OT, K: tl.constexpr, S: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = o < OT
    acc = tl.zeros([BLOCK], tl.float32)
    for k in tl.static_range(K):
        acc += tl.load(x_ptr + {at}, mask=m, other=0.0)
    tl.store(y_ptr + row * OT + o, {value}, mask=m)


def run(x, k, s):
    M, T = x.shape
    OT = (T - k) // s + 1
    y = torch.empty(M, OT, dtype=x.dtype)
    pool[({grid})](x, y, T, OT, k, s, BLOCK=8)
    return y
"""
BLOCKS = "M, triton.cdiv(OT, 8)"


def test_each_element_asks_its_windows(tmp_path: Path) -> None:
    """No atomics, no more loads than there are windows, and a check that windows end where rows do."""
    text = proved_module(
        tmp_path, TEXT.format(at="row * T + o * S + k", value="acc / K", grid=BLOCKS)
    )
    kernel = text[text.index("def pool_backward(") : text.index("class PoolFunction")]
    assert "atomic" not in kernel
    assert "tl.static_range((K + S - 1) // S)" in kernel and "window = " in kernel
    assert '_check_windows("x_ptr", (1, OT * S + K - S), (T, grid[0]))' in text


@pytest.mark.parametrize(
    ("at", "value", "grid"),
    [
        pytest.param("row * T + o * (S - 1) + k", "acc", BLOCKS, id="a step that may be 0"),
        pytest.param("row * T + o * S + k", "acc * acc", BLOCKS, id="windows summed first"),
        pytest.param("o * S + k", "acc * (row + 1)", BLOCKS, id="one row for all programs"),
    ],
)
def test_what_is_added_up(at: str, value: str, grid: str, tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(TEXT.format(at=at, value=value, grid=grid))
    assert "window = " not in tad("--backward", "--no-proof", path).stdout
