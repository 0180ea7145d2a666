"""A crash at one file is told, and the other files are still checked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.conftest import BIN, CLEAN, HEADER, Workspace

BROKEN = CLEAN.replace("tl.load(", "tl.lod(")
TICKS = os.sysconf("SC_CLK_TCK")


def slow() -> str:
    """A file whose analysis takes seconds."""
    line = "    x = tl.exp(x) * 2.0 + tl.sum(x, axis=0) - tl.where(x > 0.0, x, -x)\n"
    kernel = (
        "@triton.jit\ndef kernel{}(x_ptr, B: tl.constexpr):\n"
        "    x = tl.load(x_ptr + tl.arange(0, B))\n"
        + line * 400
        + "    tl.store(x_ptr + tl.arange(0, B), x)\n\n\n"
    )
    return HEADER + "".join(kernel.format(i) for i in range(200))


def children(process: int) -> list[int]:
    text = Path(f"/proc/{process}/task/{process}/children").read_text()
    return [int(word) for word in text.split()]


def seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def start(workspace: Workspace, *more: str) -> tuple[subprocess.Popen[bytes], int]:
    """A check under way, and its worker, which is at the slow file."""
    process = subprocess.Popen(
        [str(BIN / "tad-lsp"), "--check", ".", *more],
        cwd=workspace.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while not children(process.pid) or seconds(children(process.pid)[0]) < 0.2:
        assert process.poll() is None, "the slow file was not slow enough"
        time.sleep(0.01)
    return process, children(process.pid)[0]


def is_gone(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
def test_the_others_are_still_checked(workspace: Workspace, number: signal.Signals) -> None:
    workspace.write({"a_slow.py": slow(), "b_broken.py": BROKEN, "c_clean.py": CLEAN})
    process, worker = start(workspace, "--format", "json")
    os.kill(worker, number)
    out, complaint = process.communicate(timeout=120)
    assert process.returncode == 2
    found = json.loads(out)
    assert [d["name"] for d in found["diagnostics"]] == ["unknown-operation"]
    assert found["summary"]["files"] == 3
    told = out.decode() + complaint.decode()
    assert "a_slow.py: the analysis crashed" in told
    assert "b_broken.py: the analysis" not in told


def test_two_crashes(workspace: Workspace) -> None:
    workspace.write({"a_slow.py": slow(), "b_slow.py": slow(), "c_broken.py": BROKEN})
    process, worker = start(workspace, "--format", "json")
    os.kill(worker, signal.SIGSEGV)
    while children(process.pid) in ([], [worker]) or seconds(children(process.pid)[0]) < 0.2:
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(children(process.pid)[0], signal.SIGSEGV)
    out, complaint = process.communicate(timeout=120)
    told = out.decode() + complaint.decode()
    assert "a_slow.py: the analysis crashed" in told and "b_slow.py: the analysis" in told
    assert "unknown-operation" in told and process.returncode == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_ending_the_check_ends_its_worker(workspace: Workspace, number: signal.Signals) -> None:
    workspace.write({"a_slow.py": slow()})
    process, worker = start(workspace)
    process.send_signal(number)
    assert process.wait(30) == -number
    for _ in range(500):
        if is_gone(worker):
            return
        time.sleep(0.01)
    raise AssertionError("the worker lives on")
