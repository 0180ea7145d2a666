"""What goes beyond one file: uses, renames and calls across the workspace, its symbols, several roots."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_cost import PRODUCT
from tests.protocol.client import CAPABILITIES, Client, edit, place
from tests.protocol.conftest import KERNEL

REQUEST_FAILED = -32803

HELPERS = """import triton
import triton.language as tl

__all__ = ["scale", "FACTOR"]

FACTOR: tl.constexpr = 3.0


@triton.jit
def scale(x, factor):
    return x * factor
"""
DIRECT = """import triton
import triton.language as tl

from helpers import FACTOR, scale


@triton.jit
def direct_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(y_ptr + offsets, scale(x, factor=FACTOR), mask=offsets < n)
"""
ALIASED = (
    DIRECT.replace("from helpers import FACTOR, scale", "from helpers import scale as grow")
    .replace("scale(x, factor=FACTOR)", "grow(x, factor=2.0)")
    .replace("direct", "aliased")
)
MEMBER = (
    DIRECT.replace("from helpers import FACTOR, scale", "import helpers")
    .replace("scale(x, factor=FACTOR)", "helpers.scale(x, helpers.FACTOR)")
    .replace("direct", "member")
)
HOST = """import triton

from direct import direct_kernel


def launch(x, y):
    n = x.numel()
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    direct_kernel[grid](x, y, n, BLOCK=128)
"""
UNRELATED = KERNEL
TEXTS = {
    "helpers.py": HELPERS,
    "direct.py": DIRECT,
    "aliased.py": ALIASED,
    "member.py": MEMBER,
    "host.py": HOST,
    "unrelated.py": UNRELATED,
}


class Project:
    """Files in a folder of the workspace; those that are opened are opened at version 1."""

    def __init__(self, client: Client, folder: Path, texts: dict[str, str]) -> None:
        self.client, self.folder, self.texts = client, folder, dict(texts)
        for name, text in texts.items():
            (folder / name).write_text(text)

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, *names: str) -> None:
        for name in names:
            self.client.open(self.uri(name), self.texts[name])

    def at(self, name: str, word: str, occurrence: int = 1, inside: int = 0) -> dict[str, Any]:
        return {
            "textDocument": {"uri": self.uri(name)},
            "position": place(self.texts[name], word, occurrence, inside),
        }

    def word_at(self, location: dict[str, Any]) -> tuple[str, int, str]:
        """File, line and text of a location of one line."""
        name = location["uri"].rsplit("/", 1)[1]
        start, end = location["range"]["start"], location["range"]["end"]
        line = self.texts[name].split("\n")[start["line"]]
        return name, start["line"], line[start["character"] : end["character"]]

    def references(self, name: str, word: str, declaration: bool = True, **more: int) -> list:
        context = {"context": {"includeDeclaration": declaration}}
        found = self.client.request(
            "textDocument/references", {**self.at(name, word, **more), **context}
        )
        return sorted(self.word_at(location) for location in found)

    def renamed(self, name: str, word: str, new: str, **more: int) -> dict[str, str]:
        """The texts that a rename changes."""
        answer = self.client.request(
            "textDocument/rename", {**self.at(name, word, **more), "newName": new}
        )
        texts = {}
        for change in answer["documentChanges"]:
            file = change["textDocument"]["uri"].rsplit("/", 1)[1]
            lines = self.texts[file].split("\n")
            places = [(e["range"]["start"], e["range"]["end"]) for e in change["edits"]]
            for start, end in sorted(places, key=lambda p: (-p[0]["line"], -p[0]["character"])):
                line = lines[start["line"]]
                lines[start["line"]] = line[: start["character"]] + new + line[end["character"] :]
            texts[file] = "\n".join(lines)
        return texts


@pytest.fixture
def project(server: Client, tmp_path: Path):
    made: list[Project] = []

    def make(texts: dict[str, str] = TEXTS) -> Project:
        server.initialize(workspaceFolders=[{"uri": tmp_path.as_uri(), "name": "here"}])
        made.append(Project(server, tmp_path, texts))
        return made[0]

    yield make
    assert server.shut_down() == 0
    assert server.stderr == b""


def lines_with(word: str, *names: str) -> list[tuple[str, int, str]]:
    return sorted(
        (name, number, word)
        for name in names
        for number, line in enumerate(TEXTS[name].split("\n"))
        for _ in range(line.count(word))
    )


# --- References


@pytest.mark.parametrize(
    ("name", "word"),
    [("helpers.py", "def scale"), ("direct.py", "scale(x"), ("member.py", "scale(x")],
)
def test_references_to_a_helper(project: Callable[..., Project], name: str, word: str) -> None:
    files = project()
    files.open(name)
    found = files.references(name, word, inside=word.index("scale"))
    wanted = lines_with("scale", "helpers.py", "direct.py", "aliased.py", "member.py")
    aliases = [("aliased.py", 3, "grow"), ("aliased.py", 10, "grow")]
    assert found == sorted(wanted + aliases)
    without = files.references(name, word, declaration=False, inside=word.index("scale"))
    assert set(found) - set(without) == {("helpers.py", 9, "scale")}


def test_references_to_a_kernel_that_is_launched_elsewhere(project: Callable[..., Project]) -> None:
    files = project()
    files.open("direct.py", "host.py")
    wanted = lines_with("direct_kernel", "direct.py", "host.py")
    assert files.references("direct.py", "direct_kernel") == wanted
    assert files.references("host.py", "direct_kernel[") == wanted


def test_references_to_parameters(project: Callable[..., Project]) -> None:
    files = project()
    files.open("helpers.py", "direct.py")
    found = files.references("helpers.py", "factor)")
    assert found == sorted(
        [
            ("helpers.py", 9, "factor"),
            ("helpers.py", 10, "factor"),
            ("direct.py", 10, "factor"),
            ("aliased.py", 10, "factor"),
        ]
    )
    blocks = files.references("direct.py", "BLOCK:")
    assert [each for each in blocks if each[0] == "host.py"] == [
        ("host.py", 7, "BLOCK"),
        ("host.py", 8, "BLOCK"),
    ]


def test_references_to_a_global(project: Callable[..., Project]) -> None:
    files = project()
    files.open("member.py")
    found = files.references("member.py", "FACTOR")
    assert found == lines_with("FACTOR", "helpers.py", "direct.py", "member.py")


def test_references_see_unsaved_texts(project: Callable[..., Project]) -> None:
    files = project()
    files.open("helpers.py", "unrelated.py")
    before = files.references("helpers.py", "def scale", inside=4)
    fresh = "from helpers import scale as other\n" + UNRELATED
    files.texts["unrelated.py"] = fresh
    files.client.change(files.uri("unrelated.py"), 2, {"text": fresh})
    after = files.references("helpers.py", "def scale", inside=4)
    assert set(after) - set(before) == {("unrelated.py", 0, "scale"), ("unrelated.py", 0, "other")}


def test_a_local_name_stays_in_its_file(project: Callable[..., Project]) -> None:
    files = project()
    files.open("direct.py")
    assert {each[0] for each in files.references("direct.py", "offsets")} == {"direct.py"}


def test_a_function_of_the_same_name_is_another(project: Callable[..., Project]) -> None:
    files = project()
    files.open("unrelated.py")
    found = files.references("unrelated.py", "def scale", inside=4)
    assert {each[0] for each in found} == {"unrelated.py"}


def test_definition_of_what_is_imported(project: Callable[..., Project]) -> None:
    files = project()
    files.open("host.py", "member.py")
    for name, word, target in [
        ("host.py", "direct_kernel[", ("direct.py", 7, "direct_kernel")),
        ("member.py", "scale(x", ("helpers.py", 9, "scale")),
    ]:
        links = files.client.request("textDocument/definition", files.at(name, word))
        assert [
            files.word_at({"uri": link["targetUri"], "range": link["targetSelectionRange"]})
            for link in links
        ] == [target]


# --- Rename


def test_rename_of_a_helper(project: Callable[..., Project]) -> None:
    files = project()
    files.open("direct.py")
    changed = files.renamed("direct.py", "scale(x", "stretch")
    assert changed == {
        name: TEXTS[name].replace("scale", "stretch")
        for name in ("helpers.py", "direct.py", "aliased.py", "member.py")
    }


def test_rename_of_an_alias_stays_in_its_file(project: Callable[..., Project]) -> None:
    files = project()
    files.open("aliased.py")
    assert files.renamed("aliased.py", "grow(x", "swell") == {
        "aliased.py": ALIASED.replace("grow", "swell")
    }
    assert files.renamed("aliased.py", "scale as", "stretch")["helpers.py"] == HELPERS.replace(
        "scale", "stretch"
    )


def test_rename_has_versions_of_open_files_only(project: Callable[..., Project]) -> None:
    files = project()
    files.open("helpers.py", "direct.py")
    files.client.change(files.uri("direct.py"), 7, edit(0, 0, 0, 0, ""))
    answer = files.client.request(
        "textDocument/rename", {**files.at("helpers.py", "scale(x"), "newName": "stretch"}
    )
    versions = {
        change["textDocument"]["uri"].rsplit("/", 1)[1]: change["textDocument"]["version"]
        for change in answer["documentChanges"]
    }
    assert versions == {"helpers.py": 1, "direct.py": 7, "aliased.py": None, "member.py": None}


def test_rename_of_parameters_and_globals(project: Callable[..., Project]) -> None:
    files = project()
    files.open("helpers.py", "direct.py")
    changed = files.renamed("helpers.py", "factor)", "by")
    assert changed == {
        "helpers.py": HELPERS.replace("factor", "by"),
        "direct.py": DIRECT.replace("factor=", "by="),
        "aliased.py": ALIASED.replace("factor=", "by="),
    }
    changed = files.renamed("direct.py", "BLOCK:", "WIDTH")
    assert changed["host.py"] == HOST.replace("BLOCK", "WIDTH")
    changed = files.renamed("direct.py", "FACTOR)", "GAIN")
    assert changed == {
        name: TEXTS[name].replace("FACTOR", "GAIN")
        for name in ("helpers.py", "direct.py", "member.py")
    }


def test_rename_that_would_meet_another_name(project: Callable[..., Project]) -> None:
    files = project({**TEXTS, "direct.py": DIRECT + "\n\nstretch = 1\n"})
    files.open("helpers.py")
    request = {**files.at("helpers.py", "scale(x"), "newName": "stretch"}
    answer = files.client.wait(files.client.start("textDocument/rename", request))
    assert answer["error"]["code"] == REQUEST_FAILED
    assert "direct.py" in answer["error"]["message"] and "stretch" in answer["error"]["message"]


def test_rename_where_an_import_was_not_found(project: Callable[..., Project]) -> None:
    files = project({**TEXTS, "direct.py": DIRECT.replace("from helpers", "from pack.helpers")})
    files.open("helpers.py")
    request = {**files.at("helpers.py", "scale(x"), "newName": "stretch"}
    answer = files.client.wait(files.client.start("textDocument/rename", request))
    assert "direct.py" in answer["error"]["message"]


def test_rename_of_what_is_installed(server: Client, tmp_path: Path) -> None:
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (installed / "helpers.py").write_text(HELPERS)
    (installed / "direct.py").write_text(DIRECT)
    server.initialize(workspaceFolders=[{"uri": tmp_path.as_uri(), "name": "here"}])
    uri = (installed / "direct.py").as_uri()
    server.open(uri, DIRECT)
    at = {"textDocument": {"uri": uri}, "position": place(DIRECT, "scale(x")}
    assert server.failure("textDocument/prepareRename", at) == REQUEST_FAILED
    assert server.failure("textDocument/rename", {**at, "newName": "other"}) == REQUEST_FAILED


def test_rename_for_clients_without_versions(server: Client, tmp_path: Path) -> None:
    workspace = {**CAPABILITIES["workspace"], "workspaceEdit": {}}
    server.initialize(
        {**CAPABILITIES, "workspace": workspace},
        workspaceFolders=[{"uri": tmp_path.as_uri(), "name": "here"}],
    )
    files = Project(server, tmp_path, TEXTS)
    files.open("direct.py")
    answer = server.request(
        "textDocument/rename", {**files.at("direct.py", "scale(x"), "newName": "stretch"}
    )
    assert {uri.rsplit("/", 1)[1] for uri in answer["changes"]} == {
        "helpers.py",
        "direct.py",
        "aliased.py",
        "member.py",
    }


# --- Calls


def test_calls_across_files(project: Callable[..., Project]) -> None:
    files = project()
    files.open("direct.py")
    item = files.client.request(
        "textDocument/prepareCallHierarchy", files.at("direct.py", "scale(x")
    )[0]
    assert item["uri"] == files.uri("helpers.py")
    into = files.client.request("callHierarchy/incomingCalls", {"item": item})
    assert sorted(call["from"]["name"] for call in into) == [
        "aliased_kernel",
        "direct_kernel",
        "member_kernel",
    ]
    for call in into:
        place_of_call = {"uri": call["from"]["uri"], "range": call["fromRanges"][0]}
        assert files.word_at(place_of_call)[2] in ("scale", "grow")
    kernel = next(call["from"] for call in into if call["from"]["name"] == "direct_kernel")
    launchers = files.client.request("callHierarchy/incomingCalls", {"item": kernel})
    assert [call["from"]["name"] for call in launchers] == ["launch"]
    assert launchers[0]["from"]["uri"] == files.uri("host.py")  # a file that is not open
    back = files.client.request("callHierarchy/outgoingCalls", {"item": launchers[0]["from"]})
    assert [(call["to"]["name"], call["to"]["uri"]) for call in back] == [
        ("direct_kernel", files.uri("direct.py"))
    ]


# --- Symbols


def names(client: Client, query: str = "") -> list[str]:
    return sorted(symbol["name"] for symbol in client.request("workspace/symbol", {"query": query}))


def test_symbols_follow_files_and_texts(project: Callable[..., Project]) -> None:
    files = project()
    everything = [
        "aliased_kernel",
        "direct_kernel",
        "member_kernel",
        "scale",
        "scale",
        "scale_kernel",
    ]
    assert names(files.client) == everything
    assert names(files.client, "dirker") == ["direct_kernel"]
    (files.folder / "direct.py").write_text(DIRECT.replace("direct_kernel", "changed_kernel"))
    assert "changed_kernel" in names(files.client)
    (files.folder / "aliased.py").unlink()
    assert "aliased_kernel" not in names(files.client)
    files.open("member.py")
    files.client.change(
        files.uri("member.py"), 2, {"text": MEMBER.replace("member_kernel", "typed_kernel")}
    )
    found = files.client.request("workspace/symbol", {"query": "typed"})
    assert [symbol["location"]["uri"] for symbol in found] == [files.uri("member.py")]
    assert found[0]["location"]["range"]["start"] == place(MEMBER, "member_kernel")
    close = {"textDocument": {"uri": files.uri("member.py")}}
    files.client.notify("textDocument/didClose", close)
    assert "member_kernel" in names(files.client)


def test_folders_come_and_go(server: Client, tmp_path: Path) -> None:
    folders = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file.py").write_text(KERNEL.replace("scale", name))
        folders.append({"uri": (tmp_path / name).as_uri(), "name": name})
    server.initialize(workspaceFolders=folders[:1])
    assert names(server) == ["one", "one_kernel"]
    event = {"added": folders[1:], "removed": []}
    server.notify("workspace/didChangeWorkspaceFolders", {"event": event})
    assert names(server) == ["one", "one_kernel", "two", "two_kernel"]
    event = {"added": [], "removed": folders[:1]}
    server.notify("workspace/didChangeWorkspaceFolders", {"event": event})
    assert names(server) == ["two", "two_kernel"]


@pytest.mark.parametrize("key", ["rootUri", "rootPath"])
def test_clients_with_one_root(server: Client, tmp_path: Path, key: str) -> None:
    (tmp_path / "file.py").write_text(KERNEL)
    root = tmp_path.as_uri() if key == "rootUri" else str(tmp_path)
    server.initialize(**{"rootUri": None, key: root})
    assert names(server) == ["scale", "scale_kernel"]


# --- Settings of several roots

BAD = KERNEL.replace(", mask=mask, other=0.0", "")


def codes(client: Client, uri: str, wanted: Callable[[list[str]], bool]) -> None:
    """Waits for diagnostics of the file that are wanted."""
    client.next_notification(
        "textDocument/publishDiagnostics",
        lambda params: params["uri"] == uri and wanted([d["code"] for d in params["diagnostics"]]),
    )


def test_each_root_has_settings_of_its_own(server: Client, tmp_path: Path) -> None:
    folders, uris = [], []
    for name in ("strict", "lenient"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file.py").write_text(BAD)
        folders.append({"uri": (tmp_path / name).as_uri(), "name": name})
        uris.append((tmp_path / name / "file.py").as_uri())
    server.configurations = {folders[1]["uri"]: {"diagnostics": {"ignore": ["unmasked-load"]}}}
    server.initialize(workspaceFolders=folders)
    for uri in uris:
        server.open(uri, BAD)
    codes(server, uris[0], lambda found: "unmasked-load" in found)
    codes(server, uris[1], lambda found: "unmasked-load" not in found)
    event = {"added": [], "removed": folders[1:]}
    server.notify("workspace/didChangeWorkspaceFolders", {"event": event})
    codes(server, uris[1], lambda found: "unmasked-load" in found)


def test_launches_have_to_fit_the_card_of_the_folder(server: Client, tmp_path: Path) -> None:
    """What is said follows `pyproject.toml` when it is saved."""
    project, uri = tmp_path / "pyproject.toml", (tmp_path / "k.py").as_uri()

    launch = ", M=128, N=128, B=64, num_stages=6"
    server.initialize(workspaceFolders=[{"uri": tmp_path.as_uri(), "name": "one"}])
    server.open(uri, PRODUCT.replace("CONFIGS", "").replace("LAUNCH", launch))
    codes(server, uri, lambda found: "shared-memory" not in found)
    for kind, card, is_told in ((1, "a10g", True), (2, "h100", False), (2, "l4", True)):
        project.write_text(f'[tool.tad]\ncard = "{card}"\n')
        changes = [{"uri": project.as_uri(), "type": kind}]
        server.notify("workspace/didChangeWatchedFiles", {"changes": changes})
        codes(server, uri, lambda found, is_told=is_told: ("shared-memory" in found) == is_told)


def test_each_root_has_a_pyproject_of_its_own(server: Client, tmp_path: Path) -> None:
    folders, uris = [], []
    for name, ignored in (("strict", "[]"), ("lenient", '["unmasked-load"]')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file.py").write_text(BAD)
        (tmp_path / name / "pyproject.toml").write_text(f"[tool.tad]\nignore = {ignored}\n")
        folders.append({"uri": (tmp_path / name).as_uri(), "name": name})
        uris.append((tmp_path / name / "file.py").as_uri())
    server.initialize(workspaceFolders=folders)
    for uri in uris:
        server.open(uri, BAD)
    codes(server, uris[0], lambda found: "unmasked-load" in found)
    codes(server, uris[1], lambda found: "unmasked-load" not in found)
    (tmp_path / "lenient" / "pyproject.toml").write_text("[tool.tad]\n")
    changed = [{"uri": (tmp_path / "lenient" / "pyproject.toml").as_uri(), "type": 2}]
    server.notify("workspace/didChangeWatchedFiles", {"changes": changed})
    codes(server, uris[1], lambda found: "unmasked-load" in found)


def test_programs_of_settings_are_seen_from_the_root(server: Client, tmp_path: Path) -> None:
    tool = tmp_path / "tools" / "runner"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\nexit 7\n")
    tool.chmod(0o755)
    (tmp_path / "file.py").write_text(KERNEL)
    folder = {"uri": tmp_path.as_uri(), "name": "here"}
    server.configurations = {folder["uri"]: {"runner": {"command": "tools/runner"}}}
    server.initialize(workspaceFolders=[folder])
    uri = (tmp_path / "file.py").as_uri()
    server.open(uri, KERNEL)
    for _ in range(2):
        server.request("textDocument/foldingRange", {"textDocument": {"uri": uri}})
    check = {"command": "tad.checkGradients", "arguments": [{"uri": uri, "kernel": "scale_kernel"}]}
    result = server.request("workspace/executeCommand", check)
    assert result["status"] == "unproved" and "7" in result["reason"]
