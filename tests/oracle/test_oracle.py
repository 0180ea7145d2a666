"""Emitted modules under the real PyTorch and Triton's interpreter, held against differences of the original launcher.

A run of everything takes a share of each class, drawn by the commit (tests/conftest.py); a run of this file takes every
hand-written case and a sample of the generated ones; `tests/oracle/run` runs them all.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.conftest import drawn, sample_seed
from tests.oracle.case import read
from tests.oracle.collect import CASES, collected
from tests.oracle.generate import KINDS, generated
from tests.oracle.pool import Judged, run_cases

HERE = Path(__file__).parent
SAMPLE = 3  # generated launchers a class
SHARE = 0.2  # of each class, in a run of everything
LIST = (
    HERE / "known.txt"
)  # faults that are known, below a comment: none while there is no such file
KNOWN = set(LIST.read_text().splitlines()[1:]) if LIST.exists() else set()


@cache
def results(seed: str) -> list[Judged]:
    """All cases, run once."""
    cases = collected(range(SAMPLE))
    classes = [
        [case for case in cases if case.kind == kind]
        for kind in dict.fromkeys(c.kind for c in cases)
    ]
    return run_cases(
        [case for rows in classes for case in drawn(rows, SHARE, seed and f"{seed} {rows[0].kind}")]
    )


@pytest.mark.parametrize("kind", sorted({*KINDS, *(case.kind for case in collected([]))}))
def test_no_silently_wrong_gradient(kind: str, pytestconfig: pytest.Config) -> None:
    """Right, refused by name, or a sentence of ours at run time: nothing else."""
    found = [judged for judged in results(sample_seed(pytestconfig)) if judged.case.kind == kind]
    assert found
    faults = [j for j in found if j.is_fault and j.key not in KNOWN]
    said = "\n".join(f"{j.key}: {j.verdict}: {j.reason}" for j in faults)
    assert not faults, (
        f"{said}\nAgain, with the files kept: tests/oracle/run --only {faults[0].case.name}"
    )


def test_operators(pytestconfig: pytest.Config) -> None:
    """The same launchers as operators, of which more are left out: nothing is wrong without a word."""
    seed = sample_seed(pytestconfig)
    cases = [generated(kind, number) for kind in KINDS for number in range(SAMPLE)]
    some = drawn(cases, SHARE, seed and f"{seed} operators")
    found = run_cases(some, flags=("--wrapper", "triton_op"))
    faults = "\n".join(f"{j.key}: {j.verdict}: {j.reason}" for j in found if j.is_fault)
    assert not faults, f"{faults}\nAgain: tests/oracle/run --only ... --wrapper triton_op"


def test_operators_keep_what_lies_around_views() -> None:
    """Hooks that pack what an operator saves leave out what an index reads beside a view."""
    found = run_cases([read(CASES / "saved_by_hooks.py")], flags=("--wrapper", "triton_op"))
    assert [j.key for j in found if j.verdict in ("silent", "crash", "hang")] == []


def test_most_is_right(pytestconfig: pytest.Config) -> None:
    """Refusing everything would be easy."""
    found = results(sample_seed(pytestconfig))
    verdicts = [judged.verdict for judged in found if not judged.is_fault]
    assert verdicts.count("right") > len(verdicts) / 2
