"""What starts and ends with a worker: its group, its environment, and what it may send."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import BIN, CLEAN, HEADER, Workspace
from tests.cli.test_containment import children, is_gone
from tests.cli.test_grad import kernels

SENDS = f"""#!{sys.executable}
import os, sys, time
sys.stdin.buffer.readline()
out = sys.stdout.buffer
"""
PATIENCE_S = 30


def script(workspace: Workspace, text: str, name: str = "worker") -> Path:
    file = workspace.path / name
    file.write_text(text)
    file.chmod(0o755)
    return file


def reason(workspace: Workspace, runner: Path | str, *more: object) -> str:
    """Why the one kernel has no proof."""
    workspace.write({"a.py": kernels("one")})
    result = workspace.tad("--check", "a.py", "--grad", "-f", "json", "--runner", runner, *more)
    assert result.status == 0, result.stderr
    (kernel,) = result.json["kernels"]
    assert kernel["status"] == "derived"
    return kernel["reason"]


def number_in(file: Path) -> int:
    return int(eventually(lambda: file.exists() and file.read_text().strip()))


def eventually(look: Callable[[], object]) -> object:
    end = time.monotonic() + PATIENCE_S
    while not (found := look()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
    return found


# What a child of a wrapper does once the wrapper is gone; it holds the pipes open.
@pytest.mark.parametrize("ends", ["exit 3", "kill -9 $$"])
def test_a_wrapper_whose_child_outlives_it(workspace: Workspace, ends: str) -> None:
    runner = script(workspace, f"#!/bin/sh\nsleep 600 &\necho $! >child\n{ends}\n")
    started = time.monotonic()
    assert ("status 3" if "exit" in ends else "signal 9") in reason(workspace, runner)
    assert time.monotonic() - started < PATIENCE_S
    eventually(lambda: is_gone(number_in(workspace.path / "child")))


def test_a_child_that_left_the_group_is_not_waited_for(workspace: Workspace) -> None:
    runner = script(workspace, "#!/bin/sh\nsetsid sleep 600 &\necho $! >>child\nexit 3\n")
    started = time.monotonic()
    try:
        assert "status 3" in reason(workspace, runner)
        assert time.monotonic() - started < PATIENCE_S
    finally:
        for child in (workspace.path / "child").read_text().split():
            os.kill(int(child), signal.SIGKILL)


def test_the_last_words_of_a_child_are_heard(workspace: Workspace) -> None:
    text = "#!/bin/sh\n(sleep 0.1; echo the reason >&2) &\nexit 3\n"
    assert "the reason" in reason(workspace, script(workspace, text))


def test_a_late_wrapper_ends_with_its_children(workspace: Workspace) -> None:
    runner = script(workspace, "#!/bin/sh\nsleep 600 &\necho $! >child\nwait\n")
    assert "did not answer within" in reason(workspace, runner, "--time-limit", 0.1)
    eventually(lambda: is_gone(number_in(workspace.path / "child")))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_whole_group(workspace: Workspace, number: signal.Signals) -> None:
    """Also what listens neither to its input nor to the terminal."""
    workspace.write({"a.py": kernels("one")})
    runner = script(workspace, "#!/bin/sh\ntrap '' INT TERM HUP\necho $$ >child\nsleep 600\n")
    command = [BIN / "tad-lsp", "--check", "a.py", "--grad", "--runner", runner]
    process = subprocess.Popen(command, cwd=workspace.path, stdout=subprocess.DEVNULL)
    wrapper = number_in(workspace.path / "child")
    process.send_signal(number)
    assert process.wait(timeout=PATIENCE_S) != 0
    eventually(lambda: is_gone(wrapper))


SLOW = (
    HEADER
    + """# tad: n=100000000, BLOCK=1024, grid=(97657,)
@triton.jit
def slow_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(y_ptr + offsets, tl.exp(x), mask=offsets < n)
"""
)


def test_who_kills_the_command_line_ends_the_real_workers(workspace: Workspace) -> None:
    workspace.write({"a.py": SLOW})
    command = [BIN / "tad-lsp", "--check", "a.py", "--grad", "--time-limit", "300"]
    process = subprocess.Popen(command, cwd=workspace.path, stdout=subprocess.DEVNULL)

    def workers() -> list[int]:
        return [w for child in children(process.pid) for w in children(child)]

    (worker,) = eventually(workers)
    time.sleep(0.5)
    assert os.getpgid(worker) == os.getsid(worker) == worker
    process.kill()
    process.wait()
    eventually(lambda: is_gone(worker))


def environment(workspace: Workspace, name: str, **more: str) -> dict[str, str]:
    """What a worker whose program has that name is told."""
    runner = script(workspace, "#!/bin/sh\ntr '\\0' '\\n' </proc/$$/environ >environment\n", name)
    workspace.write({"a.py": kernels("one")})
    workspace.tad("--check", "a.py", "--grad", "--runner", runner, env=more)
    lines = (workspace.path / "environment").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def test_keys_and_tokens_stay_with_us(workspace: Workspace) -> None:
    secrets = {"AWS_SECRET_ACCESS_KEY": "a", "GITHUB_TOKEN": "b", "PATHS": "c", "LD_PRELOAD": ""}
    ways = {"SSH_AUTH_SOCK": "/agent", "SLURM_JOB_ID": "7"}
    own = environment(workspace, "tad-runner", **secrets, **ways)
    assert own["PATH"] == os.environ["PATH"]
    assert not own.keys() & {*secrets, *ways, "HOME"}
    named = environment(workspace, "wrapper", **secrets, **ways)
    assert not named.keys() & {*secrets}
    assert ways.items() <= named.items()


@pytest.mark.parametrize(
    ("sends", "says"),
    [
        ("out.write(b'Content-Length: 10000000000\\r\\n\\r\\n')", "a message that is too large"),
        ("out.write(b'Content-Length: 99999999999999999999\\r\\n\\r\\n')", "that is too large"),
        ("out.write(b'Content-Length: 17000000\\r\\n\\r\\n')", "a message that is too large"),
        ("out.write(b'x' * 1000)", "bytes that are no header"),
        ("while True: out.write(b'x' * 65536)", "bytes that are no header"),
        ("while True: out.write(b'A: ' + b'x' * 65536)", "a message without a header end"),
        ("while True: out.write(b'Name: value\\r\\n')", "a message without a header end"),
        ("while True: out.write(b'Content-Length: 2\\r\\n\\r\\n{}' * 9999)", "too much"),
        ("while True: os.write(2, b'no ' * 9999)", "too much"),
        ("out.write(b'Welcome to the machine\\r\\n' * 9999)", "bytes that are no header"),
        ("out.write(b'Content-Length: 100000\\r\\n\\r\\n' + b'[' * 100000)", "a malformed message"),
    ],
)
def test_what_a_worker_sends_is_limited(workspace: Workspace, sends: str, says: str) -> None:
    runner = script(workspace, f"{SENDS}{sends}\nout.flush()\ntime.sleep(600)\n")
    started = time.monotonic()
    told = reason(workspace, runner)
    assert says in told and str(runner) in told
    assert time.monotonic() - started < PATIENCE_S


def test_little_memory_is_taken_for_what_is_refused(workspace: Workspace) -> None:
    """The command line holds no more than a message, whatever a worker announces or sends."""
    workspace.write({"a.py": kernels("one")})
    sends = "while True: out.write(b'Content-Length: 16000000\\r\\n\\r\\n' + b' ' * 16000000)\n"
    runner = script(workspace, f"{SENDS}{sends}")
    limit = "ulimit -v 600000; exec "
    command = f"{limit}{BIN}/tad-lsp --check a.py --grad -f json --runner {runner}"
    run = subprocess.run(["sh", "-c", command], cwd=workspace.path, capture_output=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert b"malformed" in run.stdout or b"too much" in run.stdout


def test_a_clean_worker_is_still_a_worker(workspace: Workspace) -> None:
    """The real one behind a wrapper that starts it as its child."""
    workspace.write({"a.py": CLEAN})
    runner = script(workspace, f"#!/bin/sh\n{BIN}/tad-runner\nexit 0\n")
    result = workspace.tad("--check", "a.py", "--grad", "-f", "json", "--runner", runner)
    assert [kernel["status"] for kernel in result.json["kernels"]] == ["proved"]
