"""The derived backward of every kernel here and in examples/: proved, and run by Triton.

What no backward exists for, and what the interpreter lacks, stands in tables that must match exactly.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.emitted.configuration import (
    KEYS,
    PROVABLE,
    REMOVED_FROM_TRITON,
    UNPROVED,
    proof_of,
    proved,
    specification_of,
)
from tests.emitted.launch import Problem
from tests.emitted.plan import Runner, derived
from tests.support.worker import Worker

# Functions that Triton has for float32 alone.
SINGLE_ONLY = {"elementwise:device_functions", "elementwise:mathematics"}
# How many kernels of the tables above, beside the two of this folder's and examples' own, there are at least.
LEAST_KERNELS = 100


def test_there_is_enough() -> None:
    """The tables name kernels that exist."""
    assert len(KEYS) >= LEAST_KERNELS
    assert set(UNPROVED) | REMOVED_FROM_TRITON | SINGLE_ONLY <= set(KEYS)


@pytest.mark.parametrize("key", UNPROVED)
def test_refused_with_its_reason(key: str) -> None:
    """Exactly these have no backward, and say why."""
    path, name = KEYS[key]
    entry = derived(path)[0][name]
    status, reason = UNPROVED[key]
    assert entry["status"] == status
    assert reason in entry["reason"]


@pytest.mark.sampled(0.3)
@pytest.mark.parametrize("key", PROVABLE)
def test_gradient(key: str, runner: Runner, interpreter: Worker) -> None:
    """Proved by tad-runner; Triton computes the same from the emitted text; differences agree with both."""
    answer = proved(runner, key)
    assert (answer["status"], answer["reason"]) == ("proved", "")
    assert answer["findings"] == []
    assert answer["worst_error"] < 1e-6
    assert any(entry["directions"] for entry in answer["inputs"])
    if key in REMOVED_FROM_TRITON:
        return
    doubles = key not in SINGLE_ONLY
    problem = Problem(proof_of(key), specification_of(runner, key), 1, interpreter, doubles)
    gradients, own = problem.backward(), problem.own_backward(runner.ask)
    assert gradients
    for name, gradient in gradients.items():
        # Random numbers are float32 in Triton, and whatever these are multiplied with.
        scale = float(np.abs(own[name]).max()) or 1.0
        assert np.isfinite(gradient).all(), name
        np.testing.assert_allclose(gradient, own[name], rtol=2e-5, atol=2e-6 * scale, err_msg=name)
    if doubles:
        expected, size = problem.difference()
        along = sum(float((gradients[n] * problem.directions[n]).sum()) for n in problem.directions)
        assert size > 0
        assert along == pytest.approx(expected, abs=2e-6 * size)


def test_nothing_depends_on_the_file() -> None:
    """A path that does not exist derives nothing."""
    with pytest.raises(AssertionError):
        derived(Path("no-such-file.py"))
