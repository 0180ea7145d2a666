"""Tuning from the editor: offered where sizes are said, written into the text that the editor has, cancelled."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.protocol.client import Client
from tests.protocol.test_gradients import CANCELLED, REQUEST_FAILED, command
from tests.runner.test_protocol import BIN
from tests.runner.test_times import cache, launches, variables  # noqa: F401
from tests.runner.test_tune import LIST, SQUARES

TITLE = "Tune blocks, warps and stages on the GPU"
HEAD = next(at for at, line in enumerate(SQUARES.splitlines()) if line.startswith("def "))


class Desk:
    """A file, and a server beside a GPU that is not there."""

    def __init__(self, folder: Path, environment: dict[str, str], **options: object) -> None:
        self.file, self.worker = folder / "kernels.py", folder / "worker"
        self.file.write_text("# not what the editor has\n")
        self.worker.write_text(f'#!/bin/sh\nSTAND_IN_BEST=256 exec {BIN}/tad-runner "$@"\n')
        self.worker.chmod(0o755)
        self.client = Client(env=environment)
        self.client.configuration = {
            "python": {"command": sys.executable},
            "runner": {"command": str(self.worker)},
        }
        self.client.initialize(initializationOptions={"trusted": True, **options})
        self.client.open(self.uri, SQUARES)

    @property
    def uri(self) -> str:
        return self.file.as_uri()

    def actions(self) -> list[dict]:
        at = {"line": HEAD, "character": 5}
        params = {
            "textDocument": {"uri": self.uri},
            "range": {"start": at, "end": at},
            "context": {"diagnostics": []},
        }
        found = self.client.request("textDocument/codeAction", params) or []
        return [action for action in found if action["title"] == TITLE]


@pytest.fixture
def desk(launches: str, cache: Path, tmp_path: Path) -> Iterator[Desk]:  # noqa: F811
    made = Desk(tmp_path, variables(launches, cache))
    yield made
    assert made.client.shut_down() == 0


def test_the_action_writes_the_list(desk: Desk) -> None:
    (action,) = desk.actions()
    assert action["kind"] == "refactor.tune"
    params = {**action["command"], "workDoneToken": "mine"}
    params.pop("title")
    number = desk.client.start("workspace/executeCommand", params)
    result = desk.client.wait(number)["result"]
    assert result["kernel"] == "squares"
    assert result["summary"].startswith("squares: 0.25 ms with BLOCK=2048, num_warps=8, before 0.5")
    (sent,) = [r["params"] for r in desk.client.requests if r["method"] == "workspace/applyEdit"]
    (change,) = sent["edit"]["documentChanges"]
    (edit,) = change["edits"]
    lines = SQUARES.splitlines(keepends=True)
    first, until = (edit["range"][end]["line"] for end in ("start", "end"))
    text = "".join([*lines[:first], edit["newText"], *lines[until:]])
    start, end = (SQUARES.index(part) for part in (LIST, LIST[-1] + ",\n    key"))
    assert text.startswith(SQUARES[:start]) and text.endswith(SQUARES[end:])
    assert 'triton.Config({"BLOCK": 2048}, num_warps=8)' in text
    told = [
        m["params"]["value"].get("message", "")
        for m in desk.client.notifications
        if m["method"] == "$/progress"
    ]
    assert any("tried, now BLOCK=" in message for message in told)


def test_nothing_is_offered_without_sizes(desk: Desk) -> None:
    desk.client.change(desk.uri, 2, {"text": SQUARES.replace("# tad time:", "# tad:")})
    assert not desk.actions()


def test_a_search_is_cancelled(desk: Desk) -> None:
    desk.worker.write_text("#!/bin/sh\nexec sleep 600\n")
    number = desk.client.start(
        "workspace/executeCommand", command("tuneKernel", desk.uri, "squares")
    )
    desk.client.notify("$/cancelRequest", {"id": number})
    assert desk.client.wait(number)["error"]["code"] == CANCELLED


def test_nothing_is_tuned_without_trust(tmp_path: Path) -> None:
    desk = Desk(tmp_path, {}, trusted=False)
    assert not desk.actions()
    number = desk.client.start(
        "workspace/executeCommand", command("tuneKernel", desk.uri, "squares")
    )
    error = desk.client.wait(number)["error"]
    assert error["code"] == REQUEST_FAILED and "trusted" in error["message"]
    assert desk.client.shut_down() == 0
