"""A session under the thread sanitizer: edits, features, cancelled and finished checks at the same time."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.protocol.client import ROOT, Client, edit, place
from tests.protocol.conftest import KERNEL

SUPPRESSIONS = Path(__file__).parent / "threads.supp"


@pytest.fixture(scope="module")
def program() -> Path:
    folder = ROOT / "build-threads"
    if not (folder / "build.ninja").exists():
        subprocess.run(["cmake", "--preset", "threads"], cwd=ROOT, check=True, capture_output=True)
    subprocess.run(
        ["ninja", "-C", str(folder), "tad-lsp", "tad-runner"], check=True, capture_output=True
    )
    return folder / "tad-lsp"


def test_no_data_races(program: Path, tmp_path: Path) -> None:
    client = Client(
        program=program, env={"TSAN_OPTIONS": f"exitcode=66 suppressions={SUPPRESSIONS}"}
    )
    client.initialize(workspaceFolders=[{"uri": tmp_path.as_uri(), "name": "here"}])
    uris = []
    for i in range(3):
        file = tmp_path / f"file{i}.py"
        file.write_text(KERNEL)
        uris.append(file.as_uri())
        client.open(uris[-1], KERNEL)
    numbers = []
    for version in range(2, 12):
        for uri in uris:
            client.change(uri, version, edit(0, 0, 0, 0, "\n"), edit(0, 0, 1, 0, ""))
            document = {"textDocument": {"uri": uri}}
            argument = {"uri": uri, "kernel": "scale_kernel"}
            for name in ("codeLens", "semanticTokens/full", "documentSymbol", "diagnostic"):
                numbers.append(client.start(f"textDocument/{name}", document))
            numbers.append(
                client.start(
                    "textDocument/hover", {**document, "position": place(KERNEL, "offsets =")}
                )
            )
            numbers.append(client.start("workspace/symbol", {"query": ""}))
            for command in (
                "kernels",
                "schedule",
                "checkGradients",
                "backwardPreview",
                "generateBackward",
            ):
                numbers.append(
                    client.start(
                        "workspace/executeCommand",
                        {"command": f"tad.{command}", "arguments": [argument]},
                    )
                )
            client.notify("$/cancelRequest", {"id": numbers[-2 if version % 2 else -3]})
            client.notify("workspace/didChangeConfiguration", {"settings": None})
            client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 2}]})
    answers = [client.wait(number, 300) for number in numbers]
    assert sum("result" in answer for answer in answers) > len(answers) // 2
    assert client.shut_down() == 0, client.stderr.decode()
    assert client.stderr == b""
