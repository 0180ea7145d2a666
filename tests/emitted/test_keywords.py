"""Keywords of operations that no release of Triton has any more, or none that is known: none is left out in silence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.emitted.plan import tad

KERNEL = """import triton
import triton.language as tl


# tad: a=f32[16, 32], b=f32[64, 32], c=f32[16, 64]
@triton.jit
def product(a, b, c):
    i = tl.arange(0, 16)
    j = tl.arange(0, 64)
    d = tl.arange(0, 32)
    x = tl.load(a + i[:, None] * 32 + d[None, :])
    y = tl.load(b + j[:, None] * 32 + d[None, :]{loaded})
    z = tl.dot({product}, input_precision="ieee")
    tl.store(c + i[:, None] * 64 + j[None, :], z)
"""


def kernel_of(folder: Path, product: str, loaded: str = "") -> Path:
    """A file with the kernel."""
    file = folder / "product.py"
    file.write_text(KERNEL.format(product=product, loaded=loaded), encoding="utf-8")
    return file


def status_of(file: Path) -> str:
    """What `--check --grad` says of it."""
    return json.loads(tad("--check", "--grad", "--format", "json", file).stdout)["kernels"][0][
        "status"
    ]


@pytest.mark.parametrize("product", ["x, y, trans_b=True", "x, tl.trans(y), trans_b=False"])
def test_a_flag_that_transposes_is_followed(tmp_path: Path, product: str) -> None:
    file = kernel_of(tmp_path, product)
    assert status_of(file) == "proved"
    module = tad("--backward", "--no-proof", file).stdout
    backward = module[module.index("def product_backward(") :]
    assert "dy = tl.dot(tl.trans(dz.to(a.dtype.element_ty)), x, " in backward


def test_a_keyword_that_nobody_knows_leaves_nothing_to_prove(tmp_path: Path) -> None:
    assert status_of(kernel_of(tmp_path, "x, tl.trans(y), swizzle=3")) == "refused"
    assert status_of(kernel_of(tmp_path, "x, tl.trans(y)", ", care_padding=None")) == "proved"
