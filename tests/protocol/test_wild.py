"""Sessions of a client gone wild: any method, messages that lack parts or have others, edits anywhere, rubbish between.
Each request has one answer, none is an internal error, and the server ends as it should."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from tests.protocol.client import ROOT, Client, frame
from tests.protocol.conftest import KERNEL

METHODS = re.findall(
    r'^METHOD\(\w+,\s+"([^"]+)",\s+(REQUEST|NOTIFICATION)',
    (ROOT / "server/session/methods.def").read_text(),
    re.M,
)
COMMANDS = re.findall(r'"(tad\.\w+)"', (ROOT / "server/session/commands.def").read_text())
# They begin and end sessions, or write files where the client says that it was done.
NOT_WILD = {"initialize", "initialized", "shutdown", "exit"}
ODD = [None, True, -1, 0.5, 1e99, -(2**31), 2**32, 2**53, "", "é\u0000", "𝒙\ud800", [], [[]], {}]
TEXTS = [
    KERNEL,
    "",
    "\ufeff" + KERNEL,
    KERNEL.replace("\n", "\r\n"),
    KERNEL.replace("\n", "\r"),
    '𝒙 = "é"\n' * 20 + KERNEL,
    "(" * 2000,
]
PIECES = [
    "",
    "x",
    "\n",
    "\r\n",
    "\r",
    "(",
    '"""',
    "\\",
    "tl.",
    "𝒙",
    "é",
    "@",
    "    y = tl.load(p)\n",
]
RUBBISH = [
    b"Content-Length: 5\r\n\r\n{oops",
    b"\r\n\r\n",
    b"Content-Length: 0\r\n\r\n",
    frame(b'{"jsonrpc":"2.0","id":null,"method":"textDocument/hover"}'),
    frame(b'{"a":' * 300),
]


class Wild:
    def __init__(self, client: Client, folder: Path, seed: int) -> None:
        self.client, self.dice = client, random.Random(seed)
        self.uris = [(folder / f"file{i}.py").as_uri() for i in range(4)]
        self.versions = dict.fromkeys(self.uris, 0)
        self.numbers: list[int] = []

    def number(self, limit: int) -> Any:
        return self.dice.choice(ODD) if self.dice.random() < 0.1 else self.dice.randrange(limit)

    def position(self) -> dict[str, Any]:
        return {"line": self.number(40), "character": self.number(60)}

    def span(self) -> dict[str, Any]:
        return {"start": self.position(), "end": self.position()}

    def broken(self, value: Any) -> Any:
        """The same with some parts left out, and some of another kind."""
        if self.dice.random() < 0.03:
            return self.dice.choice(ODD)
        if isinstance(value, dict):
            kept = [key for key in value if self.dice.random() > 0.02]
            return {key: self.broken(value[key]) for key in kept}
        return [self.broken(item) for item in value] if isinstance(value, list) else value

    def params(self) -> dict[str, Any]:
        """What any method takes, in one object."""
        uri, choice = self.dice.choice([*self.uris, "untitled:x", "%zz"]), self.dice.choice
        return {
            "textDocument": {"uri": uri, "version": self.number(9)},
            "position": self.position(),
            "positions": [self.position(), self.position()],
            "range": self.span(),
            "context": {"diagnostics": [], "only": choice([None, ["quickfix"], [3]])},
            "newName": choice(["new_name", "x", "def", "", "1a"]),
            "query": choice(["", "k", "scale"]),
            "previousResultId": choice(["1", "x"]),
            "item": {"uri": uri, "name": "scale", "range": self.span(), "data": {}},
            "data": {"uri": uri, "version": self.number(9), "offset": self.number(900)},
            "command": choice(COMMANDS),
            "arguments": [{"uri": uri, "kernel": "scale_kernel", "where": choice(["file", 1])}],
            "value": choice(["off", "messages", 3]),
            "settings": choice([None, {}, {"tad": {"inlayHints": 0}}]),
            "changes": [{"uri": uri, "type": self.number(4)}],
            "event": {"added": [], "removed": [{"uri": uri, "name": "x"}]},
            "token": choice([1, "a", None]),
            "id": choice([None, *self.numbers[-3:]]),
        }

    def open_or_edit(self) -> None:
        uri = self.dice.choice(self.uris)
        self.versions[uri] += 1
        if self.versions[uri] == 1 or self.dice.random() < 0.05:
            self.client.open(uri, self.dice.choice(TEXTS), self.versions[uri])
            return
        changes: list[Any] = [
            {"range": self.span(), "text": self.dice.choice(PIECES)}
            for _ in range(self.dice.choice([1, 1, 2, 5]))
        ]
        document = {"uri": uri, "version": self.versions[uri]}
        params = {"textDocument": document, "contentChanges": changes}
        self.client.notify("textDocument/didChange", self.broken(params))

    def say_anything(self) -> None:
        method, kind = self.dice.choice(METHODS)
        if method in NOT_WILD:
            return
        params = self.broken(self.params())
        if kind == "NOTIFICATION":
            self.client.notify(method, params)
            return
        number = self.client.start(method, params)
        if method.endswith("/resolve"):
            del self.client.methods[number]  # what is no item is given back as it came
        self.numbers.append(number)

    def step(self) -> None:
        draw = self.dice.random()
        if draw < 0.35:
            self.open_or_edit()
        elif draw < 0.95:
            self.say_anything()
        else:
            self.client.write(self.dice.choice(RUBBISH))


@pytest.mark.parametrize("seed", range(6))
def test_a_wild_client(editor: Client, tmp_path: Path, seed: int) -> None:
    wild = Wild(editor, tmp_path, seed)
    for _ in range(150):
        wild.step()
    answers = [editor.wait(number) for number in wild.numbers]
    assert len(answers) > 20
    internal = [answer for answer in answers if answer.get("error", {}).get("code") == -32603]
    assert internal == [], json.dumps(internal)[:500]
