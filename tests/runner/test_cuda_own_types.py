"""The backward in the element types of its launch by the backend `cuda`: the interpreter's numbers, digit for digit."""

from __future__ import annotations

import copy
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.emitted.plan import derived
from tests.runner.test_cuda import CudaRunner, both, stand_in
from tests.runner.test_own_types import KERNELS, PLANTED
from tests.runner.test_protocol import BIN, ROOT, Runner

__all__ = ["stand_in"]

# What the kernels of test_own_types leave out: scans, sums of all programs with tangents, numbers in float8.
FURTHER = """

# tad: n=30, X=bf16[4, 32], Y=f16[4, 32], Top=f32[32], BLOCK=32, grid=(4,)
@triton.jit
def scans(X, Y, Top, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    at = tl.program_id(0) * BLOCK + cols
    x = tl.load(X + at, mask=cols < n, other=0.0).to(tl.float32)
    small = (x * 0.3).to(tl.float8e4nv).to(tl.float32)
    runs = tl.cumprod(1 + 0.1 * x, axis=0) + tl.cumsum(small, axis=0)
    tl.atomic_add(Top + cols, x * small, mask=cols < n)
    tl.store(Y + at, runs / tl.sqrt(tl.sum(x * x, axis=0) + 1e-3), mask=cols < n)
"""
NAMES = ("scaled", "softmax", "embedding", "matmul", "open_types", "square", "scans")


@pytest.fixture(scope="module")
def proofs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    """What is asked of a worker for each kernel."""
    path = tmp_path_factory.mktemp("own") / "kernels.py"
    path.write_text(KERNELS + FURTHER)
    return derived(path)[1]


@pytest.fixture(scope="module")
def cpu() -> Iterator[Runner]:
    started = Runner()
    yield started
    started.end()


@pytest.fixture(scope="module")
def cuda(stand_in: str) -> Iterator[Runner]:
    started = CudaRunner(both(stand_in, STAND_IN_THREADS="3"))
    yield started
    started.end()


def same(cpu: Runner, cuda: Runner, proof: dict) -> dict:
    """The answer of both."""
    proof = {**proof, "max_seconds": 100}
    wanted, got = (runner.ask("gradcheck", proof)["result"] for runner in (cpu, cuda))
    for part in ("status", "reason", "steps", "own_types"):
        assert got[part] == wanted[part], part
    assert got["status"] == "proved", got["reason"]
    assert "refused" not in got["cuda"], got["cuda"]
    return got


@pytest.mark.parametrize("name", NAMES)
def test_the_measure_is_the_interpreters(
    name: str, proofs: dict, cpu: Runner, cuda: Runner
) -> None:
    launches = same(cpu, cuda, proofs[name])["cuda"]
    # Where the forward overflows, nothing comes after it.
    assert launches["own_type_launches"] >= (1 if name == "square" else 3), launches


@pytest.mark.parametrize("mistake", PLANTED)
def test_so_is_what_is_found(mistake: str, proofs: dict, cpu: Runner, cuda: Runner) -> None:
    """Eight directions, and maxima that are held: the operation to blame is then looked for by the interpreter."""
    name, edits, (gradient, _) = PLANTED[mistake]
    proof = copy.deepcopy(proofs[name])
    for old, new in edits:
        assert old in proof["backward"]["source"]
        proof["backward"]["source"] = proof["backward"]["source"].replace(old, new)
    got = same(cpu, cuda, proof)
    assert got["own_types"]["finding"]["input"] == gradient
    assert got["cuda"]["own_type_launches"] > 10


def test_additions_to_an_element_keep_their_order(proofs: dict, cpu: Runner, cuda: Runner) -> None:
    """Each of 32 is rounded to bfloat16, so that another order has another sum."""
    proof = copy.deepcopy(proofs["embedding"])
    (launch,) = proof["backward"]["launches"]
    assert launch["arguments"]["dTable"].pop("dtype") == "fp32"
    got = same(cpu, cuda, proof)
    assert "atomic update of bfloat16" in got["own_types"]["finding"]["message"]


def test_a_gpu_that_fails_on_the_way_changes_nothing(
    stand_in: str, proofs: dict, cpu: Runner, tmp_path: Path
) -> None:
    wanted = cpu.ask("gradcheck", proofs["softmax"])["result"]
    whole = CudaRunner(both(stand_in, XDG_CACHE_HOME=str(tmp_path)))
    launches = whole.ask("gradcheck", proofs["softmax"])["result"]["cuda"]
    whole.end()
    last = launches["launches"] - launches["own_type_launches"] + 1
    for failure in (f"cuLaunchKernel:1:{last + 1}", f"cuMemcpyDtoH_v2:719:{last + 2}"):
        runner = CudaRunner(both(stand_in, XDG_CACHE_HOME=str(tmp_path), STAND_IN_FAIL=failure))
        got = runner.ask("gradcheck", proofs["softmax"])["result"]
        runner.end()
        assert got["own_types"] == wanted["own_types"]
        assert got["cuda"]["refused"], failure


def test_the_report_says_what_ran_in_own_types(stand_in: str, tmp_path: Path) -> None:
    environment = {**os.environ, **both(stand_in), "XDG_CACHE_HOME": str(tmp_path)}
    command = [BIN / "tad-lsp", "--check", "--grad", "--backend", "cuda"]
    command += [ROOT / "examples/softmax.py"]
    run = subprocess.run(map(str, command), env=environment, capture_output=True, text=True)
    line = (
        r"on the GPU: \d+ launches of the forward, \d+ of the backward, [3-9] of all in own types\n"
    )
    assert re.search(line, run.stdout), run.stdout
