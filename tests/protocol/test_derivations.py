"""However many requests ask about a text, each of its kernels is derived once a snapshot."""

from __future__ import annotations

import re
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.emitted.test_saving import NORM
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


ATOMIC = """import triton
import triton.language as tl


@triton.jit
def pick_kernel(x_ptr, index_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.load(index_ptr + i, mask=i < n, other=0)
    x = tl.load(x_ptr + at, mask=i < n, other=0.0)
    tl.store(out_ptr + i, x, mask=i < n)
"""


def hover_text(client: Client, uri: str, where: dict[str, int]) -> str:
    asked = {"textDocument": {"uri": uri}, "position": where}
    return client.request("textDocument/hover", asked)["contents"]["value"]


@pytest.mark.parametrize("saves", [True, False])
def test_hover_shows_the_schedule_that_would_be_written(tmp_path: Path, saves: bool) -> None:
    text = NORM
    uri, client = (tmp_path / "norm.py").as_uri(), Client()
    client.configuration = {"gradients": {"save": saves}}
    client.initialize()
    client.open(uri, text)
    client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    where = place(text, "def norm", inside=4)
    found = ""
    for _ in range(100):  # until it was derived in the background
        found = hover_text(client, uri, where)
        if "Its backward has" in found:
            break
        time.sleep(0.1)
    assert ("Its forward also stores" in found) == saves, found
    assert client.shut_down() == 0


def test_hover_on_a_kernel_says_what_its_gradients_are_stored_by(tmp_path: Path) -> None:
    softmax = (ROOT / "examples" / "softmax.py").read_text()
    client = Client()
    client.initialize()
    for name, kernel, text, told in (
        ("softmax", "softmax_kernel", softmax, "plain stores by a program along grid axis 0"),
        ("pick", "pick_kernel", ATOMIC, "atomics, because "),
    ):
        uri = (tmp_path / f"{name}.py").as_uri()
        where = place(text, f"def {kernel}", inside=4)
        client.open(uri, text)
        assert "Its backward has" not in hover_text(client, uri, where)  # it waits for nothing
        client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
        for _ in range(100):  # until it was derived in the background
            found = hover_text(client, uri, where)
            if "Its backward has" in found:
                break
            time.sleep(0.1)
        assert "Its backward has 1 kernel" in found and told in found, found
        assert "Its backward has" not in hover_text(client, uri, place(text, "program_id"))
    assert client.shut_down() == 0
