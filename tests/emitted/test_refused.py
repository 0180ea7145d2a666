"""What is refused because it is not understood says what that is, where it stands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.emitted.plan import tad

HEAD = "import triton\nimport triton.language as tl\n\n\n"
CAPTURED = (
    HEAD
    + """def make(scale):
    @triton.jit
    def scaled(x, out, B: tl.constexpr):
        lanes = tl.arange(0, B)
        tl.store(out + lanes, tl.load(x + lanes) * scale)

    return scaled
"""
)
TUPLE = (
    HEAD
    + """@triton.jit
def summed(parts, out, B: tl.constexpr, N: tl.constexpr):
    lanes = tl.arange(0, B)
    total = tl.zeros([B], dtype=tl.float32)
    for i in tl.static_range(N):
        total += tl.load(parts[i] + lanes)
    tl.store(out + lanes, total * total)
"""
)


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (CAPTURED, 9, "`scale` belongs to the function around the kernel"),
        (TUPLE, 10, "What a launch passes in a tuple is not analysed"),
    ],
)
def test_says_what_was_not_understood(tmp_path: Path, text: str, line: int, reason: str) -> None:
    file = tmp_path / "refused.py"
    file.write_text(text)
    report = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)
    (kernel,) = report["kernels"]
    assert kernel["status"] == "refused"
    assert reason in kernel["reason"]
    (found,) = [d for d in report["diagnostics"] if d["name"] == "gradient-unknown-shape"]
    assert found["range"]["start"]["line"] + 1 == line
