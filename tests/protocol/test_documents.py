"""Edits of every kind, and broken bytes: the server's text is the editor's text, and it lives on."""

from __future__ import annotations

import json
import random
import re
import subprocess
import threading
from pathlib import Path

import pytest

from tests.protocol.client import BIN, LIMIT, Client, edit, frame, place
from tests.protocol.conftest import KERNEL

PARSE_ERROR, INVALID_REQUEST, CANCELLED = -32700, -32600, -32800


def hover(editor: Client, uri: str, text: str, word: str) -> str:
    params = {"textDocument": {"uri": uri}, "position": place(text, word)}
    answer = editor.request("textDocument/hover", params)
    return answer["contents"]["value"] if answer else ""


def errors(found: list[dict]) -> list[str]:
    return [d["code"] for d in found if d["severity"] == 1]


def apply(text: str, change: dict, ends: str = "\n") -> str:
    """What an editor that counts UTF-16 makes of the change, for texts with one kind of line end."""

    def offset(position: dict) -> int:
        lines = text.split(ends)
        line = min(position["line"], len(lines) - 1)
        start = sum(len(each) + len(ends) for each in lines[:line])
        units = lines[line].encode("utf-16-le")[: 2 * position["character"]]
        if position["line"] > line:
            return len(text)
        return start + len(units.decode("utf-16-le", "ignore"))

    if "range" not in change:
        return change["text"]
    start, end = offset(change["range"]["start"]), offset(change["range"]["end"])
    return text[:start] + change["text"] + text[end:]


def test_versions_and_incremental_edits(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    assert errors(editor.diagnostics(kernel, 1)) == []
    start = place(KERNEL, "load")
    line, character = start["line"], start["character"]
    editor.change(kernel, 2, edit(line, character, line, character + 4, "lod"))
    assert errors(editor.diagnostics(kernel, 2)) == ["unknown-operation"]
    editor.change(
        kernel,
        5,
        edit(line, character, line, character + 3, "lo"),
        edit(line, character + 2, line, character + 2, "ad"),
    )
    assert errors(editor.diagnostics(kernel, 5)) == []
    editor.notify("textDocument/didClose", {"textDocument": {"uri": kernel}})
    closed = editor.next_notification(
        "textDocument/publishDiagnostics", lambda p: "version" not in p
    )
    assert closed["diagnostics"] == []


def typed(editor: Client, uri: str, text: str, word: str, version: int) -> tuple[str, int]:
    """The text after `word` was typed behind "x = tl." in place of the first operation there, and the last version."""
    at = place(text, "tl.load", inside=3)
    line, start = at["line"], at["character"]
    editor.change(uri, version, edit(line, start, line, start + 4, ""))
    text = text.replace("tl.load", "tl.", 1)
    for i, letter in enumerate(word):
        version += 1
        editor.change(uri, version, edit(line, start + i, line, start + i, letter))
        text = text.replace("tl." + word[:i] + "(", "tl." + word[: i + 1] + "(", 1)
    return text, version


def test_half_a_name_is_no_mistake_until_there_is_a_pause(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    _, version = typed(editor, kernel, KERNEL, "loda", 2)
    assert editor.diagnostics(kernel, version) == []

    def told(params: dict) -> bool:
        codes = [d["code"] for d in params["diagnostics"]]
        return params.get("version") == version and codes == ["unknown-operation"]

    editor.next_notification("textDocument/publishDiagnostics", told)  # after the pause
    # From now on it stays, until the next key.
    editor.notify("textDocument/didSave", {"textDocument": {"uri": kernel}})
    editor.notify("workspace/didChangeConfiguration", {"settings": None})
    editor.next_notification("textDocument/publishDiagnostics", told)


def test_a_mistake_is_told_at_once_when_the_word_is_left(editor: Client, kernel: str) -> None:
    text = KERNEL.replace("x * 3.0", "x * missing\n    x = 1")
    editor.open(kernel, text)
    end = place(text, "x = 1", inside=5)
    line, character = end["line"], end["character"]
    editor.change(kernel, 2, edit(line, character, line, character, "0"))
    assert "undefined-name" in [d["code"] for d in editor.diagnostics(kernel, 2)]


def test_a_kernel_that_is_typed_shows_no_mistake_on_the_way(editor: Client, kernel: str) -> None:
    """Neither in the kernel nor in the launcher below, which its decorator stands above for some keys."""
    start, end = KERNEL.index("@triton.jit"), KERNEL.index("def launch(")
    before, typed_text, after = KERNEL[:start], KERNEL[start:end], KERNEL[end:]
    editor.open(kernel, before + "\n\n" + after)
    assert errors(editor.diagnostics(kernel, 1)) == []
    line, character, version = before.count("\n"), 0, 1
    for letter in typed_text:
        version += 1
        editor.change(kernel, version, edit(line, character, line, character, letter))
        assert errors(editor.diagnostics(kernel, version)) == [], typed_text[: version - 1]
        line, character = (line + 1, 0) if letter == "\n" else (line, character + 1)


def test_what_was_wrong_before_stays_while_a_line_is_not_ended(editor: Client, kernel: str) -> None:
    text = KERNEL.replace("mask=mask, other=0.0", "mask=missing, other=0.0")
    editor.open(kernel, text)
    assert errors(editor.diagnostics(kernel, 1)) == ["undefined-name"]
    at = place(text, "    y = scale")
    for version, letter in enumerate("    z = tl.", 2):
        line, character = at["line"], at["character"] + version - 2
        inserted = letter + "\n" if version == 2 else letter
        editor.change(kernel, version, edit(line, character, line, character, inserted))
        assert errors(editor.diagnostics(kernel, version)) == ["undefined-name"], version


def test_closing_while_diagnostics_are_held_back(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    typed(editor, kernel, KERNEL, "lo", 2)
    editor.notify("textDocument/didClose", {"textDocument": {"uri": kernel}})
    editor.open(kernel, KERNEL, 9)
    assert editor.diagnostics(kernel, 9) == []


def test_only_the_newest_version_is_published(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    line = place(KERNEL, "load")["line"]
    for version in range(2, 60):
        editor.change(kernel, version, edit(line, 0, line, 0, " "), edit(line, 0, line, 1, ""))
    editor.diagnostics(kernel, 59)
    seen = [n["params"]["version"] for n in editor.notifications if "version" in n["params"]]
    assert seen == sorted(seen) and all(version < 59 for version in seen)


def test_a_request_is_answered_for_the_edit_before_it(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    text = KERNEL
    for version in range(2, 30):
        text = text.replace(
            "offsets =" if version % 2 == 0 else "lanes =",
            "lanes =" if version % 2 == 0 else "offsets =",
        )
        editor.change(kernel, version, {"text": text})
        word = "lanes =" if version % 2 == 0 else "offsets ="
        assert "i32[BLOCK]" in hover(editor, kernel, text, word)


def test_edits_out_of_range_are_moved_inside(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    editor.change(kernel, 2, edit(9999, 7, 9999, 9, "tl.lod"), edit(0, 9999, 0, 9999, "  # far"))
    editor.diagnostics(kernel, 2)
    line = KERNEL.count("\n")
    editor.change(kernel, 3, edit(line, 0, line, 999, ""), edit(0, 13, 0, 99, ""))
    editor.diagnostics(kernel, 3)
    # The text is KERNEL again, so the same edit by exact places gives the same answers.
    hovered = hover(editor, kernel, KERNEL, "offsets =")
    assert "i32[BLOCK]" in hovered
    editor.change(kernel, 4, edit(5, 3, 2, 1, ""), {"text": KERNEL})
    assert errors(editor.diagnostics(kernel, 4)) == []
    assert hover(editor, kernel, KERNEL, "offsets =") == hovered


def test_malformed_changes_leave_the_text(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    for changes in (None, {}, [{}], [{"text": 3}], [{"range": {}, "text": ""}], [7]):
        params = {"textDocument": {"uri": kernel, "version": 2}, "contentChanges": changes}
        editor.notify("textDocument/didChange", params)
    for params in ({}, {"textDocument": {"uri": kernel}}, {"textDocument": 7}):
        editor.notify("textDocument/didOpen", params)
    editor.notify(
        "textDocument/didChange", {"textDocument": {"uri": "file:///not/open.py", "version": 1}}
    )
    editor.notify("textDocument/didClose", {"textDocument": {"uri": "file:///not/open.py"}})
    assert "i32[BLOCK]" in hover(editor, kernel, KERNEL, "offsets =")


@pytest.mark.parametrize("ends", ["\r\n", "\r", "mixed"])
def test_line_ends(editor: Client, kernel: str, ends: str) -> None:
    lines = KERNEL.split("\n")
    kinds = ["\r\n", "\n"] if ends == "mixed" else [ends]
    text = "".join(line + kinds[i % len(kinds)] for i, line in enumerate(lines[:-1]))
    editor.open(kernel, text)
    start = place(KERNEL, "load")
    line, character = start["line"], start["character"]
    editor.change(kernel, 2, edit(line, character, line, character + 4, "lod"))
    found = editor.diagnostics(kernel, 2)
    wrong = [d["range"]["start"]["line"] for d in found if d["code"] == "unknown-operation"]
    assert wrong == [line]


def test_characters_outside_the_basic_plane(editor: Client, kernel: str) -> None:
    text = KERNEL.replace("    mask = ", '    """\U0001d7d9\U0001f600é"""; mask = ')
    editor.open(kernel, text)
    assert "[BLOCK]" in hover(editor, kernel, text, "mask =")
    start = place(text, "é")
    line, character = start["line"], start["character"]
    # The middle of a surrogate pair is its start.
    editor.change(kernel, 2, edit(line, character - 1, line, character, "x"))
    changed = apply(text, edit(line, character - 1, line, character, "x"))
    assert "\U0001f600" not in changed
    assert "[BLOCK]" in hover(editor, kernel, changed, "mask =")


def test_halves_of_a_character_and_nul(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    body = json.dumps(
        {
            "jsonrpc": "2.0",
            "method": "textDocument/didChange",
            "params": {
                "textDocument": {"uri": kernel, "version": 2},
                "contentChanges": [edit(0, 0, 0, 0, '# \ud83d \x00 "\\ud83d\n')],
            },
        }
    )
    editor.write(frame(body.encode()))
    editor.diagnostics(kernel, 2)
    assert "i32[BLOCK]" in hover(editor, kernel, "#\n" + KERNEL, "offsets =")


def test_random_edits(editor: Client, kernel: str) -> None:
    """The text after hundreds of edits is the one that an editor has: what a fresh server says of it is the same."""
    seeded = random.Random(7)
    pieces = [
        "",
        "x",
        "\n",
        "é",
        "\U0001f600",
        "    y = 1\n",
        "tl.",
        "(",
        "# tad: ignore\n",
        KERNEL[60:200],
    ]
    text = KERNEL
    editor.open(kernel, text)
    for version in range(2, 202):
        changes = []
        for _ in range(seeded.randint(1, 3)):
            lines = text.split("\n")
            first = seeded.randrange(len(lines) + 1)
            last = min(first + seeded.choice([0, 0, 0, 1, 3]), len(lines) + 1)
            start, end = seeded.randrange(40), seeded.randrange(40)
            if first == last and end < start:
                start, end = end, start
            change = edit(first, start, last, end, seeded.choice(pieces))
            text = apply(text, change)
            changes.append(change)
        editor.change(kernel, version, *changes)
        if version % 40 == 0:
            text += "\n"
            editor.change(kernel, version, {"text": text})
            same = kernel.replace("scale.py", f"fresh{version}.py")
            editor.open(same, text)
            assert editor.diagnostics(same, 1) == editor.diagnostics(kernel, version)


def test_two_opens_and_many_files(editor: Client, tmp_path: Path) -> None:
    uris = [(tmp_path / f"file{i}.py").as_uri() for i in range(1000)]
    for uri in uris:
        editor.open(uri, KERNEL)
    editor.open(uris[0], KERNEL.replace("tl.load", "tl.lod"), version=2)
    assert errors(editor.diagnostics(uris[0], 2)) == ["unknown-operation"]
    assert errors(editor.diagnostics(uris[-1], 1)) == []
    for uri in uris:
        editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    editor.settle()


# --- Broken bytes


@pytest.mark.parametrize(
    "rubbish",
    [
        b"Content-Length: 5\r\n\r\n{oops",
        b"Content-Length: many\r\n\r\n",
        b"Content-Length: -4\r\n\r\n{}{}",
        b"Content-Type: x\r\n\r\n{}",
        b"hello?\r\n\r\n",
        b"\x00\xff\xfe" * 400,
        b"Content-Length: 3\r\n\r\n\xff\xfe\xfd",
        b"Content-Length: 99999999999999999999\r\n\r\n",
        b"Content-Length: 20\r\n\r\n" + b"[" * 20,
        frame(b"[" * 5000),
    ],
)
def test_malformed_frames(editor: Client, kernel: str, rubbish: bytes) -> None:
    editor.open(kernel, KERNEL)
    editor.write(rubbish)
    assert editor.wait(None)["error"]["code"] == PARSE_ERROR
    assert "i32[BLOCK]" in hover(editor, kernel, KERNEL, "offsets =")


def test_a_length_that_is_too_long_takes_no_request_with_it(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    request = (
        b'{"jsonrpc":"2.0","id":"a","method":"textDocument/hover","params":%s}'
        % json.dumps(
            {"textDocument": {"uri": kernel}, "position": place(KERNEL, "offsets =")}
        ).encode()
    )
    editor.write(b'Content-Length: 60\r\n\r\n{"half": 1}' + frame(request))
    editor.methods["a"] = "textDocument/hover"
    assert "i32[BLOCK]" in editor.wait("a")["result"]["contents"]["value"]


@pytest.mark.parametrize(
    "message",
    [
        b"[]",
        b"7",
        b"{}",
        b'{"id":{}}',
        b'{"id":[1],"method":"shutdown"}',
        b'{"id":true,"method":"shutdown"}',
        b'{"method":3}',
        b'{"id":9007199254740993,"method":"shutdown"}',
        b'{"id":-1e400,"method":"shutdown"}',
    ],
)
def test_no_messages(editor: Client, message: bytes) -> None:
    editor.write(frame(message))
    assert editor.wait(None)["error"]["code"] == INVALID_REQUEST


def test_answers_that_nobody_waits_for(editor: Client) -> None:
    editor.send({"id": 12345, "result": None})
    editor.send({"id": "x", "error": {"code": 1, "message": "no"}})
    editor.settle()


def test_message_in_single_bytes(server: Client) -> None:
    server.methods["one"] = "initialize"
    body = b'{"jsonrpc":"2.0","id":"one","method":"initialize","params":{"processId":null,"capabilities":{}}}'
    for byte in frame(body):
        server.write(bytes([byte]))
    assert "result" in server.wait("one")


# --- Cancelling, and clients that do not read


def test_cancel(editor: Client, kernel: str) -> None:
    big = KERNEL + "".join(KERNEL[46:].replace("scale", f"scale{i}") for i in range(40))
    editor.open(kernel, big)
    number = editor.start("textDocument/semanticTokens/full", {"textDocument": {"uri": kernel}})
    editor.notify("$/cancelRequest", {"id": number})
    answer = editor.wait(number)
    assert "result" in answer or answer["error"]["code"] == CANCELLED
    editor.notify("$/cancelRequest", {"id": number})
    editor.notify("$/cancelRequest", {"id": "never"})
    editor.notify("$/cancelRequest", {})
    editor.settle()


def test_a_queue_of_cancelled_requests(editor: Client, kernel: str) -> None:
    editor.open(
        kernel, KERNEL + "".join(KERNEL[46:].replace("scale", f"scale{i}") for i in range(80))
    )
    params = {"textDocument": {"uri": kernel}}
    numbers = [editor.start("textDocument/documentSymbol", params) for _ in range(50)]
    for number in numbers:
        editor.notify("$/cancelRequest", {"id": number})
    codes = [editor.wait(number).get("error", {}).get("code") for number in numbers]
    assert set(codes) <= {None, CANCELLED} and CANCELLED in codes


def resident_bytes(pid: int) -> int:
    """Of the process and of the server below it."""
    status = Path(f"/proc/{pid}/status").read_text()
    below = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    own = 1024 * int(re.search(r"VmRSS:\s+(\d+) kB", status)[1])
    return own + sum(resident_bytes(int(child)) for child in below)


def test_a_client_that_does_not_read(tmp_path: Path) -> None:
    """It is not read from either, so that memory stays; when it reads again, every request has its answer."""
    document = {
        "uri": (tmp_path / "a.py").as_uri(),
        "languageId": "python",
        "version": 1,
        "text": KERNEL,
    }
    position = place(KERNEL, "tl.load", inside=3)
    process = subprocess.Popen(
        [str(BIN / "tad-lsp")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    count, sent = 3000, 0

    def write(message: dict) -> None:
        process.stdin.write(frame(json.dumps({"jsonrpc": "2.0", **message}).encode()))
        process.stdin.flush()

    def write_all() -> None:
        nonlocal sent
        write({"id": 0, "method": "initialize", "params": {"processId": None, "capabilities": {}}})
        write({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        for sent in range(1, count + 1):
            params = {
                "textDocument": {"uri": document["uri"]},
                "position": position,
                "padding": "x" * 1000,
            }
            write({"id": sent, "method": "textDocument/completion", "params": params})

    writer = threading.Thread(target=write_all)
    writer.start()
    before = -1
    while before != sent:
        before = sent
        writer.join(2)
    assert sent < count
    assert resident_bytes(process.pid) < 150_000_000
    answers = 0
    while answers < count:
        size = int(process.stdout.readline().split(b":")[1])
        assert process.stdout.readline() == b"\r\n"
        answers += b'"isIncomplete"' in process.stdout.read(size)
    writer.join(LIMIT)
    process.stdin.close()
    assert process.wait(LIMIT) == 1
