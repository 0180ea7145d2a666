"""`--ask` that is told to end, by Ctrl-C or SIGTERM: it reports, and keeps what is proved by then."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import BIN
from tests.cli.test_ask import KERNEL, RIGHT, WRONG, asking
from tests.cli.test_ask_phases import FASTER, LINES
from tests.cli.test_ask_phases import FILE as PHASES
from tests.support.model_server import Say

__all__ = ["asking"]

LATE = Say("Late.", delay=60)


def with_signals() -> None:
    """Who was started in the background ignores some, and so would its children."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Session:
    """A run that goes on while it is watched."""

    def __init__(self, one, *arguments: str) -> None:
        self.model = one.model
        command = [str(BIN / "tad-lsp"), "--ask", "kernels.py", "--agree", *arguments]
        command += ["--endpoint", one.model.url, "--model", "scripted"]
        env = {**os.environ, "HOME": str(one.home), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""}
        self.run = subprocess.Popen(
            command,
            cwd=one.workspace.path,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=with_signals,
        )

    def until(self, holds) -> Session:
        end = time.monotonic() + 60
        while not holds():
            assert self.run.poll() is None, self.run.communicate()
            assert time.monotonic() < end
            time.sleep(0.05)
        return self

    def end(self, number: int) -> str:
        began = time.monotonic()
        self.run.send_signal(number)
        said, errors = self.run.communicate(timeout=60)
        assert self.run.returncode == 2, said + errors
        assert time.monotonic() - began < 20
        return said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_best_backward_so_far_is_kept(asking, number: int) -> None:
    one = asking(FASTER, LATE)
    one.file.write_text(PHASES)
    session = Session(one, "--phase", "faster", "--write")
    said = session.until(lambda: len(one.model.requests) == 2).end(number)
    assert "answer 1 kept, faster: " in said and "    stopped: cancelled\n" in said
    assert "1 of 1 phase with a gain; 1 answer of scripted, 100 tokens in, 20 out" in said
    assert LINES in one.file.read_text()


def test_a_kernel_that_is_proved_stays_so(asking) -> None:
    second = KERNEL[KERNEL.index("@triton.jit\ndef log") :].replace("log_gamma", "gamma")
    second = second.replace("lgamma", "tgamma").replace("def kernel", "def other_kernel")
    one = asking(RIGHT, LATE)
    one.file.write_text(f"{KERNEL}\n\n{second}")
    session = Session(one, "--write")
    said = session.until(lambda: len(one.model.requests) == 2).end(signal.SIGTERM)
    assert "proved, worst error" in said and "1 of 2 refused kernels proved" in said
    assert one.file.read_text().count(RIGHT) == 1
    assert "stopped: cancelled" in said


def test_what_is_not_proved_is_not_kept_and_the_session_goes_on_later(asking) -> None:
    one = asking(WRONG, LATE)
    session = Session(one, "--write")
    said = session.until(lambda: len(one.model.requests) == 2).end(signal.SIGINT)
    assert f"    {WRONG}\n      refuted: " in said and "stopped: cancelled" in said
    assert one.file.read_text() == KERNEL
    one.model.script = [Say(RIGHT)]
    result = one.sent("--write", key=None)
    assert result.status == 0 and "resumed: 1 answer of a session that did not end" in result.stdout
    assert len(one.model.requests) == 3 and RIGHT in one.file.read_text()


SLEEPER = """#!{python}
import os, pathlib, time
pathlib.Path({place!r}).write_text(str(os.getpid()))
time.sleep(600)
"""


def is_gone(pid: int) -> bool:
    """Soon, where it was killed just now."""
    for _ in range(100):
        try:
            if "State:\tZ" in Path(f"/proc/{pid}/status").read_text():
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("names", ["complete", "faster"])
def test_a_proof_is_cut_short(asking, tmp_path: Path, names: str) -> None:
    """The worker goes with it, and nothing counts as proved."""
    place, worker = tmp_path / "pid", tmp_path / "sleeper"
    worker.write_text(SLEEPER.format(python=sys.executable, place=str(place)))
    worker.chmod(0o755)
    one = asking(RIGHT)
    text = KERNEL if names == "complete" else PHASES
    one.file.write_text(text)
    session = Session(one, "--phase", names, "--write", "--runner", str(worker))
    said = session.until(lambda: place.exists() and place.read_text()).end(signal.SIGTERM)
    assert "cancelled before its proof came to an end" in said
    assert "0 of 1 " in said
    assert one.file.read_text() == text
    assert is_gone(int(place.read_text()))


def test_a_second_signal_ends_it_at_once(asking, tmp_path: Path) -> None:
    """While the last proof is made, of what is kept."""
    place, worker = tmp_path / "pid", tmp_path / "sleeper"
    worker.write_text(
        f"#!/bin/sh\n[ -e {tmp_path}/slow ] || exec {BIN}/tad-runner\nexec {tmp_path}/sleeps\n"
    )
    (tmp_path / "sleeps").write_text(SLEEPER.format(python=sys.executable, place=str(place)))
    for file in (worker, tmp_path / "sleeps"):
        file.chmod(0o755)
    one = asking(FASTER, LATE)
    one.file.write_text(PHASES)
    session = Session(one, "--phase", "faster", "--write", "--runner", str(worker))
    session.until(lambda: len(one.model.requests) == 2)
    (tmp_path / "slow").touch()
    session.run.send_signal(signal.SIGTERM)
    session.until(lambda: place.exists() and place.read_text())
    session.run.send_signal(signal.SIGTERM)
    assert session.run.wait(20) == -signal.SIGTERM
    session.run.communicate()
    assert one.file.read_text() == PHASES
    assert is_gone(int(place.read_text()))
