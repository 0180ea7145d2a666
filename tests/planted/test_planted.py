"""Mistakes planted in the examples are found where they are made, and nothing is said of the examples themselves."""

from pathlib import Path

from tests.planted.planted import FOUND, ROOT, check, judge

# How many of each class are found at their line: a number may rise.
LEAST = {
    "axes": 17,
    "launches": 103,
    "masks": 59,
    "pointers": 53,
    "reductions": 38,
    "shapes": 42,
    "types": 29,
}


def test_nothing_is_said_of_the_unplanted_text() -> None:
    for path in sorted((ROOT / "examples").glob("*.py")):
        said = [one for one in check(path) if one.severity in ("error", "warning")]
        assert not said, f"{path.name}: {said}"


def test_mistakes_are_found_at_their_line(tmp_path: Path) -> None:
    results = judge(tmp_path)
    assert len(results) >= 150
    for family, least in LEAST.items():
        found = sum(here for row, _, here in results if row.family == family)
        assert found >= least, f"{family}: {found}, and {least} before"
    assert set(LEAST) == {row.family for row, _, _ in results}
    assert FOUND
