"""The script for a machine with a card, without one: what the stand-in can show is shown, the rest fails by name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runner.test_cuda import both, stand_in
from tests.runner.test_protocol import BIN, ROOT
from tests.runner.test_times import launches

__all__ = ["launches", "stand_in"]


def script(stand_in: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **both(stand_in), "XDG_CACHE_HOME": str(folder / "cache")}
    command = [sys.executable, ROOT / "bench/gpu/workers.py", BIN, "--into", folder / "lines"]
    return subprocess.run(
        [*map(str, command), *options], env=environment, capture_output=True, text=True, timeout=200
    )


def test_it_goes_on_after_a_failure(stand_in: str, tmp_path: Path) -> None:
    run = script(stand_in, tmp_path, "--only", "times,numbers")
    assert run.returncode == 1, run.stderr
    lines = run.stdout.splitlines()
    assert lines == (tmp_path / "lines").read_text().splitlines()
    assert lines[0].startswith("FAIL  times: ")
    passed = [line for line in lines if line.startswith("pass  numbers: ")]
    assert len(passed) == 3, run.stdout
    assert "3 lines passed, 1 failed" in lines
    assert lines[-1] == f"  {lines[0]}"


@pytest.mark.parametrize(
    ("failure", "says"),
    [("cuLaunchKernel:1", "all of them ran on the card but"), ("cuInit:100", "all of them ran")],
)
def test_a_gpu_that_does_nothing_fails_it(
    failure: str, says: str, stand_in: str, tmp_path: Path
) -> None:
    library = both(stand_in, STAND_IN_FAIL=failure)
    environment = {**os.environ, **library, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, ROOT / "bench/gpu/workers.py", BIN, "--only", "numbers"]
    run = subprocess.run([*map(str, command)], env=environment, capture_output=True, text=True)
    assert run.returncode == 1
    assert f"FAIL  numbers: {says}" in run.stdout


def test_what_there_is_no_time_for_is_said(stand_in: str, tmp_path: Path) -> None:
    run = script(stand_in, tmp_path, "--only", "sanitized,numbers", "--seconds", "20")
    assert run.returncode == 1
    assert run.stdout.startswith("FAIL  sanitized: not reached, ")
    assert "pass  numbers: " in run.stdout


def test_releases_are_packed_here_and_launched_there(launches: str, tmp_path: Path) -> None:  # noqa: F811
    """The stand-in computes nothing: that is seen, in each output of each launch."""
    program, pack = ROOT / "bench/gpu/releases.py", tmp_path / "pack"
    build = [str(BIN), str(pack)]
    options = ["--standin", launches, "--only", "cumsum_row", sys.executable]
    run = [sys.executable, program, "pack", *build, *options]
    home = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    packed = subprocess.run(run, capture_output=True, text=True, env=home, timeout=300)
    assert "cumsum:cumsum_row_kernel: compiled" in packed.stdout, packed.stderr
    names = {"TAD_LIBCUDA": launches, "TAD_NVML": launches, "TAD_NVRTC": launches}
    run = [sys.executable, program, "check", *build]
    checked = subprocess.run(
        run, capture_output=True, text=True, env={**home, **names}, timeout=300
    )
    assert checked.returncode == 1
    assert "cumsum:cumsum_row_kernel: launch 0: `" in checked.stdout, checked.stdout
    assert "'kernels': 1, 'launches': 2" in checked.stdout
