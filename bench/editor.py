"""An editor's view of a language server: start, type, hover, complete; how long each answer took."""

from __future__ import annotations

import json
import queue
import statistics
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

TYPED = "\n    scaled = tl.load(X + row) * 2.0 + 1.0"


class Server:
    """One server over its standard streams. Diagnostics are queued with the time they came."""

    def __init__(self, command: list[str], root: Path) -> None:
        self.root = root
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=root,
        )
        self.diagnostics: queue.Queue[tuple[float, int | None]] = queue.Queue()
        self.answers: queue.Queue[tuple[float, dict[str, Any]]] = queue.Queue()
        self.number = 0
        self.shown = 0  # the newest version that diagnostics came for
        self.stale = 0  # diagnostics that came after those of a newer version
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        stream = self.process.stdout
        while True:
            size = 0
            while line := stream.readline().strip():
                if line.lower().startswith(b"content-length:"):
                    size = int(line.split(b":")[1])
            if not size:
                return
            body = stream.read(size)
            now = time.perf_counter()
            message = json.loads(body)
            if message.get("method") == "textDocument/publishDiagnostics":
                version = message["params"].get("version")
                self.stale += version is not None and version < self.shown
                self.shown = max(self.shown, version or 0)
                self.diagnostics.put((now, version))
            elif "method" in message and "id" in message:
                self.answer(message)
            elif "id" in message:
                self.answers.put((now, message))

    def answer(self, request: dict[str, Any]) -> None:
        items = request.get("params", {}).get("items", []) if request.get("params") else []
        is_configuration = request["method"] == "workspace/configuration"
        result = [None] * len(items) if is_configuration else None
        self.write({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def write(self, message: dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self.write({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method: str, params: Any, limit: float = 60) -> tuple[float, Any]:
        """Milliseconds until the answer, and the answer."""
        self.number += 1
        start = time.perf_counter()
        self.write({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            at, message = self.answers.get(timeout=limit)
            if message["id"] == self.number:
                return (at - start) * 1e3, message.get("result")

    def diagnosed(self, version: int, limit: float) -> float | None:
        """When the diagnostics of this version came; None: not within the limit."""
        end = time.perf_counter() + limit
        while (left := end - time.perf_counter()) > 0:
            try:
                at, said = self.diagnostics.get(timeout=left)
            except queue.Empty:
                return None
            if said is None or said >= version:
                return at
        return None

    def resident_mb(self) -> float:
        """With child processes."""
        total = 0
        pending = [self.process.pid]
        while pending:
            pid = pending.pop()
            status = Path(f"/proc/{pid}/status").read_text()
            total += int(status.split("VmRSS:")[1].split()[0])
            pending += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        return total / 1024

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def start(command: list[str], root: Path, path: Path) -> tuple[Server, dict[str, float | None]]:
    server = Server(command, root)
    capabilities = {
        "textDocument": {
            "publishDiagnostics": {"versionSupport": True},
            "hover": {"contentFormat": ["markdown"]},
            # As the common editors say.
            "completion": {
                "completionItem": {
                    "snippetSupport": True,
                    "resolveSupport": {"properties": ["documentation", "detail"]},
                },
                "completionList": {"itemDefaults": ["editRange"]},
            },
        },
        "workspace": {"configuration": True},
        "window": {"workDoneProgress": True},
    }
    folders = [{"uri": root.as_uri(), "name": root.name}]
    server.request(
        "initialize",
        {
            "processId": None,
            "rootUri": root.as_uri(),
            "capabilities": capabilities,
            "workspaceFolders": folders,
        },
    )
    server.notify("initialized", {})
    document = {
        "uri": path.as_uri(),
        "languageId": "python",
        "version": 1,
        "text": path.read_text(),
    }
    server.notify("textDocument/didOpen", {"textDocument": document})
    at = server.diagnosed(1, 60)
    first = (at - server.started) * 1e3 if at else None
    return server, {"first_ms": first}


def percentile(values: list[float], share: float) -> float | None:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else None


def type_keys(server: Server, path: Path, line: int, column: int, seconds: float) -> dict[str, Any]:
    """Ten edits a second, typing a statement and deleting it, each answered before the next or given up."""
    latencies: list[float] = []
    unanswered = 0
    version = 1
    line_now, column_now = line, column
    steps = [(key, True) for key in TYPED] + [(key, False) for key in reversed(TYPED)]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for key, inserts in steps:
            if time.perf_counter() >= end and inserts:
                break
            version += 1
            begin = time.perf_counter()
            here = {"line": line_now, "character": column_now}
            if inserts:
                change = {"range": {"start": here, "end": here}, "text": key}
                line_now, column_now = (
                    (line_now + 1, 0) if key == "\n" else (line_now, column_now + 1)
                )
            else:
                line_now, column_now = (
                    (line_now - 1, column) if key == "\n" else (line_now, column_now - 1)
                )
                before = {"line": line_now, "character": column_now}
                change = {"range": {"start": before, "end": here}, "text": ""}
            server.notify(
                "textDocument/didChange",
                {
                    "textDocument": {"uri": path.as_uri(), "version": version},
                    "contentChanges": [change],
                },
            )
            at = server.diagnosed(version, 3)
            if at:
                latencies.append((at - begin) * 1e3)
            else:
                unanswered += 1
            time.sleep(max(0.0, begin + 0.1 - time.perf_counter()))
    return {
        "edits": version - 1,
        "unanswered": unanswered,
        "stale": server.stale,
        "p50_ms": statistics.median(latencies) if latencies else None,
        "p99_ms": percentile(latencies, 0.99),
    }


def measure(command: list[str], root: Path, path: Path, seconds: float) -> dict[str, Any]:
    lines = path.read_text().split("\n")
    line = next(i for i, text in enumerate(lines) if text.strip().startswith("mean = ") and i > 900)
    column = lines[line].index("tl.sum") + 4
    server, result = start(command, root, path)
    try:
        where = {
            "textDocument": {"uri": path.as_uri()},
            "position": {"line": line, "character": column},
        }
        result["hover_ms"] = statistics.median(
            server.request("textDocument/hover", where)[0] for _ in range(5)
        )
        where["position"]["character"] = column - 1
        result["completion_ms"] = statistics.median(
            server.request("textDocument/completion", where)[0] for _ in range(5)
        )
        result["idle_mb"] = server.resident_mb()
        result |= type_keys(server, path, line, len(lines[line]), seconds)
        result["end_mb"] = server.resident_mb()
    finally:
        server.stop()
    return result
