"""Owners of elements that several programs read: neighbours ask each other, sums go to slices of their own."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.emitted.plan import ROOT, tad

FOLDER = ROOT / "tests" / "emitted" / "kernels"
# The gradients that programs add to with atomics.
ATOMICS = {
    "neighbours.py": {
        "row_before": 0,
        "row_behind": 0,
        "taps": 0,
        "elements_beside": 0,
        "rows_of_a_tile": 0,
        "scales_of_two_rows": 1,  # programs of one image meet
        "other_batch_behind": 0,  # the grid has the row behind, too: the launch says so
        "sum_of_neighbours": 1,  # each reader would sum its row once more
        "frames_apart": 0,
        "frames_beyond": 1,
        "lanes_laid_out": 0,
        "five_points": 0,
        "behind_a_state": 0,
    },
    "taps.py": {
        "last_elements": 0,
        "causal": 0,
        "around": 0,
        "differences": 0,
        "before_in_time": 0,
        "dilated": 0,
        "as_long": 0,
        "valid": 1,  # the last elements of a row have no owner
        "around_some": 1,  # nor has what the grid leaves out
        "shifted_by": 0,
        "taps_written_out": 0,
        "five_points_flat": 0,
        "five_points_of_some": 1,  # the last row may end early
        "two_columns_on": 0,
        "causal_tile": 0,
    },
    "pools.py": {
        "average": 0,
        "rows": 0,
        "largest": 0,
        "shuffle": 0,
        "average_of_tiles": 0,
        "overlapping": 0,
        "overlapping_rows": 1,
    },
    "turned.py": {
        "rolled": 0,
        "rolled_back": 0,
        "rolled_either_way": 0,
        "windows": 0,
        "flat_windows": 0,
        "some": 1,  # rows that are shorter than what is read
        "twice": 1,  # what is turned around, and itself
        "corners": 0,
        "pairs": 0,
    },
    "repeated.py": {
        "repeated": 0,
        "repeated_as_often": 0,
        "enlarged_some": 1,  # of rows that are as long as a caller says
        "turned_over": 0,
        "enlarged_by_batch": 1,  # programs along another axis read the same elements
        "repeated_parts": 0,
        "enlarged_by_rows": 0,
        "enlarged_by_tiles": 0,
        "enlarged_but_some": 1,
        "enlarged_sums": 1,
    },
    "flat_taps.py": {
        "smoothed": 0,
        "smoothed_some": 1,  # a caller may end in the middle of a picture
        "smoothed_beyond": 1,  # the last row takes in the next picture's first one
        "along_time": 0,
    },
    "own_slices.py": {
        "one_scale": 0,
        "scale_of_a_row": 0,
        "scales_by_channel": 0,
        "query_of_splits": 0,
        "scale_below_a_flag": 0,
        "blocks_of_a_program": 0,
        "scale_of_even_programs": 0,
        "recurrent": 0,
        "states": 0,
        "parts_of_rows": 0,
    },
}


@pytest.mark.parametrize("name", ATOMICS)
def test_owners(name: str) -> None:
    report = json.loads(tad("--check", "--grad", "--format", "json", FOLDER / name).stdout)
    found = {kernel["name"]: (kernel["status"], kernel["atomics"]) for kernel in report["kernels"]}
    assert found == {kernel: ("proved", count) for kernel, count in ATOMICS[name].items()}


# What a person would write for rows that are mixed with the rows before them.
TOKEN_SHIFT = """
                dx = dy * mix
                dy_step = bt + 1
                inside_1 = dy_step < programs
                dy_1 = tl.load(
                    (dy_ptr + dy_step * C)[:, None] + c,
                    mask=keep & inside_1[:, None] & inside[:, None],
                    other=0.0,
                )
                dy_2 = dy_1.to(tl.float32)
                dbefore = dy_2 * difference
                inside_2 = keep & (dy_step % T > 0)[:, None] & inside_1[:, None]
                tl.store(
                    (dx_ptr + dy_offsets)[:, None] + c,
                    tl.where(inside_2, dbefore, 0.0) + dx,
                    mask=keep & inside[:, None],
                )
"""


def test_numbers_that_a_caller_repeats_are_added_up_lane_by_lane() -> None:
    """Not one owner after the other: of four numbers each, a program would have four lanes with work."""
    text = tad("--backward", f"{FOLDER}/repeated.py:repeated_as_often").stdout
    assert "for turn in range(R):" in text and "most_slices" not in text
    text = tad("--backward", f"{ROOT}/bench/gpu/style/norms.py:channel_affine_kernel").stdout
    assert "most_slices" in text


# What a person would write for the mean of the last elements of a row.
LAST_ELEMENTS = """
    for k in tl.static_range(W):
        dy_offsets = t + k
        dy_mask = (dy_offsets < n) & (dy_offsets < offset) & inside[:, None]
        dy_1 = tl.load(dy + dy_offset + dy_offsets, mask=dy_mask, other=0.0)
        grad = dy_1.to(tl.float32)
        dtotal_2 = grad / W
        dtotal_1 += dtotal_2
    tl.store(dx + dy_offset + t, dtotal_1, mask=(t < n) & inside[:, None])
"""


def test_an_element_sums_over_the_taps_that_read_it() -> None:
    text = tad("--backward", f"{FOLDER}/taps.py:last_elements").stdout
    assert LAST_ELEMENTS in text
    run = tad("--backward", f"{ROOT}/bench/gpu/style/further.py:conv_bld_kernel")
    assert "gradients proved" in run.stderr
    text = run.stdout
    backward = text[text.index("def conv_bld_kernel_backward") : text.index("class ")]
    assert "atomic" not in backward
    # a reader's own loop stands in one over readers that is not unrolled: else there would be the square of the taps
    assert backward.count("in range(K)") == 1
    assert backward.count("tl.static_range(K)") == 3


def test_weights_of_taps_that_are_written_out_are_summed_in_slices_together() -> None:
    """Not in a kernel for each, in which one program would go through all rows."""
    text = tad("--backward", f"{FOLDER}/taps.py:taps_written_out").stdout
    assert text.count("@triton.jit") == 2 and "if program == 0" not in text
    assert "for t_1 in range(program, programs, slices):" in text
    assert all(f"dw{tap} += (grad * x{tap}).to(tl.float32)" in text for tap in range(4))


# What a person would write for a row of a picture that is enlarged.
ROW_OF_A_PICTURE = """
    for turn in tl.static_range(S):
        offsets_2 = offsets + turn
        inside_4 = offsets_2 < programs
        dy_ptrs = dy_ptr + (offset_2 + offsets_2) * W * S
        for turn_1 in tl.static_range(S):
            dy_offsets = offsets_1 + turn_1
            keep = dy_offsets < offset
"""


def test_a_row_sums_over_those_that_repeat_it() -> None:
    text = tad("--backward", f"{ROOT}/bench/gpu/style/layouts.py:upsample_rows_kernel").stdout
    assert ROW_OF_A_PICTURE in re.sub(r" *# the loop of line.*\n", "", text)
    assert "atomic" not in text


# What a person would write for means of the pixels around each.
PIXELS_AROUND = """
            for b in tl.static_range(3):
                offsets_6 = offsets_1 - (b - 1)
                i = offsets_6 + offsets_5 + offsets_3
                m = i < n
"""


def test_a_pixel_sums_over_those_around_it() -> None:
    text = tad("--backward", f"{ROOT}/bench/gpu/style/layouts.py:average3_kernel").stdout
    assert PIXELS_AROUND in text
    assert "atomic" not in text and "FILL=fills" in text


def test_a_row_takes_what_the_next_one_reads_of_it() -> None:
    text = tad("--backward", f"{ROOT}/bench/gpu/style/positions.py:token_shift_kernel").stdout
    assert TOKEN_SHIFT in text
    assert "atomic" not in text
    assert "stored=[(1, min(programs_[1] * BLOCK_C, C)), (C, programs_[0])]" in text


def test_frames_are_stored_whole() -> None:
    """Where the launch has a lane for the last frame: what its owner adds is stored as far as any reader goes."""
    text = tad("--backward", f"{FOLDER}/neighbours.py:frames_apart").stdout
    assert "atomic" not in text
    assert "(C, min(programs[1] * BT, T))" in text
    assert "mask=(t[:, None] < T) & " in text


def test_programs_that_do_the_work_of_all_along_two_axes_store_all() -> None:
    """Each number of the loop is a program's, and its digits are the ids along the axes."""
    text = tad("--backward", f"{FOLDER}/neighbours.py:lanes_laid_out").stdout
    assert "for b_1 in tl.range(program, programs, slices" in text
    assert (
        "stored=[\n"
        "                    (C, min(programs[1] * BT, T)),\n"
        "                    (1, min(programs[2] * BC, C)),\n"
        "                    (T * C, programs[0]),\n"
    ) in text


def test_a_remainder_is_what_the_quotient_leaves() -> None:
    """A GPU divides by an unknown number in many steps: once is enough."""
    text = tad("--backward", f"{ROOT}/bench/gpu/style/unseen.py:glu_channels_kernel").stdout
    assert "    b = i // x_offset\n    rest = i - b * x_offset\n" in text
    # by a constant of the compiler's
    text = tad("--backward", f"{FOLDER}/repeated.py:repeated").stdout
    assert "% R" in text


def test_weights_of_a_group_norm_have_a_slice_for_each_image() -> None:
    text = tad("--backward", f"{ROOT}/examples/group_norm.py").stdout
    assert "atomic" not in text
    assert "slices = _slices(ctx.grid, (0,), weight_ptr, bias_ptr, most=65536, each=1)" in text
    assert "tl.store(dweight_base, dweight + dw)" in text


def test_what_is_turned_around_is_stored_whole() -> None:
    """No zeros first, unless the launch turns to numbers below 0."""
    text = tad("--backward", f"{FOLDER}/turned.py:rolled_back").stdout
    assert "atomic" not in text
    assert "(0, min(max(n - shift + 1, 0), 1))" in text
    text = tad("--backward", f"{FOLDER}/turned.py:rolled_either_way").stdout
    assert "stored=[(1, min(B, n)), (n, ctx.grid[0])]" in text


def test_corners_of_a_window_are_stored_whole() -> None:
    text = tad("--backward", f"{FOLDER}/turned.py:corners").stdout
    assert "(2 * C, OW),\n                (C, 2),\n                (W * C, 2)," in text


def test_pairs_of_neighbours_take_their_upstream_gradients_as_they_are() -> None:
    """Of a row that has one element more, nothing is read back and no copy is made."""
    text = tad("--backward", f"{FOLDER}/turned.py:pairs").stdout
    backward = text[text.index("def pairs_backward") : text.index("class ")]
    assert "barrier" not in backward
    assert "x_offsets = (pid * H + h[:, None]) * D + lanes" in backward
    assert "x_mask = (h[:, None] < H) & (lanes < 2 * (D // 2))" in backward
    assert "tl.split(tl.reshape(x_1, [BH, BD, 2]))" in backward
    assert (
        "tl.store(dx + x_offsets, tl.reshape(tl.join(da, db), [BH, 2 * BD]), mask=x_mask)"
        in backward
    )


FLAT_PAIRS = """import torch
import triton
import triton.language as tl


@triton.jit
def k(x, y, n, R: tl.constexpr, B: tl.constexpr):
    r = tl.arange(0, R)
    d = tl.arange(0, B)
    at = (tl.program_id(0) * R + r[:, None]) * n + {lanes}
    keep = {mask}
    a = tl.load(x + at, mask=keep, other=0.0)
    b = tl.load(x + at + {step}, mask=keep, other=0.0)
    tl.store(y + at, a * b, mask=keep)
    tl.store(y + at + {step}, a - b * b, mask=keep)


def run(x):
    y = torch.zeros_like(x)
    k[(x.shape[0] // 4,)](x, y, x.shape[1], R=4, B=16)
    return y
"""
PAIRS = {"lanes": "2 * d[None, :]", "mask": "d[None, :] < n // 2", "step": "1"}
# The second element may lie beyond: no bound of twice as many lanes.
AXIS_OF_TWO = {"mask": "(2 * d < n)[None, :]"}
NO_PAIRS = {
    "halves": {"lanes": "d[None, :]", "step": "(n // 2)"},
    "every fourth": {"lanes": "4 * d[None, :]", "mask": "d[None, :] < n // 4"},
}


@pytest.mark.parametrize("name", ["pairs", *NO_PAIRS])
def test_every_second_element_is_loaded_with_the_next(name: str, tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(FLAT_PAIRS.format(**{**PAIRS, **NO_PAIRS.get(name, {})}))
    run = tad("--backward", path)
    assert "gradients proved" in run.stderr
    assert ("tl.split" in run.stdout) == (name == "pairs")
    assert ("tl.arange(0, 2 * B)" in run.stdout) == (name == "pairs")


@pytest.mark.parametrize("lanes", ["d[None, :] * 2", "(2 * d)[None, :]", "2 * (d + 0)[None, :]"])
def test_pairs_are_lanes_that_follow_each_other(lanes: str, tmp_path: Path) -> None:
    """A compiler sees that twice as many lanes are one after the other, whatever order it takes axes in."""
    path = tmp_path / "kernels.py"
    path.write_text(FLAT_PAIRS.format(**{**PAIRS, "lanes": lanes}))
    run = tad("--backward", path)
    assert "gradients proved" in run.stderr
    assert "tl.arange(0, 2 * B)" in run.stdout


def test_pairs_behind_another_mask_are_an_axis_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(FLAT_PAIRS.format(**{**PAIRS, **AXIS_OF_TWO}))
    run = tad("--backward", "--no-proof", path)
    assert "[:, :, None] + lanes" in run.stdout and "tl.split" in run.stdout


def test_one_sum_is_the_gradient_in_its_own_type() -> None:
    """Of heads that are repeated, where there is no room for several sums: no zeros, no float32, no sum of one."""
    text = tad("--backward", f"{ROOT}/bench/gpu/style/unseen.py:repeat_kv_kernel").stdout
    said = "alone=[ (1, min(ctx.grid[1] * BLOCK, T * D)), (T * D, ctx.grid[0] // max(R, 1)),"
    assert said in " ".join(text.split())
