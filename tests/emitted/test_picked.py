"""An element that is read by an index from memory is added where the row is stored, if it is one of the row's."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import ROOT, tad
from tests.triton.interpret import call_function

FILE = ROOT / "tests" / "emitted" / "kernels" / "picked.py"
# The gradients that programs add to with atomics.
ATOMICS = {
    "masked_before": 0,
    "two_labels": 0,
    "shard": 0,
    "whole_tile": 0,
    "in_nested_branches": 0,
    "in_its_part": 0,
    "below_its_end": 0,
    "row_under_a_flag": 0,
    "other_half": 1,
    "part_of_a_row": 1,
    "row_in_a_branch": 1,
    "labels_in_a_loop": 1,
    "of_another_row": 1,
    "one_too_far": 1,
    "in_either_part": 1,
    "two_under_a_flag": 1,
    "on_the_diagonal": 0,
    "tiles_counted": 0,
    "whole_tiles_counted": 1,
    "every_other_tile": 1,
    "less_a_shift": 0,
    "weighed_in_the_branch": 1,
}


def test_rows_take_over_what_is_read_apart() -> None:
    report = json.loads(tad("--check", "--grad", "--format", "json", FILE).stdout)
    found = {kernel["name"]: (kernel["status"], kernel["atomics"]) for kernel in report["kernels"]}
    assert found == {name: ("proved", count) for name, count in ATOMICS.items()}
    said = [e for e in report["diagnostics"] if e["name"] == "gradient-assumes-distinct"]
    assert len(said) == 7  # one a label; none where branches or masks ask for what the program has
    assert "lies in the row that the program reads as well" in said[0]["message"]


# What a person would write for a cross entropy over rows in blocks, whose labels are read apart.
CROSS_ENTROPY = """
    if label != -100:
        dlse += dloss
        dpicked = -dloss
    else:
        dpicked = 0.0
    elsewhere = tl.where(
        (label >= 0) & (label < VOCAB) | (dpicked == 0.0), 0.0, float("nan")
    )
    # back through the loop of line 16
    for i in range(0, VOCAB, BLOCK):
        cols = i + lanes
        logits_mask = cols < VOCAB
        logits = tl.load(
            logits_ptr + logits_offset + cols, mask=logits_mask, other=-float("inf")
        )
        x = logits.to(tl.float32)
        dx = dlse * tl.exp(x - lse) + tl.where(cols == label, dpicked, elsewhere)
        tl.store(dlogits_ptr + logits_offset + cols, dx, mask=logits_mask)
"""
LOSSES = ROOT / "bench" / "gpu" / "style" / "losses.py"


def test_a_cross_entropy_stores_each_row_once() -> None:
    text = tad("--backward", f"{LOSSES}:cross_entropy_kernel").stdout
    assert CROSS_ENTROPY in text
    assert "stored=[(1, VOCAB), (row_stride, ctx.grid[0])]" in text
    assert "accumulate=True)" not in text
    explained = tad("--dump", "schedule", f"{LOSSES}:cross_entropy_kernel").stdout
    assert "a backward of 1 kernel, without atomics" in explained
    assert "owner: a program along grid axis 0; each element is stored plainly" in explained
    assert "the element that is read by an index from memory (line 25)" in explained


LAUNCHER = """import torch
import triton
import triton.language as tl


@triton.jit
def entropy(x, labels, y, stride, n, ignored, B: tl.constexpr):
    row = tl.program_id(0)
    label = tl.load(labels + row)
    x += row * stride
    top = -float("inf")
    total = 0.0
    for start in range(0, n, B):
        cols = start + tl.arange(0, B)
        v = tl.load(x + cols, mask=cols < n, other=-float("inf"))
        higher = tl.maximum(top, tl.max(v))
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(v - higher))
        top = higher
    if label == ignored:
        loss = 0.0
    else:
        loss = top + tl.log(total) - tl.load(x + label)
    tl.store(y + row, loss)


def run(x, labels):
    rows, n = x.shape
    y = torch.empty(rows, dtype=x.dtype, device=x.device)
    entropy[(rows,)](x, labels, y, x.stride(0), n, -100, B=8)
    return y
"""
COLUMNS = 21


def emitted(tmp_path: Path, text: str) -> str:
    path = tmp_path / "loss.py"
    path.write_text(text)
    return tad("--backward", path).stdout


def gradient(module: str, labels: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """The gradient of the losses' weighted sum, and what it should be where labels are columns, or ignored."""
    random = np.random.default_rng(3)
    x = random.standard_normal((len(labels), COLUMNS)).astype(np.float32)
    weights = random.standard_normal(len(labels)).astype(np.float32)
    got = call_function(
        module, "run", [x, np.array(labels)], wrt=[0], grad_outputs=[weights]
    ).gradients[0]
    want = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    for row, label in enumerate(labels):
        if 0 <= label < COLUMNS:
            want[row, label] -= 1
        want[row] *= 0 if label == -100 else weights[row]
    assert got is not None
    return got, want


def test_labels_at_the_edges_and_ignored_ones(tmp_path: Path) -> None:
    module = emitted(tmp_path, LAUNCHER)
    assert "atomic_add" not in module
    got, want = gradient(module, [0, COLUMNS - 1, -100, 7, 8, -100, 15, 16])
    np.testing.assert_allclose(got, want, atol=1e-6)


@pytest.mark.parametrize("outside", [COLUMNS, -1, COLUMNS + 3])
def test_a_label_outside_of_its_row_is_no_wrong_number(outside: int, tmp_path: Path) -> None:
    got, want = gradient(emitted(tmp_path, LAUNCHER), [3, outside, 5, -100])
    assert np.isnan(got[1]).all()
    np.testing.assert_allclose(got[[0, 2, 3]], want[[0, 2, 3]], atol=1e-6)


@pytest.mark.parametrize(
    "change",
    [
        ("rows, n = x.shape", "rows, n = x.shape[0], x.shape[1] - 4"),
        ("range(0, n, B)", "range(B, n, B)"),
        ("start + tl.arange(0, B)", "start + 1 + tl.arange(0, B)"),
        ("range(0, n, B)", "range(0, n, 2 * B)"),
        ("mask=cols < n", "mask=(cols < n) & (cols < label)"),
    ],
    ids=["a part of the tensor", "not the first tile", "not the first", "gaps", "a moving end"],
)
def test_rows_that_are_not_whole_keep_atomics(change: tuple[str, str], tmp_path: Path) -> None:
    assert change[0] in LAUNCHER
    text = LAUNCHER.replace(*change)
    module = emitted(tmp_path, text)
    assert "tl.atomic_add(dx" in module
