"""Blocks that rows are walked in: with those that are free, a backward computes the same in others."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import proved_module
from tests.support.worker import Worker
from tests.triton.interpret import call_function

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
# The launcher, the kernel whose block is another one, the block, and shapes of the inputs.
CASES = {
    "layer_norm.py": (
        "layer_norm",
        "layer_norm_kernel_backward",
        "BLOCK_SIZE",
        [(3, 70), (70,), (70,)],
    ),
    "softmax.py": ("online_softmax", "online_softmax_kernel_backward", "BLOCK", [(3, 70)]),
}


@pytest.mark.parametrize("scale", ["BLOCK * 2", "BLOCK // 2", "max(BLOCK // 8, 1)", "2048"])
@pytest.mark.parametrize("name", CASES)
def test_sums_in_other_blocks(name: str, scale: str, tmp_path: Path, interpreter: Worker) -> None:
    """Sums, and differences of sums, that are carried from block to block."""
    launcher, kernel, block, shapes = CASES[name]
    text = proved_module(tmp_path, (EXAMPLES / name).read_text())
    launch = re.search(rf"        {kernel}\[ctx\.grid\]\(.*?\n +\)\n", text, re.S)
    assert launch and f"{block}={block}" in launch[0]
    own = launch[0].replace(f"{block}={block}", f"{block}={scale.replace('BLOCK', block)}")
    random = np.random.default_rng(3)
    given = [random.uniform(-1, 1, shape) for shape in shapes]
    upstream = [random.uniform(-1, 1, shapes[0])]
    found = [
        call_function(
            module,
            launcher,
            given,
            wrt=list(range(len(given))),
            grad_outputs=upstream,
            worker=interpreter,
        ).gradients
        for module in (text, text.replace(launch[0], own))
    ]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
