""" "Update backward": offered where the derivation changed, opened at the first difference; hand edits stay."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.protocol.client import Client, place
from tests.protocol.conftest import KERNEL
from tests.protocol.test_gradients import command, titles
from tests.protocol.test_pairs import WITH_DOCUMENTS, accepted, shown

NEW = KERNEL.replace("    y = scale(x)\n", "    y = scale(x) + x * x\n")
EDIT = ("    dx = ", "    # by hand\n    dx = ")


def eventually(client: Client, uri: str, first: str) -> None:
    end = time.monotonic() + 30
    while titles(client, uri)[0] != first:
        assert time.monotonic() < end, titles(client, uri)
        time.sleep(0.8)  # a request puts off what is done in a pause


def test_offered_where_the_derivation_changed(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    uri, text = accepted(editor, kernel)
    editor.open(uri, text)
    commented = KERNEL.replace("    mask =", "    # within\n    mask =")
    editor.change(kernel, 2, {"text": commented})
    eventually(editor, kernel, "Check gradients")
    assert not any("has changed" in title for title in titles(editor, kernel))
    eventually(editor, uri, "Check gradients")
    editor.change(kernel, 3, {"text": NEW})
    eventually(editor, kernel, "Update backward")
    eventually(editor, uri, "scale.py has changed: update backward")


def test_the_preview_keeps_what_a_hand_edited(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    uri, text = accepted(editor, kernel)
    edited = text.replace("    return x * 3.0\n", "    return x * 3.0\n\n\nNOTE = 1\n")
    edited = edited.replace("import torch\n", "import torch\nimport os\n")
    editor.open(uri, edited)
    editor.change(kernel, 2, {"text": NEW})
    preview = editor.request("workspace/executeCommand", command("backwardPreview", kernel))
    assert preview["uri"] == uri
    assert "import os\n" in preview["text"] and "NOTE = 1" in preview["text"]
    assert "y = scale(x) + x * x" in preview["text"]
    lines, before = preview["text"].splitlines(), edited.splitlines()
    first = next(i for i, (new, old) in enumerate(zip(lines, before, strict=False)) if new != old)
    assert preview["first"] == first
    assert "conflicts" not in preview and "was kept (2 places)" in preview["note"]


def test_an_update_opens_at_the_conflict(server: Client, kernel: str) -> None:
    server.initialize(WITH_DOCUMENTS)
    server.open(kernel, KERNEL)
    uri, text = accepted(server, kernel)
    start = text.index("    dx = ")
    wrong = text[:start] + text[start:].replace("    dx = ", "    dx = 1.0 * ", 1)
    Path(uri.removeprefix("file://")).write_text(wrong)
    server.change(kernel, 2, {"text": NEW})
    server.request("workspace/executeCommand", command("generateBackward", kernel))
    server.settle()
    edit = next(each["params"]["edit"] for each in server.requests if each["method"] == "workspace/applyEdit")
    (change,) = edit["documentChanges"]
    merged = change["edits"][0]["newText"]
    assert change["textDocument"]["uri"] == uri
    assert "<<<<<<< scale_backward.py\n    dx = 1.0 * " in merged
    assert shown(server)["uri"] == uri
    assert shown(server)["selection"]["start"] == place(merged, "<<<<<<<")
    said = server.next_notification("window/showMessage")["message"]
    assert said.startswith("scale_backward.py: 1 place was edited by hand where the backward changed")
    assert server.shut_down() == 0


def test_what_cannot_be_merged_is_offered_beside(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    uri, text = accepted(editor, kernel)
    editor.open(uri, text + "\n\ndef broken(:\n")
    editor.change(kernel, 2, {"text": NEW})
    preview = editor.request("workspace/executeCommand", command("backwardPreview", kernel))
    assert preview["uri"] == uri.replace("_backward.py", "_backward_new.py")
    assert "cannot be merged: it is no Python as it stands" in preview["note"]
    assert "<<<<<<<" not in preview["text"]


@pytest.mark.parametrize("name", ["file", "below"])
def test_a_first_backward_has_no_news(editor: Client, kernel: str, name: str) -> None:
    editor.open(kernel, KERNEL)
    preview = editor.request("workspace/executeCommand", command("backwardPreview", kernel, where=name))
    assert preview["text"] and not {"first", "conflicts", "note"} & set(preview)
