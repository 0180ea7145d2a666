"""An editor of our own: one thread reads, every message is checked against the model of the protocol (lsprotocol)."""

from __future__ import annotations

import itertools
import json
import os
import queue
import re
import subprocess
import threading
from pathlib import Path
from typing import Any

from lsprotocol import types
from lsprotocol.converters import get_converter

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("TAD_BIN", ROOT / "build")).resolve()
BIN_DEV = Path(os.environ.get("TAD_BIN_DEV", ROOT / "build-dev")).resolve()
LIMIT = 60.0

CONVERTER = get_converter()

CAPABILITIES: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "window": {"workDoneProgress": True},
    "workspace": {
        "configuration": True,
        "codeLens": {"refreshSupport": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "workspaceEdit": {
            "documentChanges": True,
            "resourceOperations": ["create"],
            "changeAnnotationSupport": {"groupsOnLabel": True},
        },
    },
    "textDocument": {
        "definition": {"linkSupport": True},
        "codeAction": {"disabledSupport": True, "resolveSupport": {"properties": ["edit"]}},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "completion": {"completionItem": {"snippetSupport": True}},
        "publishDiagnostics": {
            "relatedInformation": True,
            "codeDescriptionSupport": True,
            "dataSupport": True,
            "versionSupport": True,
        },
    },
}


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


class Ended(Exception):
    """The server closed its end."""


class Client:
    """A running server. Messages that are not asked for are kept in `notifications`."""

    def __init__(
        self, *arguments: str, program: Path | None = None, env: dict[str, str] | None = None
    ) -> None:
        self.process = subprocess.Popen(
            [str(program or BIN / "tad-lsp"), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(env or {})},
        )
        self.ids = itertools.count(1)
        self.methods: dict[Any, str] = {}
        self.incoming: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.answers: dict[Any, dict[str, Any]] = {}
        self.notifications: list[dict[str, Any]] = []
        self.requests: list[dict[str, Any]] = []
        self.held: list[dict[str, Any]] | None = None  # answers that wait
        self.configuration: dict[str, Any] = {}
        self.configurations: dict[str, dict[str, Any]] = {}  # of folders, by URI
        self.stderr = b""
        threading.Thread(target=self._read_all, daemon=True).start()
        self.stderr_reader = threading.Thread(target=self._read_stderr, daemon=True)
        self.stderr_reader.start()

    # --- The wire

    def _read_stderr(self) -> None:
        self.stderr = self.process.stderr.read()

    def _read_message(self) -> dict[str, Any] | None:
        size = None
        while line := self.process.stdout.readline():
            if line == b"\r\n":
                return json.loads(self.process.stdout.read(size))
            name, _, value = line.partition(b":")
            assert name == b"Content-Length", line
            size = int(value)
        return None

    def _read_all(self) -> None:
        while message := self._read_message():
            self.incoming.put(message)
        self.incoming.put(None)

    def write(self, data: bytes) -> None:
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: dict[str, Any]) -> None:
        self.write(frame(json.dumps({"jsonrpc": "2.0", **message}).encode()))

    # --- The model

    def _validate(self, message: dict[str, Any]) -> None:
        assert message["jsonrpc"] == "2.0"
        method = message.get("method")
        if method is None:
            assert ("result" in message) != ("error" in message), message
            if "error" in message:
                CONVERTER.structure(message, types.ResponseErrorMessage)
            elif (name := self.methods.get(message["id"])) in types.METHOD_TO_TYPES:
                CONVERTER.structure(message, types.METHOD_TO_TYPES[name][1])
        elif not method.startswith("tad/"):
            CONVERTER.structure(message, types.METHOD_TO_TYPES[method][0])

    def _take(self, limit: float = LIMIT) -> dict[str, Any]:
        message = self.incoming.get(timeout=limit)
        if message is None:
            raise Ended
        self._validate(message)
        if "method" in message and "id" in message:
            self.requests.append(message)
            self._answer(message)
        elif "method" in message:
            self.notifications.append(message)
        else:
            assert message["id"] not in self.answers or message["id"] is None, "answered twice"
            self.answers[message["id"]] = message
        return message

    def _answer(self, request: dict[str, Any]) -> None:
        result: Any = None
        if request["method"] == "workspace/configuration":
            result = [
                self.configurations.get(item.get("scopeUri"), self.configuration)
                for item in request["params"]["items"]
            ]
        elif request["method"] == "workspace/applyEdit":
            result = {"applied": True}
        answer = {"id": request["id"], "result": result}
        if self.held is None:
            self.send(answer)
        else:
            self.held.append(answer)

    def hold_answers(self) -> None:
        """Until release_answers: a message is written in parts, and nothing may come between."""
        self.held = []

    def release_answers(self) -> None:
        """Sends what was held back."""
        held, self.held = self.held or [], None
        for answer in held:
            self.send(answer)

    # --- What tests say

    def start(self, method: str, params: Any = None) -> int:
        number = next(self.ids)
        self.methods[number] = method
        self.send(
            {"id": number, "method": method, **({} if params is None else {"params": params})}
        )
        return number

    def wait(self, number: Any, limit: float = LIMIT) -> dict[str, Any]:
        while number not in self.answers:
            self._take(limit)
        return self.answers[number]

    def request(self, method: str, params: Any = None) -> Any:
        answer = self.wait(self.start(method, params))
        assert "error" not in answer, answer
        return answer["result"]

    def failure(self, method: str, params: Any = None) -> int:
        """The code of the error that the request is answered with."""
        return self.wait(self.start(method, params))["error"]["code"]

    def notify(self, method: str, params: Any = None) -> None:
        self.send({"method": method, **({} if params is None else {"params": params})})

    def next_notification(
        self, method: str, wanted=lambda params: True, limit: float = LIMIT
    ) -> Any:
        """The params of the first one that is wanted, taken out of those that came."""
        while True:
            for i, message in enumerate(self.notifications):
                if message["method"] == method and wanted(message["params"]):
                    del self.notifications[i]
                    return message["params"]
            self._take(limit)

    def settle(self) -> None:
        """Everything that was sent before has been dealt with on the fast queue."""
        self.wait(self.start("tad/unknown"))

    def initialize(self, capabilities: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """As an editor in a trusted workspace, unless `initializationOptions` say otherwise."""
        options = {"trusted": True, **more.pop("initializationOptions", {})}
        result = self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": None,
                "capabilities": CAPABILITIES if capabilities is None else capabilities,
                "initializationOptions": options,
                **more,
            },
        )
        self.notify("initialized", {})
        return result

    def open(self, uri: str, text: str, version: int = 1) -> None:
        document = {"uri": uri, "languageId": "python", "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def change(self, uri: str, version: int, *changes: dict[str, Any]) -> None:
        document = {"uri": uri, "version": version}
        self.notify(
            "textDocument/didChange", {"textDocument": document, "contentChanges": list(changes)}
        )

    def diagnostics(self, uri: str, version: int) -> list[dict[str, Any]]:
        def is_it(params: dict[str, Any]) -> bool:
            return params["uri"] == uri and params.get("version") == version

        return self.next_notification("textDocument/publishDiagnostics", is_it)["diagnostics"]

    def shut_down(self) -> int:
        """The exit status; nothing may be left unread."""
        assert self.request("shutdown") is None
        self.notify("exit")
        status = self.process.wait(LIMIT)
        self.stderr_reader.join(LIMIT)
        return status

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(LIMIT)


def edit(line: int, start: int, end_line: int, end: int, text: str) -> dict[str, Any]:
    return {
        "range": {
            "start": {"line": line, "character": start},
            "end": {"line": end_line, "character": end},
        },
        "text": text,
    }


def place(text: str, word: str, occurrence: int = 1, inside: int = 0) -> dict[str, int]:
    """The position of a word, in UTF-16."""
    found = [match.start() for match in re.finditer(re.escape(word), text)][occurrence - 1] + inside
    before = text[:found]
    line = before.count("\n")
    return {
        "line": line,
        "character": len(before[before.rfind("\n") + 1 :].encode("utf-16-le")) // 2,
    }
