"""The table of passes: listed by `--dump help`, each shown by `--dump NAME`, verified after each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import Workspace

ROOT = Path(__file__).resolve().parents[2]
ROWS = re.findall(
    r'^PASS\((\w+), "([\w-]+)", NEEDS\(([^)]*)\), GIVES\(([^)]*)\), CHANGES\((\w+)\), KEEPS\(\w+\)',
    (ROOT / "autodiff/passes.def").read_text(),
    re.M,
)
KERNEL = """
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    tl.store(y_ptr + offs, x * x, mask=mask)
"""


def facts(text: str) -> set[str]:
    return set(re.findall(r"[A-Z_]+", text))


def test_rows_are_read() -> None:
    assert len(ROWS) > 20


def test_a_pass_needs_only_what_an_earlier_one_gives() -> None:
    given: set[str] = set()
    for _, name, needs, gives, _ in ROWS:
        assert facts(needs) <= given, f"{name} needs {facts(needs) - given}"
        assert not facts(gives) & given, f"{name} gives what was given"
        given |= facts(gives)


def test_help_lists_the_passes_in_their_order(workspace: Workspace) -> None:
    listed = workspace.tad("--dump", "help").stdout
    places = [listed.index(f"\n{name} ") for _, name, *_ in ROWS]
    assert places == sorted(places)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[1])
def test_each_pass_shows_the_function_that_it_changed(workspace: Workspace, row: tuple) -> None:
    _, name, _, _, function = row
    workspace.write({"a.py": KERNEL})
    result = workspace.tad("--dump", name, "a.py:scale_kernel")
    assert result.status == 0
    subject = "scale_kernel_backward" if function == "BACKWARD" else "scale_kernel"
    assert result.stdout.startswith(f"function {subject}("), result.stdout


def test_the_sweep_changes_what_is_shown(workspace: Workspace) -> None:
    workspace.write({"a.py": KERNEL})
    before, after = (
        workspace.tad("--dump", name, "a.py:scale_kernel").stdout
        for name in ("parameters", "sweep")
    )
    assert "atomic_add" not in before and "atomic_add" in after


def test_launches_are_shown_as_they_are_evaluated(workspace: Workspace) -> None:
    launcher = """

def scale(x):
    y = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
    return y
"""
    workspace.write({"a.py": KERNEL + launcher})
    shown = workspace.tad("--dump", "launches", "a.py").stdout
    assert "y_ptr = empty" in shown and "BLOCK = " in shown and "grid[0] = " in shown
