"""All cases: written by hand, of the examples, generated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.emitted.plan import KERNELS
from tests.oracle.case import Case, read
from tests.oracle.examples import examples
from tests.oracle.generate import KINDS, generated

CASES = Path(__file__).parent / "cases"


def collected(seeds: Sequence[int], only: str = "") -> list[Case]:
    """Those whose class or name holds `only`."""
    cases = [read(path) for path in sorted(CASES.glob("*.py"))]
    cases += [read(path) for path in KERNELS if "# case: " in path.read_text()]
    cases += examples()
    cases += [generated(kind, seed) for kind in KINDS for seed in seeds]
    return [case for case in cases if only in case.name or only in case.kind]
