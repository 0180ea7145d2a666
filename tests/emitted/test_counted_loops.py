"""A `while` that counts is a loop over a range: its gradients need no atomics. One that does not stays."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.emitted.plan import tad

KERNEL = """import triton
import triton.language as tl


# tad: x=f32[5, 8], y=f32[5, 8], n=8, S=2, grid=(5,)
@triton.jit
def kernel(x, y, n, S: tl.constexpr):
    row = tl.program_id(0)
    k = {start}
    while {condition}:
        tl.store(y + row * n + k, tl.sin(tl.load(x + row * n + k)))
        k = {step}
"""

COUNTED = {
    "up": ("0", "k < n", "k + 1", "range(n)"),
    "the end on the left": ("0", "n > k", "k + 1", "range(n)"),
    "with the end": ("0", "k <= n - 1", "1 + k", "range(n)"),
    "in steps": ("0", "k < n", "k + S", "range(0, n, S)"),
    "down": ("n - 1", "k >= 0", "k - 1", "range(n - 1, -1, -1)"),
    "down by a sum": ("n - 1", "k > -1", "k + -1", "range(n - 1, -1, -1)"),
}
OPEN = {
    "doubled": ("1", "k < n", "k * 2"),
    "away from the end": ("0", "k < n", "k - 1"),
    "two conditions": ("0", "(k < n) & (k < 5)", "k + 1"),
    "by what an iteration loads": ("0", "k < n", "k + 1 + tl.load(x + k).to(tl.int32)"),
}


def derived(tmp_path: Path, start: str, condition: str, step: str) -> str:
    """The backward kernel of the loop."""
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL.format(start=start, condition=condition, step=step))
    run = tad("--backward", path, "--no-proof", "-o", tmp_path / "written.py")
    text = (tmp_path / "written.py").read_text()
    assert "def kernel_backward(" in text, run.stderr
    return re.split(r"\n\n\n", text[text.index("def kernel_backward(") :])[0]


@pytest.mark.parametrize("name", COUNTED)
def test_a_while_that_counts_is_a_range(name: str, tmp_path: Path) -> None:
    *loop, iterations = COUNTED[name]
    text = derived(tmp_path, *loop)
    assert "while" not in text
    assert iterations in text, text
    assert "tl.store(dx" in text and "atomic" not in text


@pytest.mark.parametrize("name", OPEN)
def test_another_while_stays(name: str, tmp_path: Path) -> None:
    assert "while" in derived(tmp_path, *OPEN[name])
