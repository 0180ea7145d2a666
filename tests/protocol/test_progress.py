"""What a client may watch: progress under its own tokens, cancelling by token, a trace of messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.protocol.client import Client, place
from tests.protocol.conftest import KERNEL

CANCELLED = -32800


def progress(client: Client, token: str | int) -> list[dict[str, Any]]:
    """All that came under a token so far."""
    return [
        message["params"]["value"]
        for message in client.notifications
        if message["method"] == "$/progress" and message["params"]["token"] == token
    ]


def check(uri: str) -> dict[str, Any]:
    argument = {"uri": uri, "kernel": "scale_kernel"}
    return {"command": "tad.checkGradients", "arguments": [argument]}


@pytest.mark.parametrize("token", ["mine", 7])
def test_progress_under_the_clients_token(editor: Client, kernel: str, token: str | int) -> None:
    editor.open(kernel, KERNEL)
    editor.requests.clear()
    params = {**check(kernel), "workDoneToken": token}
    number = editor.start("workspace/executeCommand", params)
    answer = editor.wait(number)
    assert answer["result"]["status"] == "proved"
    values = progress(editor, token)
    kinds = [value["kind"] for value in values]
    assert kinds[0] == "begin" and kinds[-1] == "end" and "report" in kinds
    assert kinds.count("begin") == kinds.count("end") == 1
    assert values[0]["title"] == "Checking gradients"
    assert not [
        request
        for request in editor.requests
        if request["method"] == "window/workDoneProgress/create"
    ]


@pytest.mark.parametrize("method", ["references", "rename", "prepareCallHierarchy"])
def test_progress_of_searches(editor: Client, kernel: str, method: str) -> None:
    editor.open(kernel, KERNEL)
    params = {
        "textDocument": {"uri": kernel},
        "position": place(KERNEL, "scale(x"),
        "context": {"includeDeclaration": True},
        "newName": "other",
        "workDoneToken": "search",
    }
    editor.request(f"textDocument/{method}", params)
    assert [value["kind"] for value in progress(editor, "search")] == ["begin", "end"]


def test_cancel_by_the_clients_token(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    editor.configuration = {}
    number = editor.start("workspace/executeCommand", {**check(kernel), "workDoneToken": "mine"})
    editor.notify("window/workDoneProgress/cancel", {"token": "mine"})
    answer = editor.wait(number)
    assert answer["error"]["code"] == CANCELLED or answer["result"]["status"] == "proved"
    values = progress(editor, "mine")
    assert [value["kind"] for value in values if value["kind"] != "report"] == ["begin", "end"]
    for token in ("mine", "nobody's", 3, None, {}):
        editor.notify("window/workDoneProgress/cancel", {"token": token})
    editor.settle()
    assert progress(editor, "mine") == values


def traces(client: Client) -> list[dict[str, Any]]:
    return [m["params"] for m in client.notifications if m["method"] == "$/logTrace"]


def with_trace(client: Client, kernel: str, value: str) -> list[dict[str, Any]]:
    client.notify("$/setTrace", {"value": value})
    client.open(kernel, KERNEL)
    client.request(
        "textDocument/hover",
        {
            "textDocument": {"uri": kernel},
            "position": place(KERNEL, "mask = "),
        },
    )
    client.diagnostics(kernel, 1)
    client.settle()
    return traces(client)


def holds(found: list[dict[str, Any]], *words: str) -> bool:
    return any(all(word in trace["message"] for word in words) for trace in found)


def test_no_trace_unless_asked(editor: Client, kernel: str) -> None:
    assert with_trace(editor, kernel, "off") == []


def test_trace_of_messages(editor: Client, kernel: str) -> None:
    found = with_trace(editor, kernel, "messages")
    assert all("verbose" not in trace for trace in found)
    assert holds(found, "received", "textDocument/hover")
    assert holds(found, "answered", "textDocument/hover", " ms")
    assert holds(found, "received", "textDocument/didOpen")
    assert holds(found, "sent", "textDocument/publishDiagnostics")
    assert holds(found, "received", "tad/unknown")
    assert not holds(found, "logTrace")


def test_verbose_trace(editor: Client, kernel: str) -> None:
    found = with_trace(editor, kernel, "verbose")
    hover = [trace for trace in found if "textDocument/hover" in trace["message"]]
    assert '"position"' in hover[0]["verbose"]
    assert "i1[BLOCK]" in hover[1]["verbose"]
    editor.notify("$/setTrace", {"value": "off"})
    editor.settle()
    editor.notifications.clear()
    editor.settle()
    assert traces(editor) == []


def test_trace_from_the_start(server: Client, kernel: str) -> None:
    server.initialize(trace="messages")
    server.settle()
    assert holds(traces(server), "sent", "client/registerCapability")
    server.notify("$/setTrace", {"value": "nonsense"})
    server.settle()
    assert server.shut_down() == 0


def fixes(client: Client, uri: str, text: str, only: list[str]) -> list[str]:
    end = {"line": text.count("\n"), "character": 0}
    answer = client.request(
        "textDocument/codeAction",
        {
            "textDocument": {"uri": uri},
            "range": {"start": {"line": 0, "character": 0}, "end": end},
            "context": {"diagnostics": [], "only": only},
        },
    )
    return [action["kind"] for action in answer]


def test_fix_all_only_where_there_is_something(editor: Client, tmp_path: Path, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    assert fixes(editor, kernel, KERNEL, ["source.fixAll"]) == []
    bad = KERNEL.replace("mask=mask, other=0.0", "other=0.0")
    uri = (tmp_path / "bad.py").as_uri()
    editor.open(uri, bad)
    assert fixes(editor, uri, bad, ["source.fixAll"]) == ["source.fixAll.tad"]
