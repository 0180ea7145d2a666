"""What contains the real `tad-runner`, as the system tells it, and what ends it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.runner.test_protocol import BIN, ENDLESS, Runner, gradcheck_params, run_params, runner

__all__ = ["runner"]


def fields(process: int, file: str) -> dict[str, str]:
    """`NoNewPrivs: 1` and the like of /proc/PID/status."""
    lines = Path(f"/proc/{process}/{file}").read_text().splitlines()
    return {line.split(":")[0]: line.split(":")[1].strip() for line in lines if ":" in line}


def limits(process: int) -> dict[str, str]:
    """The hard limits of /proc/PID/limits; of time the soft one."""
    lines = Path(f"/proc/{process}/limits").read_text().splitlines()[1:]
    hard = {line[:26].strip(): line[26:].split()[1] for line in lines}
    soft = {line[:26].strip(): line[26:].split()[0] for line in lines}
    return hard | {"Max cpu time": soft["Max cpu time"]}


def start(**more: object) -> Runner:
    """With nothing but pipes: a stream that is a file must be able to grow."""
    return Runner(stderr=subprocess.PIPE, **more)


def test_what_the_system_says_of_it() -> None:
    runner = start(env={"SECRET": "key", "PATH": os.environ["PATH"]})
    assert runner.ask("gradcheck", gradcheck_params())["result"]["status"] == "proved"
    process = runner.process.pid
    status = fields(process, "status")
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    for thread in Path(f"/proc/{process}/task").iterdir():
        assert fields(int(thread.name), "status")["Seccomp"] == "2"
    held = limits(process)
    assert int(held["Max address space"]) <= 16 << 30
    assert int(held["Max open files"]) <= 16
    assert (held["Max file size"], held["Max core file size"]) == ("0", "0")
    assert int(held["Max cpu time"]) < 300  # that of the request, and some
    assert b"key" not in Path(f"/proc/{process}/environ").read_bytes()
    assert sorted(f.name for f in Path(f"/proc/{process}/fd").iterdir()) == ["0", "1", "2"]
    sandbox = runner.ask("probe", {})["result"]["sandbox"]
    assert sandbox.pop("memory_bytes") == int(held["Max address space"])
    parts = ("system_calls", "no_new_privileges", "limits", "environment")
    assert sandbox == dict.fromkeys(parts, True)
    runner.end()


def test_files_that_it_inherits_are_closed(tmp_path: Path) -> None:
    with (tmp_path / "secret").open("w") as secret:
        os.set_inheritable(secret.fileno(), True)
        runner = start(pass_fds=[secret.fileno()])
        runner.ask("probe", {})
        names = [os.readlink(f) for f in Path(f"/proc/{runner.process.pid}/fd").iterdir()]
        assert not [name for name in names if "secret" in name]
        runner.end()


def test_an_answer_can_still_go_to_a_file(tmp_path: Path) -> None:
    request, answer = tmp_path / "request.json", tmp_path / "answer.json"
    request.write_text(json.dumps(gradcheck_params()))
    with answer.open("w") as out:
        command = [str(BIN / "tad-runner"), "--gradcheck", str(request)]
        subprocess.run(command, stdout=out, timeout=60, check=True)
    assert json.loads(answer.read_text())["status"] == "proved"


def test_memory_is_refused_with_a_sentence() -> None:
    """A message of 400 MB, where 300 MB are allowed."""
    limit = "ulimit -v 300000; exec "
    process = subprocess.Popen(
        ["sh", "-c", limit + str(BIN / "tad-runner")],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stdin and process.stderr
    with pytest.raises(BrokenPipeError):
        process.stdin.write(b"Content-Length: 400000000\r\n\r\n")
        for _ in range(400):
            process.stdin.write(b" " * 1_000_000)
    assert b"out of memory" in process.stderr.read()
    assert process.wait(timeout=10) == 2
    process.stderr.close()


def test_each_request_has_time_of_its_own(runner: Runner) -> None:
    runner.ask("gradcheck", {**gradcheck_params(), "max_seconds": 1})
    short = int(limits(runner.process.pid)["Max cpu time"])
    runner.ask("gradcheck", {**gradcheck_params(), "max_seconds": 1000})
    assert int(limits(runner.process.pid)["Max cpu time"]) - short >= 1000


def test_it_ends_with_who_asked(runner: Runner) -> None:
    """Whatever it is doing: nobody can take the answer."""
    params = run_params(ENDLESS, "endless", {"X": {"data": [0]}, "n": {"int": 1}})
    runner.send("run", {**params, "max_seconds": 300}, 7)
    assert runner.process.stdin and runner.process.stdout
    runner.process.stdin.close()
    time.sleep(0.5)
    assert runner.process.poll() is None  # somebody still reads
    runner.process.stdout.close()
    runner.process.wait(timeout=10)
