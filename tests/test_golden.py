"""Golden tests: tests/golden/NAME.py with what `--dump ir`, `types` and `module` make of it beside it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden"
BIN = Path(os.environ.get("TAD_BIN", ROOT / "build")).resolve()
STAGES = ("module", "types", "ir", "coverage")


def dump(name: str) -> str:
    parts = []
    for stage in STAGES:
        run = subprocess.run(
            [BIN / "tad-lsp", "--dump", stage, f"{name}.py"],
            cwd=GOLDEN,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        parts.append(f"== {stage}\n{run.stdout.rstrip()}\n")
    return "\n".join(parts)


@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("*.py")))
def test_golden(name, request):
    expected = GOLDEN / f"{name}.ir"
    actual = dump(name)
    if request.config.getoption("--update-golden"):
        expected.write_text(actual)
    assert actual == expected.read_text()
