"""Where a gradient is summed: plain stores where one program owns the elements, atomics where several meet."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.emitted.plan import ROOT, tad

ATOMICS = {
    "neighbours_across_turns": 1,
    "tiles_across_turns": 1,
    "tiles_across_programs": 1,
    "two_widths": 0,
    "recurrence_and_sum": 0,
    "two_passes_and_a_flag": 1,  # of `w`, which all programs read
    "halves": 0,
    "shifted_by_a_size": 1,
    "parts_apart": 0,
    "parts_that_overlap": 1,
    "rows_against_the_next_rows": 0,
    "halves_of_rows": 0,
    "a_tile_and_those_behind_it": 0,
}
FILE = ROOT / "tests" / "emitted" / "kernels" / "overlaps.py"


def test_gradients_of_one_program_are_stored() -> None:
    report = json.loads(tad("--check", "--grad", "--format", "json", FILE).stdout)
    found = {kernel["name"]: kernel for kernel in report["kernels"]}
    assert {name: kernel["status"] for name, kernel in found.items()} == dict.fromkeys(
        ATOMICS, "proved"
    )
    assert {name: kernel["atomics"] for name, kernel in found.items()} == ATOMICS


STORES_ALONE = """
import torch
import triton
import triton.language as tl


@triton.jit
def stores_alone(x, y, n, B: tl.constexpr):
    lanes = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + lanes, mask=lanes < n, other=0.0)
    tl.store(y + lanes, v * v, mask=lanes < n)


def launch_stores_alone(x):
    y = torch.empty_like(x)
    stores_alone[(triton.cdiv(x.numel(), 16), 3)](x, y, x.numel(), B=16)
    return y
"""


def test_programs_that_only_an_unread_axis_tells_apart_add(tmp_path: Path) -> None:
    """Each of them adds to an output; what they store is stored alike, and needs no atomic."""
    alone = tmp_path / "alone.py"
    alone.write_text(STORES_ALONE)
    files = (FILE.with_name("unread_axes.py"), alone)
    report = json.loads(tad("--check", "--grad", "--format", "json", *files).stdout)
    assert {kernel["name"]: kernel["atomics"] for kernel in report["kernels"]} == {
        "adds_alone": 1,
        "adds_and_stores": 1,
        "adds_scaled": 1,
        "stores_alone": 0,
    }


@pytest.mark.parametrize("kernel", ["two_widths", "recurrence_and_sum"])
def test_threads_wait_between_the_stores_and_the_sums(kernel: str) -> None:
    text = tad("--backward", f"{FILE}:{kernel}", "--wrapper", "none").stdout
    lines = [line.strip() for line in text.splitlines()]
    first_store = next(i for i, line in enumerate(lines) if line.startswith("tl.store(dx"))
    barrier = lines.index("tl.debug_barrier()", first_store)
    read_back = next(i for i, line in enumerate(lines) if line.startswith("dx_1 = tl.load(dx"))
    assert first_store < barrier < read_back


def test_a_flag_does_not_keep_statements_apart() -> None:
    """What the first pass adds is recomputed in the second one, the branch with it: each element is stored once."""
    text = tad("--backward", f"{FILE}:two_passes_and_a_flag", "--wrapper", "none").stdout
    assert text.count("tl.store(dx") == 1
    assert "tl.load(dx" not in text


SCALES = """
import triton
import triton.language as tl


@triton.jit
def grouped_scales(x, scales, ids, tables, y, n, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    scale = tl.load(scales + lanes // GROUP, mask=lanes < n, other=0.0)
    table = tl.load(tables + tl.load(ids + lanes, mask=lanes < n, other=0), mask=lanes < n, other=0.0)
    tl.store(y + lanes, tl.load(x + lanes, mask=lanes < n, other=0.0) * scale * table, mask=lanes < n)
"""


def test_the_reason_for_an_atomic_is_the_right_one(tmp_path: Path) -> None:
    file = tmp_path / "scales.py"
    file.write_text(SCALES)
    report = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)
    spots = [d for d in report["diagnostics"] if d["name"] == "gradient-atomic-hot-spot"]
    said = {spot["message"].split("`")[1]: spot["message"] for spot in spots}
    assert "is not linear in the lanes" in said["scales"]
    assert "depends on loaded data" in said["tables"]
