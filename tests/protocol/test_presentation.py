"""What an author sees beside the code, over the wire: places and pages of problems, hints, hovers, ways to forwards."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.protocol.client import Client, place
from tests.protocol.conftest import KERNEL

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TWICE = KERNEL.replace(
    "    y = scale(x)\n",
    "    again = tl.load(x_ptr + offsets, mask=mask, other=0.0)\n    y = scale(x) + again\n",
)
UNUSED = KERNEL.replace("    y = scale(x)\n", "    y = tl.exp(offsets.to(tl.float32))\n")
REMOVED = KERNEL.replace("tl.load(x_ptr", "tl.libdevice.load(x_ptr")


def with_settings(client: Client, settings: dict[str, Any], **more: Any) -> None:
    client.configuration = settings
    client.initialize(initializationOptions={"settings": settings}, **more)
    client.settle()


def finding(client: Client, uri: str, text: str, code: str) -> dict[str, Any]:
    client.open(uri, text)
    return next(found for found in client.diagnostics(uri, 1) if found["code"] == code)


def whole(uri: str) -> dict[str, Any]:
    start, end = {"line": 0, "character": 0}, {"line": KERNEL.count("\n"), "character": 0}
    return {"textDocument": {"uri": uri}, "range": {"start": start, "end": end}}


def test_a_problem_names_the_other_place(editor: Client, kernel: str) -> None:
    found = finding(editor, kernel, TWICE, "repeated-load")
    related = found["relatedInformation"][0]
    assert related["message"] == "loaded here"
    assert related["location"]["uri"] == kernel
    assert related["location"]["range"]["start"] == place(TWICE, "tl.load")


def test_what_has_no_use_is_greyed(editor: Client, kernel: str) -> None:
    assert finding(editor, kernel, UNUSED, "unused-load")["tags"] == [1]


def test_a_problem_leads_to_its_page(server: Client, kernel: str) -> None:
    with_settings(server, {"docs": {"url": "https://example.org/tad/"}})
    found = finding(server, kernel, TWICE, "repeated-load")
    assert found["codeDescription"]["href"] == "https://example.org/tad/repeated-load.md"
    assert server.shut_down() == 0


def test_clients_are_sent_what_they_know(server: Client, kernel: str) -> None:
    with_settings(server, {"docs": {"url": "https://example.org/"}}, capabilities={})
    found = finding(server, kernel, TWICE, "repeated-load")
    assert "codeDescription" not in found and "relatedInformation" not in found
    assert server.shut_down() == 0


def test_what_is_ignored_is_logged(editor: Client, kernel: str) -> None:
    editor.change(kernel, 2, {"text": ""})
    logged = editor.next_notification("window/logMessage")
    assert "not open" in logged["message"] and kernel in logged["message"]


@pytest.mark.parametrize(
    ("setting", "method", "empty"),
    [
        ("inlayHints", "inlayHint", []),
        ("codeLens", "codeLens", []),
        ("semanticTokens", "semanticTokens/full", None),
    ],
)
def test_what_is_switched_off(
    server: Client, kernel: str, setting: str, method: str, empty: list | None
) -> None:
    with_settings(server, {setting: {"enable": False}})
    server.open(kernel, KERNEL)
    answer = server.request(f"textDocument/{method}", whole(kernel))
    assert (answer["data"] == []) if empty is None and answer else answer == empty
    server.configuration = {setting: {"enable": True}}
    server.notify("workspace/didChangeConfiguration", {"settings": None})
    server.settle()
    answer = server.request(f"textDocument/{method}", whole(kernel))
    assert answer["data"] if empty is None else answer
    assert server.shut_down() == 0


def labels(client: Client, uri: str) -> set[str]:
    hints = client.request("textDocument/inlayHint", whole(uri))
    return {
        "parameter" if hint.get("kind") == 2 else "variable" if "kind" in hint else "cost"
        for hint in hints
    }


def test_hints_are_switched_off_by_part(server: Client, kernel: str) -> None:
    with_settings(server, {})
    server.open(kernel, KERNEL.replace("(x, y, n, BLOCK", "(x, y, x.numel(), BLOCK"))
    every = {"parameter", "variable", "cost"}
    assert labels(server, kernel) == every
    for setting, part in [("variables", "variable"), ("parameters", "parameter"), ("cost", "cost")]:
        server.configuration = {"inlayHints": {setting: False}}
        server.notify("workspace/didChangeConfiguration", {"settings": None})
        server.settle()
        assert labels(server, kernel) == every - {part}
    assert server.shut_down() == 0


@pytest.mark.parametrize(
    ("setting", "method", "inside"),
    [("completion", "completion", 3), ("hover", "hover", 4), ("signatures", "signatureHelp", 8)],
)
def test_what_is_asked_at_a_place_is_switched_off(
    server: Client, kernel: str, setting: str, method: str, inside: int
) -> None:
    with_settings(server, {setting: {"enable": False}})
    server.open(kernel, KERNEL)
    at = {"textDocument": {"uri": kernel}, "position": place(KERNEL, "tl.load(", inside=inside)}
    assert server.request(f"textDocument/{method}", at) is None
    server.configuration = {setting: {"enable": True}}
    server.notify("workspace/didChangeConfiguration", {"settings": None})
    server.settle()
    assert server.request(f"textDocument/{method}", at)
    assert server.shut_down() == 0


def test_severities_of_findings(server: Client, kernel: str) -> None:
    with_settings(server, {"diagnostics": {"severity": {"repeated-load": "warning"}}})
    assert finding(server, kernel, TWICE, "repeated-load")["severity"] == 2
    server.configuration = {"diagnostics": {"severity": {"memory": "off"}}}
    server.notify("workspace/didChangeConfiguration", {"settings": None})
    server.settle()
    assert not [d for d in server.diagnostics(kernel, 1) if d["code"] == "repeated-load"]
    assert server.shut_down() == 0


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"severity": {"repeated-lod": "off"}}, "there is no diagnostic `repeated-lod`; did you"),
        ({"severity": {"repeated-load": "loud"}}, "`repeated-load` has one of the levels error,"),
        ({"ignore": ["tf32"]}, "the setting tad.diagnostics.ignore: there is no diagnostic `tf32`"),
    ],
)
def test_names_that_settings_have_wrong_are_said(
    server: Client, kernel: str, settings: dict[str, Any], said: str
) -> None:
    """The rest of the settings holds."""
    with_settings(server, {"diagnostics": {"hints": False, **settings}})
    assert said in server.next_notification("window/showMessage")["message"]
    server.open(kernel, TWICE)
    assert not [d for d in server.diagnostics(kernel, 1) if d["severity"] == 4]
    assert server.shut_down() == 0


def test_comments_that_silence_nothing_are_said(editor: Client, kernel: str) -> None:
    text = KERNEL.replace("    y = scale(x)", "    y = scale(x)  # tad: ignore[tf32-dot, tf23-dot]")
    editor.open(kernel, text)
    said = {d["code"]: d for d in editor.diagnostics(kernel, 1)}
    assert said["unused-ignore"]["tags"] == [1]
    assert said["unused-ignore"]["range"]["start"] == place(text, "tf32-dot")
    assert "did you mean `tf32-dot`?" in said["unknown-ignore"]["message"]


def test_a_hint_tells_how_it_came_about_only_when_asked(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    hints = editor.request("textDocument/inlayHint", whole(kernel))
    assert not [hint for hint in hints if "tooltip" in hint]
    lines = KERNEL.splitlines()
    told = {
        lines[hint["position"]["line"]].split()[0]: editor.request("inlayHint/resolve", hint)
        for hint in hints
    }
    assert "i32[BLOCK]" in told["offsets"]["tooltip"]["value"]
    assert "Lanes" in told["offsets"]["tooltip"]["value"]


def cost_hints(client: Client, uri: str) -> dict[str, str]:
    """By the line's first word; what has no kind is no type and no parameter."""
    hints = client.request("textDocument/inlayHint", whole(uri))
    lines = KERNEL.splitlines()
    for hint in hints:
        if "kind" not in hint:
            assert hint["position"]["character"] == len(lines[hint["position"]["line"]])
    return {
        lines[hint["position"]["line"]].split()[0]: hint["label"]
        for hint in hints
        if "kind" not in hint
    }


def test_what_a_line_costs_stands_at_its_end(server: Client, kernel: str) -> None:
    with_settings(server, {})
    server.open(kernel, KERNEL)
    assert cost_hints(server, kernel)["x"] == "up to 128 elements, coalesced"
    hints = server.request("textDocument/inlayHint", whole(kernel))
    cost = next(hint for hint in hints if "kind" not in hint)
    assert "estimate" in server.request("inlayHint/resolve", cost)["tooltip"]["value"]
    assert "**Cost** (estimate): up to 128 elements" in hover(server, kernel, "tl.load", inside=4)
    lenses = server.request("textDocument/codeLens", {"textDocument": {"uri": kernel}})
    titles = [lens["command"]["title"] for lens in lenses]
    assert any(title.startswith("memory-bound, up to 512 bytes a program") for title in titles)
    with_cost_off = {"inlayHints": {"cost": False}, "codeLens": {"cost": False}}
    server.configuration = with_cost_off
    server.notify("workspace/didChangeConfiguration", {"settings": None})
    server.settle()
    assert cost_hints(server, kernel) == {}
    lenses = server.request("textDocument/codeLens", {"textDocument": {"uri": kernel}})
    assert not any("bound" in lens["command"]["title"] for lens in lenses)
    assert server.shut_down() == 0


def hover(client: Client, uri: str, word: str, inside: int = 0) -> str:
    at = {"textDocument": {"uri": uri}, "position": place(KERNEL, word, inside=inside)}
    return client.request("textDocument/hover", at)["contents"]["value"]


def test_what_a_hover_says(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    load = hover(editor, kernel, "tl.load", inside=4)
    assert "tl.load(pointer, mask=None" in load, "signature"
    assert "Values at `pointer`" in load, "documentation"
    assert "**Derivative**" in load, "rule"
    assert "i32[BLOCK]" in hover(editor, kernel, "offsets ="), "shape and type"
    assert "program_id(0)" in hover(editor, kernel, "offsets ="), "address"
    assert "x_ptr[BLOCK*program_id(0) + i]" in hover(editor, kernel, "x_ptr + off"), (
        "who touches it"
    )


def test_plain_text_for_clients_without_markdown(server: Client, kernel: str) -> None:
    plain = {"textDocument": {"hover": {"contentFormat": ["plaintext"]}}}
    server.initialize(plain)
    server.open(kernel, KERNEL)
    at = {"textDocument": {"uri": kernel}, "position": place(KERNEL, "mask = ")}
    contents = server.request("textDocument/hover", at)["contents"]
    assert contents == {"kind": "plaintext", "value": "(tile) mask: i1[BLOCK]"}
    load = {"textDocument": {"uri": kernel}, "position": place(KERNEL, "tl.load", inside=4)}
    value = server.request("textDocument/hover", load)["contents"]["value"]
    assert "lanes where mask is false read other" in value
    assert "Derivative memory" in value and "`" not in value and "**" not in value
    assert server.shut_down() == 0


def test_from_a_line_of_the_backward_to_the_forward_and_back(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    argument = {"uri": kernel, "kernel": "scale_kernel"}
    params = {"command": "tad.backwardPreview", "arguments": [argument]}
    preview = editor.request("workspace/executeCommand", params)
    uri, text = preview["uri"], preview["text"]
    editor.open(uri, text)

    def goes(method: str, word: str) -> dict[str, Any]:
        at = {"textDocument": {"uri": uri}, "position": place(text, word)}
        (link,) = editor.request(f"textDocument/{method}", at)
        assert link["targetUri"] == uri
        return link["targetSelectionRange"]["start"]

    for forward, backward in [
        ("scale_kernel(", "scale_kernel_backward("),
        ("x = tl.load", "dx = "),
        ("y = scale", "dy = "),
    ]:
        assert goes("definition", backward) == place(text, forward)
        assert goes("declaration", forward) == place(text, backward)


def test_from_a_line_of_the_file_to_the_module_beside_it(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    argument = {"uri": kernel, "kernel": "scale_kernel"}
    params = {"command": "tad.backwardPreview", "arguments": [argument]}
    preview = editor.request("workspace/executeCommand", params)
    at = {"textDocument": {"uri": kernel}, "position": place(KERNEL, "x = tl.load")}

    def declared() -> list[dict[str, Any]]:
        return editor.request("textDocument/declaration", at)

    assert [link["targetUri"] for link in declared()] == [kernel]
    path = Path(preview["uri"].removeprefix("file://"))
    path.write_text(preview["text"])  # as accepted, and not open
    (link,) = declared()
    assert link["targetUri"] == preview["uri"]
    assert link["targetSelectionRange"]["start"] == place(preview["text"], "dx = ")
    # A kernel that is no longer the module's leads nowhere but home.
    editor.change(kernel, 2, {"text": KERNEL.replace("other=0.0", "other=1.0")})
    assert [link["targetUri"] for link in declared()] == [kernel]


@pytest.mark.parametrize(
    ("mistake", "answer"),
    [("tl.matmul(x, x)", "`tl.dot(a, b)`"), ("tl.clip(x, 0, 1)", "`tl.clamp(x, low, high)`")],
)
def test_a_name_of_another_library_is_answered_with_tritons(
    editor: Client, kernel: str, mistake: str, answer: str
) -> None:
    editor.open(kernel, KERNEL.replace("scale(x)", mistake))
    diagnostics = editor.diagnostics(kernel, 1)
    (found,) = [one for one in diagnostics if one["code"] == "unknown-operation"]
    assert found["severity"] == 2
    assert found["message"].endswith(f"there is {answer}.")


def test_to_all_kernels_of_a_backward_and_back(editor: Client, tmp_path: Path) -> None:
    """One that is several kernels: each has lines of the forward again, and its own lens."""
    source = (EXAMPLES / "matmul.py").read_text()
    file = tmp_path / "matmul.py"
    file.write_text(source)
    editor.open(file.as_uri(), source)
    argument = {"uri": file.as_uri(), "kernel": "batched_matmul_kernel"}
    params = {"command": "tad.backwardPreview", "arguments": [argument]}
    preview = editor.request("workspace/executeCommand", params)
    uri, text = preview["uri"], preview["text"]
    editor.open(uri, text)
    names = re.findall(r"^def (batched_matmul_kernel_backward\w*)", text, re.MULTILINE)
    assert len(names) == 2
    at = {"textDocument": {"uri": uri}, "position": place(text, "batched_matmul_kernel(")}
    links = editor.request("textDocument/declaration", at)
    starts = [link["targetSelectionRange"]["start"] for link in links]
    assert starts == [place(text, f"{name}(") for name in names]
    for name in names:
        at = {"textDocument": {"uri": uri}, "position": place(text, f"{name}(")}
        (link,) = editor.request("textDocument/definition", at)
        assert link["targetSelectionRange"]["start"] == place(text, "batched_matmul_kernel(")
    lenses = editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    lines = {lens["range"]["start"]["line"] for lens in lenses}
    assert {place(text, f"{name}(")["line"] for name in names} <= lines


BESIDE = KERNEL.replace("    y = scale(x)\n", "    y = scale(x) + nowhere\n    tl.lod(y)\n")
QUIET = ("definition", "typeDefinition", "documentHighlight", "documentSymbol", "prepareRename")


@pytest.mark.parametrize("has_triton", [False, True])
def test_beside_a_server_for_python_nothing_is_said_twice(kernel: str, has_triton: bool) -> None:
    """Names, uses and outlines are left to it; what it knows of Triton, too, where that is installed."""
    server = Client(env=dict.fromkeys(("PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX"), ""))
    environment = Path(kernel.removeprefix("file://")).parent / ".venv"
    language = environment / "lib/python3.11/site-packages/triton/language"
    environment.mkdir()
    (environment / "pyvenv.cfg").write_text("home = /usr/bin\n")
    if has_triton:
        language.mkdir(parents=True)
        (language / "__init__.py").write_text("")
    with_settings(server, {"besidePython": "on"})
    server.open(kernel, BESIDE)
    found = {d["code"] for d in server.diagnostics(kernel, 1)}
    assert "unknown-operation" in found and "undefined-name" not in found
    at = {"textDocument": {"uri": kernel}, "position": place(BESIDE, "x_ptr + offsets", inside=9)}
    for method in QUIET:
        assert not server.request(f"textDocument/{method}", at), method
    assert not server.request(
        "textDocument/references", {**at, "context": {"includeDeclaration": True}}
    )
    assert not server.request("workspace/symbol", {"query": "scale"})
    hover = server.request("textDocument/hover", at)["contents"]["value"]
    assert "i32[BLOCK]" in hover
    load = {**at, "position": place(BESIDE, "tl.load(", inside=4)}
    hover = server.request("textDocument/hover", load)["contents"]["value"]
    assert hover.startswith("Here: ") and ("tl.load(pointer" in hover) is not has_triton
    call = {**at, "position": place(BESIDE, "tl.load(", inside=8)}
    labels = {item["label"] for item in server.request("textDocument/completion", call)["items"]}
    assert ("cache_modifier=" in labels) is not has_triton and "offsets" not in labels
    assert (server.request("textDocument/signatureHelp", call) is None) is has_triton
    asked = {
        "command": "tad.backwardPreview",
        "arguments": [{"uri": kernel, "kernel": "scale_kernel", "where": "below"}],
    }
    server.open(copy := kernel.replace("scale.py", "copy.py"), KERNEL)
    asked["arguments"][0]["uri"] = copy
    module = server.request("workspace/executeCommand", asked)["text"]
    server.change(copy, 2, {"text": module})
    line = {"textDocument": {"uri": copy}, "position": place(module, "    dx = ", inside=5)}
    assert server.request("textDocument/definition", line), "to the forward's line"
    server.configuration = {"besidePython": "off"}
    server.notify("workspace/didChangeConfiguration", {"settings": None})
    server.settle()
    for method in QUIET:
        assert server.request(f"textDocument/{method}", at), method
    found = server.request("textDocument/diagnostic", at)["items"]
    assert "undefined-name" in {d["code"] for d in found}
    assert server.shut_down() == 0
