"""Kernels of the user's index that are built alike, asked from the editor."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import BIN
from tests.cli.test_index import HEADER, PACKAGE, scale, softmax
from tests.protocol.client import Client
from tests.protocol.test_gradients import REQUEST_FAILED, command

MINE = HEADER + softmax("mine", "value") + scale("twice")


class Desk:
    """A home without an index, packages to be indexed, and a file that is open."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, text in PACKAGE.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        self.uri = (folder / "mine.py").as_uri()
        self.env = {"HOME": str(folder / "home"), "XDG_DATA_HOME": ""}
        self.client = Client(env=self.env)
        self.client.initialize()
        self.client.open(self.uri, MINE)

    def index(self) -> None:
        subprocess.run(
            [BIN / "tad-lsp", "--index", "pack"], cwd=self.folder, env=self.env, check=True
        )

    def similar(self, kernel: str, **wanted: object) -> list[dict]:
        return self.client.request(
            "workspace/executeCommand", command("similarKernels", self.uri, kernel, **wanted)
        )

    def titles(self, line: int) -> list[str]:
        at = {"line": line, "character": 6}
        params = {
            "textDocument": {"uri": self.uri},
            "range": {"start": at, "end": at},
            "context": {"diagnostics": []},
        }
        return [
            action["title"]
            for action in self.client.request("textDocument/codeAction", params) or []
        ]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    assert desk.client.shut_down() == 0


def test_the_nearest_and_its_backward(desk: Desk) -> None:
    desk.index()
    (near,) = desk.similar("mine")
    kernels = (desk.folder / "pack/kernels.py").as_uri()
    start = {"line": 5, "character": 0}
    assert (near["name"], near["uri"], near["range"]) == (
        "soft_fwd",
        kernels,
        {"start": start, "end": start},
    )
    assert near["similarity"] == pytest.approx(1)
    assert [(one["name"], one["range"]["start"]["line"]) for one in near["backwards"]] == [
        ("soft_bwd", 14)
    ]
    assert desk.similar("mine", exclude=["*/pack/*"]) == []
    assert desk.similar("twice", min_sim=0.9) == []
    # A file that is gone is no place to look at.
    (desk.folder / "pack/kernels.py").unlink()
    assert desk.similar("mine") == []


def test_without_an_index_it_is_said_how_to_make_one(desk: Desk) -> None:
    number = desk.client.start(
        "workspace/executeCommand", command("similarKernels", desk.uri, "mine")
    )
    error = desk.client.wait(number)["error"]
    assert error["code"] == REQUEST_FAILED
    assert "nothing is indexed: `tad-lsp --index PATH...`" in error["message"]


def test_the_action_stands_at_the_name_where_there_is_an_index(desk: Desk) -> None:
    title = "Show similar kernels"
    line = MINE.splitlines().index("def mine(out, inp, n, SIZE: tl.constexpr):")
    assert title not in desk.titles(line)
    desk.index()
    assert title in desk.titles(line)
    assert title not in desk.titles(line + 1)
