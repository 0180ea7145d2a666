"""However many requests ask about a text, its launchers are evaluated once a snapshot for each choice of sizes."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.protocol.client import ROOT, Client, edit, place

SNAPSHOTS = 3  # of one text: the queues that derive make their own (docs/server.md)
COMMANDS = ("kernels", "schedule", "checkGradients", "backwardPreview", "generateBackward")


def evaluations(client: Client) -> list[bytes]:
    return re.findall(rb"evaluated: .+", client.stderr)


@pytest.mark.parametrize(("example", "kernels"), [("rms_norm", 1), ("matmul", 4)])
def test_a_session_evaluates_once_a_text(tmp_path: Path, example: str, kernels: int) -> None:
    text = (ROOT / "examples" / f"{example}.py").read_text()
    names = re.findall(r"^@triton\.jit\ndef (\w+_kernel)\(", text, re.M)
    assert len(names) == kernels
    file = tmp_path / f"{example}.py"
    file.write_text(text)
    client = Client(env={"TAD_WATCH_LAUNCHES": "1"})
    client.initialize()
    uri = file.as_uri()
    client.open(uri, text)
    document = {"textDocument": {"uri": uri}}

    def ask_everything() -> None:
        numbers = [client.start("textDocument/codeLens", document)]
        for name in names:
            where = place(text, f"def {name}", inside=4)
            numbers.append(client.start("textDocument/hover", {**document, "position": where}))
            action = {**document, "range": {"start": where, "end": where}}
            numbers.append(
                client.start("textDocument/codeAction", {**action, "context": {"diagnostics": []}})
            )
            for command in COMMANDS:
                arguments = [{"uri": uri, "kernel": name}]
                numbers.append(
                    client.start(
                        "workspace/executeCommand",
                        {"command": f"tad.{command}", "arguments": arguments},
                    )
                )
        assert all("result" in client.wait(number, 120) for number in numbers)

    ask_everything()
    ask_everything()
    ask_everything()
    # Another text, with other lines: its launchers are evaluated again.
    client.change(uri, 2, edit(0, 0, 0, 0, "\n"))
    text = "\n" + text
    ask_everything()
    assert client.shut_down() == 0, client.stderr.decode()
    found = evaluations(client)
    assert len({re.search(rb":(\d+) ", line)[1] for line in found}) == 2 * kernels
    assert max(Counter(found).values()) <= SNAPSHOTS
