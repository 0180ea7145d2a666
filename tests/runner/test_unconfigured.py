"""Kernels without a configuration: what their values are is found out, and their gradients are proved."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.emitted.plan import tad

FILES = sorted((Path(__file__).parent / "unconfigured").glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_gradient_is_proved(file: Path) -> None:
    """Nothing is refused, wrong or left open."""
    report = json.loads(tad("--check", "--grad", "-f", "json", file).stdout)
    kernels = report["kernels"]
    assert kernels
    open_ones = {k["name"]: k["reason"] for k in kernels if k["status"] != "proved"}
    assert not open_ones
    assert not [entry for entry in report["diagnostics"] if entry["severity"] == "error"]


def test_integers_have_no_gradient() -> None:
    """What adds up in int32 is of integers, also where it multiplies floats besides."""
    file = Path(__file__).parent / "unconfigured" / "integers.py"
    text = tad("--backward", "--no-proof", "--wrapper", "none", file).stdout
    assert "dc_ptr" in text and "dscale_ptr" in text
    assert "da_ptr" not in text and "db_ptr" not in text
