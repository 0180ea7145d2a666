"""Kernels that nobody wrote: whatever is derived from them is right."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings

from tests.emitted.plan import tad
from tests.emitted.random_kernels import modules

EXAMPLES = 250
# A kernel may amplify what it is given until its derivative has no digit left, or have none to begin with.
NO_VERDICT = ("changes with the last digits", "is not finite", "are not finite")


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(modules())
def test_what_is_derived_is_right(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "drawn.py"
        file.write_text(text)
        report = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)
    errors = [d["message"] for d in report["diagnostics"] if d["severity"] == "error"]
    assert errors == []
    (kernel,) = report["kernels"]
    if kernel["status"] == "derived":
        assert any(reason in kernel["reason"] for reason in NO_VERDICT), kernel["reason"]
    else:
        assert kernel["status"] in ("proved", "not-differentiable"), kernel["reason"]
