"""From a forward to its backward and back, a click on a result, and checks that wait for others."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_workers import SLOW
from tests.protocol.client import CAPABILITIES, Client, place
from tests.protocol.conftest import KERNEL
from tests.protocol.test_gradients import command, status, titles

WITH_DOCUMENTS = copy.deepcopy(CAPABILITIES)
WITH_DOCUMENTS["window"]["showDocument"] = {"support": True}
BACKWARD = "scale_kernel_backward"


def accepted(client: Client, uri: str) -> tuple[str, str]:
    """The module beside the file as it is written: its URI and its text."""
    preview = client.request("workspace/executeCommand", command("backwardPreview", uri))
    Path(preview["uri"].removeprefix("file://")).write_text(preview["text"])
    return preview["uri"], preview["text"]


def implementation(client: Client, uri: str, text: str, name: str) -> list[tuple[str, Any]]:
    at = {"textDocument": {"uri": uri}, "position": place(text, f"def {name}(", inside=6)}
    found = client.request("textDocument/implementation", at)
    return [(each["uri"], each["range"]["start"]) for each in found or []]


def test_implementations_across_the_two_files(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    assert implementation(editor, kernel, KERNEL, "scale_kernel") == []
    uri, text = accepted(editor, kernel)
    there = (uri, place(text, f"def {BACKWARD}(", inside=4))
    assert implementation(editor, kernel, KERNEL, "scale_kernel") == [there]
    editor.open(uri, text)
    assert implementation(editor, uri, text, "scale_kernel") == [there]
    here = (kernel, place(KERNEL, "def scale_kernel(", inside=4))
    assert implementation(editor, uri, text, BACKWARD) == [here]
    # Without the file that the header names, the module's own copy is the forward.
    editor.notify("textDocument/didClose", {"textDocument": {"uri": kernel}})
    Path(kernel.removeprefix("file://")).unlink(missing_ok=True)
    assert implementation(editor, uri, text, BACKWARD) == [(uri, place(text, "def scale_kernel(", inside=4))]


def test_implementations_within_one_file(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    below = command("backwardPreview", kernel, where="below")
    text = editor.request("workspace/executeCommand", below)["text"]
    editor.change(kernel, 2, {"text": text})
    there = (kernel, place(text, f"def {BACKWARD}(", inside=4))
    assert implementation(editor, kernel, text, "scale_kernel") == [there]
    assert implementation(editor, kernel, text, BACKWARD) == [
        (kernel, place(text, "def scale_kernel(", inside=4))
    ]


def shown(client: Client) -> dict[str, Any]:
    client.settle()
    return [each["params"] for each in client.requests if each["method"] == "window/showDocument"][-1]


def test_lenses_go_to_the_backward_and_back(server: Client, kernel: str) -> None:
    server.initialize(WITH_DOCUMENTS)
    server.open(kernel, KERNEL)
    assert "Go to backward" not in titles(server, kernel)
    uri, text = accepted(server, kernel)
    assert "Go to backward" in titles(server, kernel)
    server.request("workspace/executeCommand", command("goToBackward", kernel))
    assert shown(server)["uri"] == uri
    assert shown(server)["selection"]["start"] == place(text, f"def {BACKWARD}(", inside=4)
    server.open(uri, text)
    assert {"Go to backward", "Go to forward"} <= set(titles(server, uri))
    server.request("workspace/executeCommand", command("goToForward", uri))
    assert shown(server)["uri"] == kernel
    assert shown(server)["selection"]["start"] == place(KERNEL, "def scale_kernel(", inside=4)
    assert server.shut_down() == 0


def test_a_click_on_a_result_says_why_and_runs_nothing(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    editor.request("workspace/executeCommand", command("checkGradients", kernel))
    lenses = editor.request("textDocument/codeLens", {"textDocument": {"uri": kernel}})
    by_title = {lens["command"]["title"].split(",")[0]: lens["command"] for lens in lenses}
    assert by_title["Check again"]["command"] == "tad.checkGradients"
    click = by_title["gradients proved"]
    assert click["command"] == "tad.showResult"
    editor.notifications.clear()
    del click["title"]
    answer = editor.request("workspace/executeCommand", click)
    assert answer["status"] == "proved"
    said = editor.next_notification("window/showMessage")["message"]
    assert "The gradients of `scale_kernel` are proved, worst error" in said and "Covered: " in said
    assert not [m for m in editor.notifications if m["method"] == "tad/gradientStatus"]


def test_a_wrong_gradient_is_opened_where_it_is_written(server: Client, kernel: str) -> None:
    server.initialize(WITH_DOCUMENTS)
    server.open(kernel, KERNEL)
    uri, text = accepted(server, kernel)
    wrong = text.replace("dx = dy * 3.0", "dx = dy * 6.0")
    assert wrong != text
    server.open(uri, wrong)
    result = server.request("workspace/executeCommand", command("checkGradients", uri))
    assert "relative error 0.5, twice what it should be, along" in result["reason"]
    found = []
    while not found:
        found = [d["message"] for d in server.diagnostics(uri, 1) if d["code"] == "gradient-wrong"]
    assert re.search(r"; expected dx_ptr\[\d+, \d+\] = \S+, actual \S+$", found[0]), found[0]
    server.request("workspace/executeCommand", command("showResult", uri))
    assert shown(server)["uri"] == uri
    assert wrong.splitlines()[shown(server)["selection"]["start"]["line"]].strip().startswith("tl.store(")
    assert server.next_notification("window/showMessage")["type"] == 1
    assert server.shut_down() == 0


@pytest.mark.parametrize("wanted", ["waiting to check gradients…", "checking gradients…"])
def test_a_check_that_waits_looks_different(server: Client, kernel: str, wanted: str) -> None:
    settings = {"gradients": {"workers": 1, "derive": False}}
    server.configuration = settings
    server.initialize(initializationOptions={"settings": settings})
    body = SLOW[SLOW.index("@triton.jit") :]
    server.open(kernel, SLOW + "\n\n" + body.replace("slow_kernel", "second_kernel"))
    number = server.start("workspace/executeCommand", command("checkAllGradients", kernel, None))
    first = status(server, "running")
    assert first["waiting"] is False and first["percent"] == 0
    assert status(server, "running")["waiting"] is True
    assert any(title.startswith(wanted) for title in titles(server, kernel))
    server.notify("$/cancelRequest", {"id": number})
    server.wait(number)
    assert server.shut_down() == 0
