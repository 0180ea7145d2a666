"""Programs that differ by a digit that nothing reads, under a flag, do the same: each stores what the other does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.emitted.plan import tad

TABLES = (Path(__file__).parent / "kernels" / "unread_digits.py").read_text()


def proof(folder: Path, *changes: tuple[str, str]) -> tuple[str, int]:
    """What comes of the proof, and how many gradients need atomics."""
    text = TABLES
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "copies.py"
    path.write_text(text)
    done = tad("--check", "--grad", "--format", "json", path)
    (kernel,) = json.loads(done.stdout)["kernels"]
    return kernel["status"], kernel["atomics"]


@pytest.mark.parametrize("programs", ["H", "3 * H"])
def test_copies_store_plainly(programs: str, tmp_path: Path) -> None:
    change = ("(chunks.shape[0], H)", f"(chunks.shape[0], {programs})")
    assert proof(tmp_path, change) == ("proved", 0)


STORE = "tl.store(y"


@pytest.mark.parametrize(
    "change",
    [
        ("tl.exp(scale)", "(tl.exp(scale) * (1 + batch))"),
        ("tl.exp(scale)", "(tl.exp(scale) + tl.program_id(1))"),
        (STORE, f"if batch == 0:\n        {STORE}"),
        ("at = block\n", "at = block // 2\n"),
        ("(at * H + head) * D", "(at * H + head // 2) * D"),
    ],
    ids=["its batch", "its id", "a store of one batch", "chunks that share", "heads that share"],
)
def test_others_add(change: tuple[str, str], tmp_path: Path) -> None:
    status, atomics = proof(tmp_path, change)
    assert status == "proved" and atomics > 0
