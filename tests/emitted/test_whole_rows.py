"""Rows that the forward walks in blocks: where one block holds a row, one kernel does all, and reads it once."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.emitted.plan import ROOT, Runner, derived, helper_texts, proved_module, tad
from tests.support.worker import Worker
from tests.triton.interpret import call_function

ROWS = """import torch
import triton
import triton.language as tl


{decorator}@triton.jit
def norm(x_ptr, w_ptr, b_ptr, y_ptr, n, {more}BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    x_ptr += row * n
    total = {first}
    for start in range({lower}, {end}, BLOCK):
        cols = start + lanes
        x = tl.load(x_ptr + cols, mask=cols < n, other=0.0).to(tl.float32)
        total += x * x
    scale = 1 / tl.sqrt({sum} / n + 1e-5)
    for start in range(0, n, BLOCK):
        cols = start + lanes
        x = tl.load(x_ptr + cols, mask=cols < n, other={other}).to(tl.float32)
        w = tl.load(w_ptr + {weight}, mask=cols < n)
        b = tl.load(b_ptr + cols, mask=cols < n)
        tl.store(y_ptr + row * n + cols, {value}, mask=cols < n)


def launch(x, w, b, m=5):
    y = torch.empty_like(x)
    norm[(x.shape[0],)](x, w, b, y, x.shape[1]{arguments})
    return y
"""
PLAIN = {
    "decorator": "",
    "more": "",
    "first": "tl.zeros([BLOCK], dtype=tl.float32)",
    "lower": "0",
    "end": "n",
    "sum": "tl.sum(total)",
    "other": "0.0",
    "weight": "cols",
    "value": "x * scale * w + b",
    "arguments": ", BLOCK=16",
}
TUNED = "@triton.autotune([triton.Config({'BLOCK': 1024})], key=['n'])\n"
CASES = {
    "plain": ({}, True),
    # nobody sees what stands behind the mask
    "infinite": ({"other": "float('inf')", "value": "tl.log(x + 2.0) * scale * w + b"}, True),
    "tuned": ({"decorator": TUNED, "arguments": ""}, False),
    # what a block holds depends on where it begins
    "numbered": ({"value": "x * scale * w + b * (start // 7)"}, False),
    # two ends: neither says how long a row is
    "other end": ({"more": "m, ", "end": "m", "arguments": ", m, BLOCK=16"}, False),
    "from 1 on": ({"lower": "1"}, False),
    # how many blocks there are is a part of the sum
    "not from 0": ({"first": "tl.full([BLOCK], 1.0, dtype=tl.float32)"}, False),
    "squares of sums": ({"sum": "tl.sum(total * total)"}, False),
    "cumulative": ({"value": "tl.cumsum(x, 0) * scale * w + b"}, False),
    # each row has weights of its own: programs share nothing
    "own weights": ({"weight": "row * n + cols"}, True),
}
DISPATCH = "block, warps = _whole_row(n, x_ptr, dy_ptr, sums=2)"


def rows(path: Path, **changes: str) -> Path:
    """A norm whose rows are walked twice, with weights that all programs share."""
    path.write_text(ROWS.format(**{**PLAIN, **changes}))
    return path


@pytest.mark.parametrize("name", CASES)
def test_loops_that_one_block_makes_needless(name: str, tmp_path: Path) -> None:
    changes, is_made = CASES[name]
    run = tad("--backward", "--no-proof", rows(tmp_path / "kernels.py", **changes))
    assert ("def norm_backward_whole_rows(" in run.stdout) == is_made, run.stderr
    assert ("_whole_row(" in run.stdout) == is_made


def test_one_kernel_reads_a_row_once(tmp_path: Path) -> None:
    text = tad("--backward", "--no-proof", rows(tmp_path / "kernels.py")).stdout
    assert DISPATCH in text
    start = text.index("def norm_backward_whole_rows(")
    kernel = text[start : text.index("\nclass ", start)]
    assert kernel.count("tl.load(x_ptr") == kernel.count("tl.load(dy_ptr") == 1
    assert "# In place of the others where a block holds a row: n <= BLOCK\n" in kernel
    assert "atomic" not in kernel
    method = re.sub(r"\s+", " ", text[text.index("def backward_of_whole_rows(") :])
    assert "(ctx, BLOCK, warps, dy_ptr)" in method and "BLOCK=BLOCK," in method
    assert "num_warps=warps, )" in method


@pytest.mark.parametrize(("name", "columns"), [("plain", 16), ("plain", 1), ("infinite", 37)])
def test_it_computes_what_the_others_do(
    name: str, columns: int, tmp_path: Path, interpreter: Worker
) -> None:
    text = proved_module(tmp_path, rows(tmp_path / "own.py", **CASES[name][0]).read_text())
    dispatch = re.search(r"block, warps = _whole_row\(.*\)", text)
    assert dispatch
    random = np.random.default_rng(3)
    given = [random.uniform(-1, 1, shape) for shape in ((5, columns), (columns,), (columns,))]
    upstream = [random.uniform(-1, 1, (5, columns))]
    found = [
        call_function(
            text.replace(dispatch[0], chosen),
            "launch",
            given,
            wrt=[0, 1, 2],
            grad_outputs=upstream,
            worker=interpreter,
        ).gradients
        for chosen in ("block, warps = 0, 0", "block, warps = 64, 4", dispatch[0])
    ]
    for one, *others in zip(*found, strict=True):
        for other in others:
            assert np.isfinite(other).all()
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


class Tensor:
    """Of elements of so many bytes."""

    def __init__(self, size: int) -> None:
        self.element_size = lambda: size


def test_a_row_fits_the_registers(tmp_path: Path) -> None:
    text = tad("--backward", "--no-proof", rows(tmp_path / "kernels.py")).stdout
    names: dict = {"torch": SimpleNamespace(Tensor=Tensor)}
    exec(helper_texts(text, "_whole_row", "_byte_warps"), names)
    choose, two, four = names["_whole_row"], Tensor(2), Tensor(4)
    assert choose(4096, two, two, sums=2) == (4096, 4)
    assert choose(8192, four, four, sums=2) == (8192, 8)
    assert choose(70, four, sums=1) == (128, 4)
    assert choose(10000, two, two, sums=2) == choose(16384, two, None, sums=1) == (16384, 16)
    assert choose(8193, four, four, sums=2) == choose(16385, two, sums=1) == (0, 0)
    assert choose(4096, two, Tensor(1), sums=2) == (4096, 16), (
        "a thread has 16 bytes of the wider one"
    )
    assert choose(4096, two, two, sums=5) == (4096, 8), "a lane has more than 16 bytes"
    assert choose(0, two) == choose(-3, two) == (0, 0)


def test_planes_of_a_channel_are_read_once() -> None:
    """A norm over channels: programs keep their sums apart, and each has its plane in registers."""
    run = tad("--backward", ROOT / "bench" / "gpu" / "style" / "unseen.py")
    assert "instance_norm_kernel: gradients proved" in run.stderr, run.stderr
    kernel = "def instance_norm_kernel_backward_whole_rows("
    text = run.stdout[run.stdout.index(kernel) :].split("class ")[0]
    assert (text.count("tl.load(x_ptr"), text.count("tl.load(dy_ptr")) == (1, 1)
    assert "atomic" not in text
    assert "zeros([BLOCK]" not in text, "tiles of sums would spill"
    assert "x_ptr, stored=[(1, HW), (HW, ctx.grid[0])]" in re.sub(r"\s+", " ", run.stdout)


def whole_rows(file: str, kernel: str) -> tuple[str, str]:
    """The kernel of the benchmark for rows that a block holds, and the module."""
    run = tad("--backward", ROOT / "bench" / "gpu" / "style" / file)
    assert f"{kernel}: gradients proved" in run.stderr, run.stderr
    text = run.stdout[run.stdout.index(f"def {kernel}_backward_whole_rows(") :]
    return text.split("\n\n\n")[0], re.sub(r"\s+", " ", run.stdout)


def test_a_row_with_gradients_of_its_own_is_read_once() -> None:
    """Nothing is shared: one kernel reads the row in four loops, the other once."""
    kernel, _ = whole_rows("public.py", "standardize_kernel")
    assert (kernel.count("tl.load(w_ptr"), kernel.count("tl.load(dout_ptr")) == (1, 1)
    assert "for " not in kernel


def test_planes_of_a_channel_are_loaded_ahead() -> None:
    """A program goes through several rows, twice: each is an iteration whose loads are in flight."""
    kernel, module = whole_rows("reductions.py", "batch_norm_kernel")
    assert kernel.count("in tl.range(N, num_stages=STAGES):") == kernel.count("for ") == 2
    assert kernel.count("tl.load(dy_ptr") == 2 and kernel.count("x = tl.load(") == 2
    assert "block, warps = _whole_row(HW, x_ptr, dy_ptr, sums=5)" in module
    assert "STAGES=_stages(BLOCK, x_ptr, dy_ptr), num_warps=warps, )" in module


def test_the_proof_runs_it(tmp_path: Path) -> None:
    request = derived(rows(tmp_path / "kernels.py"))[1]["norm"]
    own = request["backward"]["whole_rows"]
    assert own["block"] == "BLOCK" and own["length"] == "n" and len(own["launches"]) == 1
    runner = Runner()
    try:
        assert runner.ask("gradcheck", request)["status"] == "proved"
        text = request["backward"]["source"]
        start = text.index("norm_backward_whole_rows(")
        for right, wrong in (
            ("other=0.0", "other=1.0"),
            ("mask=cols_mask", "mask=cols_mask & (cols > 0)"),
            ("if dw_ptr is not None:", "if dx_ptr is not None:"),
        ):
            if right not in text[start:]:
                continue
            request["backward"]["source"] = text[:start] + text[start:].replace(right, wrong)
            answer = runner.ask("gradcheck", request)
            assert answer["status"] == "failed", (right, answer)
            assert "in a block that holds a row" in json.dumps(answer)
    finally:
        runner.close()
