"""A crash of the server at one file: the connection stands, the others are served, the file waits until it changes."""

from __future__ import annotations

import array
import fcntl
import itertools
import json
import os
import re
import signal
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.protocol.client import BIN, BIN_DEV, LIMIT, Client, edit, frame, place
from tests.protocol.conftest import KERNEL

METHOD_NOT_FOUND, INTERNAL_ERROR = -32601, -32603
CONTENT_MODIFIED, REQUEST_CANCELLED = -32801, -32800
KINDS = {
    "segv": "segmentation fault",
    "overflow": "segmentation fault",
    "abort": "abort",
    "kill": "killed",
}


def fault(kind: str, queue: str = "fast") -> str:
    return KERNEL + f"# tad-fault: {queue} {kind}\n"


@pytest.fixture
def editor() -> Iterator[Client]:
    """A session with a build whose texts can make it crash."""
    client = Client(
        program=BIN_DEV / "tad-lsp",
        env={"TAD_FAULTS": "1", "TAD_LONGEST_STEP_S": "1", "ASAN_OPTIONS": "detect_leaks=1"},
    )
    client.initialize()
    yield client
    if client.process.poll() is None:
        client.kill()


def uri_of(folder: Path, name: str) -> str:
    (folder / name).write_text(KERNEL)
    return (folder / name).as_uri()


def told(client: Client) -> list[str]:
    return [
        message["params"]["message"]
        for message in client.notifications
        if message["method"] == "window/showMessage"
    ]


def hover(client: Client, uri: str) -> str:
    at = {"textDocument": {"uri": uri}, "position": place(KERNEL, "x = tl.load")}
    return client.request("textDocument/hover", at)["contents"]["value"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_others_are_served(editor: Client, tmp_path: Path, kind: str) -> None:
    good, bad = uri_of(tmp_path, "good.py"), uri_of(tmp_path, "bad.py")
    editor.open(good, KERNEL, 7)
    assert editor.diagnostics(good, 7) == []
    before = hover(editor, good)
    editor.open(bad, fault(kind), 3)
    (left_alone,) = editor.diagnostics(bad, 3)
    assert left_alone["severity"] == 3 and "tried again when it changes" in left_alone["message"]
    (message,) = told(editor)
    assert "bad.py" in message and "report" in message and re.search(KINDS[kind], message)
    assert editor.diagnostics(good, 7) == []
    assert hover(editor, good) == before
    # Edits go on from the text that the first server had.
    editor.change(good, 8, edit(*position(KERNEL, "tl.load"), "tl.lod"))
    assert [d["code"] for d in editor.diagnostics(good, 8)] == ["unknown-operation"]
    assert editor.shut_down() == 0


@pytest.mark.parametrize("kind", [*KINDS, "hang"])
def test_a_crash_while_somebody_types(editor: Client, tmp_path: Path, kind: str) -> None:
    """A short file is analysed on the thread that reads and writes."""
    good, bad = uri_of(tmp_path, "good.py"), uri_of(tmp_path, "bad.py")
    editor.open(good, KERNEL)
    editor.open(bad, KERNEL)
    editor.change(bad, 2, edit(0, 0, 0, 0, "\n"))
    assert editor.diagnostics(bad, 2) == []
    editor.change(bad, 3, {"text": fault(kind)})
    (left_alone,) = editor.diagnostics(bad, 3)
    assert "tried again when it changes" in left_alone["message"]
    (message,) = told(editor)
    assert "bad.py" in message and re.search(KINDS.get(kind, "did not end"), message)
    editor.change(bad, 4, {"text": KERNEL.replace("tl.load", "tl.lod")})
    assert [d["code"] for d in editor.diagnostics(bad, 4)] == ["unknown-operation"]
    assert hover(editor, good)
    assert editor.shut_down() == 0


def position(text: str, word: str) -> tuple[int, int, int, int]:
    at = place(text, word)
    return at["line"], at["character"], at["line"], at["character"] + len(word)


def test_a_changed_text_is_tried_again(editor: Client, tmp_path: Path) -> None:
    bad = uri_of(tmp_path, "bad.py")
    editor.open(bad, fault("segv"))
    assert len(editor.diagnostics(bad, 1)) == 1
    editor.change(bad, 2, {"text": KERNEL.replace("tl.load", "tl.lod")})
    assert [d["code"] for d in editor.diagnostics(bad, 2)] == ["unknown-operation"]
    assert editor.shut_down() == 0


def test_a_file_that_crashes_again_and_again(editor: Client, tmp_path: Path) -> None:
    """It is shown once, tried three times, and again when it is opened anew."""
    bad = uri_of(tmp_path, "bad.py")
    editor.open(bad, fault("abort"))
    for version in (2, 3, 4, 5):
        editor.change(bad, version, {"text": fault("abort") + "\n" * version})
        (left_alone,) = editor.diagnostics(bad, version)
    assert "close and open" in left_alone["message"]
    editor.change(bad, 6, {"text": KERNEL})
    assert "close and open" in editor.diagnostics(bad, 6)[0]["message"]
    assert len(told(editor)) == 1
    editor.notify("textDocument/didClose", {"textDocument": {"uri": bad}})
    editor.open(bad, KERNEL, 1)
    editor.next_notification(
        "textDocument/publishDiagnostics", lambda p: p.get("version") == 1 and not p["diagnostics"]
    )
    assert editor.shut_down() == 0


def test_an_analysis_without_end(editor: Client, tmp_path: Path) -> None:
    good, bad = uri_of(tmp_path, "good.py"), uri_of(tmp_path, "bad.py")
    editor.open(good, KERNEL)
    editor.open(bad, fault("hang"))
    (left_alone,) = editor.diagnostics(bad, 1)
    assert "not analysed" in left_alone["message"]
    assert "did not end" in told(editor)[0]
    assert hover(editor, good)
    assert editor.shut_down() == 0


def test_a_derivation_without_end(editor: Client, tmp_path: Path) -> None:
    bad = uri_of(tmp_path, "bad.py")
    editor.open(bad, fault("hang", "slow"))
    assert editor.diagnostics(bad, 1) == []
    argument = {"uri": bad, "kernel": "scale_kernel"}
    preview = {"command": "tad.backwardPreview", "arguments": [{**argument, "where": "below"}]}
    number = editor.start("workspace/executeCommand", preview)
    assert editor.wait(number)["error"]["code"] == INTERNAL_ERROR
    assert "did not end" in told(editor)[0]
    assert (
        "tried again when it changes"
        in editor.wait(editor.start("workspace/executeCommand", preview))["error"]["message"]
    )
    assert hover(editor, bad)
    assert editor.shut_down() == 0


def test_a_derivation_without_end_does_not_outlive_its_client(tmp_path: Path) -> None:
    """Nobody waits until it is found to be stuck, which takes minutes of the processor's time."""
    client = Client(program=BIN_DEV / "tad-lsp", env={"TAD_FAULTS": "1"})
    client.initialize()
    bad = uri_of(tmp_path, "bad.py")
    client.open(bad, fault("hang", "slow"))
    assert client.diagnostics(bad, 1) == []
    argument = {"uri": bad, "kernel": "scale_kernel"}
    schedule = {"command": "tad.schedule", "arguments": [argument]}
    number = client.start("workspace/executeCommand", schedule)
    client.process.stdin.close()
    assert client.wait(number)["error"]["code"] == REQUEST_CANCELLED
    assert client.process.wait(LIMIT) == 1
    client.stderr_reader.join(LIMIT)
    assert client.stderr == b""


def test_what_is_asked_is_answered(editor: Client, tmp_path: Path) -> None:
    """Each request once, progress to its end, and nothing is registered twice."""
    good, bad = uri_of(tmp_path, "good.py"), uri_of(tmp_path, "bad.py")
    editor.open(good, KERNEL)
    editor.diagnostics(good, 1)
    editor.open(bad, fault("segv", "slow"))
    assert editor.diagnostics(bad, 1) == []
    argument = {"uri": bad, "kernel": "scale_kernel"}
    number = editor.start(
        "workspace/executeCommand",
        {"command": "tad.checkGradients", "arguments": [argument], "workDoneToken": "mine"},
    )
    assert editor.wait(number)["error"]["code"] == INTERNAL_ERROR
    ends = editor.next_notification(
        "$/progress", lambda p: p["token"] == "mine" and p["value"]["kind"] == "end"
    )
    assert ends
    # What only deriving cannot bear is analysed as before.
    assert hover(editor, bad) == hover(editor, good)
    registered = [r for r in editor.requests if r["method"] == "client/registerCapability"]
    assert len(registered) == 1
    assert len({request["id"] for request in editor.requests}) == len(editor.requests)
    assert editor.shut_down() == 0


def server_below(editor: Client | subprocess.Popen, but: int = 0) -> int:
    """The process that is the server; another one than that."""
    pid = editor.process.pid if isinstance(editor, Client) else editor.pid
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if int(child) != but:
                return int(child)
    raise AssertionError("no server was started")


def test_a_server_that_is_killed(tmp_path: Path, server: Client) -> None:
    """Of the release: no text is to blame, and the session goes on, from the middle of a message."""
    uri = uri_of(tmp_path, "good.py")
    server.initialize(workspaceFolders=[{"uri": tmp_path.as_uri(), "name": "here"}])
    server.open(uri, KERNEL)
    server.diagnostics(uri, 1)
    first = server_below(server)
    body = b'{"jsonrpc":"2.0","id":"late","method":"tad/unknown"}'
    server.hold_answers()
    server.write(b"Content-Length: %d\r\n\r\n" % len(body) + body[:10])
    os.kill(first, signal.SIGKILL)
    shown = server.next_notification("window/showMessage")["message"]
    assert "killed" in shown and "was started again" in shown
    assert server_below(server, but=first)
    server.write(body[10:])
    server.release_answers()
    assert server.wait("late")["error"]["code"] == METHOD_NOT_FOUND
    assert hover(server, uri)
    assert server.shut_down() == 0


class Silent:
    """A client that reads only when it is told to."""

    def __init__(self, folder: Path, text: str = KERNEL) -> None:
        self.document = {
            "uri": uri_of(folder, "a.py"),
            "languageId": "python",
            "version": 1,
            "text": text,
        }
        self.process = subprocess.Popen(
            [str(BIN / "tad-lsp")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.write("initialize", {"processId": None, "capabilities": {}}, id=0)
        self.write("textDocument/didOpen", {"textDocument": self.document})

    def write(self, method: str, params: dict | None = None, **more: int) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}, **more}
        self.write_bytes(frame(json.dumps(message).encode()))

    def write_bytes(self, data: bytes) -> None:
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def answers(self) -> Iterator[dict]:
        while header := self.process.stdout.readline():
            assert self.process.stdout.readline() == b"\r\n"
            message = json.loads(self.process.stdout.read(int(header.split(b":")[1])))
            if "id" in message and "method" not in message:
                yield message

    def wait_until_full(self) -> None:
        """The pipe takes no more, and the server had a moment to go on."""
        unread, before = array.array("i", [0]), -1
        end = time.monotonic() + LIMIT
        while (unread[0] < 32768 or unread[0] != before) and time.monotonic() < end:
            before = unread[0]
            time.sleep(0.3)
            fcntl.ioctl(self.process.stdout, termios.FIONREAD, unread)

    def kill_server(self, but: int = 0) -> int:
        """The one that was killed; there is another one now."""
        server = server_below(self.process, but=but)
        os.kill(server, signal.SIGKILL)
        server_below(self.process, but=server)
        return server

    def end(self, number: int) -> None:
        self.write("shutdown", id=number)
        self.write("exit")
        assert [answer["id"] for answer in self.answers()] == [number]
        assert self.process.wait(LIMIT) == 0


def test_a_crash_behind_a_client_that_does_not_read(tmp_path: Path) -> None:
    """What was said is said to its end, and what was asked has one answer."""
    client = Silent(tmp_path)
    at = {"textDocument": client.document, "position": place(KERNEL, "tl.load", inside=3)}
    for number in range(1, 101):
        client.write("textDocument/completion", at, id=number)
    client.wait_until_full()
    client.kill_server()
    for number in range(101, 111):
        client.write("textDocument/completion", at, id=number)
    got = list(itertools.islice(client.answers(), 111))
    assert sorted(answer["id"] for answer in got) == list(range(111))
    lost = [answer for answer in got if "error" in answer]
    assert len(lost) < 100 and all(answer["error"]["code"] == CONTENT_MODIFIED for answer in lost)
    assert all(answer["result"]["items"] for answer in got if answer not in lost and answer["id"])
    client.end(111)


@pytest.mark.parametrize("kills", [1, 2])
def test_a_crash_within_an_answer_larger_than_the_journal(tmp_path: Path, kills: int) -> None:
    text = "".join(KERNEL.replace("scale", f"scale{i}") for i in range(500))
    client = Silent(tmp_path, text)
    client.write("textDocument/foldingRange", {"textDocument": client.document}, id=1)
    client.write("textDocument/documentSymbol", {"textDocument": client.document}, id=2)
    client.write("textDocument/foldingRange", {"textDocument": client.document}, id=3)
    killed = 0
    for _ in range(kills):
        client.wait_until_full()
        killed = client.kill_server(but=killed)
    got = {answer["id"]: answer for answer in itertools.islice(client.answers(), 4)}
    assert sorted(got) == [0, 1, 2, 3]
    assert len(json.dumps(got[2]["result"])) > 1 << 20
    assert len(got[2]["result"]) >= 1500 and got[1]["result"]
    assert got[3].get("result") or got[3]["error"]["code"] == CONTENT_MODIFIED
    client.end(4)


def test_a_crash_within_a_text_larger_than_the_journal(tmp_path: Path) -> None:
    client = Silent(tmp_path)
    text = KERNEL + "# a comment\n" * 100_000
    document = {**client.document, "version": 2}
    params = {"textDocument": document, "contentChanges": [{"text": text}]}
    body = json.dumps({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params})
    said = frame(body.encode())
    client.write_bytes(said[: len(said) // 2])
    killed = client.kill_server()
    client.write_bytes(said[len(said) // 2 : -10])
    client.kill_server(but=killed)
    client.write_bytes(said[-10:])
    symbols = {"textDocument": document, "position": {"line": 100_000, "character": 3}}
    client.write(
        "textDocument/selectionRange", {**symbols, "positions": [symbols["position"]]}, id=1
    )
    got = {answer["id"]: answer for answer in itertools.islice(client.answers(), 2)}
    assert got[1]["result"][0]["range"]["end"]["line"] >= 100_000
    client.end(2)


def test_a_server_that_cannot_stay(tmp_path: Path, server: Client) -> None:
    """After a few crashes in a short time that nothing explains it is left to the editor what to do."""
    server.initialize()
    before = 0
    for _ in range(5):
        before = server_below(server, but=before)
        os.kill(before, signal.SIGSEGV)
    assert server.process.wait(LIMIT) == 2
    server.stderr_reader.join(LIMIT)
    assert b"again and again" in server.stderr


def test_crashes_of_long_ago_are_forgiven(tmp_path: Path) -> None:
    """Each of them is long ago when the next one comes."""
    client = Client(program=BIN_DEV / "tad-lsp", env={"TAD_FAULTS": "1", "TAD_UNEXPLAINED_S": "0"})
    client.initialize()
    before = 0
    for _ in range(7):
        before = server_below(client, but=before)
        os.kill(before, signal.SIGKILL)
        assert "started again" in client.next_notification("window/showMessage")["message"]
    uri = uri_of(tmp_path, "good.py")
    client.open(uri, KERNEL)
    assert hover(client, uri)
    assert client.shut_down() == 0
