"""`--dump schedule`: which block sizes an emitted kernel may choose, and why the others stay the forward's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import schedule

HEAD = "import triton\nimport triton.language as tl\n\n\n"


def blocks(operand: str | Path) -> dict[str, dict[str, str]]:
    """What is said of each block size, by the emitted kernel."""
    found: dict[str, dict[str, str]] = {}
    for part in schedule(operand).split("\n\n"):
        lines = part.splitlines()
        said = [
            re.fullmatch(r"  (\w+): ((?:any size|the forward's size).*)", line) for line in lines
        ]
        found[lines[0]] = {match[1]: match[2] for match in said if match}
    return found


def kernel(tmp_path: Path, text: str) -> dict[str, str]:
    """The same of the only kernel that comes of a text."""
    file = tmp_path / "case.py"
    file.write_text(HEAD + text)
    found = {name: said for name, said in blocks(file).items() if name.endswith("_backward")}
    assert len(found) == 1, found
    return next(iter(found.values()))


@pytest.mark.parametrize(
    "name", ["matmul_kernel", "batched_matmul_kernel", "matmul_descriptor_kernel"]
)
def test_the_blocks_of_a_product_are_free(name: str) -> None:
    found = blocks(f"examples/matmul.py:{name}")
    rows = "any size is right; its blocks are counted by programs along grid axis 0"
    columns = "any size is right; its blocks are counted by programs along grid axis 1"
    own = {"BLOCK_M": rows, "BLOCK_N": columns, "BLOCK_K": "any size is right"}
    assert found[f"{name}_backward"] == own
    assert found[f"{name}_backward_da_ptr"] == own


def test_scratch_by_program_ties_kernels_together() -> None:
    found = blocks("examples/matmul.py:linear_kernel")
    said = found["linear_kernel_backward_dx_ptr"]
    # the scratch's tiles are BLOCK_M x BLOCK_N; those of the gradient are shared out along BLOCK_K
    assert said["BLOCK_M"].startswith("the forward's size")
    assert said["BLOCK_N"].startswith("the forward's size")
    assert said["BLOCK_K"] == "any size is right"
    assert found["linear_kernel_backward"]["BLOCK_M"].startswith("the forward's size")


def test_a_block_that_covers_a_row_stays() -> None:
    said = blocks("examples/softmax.py:softmax_kernel")["softmax_kernel_backward"]["BLOCK"]
    assert (
        said == "the forward's size, as each tile of it is an axis from 0 on: it covers all of that"
    )


def test_elements_are_in_any_blocks(tmp_path: Path) -> None:
    said = kernel(
        tmp_path,
        "@triton.jit\n"
        "def f(x, y, n, B: tl.constexpr):\n"
        "    i = tl.program_id(0) * B + tl.arange(0, B)\n"
        "    tl.store(y + i, tl.exp(tl.load(x + i, mask=i < n)), mask=i < n)\n",
    )
    assert said == {"B": "any size is right; its blocks are counted by programs along grid axis 0"}


def test_without_masks_a_block_divides_the_forwards(tmp_path: Path) -> None:
    said = kernel(
        tmp_path,
        "@triton.jit\n"
        "def f(x, y, B: tl.constexpr):\n"
        "    i = tl.program_id(0) * B + tl.arange(0, B)\n"
        "    tl.store(y + i, tl.exp(tl.load(x + i)))\n",
    )
    assert said["B"].startswith("any size that divides the forward's is right")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        # lanes reversed in their block
        (
            "    i = tl.program_id(0) * B + tl.arange(0, B)\n"
            "    j = tl.program_id(0) * B + B - 1 - tl.arange(0, B)\n"
            "    tl.store(y + j, tl.exp(tl.load(x + i, mask=i < n)), mask=j < n)\n",
            "",
        ),
        # the diagonal of each block
        (
            "    i = tl.program_id(0) * B + tl.arange(0, B)\n"
            "    j = tl.program_id(1) * B + tl.arange(0, B)\n"
            "    t = tl.load(x + i, mask=i < n) * tl.load(x + n + j, mask=j < n)\n"
            "    tl.store(y + tl.program_id(1) * n + i, tl.exp(t), mask=i < n)\n",
            "lanes of one axis are at several places at once",
        ),
        # a running sum in each block
        (
            "    i = tl.program_id(0) * B + tl.arange(0, B)\n"
            "    tl.store(y + i, tl.cumsum(tl.load(x + i, mask=i < n, other=0.0), 0), mask=i < n)\n",
            "`cumsum` works on whole tiles of it",
        ),
        # a number for each block
        (
            "    i = tl.program_id(0) * B + tl.arange(0, B)\n"
            "    s = tl.load(x + tl.program_id(0))\n"
            "    tl.store(y + i, s * tl.load(x + n + i, mask=i < n), mask=i < n)\n",
            "",
        ),
        # blocks that overlap
        (
            "    i = tl.program_id(0) * (B // 2) + tl.arange(0, B)\n"
            "    tl.store(y + tl.program_id(0) * B + tl.arange(0, B), tl.exp(tl.load(x + i, mask=i < n)))\n",
            "",
        ),
        # noise that is drawn by the lane
        (
            "    i = tl.program_id(0) * B + tl.arange(0, B)\n"
            "    keep = tl.rand(7, tl.arange(0, B)) > 0.5\n"
            "    t = tl.load(x + i, mask=i < n)\n"
            "    tl.store(y + i, tl.where(keep, t, 0.0), mask=i < n)\n",
            "",
        ),
        # the scale grows with the block
        (
            "    i = tl.program_id(0) * B + tl.arange(0, B)\n"
            "    tl.store(y + i, tl.exp(tl.load(x + i, mask=i < n)) * B, mask=i < n)\n",
            "a number is made of it that is no `block * size + lane`",
        ),
    ],
)
def test_a_block_that_means_something_stays(tmp_path: Path, body: str, why: str) -> None:
    said = kernel(tmp_path, f"@triton.jit\ndef f(x, y, n, B: tl.constexpr):\n{body}")
    assert said["B"].startswith("the forward's size, as ")
    assert why in said["B"]


SUMS = """@triton.jit
def f(x, w, y, n, B: tl.constexpr):
    row = tl.program_id(0)
    m = 0.0
    for off in range(0, n, B):
        i = off + tl.arange(0, B)
        t = tl.load(x + row * n + i, mask=i < n, other=0.0)
        {step}
    for off in range(0, n, B):
        i = off + tl.arange(0, B)
        t = tl.load(x + row * n + i, mask=i < n, other=0.0)
        tl.store(y + row * n + i, t * m, mask=i < n)
"""


@pytest.mark.parametrize(
    ("step", "is_free"),
    [
        pytest.param("m += tl.sum(t * t, axis=0)", True, id="along the axis"),
        pytest.param("m += tl.sum(t * t)", True, id="of all"),
        pytest.param("m -= tl.sum(t * t)", True, id="taken away"),
        pytest.param("m = m - tl.sum(t * t) + tl.sum(tl.sin(t))", True, id="both"),
        pytest.param("m += tl.sum(t * t) - tl.sum(tl.sin(t))", True, id="a difference"),
        pytest.param("m = tl.sum(t * t) - m", False, id="from the other side"),
        pytest.param("m = m * 0.5 - tl.sum(t * t)", False, id="scaled in each block"),
        pytest.param("m -= tl.sum(t * t) * tl.sum(t)", False, id="a product of sums"),
        pytest.param("m -= tl.sum(t * t) - 1.0", False, id="a number for each block"),
    ],
)
def test_sums_over_blocks(step: str, is_free: bool, tmp_path: Path) -> None:
    said = kernel(tmp_path, SUMS.format(step=step))["B"]
    assert (said == "any size is right") == is_free, said
