"""A flag with one value that has a backward and one that has none: the backward is for the one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emitted.plan import tad

KERNEL = """import torch
import triton
import triton.language as tl
from elsewhere import fast


@triton.jit
def k(x, y, n, B: tl.constexpr, MODE: tl.constexpr, EXACT: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at, mask=at < n, other=0.0)
    if MODE:
        v = v + 1.0
    if CONDITION:
        v = v * tl.exp(v)
    else:
        v = fast(v)
    tl.store(y + at, v, mask=at < n)


def run(x, exact: bool):
    y = torch.empty_like(x)
    k[(triton.cdiv(x.numel(), 32),)](x, y, x.numel(), 32, MODE=True, EXACT=PASSED)
    return y
"""


@pytest.mark.parametrize(
    ("condition", "passed", "lost"),
    [
        ("EXACT", "exact", "not set"),
        ("not EXACT", "exact", "set"),
        ("EXACT", "True", "not set"),
        ("EXACT", "False", None),
        ("tl.program_id(0) > 1", "exact", None),
    ],
)
def test_the_backward_of_one_value(
    condition: str, passed: str, lost: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "k.py"
    path.write_text(KERNEL.replace("CONDITION", condition).replace("PASSED", passed))
    checked = tad("--check", "--grad", path, "-f", "concise").stdout
    if lost is None:
        assert "1 forward kernel: 1 refused" in checked, checked
        return
    assert "1 forward kernel: 1 proved" in checked, checked
    said = f"info[gradient-flag-left-out] no gradient where EXACT is {lost}: a gradient has to pass"
    assert said in checked, checked
    written = tad("--backward", path, "--no-proof").stdout
    held = "EXACT" if lost == "not set" else "not EXACT"
    assert f"tl.static_assert(\n        {held},\n" in written, written
