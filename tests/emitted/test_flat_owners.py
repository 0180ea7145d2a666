"""Gradients that digits of a flat index number: owners for each, sums in parts, no atomics."""

from __future__ import annotations

import json

from tests.emitted.plan import ROOT, tad

FILE = ROOT / "tests" / "emitted" / "kernels" / "flat_owners.py"
# The gradients that programs add to with atomics.
ATOMICS = {
    "bias": 0,
    "scaled_table": 0,
    "channels": 0,
    "whole_blocks": 0,
    "prelu": 0,
    "first_rows": 1,  # nobody knows whether the table has the elements that the mask leaves out
    "of_scalar": 0,  # a kernel of its own sums the number's gradient
    "of_scalar_alone": 0,
    "runs_alone": 0,
    "strided": 0,
    "wide_index": 0,
    "tuned": 0,
    "dropped": 0,
    "summed": 1,
    "beside_a_mask": 0,
    "turns": 0,
    "numbered_turns": 0,
    "turns_to_another_end": 1,  # the mask leaves out what the turns have, or they end in front of it
    "of_batches": 0,
    "token_and_time": 0,
    "heads_of_batches": 1,  # runs of elements in periods
    "twice_in_a_table": 1,  # each kernel would have a part of the one gradient
    "short_runs": 0,
    "wide_runs": 0,
    "whole_runs": 0,
    "flagged_runs": 0,
    "runs_and_columns": 0,
    "tuned_runs": 0,
    "first_of_a_run": 1,  # not made of the owner's number: another one in each turn
    "capped_runs": 0,
    "spread_runs": 1,
}


def test_owners() -> None:
    report = json.loads(tad("--check", "--grad", "--format", "json", FILE).stdout)
    found = {kernel["name"]: (kernel["status"], kernel["atomics"]) for kernel in report["kernels"]}
    assert found == {kernel: ("proved", count) for kernel, count in ATOMICS.items()}


def test_the_gradient_of_a_number_has_a_kernel_beside_those_of_columns() -> None:
    """It adds up tiles, and takes one sum behind its loop."""
    text = tad("--backward", "--no-proof", f"{FILE}:of_scalar").stdout
    kernel = text[text.index("def of_scalar_backward_ds_ptr(") :].split("\nclass ")[0]
    assert "atomic_add" not in text
    assert "tl.store(ds_ptr + program * ds_stride, tl.sum(ds))" in kernel
    assert "dx_ptr" not in kernel and "dg_ptr" not in kernel


# What a person would write for a table that all batches read: a program has columns of it, and walks down their rows.
POSITIONS = """
        for start in range(group * BLOCK, end, groups * BLOCK):
            columns = start + lanes
            dpos = tl.zeros([BLOCK], dtype=tl.float32)
            for turn in tl.range(slice, turns, slices, num_stages=STAGES):
                offset = turn * span
                inside = columns < tl.minimum(span, total - offset)
                offs = offset + columns
                dy = tl.load(dy_ptr + offs, mask=inside, other=0.0).to(tl.float32)
                if dpos_ptr is not None:
                    dpos += dy
                if dx_ptr is not None:
                    tl.store(dx_ptr + offs, dy, mask=inside)
"""


def test_rows_of_a_table_are_walked_down() -> None:
    text = tad("--backward", f"{ROOT}/bench/gpu/style/positions.py:add_position_kernel").stdout
    assert POSITIONS in text
    assert "atomic" not in text
    assert "slices = _flat_slices(grid[0] * block, 1, period, block)" in text
    assert "dx_ptr=None if dx_ptr is dy_ptr else dx_ptr" in text


# And for a number of each channel: it is read once, and the sums wait for the end of all of its runs.
CHANNELS = """
        for c in range(group, end, groups):
            scale = tl.load(scale_ptr + c)
            dshift = tl.zeros([BLOCK], dtype=tl.float32)
            dscale = tl.zeros([BLOCK], dtype=tl.float32)
            for turn in tl.range(slice, turns, slices, num_stages=STAGES):
                row = turn // tiles * rows_at_once + row_of_lane
                within = turn % tiles * BLOCK + lane_in_row
                first = (row * C + c) * HW
                offs = first + within
"""


def test_runs_of_a_channel_are_summed_in_registers() -> None:
    text = tad("--backward", f"{ROOT}/bench/gpu/style/norms.py:channel_affine_kernel").stdout
    assert CHANNELS in text
    assert "atomic" not in text
    assert "tl.store(dscale_ptr + c + dscale_offset, tl.sum(dscale))" in text
    assert "stored=[(1, min(ctx.grid[0] * BLOCK, n))]" in text


def test_turns_of_a_flat_index_have_owners_on_a_grid_of_their_own() -> None:
    text = tad("--backward", f"{ROOT}/bench/gpu/style/reductions.py:scaled_add_kernel").stdout
    assert "atomic" not in text
    assert "turns = tl.cdiv(n, span)" in text
    assert "_wide_block(\n            _all_turns(ctx.grid, n, BLOCK), 0, BLOCK, n," in text
    assert "slices = _flat_slices(n, 1, C, block)" in text


# Tables of batches, whose tokens lie between batch and channel: a block of columns of one batch at a time, and
# nothing is divided in a turn.
BATCHES = """
        for block in range(group, blocks_of_all, groups):
            period = block // blocks
            start = block % blocks * BLOCK
            before = period * offset
            here = tl.minimum(offset, total - before)
            columns = start + lanes
            is_own = columns < tl.minimum(span, here)
"""
TURN = """
            for turn in tl.range(slice, turns, slices, num_stages=STAGES):
                offset_1 = turn * span
                inside = columns < tl.minimum(span, here - offset_1)
                t = turn * rows_at_once + offsets
                i = before + offset_1 + columns
                x = tl.load(x_ptr + i, mask=inside, other=0.0).to(tl.float32)
                p = tl.load(p_ptr + t * C + c, mask=inside, other=0.0).to(tl.float32)
"""


def test_tables_of_batches_and_of_tokens_have_a_kernel_each() -> None:
    text = tad("--backward", f"{ROOT}/bench/gpu/style/unseen.py:token_sum_kernel").stdout
    assert BATCHES in text
    assert TURN in text
    assert "atomic" not in text
    assert "slices = _flat_slices(grid[0] * block, 1, C, block, T * C)" in text
    assert "alone=[(1, C), (C, min(ctx.grid[0] * BLOCK, n) // max(T * C, 1))]" in text
    assert "token_sum_kernel_backward_dp_ptr[grid_1](" in text


# A number for each short run: a tile has the runs of several owners, whose sums are stored together.
RUNS = """
        for start in range(group * RUNS, end, groups * RUNS):
            row = start + lanes
            is_own = row < end
            first = row[:, None] * D
            left = tl.minimum(D, total - first)
"""
RUN_TURN = """
            for turn in tl.range(slice, tiles, slices, num_stages=STAGES):
                within = turn * LANES + lanes_1
                inside = within[None, :] < left
                offs = first + within[None, :]
                column = offs - first
"""
RUN_SIZES = """
            BLOCK=block,
            RUNS=max(block // triton.next_power_of_2(max(D, 1)), 1),
            LANES=min(block, triton.next_power_of_2(max(D, 1))),
"""


def test_short_runs_share_a_tile() -> None:
    text = tad("--backward", f"{FILE}:short_runs").stdout
    for part in (RUNS, RUN_TURN, RUN_SIZES):
        assert part in text
    assert "tl.store(dw_ptr + row + dw_offset, tl.sum(dw, axis=1), mask=is_own)" in text
    assert "gate = tl.load(gate_ptr + row[:, None], mask=is_own[:, None], other=0.0)" in text
    assert "_wide_block(" in text


def test_runs_of_a_tuned_kernel_keep_their_default_tile() -> None:
    text = tad("--backward", f"{FILE}:tuned_runs").stdout
    assert "RUNS: tl.constexpr = 8," in text and "LANES: tl.constexpr = 128," in text
    assert "RUNS=" not in text
