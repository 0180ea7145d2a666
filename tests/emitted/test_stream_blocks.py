"""Blocks that rows are walked in: where they are free, a backward computes the same in others, and has its own."""

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
    assert launch and f"{block}=block" in launch[0]
    own = launch[0].replace(f"{block}=block", f"{block}={scale.replace('BLOCK', block)}")
    same = launch[0].replace(f"{block}=block", f"{block}={block}")
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
        for module in (text, *(text.replace(launch[0], other) for other in (same, own)))
    ]
    for one, *others in zip(*found, strict=True):
        for other in others:
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


# --- blocks of their own ----------------------------------------------------------------------------------------------

OWN = "= _row_block("


def emitted(path: Path, *options: str) -> str:
    """The module with the backward of a file, or of one kernel of it."""
    run = tad("--backward", "--no-proof", *options, path)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("name", CASES)
def test_rows_are_walked_in_blocks_of_their_own(name: str) -> None:
    launcher, kernel, block, _ = CASES[name]
    text = emitted(EXAMPLES / name)
    launch = re.search(rf"        {kernel}\[ctx\.grid\]\(.*?\n +\)\n", text, re.S)
    assert launch and f"{block}=block," in launch[0] and f"{OWN}{block}, " in text


ROWS = """import torch
import triton
import triton.language as tl


{decorator}@triton.jit
def scaled(x_ptr, y_ptr, n, {more}BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
        total += tl.sum(x * x)
    for start in range(0, {end}, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
        tl.store(y_ptr + row * n + cols, {value}, mask=cols < n)


def launch(x, m=5):
    y = torch.empty_like(x)
    scaled[(x.shape[0],)](x, y, x.shape[1]{arguments})
    return y
"""
PLAIN = {"decorator": "", "more": "", "end": "n", "value": "x * total", "arguments": ", BLOCK=1024"}
TUNED = (
    "@triton.autotune([triton.Config({'BLOCK': 1024}), triton.Config({'BLOCK': 512})], key=['n'])\n"
)
HEURISTIC = "@triton.heuristics({'BLOCK': lambda args: 1024})\n"
KEPT = {
    "tuned": {"decorator": TUNED, "arguments": ""},
    "heuristics": {"decorator": HEURISTIC, "arguments": ""},
    # what a block holds depends on where it begins
    "numbered": {"value": "x * total * (start // 7)"},
    # two ends: neither says how long a row is
    "other end": {"more": "m, ", "end": "m", "arguments": ", m, BLOCK=1024"},
    # the whole block
    "cumulative": {"value": "tl.cumsum(x, 0) * total"},
}


def rows(path: Path, **changes: str) -> Path:
    """A kernel that walks its rows twice."""
    path.write_text(ROWS.format(**{**PLAIN, **changes}))
    return path


def test_the_launch_says_how_long_a_row_is(tmp_path: Path) -> None:
    text = re.sub(r"\s+", " ", emitted(rows(tmp_path / "kernels.py")))
    assert "block, warps = _row_block(BLOCK, n, x_ptr, dy_ptr)" in text
    assert "BLOCK=block, num_warps=warps, )" in text
    said = rows(tmp_path / "kernels.py", arguments=", BLOCK=1024, num_warps=2, num_stages=3")
    text = re.sub(r"\s+", " ", emitted(said))
    assert "_row_block(BLOCK, n, x_ptr, dy_ptr, **ctx.options)" in text
    assert '**{**ctx.options, "num_warps": warps}' in text


@pytest.mark.parametrize("name", KEPT)
def test_other_kernels_keep_the_forwards_block(name: str, tmp_path: Path) -> None:
    path = rows(tmp_path / "kernels.py", **KEPT[name])
    assert OWN not in emitted(path)
    if name == "tuned":
        assert OWN not in emitted(path, "--tune", "none")


class Tensor:
    """Of elements of so many bytes."""

    def __init__(self, size: int) -> None:
        self.element_size = lambda: size


def test_a_row_fits_the_registers(tmp_path: Path) -> None:
    text = emitted(rows(tmp_path / "kernels.py"))
    names: dict = {"torch": SimpleNamespace(Tensor=Tensor)}
    exec(helper_texts(text, "_row_block"), names)
    choose, two, four = names["_row_block"], Tensor(2), Tensor(4)
    assert choose(1024, 700, two, two) == (1024, 4)
    assert choose(2048, 700, two, two) == (1024, 4)
    assert choose(512, 2000, four, four) == (2048, 16)
    assert choose(1024, 4096, two, two) == (4096, 16)
    assert choose(1024, 6000, two, two) == (8192, 16)
    assert choose(1024, 32000, two, two) == (16384, 16)
    assert choose(1024, 32000, four, four) == (16384, 16)
    assert choose(1024, 32000, four, four, four) == (8192, 16)
    assert choose(1024, 32000, two, None, lanes=4) == (4096, 16)
    assert choose(1024, 0, two) == (32, 4)
    # three blocks in place of one with many lanes for nothing
    assert choose(1024, 5120, two, two) == (2048, 8)
    assert choose(1024, 10007, two, two) == (4096, 16)
    # the forward's: as large as its author wants it, in as many warps
    assert choose(65536, 50000, two, two, num_warps=32) == (65536, 32)
    assert choose(1024, 1000, two, num_warps=2, num_stages=4) == (1024, 2)
    assert choose(1024, 32000, two, two, num_warps=2) == (16384, 16)


def test_nests_and_sums_in_parts_have_blocks_of_their_own() -> None:
    """Also where flags ask whether somebody wants a sum."""
    text = emitted(ROOT / "bench" / "gpu" / "style" / "reductions.py")
    for kernel, sums in (("BatchNormKernelFunction", 5), ("GroupNormChannelsKernelFunction", 4)):
        function = text[text.index(f"class {kernel}") :].split("\ndef ")[0]
        assert f"block, warps = _row_block(BLOCK, HW, x_ptr, dy_ptr, sums={sums})" in function


def test_the_proof_runs_such_blocks(tmp_path: Path) -> None:
    request = derived(rows(tmp_path / "kernels.py"))[1]["scaled"]
    (launch,) = request["backward"]["launches"]
    assert launch["tiles"]["BLOCK"]["sizes"] and launch["own"] == {"lanes": "1"}
    runner = Runner()
    try:
        assert runner.ask("gradcheck", request)["status"] == "proved"
        # right in blocks of the forward's sizes alone
        text = request["backward"]["source"]
        wrong = re.sub(r"(\n +)(cols = start)", r"\1start = start + BLOCK // 128\1\2", text)
        assert wrong != text
        request["backward"]["source"] = wrong
        answer = runner.ask("gradcheck", request)
        assert answer["status"] == "failed"
        assert "in the tiles that it is launched with" in json.dumps(answer)
    finally:
        runner.close()


# --- sums lane by lane ------------------------------------------------------------------------------------------------

LANES = """import torch
import triton
import triton.language as tl


@triton.jit
def scaled(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = {first}
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0).to(tl.float32)
        total += {term}
    scale = {sum}
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0).to(tl.float32)
        tl.store(y_ptr + row * n + cols, x * scale, mask=cols < n)


def launch(x):
    y = torch.empty_like(x)
    scaled[(x.shape[0],)](x, y, x.shape[1], BLOCK=1024)
    return y
"""
ADDED = {"first": "tl.zeros([BLOCK], dtype=tl.float32)", "term": "x * x", "sum": "tl.sum(total)"}
LANE_SUMS = {
    "plain": ({}, True),
    "masked": ({"term": "tl.where(cols < n, (x - 2.0) * (x - 2.0), 0.0)"}, True),
    "by axis": ({"sum": "1 / tl.sqrt(tl.sum(total, axis=0) / n + 1.0)"}, True),
    # as many of these are added as a block has lanes
    "not from 0": ({"first": "tl.full([BLOCK], 1.0, dtype=tl.float32)"}, False),
    "behind the end": ({"term": "x * x + 1.0"}, False),
    # which elements share a lane is up to the block
    "squares of sums": ({"sum": "tl.sum(total * total)"}, False),
    "carried otherwise": ({"term": "x * x + 0.5 * total"}, False),
}


@pytest.mark.parametrize("name", LANE_SUMS)
def test_lanes_that_are_added_up(name: str, tmp_path: Path) -> None:
    changes, is_free = LANE_SUMS[name]
    path = tmp_path / "kernels.py"
    path.write_text(LANES.format(**{**ADDED, **changes}))
    assert (OWN in emitted(path, "--save", "none")) == is_free
    if is_free:
        proved_module(tmp_path, path.read_text())
