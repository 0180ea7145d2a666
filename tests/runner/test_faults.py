"""Kernels that go wrong on the GPU while they are timed: one sentence each, with the place where it can be found again.

A stand-in for the driver (tests/standin/launches.c) answers as a GPU does in such a case."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runner.test_bench import Machine
from tests.runner.test_cuda import CudaRunner
from tests.runner.test_protocol import BIN, HEAD
from tests.runner.test_times import cache, launches, parameters, variables  # noqa: F401

LEAVES = f"""{HEAD}
# tad time: X=f32[1000], Y=f32[n], n=1024, BLOCK=128, grid=(8,)
@triton.jit
def leaves(X, Y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n)
    tl.store(Y + at, 2 * x, mask=at < n)
"""
LINE = next(i for i, line in enumerate(LEAVES.splitlines(), 1) if "tl.load" in line)


@pytest.fixture
def machine(launches: str, cache: Path, tmp_path: Path) -> Machine:  # noqa: F811
    (tmp_path / "k.py").write_text(LEAVES)
    return Machine(tmp_path, variables(launches, cache))


def time(machine: Machine, **more: str) -> str:
    worker = machine.folder / "tad-runner"
    words = " ".join(f"{name}={value}" for name, value in more.items())
    worker.write_text(f'#!/bin/sh\n{words} exec {BIN}/tad-runner "$@"\n')
    worker.chmod(0o755)
    command = [str(BIN / "tad-lsp"), "--time", "k.py", "--python", sys.executable]
    command += ["--runner", str(worker)]
    environment = {**os.environ, **machine.variables}
    run = subprocess.run(
        command, env=environment, cwd=machine.folder, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 2, run.stdout
    return run.stderr


@pytest.mark.parametrize("code", [700, 716])
def test_an_address_is_found_again(code: int, machine: Machine) -> None:
    said = time(machine, STAND_IN_FAIL=f"cuCtxSynchronize:{code}")
    place = f"k.py:{LINE}: program (7, 0, 0), lane 104 reads element 1000 of X, which has 1000"
    assert f", {code}); {place}\n" in said
    assert "PyTorch" not in said, "it would run the same fault once more"


def test_a_fault_that_the_interpreter_does_not_see(machine: Machine) -> None:
    (machine.folder / "k.py").write_text(LEAVES.replace("X=f32[1000]", "X=f32[n]"))
    said = time(machine, STAND_IN_FAIL="cuCtxSynchronize:700")
    assert "the interpreter did not find where: no program left a tensor\n" in said
    said = time(machine, STAND_IN_FAIL="cuCtxSynchronize:700:5")
    assert "leaves: the backward: " in said and "looks at the forward alone\n" in said
    said = time(machine, STAND_IN_FAIL="cuCtxSynchronize:716")
    assert "no multiple of its element's size" in said and "did not find" not in said
    assert said.endswith("a pointer that was cast, or moved by bytes, does not fit its type\n")


@pytest.mark.parametrize(
    ("failure", "says"),
    [
        ("cuMemAlloc_v2:2", "the GPU has no memory left for it"),
        ("cuCtxSynchronize:719", "the kernel failed on the GPU; the context is lost"),
        ("cuCtxSynchronize:709", "the context is lost"),
        ("cuCtxSynchronize:702", "the kernel took longer than the system lets it"),
    ],
)
def test_what_went_wrong_is_said(failure: str, says: str, machine: Machine) -> None:
    said = time(machine, STAND_IN_FAIL=failure)
    assert says in said
    assert "PyTorch" not in said, "it would run into the same"


def test_a_kernel_that_does_not_end(launches: str, cache: Path) -> None:  # noqa: F811
    first = CudaRunner(variables(launches, cache))
    try:
        assert "result" in first.ask("time", parameters()), "it is compiled"
    finally:
        first.end()
    runner = CudaRunner(variables(launches, cache, STAND_IN_FAIL="cuStreamQuery:600"))
    try:
        assert "result" in runner.ask("probe", {})
        said = runner.ask("time", {**parameters(), "max_seconds": 20})["error"]["message"]
        assert said.endswith("takes longer than the request may; the GPU is left to it")
        again = runner.ask("time", parameters())["error"]["message"]
        assert "takes longer" in again, "the GPU is left alone"
    finally:
        runner.end()
