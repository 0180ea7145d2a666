"""What goes wrong with a GPU under a proof: a worker that is killed, a call that fails or never comes back."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runner import test_cuda
from tests.runner.test_cuda import ASKED_LATER, FUNCTIONS
from tests.runner.test_protocol import BIN, ROOT

EXAMPLE = ROOT / "examples/softmax.py"
stand_in = test_cuda.stand_in
# Kernels stay loaded to the end of a worker, and memory is freed by one that waits.
LATER = {*ASKED_LATER, "cuModuleUnload", "cuMemFree_v2"}
CALLED = [name for name in FUNCTIONS if name not in LATER]
LOST = [
    int(code)
    for code in re.findall(
        r"^LOST\((\d+),", (ROOT / "gpu-runner/cuda/driver.def").read_text(), re.M
    )
]
STAGES = "start half-asked asked half-header half-answer answered".split()


def check(*arguments: object) -> list[dict]:
    command = [BIN / "tad-lsp", "--check", "--grad", "-f", "json", "-j", "1", *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)["kernels"]


def on_gpu(library: str, *more: object, **wishes: object) -> list[dict]:
    """Both kernels of the example, by one worker after the other."""
    own = {"XDG_CACHE_HOME": Path(library).parent}  # what it compiles is no code of a GPU
    variables = {"TAD_LIBCUDA": library, "TAD_NVRTC": library, **own, **wishes}
    words = ["env", *(f"{key}={value}" for key, value in variables.items()), f"{BIN}/tad-runner"]
    return check(EXAMPLE, "--backend", "cuda", "--runner", shlex.join(words), *more)


@pytest.mark.parametrize("function", CALLED)
def test_killed_in_a_call(function: str, stand_in: str, tmp_path: Path) -> None:
    """A fresh worker proves it without the GPU, and the next kernel has the GPU again."""
    once = tmp_path / "once"
    first, second = on_gpu(
        stand_in, STAND_IN_KILL=function, STAND_IN_ONCE=once, XDG_CACHE_HOME=tmp_path
    )
    assert (first["status"], second["status"]) == ("proved", "proved")
    assert once.exists()
    assert "cuda" not in first
    assert second["cuda"]["launches"] > 0 and "refused" not in second["cuda"]


def test_killed_each_time(stand_in: str) -> None:
    """The interpreter proves them, and the report says what became of the GPU."""
    variables = f"TAD_LIBCUDA={stand_in} TAD_NVRTC={stand_in} STAND_IN_KILL=cuLaunchKernel"
    variables += f" XDG_CACHE_HOME={Path(stand_in).parent}"
    command = [BIN / "tad-lsp", "--check", "--grad", EXAMPLE, "--backend", "cuda"]
    worker = f"env {variables} {BIN}/tad-runner"
    run = subprocess.run([*command, "--runner", worker], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0
    assert "2 forward kernels: 2 proved" in run.stdout
    assert run.stdout.count("on the GPU: nothing: `env` was killed by signal 9") == 2


def test_a_call_that_never_comes_back(stand_in: str, tmp_path: Path) -> None:
    wishes = {"STAND_IN_HANG": "cuLaunchKernel", "STAND_IN_ONCE": tmp_path / "once"}
    first, second = on_gpu(stand_in, "--time-limit", 10, **wishes)
    assert first["status"] == "derived"
    assert "did not answer within 15 s and was stopped" in first["reason"]
    assert second["status"] == "proved"


@pytest.mark.parametrize("code", LOST)
def test_a_lost_gpu_comes_back_with_a_fresh_worker(
    code: int, stand_in: str, tmp_path: Path
) -> None:
    """The proof goes on without it; the process that lost it does not see the next one."""
    used = tmp_path / "used"
    wishes = {"STAND_IN_FAIL": f"cuStreamQuery:{code}:2", "STAND_IN_USED": used}
    found = on_gpu(stand_in, **wishes)
    assert [kernel["status"] for kernel in found] == ["proved", "proved"]
    assert all(kernel["cuda"]["lost"] for kernel in found)
    assert all(f"{code})" in kernel["cuda"]["refused"] for kernel in found)
    assert used.read_text().split() == ["0", "0"]


@pytest.mark.parametrize("function", CALLED)
def test_each_call_may_fail_in_a_proof(function: str, stand_in: str) -> None:
    """From its second call on: the probe of a machine is not what fails."""
    found = on_gpu(stand_in, STAND_IN_FAIL=f"{function}:2:2")
    assert [kernel["status"] for kernel in found] == ["proved", "proved"]


# Between us and a real worker; ends both at a stage of the first request, and is a plain pipe from then on.
RELAY = f"""#!{sys.executable}
import os, pathlib, subprocess, sys

stage, once = sys.argv[1], pathlib.Path(__file__).with_suffix(".once")
worker = subprocess.Popen([{str(BIN / "tad-runner")!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
ours, theirs = (sys.stdin.buffer, sys.stdout.buffer), (worker.stdout, worker.stdin)

def reach(name):
    if name == stage and not once.exists():
        once.touch()
        worker.kill()
        os.kill(os.getpid(), 9)

def message(source, half):
    header = source.readline() + source.readline()
    if not header:
        sys.exit(0)
    size = int(header.split()[1])
    body = source.read(size // 2)
    reach(half)
    return header, body + source.read(size - size // 2)

def write(file, data):
    file.write(data)
    file.flush()

reach("start")
while True:
    header, body = message(ours[0], "half-asked")
    write(theirs[1], header + body)
    reach("asked")
    is_last = False
    while not is_last:
        header, body = message(theirs[0], "")
        is_last = b'"progress"' not in body[:100]
        write(ours[1], header[:9])
        reach("half-header")
        write(ours[1], header[9:] + body[:9])
        reach("half-answer")
        write(ours[1], body[9:])
    reach("answered")
"""


@pytest.mark.parametrize("stage", STAGES)
def test_killed_at_each_stage_of_the_protocol(stage: str, tmp_path: Path) -> None:
    relay = tmp_path / "relay.py"
    relay.write_text(RELAY)
    relay.chmod(0o755)
    found = check(EXAMPLE, "--runner", f"{relay} {stage}")
    assert [kernel["status"] for kernel in found] == ["proved", "proved"]
    assert relay.with_suffix(".once").exists()
