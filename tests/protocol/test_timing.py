"""`Time`: what a Python with a GPU measured stands on the lens until the text changes. The Python here is made up."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_containment import is_gone
from tests.cli.test_workers import eventually, number_in
from tests.protocol.client import LIMIT, Client
from tests.protocol.conftest import KERNEL
from tests.protocol.test_gradients import CANCELLED, REQUEST_FAILED, command, titles
from tests.runner.test_times import launches

__all__ = ["launches"]

MEASURED = {
    "forward": {"median_ms": 1.25},
    "backward": {"median_ms": 2.5},
    "bytes": 1_250_000_000,
}
FAKE_PYTHON = """#!{python}
import json, pathlib, sys, time
asked = json.load(sys.stdin)
pathlib.Path({asked!r}).write_text(json.dumps(asked))
{action}
"""


class Machine:
    """A Python that does as it is told, and what it was asked."""

    def __init__(self, folder: Path, client: Client) -> None:
        self.file, self.asked = folder / "python", folder / "asked.json"
        client.configuration = {"python": {"command": str(self.file)}}
        client.notify("workspace/didChangeConfiguration", {"settings": None})
        client.settle()  # the server asked for the settings, and has them

    def does(self, action: str) -> None:
        text = FAKE_PYTHON.format(python=sys.executable, asked=str(self.asked), action=action)
        self.file.write_text(text)
        self.file.chmod(0o755)


@pytest.fixture
def machine(editor: Client, tmp_path: Path, kernel: str) -> Machine:
    machine = Machine(tmp_path, editor)
    machine.does(f"print(json.dumps({MEASURED!r}))")
    editor.open(kernel, KERNEL)
    return machine


def time_kernel(client: Client, uri: str, **more: Any) -> dict[str, Any]:
    params = {**command("timeKernel", uri), **more}
    return client.wait(client.start("workspace/executeCommand", params))


def test_times_stand_on_the_lens_until_the_text_changes(
    editor: Client, kernel: str, machine: Machine
) -> None:
    assert "Time" in titles(editor, kernel)
    summary = time_kernel(editor, kernel)["result"]["summary"]
    assert summary == "fwd 1.25 ms (1000 GB/s), bwd 2.5 ms, 2.0x fwd"
    assert summary in titles(editor, kernel)
    changed = KERNEL.replace("y = scale(x)", "y = scale(x) * 2")
    editor.change(kernel, 2, {"text": changed})
    assert "Time" in titles(editor, kernel)
    editor.change(kernel, 3, {"text": KERNEL})
    assert summary in titles(editor, kernel)


def times_of(client: Client, uri: str) -> list[dict[str, Any]] | None:
    params = command("schedule", uri)
    return client.wait(client.start("workspace/executeCommand", params))["result"].get("times")


def test_times_of_several_sizes_are_kept_while_the_kernel_stays(
    editor: Client, kernel: str, machine: Machine
) -> None:
    """The comment above it says the size; one that is timed again has its newest times."""
    assert times_of(editor, kernel) is None
    for version, (words, bytes_moved, ms) in enumerate(
        [("n=4096", 32768, 0.5), ("n=64", 512, 0.25), ("n=4096", 32768, 0.75)], 2
    ):
        timed = {"text": f"# tad time: {words}", "bytes": bytes_moved, "forward": {"median_ms": ms}}
        machine.does(f"print(json.dumps({timed!r} | {{'backward': {{'median_ms': 2 * {ms}}}}}))")
        text = KERNEL.replace("@triton.jit", f"# tad time: {words}\n@triton.jit", 1)
        editor.change(kernel, version, {"text": text})
        time_kernel(editor, kernel)
    assert times_of(editor, kernel) == [
        {"configuration": "# tad time: n=64", "bytes": 512, "forward_ms": 0.25, "backward_ms": 0.5},
        {
            "configuration": "# tad time: n=4096",
            "bytes": 32768,
            "forward_ms": 0.75,
            "backward_ms": 1.5,
        },
    ]
    editor.change(kernel, 9, {"text": KERNEL.replace("y = scale(x)", "y = scale(x) * 2")})
    assert times_of(editor, kernel) is None


def hover_at(client: Client, uri: str, text: str, words: str) -> str:
    before = text[: text.index(words)]
    position = {"line": before.count("\n"), "character": len(before.rpartition("\n")[2])}
    params = {"textDocument": {"uri": uri}, "position": position}
    return client.request("textDocument/hover", params)["contents"]["value"]


def test_hovers_say_what_the_compiled_kernel_has_of_a_line(
    editor: Client, kernel: str, machine: Machine
) -> None:
    """Until its text changes; wherever it stands in the file."""
    words = "load(x_ptr"
    machine.does(f"""
module = asked["module"].splitlines()
line = next(i for i, row in enumerate(module, 1) if {words!r} in row)
rows = [{{"line": 0, "instructions": 9}}, {{"line": line, "instructions": 6, "loads": 4, "shared_loads": 1}}]
measured = {MEASURED!r}
measured["forward"]["kernels"] = [{{"kernel": "scale_kernel", "lines": rows}}]
print(json.dumps(measured))
""")
    assert words in KERNEL
    assert "instructions" not in hover_at(editor, kernel, KERNEL, words)
    time_kernel(editor, kernel)
    says = "Compiled, this line has 6 instructions: loads 4, shared loads 1"
    assert says in hover_at(editor, kernel, KERNEL, words)
    assert "Compiled" not in hover_at(editor, kernel, KERNEL, "store(")
    moved = "# above\n" + KERNEL
    editor.change(kernel, 2, {"text": moved})
    assert says in hover_at(editor, kernel, moved, words)
    changed = KERNEL.replace("y = scale(x)", "y = scale(x) * 2")
    editor.change(kernel, 3, {"text": changed})
    assert "Compiled" not in hover_at(editor, kernel, changed, words)


def test_what_is_timed(editor: Client, kernel: str, machine: Machine) -> None:
    time_kernel(editor, kernel)
    asked = json.loads(machine.asked.read_text())
    assert asked["kernel"] == "scale_kernel"
    assert "def scale_kernel_backward(" in asked["module"]
    assert asked["plan"] and asked["launches"]
    for helper in ("_card_of", "_product_tiles", "_loop_tile"):
        assert asked["helpers"].count(f"def {helper}(") == 1


def test_progress_of_a_timing(editor: Client, kernel: str, machine: Machine) -> None:
    time_kernel(editor, kernel, workDoneToken="mine")
    values = [m["params"]["value"] for m in editor.notifications if m["method"] == "$/progress"]
    assert [value["kind"] for value in values] == ["begin", "end"]


@pytest.mark.parametrize(
    ("action", "says"),
    [
        ("print(json.dumps({'error': 'there is no GPU'}))", "there is no GPU"),
        ("sys.exit('no module named triton')", "no module named triton"),
        ("print('{')", "ended with status 0"),
        ("import os; os.kill(os.getpid(), 9)", "signal 9"),
    ],
)
def test_what_cannot_be_timed_is_said(
    editor: Client, kernel: str, machine: Machine, action: str, says: str
) -> None:
    machine.does(action)
    error = time_kernel(editor, kernel)["error"]
    assert error["code"] == REQUEST_FAILED and says in error["message"]
    machine.does(f"print(json.dumps({MEASURED!r}))")
    assert "result" in time_kernel(editor, kernel)


def test_a_python_that_is_not_there(editor: Client, kernel: str, machine: Machine) -> None:
    machine.file.unlink()
    assert time_kernel(editor, kernel)["error"]["code"] == REQUEST_FAILED


@pytest.mark.parametrize(
    ("lacks", "wants"),
    [("python", "a Python with Triton"), ("gpu", "a machine with a GPU"), (None, None)],
)
def test_what_the_machine_lacks_names_the_setting_and_stands_over_no_kernel(
    editor: Client, kernel: str, machine: Machine, lacks: str | None, wants: str | None
) -> None:
    machine.does(f"print(json.dumps({{'error': 'it is not there', 'lacks': {lacks!r}}}))")
    message = time_kernel(editor, kernel)["error"]["message"]
    assert ("the setting `tad.python.command`" in message) == (wants is not None)
    assert wants is None or wants in message
    assert ("Time" in titles(editor, kernel)) == (wants is not None)


def test_a_python_without_what_timing_takes(editor: Client, kernel: str, tmp_path: Path) -> None:
    editor.configuration = {
        "python": {"command": sys.executable}
    }  # that of the tests has no Triton
    editor.notify("workspace/didChangeConfiguration", {"settings": None})
    editor.settle()
    editor.open(kernel, KERNEL)
    message = time_kernel(editor, kernel)["error"]["message"]
    assert "cannot import what is needed" in message and "`tad.python.command`" in message
    # Where the machine has no GPU, no Python of it would do: the way is to another machine.
    assert ("is not found" in message) == ("on a machine with a GPU" in message)
    editor.configuration = {"python": {"command": str(tmp_path / "python")}}
    editor.notify("workspace/didChangeConfiguration", {"settings": None})
    editor.settle()
    message = time_kernel(editor, kernel)["error"]["message"]
    assert "cannot start" in message and "`tad.python.command`" in message


def test_what_a_python_may_do(editor: Client, kernel: str, machine: Machine) -> None:
    """It keeps caches and starts compilers; it has no network, no rights, and none of our secrets."""
    report = machine.file.parent / "report"
    machine.does(f"""import os, socket, subprocess
told = {{}}
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX):
    try:
        socket.socket(family).close()
        told[family.name] = "open"
    except OSError as error:
        told[family.name] = error.strerror
told["status"] = pathlib.Path("/proc/self/status").read_text()
told["environment"] = sorted(os.environ)
told["group"] = os.getpgid(0) == os.getpid()
told["compiler"] = subprocess.run(["true"]).returncode
pathlib.Path({str(report)!r}).write_text(json.dumps(told))
print(json.dumps({MEASURED!r}))""")
    assert "result" in time_kernel(editor, kernel)
    told = json.loads(report.read_text())
    assert told["AF_INET"] == told["AF_INET6"] == "Operation not permitted"
    assert told["AF_UNIX"] == "open" and told["compiler"] == 0 and told["group"]
    assert re.search(r"^NoNewPrivs:\s1$", told["status"], re.M)
    assert re.search(r"^Seccomp:\s2$", told["status"], re.M)
    assert "PATH" in told["environment"] and "HOME" in told["environment"]
    assert not [name for name in told["environment"] if name.startswith(("PYTEST", "PYTHON"))]


def test_a_python_is_ended_with_the_server(
    editor: Client, kernel: str, machine: Machine, tmp_path: Path
) -> None:
    machine.does(f"""import os
pathlib.Path({str(tmp_path / "pid")!r}).write_text(str(os.getpid()))
time.sleep(600)""")
    editor.start("workspace/executeCommand", command("timeKernel", kernel))
    python = number_in(tmp_path / "pid")
    editor.kill()
    eventually(lambda: is_gone(python))


def test_a_python_that_says_too_much(editor: Client, kernel: str, machine: Machine) -> None:
    machine.does("while True: print('x' * 65536)")
    assert "more than 1 MB" in time_kernel(editor, kernel)["error"]["message"]


def test_a_command_that_leads_to_a_python_is_left_alone(
    editor: Client, kernel: str, machine: Machine, tmp_path: Path
) -> None:
    """It may have to reach another machine."""
    report = tmp_path / "report"
    machine.does(f"""pathlib.Path({str(report)!r}).write_text(pathlib.Path("/proc/self/status").read_text())
print(json.dumps({MEASURED!r}))""")
    editor.configuration = {"python": {"command": f"env {machine.file}"}}
    editor.notify("workspace/didChangeConfiguration", {"settings": None})
    editor.settle()
    assert "result" in time_kernel(editor, kernel)
    assert re.search(r"^NoNewPrivs:\s0$", report.read_text(), re.M)


@pytest.mark.parametrize("by", ["request", "progress"])
def test_a_timing_is_cancelled(editor: Client, kernel: str, machine: Machine, by: str) -> None:
    machine.does("time.sleep(600)")
    number = editor.start(
        "workspace/executeCommand", {**command("timeKernel", kernel), "workDoneToken": "mine"}
    )
    while not machine.asked.exists():
        editor.settle()
    if by == "request":
        editor.notify("$/cancelRequest", {"id": number})
    else:
        editor.notify("window/workDoneProgress/cancel", {"token": "mine"})
    assert editor.wait(number)["error"]["code"] == CANCELLED
    deadline = time.monotonic() + LIMIT
    while "Time" not in titles(editor, kernel):  # the process has ended
        assert time.monotonic() < deadline


@pytest.mark.parametrize("how", ["cancel", "end", "kill"])
def test_a_timing_by_a_worker_with_a_gpu_is_given_up(
    launches: str, kernel: str, tmp_path: Path, how: str
) -> None:
    """The Python that compiles ends, too."""
    python, number = tmp_path / "python", tmp_path / "pid"
    python.write_text(f"#!/bin/sh\necho $$ >{number}\nexec sleep 600\n")
    python.chmod(0o755)
    client = Client(env={"TAD_LIBCUDA": launches})
    client.configuration = {"python": {"command": str(python)}}
    client.initialize()
    client.open(kernel, KERNEL)
    client.settle()
    request = client.start("workspace/executeCommand", command("timeKernel", kernel))
    process = number_in(number)
    if how == "cancel":
        client.notify("$/cancelRequest", {"id": request})
        assert client.wait(request)["error"]["code"] == CANCELLED
        assert "Time" in titles(client, kernel)
    if how == "kill":
        client.kill()
    else:
        assert client.shut_down() == 0
    eventually(lambda: is_gone(process))


def test_a_session_that_ends_during_a_timing(editor: Client, kernel: str, machine: Machine) -> None:
    machine.does("time.sleep(600)")
    editor.start("workspace/executeCommand", command("timeKernel", kernel))
    while not machine.asked.exists():
        editor.settle()
    assert editor.shut_down() == 0


def test_nothing_is_timed_without_trust(server: Client, kernel: str, tmp_path: Path) -> None:
    server.initialize(initializationOptions={"trusted": False})
    machine = Machine(tmp_path, server)
    server.configuration["trusted"] = False
    machine.does("print('{}')")
    server.open(kernel, KERNEL)
    assert "trusted" in time_kernel(server, kernel)["error"]["message"]
    assert not machine.asked.exists()
    assert server.shut_down() == 0
