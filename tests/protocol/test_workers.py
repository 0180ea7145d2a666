"""Workers of a session: wrappers that leave something behind, and a session that is killed."""

from __future__ import annotations

import time
from pathlib import Path

from tests.cli.test_containment import is_gone
from tests.cli.test_workers import SLOW, eventually, number_in
from tests.protocol.client import Client
from tests.protocol.conftest import KERNEL
from tests.protocol.test_gradients import command, processes_below, status


def state(process: int) -> str:
    return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]


def test_a_wrapper_whose_child_outlives_it(server: Client, kernel: str, tmp_path: Path) -> None:
    runner = tmp_path / "wrapper"
    runner.write_text(f"#!/bin/sh\nsleep 600 &\necho $! >{tmp_path}/child\nexit 3\n")
    runner.chmod(0o755)
    server.initialize(initializationOptions={"settings": {"runner": {"command": str(runner)}}})
    server.open(kernel, KERNEL)
    started = time.monotonic()
    result = server.request("workspace/executeCommand", command("checkGradients", kernel))
    assert result["status"] == "unproved" and "status 3" in result["reason"]
    assert time.monotonic() - started < 30
    eventually(lambda: is_gone(number_in(tmp_path / "child")))
    assert "Z" not in [state(process) for process in processes_below(server.process.pid)]
    assert server.shut_down() == 0


def test_no_zombie_is_left(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    for _ in range(3):
        result = editor.request("workspace/executeCommand", command("checkGradients", kernel))
        assert result["status"] == "proved"

    def are_gone() -> bool:
        return len(list(processes_below(editor.process.pid))) == 1  # the server itself

    eventually(are_gone)


def test_who_kills_the_editors_server_ends_the_real_workers(server: Client, kernel: str) -> None:
    server.initialize()
    server.open(kernel, SLOW)
    server.start(
        "workspace/executeCommand", command("checkGradients", kernel, kernel="slow_kernel")
    )
    status(server, "running")
    below = eventually(
        lambda: len(found := list(processes_below(server.process.pid))) == 2 and found
    )
    assert isinstance(below, list)
    time.sleep(0.5)
    server.kill()
    for process in below:
        eventually(lambda process=process: is_gone(process))
