"""Loops that walk several rows as one, where a gradient would need atomics: a loop over rows around one for each."""

from __future__ import annotations

import json

from tests.emitted.plan import ROOT, tad

FILE = ROOT / "tests" / "emitted" / "kernels" / "digit_loops.py"
# The gradients that programs add to with atomics.
ATOMICS = {
    "groups": 0,
    "both_digits": 0,
    "summed_weights": 0,
    "shifted_behind": 1,  # what lies behind the mask counts: there would be more of it
    "asks_for_a_place": 1,
    "planes": 0,
    "rows_beside": 0,
    "fewer_rows_beside": 0,
}


def test_rows_have_sums_of_their_own() -> None:
    report = json.loads(tad("--check", "--grad", "--format", "json", FILE).stdout)
    found = {kernel["name"]: (kernel["status"], kernel["atomics"]) for kernel in report["kernels"]}
    assert found == {kernel: ("proved", count) for kernel, count in ATOMICS.items()}


# What a person would write: the weight of a channel is one number, and its gradient a sum in registers.
CHANNELS = """
            for row in range(per_group):
                x_offset = row * hw
                channel = offset + row
                w = tl.load(w_ptr + channel)
"""


def test_channels_of_a_group_are_a_loop() -> None:
    text = tad("--backward", f"{ROOT}/bench/gpu/style/more.py:group_norm_kernel").stdout
    backward = text[text.index("def group_norm_kernel_backward") :].split("class ")[0]
    assert CHANNELS in backward
    assert "for at in range(0, hw, BLOCK):" in backward
    assert "atomic" not in backward
    assert backward.count("tl.store(dx_ptr") == 1
    assert "block, warps = _row_block(BLOCK, hw, x_ptr, dy_ptr, sums=4" in text


def test_planes_that_lie_apart_are_rows_of_a_loop() -> None:
    """Where a block holds a plane, its loads run ahead."""
    text = tad("--backward", f"{FILE}:planes").stdout
    kernel = text.split("def planes_backward(")[1].split("\n\n\n")[0]
    assert kernel.count("in range(N):") == kernel.count("in range(0, hw, BLOCK):") == 2
    assert "// hw" not in kernel and "atomic" not in kernel
    whole = text.split("def planes_backward_whole_rows(")[1].split("\n\n\n")[0]
    assert whole.count("in tl.range(N, num_stages=STAGES):") == whole.count("for ") == 2
    assert (
        "dx_ptr = _gradient_buffer(\n                x_ptr, stored=[(1, hw), (hw, ctx.grid[0]), (C * hw, N)]"
        in text
    )


def test_loops_over_all_elements_become_the_rows_that_the_author_has_beside() -> None:
    """Then one statement stores the gradient, and nothing is read again."""
    text = tad("--backward", f"{FILE}:rows_beside").stdout
    kernel = text.split("def rows_beside_backward(")[1].split("\n\n\n")[0]
    assert "in range(0, n, BLOCK):" not in kernel
    assert kernel.count("dx_ptr +") == 1
    last = kernel[kernel.rindex("for at in range(0, hw, BLOCK):") :]
    assert last.count("x_ptr +") == 2  # a load for both loops of the forward, and the store
    assert "(x_ptr, accumulate=True)" not in text


def test_rows_of_another_number_stay_a_loop_of_their_own() -> None:
    text = tad("--backward", f"{FILE}:fewer_rows_beside").stdout
    kernel = text.split("def fewer_rows_beside_backward(")[1].split("\n\n\n")[0]
    assert "in range(0, n, BLOCK):" in kernel
