"""However many requests ask about a text, each of its kernels is derived once a snapshot."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.protocol.client import ROOT, Client, edit, place

SNAPSHOTS = 2  # of one text: the slow queue and the background make one each (docs/server.md)
COMMANDS = ("schedule", "checkGradients", "backwardPreview", "generateBackward", "schedule")


@pytest.mark.parametrize("example", ["softmax", "matmul"])
def test_a_kernel_is_derived_once_a_snapshot(tmp_path: Path, example: str) -> None:
    text = (ROOT / "examples" / f"{example}.py").read_text()
    names = re.findall(r"^@triton\.jit\ndef (\w+_kernel)\(", text, re.M)
    file = tmp_path / f"{example}.py"
    file.write_text(text)
    client = Client(env={"TAD_WATCH_DERIVATIONS": "1"})
    client.initialize()
    uri = file.as_uri()
    client.open(uri, text)

    def ask_everything() -> None:
        document = {"textDocument": {"uri": uri}}
        numbers = [client.start("textDocument/codeLens", document)]
        for name in names:
            where = place(text, f"def {name}", inside=4)
            action = {**document, "range": {"start": where, "end": where}}
            numbers.append(
                client.start("textDocument/codeAction", {**action, "context": {"diagnostics": []}})
            )
            for command in COMMANDS:
                asked = {"command": f"tad.{command}", "arguments": [{"uri": uri, "kernel": name}]}
                numbers.append(client.start("workspace/executeCommand", asked))
        assert all("result" in client.wait(number, 120) for number in numbers)

    ask_everything()
    ask_everything()
    client.change(uri, 2, edit(0, 0, 0, 0, "\n"))  # another text, whose lines are others
    text = "\n" + text
    ask_everything()
    assert client.shut_down() == 0, client.stderr.decode()
    found = Counter(re.findall(rb"derived: \S+:\d+ \w+", client.stderr))
    assert len(found) == 2 * len(names)
    assert max(found.values()) <= SNAPSHOTS
