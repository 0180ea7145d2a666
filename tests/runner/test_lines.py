"""What a compiled kernel has of each line, and where Triton refuses: real cubins, a stand-in for the driver."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runner.test_bench import LINE, Machine
from tests.runner.test_protocol import BIN, HEAD
from tests.runner.test_times import cache, launches, variables  # noqa: F401

MIXED = f"""{HEAD}

@triton.jit
def twice(x):
    y = x * 2
    return y + tl.exp(y)


{LINE.format(1 << 18, 256)}@triton.jit
def mixed(X, Y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n)
    total = tl.sum(x, axis=0)
    tl.store(Y + at, twice(x) * total, mask=at < n)
"""
WRONG = MIXED.replace("y = x * 2", 'y = x * 2; tl.static_assert(x.shape[0] == 7, "seven")')


@pytest.fixture
def machine(launches: str, cache: Path, tmp_path: Path) -> Machine:  # noqa: F811
    (tmp_path / "k.py").write_text(MIXED)
    return Machine(tmp_path, variables(launches, cache))


def tad(machine: Machine, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(BIN / "tad-lsp"), *arguments, "--python", sys.executable]
    environment = {**os.environ, **machine.variables}
    return subprocess.run(
        command, env=environment, cwd=machine.folder, capture_output=True, text=True, timeout=300
    )


def line_of(text: str) -> int:
    return next(i for i, line in enumerate(MIXED.splitlines(), 1) if text in line)


def test_each_line_has_what_was_made_of_it(machine: Machine) -> None:
    run = tad(machine, "--time", "k.py", "--format", "json")
    assert run.returncode == 0, run.stderr
    (kernel,) = json.loads(run.stdout)["kernels"]
    (forward,) = kernel["forward"]["kernels"]
    lines = {line["line"]: line for line in forward["lines"]}
    load, total = lines[line_of("x = tl.load")], lines[line_of("total =")]
    store, power = lines[line_of("tl.store")], lines[line_of("tl.exp")]
    assert load["text"] == "x = tl.load(X + at, mask=at < n)"
    # 1024 elements for 128 threads, four of them at a time.
    assert load["loads"] == 2 and "stores" not in load
    assert store["stores"] == 2 and "loads" not in store
    assert total["shuffles"] >= 5 and total["barriers"] >= 1 and "loads" not in total
    assert power["special"] == 8
    assert all("is_derived" not in line for line in lines.values())
    # The backward has the forward's lines, at their places in the user's file, and its own.
    for backward in kernel["backward"]["kernels"]:
        assert any(line.get("is_derived") for line in backward["lines"])
        own = [line for line in backward["lines"] if line["line"] and "is_derived" not in line]
        texts = MIXED.splitlines()
        assert all(texts[line["line"] - 1].strip() == line["text"] for line in own)


def test_the_largest_lines_are_told(machine: Machine) -> None:
    run = tad(machine, "--time", "k.py")
    assert run.returncode == 0, run.stderr
    assert " instructions, most of them for (static counts)\n" in run.stdout
    place = f"      line {line_of('tl.exp')}: "
    assert place in run.stdout and "special 8)  return y + tl.exp(y)\n" in run.stdout
    assert "      the derived text's line " in run.stdout


def test_triton_refuses_at_a_line_of_the_file(machine: Machine) -> None:
    (machine.folder / "k.py").write_text(WRONG)
    place, said = f"k.py:{line_of('y = x * 2')}: ", "CompileTimeAssertionFailure: seven"
    run = tad(machine, "--time", "k.py")
    assert run.returncode == 2
    assert f"{place}{said}\n" in run.stderr and "PyTorch" not in run.stderr
    (machine.folder / "other.py").write_text(MIXED)
    run = tad(machine, "--check", "--time", ".", "--select", "not-compiled", "-f", "json")
    assert run.returncode == 1, run.stderr
    report = json.loads(run.stdout)
    (finding,) = report["diagnostics"]
    assert finding["range"]["start"]["line"] == line_of("y = x * 2") - 1
    assert finding["message"] == f"Triton does not compile `mixed` for its timed launch: {said}"
    assert "forward" in report["times"]["kernels"][1], "the others are timed"
