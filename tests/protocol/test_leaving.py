"""A client that says all and no more: what it asked is answered before the server ends, unless nobody reads it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import FAKE_RUNNER
from tests.protocol.client import BIN, frame, place
from tests.protocol.conftest import KERNEL

CANCELLED = -32800
MISTAKE = KERNEL.replace("tl.load", "tl.lod")
ASKED = {
    "hover": {"position": place(MISTAKE, "mask = ")},
    "completion": {"position": place(MISTAKE, "tl.lod", inside=3)},
    "codeAction": {
        "range": {"start": place(MISTAKE, "tl.lod"), "end": place(MISTAKE, "tl.lod")},
        "context": {"diagnostics": []},
    },
    "diagnostic": {},
    "codeLens": {},
    "documentSymbol": {},
    "references": {"position": place(MISTAKE, "mask = "), "context": {"includeDeclaration": True}},
}


class Transcript:
    """What a client says in one go."""

    def __init__(self, folder: Path, text: str, **initialize: Any) -> None:
        (folder / "file.py").write_text(text)
        self.uri = (folder / "file.py").as_uri()
        self.said = b""
        self.ids: list[int] = []
        folders = [{"uri": folder.as_uri(), "name": "here"}]
        self.ask("initialize", processId=None, workspaceFolders=folders, **initialize)
        self.say("initialized")
        document = {"uri": self.uri, "languageId": "python", "version": 1, "text": text}
        self.say("textDocument/didOpen", textDocument=document)

    def say(self, method: str, *, id: int | None = None, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self.said += frame(json.dumps(message if id is None else {**message, "id": id}).encode())

    def ask(self, method: str, **params: Any) -> int:
        self.ids.append(len(self.ids))
        self.say(method, id=self.ids[-1], **params)
        return self.ids[-1]

    def ask_of_document(self, method: str, **params: Any) -> int:
        return self.ask(f"textDocument/{method}", textDocument={"uri": self.uri}, **params)

    def command(self, name: str, kernel: str = "scale_kernel") -> int:
        arguments = [{"uri": self.uri, "kernel": kernel}]
        return self.ask("workspace/executeCommand", command=f"tad.{name}", arguments=arguments)

    def ask_everything(self) -> None:
        for name, params in ASKED.items():
            self.ask_of_document(name, **params)
        for name in ("generateBackward", "backwardPreview", "schedule", "kernels"):
            self.command(name)
        self.ask("workspace/symbol", query="scale")

    def end(self) -> None:
        self.ask("shutdown")
        self.say("exit")


def messages(heard: bytes) -> Iterator[dict[str, Any]]:
    while heard:
        header, _, heard = heard.partition(b"\r\n\r\n")
        size = int(header.removeprefix(b"Content-Length: "))
        yield json.loads(heard[:size])
        heard = heard[size:]


class Heard:
    def __init__(self, heard: bytes) -> None:
        self.messages = list(messages(heard))
        self.answers = [m for m in self.messages if "id" in m and "method" not in m]
        self.by_id = {answer["id"]: answer for answer in self.answers}

    def diagnostics(self) -> list[dict[str, Any]]:
        return [
            message["params"]
            for message in self.messages
            if message.get("method") == "textDocument/publishDiagnostics"
        ]

    def check(self, transcript: Transcript) -> None:
        """Each request has one answer, and none says that there was no time."""
        assert sorted(answer["id"] for answer in self.answers) == transcript.ids
        late = [a for a in self.answers if a.get("error", {}).get("code") == CANCELLED]
        assert late == []
        (published,) = self.diagnostics()
        assert [d["code"] for d in published["diagnostics"]] == ["unknown-operation"]


def hear(file: socket.socket) -> bytes:
    heard = b""
    while piece := file.recv(1 << 16):
        heard += piece
    return heard


def over_pipes(said: bytes) -> tuple[bytes, int]:
    run = subprocess.run([BIN / "tad-lsp", "--stdio"], input=said, capture_output=True, timeout=60)
    return run.stdout, run.returncode


def say_and_hear(ours: socket.socket, said: bytes) -> bytes:
    ours.settimeout(60)
    ours.sendall(said)
    ours.shutdown(socket.SHUT_WR)
    return hear(ours)


def over_half_closed_stdio(said: bytes) -> tuple[bytes, int]:
    ours, theirs = socket.socketpair()
    with ours:
        process = subprocess.Popen([BIN / "tad-lsp"], stdin=theirs, stdout=theirs)
        theirs.close()
        return say_and_hear(ours, said), process.wait(60)


def over_connection(said: bytes, option: str, listener: socket.socket) -> tuple[bytes, int]:
    listener.listen()
    listener.settimeout(60)
    process = subprocess.Popen([BIN / "tad-lsp", option], stdin=subprocess.DEVNULL)
    ours = listener.accept()[0]
    with ours:
        return say_and_hear(ours, said), process.wait(60)


def over_pipe_option(said: bytes, folder: Path) -> tuple[bytes, int]:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "pipe"))
        return over_connection(said, f"--pipe={folder / 'pipe'}", listener)


def over_socket_option(said: bytes) -> tuple[bytes, int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return over_connection(said, f"--socket={listener.getsockname()[1]}", listener)


@pytest.mark.parametrize("way", ["pipes", "half-closed", "--pipe", "--socket"])
@pytest.mark.parametrize("ends", [False, True])
def test_what_was_asked_is_answered(tmp_path: Path, way: str, ends: bool) -> None:
    transcript = Transcript(tmp_path, MISTAKE, capabilities={})
    transcript.ask_everything()
    if ends:
        transcript.end()
    heard, status = {
        "pipes": lambda said: over_pipes(said),
        "half-closed": lambda said: over_half_closed_stdio(said),
        "--pipe": lambda said: over_pipe_option(said, tmp_path),
        "--socket": lambda said: over_socket_option(said),
    }[way](transcript.said)
    assert status == (0 if ends else 1)
    Heard(heard).check(transcript)


def test_a_file_is_a_whole_session(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path, MISTAKE, capabilities={})
    transcript.ask_everything()
    (tmp_path / "said").write_bytes(transcript.said)
    with (tmp_path / "said").open("rb") as said:
        run = subprocess.run([BIN / "tad-lsp"], stdin=said, capture_output=True, timeout=60)
    assert run.returncode == 1
    Heard(run.stdout).check(transcript)


def test_what_waits_for_a_pause_is_published(tmp_path: Path) -> None:
    """An error in the word that is being typed."""
    transcript = Transcript(tmp_path, KERNEL, capabilities={})
    at = place(KERNEL, "tl.load", inside=6)
    typed = {"range": {"start": at, "end": {**at, "character": at["character"] + 1}}, "text": ""}
    document = {"uri": transcript.uri, "version": 2}
    transcript.say("textDocument/didChange", textDocument=document, contentChanges=[typed])
    heard, status = over_pipes(transcript.said)
    assert status == 1
    last = Heard(heard).diagnostics()[-1]
    assert last["version"] == 2
    assert [d["code"] for d in last["diagnostics"]] == ["unknown-operation"]


def hanging(folder: Path) -> Transcript:
    """A check that does not end in time."""
    runner = folder / "runner"
    runner.write_text(FAKE_RUNNER.format(python=sys.executable))
    runner.chmod(0o755)
    settings = {"runner": {"command": str(runner)}}
    text = KERNEL.replace("scale_kernel", "hangs_kernel")
    transcript = Transcript(
        folder, text, capabilities={}, initializationOptions={"trusted": True, "settings": settings}
    )
    transcript.command("checkGradients", "hangs_kernel")
    return transcript


@pytest.mark.parametrize("ends", [False, True])
def test_what_takes_too_long_is_cancelled(tmp_path: Path, ends: bool) -> None:
    transcript = hanging(tmp_path)
    if ends:
        transcript.end()
    heard, status = over_pipes(transcript.said)
    assert status == (0 if ends else 1)
    answers = Heard(heard)
    assert sorted(answer["id"] for answer in answers.answers) == transcript.ids
    assert answers.by_id[1]["error"]["code"] == CANCELLED


@pytest.mark.parametrize("way", ["pipes", "socket"])
def test_nobody_is_waited_for_who_is_gone(tmp_path: Path, way: str) -> None:
    """The check would be waited for, for five seconds."""
    transcript = hanging(tmp_path)
    if way == "pipes":
        process = subprocess.Popen(
            [BIN / "tad-lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        says, hears = process.stdin, process.stdout
        says.write(transcript.said)
    else:
        hears, theirs = socket.socketpair()
        process = subprocess.Popen([BIN / "tad-lsp"], stdin=theirs, stdout=theirs)
        theirs.close()
        says = hears
        says.sendall(transcript.said)
    read = hears.read if way == "pipes" else hears.recv
    heard = b""
    while b'"running"' not in heard:
        heard += read(1 << 16)
    # Both ends at once, as when a process dies.
    threading.Thread(target=says.close).start()
    hears.close()
    assert process.wait(4) == 1
