"""Files that import each other: unsaved texts of open ones count, and what depends on them follows."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.protocol.client import Client, edit, place
from tests.protocol.conftest import KERNEL

HELPERS = """import triton
import triton.language as tl


@triton.jit
def scale(x):
    return x * 3.0
"""
USER = KERNEL.replace(
    """@triton.jit
def scale(x):
    return x * 3.0


""",
    "from helpers import scale\n\n\n",
)
BROKEN = HELPERS.replace("return x * 3.0", "return tl.reshape(x, (7, 5), (1, 2), 3, 4)")


@pytest.fixture
def pair(editor: Client, tmp_path: Path) -> Iterator[tuple[Client, str, str]]:
    """An editor, and the URIs of helpers.py and of user.py, which imports it; both on disk, neither open."""
    (tmp_path / "helpers.py").write_text(HELPERS)
    (tmp_path / "user.py").write_text(USER)
    yield editor, (tmp_path / "helpers.py").as_uri(), (tmp_path / "user.py").as_uri()


def hover(client: Client, uri: str, text: str, word: str, occurrence: int = 1) -> str:
    at = {"textDocument": {"uri": uri}, "position": place(text, word, occurrence)}
    answer = client.request("textDocument/hover", at)
    return answer["contents"]["value"] if answer else ""


def test_a_project_that_moves_its_packages(editor: Client, tmp_path: Path) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text("[tool.setuptools]\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/helpers.py").write_text(HELPERS)
    user = (tmp_path / "user.py").as_uri()
    editor.open(user, USER)
    assert "float[BLOCK]" not in hover(editor, user, USER, "y = scale")
    project.write_text('[tool.setuptools]\npackage-dir = {"" = "lib"}\n')
    editor.notify(
        "workspace/didChangeWatchedFiles", {"changes": [{"uri": project.as_uri(), "type": 2}]}
    )
    assert "float[BLOCK]" in hover(editor, user, USER, "y = scale")


def retyped(text: str, before: str, after: str) -> dict[str, object]:
    start = place(text, before)
    end = place(text, before, inside=len(before))
    return edit(start["line"], start["character"], end["line"], end["character"], after)


def test_hover_sees_the_unsaved_text_of_an_import(pair: tuple[Client, str, str]) -> None:
    editor, helpers, user = pair
    editor.open(user, USER)
    assert "float[BLOCK]" in hover(editor, user, USER, "y = scale")
    editor.open(helpers, HELPERS)
    editor.change(helpers, 2, retyped(HELPERS, "x * 3.0", "(x * 3.0).to(tl.float16)"))
    assert "f16[BLOCK]" in hover(editor, user, USER, "y = scale")
    editor.notify("textDocument/didClose", {"textDocument": {"uri": helpers}})
    assert "float[BLOCK]" in hover(editor, user, USER, "y = scale")


def test_diagnostics_of_the_importer_follow_the_import(pair: tuple[Client, str, str]) -> None:
    editor, helpers, user = pair
    editor.open(user, USER)
    assert editor.diagnostics(user, 1) == []
    editor.open(helpers, HELPERS)
    editor.change(helpers, 2, retyped(HELPERS, "def scale(x):", "def scale(x, factor):"))

    def until(wanted: bool) -> list[str]:
        while True:
            found = editor.next_notification(
                "textDocument/publishDiagnostics", lambda params: params["uri"] == user
            )["diagnostics"]
            if bool(found) == wanted:
                return [diagnostic["code"] for diagnostic in found]

    assert "wrong-argument" in until(True)
    editor.change(helpers, 3, retyped(HELPERS.replace("(x)", "(x, factor)"), ", factor", ""))
    until(False)


def test_a_change_nobody_imports_publishes_nothing_else(
    pair: tuple[Client, str, str], tmp_path: Path
) -> None:
    editor, helpers, user = pair
    other = (tmp_path / "other.py").as_uri()
    editor.open(user, USER)
    editor.open(other, KERNEL)
    for _ in range(2):  # the settings have come, and what they led to
        editor.request("textDocument/foldingRange", {"textDocument": {"uri": other}})
    editor.notifications.clear()
    editor.change(other, 2, edit(0, 0, 0, 0, "# a comment\n"))
    editor.diagnostics(other, 2)
    editor.request("textDocument/foldingRange", {"textDocument": {"uri": user}})
    assert not [
        message
        for message in editor.notifications
        if message["method"] == "textDocument/publishDiagnostics"
        and message["params"]["uri"] == user
    ]


def test_a_chain_of_imports(editor: Client, tmp_path: Path) -> None:
    texts = {
        "last": HELPERS,
        "middle": "from last import scale\n",
        "user": USER.replace("from helpers", "from middle"),
    }
    uris = {}
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
        uris[name] = (tmp_path / f"{name}.py").as_uri()
    editor.open(uris["user"], texts["user"])
    editor.open(uris["last"], HELPERS)
    editor.change(uris["last"], 2, retyped(HELPERS, "x * 3.0", "(x * 3.0).to(tl.float16)"))
    assert "f16[BLOCK]" in hover(editor, uris["user"], texts["user"], "y = scale")


def test_files_that_import_each_other(editor: Client, tmp_path: Path) -> None:
    other = KERNEL.replace("return x * 3.0", "return inner(x)").replace(
        "@triton.jit\ndef scale(", "from mine import inner\n\n\n@triton.jit\ndef scale("
    )
    mine = "from other import scale\n" + KERNEL.replace("def scale(", "def inner(")
    uris = [(tmp_path / name).as_uri() for name in ("other.py", "mine.py")]
    editor.open(uris[0], other)
    editor.open(uris[1], mine)
    assert "float[BLOCK]" in hover(editor, uris[1], mine, "y = scale")
    editor.change(uris[1], 2, retyped(mine, "x * 3.0", "(x * 3.0).to(tl.float16)"))
    fresh = mine.replace("x * 3.0", "(x * 3.0).to(tl.float16)")
    assert "f16[BLOCK]" in hover(editor, uris[1], fresh, "y = scale")
    assert "f16[BLOCK]" in hover(editor, uris[0], other, "y = scale")


def test_a_module_that_was_never_saved(editor: Client, tmp_path: Path) -> None:
    user, helpers = (tmp_path / "user.py").as_uri(), (tmp_path / "helpers.py").as_uri()
    editor.open(user, USER)
    assert "float[BLOCK]" not in hover(editor, user, USER, "y = scale")
    editor.open(helpers, HELPERS)
    assert "float[BLOCK]" in hover(editor, user, USER, "y = scale")
    editor.notify("textDocument/didClose", {"textDocument": {"uri": helpers}})
    assert "float[BLOCK]" not in hover(editor, user, USER, "y = scale")


def test_a_file_seen_through_a_link_is_the_same_file(editor: Client, tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    (real / "helpers.py").write_text(HELPERS)
    (real / "user.py").write_text(USER)
    helpers, user = (link / "helpers.py").as_uri(), (real / "user.py").as_uri()
    editor.open(user, USER)
    editor.open(helpers, HELPERS)
    editor.change(helpers, 2, retyped(HELPERS, "x * 3.0", "(x * 3.0).to(tl.float16)"))
    assert "f16[BLOCK]" in hover(editor, user, USER, "y = scale")
    at = {"textDocument": {"uri": user}, "position": place(USER, "scale(x)")}
    links = editor.request("textDocument/definition", at)
    assert [link["targetUri"] for link in links] == [helpers]


def test_what_a_library_text_defines_has_no_place(editor: Client, tmp_path: Path) -> None:
    text = USER.replace(
        "from helpers import scale", "from torch._inductor.runtime import triton_helpers"
    )
    text = text.replace("scale(x)", "triton_helpers.maximum(x, 0.0)")
    uri = (tmp_path / "generated.py").as_uri()
    editor.open(uri, text)
    assert "[BLOCK]" in hover(editor, uri, text, "y = ")
    at = {"textDocument": {"uri": uri}, "position": place(text, "maximum(x")}
    assert not editor.request("textDocument/definition", at)
    assert "maximum" in hover(editor, uri, text, "maximum(x")


def test_disk_and_settings_are_read_again(pair: tuple[Client, str, str], tmp_path: Path) -> None:
    editor, helpers, user = pair
    editor.open(user, USER)
    assert "float[BLOCK]" in hover(editor, user, USER, "y = scale")
    (tmp_path / "helpers.py").write_text(HELPERS.replace("x * 3.0", "(x * 3.0).to(tl.float16)"))
    change = {"changes": [{"uri": helpers, "type": 2}]}
    editor.notify("workspace/didChangeWatchedFiles", change)
    assert "f16[BLOCK]" in hover(editor, user, USER, "y = scale")
    (tmp_path / "helpers.py").unlink()
    change = {"changes": [{"uri": helpers, "type": 3}]}
    editor.notify("workspace/didChangeWatchedFiles", change)
    assert "[BLOCK]" not in hover(editor, user, USER, "y = scale")


def test_a_gradient_is_stale_when_its_import_changes(pair: tuple[Client, str, str]) -> None:
    editor, helpers, user = pair
    editor.open(user, USER)
    editor.open(helpers, HELPERS)
    check = {
        "command": "tad.checkGradients",
        "arguments": [{"uri": user, "kernel": "scale_kernel"}],
    }
    assert editor.request("workspace/executeCommand", check)["status"] == "proved"

    def told(stale: bool) -> None:
        editor.next_notification(
            "tad/gradientStatus",
            lambda params: params["stale"] == stale and params["status"] == "proved",
        )

    told(False)
    editor.change(helpers, 2, retyped(HELPERS, "x * 3.0", "x * 4.0"))
    told(True)
    again = HELPERS.replace("x * 3.0", "x * 4.0")
    result = editor.request("workspace/executeCommand", check)
    assert result["status"] == "proved" and result["stale"] is False
    told(False)
    editor.change(helpers, 3, retyped(again, "\n\n\n@", "\nEPS = 1.0\n\n\n@"))
    editor.diagnostics(helpers, 3)
    titles = [
        lens["command"]["title"]
        for lens in editor.request("textDocument/codeLens", {"textDocument": {"uri": user}})
    ]
    assert any("gradients proved" in title for title in titles), titles


def test_a_gradient_is_stale_when_a_global_changes(editor: Client, kernel: str) -> None:
    text = KERNEL.replace(
        "@triton.jit\ndef scale(x)", "FACTOR: tl.constexpr = 3.0\n\n\n@triton.jit\ndef scale(x)"
    ).replace("x * 3.0", "x * FACTOR")
    editor.open(kernel, text)
    check = {
        "command": "tad.checkGradients",
        "arguments": [{"uri": kernel, "kernel": "scale_kernel"}],
    }
    assert editor.request("workspace/executeCommand", check)["status"] == "proved"
    editor.change(kernel, 2, retyped(text, "= 3.0", "= 4.0"))
    editor.next_notification("tad/gradientStatus", lambda params: params["stale"])


def configured(client: Client) -> None:
    """The settings, which are asked for, have come: they have no part in what is published."""
    while not any(r["method"] == "workspace/configuration" for r in client.requests):
        client._take()
    client.settle()


def comes_again(client: Client, uri: str, other: str) -> bool:
    """Whether an edit of the other file brings the first one's diagnostics: it was read. Tried for a while."""
    for version in range(2, 60):
        client.change(other, version, {"text": f"# {version}\n"})
        try:
            client.next_notification(
                "textDocument/publishDiagnostics", lambda params: params["uri"] == uri, limit=0.5
            )
            return True
        except queue.Empty:
            continue
    return False


def test_imports_are_read_before_anybody_asks(editor: Client, tmp_path: Path) -> None:
    """Also those that no kernel needs, of several files, and what an edit imports."""
    configured(editor)
    others = []
    for name in ("one", "two", "later"):
        (tmp_path / f"{name}.py").write_text("def unused():\n    pass\n")
        others.append((tmp_path / f"{name}.py").as_uri())
        editor.open(others[-1], "")
    users = [(tmp_path / f"user_{name}.py").as_uri() for name in ("one", "two")]
    for user, name in zip(users, ("one", "two"), strict=True):
        editor.open(user, f"from {name} import unused\n" + KERNEL)
    for user, other in zip(users, others, strict=False):
        editor.diagnostics(user, 1)
        assert comes_again(editor, user, other)
    editor.change(users[0], 2, edit(0, 5, 0, 8, "later"))
    editor.diagnostics(users[0], 2)
    assert comes_again(editor, users[0], others[2])


def test_a_file_without_kernels_reads_no_imports(editor: Client, tmp_path: Path) -> None:
    configured(editor)
    (tmp_path / "other.py").write_text("def unused():\n    pass\n")
    user, other = (tmp_path / "user.py").as_uri(), (tmp_path / "other.py").as_uri()
    editor.open(other, "")
    editor.open(user, "from other import unused\n\nunused()\n")
    editor.diagnostics(user, 1)
    for version in range(2, 5):
        editor.change(other, version, {"text": f"# {version}\n"})
        editor.diagnostics(other, version)
    time.sleep(1)
    editor.settle()
    assert [m for m in editor.notifications if m["params"].get("uri") == user] == []
