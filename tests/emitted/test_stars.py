"""Names of Python's own below a star of a package that is not there."""

from __future__ import annotations

import json
from pathlib import Path

from tests.emitted.plan import tad

FILE = """import torch
import triton
import triton.language as tl
from some_package_that_is_not_there.kernels import *


@triton.jit
def product(x_ptr, y_ptr, o_ptr, n, BLOCK: tl.constexpr, MOST: tl.constexpr):
    first = tl.program_id(0) * MOST
    for i in range(min(tl.cdiv(n, BLOCK) - first, MOST)):
        at = (first + i) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n, other=0.0)
        y = tl.load(y_ptr + at, mask=at < n, other=0.0)
        tl.store(o_ptr + at, {value}, mask=at < n)


def run(x, y):
    n = x.numel()
    o = torch.empty_like(x)
    product[(triton.cdiv(n, 32),)](x, y, o, n, BLOCK=16, MOST=2)
    return o
"""


def status(tmp_path: Path, value: str) -> tuple[str, str]:
    file = tmp_path / "product.py"
    file.write_text(FILE.format(value=value))
    (kernel,) = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)["kernels"]
    return kernel["status"], kernel["reason"]


def test_range_and_min_of_whole_numbers(tmp_path: Path) -> None:
    """Triton's `min` takes a tile and an axis, and its `range` is Python's: neither can be meant otherwise."""
    assert status(tmp_path, "x * y") == ("proved", "")


def test_min_of_tiles(tmp_path: Path) -> None:
    """It may be anything that the package brings along."""
    found, reason = status(tmp_path, "max(x, 0) * y")
    assert found == "refused", reason
