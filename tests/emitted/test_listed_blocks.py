"""Blocks of sequences that memory lists, a pair of numbers for each program, and blocks in parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emitted.plan import tad

CASE = Path(__file__).parents[1] / "oracle" / "cases" / "listed_blocks.py"
TEXT = CASE.read_text()


def changed(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def test_blocks_are_stored_plainly(tmp_path: Path) -> None:
    path = tmp_path / "blocks.py"
    path.write_text(TEXT)
    done = tad("--backward", path)
    assert "pool_kernel: gradients proved" in done.stderr, done.stderr
    assert "cross_kernel: gradients proved" in done.stderr, done.stderr
    module = done.stdout
    assert "tl.atomic_add" not in module
    assert '_check_all_ascending("starts", starts)' in module
    assert '_check_blocks("blocks", blocks, 2, 0, 1)' in module
    assert 'tl.static_assert(BT >= PARTS * BC, "BT has to have room for PARTS times BC")' in module
    assert "no two programs read one pair of numbers from `blocks`" in done.stderr
    assert "the parts of a block of BT rows lie in it" in done.stderr


# what a pair does not tell
OTHER_ROWS = {
    "steps by less than a block": [("rows = i_t * BT + tl", "rows = i_t * (BT // 2) + tl")],
    "a row more": [("rows[:, None] < T)", "rows[:, None] < T + 1)")],
    "the row before": [("rows = i_t * BT +", "rows = i_t * BT - 1 +")],
    "one number alone": [("blocks + i_t * 2 + 1)", "blocks + i_t * 2)")],
    "numbers of two programs": [("blocks + i_t * 2 + 1)", "blocks + i_t * 2 + 3)")],
    "steps of one number": [("i_t * 2", "i_t")],
    "pairs of every second program": [("blocks + i_t * 2", "blocks + i_t // 2 * 2")],
    "two sequences": [("starts + i_n + 1)", "starts + i_n + 2)")],
    "rows without an end": [("mask=inside, other=0.0)", "mask=cols[None, :] < D, other=0.0)")],
    "columns without an end": [("mask=inside, other=0.0)", "mask=rows[:, None] < T, other=0.0)")],
    "another sequence's end": [("starts + i_n + 1)", "blocks + i_n + 1)")],
}


@pytest.mark.parametrize("changes", OTHER_ROWS.values(), ids=OTHER_ROWS)
def test_rows_of_others_are_added_to(changes: list[tuple[str, str]], tmp_path: Path) -> None:
    path = tmp_path / "blocks.py"
    path.write_text(changed(TEXT, *changes))
    module = tad("--backward", "--no-proof", path).stdout
    pool = module[module.index("def pool_kernel_backward") : module.index("def cross_kernel_")]
    assert "tl.atomic_add" in pool


# parts that have no room in a block, and more rows than a part has
OTHER_PARTS = {
    "a launch without room": [("PARTS=4,", "PARTS=5,")],
    "rows of two parts": [
        ("i_j * BC + tl.arange(0, BC)\n    acc", "i_j * BC + tl.arange(0, 2 * BC)\n    acc")
    ],
}


@pytest.mark.parametrize("changes", OTHER_PARTS.values(), ids=OTHER_PARTS)
def test_parts_without_room_are_added(changes: list[tuple[str, str]], tmp_path: Path) -> None:
    text = changed(TEXT, *changes)
    path = tmp_path / "blocks.py"
    path.write_text(
        text.replace("[BC, BC], dtype", "[BC, 2 * BC], dtype") if "2 * BC)" in text else text
    )
    module = tad("--backward", "--no-proof", path).stdout
    cross = module[module.index("def cross_kernel_backward") :]
    assert "tl.atomic_add" in cross
