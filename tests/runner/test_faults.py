"""Kernels that go wrong on the GPU while they are timed: one sentence each, with the place where it can be found again.

A stand-in for the driver (tests/standin/launches.c) answers as a GPU does in such a case."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runner.test_bench import Machine
from tests.runner.test_cuda import CudaRunner
from tests.runner.test_protocol import BIN, HEAD, Runner
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


def test_a_fault_of_the_backward_is_found_again(machine: Machine) -> None:
    """Its kernel is named, and the line of the text that was derived."""
    said = time(machine, STAND_IN_FAIL="cuCtxSynchronize:700:5")
    assert "leaves: the backward: `leaves_backward`: running the kernel: " in said
    assert ", 700); line " in said and " of the derived text (`tl.store(dX + at" in said
    found = "program (7, 0, 0), lane 104 writes element 1000 of the gradient of X, which has 1000\n"
    assert said.endswith(found)


PRODUCT = f"""{HEAD}
# tad time: X=f32[M, N], W=f32[N, K], Y=f32[M, K], M=64, N=64, K=64, B=32, grid=(2, 2)
@triton.jit
def product(X, W, Y, M, N, K, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)
    k = tl.program_id(1) * B + tl.arange(0, B)
    total = tl.zeros((B, B), dtype=tl.float32)
    for first in range(0, N, B):
        n = first + tl.arange(0, B)
        rows, columns = (m[:, None] < M) & (n[None, :] < N), (n[:, None] < N) & (k[None, :] < K)
        x = tl.load(X + m[:, None] * N + n[None, :], mask=rows, other=0.0)
        w = tl.load(W + n[:, None] * K + k[None, :], mask=columns, other=0.0)
        total += tl.dot(x, w)
    tl.store(Y + m[:, None] * K + k[None, :], total, mask=(m[:, None] < M) & (k[None, :] < K))
"""


def test_of_several_kernels_the_one_that_failed_is_named(machine: Machine) -> None:
    """By the wait behind its own first run: the four waits before the backward are the forward's."""
    (machine.folder / "k.py").write_text(PRODUCT)
    for first, name in ((5, "product_backward"), (6, "product_backward_dX")):
        said = time(machine, STAND_IN_FAIL=f"cuCtxSynchronize:700:{first}")
        assert f"product: the backward: `{name}`: running the kernel: " in said
        assert "the interpreter did not find where: no program left a tensor\n" in said


# Only program 3 does not end: a plan runs the first and the last ones.
ENDLESS = LEAVES.replace("X=f32[1000]", "X=f32[n]").replace(
    "    tl.store",
    "    i = (tl.program_id(0) == 3).to(tl.int32)\n    while i > 0:\n        i = i * i\n    tl.store",
)
WHILE = next(i for i, line in enumerate(ENDLESS.splitlines(), 1) if "while" in line)


@pytest.mark.parametrize("failure", ["cuCtxSynchronize:702", "cuStreamQuery:702"])
def test_the_loop_that_does_not_end_is_found(failure: str, machine: Machine) -> None:
    (machine.folder / "k.py").write_text(ENDLESS)
    said = time(machine, STAND_IN_FAIL=failure)
    place = (
        rf"; k\.py:{WHILE}: program \(3, 0, 0\) is still in this loop after \d{{4,}} iterations\n"
    )
    assert re.search(place, said), said
    (machine.folder / "k.py").write_text(ENDLESS.replace("== 3", "== 99"))
    said = time(machine, STAND_IN_FAIL=failure)
    assert "the interpreter did not find where: there all programs ended\n" in said


def test_a_plan_says_the_loop_that_does_not_end() -> None:
    text = ENDLESS.replace("== 3", "== 0")
    parameters = {"path": "k.py", "source": text, "kernel": "leaves", "max_seconds": 2}
    spec = {"text": "# tad: " + text.split("# tad time: ")[1].splitlines()[0]}
    worker = Runner()
    try:
        said = worker.ask("plan", {**parameters, "spec": spec})["error"]["message"]
    finally:
        worker.end()
    place = rf"; program \(0, 0, 0\) is still in the loop of line {WHILE} after \d{{4,}} iterations"
    assert re.search(place, said), said


def test_a_fault_that_the_interpreter_does_not_see(machine: Machine) -> None:
    (machine.folder / "k.py").write_text(LEAVES.replace("X=f32[1000]", "X=f32[n]"))
    said = time(machine, STAND_IN_FAIL="cuCtxSynchronize:700")
    assert "the interpreter did not find where: no program left a tensor\n" in said
    said = time(machine, STAND_IN_FAIL="cuCtxSynchronize:700:5")
    assert "leaves: the backward: `leaves_backward`: running the kernel: " in said
    assert "the interpreter did not find where: no program left a tensor\n" in said
    said = time(machine, STAND_IN_FAIL="cuCtxSynchronize:716")
    assert "no multiple of its element's size" in said
    assert said.endswith(
        "the interpreter did not find where: no program left a tensor, and each address fits its type\n"
    )


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


SOUND = LEAVES.replace("X=f32[1000]", "X=f32[n]")
LOAD = "    x = tl.load(X + at, mask=at < n)"
# The line that is put in the load's place, and what is said of it.
CROOKED = {
    "a pointer that was cast": (
        """    shift = tl.where(at == 1000, 1, 0)
    bytes = X.to(tl.pointer_type(tl.int8)) + at * 4 + shift
    x = tl.load(bytes.to(tl.pointer_type(tl.float32)), mask=at < n)""",
        "program (7, 0, 0), lane 104 reads at byte 4001 of X, which is no multiple of the 4 bytes of its type",
    ),
    "a promise of a number": (
        """    first = tl.multiple_of(tl.program_id(0) * 8, 16)
    x = tl.load(X + first + tl.arange(0, BLOCK), mask=at < n)""",
        "program (1, 0, 0), lane 0 has 8, which `tl.multiple_of` says is a multiple of 16",
    ),
    "a promise of an address": (
        """    p = tl.multiple_of(X + 1 + at, 16)
    x = tl.load(p, mask=at < n - 1)""",
        "program (0, 0, 0), lane 0 has 4, which `tl.multiple_of` says is a multiple of 16",
    ),
    "a promise of runs": (
        """    at = tl.max_contiguous(tl.multiple_of(at, BLOCK), BLOCK)
    x = tl.load(X + tl.max_contiguous(at // 2 * 2, 4), mask=at < n)""",
        "program (0, 0, 0), lane 1 has 0, which `tl.max_contiguous` says follows the one before, in runs of 4",
    ),
}


@pytest.mark.parametrize("name", CROOKED)
def test_a_misaligned_address_is_found_again(name: str, machine: Machine) -> None:
    load, words = CROOKED[name]
    text = SOUND.replace(LOAD, load)
    assert text != SOUND
    (machine.folder / "k.py").write_text(text)
    said = time(machine, STAND_IN_FAIL="cuCtxSynchronize:716")
    assert said.endswith(f"{words}\n"), said


def test_the_address_of_a_backward_is_found_again(machine: Machine) -> None:
    load = "    x = tl.load(tl.multiple_of(X + 1, 16) + at, mask=at < n - 1)"
    text = SOUND.replace(LOAD, load).replace("2 * x", "x * x")
    (machine.folder / "k.py").write_text(text)
    said = time(machine, STAND_IN_FAIL="cuCtxSynchronize:716:5")
    assert "`leaves_backward`" in said
    assert "lane 0 has 4, which `tl.multiple_of` says is a multiple of 16\n" in said, said
