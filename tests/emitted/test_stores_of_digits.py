"""Stores that step through rows by digits of a flat index: each element is stored once, and its gradient loaded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import proved_module
from tests.emitted.test_loaded_states import HEAD, gradients_of, kernel_of
from tests.support.worker import Worker

WAVES = """@triton.jit
def k(x_ptr, y_ptr, total, D: tl.constexpr, LEVELS: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < total
    x = tl.load(x_ptr + i, mask=m, other=0.0)
    y = y_ptr + i // D * ROW + i % D
    for level in tl.LOOP(LEVELS):
        tl.store(y + FIRST, tl.sin(x * (level + 1)), mask=m)
        tl.store(y + SECOND, tl.cos(x * (level + 1)), mask=m)
    tl.store(y + BESIDE, x * x, mask=m)


def run(x):
    N, D = x.shape
    y = torch.zeros((N, 7 * D), dtype=torch.float32)
    k[(triton.cdiv(N * D, 8),)](x, y, N * D, D=D, LEVELS=3, B=8)
    return y
"""


@pytest.mark.parametrize(
    ("row", "first", "second", "beside", "is_once"),
    [
        ("(D + 2 * D * LEVELS)", "D + level * 2 * D", "2 * D + level * 2 * D", "0", True),
        ("(D + 2 * D * LEVELS)", "level * 2 * D", "D + level * 2 * D", "LEVELS * 2 * D", True),
        ("(D + 2 * D * LEVELS)", "level * D", "(LEVELS + level) * D", "2 * LEVELS * D", True),
        ("(D * 7)", "level * 2 * D", "D + level * 2 * D", "6 * D", False),  # of 3 levels alone
        ("(D + 2 * D * LEVELS)", "level * D", "D + level * D", "6 * D", False),  # stored twice
        ("(D + 2 * D * LEVELS)", "level * 2 * D", "D + level * 2 * D", "D", False),
    ],
)
@pytest.mark.parametrize("loop", ["range", "static_range"])
def test_each_element_is_stored_once(
    row: str,
    first: str,
    second: str,
    beside: str,
    is_once: bool,
    loop: str,
    tmp_path: Path,
    interpreter: Worker,
) -> None:
    parts = {"ROW": row, "FIRST": first, "SECOND": second, "BESIDE": beside}
    text = WAVES.replace("tl.LOOP", "range" if loop == "range" else "tl.static_range")
    for name, part in parts.items():
        text = text.replace(name, part)
    text = proved_module(tmp_path, HEAD + text)
    assert ("debug_barrier" not in kernel_of(text)) == is_once
    gradients_of(text, [np.random.default_rng(7).uniform(-1, 1, (5, 3))], interpreter)
