"""Where a gradient is summed: plain stores where one program owns the elements, atomics where several meet."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import ROOT, tad
from tests.triton.interpret import InterpretFailure, call_function

ATOMICS = {
    "neighbours_across_turns": 1,
    "tiles_across_turns": 1,
    "tiles_across_programs": 0,
    "two_widths": 0,
    "recurrence_and_sum": 0,
    "two_passes_and_a_flag": 0,
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


DIGITS = {
    "packed_halves": 0,
    "gate_behind_the_index": 0,
    "transposed": 0,
    "strided_rows": 0,
    "three_digits": 0,
    "whole_of_a_digit": 0,
    "grid_strided": 0,
    "channels": 0,
    "some_channels": 1,  # of `w`
    "rows_that_overlap": 1,
    "a_digit_is_missing": 0,
    "halves_that_meet": 1,
    "rows_longer_than_they_are": 1,
    "channels_of_a_group": 1,  # of `w`
}


def test_digits_of_a_flat_index_tell_elements_apart() -> None:
    file = FILE.with_name("digits.py")
    report = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)
    found = {kernel["name"]: kernel for kernel in report["kernels"]}
    assert {name: kernel["status"] for name, kernel in found.items()} == dict.fromkeys(
        DIGITS, "proved"
    )
    assert {name: kernel["atomics"] for name, kernel in found.items()} == DIGITS


def test_a_tile_of_one_element_is_added_once() -> None:
    module = tad("--backward", "--no-proof", FILE.with_name("digits.py")).stdout
    body = module.split("def some_channels_backward(")[1].split("\nclass ")[0]
    assert "if are_few:" in body
    assert "for element in range(first, last + 1):" in body
    assert "tl.atomic_add(dw + element, " in body
    assert "mask=" in body.split("tl.atomic_add(dw + element")[1]
    overlapping = module.split("def rows_that_overlap_backward(")[1].split("\nclass ")[0]
    assert "are_few" not in overlapping


# The kernels of each backward, and how many of its gradients are still added to by several programs.
OWNERS = {
    "ahead": (2, 0),
    "for_all": (2, 0),
    "ragged": (2, 0),
    "gated": (3, 0),
    "rows": (1, 0),
    "from_the_third_on": (2, 0),
    "some_rows": (1, 0),
    "thrice": (2, 1),
    "beside_its_input": (1, 0),
    "tuned": (2, 0),
}


def test_owners_sum_what_programs_share(tmp_path: Path) -> None:
    file = FILE.with_name("owners.py")
    report = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)
    text = tad("--backward", "--no-proof", file).stdout
    found = {
        kernel["name"]: (
            len(re.findall(rf"^def {kernel['name']}_backward", text, re.MULTILINE)),
            kernel["atomics"],
        )
        for kernel in report["kernels"]
    }
    assert found == OWNERS


# The kernels of each backward, and whether its loop over programs loads ahead.
ONE_PASS = {
    "norm": (1, True),
    "rows_in_tiles": (1, True),
    "columns_in_blocks": (1, True),
    "heads_and_rows": (1, True),
    "in_place": (1, False),
    "with_product": (2, True),
}


def test_rows_and_what_they_share_are_done_in_one_pass() -> None:
    file = FILE.with_name("one_pass.py")
    report = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)
    assert {k["name"]: k["status"] for k in report["kernels"]} == dict.fromkeys(ONE_PASS, "proved")
    text = tad("--backward", "--no-proof", file).stdout
    for name, (kernels, is_ahead) in ONE_PASS.items():
        bodies = re.findall(rf"^def {name}_backward.*?\n\n\n", text, re.MULTILINE | re.DOTALL)
        assert len(bodies) == kernels, name
        assert ("num_stages=STAGES" in bodies[-1]) == is_ahead, name
        # one load of each input a row, and what all rows read alike is read before them
        loop = bodies[0].partition("    for ")[2]
        assert kernels == 2 or "load(w" not in loop, name
    assert "dx = _gradient_buffer(x, stored=[(1, min(B, n)), (stride, ctx.grid[0])])" in text


def test_tiles_are_added_up_and_their_sum_is_taken_once() -> None:
    """Programs that share a row's gradient keep a tile each; behind their loop they take its sum along the rows."""
    text = tad("--backward", "--no-proof", FILE.with_name("one_pass.py")).stdout
    kernel = text[text.index("def rows_in_tiles_backward") :]
    kernel = kernel[: kernel.index("\n\n\n")]
    loop = kernel.partition("    for ")[2].partition("tl.store(dw")[0]
    assert "ds += " in loop
    assert "tl.sum(" not in loop
    assert "tl.sum(ds, axis=0)" in kernel
    assert "ds = tl.zeros([R, B], dtype=tl.float32)" in kernel


def test_the_first_program_with_an_iteration_is_solved_for() -> None:
    """Of a causal loop, of one that ends `width` behind it, and of one that has no bound of its own."""
    module = tad("--backward", "--no-proof", FILE.with_name("owners.py")).stdout
    assert "tl.maximum(start - width, 0) // B, programs, num_stages=STAGES\n" in module
    module = tad("--backward", "--no-proof", ROOT / "examples" / "attention.py").stdout
    assert re.search(r"if CAUSAL:\n +first = start // BLOCK_M\n +else:\n +first = 0\n", module)


def test_a_backward_in_one_kernel_stays_one(tmp_path: Path) -> None:
    """A file that has it so launches no other: its text is what is proved, and a new one fits the launch."""
    file = tmp_path / "owned.py"
    source = FILE.with_name("owners.py").read_text()
    file.write_text(source)
    both = tad("--backward", "--no-proof", f"{file}:ragged").stdout
    assert "def ragged_backward_dw(" in both
    header = "def ragged_backward(dout, x, w, ends, dx, dw, t, B: tl.constexpr, D: tl.constexpr):"
    file.write_text(f"{source}\n\n@triton.jit\n{header}\n    pass\n")
    module = tad("--backward", "--no-proof", f"{file}:ragged").stdout
    assert "ragged_backward_dw" not in module
    assert "tl.atomic_add(dw" in module


TILES = FILE.with_name("tiles.py")


@pytest.mark.parametrize("programs", [None, "7", "8", "12"])
def test_ids_that_number_tiles_need_no_atomic(tmp_path: Path, programs: str | None) -> None:
    """Nine tiles in groups of two rows, the last of one: also where the grid has fewer programs, or more."""
    file, source = TILES, TILES.read_text()
    if programs:
        grid = "triton.cdiv(a.shape[0], 16) * triton.cdiv(b.shape[1], 16)"
        assert source.count(grid) == 4
        file = tmp_path / "tiles.py"
        file.write_text(source.replace(grid, programs))
    report = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)
    assert {
        kernel["name"]: (kernel["status"], kernel["atomics"]) for kernel in report["kernels"]
    } == dict.fromkeys(
        ("in_groups", "in_turned_groups", "row_by_row", "column_by_column"), ("proved", 0)
    )
    module = tad("--backward", "--no-proof", file).stdout
    assert "atomic_add" not in module
    for kernel in report["kernels"]:  # one for each factor
        assert len(re.findall(rf"^def {kernel['name']}_backward", module, re.MULTILINE)) == 2


def test_elements_that_wrap_around_are_masked_where_they_add_nothing() -> None:
    file = FILE.with_name("wraps.py")
    report = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)
    assert {
        kernel["name"]: (kernel["status"], kernel["atomics"]) for kernel in report["kernels"]
    } == {
        "padding": ("proved", 0),
        "padding_of_products": ("proved", 0),
        "padding_in_two_widths": ("proved", 0),
        "read_again": ("proved", 0),
        "added_elsewhere": ("proved", 0),
        "pixels_of_wrapped_rows": ("proved", 0),
    }


SHARED = {
    "scaled": 0,
    "scaled_blocks": 0,
    "three_numbers": 0,
    "batch_rows": 0,
    "whole_batch_rows": 1,
    "peeled": 0,
    "added_where_given": 0,
}


def test_what_products_and_rows_share_besides_is_summed_apart() -> None:
    """Scales and bias of swizzled tiles, scales of blocks, several numbers, rows of a batch that a mask ends."""
    file = FILE.with_name("shared_epilogues.py")
    report = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)
    assert {
        kernel["name"]: (kernel["status"], kernel["atomics"]) for kernel in report["kernels"]
    } == {name: ("proved", atomics) for name, atomics in SHARED.items()}


ENDS = {"splits_of_terms": 0, "splits_without_an_end": 1, "counted_turns": 0}


def test_ranges_that_a_mask_ends_are_apart() -> None:
    """Blocks of terms that reach into the next split, behind a mask or without one, and turns counted in strides."""
    report = json.loads(
        tad("--check", "--grad", "--format", "json", FILE.with_name("ends.py")).stdout
    )
    assert {
        kernel["name"]: (kernel["status"], kernel["atomics"]) for kernel in report["kernels"]
    } == {name: ("proved", atomics) for name, atomics in ENDS.items()}


LAST_BLOCKS = FILE.with_name("last_blocks.py")


def test_branches_that_read_one_place_add_to_it_once() -> None:
    """`if EVEN_K:` around loads with and without a mask: one sum, of which the branch chooses the elements."""
    report = json.loads(tad("--check", "--grad", "--format", "json", LAST_BLOCKS).stdout)
    found = {kernel["name"]: (kernel["status"], kernel["atomics"]) for kernel in report["kernels"]}
    assert (
        found.items()
        >= {
            "flagged": ("proved", 0),
            "flagged_rows": ("proved", 0),
            "flagged_elsewhere": ("proved", 0),
        }.items()
    )
    # It had read one block too early where there is no element.
    assert found["counted_below_zero"][0] == "proved"
    module = tad("--backward", "--no-proof", LAST_BLOCKS).stdout
    assert len(re.findall(r"^def flagged_backward", module, re.MULTILINE)) == 2
    start = module.index("def flagged_rows_backward(")
    own = re.sub(r"\s+", " ", module[start:].split("\nclass ")[0])
    assert len(re.findall(r"tl\.store\( ?dw\b", own)) == 1


# Kernels of `attends.py`, and what sums the gradients of keys and values.
ATTENDS = {
    "logarithms": "dk_dv",
    "nothing_added": "dk_dv",
    "kinds": "dk_dv",
}


def test_keys_and_values_have_owners_in_public_spellings() -> None:
    file = FILE.with_name("attends.py")
    report = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)
    found = {kernel["name"]: (kernel["status"], kernel["atomics"]) for kernel in report["kernels"]}
    assert found == dict.fromkeys(ATTENDS, ("proved", 0))
    done = tad("--backward", "--no-proof", file)
    module = done.stdout
    assert "gradient-tape" not in done.stderr
    assert "gradient-recomputed-state" not in done.stderr
    for kernel, owners in ATTENDS.items():
        assert f"def {kernel}_backward_{owners}(" in module


def test_flags_that_choose_biases_and_masks_leave_owners() -> None:
    """Also where a row's scale goes through memory that the launcher forgets: its gradient is nobody's."""
    file = FILE.with_name("attends_by_flags.py")
    report = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)
    found = {kernel["name"]: (kernel["status"], kernel["atomics"]) for kernel in report["kernels"]}
    assert found == dict.fromkeys(("flagged", "shown", "hidden"), ("proved", 0))
    names = {item["name"] for item in report["diagnostics"]}
    assert not names & {"gradient-tape", "gradient-imprecise", "gradient-recomputed-state"}
    module = tad("--backward", "--no-proof", file).stdout
    assert "_mark_written(ctx, (out, lse, scratch), (scratch,))" in module
    # What a launcher returns is a result with a gradient.
    plain = re.sub(r"\s+", " ", module)
    assert re.search(r"def shown_backward\( ?dout, dscratch, ", plain)
    assert re.search(r"def hidden_backward\( ?dout, x, ", plain)


def test_memory_that_launches_of_a_loop_share_is_no_scratch(tmp_path: Path) -> None:
    file = tmp_path / "repeated.py"
    text = FILE.with_name("attends_by_flags.py").read_text(encoding="utf-8")
    once = "    hidden[(x.shape[0],)](x, out, scratch, x.shape[1]"
    assert once in text
    file.write_text(text.replace(once, f"    for _ in range(2):\n    {once}"), encoding="utf-8")
    module = tad("--backward", "--no-proof", file).stdout
    assert "def hidden_backward(\n    dout,\n    dscratch,\n" in module


def test_a_last_block_behind_its_loop_is_one_of_its_iterations() -> None:
    """Also where the loop counts down. What reads other elements, or uses the sum between, is none.

    It has a kernel of its own.
    """
    report = json.loads(tad("--check", "--grad", "--format", "json", LAST_BLOCKS).stdout)
    found = {kernel["name"]: (kernel["status"], kernel["atomics"]) for kernel in report["kernels"]}
    assert (
        found.items()
        >= {
            "counted_down": ("proved", 0),
            "left_behind": ("proved", 0),
            "left_by_flag": ("proved", 0),
            "left_by_remainder": ("proved", 0),
            "left_elsewhere": ("proved", 0),
            "seen_between": ("proved", 0),
            "kept_and_summed": ("proved", 0),
        }.items()
    )
    module = tad("--backward", "--no-proof", LAST_BLOCKS).stdout
    for kernel in ("counted_down", "left_behind", "left_by_flag", "left_by_remainder"):
        assert len(re.findall(rf"^def {kernel}_backward", module, re.MULTILINE)) == 2
    for kernel in ("left_elsewhere", "seen_between"):
        assert f"def {kernel}_backward_da_ptr_2(" in module
    assert "for done in range(program * BLOCK_K, K, programs * BLOCK_K):" in module
    start = module.index("class LeftBehindFunction")
    assert "(stride_ak, min(BLOCK_K * (K // BLOCK_K) + BLOCK_K, K))" in module[start:]


def test_programs_that_take_turns_with_tiles_are_derived_as_one_a_tile() -> None:
    """Around the kernel of each factor stands the loop of turns again. Turns that belong together stay as they are."""
    file = FILE.with_name("turns.py")
    report = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)
    assert {
        kernel["name"]: (kernel["status"], kernel["atomics"]) for kernel in report["kernels"]
    } == {
        "in_groups": ("proved", 0),
        "of_batches": ("proved", 0),
        "by_another_number": ("proved", 0),
        "with_what_was_before": ("proved", 0),
    }
    module = tad("--backward", "--no-proof", file).stdout
    for kernel, number in (("in_groups", "tile_id"), ("of_batches", "tile")):
        start = module.index(f"def {kernel}_backward(")
        emitted = module[start : module.index("\nclass ", start)]
        turns = rf"^    for {number} in range\(tl.program_id\(0\), \w+, tl.num_programs\(0\)\):"
        assert len(re.findall(turns, emitted, re.MULTILINE)) == 2
        assert "atomic_add" not in emitted


def test_programs_that_share_out_a_loop_need_no_atomic() -> None:
    """Unless one reads what is another's: the block behind its range, the next number, both of a pair."""
    report = json.loads(
        tad("--check", "--grad", "--format", "json", FILE.with_name("shares.py")).stdout
    )
    assert {
        kernel["name"]: (kernel["status"], kernel["atomics"]) for kernel in report["kernels"]
    } == {
        "rows_in_strides": ("proved", 0),
        "blocks_in_strides": ("proved", 0),
        "rows_in_ranges": ("proved", 0),
        "blocks_in_ranges": ("proved", 0),
        "blocks_beyond_ranges": ("proved", 1),
        "neighbours_in_strides": ("proved", 1),
        "halves_in_strides": ("proved", 0),
    }


def test_offsets_of_a_flag_are_known_below_it() -> None:
    """A row that advances under a constexpr condition belongs to its program where the condition holds."""
    file = FILE.with_name("flags.py")
    report = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)
    assert {
        kernel["name"]: (kernel["status"], kernel["atomics"]) for kernel in report["kernels"]
    } == {
        "advanced": ("proved", 0),
        "advanced_otherwise": ("proved", 1),
        "half_blocks": ("proved", 0),
        "blocks_of_two_sizes": ("proved", 0),
        "state_of_an_optional_tensor": ("proved", 0),
        "one_row_or_all": ("proved", 0),
    }


def test_first_program_is_known_along_one_of_two_axes() -> None:
    """Heads that share keys: a loop over them, in it one over the queries that see the keys, none of which is asked."""
    examples = ROOT / "examples"
    module = tad("--backward", "--no-proof", examples / "attention_variants.py").stdout
    owners = module.split("def grouped_query_kernel_backward_dk_ptr_dv_ptr(")[1].split("\nclass ")[
        0
    ]
    loops = re.findall(r"^( *)for (\w+) in range\((.*)\):", owners, re.MULTILINE)
    assert [len(indent) // 4 for indent, _, _ in loops] == [1, 2, 3]
    assert loops[2][1:] == ("block_1", "first, trips")
    assert "first = start // BLOCK_M\n" in owners
    assert set(re.findall(r"^ *if (.*):", owners, re.MULTILINE)) == {"DESCRIBED"}
    before = owners.split("for forward_program in")[0]
    assert before.count("tl.load(k_ptr") == before.count("tl.load(v_ptr") == 1  # once an owner
    assert "tl.load(k_ptr" not in owners.split("for forward_program in")[1]


@pytest.mark.parametrize("kernel", ["keys_across", "keys_by_strides"])
def test_sums_of_a_loop_have_their_rows_along_one_axis(kernel: str) -> None:
    """The gradient of keys that are loaded transposed is summed as that of the values is, transposed at the store."""
    module = tad("--backward", "--no-proof", FILE.with_name("across.py")).stdout
    owners = module.split(f"def {kernel}_backward_dk_dv(")[1].split("\nclass ")[0]
    assert "dvalues = tl.zeros([BN, D]" in owners
    assert "dkeys = tl.zeros([BN, D]" in owners
    assert "tl.dot(tl.trans(q" not in owners
    # rows by strides may overlap, and then add
    statement = "atomic_add" if kernel == "keys_by_strides" else "store"
    assert re.search(rf"tl\.{statement}\(\s*dk \+ .*,\s+tl\.trans\(dkeys\)", owners)


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
    """Each of them adds to an output, and a few sum the gradients for all; what they store is stored alike."""
    alone = tmp_path / "alone.py"
    alone.write_text(STORES_ALONE)
    files = (FILE.with_name("unread_axes.py"), alone)
    report = json.loads(tad("--check", "--grad", "--format", "json", *files).stdout)
    assert {kernel["name"]: kernel["atomics"] for kernel in report["kernels"]} == {
        "adds_alone": 0,
        "adds_and_stores": 0,
        "stores_scaled": 1,
        "adds_as_said": 0,
        "adds_scaled": 0,
        "stores_alone": 0,
    }


NO_LAUNCH = """
import torch
import triton
import triton.language as tl


@triton.jit
def adds(x, total, n, B: tl.constexpr):
    lanes = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + lanes, mask=lanes < n, other=0.0)
    tl.atomic_add(total + lanes, v * v, mask=lanes < n)
"""
CALLER = """

def launch(x):
    total = torch.zeros_like(x)
    count = x.numel()
    return AddsFunction.apply({grid}, x, total, count, 16)
"""


@pytest.mark.parametrize(
    "grid", ["(2,)", "(2, 1, 1)", "lambda meta: (triton.cdiv(meta['n'], meta['B']), 1)"]
)
def test_a_grid_that_nobody_has_seen(grid: str, tmp_path: Path) -> None:
    """The Function takes one whose other axes have one program, and refuses others."""
    file = tmp_path / "adds.py"
    file.write_text(NO_LAUNCH)
    module = tad("--backward", "--no-proof", file).stdout
    x = np.linspace(-1, 1, 20).astype(np.float32)
    right = call_function(
        module + CALLER.format(grid=grid), "launch", [x], wrt=[0], grad_outputs=[np.ones_like(x)]
    )
    np.testing.assert_allclose(right.gradients[0], 2 * x, rtol=1e-6)
    several = grid.replace(", 1", ", 3") if ", 1" in grid else "(2, 3)"
    with pytest.raises(InterpretFailure, match="several programs along axes"):
        call_function(
            module + CALLER.format(grid=several),
            "launch",
            [x],
            wrt=[0],
            grad_outputs=[np.ones_like(x)],
        )


def test_a_kernel_alone_says_what_grid_it_is_for(tmp_path: Path) -> None:
    file = tmp_path / "adds.py"
    file.write_text(NO_LAUNCH)
    alone = tad("--backward", "--no-proof", "--wrapper", "none", file).stdout
    assert "# grid: the forward had one program along axes 1 and 2" in alone
    operator = tad("--backward", "--no-proof", "--wrapper", "triton_op", file).stdout
    if "adds_op_save" in operator:
        assert "_check_single((1, 2), adds, grid, {})" in operator
    stores = NO_LAUNCH.replace("tl.atomic_add(", "tl.store(")
    file.write_text(stores)
    for wrapper in ("none", "autograd"):
        text = tad("--backward", "--no-proof", "--wrapper", wrapper, file).stdout
        assert "# grid:" not in text
        assert "_check_single" not in text


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
    text = text.partition("_whole_rows(")[0]  # behind it, the kernel in place of these
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


ASKED_BY_THE_GRID = """
import torch
import triton
import triton.language as tl


@triton.jit
def sq(x, y, T, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i)
    tl.store(y + i, v * v)


def launch(x):
    y = torch.empty_like(x)
    T = x.numel()
    sq[lambda meta: (meta["T"] // meta["B"],)](x, y, T, B=16)
    return y
"""


def test_a_grid_may_ask_for_what_the_backward_does_not_need(tmp_path: Path) -> None:
    file = tmp_path / "squares.py"
    file.write_text(ASKED_BY_THE_GRID)
    module = tad("--backward", "--no-proof", file).stdout
    x = np.linspace(-1, 1, 32).astype(np.float32)
    got = call_function(module, "launch", [x], wrt=[0], grad_outputs=[np.ones_like(x)])
    np.testing.assert_allclose(got.gradients[0], 2 * x, rtol=1e-6)


REACHING = ("element_before", "element_behind", "rows_of_a_part", "programs_that_rest")


def test_what_is_loaded_and_dropped_stays_as_it_was() -> None:
    """A gradient of 0 is not stored over another program's, and what a program leaves out it does not load."""
    file = FILE.with_name("reaching.py")
    report = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)
    found = {kernel["name"]: (kernel["status"], kernel["reason"]) for kernel in report["kernels"]}
    assert found == dict.fromkeys((*REACHING, "frames_on_each_other"), ("proved", ""))
    assert "no two iterations" not in json.dumps(report["diagnostics"])


@pytest.mark.parametrize("kernel", ["batch_norm_kernel", "group_norm_channels_kernel"])
def test_nests_of_loops_store_an_element_once(kernel: str) -> None:
    """What the first nest would add is computed again in the last one: no gradient goes to memory to be read again."""
    text = tad("--backward", f"{ROOT}/bench/gpu/style/reductions.py:{kernel}").stdout
    backward = text[text.index(f"def {kernel}_backward") :]
    assert backward.count("tl.store(dx_ptr") == 1
    assert "tl.load(dx_ptr" not in backward


@pytest.mark.parametrize("kernel", ["further.py:bias_softmax_kernel", "unseen.py:modulate_kernel"])
def test_a_digit_of_the_id_owns_what_one_pass_sums(kernel: str) -> None:
    """Rows and what programs with another digit share are done in one kernel; what it stores is not zeroed first."""
    text = tad("--backward", f"{ROOT}/bench/gpu/style/{kernel}").stdout
    assert len(re.findall(r"def \w+_kernel_backward\w*\(", text)) == 1
    assert "atomic" not in text
    assert not re.search(r"_gradient_buffer\(\w+\)", text)
