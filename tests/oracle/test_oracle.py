"""Emitted modules under the real PyTorch and Triton's interpreter, held against differences of the original launcher.

Every hand-written case and a sample of the generated ones; `tests/oracle/run` runs them all.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.oracle.collect import collected
from tests.oracle.generate import KINDS
from tests.oracle.pool import Judged, run_cases

HERE = Path(__file__).parent
SAMPLE = 3  # generated launchers a class: all of it has to stay below 90 seconds on two cores
LIST = HERE / "known.txt"  # faults that are known, below a comment: none while there is no such file
KNOWN = set(LIST.read_text().splitlines()[1:]) if LIST.exists() else set()


@cache
def results() -> list[Judged]:
    """All cases, run once."""
    return run_cases(collected(range(SAMPLE)))


@pytest.mark.parametrize("kind", sorted({*KINDS, *(case.kind for case in collected([]))}))
def test_no_silently_wrong_gradient(kind: str) -> None:
    """Right, refused by name, or a sentence of ours at run time: nothing else."""
    found = [judged for judged in results() if judged.case.kind == kind]
    assert found
    faults = [j for j in found if j.is_fault and j.key not in KNOWN]
    said = "\n".join(f"{j.key}: {j.verdict}: {j.reason}" for j in faults)
    assert not faults, (
        f"{said}\nAgain, with the files kept: tests/oracle/run --only {faults[0].case.name}"
    )


def test_most_is_right() -> None:
    """Refusing everything would be easy."""
    verdicts = [judged.verdict for judged in results() if not judged.is_fault]
    assert verdicts.count("right") > len(verdicts) / 2
