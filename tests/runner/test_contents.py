"""No two tensors of a proof hold the same numbers: a backward that reads the one for the other is refuted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.emitted.plan import Runner, derived

KERNEL = """
import torch
import triton
import triton.language as tl


{specification}@triton.jit
def product_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    x = tl.load(x_ptr + lanes, mask=mask)
    y = tl.load(y_ptr + lanes, mask=mask)
    tl.store(z_ptr + lanes, x * y, mask=mask)
{launcher}"""
COMMENT = "# tad: n=5, BLOCK=8, x_ptr=f32[n], y_ptr=f32[n], z_ptr=f32[n], grid=(1,)\n"
LAUNCHER = """

def product(x, y):
    z = torch.empty_like(x)
    product_kernel[(triton.cdiv(x.numel(), 8),)](x, y, z, x.numel(), BLOCK=8)
    return z
"""


@pytest.mark.parametrize(
    ("specification", "launcher"),
    [(COMMENT, ""), ("", LAUNCHER), ("", "")],
    ids=["comment", "launcher", "guess"],
)
def test_swapped_tensors_are_refuted(tmp_path: Path, specification: str, launcher: str) -> None:
    file = tmp_path / "product.py"
    file.write_text(KERNEL.format(specification=specification, launcher=launcher))
    request = derived(file)[1]["product_kernel"]
    text = request["backward"]["source"]
    runner = Runner()
    try:
        assert runner.ask("gradcheck", request)["status"] == "proved", text
        swapped = text.replace("(dx_ptr +", "(_ +").replace("(dy_ptr +", "(dx_ptr +")
        swapped = swapped.replace("(_ +", "(dy_ptr +")
        assert swapped != text
        wrong = json.loads(json.dumps(request))
        wrong["backward"]["source"] = swapped
        assert runner.ask("gradcheck", wrong)["status"] == "failed", swapped
    finally:
        runner.close()


COUNTED = """
import triton
import triton.language as tl


@triton.jit
def counted_rows(x, y, count, K, B: tl.constexpr):
    at = tl.arange(0, B)
    for row in range(tl.program_id(0), tl.load(count), tl.num_programs(0)):
        v = tl.load(x + row * K + at, mask=at < K, other=0.0)
        tl.store(y + row * K + at, v * v, mask=at < K)
"""


def test_a_count_in_memory_is_not_0(tmp_path: Path) -> None:
    """The bound of a loop that is the only number of its tensor: rows are stored, by several programs."""
    file = tmp_path / "counted.py"
    file.write_text(COUNTED)
    runner = Runner()
    try:
        answer = runner.ask("gradcheck", derived(file)[1]["counted_rows"])
    finally:
        runner.close()
    assert answer["status"] == "proved", answer["reason"]
    assert "2 iterations" in answer["covered"]
