"""initialize, shutdown, exit; states in which a request is refused; ways to connect; clients that go away."""

from __future__ import annotations

import asyncio
import json
import os
import re
import select
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from tests.protocol.client import BIN, Client, Ended, edit, frame, place
from tests.protocol.conftest import KERNEL

NOT_INITIALIZED, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR = -32002, -32600, -32601, -32700
REQUEST_CANCELLED = -32800


def test_a_session(server: Client) -> None:
    result = server.initialize()
    assert result["serverInfo"]["name"] == "tad-lsp"
    assert result["capabilities"]["positionEncoding"] == "utf-16"
    assert server.shut_down() == 0


def test_requests_before_initialize(server: Client) -> None:
    assert server.failure("textDocument/hover", {}) == NOT_INITIALIZED
    assert server.failure("no/such") == NOT_INITIALIZED
    assert server.failure("shutdown") == NOT_INITIALIZED
    server.notify("textDocument/didOpen", {})
    server.initialize()
    assert server.failure("initialize", {"capabilities": {}, "processId": None}) == INVALID_REQUEST
    assert server.shut_down() == 0


def test_requests_after_shutdown(server: Client) -> None:
    server.initialize()
    assert server.request("shutdown") is None
    assert server.failure("textDocument/hover", {}) == INVALID_REQUEST
    assert server.failure("shutdown") == INVALID_REQUEST
    server.notify("exit")
    assert server.process.wait(20) == 0


def test_exit_without_shutdown(server: Client) -> None:
    server.initialize()
    server.notify("exit")
    assert server.process.wait(20) == 1


def test_exit_before_initialize(server: Client) -> None:
    server.notify("exit")
    assert server.process.wait(20) == 1


def test_the_client_closes_its_end(server: Client) -> None:
    server.initialize()
    server.process.stdin.close()
    assert server.process.wait(20) == 1


def test_the_clients_process_dies() -> None:
    parent = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    client = Client()
    client.request("initialize", {"processId": parent.pid, "rootUri": None, "capabilities": {}})
    parent.communicate(b"\n", timeout=20)
    assert client.process.wait(20) == 1
    with pytest.raises(Ended):
        client.wait("nothing")


def test_client_process_by_option() -> None:
    parent = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    client = Client("--stdio", f"--clientProcessId={parent.pid}")
    parent.communicate(b"\n", timeout=20)
    assert client.process.wait(20) == 1


def test_unknown_methods(editor: Client) -> None:
    assert editor.failure("no/such") == METHOD_NOT_FOUND
    assert editor.failure("$/noSuch") == METHOD_NOT_FOUND
    editor.notify("no/such")
    editor.notify("$/noSuch", {})
    editor.settle()


def test_a_request_without_an_id_and_a_notification_with_one(editor: Client) -> None:
    editor.notify("textDocument/hover", {})
    assert editor.failure("textDocument/didOpen", {}) == INVALID_REQUEST


def test_encodings(server: Client) -> None:
    capabilities = {"general": {"positionEncodings": ["utf-16", "utf-8", "utf-32"]}}
    assert server.initialize(capabilities)["capabilities"]["positionEncoding"] == "utf-8"


def test_capabilities_without_any(server: Client) -> None:
    result = server.initialize({})
    assert result["capabilities"]["positionEncoding"] == "utf-16"
    assert "diagnosticProvider" not in result["capabilities"]
    assert server.shut_down() == 0
    assert server.requests == []


def test_what_the_server_asks_for(editor: Client) -> None:
    while len(editor.requests) < 2:
        editor._take()
    asked = {request["method"] for request in editor.requests}
    assert asked == {"client/registerCapability", "workspace/configuration"}


def session_over(connection: socket.socket) -> list[bytes]:
    file = connection.makefile("rwb")
    answers = []
    for i, method in enumerate(("initialize", "shutdown")):
        body = f'{{"jsonrpc":"2.0","id":{i},"method":"{method}","params":{{"capabilities":{{}}}}}}'
        file.write(frame(body.encode()))
        file.flush()
        size = int(file.readline().split(b":")[1])
        assert file.readline() == b"\r\n"
        answers.append(file.read(size))
    file.write(frame(b'{"jsonrpc":"2.0","method":"exit"}'))
    file.flush()
    return answers


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_connections(kind: str, tmp_path: Path) -> None:
    family = socket.AF_UNIX if kind == "pipe" else socket.AF_INET
    with socket.socket(family) as listener:
        listener.bind(str(tmp_path / "pipe") if kind == "pipe" else ("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(20)
        name = tmp_path / "pipe" if kind == "pipe" else listener.getsockname()[1]
        process = subprocess.Popen([str(BIN / "tad-lsp"), f"--{kind}={name}"])
        connection, _ = listener.accept()
        connection.settimeout(20)
        with connection:
            answers = session_over(connection)
        assert b'"serverInfo"' in answers[0] and b'"result":null' in answers[1]
        assert process.wait(20) == 0


def test_nobody_listens(tmp_path: Path) -> None:
    run = subprocess.run(
        [str(BIN / "tad-lsp"), f"--pipe={tmp_path / 'none'}"], capture_output=True, timeout=20
    )
    assert run.returncode == 1
    assert b"the client is gone" in run.stderr


def test_a_session_from_a_file(tmp_path: Path) -> None:
    messages = [
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}',
        b'{"jsonrpc":"2.0","id":2,"method":"shutdown"}',
        b'{"jsonrpc":"2.0","method":"exit"}',
    ]
    file = tmp_path / "session"
    file.write_bytes(b"".join(map(frame, messages)))
    with file.open("rb") as source:
        run = subprocess.run([str(BIN / "tad-lsp")], stdin=source, capture_output=True, timeout=20)
    assert run.returncode == 0
    assert run.stdout.count(b"Content-Length") == 2


@pytest.mark.parametrize("closed", [(0,), (1,), (0, 1, 2)])
def test_without_a_standard_descriptor(tmp_path: Path, closed: tuple[int, ...]) -> None:
    """What is closed is at its end, and nothing else is opened in its place."""
    exit_only = tmp_path / "session"
    exit_only.write_bytes(frame(b'{"jsonrpc":"2.0","method":"exit"}'))

    def close() -> None:
        for descriptor in closed:
            os.close(descriptor)

    with exit_only.open("rb") as source, (tmp_path / "errors").open("wb") as errors:
        run = subprocess.run(
            [str(BIN / "tad-lsp")], stdin=source, stderr=errors, preexec_fn=close, timeout=20
        )
    assert run.returncode == 1
    assert (tmp_path / "errors").read_bytes() == b""


def test_a_terminal_is_left_as_it_was() -> None:
    ours, theirs = os.openpty()
    process = subprocess.Popen([str(BIN / "tad-lsp")], stdin=theirs, stdout=theirs, stderr=theirs)
    os.write(ours, frame(b'{"jsonrpc":"2.0","id":1,"method":"shutdown"}') + b"\n")
    seen = b""
    while b'"error"' not in seen:
        seen += os.read(ours, 4096)
    assert os.get_blocking(theirs)
    process.kill()
    process.wait(20)
    os.close(ours)
    os.close(theirs)


def test_no_worker_inherits_a_descriptor(tmp_path: Path) -> None:
    close_on_exec = 0o2000000
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "pipe"))
        listener.listen()
        arguments = [f"--pipe={tmp_path / 'pipe'}", "--record", str(tmp_path / "session")]
        process = subprocess.Popen([str(BIN / "tad-lsp"), *arguments], stdin=subprocess.DEVNULL)
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as file:
            connection.sendall(frame(b'{"jsonrpc":"2.0","id":1,"method":"shutdown"}'))
            assert file.readline().startswith(b"Content-Length")
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            places = list(Path(f"/proc/{children[0]}/fdinfo").iterdir())
            flags = {
                int(place.name): int(re.search(r"flags:\s*(\d+)", place.read_text())[1], 8)
                for place in places
            }
        assert process.wait(20) == 1
    assert [place for place in flags if place > 2 and not flags[place] & close_on_exec] == []


def test_a_client_that_says_all_and_then_reads() -> None:
    """More than a pipe holds is written after its end of input, as long as it reads."""
    process = subprocess.Popen(
        [str(BIN / "tad-lsp")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    count = 2000
    unknown = [b'{"jsonrpc":"2.0","id":%d,"method":"no/such"}' % number for number in range(count)]
    for body in [*unknown, b'{"jsonrpc":"2.0","method":"exit"}']:
        process.stdin.write(frame(body))
    process.stdin.close()
    process.stdin = None
    time.sleep(0.5)  # for the server to see the end
    rest = process.communicate(timeout=20)[0]
    assert process.returncode == 1
    assert rest.endswith(b"}") and b'"id":%d,' % (count - 1) in rest


def test_many_requests_at_once_are_answered_in_order(editor: Client, kernel: str) -> None:
    """Edits in between, and one that is cancelled: by the thread that reads, and by the queue when it gets long."""
    editor.open(kernel, KERNEL)
    assert editor.diagnostics(kernel, 1) == []
    at = {"textDocument": {"uri": kernel}, "position": place(KERNEL, "tl.load", inside=3)}
    said, first, count = b"", 10000, 500

    def add(method: str, params: dict, **more: int) -> None:
        nonlocal said
        message = {"jsonrpc": "2.0", "method": method, "params": params, **more}
        said += frame(json.dumps(message).encode())

    for number in range(first, first + count):
        add("textDocument/completion", at, id=number)
        version = number - first + 2
        text = KERNEL + f"# {version}\n"
        document = {"uri": kernel, "version": version}
        add(
            "textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]}
        )
    add("textDocument/hover", at, id=first + count)
    add("$/cancelRequest", {"id": first + count})
    editor.write(said)
    while first + count not in editor.answers or first + count - 1 not in editor.answers:
        editor._take()
    order = [number for number in editor.answers if isinstance(number, int) and number >= first]
    order.remove(first + count)
    assert order == list(range(first, first + count))
    assert all(editor.answers[number]["result"]["items"] for number in order)
    assert editor.answers[first + count]["error"]["code"] == REQUEST_CANCELLED
    assert editor.diagnostics(kernel, count + 1) == []
    assert editor.shut_down() == 0


def test_a_request_for_the_lane_is_answered_behind_those_before_it(editor: Client) -> None:
    """It goes to another thread at once; those before it wait for all to be read, and are long together."""
    uri, text = "untitled:a", "".join(KERNEL.replace("scale", f"scale{i}") for i in range(50))
    editor.open(uri, text)
    count, rounds = 24, 8
    tokens = ("textDocument/semanticTokens/full", {"textDocument": {"uri": uri}})
    asked = [*[tokens] * count, ("completionItem/resolve", {"label": "x"})]
    for first in range(1000, 1000 * (rounds + 1), 1000):
        editor.change(uri, first, edit(0, 0, 0, 0, "\n"))
        assert editor.diagnostics(uri, first) == []
        said = b""
        for id, (method, params) in enumerate(asked, first):
            message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
            said += frame(json.dumps(message).encode())
        assert len(said) < select.PIPE_BUF, "read as a whole"
        editor.write(said)
        while len([id for id in editor.answers if id >= first]) < len(asked):
            editor._take()
    order = [id for id in editor.answers if id >= 1000]
    assert order == sorted(order)


def sleeps(process: int) -> dict[str, str]:
    """How often each of the process's threads has fallen asleep."""
    return {
        task.name: re.search(
            r"^voluntary_ctxt_switches:\s*(\d+)", (task / "status").read_text(), re.M
        )[1]
        for task in Path(f"/proc/{process}/task").iterdir()
    }


def test_a_short_key_wakes_one_thread(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    editor.change(kernel, 2, edit(0, 0, 0, 0, "\n"))
    assert editor.diagnostics(kernel, 2) == []
    parent = editor.process.pid
    server = int(Path(f"/proc/{parent}/task/{parent}/children").read_text())
    before = None
    while before != (before := sleeps(server)):
        time.sleep(0.3)  # imports are read ahead
    at = {"textDocument": {"uri": kernel}, "position": place("\n" + KERNEL, "tl.load", inside=3)}
    for version in range(3, 13):
        editor.change(kernel, version, edit(0, 0, 0, 0, "\n"), edit(0, 0, 1, 0, ""))
        assert editor.diagnostics(kernel, version) == []
        assert editor.request("textDocument/completion", at)["items"]
    time.sleep(0.6)  # nothing waits for a pause
    after = sleeps(server)
    assert len(before) > 4, "the main one, the loop's and the queues'"
    assert sum(after[thread] != before[thread] for thread in before) == 1


def test_with_another_client(tmp_path: Path) -> None:
    """The client of pygls, which has a reader and a model of its own."""
    file = tmp_path / "scale.py"
    file.write_text(KERNEL)
    found: list[types.PublishDiagnosticsParams] = []
    came = threading.Event()

    async def talk() -> types.Hover | None:
        client = LanguageClient("tests", "1")

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: types.PublishDiagnosticsParams) -> None:
            found.append(params)
            came.set()

        await client.start_io(str(BIN / "tad-lsp"), "--stdio")
        await client.initialize_async(
            types.InitializeParams(capabilities=types.ClientCapabilities(), process_id=os.getpid())
        )
        client.initialized(types.InitializedParams())
        document = types.TextDocumentItem(
            uri=file.as_uri(),
            language_id="python",
            version=1,
            text=KERNEL.replace("tl.load", "tl.lod"),
        )
        client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=document))
        hover = await client.text_document_hover_async(
            types.HoverParams(
                text_document=types.TextDocumentIdentifier(uri=file.as_uri()),
                position=types.Position(line=10, character=6),
            )
        )
        for _ in range(100):
            if came.is_set():
                break
            await asyncio.sleep(0.05)
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()
        return hover

    hover = asyncio.run(asyncio.wait_for(talk(), 60))
    assert hover is not None
    assert [
        d.code for d in found[0].diagnostics if d.severity == types.DiagnosticSeverity.Error
    ] == ["unknown-operation"]


def replay_rows(record: Path) -> dict[str, int]:
    """How often a replay of the session got an answer to each method."""
    run = subprocess.run(
        [BIN / "tad-lsp", "--replay", record], capture_output=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
    rows = [line.split() for line in run.stdout.decode().splitlines()[1:]]
    return {row[0]: int(row[1]) for row in rows}


@pytest.mark.parametrize("diagnostics", ["push", "pull"])
def test_a_recorded_session_is_replayed(kernel: str, tmp_path: Path, diagnostics: str) -> None:
    record = tmp_path / "session"
    client = Client("--record", str(record))
    client.initialize(initializationOptions={"diagnostics": diagnostics})
    client.open(kernel, KERNEL)
    for word in ("mask = ", "offsets = ", "scale(x)"):
        at = {"textDocument": {"uri": kernel}, "position": place(KERNEL, word)}
        client.request("textDocument/hover", at)
    assert client.shut_down() == 0
    assert record.read_bytes().count(b"textDocument/hover") == 3
    rows = replay_rows(record)
    assert rows["textDocument/hover"] == 3
    assert rows.get("textDocument/didOpen", 0) == (diagnostics == "push")


def test_a_session_whose_editor_is_gone_is_replayed(kernel: str, tmp_path: Path) -> None:
    """It lasts longer than a server takes to see that a process is gone; settings are what the client answered."""
    python, runs = tmp_path / "python", tmp_path / "runs"
    python.write_text(f"#!/bin/sh\nsleep 3\necho run >>{runs}\necho '{{}}'\n")
    python.chmod(0o755)
    record, gone = tmp_path / "session", subprocess.Popen(["sleep", "60"])
    client = Client("--record", str(record))
    client.configuration = {"python": {"command": str(python)}}
    client.initialize(processId=gone.pid)
    client.open(kernel, KERNEL)
    client.settle()
    argument = {"uri": kernel, "kernel": "scale_kernel"}
    params = {"command": "tad.timeKernel", "arguments": [argument]}
    assert "summary" in client.request("workspace/executeCommand", params)
    assert client.shut_down() == 0
    gone.kill()
    gone.wait()
    assert replay_rows(record)["workspace/executeCommand"] == 1
    assert runs.read_text() == "run\n" * 2


def test_edits_that_bring_no_diagnostics_are_replayed(kernel: str, tmp_path: Path) -> None:
    record = tmp_path / "session"
    client = Client("--record", str(record))
    client.initialize()
    client.open(kernel, KERNEL)
    client.change("file:///not/open.py", 2, {"text": ""})
    client.notify("textDocument/didChange", {"textDocument": {"uri": kernel, "version": 2}})
    client.change(kernel, 3, {"text": KERNEL + "\n"})
    client.diagnostics(kernel, 3)
    assert client.shut_down() == 0
    rows = replay_rows(record)
    assert (rows["textDocument/didOpen"], rows["textDocument/didChange"]) == (1, 1)


def test_every_feature_at_every_word(tmp_path: Path) -> None:
    file = tmp_path / "file.py"
    file.write_text(KERNEL)
    run = subprocess.run(
        [BIN / "tad-lsp", "--self-check", file], capture_output=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
    out = run.stdout.decode()
    for feature in ("analysis", "hover", "completion", "rename", "call hierarchy", "inlay hints"):
        assert feature in out
    for feature in ("hover", "completion"):
        row = next(line for line in out.splitlines() if line.startswith(feature))
        line, column = re.search(r" at (\d+):(\d+)$", row).groups()
        assert KERNEL.splitlines()[int(line) - 1][int(column) - 1].strip(), "a word or a sign"
