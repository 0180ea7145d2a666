"""Kernels that nobody wrote: whatever is derived from them is right."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings

from tests.emitted.plan import tad
from tests.emitted.random_kernels import choice_modules, in_place_modules, modules

# A kernel may amplify what it is given until its derivative has no digit left, or have none to begin with.
NO_VERDICT = (
    "changes with the last digits",
    "is not finite",
    "are not finite",
    "every derivative is 0 with these values",
    # what a load that nobody uses finds in a tensor that the kernel else only stores to
    "which nothing has written",
)
# In place: programs that read what another one stores run in no order, and the drawn kernels do not know of each other.
IN_NO_ORDER = "what another program of the launch stores"
DRAWN = settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def checked(text: str) -> tuple[str, str]:
    """The status of the one kernel, and the reason for it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "drawn.py"
        file.write_text(text)
        report = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)
    errors = [d["message"] for d in report["diagnostics"] if d["severity"] == "error"]
    assert errors == []
    (kernel,) = report["kernels"]
    return kernel["status"], kernel["reason"] or ""


def is_settled(status: str, reason: str) -> bool:
    if status == "derived":
        return any(why in reason for why in NO_VERDICT)
    if status == "refused":
        return IN_NO_ORDER in reason
    return status in ("proved", "not-differentiable")


@DRAWN
@given(modules())
def test_what_is_derived_is_right(text: str) -> None:
    status, reason = checked(text)
    assert is_settled(status, reason), reason


@DRAWN
@given(in_place_modules())
def test_what_is_derived_in_place_is_right(text: str) -> None:
    status, reason = checked(text)
    assert is_settled(status, reason), reason


@settings(DRAWN, max_examples=400)
@given(choice_modules())
def test_what_is_derived_through_choices_is_right(text: str) -> None:
    status, reason = checked(text)
    assert is_settled(status, reason), reason
