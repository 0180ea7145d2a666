"""Programs with few lanes: several of the forward's are one of the backward's."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.emitted.plan import ROOT, helper_texts, proved_module, tad
from tests.support.worker import Worker
from tests.triton.interpret import call_function

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
ROWS = """@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    {store}


def launched(x):
    rows, n = x.shape
    y = torch.empty_like(x)
    kernel[(rows,)](x, y, n, BLOCK={block})
    return y
"""
PLAIN = {
    "store": "tl.store(y_ptr + row * n + c, x * x, mask=c < n)",
    "block": "triton.next_power_of_2(n)",
}
# What a person would write for rows that several at once are read of.
KERNEL = """
    row = tl.program_id(0) * TOGETHER + tl.arange(0, TOGETHER)
    c = tl.arange(0, BLOCK)
    x_offsets = row * n
    x_mask = (c < n) & (row < programs)[:, None]
"""
PLANES = """@triton.jit
def kernel(x_ptr, y_ptr, H, W, FLIP: tl.constexpr, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    h = tl.program_id(1)
    c = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in tl.static_range(2):
        x = tl.load(x_ptr + (plane * 2 * H + 2 * h + k) * W + c, mask=c < W, other=0.0)
        total += x * x * (k + 1)
    if FLIP:
        total = -total
    tl.store(y_ptr + (plane * H + h) * W + c, total, mask=c < W)


def launched(x):
    planes, H, W = x.shape
    y = torch.empty(planes, H // 2, W)
    kernel[(planes, H // 2)](x, y, H // 2, W, FLIP=True, BLOCK=triton.next_power_of_2(W))
    return y
"""


def kernels(tmp_path: Path, **parts: str) -> Path:
    path = tmp_path / "kernels.py"
    path.write_text(HEAD + ROWS.format(**{**PLAIN, **parts}))
    return path


def always_two(text: str) -> str:
    """The module with the least number of programs for which several are one, and no more than two or four of them."""
    few = text.replace("programs > 2048 * together", "programs > 2 * together")
    assert few != text
    return few


@pytest.mark.parametrize("rows", [1, 9, 16])
def test_rows_side_by_side(rows: int, tmp_path: Path, interpreter: Worker) -> None:
    text = proved_module(tmp_path, HEAD + ROWS.format(**PLAIN))
    assert KERNEL in text
    assert "_together(ctx.grid, 0, BLOCK, x_ptr, dy_ptr)" in re.sub(r"\s+", " ", text)
    random = np.random.default_rng(6)
    given, upstream = random.uniform(-1, 1, (rows, 21)), random.uniform(-1, 1, (rows, 21))
    for module in (text, always_two(text)):
        found = call_function(
            module, "launched", [given], wrt=[0], grad_outputs=[upstream], worker=interpreter
        ).gradients
        np.testing.assert_allclose(found[0], 2 * given * upstream, rtol=1e-6)


def test_rows_of_planes_with_loops_and_flags(tmp_path: Path, interpreter: Worker) -> None:
    text = proved_module(tmp_path, HEAD + PLANES)
    assert "tl.program_id(1) * TOGETHER" in text
    random = np.random.default_rng(7)
    given, upstream = random.uniform(-1, 1, (3, 10, 5)), random.uniform(-1, 1, (3, 5, 5))
    weights = -np.repeat(upstream, 2, 1) * np.tile([2, 4], 5)[None, :, None]
    for module in (text, always_two(text)):
        found = call_function(
            module, "launched", [given], wrt=[0], grad_outputs=[upstream], worker=interpreter
        ).gradients
        np.testing.assert_allclose(found[0], given * weights, rtol=1e-6)


LEFT = {
    "a tile that is large enough": {"block": "4096"},
    "a sum of the row": {
        "store": "tl.store(y_ptr + row * n + c, x / tl.sum(x * x, 0), mask=c < n)"
    },
    "the number of programs": {
        "store": "tl.store(y_ptr + row * n + c, x * x * tl.num_programs(0), mask=c < n)"
    },
}


@pytest.mark.parametrize("name", LEFT)
def test_other_kernels_do_their_own_work(name: str, tmp_path: Path) -> None:
    assert (
        "_together(ctx"
        not in tad("--backward", "--no-proof", kernels(tmp_path, **LEFT[name])).stdout
    )


MISTAKES = {
    "programs overlap": ("* TOGETHER + tl.arange(0, TOGETHER)", "+ tl.arange(0, TOGETHER)"),
    "no mask ends them": (" & (row < programs)[:, None]", ""),
    "one is left out": ("(row < programs)", "(row < programs - 1)"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_proof_runs_several_as_one(name: str, tmp_path: Path) -> None:
    """Each mistake is one only where programs are gathered, or at their end."""
    before, after = MISTAKES[name]
    path = kernels(tmp_path)
    text = tad("--backward", path).stdout
    assert before in text
    module = tmp_path / "kernels_backward.py"
    module.write_text(text.replace(before, after))
    run = tad("--check", "--grad", module)
    assert run.returncode == 1 and "1 failed" in run.stdout + run.stderr


@pytest.mark.parametrize("wrapper", ["triton_op", "none"])
def test_only_a_function_says_how_many_are_one(wrapper: str, tmp_path: Path) -> None:
    text = tad("--backward", "--wrapper", wrapper, kernels(tmp_path), "--no-proof").stdout
    assert "def kernel_backward(" in text and "TOGETHER" not in text


class Tensor:
    """Of elements of so many bytes."""

    def __init__(self, size: int) -> None:
        self.element_size = lambda: size


def test_so_many_lanes_are_together() -> None:
    names: dict = {"torch": SimpleNamespace(Tensor=Tensor)}
    text = tad("--backward", ROOT / "tests/emitted/kernels/turned.py", "--no-proof").stdout
    exec(helper_texts(text, "_together", "_warps"), names)
    choose, two = names["_together"], Tensor(2)
    assert choose((802816,), 0, 128, two) == ((100352,), 8, 2)
    assert choose((7, 100001), 1, 256, two) == ((7, 25001), 4, 2)
    # few programs; large tiles; a grid without such an axis
    assert choose((2048,), 0, 128, two) == ((2048,), 1, 1)
    assert choose((4096,), 0, 128, two) == ((2048,), 2, 2)
    assert choose((9000,), 0, 1024, two) == ((9000,), 1, 4)
    assert choose((9000,), 0, 4096, two, num_warps=8) == ((9000,), 1, 8)
    assert choose((9000,), 1, 128, two, num_warps=1) == ((9000,), 1, 1)
