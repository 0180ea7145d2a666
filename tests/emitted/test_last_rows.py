"""The last row of a program's tile, read apart, is added where the tile is: no atomics, and nothing is stored twice."""

from __future__ import annotations

import json

from tests.emitted.plan import ROOT, tad

FILE = ROOT / "tests" / "emitted" / "kernels" / "last_rows.py"
# The gradients that programs add to with atomics.
ATOMICS = {
    "decay_of_a_chunk": 0,
    "behind_a_return": 0,
    "before_the_tile": 0,
    "without_rows": 1,
    "of_two_tiles": 1,
    "of_fewer_columns": 1,
    "in_a_loop_over_chunks": 0,
    "in_a_loop_behind_the_rows": 1,
}


def test_tiles_take_over_their_last_rows() -> None:
    report = json.loads(tad("--check", "--grad", "--format", "json", FILE).stdout)
    found = {kernel["name"]: (kernel["status"], kernel["atomics"]) for kernel in report["kernels"]}
    assert found == {name: ("proved", count) for name, count in ATOMICS.items()}


def test_the_row_is_added_where_its_number_is_the_last() -> None:
    text = tad("--backward", f"{FILE}:decay_of_a_chunk").stdout
    assert "inside_1 = rows[:, None] == last\n" in text
    assert "dgate = difference + tl.where(inside_1, dend[None, :], 0.0)\n" in text
    assert "accumulate=True)" not in text


