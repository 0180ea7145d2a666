"""The key of a model: no child is given it, no core file holds it, and it is not left in the environment."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import BIN, CLEAN
from tests.cli.test_ask import KEY, RIGHT, asking
from tests.support.model_server import Say
from tests.support.processes import descendants, environment, mappings_with

__all__ = ["asking"]

OWN = "sk-of-a-variable-of-my-own-0123456789"


def set_up(one, *lines: str) -> dict[str, str]:
    """A model in the user's own file; an environment with the keys."""
    config = one.home / ".config/tad-lsp/model.toml"
    config.parent.mkdir(parents=True)
    config.write_text("\n".join([f'endpoint = "{one.model.url}"', 'model = "m"', *lines]))
    names = {"XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""}
    return {
        **os.environ,
        **names,
        "HOME": str(one.home),
        "TAD_MODEL_KEY": KEY,
        "TAD_EMBEDDING_KEY": OWN,
        "MY_OWN_KEY": OWN,
    }


def wait_for(what, seconds: float = 20.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(0.02)
    raise AssertionError("it did not come")


def with_cores() -> None:
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


def core_files(folder: Path) -> list[Path]:
    return [file for file in folder.iterdir() if file.name.startswith("core")]


def test_who_asks_has_no_key_in_its_environment_and_leaves_no_core(asking) -> None:
    one = asking(Say(RIGHT, delay=60))
    env = set_up(one, 'key-variable = "MY_OWN_KEY"')
    run = subprocess.Popen(
        [str(BIN / "tad-lsp"), "--ask", "kernels.py", "--agree"],
        cwd=one.workspace.path,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=with_cores,
    )
    try:
        wait_for(lambda: one.model.requests)
        assert one.model.requests[0][1]["Authorization"] == f"Bearer {OWN}"
        if os.geteuid() == 0:  # to others it shows neither
            shown = environment(run.pid)
            assert (
                b"MY_OWN_KEY" in shown and OWN.encode() not in shown and KEY.encode() not in shown
            )
        else:
            with pytest.raises(PermissionError):
                environment(run.pid)
        limits = Path(f"/proc/{run.pid}/limits").read_text()
        (core,) = [line for line in limits.splitlines() if "core file" in line]
        assert core.split()[4] == "0", core
        run.send_signal(signal.SIGABRT)
        assert run.wait(20) == -signal.SIGABRT
        assert core_files(one.workspace.path) == []
    finally:
        run.kill()
        run.wait()


SPY = """#!{python}
import os, pathlib, sys
seen = pathlib.Path("/proc/self/environ").read_bytes()
with open({place!r}, "ab") as file:
    file.write(b"\\n--\\n" + seen + b"\\n" + " ".join(sys.argv).encode())
os.execv({program!r}, [{program!r}, *sys.argv[1:]])
"""


def spy(folder: Path, name: str, program: str) -> tuple[Path, Path]:
    """A program that notes what it is given before it becomes another."""
    place, file = folder / f"{name}.seen", folder / name
    file.write_text(SPY.format(python=sys.executable, place=str(place), program=program))
    file.chmod(0o755)
    return file, place


def test_no_child_is_given_a_key(asking, tmp_path: Path) -> None:
    """The worker, a command in its place, and the worker that drives a GPU: it starts the Python that compiles."""
    one = asking(RIGHT)
    env = set_up(one, 'key-variable = "MY_OWN_KEY"')
    worker, worker_saw = spy(tmp_path, "tad-runner", str(BIN / "tad-runner"))
    command, command_saw = spy(tmp_path, "wrapper", str(BIN / "tad-runner"))
    (tmp_path / "driver").mkdir()
    driver, driver_saw = spy(tmp_path / "driver", "tad-runner", str(BIN / "tad-runner"))
    one.workspace.write({"clean.py": CLEAN})
    for arguments in (
        ("--ask", "kernels.py", "--agree", "--runner", str(worker)),
        ("--check", "--grad", "clean.py", "--runner", str(command)),
        ("--time", "clean.py", "--runner", f"{driver} --backend cuda"),
        ("--doctor",),
    ):
        result = one.workspace.tad(*arguments, env=env)
        assert KEY not in result.stdout + result.stderr and OWN not in result.stdout + result.stderr
    for saw in (worker_saw, command_saw, driver_saw):
        seen = saw.read_bytes()
        assert b"PATH=" in seen
        assert KEY.encode() not in seen and OWN.encode() not in seen, saw


def test_the_server_keeps_the_key_where_no_core_file_holds_it(asking) -> None:
    one = asking(RIGHT)
    env = set_up(one, 'key-variable = "MY_OWN_KEY"')
    run = subprocess.Popen(
        [str(BIN / "tad-lsp"), "--stdio"],
        cwd=one.workspace.path,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=with_cores,
    )
    try:
        processes = wait_for(lambda: (all_ := descendants(run.pid))[1:] and all_)
        time.sleep(0.2)
        for pid in processes:
            assert b"TAD_MODEL_KEY" in environment(pid)
            for key in (KEY.encode(), OWN.encode()):
                assert key not in environment(pid)
                found = mappings_with(pid, key)
                assert found, pid  # for the child that asks
                assert all("dd" in flags for flags in found), found
        os.kill(processes[1], signal.SIGSEGV)
        wait_for(lambda: descendants(run.pid)[1:] not in ([], processes[1:]))
        for core in core_files(one.workspace.path):
            data = core.read_bytes()
            assert b"tad-lsp" in data and KEY.encode() not in data and OWN.encode() not in data
    finally:
        run.kill()
        run.wait()
