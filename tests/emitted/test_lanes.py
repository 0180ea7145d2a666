"""A maximum and a sum for each lane, put together behind the loop, need no tape."""

from __future__ import annotations

import json

import pytest

from tests.emitted.plan import ROOT, tad

FILE = ROOT / "tests" / "emitted" / "kernels" / "gauges.py"
# Whether the states of the loop go to a tape.
TAPED = {
    "maxima_of_lanes": False,
    "maxima_of_lanes_of_rows": False,
    "stored_maxima_of_lanes": True,
    "lanes_with_a_sink": True,
    "lanes_apart": True,
    "lanes_guarded_by_zero": False,
    "lanes_emptied": True,
    "lanes_that_fall": True,
}


def test_only_maxima_that_count_go_to_a_tape() -> None:
    report = json.loads(tad("--check", "--grad", "--format", "json", FILE).stdout)
    found = {kernel["name"]: kernel["status"] for kernel in report["kernels"]}
    text = tad("--backward", "--no-proof", FILE).stdout
    for name, is_taped in TAPED.items():
        assert found[name] == "proved", name
        body = text.split(f"def {name}_backward(")[1].split("\nclass ")[0]
        assert ("_tape" in body) == is_taped, name


# Whether the gradient of the larger one is chosen by comparisons.
CHOSEN = {"larger_of_three": False, "merged_parts": False, "larger_that_is_seen": True}


@pytest.mark.parametrize(("kernel", "is_chosen"), CHOSEN.items())
def test_no_gradient_flows_through_the_larger_of_values_that_all_are_relative_to(
    kernel: str, is_chosen: bool
) -> None:
    run = tad("--backward", f"{FILE}:{kernel}")
    assert run.returncode == 0, run.stderr
    body = run.stdout.split(f"def {kernel}_backward(")[1].split("\nclass ")[0]
    assert ("tl.where(" in body) == is_chosen, body


# What a person would write for a logarithm of a softmax whose lanes have a maximum and a sum each.
LOG_SOFTMAX = """
    dlse = tl.zeros([TILE_N], dtype=tl.float32)
    # back through the loop of line 67
    for start in range(0, N, TILE_N):
        n = start + lanes
        dy = tl.load(dy_ptr + y_offset + n, mask=n < N, other=0.0).to(tl.float32)
        dlse -= dy
    dlse = tl.sum(dlse)
    # back through the loop of line 57
    for start in range(0, N, TILE_N):
        n = start + lanes
        y_mask = n < N
        y = tl.load(y_ptr + y_offset + n, mask=y_mask, other=-float("inf"))
        dy = tl.load(dy_ptr + y_offset + n, mask=y_mask, other=0.0).to(tl.float32)
        dx = dy + dlse * tl.exp(y.to(tl.float32))
        tl.store(dx_ptr + y_offset + n, dx, mask=y_mask)
"""


def test_a_log_softmax_of_lanes_is_two_passes() -> None:
    file = ROOT / "bench" / "gpu" / "style" / "softmaxes.py"
    text = tad("--backward", f"{file}:log_softmax_kernel").stdout
    assert LOG_SOFTMAX in text
    assert "stored=[(1, N), (N, ctx.grid[0])]" in text
    assert "_tape" not in text


# What a person would write for a cross entropy of such lanes that stores its log-sum-exp: nothing is computed again.
CROSS_ENTROPY = """
    for start in range(0, V, BLOCK):
        offsets = start + lanes
        x_mask = offsets < V
        x = tl.load(x_ptr + x_offset + start + lanes, mask=x_mask, other=-float("inf"))
        x = x.to(tl.float32)
        dx = dlse * tl.exp(x - lse) + tl.where(offsets == label, dpicked, elsewhere)
        tl.store(dx_ptr + x_offset + start + lanes, dx, mask=x_mask)
"""


def test_a_cross_entropy_of_lanes_loads_its_logarithm() -> None:
    file = ROOT / "bench" / "gpu" / "style" / "reductions.py"
    text = tad("--backward", f"{file}:chunked_nll_kernel").stdout
    assert CROSS_ENTROPY in text
    body = text.split("def chunked_nll_kernel_backward(")[1].split("\nclass ")[0]
    assert body.count("for start in range") == 1
    assert "stored=[(1, V), (V, ctx.grid[0])]" in text
