"""Every method of the table, answered for the text of its time. The client checks each answer against the model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.protocol.client import ROOT, Client, place
from tests.protocol.conftest import KERNEL

CONTENT_MODIFIED, INVALID_PARAMS, REQUEST_FAILED = -32801, -32602, -32803
METHODS = re.findall(
    r'^METHOD\(\w+,\s+"([^"]+)",\s+REQUEST', (ROOT / "server/session/methods.def").read_text(), re.M
)


@pytest.fixture
def opened(editor: Client, kernel: str) -> Client:
    editor.open(kernel, KERNEL)
    editor.diagnostics(kernel, 1)
    return editor


def at(uri: str, word: str, occurrence: int = 1, inside: int = 0) -> dict:
    return {"textDocument": {"uri": uri}, "position": place(KERNEL, word, occurrence, inside)}


def whole(uri: str) -> dict:
    end = {"line": KERNEL.count("\n"), "character": 0}
    return {
        "textDocument": {"uri": uri},
        "range": {"start": {"line": 0, "character": 0}, "end": end},
    }


def text_of(span: dict) -> str:
    line = KERNEL.splitlines()[span["start"]["line"]]
    return line[span["start"]["character"] : span["end"]["character"]]


def test_hover(opened: Client, kernel: str) -> None:
    hover = opened.request("textDocument/hover", at(kernel, "tl.load", inside=4))
    assert "tl.load(" in hover["contents"]["value"]
    assert opened.request("textDocument/hover", at(kernel, "import")) is None


def test_completion(opened: Client, kernel: str) -> None:
    answer = opened.request("textDocument/completion", at(kernel, "tl.load", inside=5))
    items = {item["label"]: item for item in answer["items"]}
    assert text_of(items["load"]["textEdit"]["range"]) in ("lo", "load")
    resolved = opened.request("completionItem/resolve", items["load"])
    assert "Values at `pointer`" in resolved["documentation"]["value"]


def test_completion_in_few_words(server: Client, kernel: str) -> None:
    """A client that knows a range for all items and asks for details gets the list without them."""
    server.initialize(
        {
            "textDocument": {
                "completion": {
                    "completionItem": {
                        "snippetSupport": True,
                        "resolveSupport": {"properties": ["documentation", "detail"]},
                    },
                    "completionList": {"itemDefaults": ["editRange"]},
                }
            }
        }
    )
    server.open(kernel, KERNEL)
    answer = server.request("textDocument/completion", at(kernel, "tl.constexpr", inside=5))
    assert text_of(answer["itemDefaults"]["editRange"]) == "co"
    items = {item["label"]: item for item in answer["items"]}
    assert not any("textEdit" in item for item in items.values())
    assert "detail" not in items["load"] and "textEditText" not in items["float16"]
    assert items["load"]["textEditText"] == "load($0)" and items["load"]["insertTextFormat"] == 2
    assert items["float16"]["detail"]
    resolved = server.request("completionItem/resolve", items["load"])
    assert resolved["detail"].startswith("(pointer, mask=None")
    assert server.shut_down() == 0


def test_signature_help(opened: Client, kernel: str) -> None:
    position = at(kernel, "mask=mask", inside=5)
    answer = opened.request("textDocument/signatureHelp", position)
    signature = answer["signatures"][0]
    start, end = signature["parameters"][answer["activeParameter"]]["label"]
    assert signature["label"][start:end].startswith("mask")


def test_inlay_hints(opened: Client, kernel: str) -> None:
    hints = opened.request("textDocument/inlayHint", whole(kernel))
    shapes = {(h["position"]["line"], h["label"]) for h in hints}
    assert (place(KERNEL, "offsets =")["line"], ": i32[BLOCK]") in shapes
    hint = next(h for h in hints if h["label"] == ": i32[BLOCK]")
    assert opened.request("inlayHint/resolve", hint)["label"] == hint["label"]
    opened.change(kernel, 2, {"text": KERNEL + "\n"})
    assert opened.failure("inlayHint/resolve", hint) == CONTENT_MODIFIED


def test_semantic_tokens(opened: Client, kernel: str) -> None:
    document = {"textDocument": {"uri": kernel}}
    full = opened.request("textDocument/semanticTokens/full", document)
    assert len(full["data"]) > 50 and len(full["data"]) % 5 == 0
    changed = KERNEL.replace("x * 3.0", "x * 3.0 + x")
    opened.change(kernel, 2, {"text": changed})
    delta = opened.request(
        "textDocument/semanticTokens/full/delta", {**document, "previousResultId": full["resultId"]}
    )
    data = list(full["data"])
    for change in reversed(delta["edits"]):
        data[change["start"] : change["start"] + change["deleteCount"]] = change["data"]
    fresh = opened.request("textDocument/semanticTokens/full", document)
    assert data == fresh["data"] != full["data"]
    stale = opened.request(
        "textDocument/semanticTokens/full/delta", {**document, "previousResultId": "none"}
    )
    assert stale["data"] == fresh["data"]
    part = {"start": {"line": 9, "character": 0}, "end": {"line": 12, "character": 0}}
    assert (
        0
        < len(
            opened.request("textDocument/semanticTokens/range", {**document, "range": part})["data"]
        )
        < len(data)
    )


def test_a_difference_after_a_part_is_whole(opened: Client, kernel: str) -> None:
    """Neovim 0.12 puts a part in the whole's place, then asks for a difference from the whole."""
    document = {"textDocument": {"uri": kernel}}
    full = opened.request("textDocument/semanticTokens/full", document)
    part = {"start": {"line": 9, "character": 0}, "end": {"line": 12, "character": 0}}
    opened.request("textDocument/semanticTokens/range", {**document, "range": part})
    asked = {**document, "previousResultId": full["resultId"]}
    answer = opened.request("textDocument/semanticTokens/full/delta", asked)
    assert answer["data"] == full["data"] and answer["resultId"] != full["resultId"]
    asked = {**document, "previousResultId": answer["resultId"]}
    assert opened.request("textDocument/semanticTokens/full/delta", asked)["edits"] == []


def test_outline(opened: Client, kernel: str) -> None:
    document = {"textDocument": {"uri": kernel}}
    names = [symbol["name"] for symbol in opened.request("textDocument/documentSymbol", document)]
    assert {"scale", "scale_kernel", "launch"} <= set(names)
    folds = opened.request("textDocument/foldingRange", document)
    assert any(fold["startLine"] == place(KERNEL, "def scale_kernel")["line"] for fold in folds)
    chain = opened.request(
        "textDocument/selectionRange", {**document, "positions": [place(KERNEL, "mask=mask")]}
    )[0]
    sizes = []
    while chain:
        start, end = chain["range"]["start"], chain["range"]["end"]
        sizes.append((end["line"] - start["line"], start["line"], start["character"]))
        chain = chain.get("parent")
    assert len(sizes) > 3 and sizes[-1][0] > 10


def test_going_places(opened: Client, kernel: str) -> None:
    for method in ("definition", "declaration"):
        links = opened.request(f"textDocument/{method}", at(kernel, "scale(x)", occurrence=2))
        assert links[0]["targetUri"] == kernel
        assert links[0]["targetSelectionRange"]["start"] == place(KERNEL, "scale(x)")
    assert opened.request("textDocument/typeDefinition", at(kernel, "mask =")) is not None
    uses = opened.request(
        "textDocument/references",
        {**at(kernel, "offsets ="), "context": {"includeDeclaration": True}},
    )
    assert len(uses) == KERNEL.count("offsets")
    marks = opened.request("textDocument/documentHighlight", at(kernel, "offsets ="))
    assert sorted(mark["kind"] for mark in marks) == [2] * (len(uses) - 1) + [3]


def test_rename(opened: Client, kernel: str) -> None:
    assert (
        opened.request("textDocument/prepareRename", at(kernel, "offsets ="))["placeholder"]
        == "offsets"
    )
    edit = opened.request("textDocument/rename", {**at(kernel, "offsets ="), "newName": "lanes"})
    changes = edit["documentChanges"][0]
    assert changes["textDocument"]["version"] == 1
    assert {text_of(change["range"]) for change in changes["edits"]} == {"offsets"}
    assert len(changes["edits"]) == KERNEL.count("offsets")
    assert (
        opened.failure("textDocument/rename", {**at(kernel, "offsets ="), "newName": "mask"})
        == -32803
    )
    assert (
        opened.failure("textDocument/rename", {**at(kernel, "offsets ="), "newName": "1x"})
        == -32803
    )


def test_call_hierarchy(opened: Client, kernel: str) -> None:
    item = opened.request("textDocument/prepareCallHierarchy", at(kernel, "scale(x)"))[0]
    assert item["name"] == "scale"
    callers = opened.request("callHierarchy/incomingCalls", {"item": item})
    assert [call["from"]["name"] for call in callers] == ["scale_kernel"]
    launcher = opened.request("textDocument/prepareCallHierarchy", at(kernel, "launch("))[0]
    callees = opened.request("callHierarchy/outgoingCalls", {"item": launcher})
    assert "scale_kernel" in [call["to"]["name"] for call in callees]


def test_lenses(opened: Client, kernel: str) -> None:
    lenses = opened.request("textDocument/codeLens", {"textDocument": {"uri": kernel}})
    commands = {lens["command"]["command"]: lens for lens in lenses}
    assert {"tad.generateBackward", "tad.checkGradients"} <= set(commands)
    argument = commands["tad.checkGradients"]["command"]["arguments"][0]
    assert argument == {"uri": kernel, "kernel": "scale_kernel"}
    resolved = opened.request("codeLens/resolve", commands["tad.checkGradients"])
    assert resolved["command"]["title"] == "Check gradients"


def test_code_actions(opened: Client, kernel: str) -> None:
    opened.change(kernel, 2, {"text": KERNEL.replace("tl.load", "tl.lod")})
    found = opened.diagnostics(kernel, 2)
    wrong = next(d for d in found if d["code"] == "unknown-operation")
    params = {
        "textDocument": {"uri": kernel},
        "range": wrong["range"],
        "context": {"diagnostics": [wrong]},
    }
    actions = opened.request("textDocument/codeAction", params)
    fix = next(
        a
        for a in actions
        if a["kind"] == "quickfix" and a["diagnostics"][0]["code"] == "unknown-operation"
    )
    resolved = opened.request("codeAction/resolve", fix)
    edits = resolved["edit"]["documentChanges"][0]["edits"]
    assert "load" in edits[0]["newText"]
    only = {**params, "context": {"diagnostics": [], "only": ["source.fixAll"]}}
    assert opened.request("textDocument/codeAction", only) == []  # a guess is not safe
    opened.change(kernel, 3, {"text": KERNEL})
    assert opened.failure("codeAction/resolve", fix) == CONTENT_MODIFIED


AGAIN = """import triton
import triton.language as tl


@triton.jit
def again(x_ptr, offsets):
    return tl.load(x_ptr + offsets)


@triton.jit
def sum_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    first = tl.load(x_ptr + offsets)
    total = first + again(x_ptr, offsets)
    tl.store(y_ptr + offsets, total)
"""


def fixes(client: Client, uri: str, text: str, word: str) -> dict[str, dict]:
    """Quick fixes at a word, by the diagnostic that they fix."""
    at = place(text, word)
    params = {
        "textDocument": {"uri": uri},
        "range": {"start": at, "end": at},
        "context": {"diagnostics": [], "only": ["quickfix"]},
    }
    actions = client.request("textDocument/codeAction", params)
    return {
        action["diagnostics"][0]["code"]: action
        for action in actions
        if not action["title"].startswith("Ignore")
    }


def test_a_light_bulb_does_not_analyse_large_kernels_again(opened: Client, kernel: str) -> None:
    """`first` is no name of the helper: a small kernel is tried, a large one when the fix is chosen."""
    opened.change(kernel, 2, {"text": AGAIN})
    assert "repeated-load" not in fixes(opened, kernel, AGAIN, "tl.load(x_ptr")
    large = AGAIN.replace("    tl.store", "    total = total * 1.5\n" * 200 + "    tl.store")
    opened.change(kernel, 3, {"text": large})
    action = fixes(opened, kernel, large, "tl.load(x_ptr")["repeated-load"]
    assert opened.failure("codeAction/resolve", action) == REQUEST_FAILED
    # Of several spellings the best one is found out when it is chosen.
    wrong = large.replace("tl.store", "tl.stor")
    opened.change(kernel, 4, {"text": wrong})
    action = fixes(opened, kernel, wrong, "tl.stor")["unknown-operation"]
    assert action["title"] == "Use the name that exists"
    edit = opened.request("codeAction/resolve", action)["edit"]
    assert edit["documentChanges"][0]["edits"][0]["newText"] == "store"


def test_backward_is_an_edit_that_is_looked_at_first(opened: Client, kernel: str) -> None:
    actions = opened.request(
        "textDocument/codeAction",
        {
            "textDocument": {"uri": kernel},
            "range": {"start": place(KERNEL, "scale_kernel"), "end": place(KERNEL, "scale_kernel")},
            "context": {"diagnostics": [], "only": ["refactor"]},
        },
    )
    action = next(a for a in actions if "new file" in a["title"])
    edit = opened.request("codeAction/resolve", action)["edit"]
    create, fill = edit["documentChanges"]
    assert create["kind"] == "create" and create["uri"].endswith("scale_backward.py")
    assert create["options"] == {"overwrite": False, "ignoreIfExists": False}
    assert "def scale_kernel_backward(" in fill["edits"][0]["newText"]
    assert edit["changeAnnotations"][create["annotationId"]]["needsConfirmation"] is True


OURS = '"""Backward of scale.py, derived by tad-lsp.\n"""\n'


def new_file_action(client: Client, kernel: str) -> dict:
    return actions_at(client, kernel, KERNEL, "scale_kernel")["Generate backward in a new file"]


def test_a_module_of_ours_is_filled_anew_not_made(opened: Client, kernel: str, tmp_path: Path) -> None:
    (tmp_path / "scale_backward.py").write_text(OURS)
    edit = opened.request("codeAction/resolve", new_file_action(opened, kernel))["edit"]
    (fill,) = edit["documentChanges"]
    assert fill["edits"][0]["range"]["end"] == {"line": 2, "character": 0}


@pytest.mark.parametrize("there", ["on disk", "open", "link out", "dangling link", "the kernel itself"])
def test_a_file_of_others_is_not_replaced_by_an_edit(
    opened: Client, kernel: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, there: str
) -> None:
    file = tmp_path / "scale_backward.py"
    outside = tmp_path_factory.mktemp("outside") / "file.py"
    if there == "on disk":
        file.write_text("# somebody's\n")
    elif there == "open":
        opened.open(file.as_uri(), "# somebody's\n")
    elif there == "the kernel itself":
        file.symlink_to("scale.py")
    else:
        file.symlink_to(outside)
    if there == "link out":
        outside.write_text(OURS)
    number = opened.start("codeAction/resolve", new_file_action(opened, kernel))
    error = opened.wait(number)["error"]
    wanted = {"link out": "leads out", "dangling link": "leads nowhere"}
    assert error["code"] == REQUEST_FAILED and wanted.get(there, "not written by tad-lsp") in error["message"]
    argument = {"uri": kernel, "kernel": "scale_kernel", "where": "file"}
    ask = {"command": "tad.backwardPreview", "arguments": [argument]}
    preview = opened.request("workspace/executeCommand", ask)
    assert preview["refusal"] == error["message"] and not preview["text"]


def actions_at(client: Client, uri: str, text: str, word: str) -> dict[str, dict]:
    """By title."""
    at = place(text, word)
    asked = {
        "textDocument": {"uri": uri},
        "range": {"start": at, "end": at},
        "context": {"diagnostics": []},
    }
    return {action["title"]: action for action in client.request("textDocument/codeAction", asked)}


@pytest.mark.parametrize("versioned", [True, False])
def test_a_backward_for_clients_that_make_no_files(
    server: Client, kernel: str, tmp_path: Path, versioned: bool
) -> None:
    """They are told to write into a file that is not there; into all of one that is."""
    workspace = {"workspaceEdit": {"documentChanges": versioned}}
    resolve = {"codeAction": {"resolveSupport": {"properties": ["edit"]}}}
    server.initialize({"workspace": workspace, "textDocument": resolve})
    server.open(kernel, KERNEL)
    uri = (tmp_path / "scale_backward.py").as_uri()

    def edits() -> list[dict]:
        action = actions_at(server, kernel, KERNEL, "scale_kernel")[
            "Generate backward in a new file"
        ]
        edit = server.request("codeAction/resolve", action)["edit"]
        if not versioned:
            return edit["changes"][uri]
        (change,) = edit["documentChanges"]
        assert change["textDocument"] == {"uri": uri, "version": None}
        return change["edits"]

    (fill,) = edits()
    assert fill["range"]["end"] == {"line": 0, "character": 0}
    assert "def scale_kernel_backward(" in fill["newText"]
    (tmp_path / "scale_backward.py").write_text(OURS + "# lines")
    assert edits()[0]["range"]["end"] == {"line": 2, "character": 7}
    server.open(uri, OURS + "\n\n", 4)
    assert edits()[0]["range"]["end"] == {"line": 4, "character": 0}
    assert server.shut_down() == 0


def test_actions_for_clients_that_resolve_nothing(server: Client, kernel: str) -> None:
    text = KERNEL.replace("tl.load", "tl.lod").replace("mask=mask, other=0.0", "mask=mask")
    server.initialize({"workspace": {"workspaceEdit": {"documentChanges": True}}})
    server.open(kernel, text)
    fix = actions_at(server, kernel, text, "lod")["Use `load`"]
    assert fix["edit"]["documentChanges"][0]["edits"][0]["newText"] == "load"
    server.change(kernel, 2, {"text": KERNEL})
    below = actions_at(server, kernel, KERNEL, "scale_kernel")["Generate backward below the kernel"]
    call = {key: below["command"][key] for key in ("command", "arguments")}
    server.request("workspace/executeCommand", call)
    asked = next(r for r in server.requests if r["method"] == "workspace/applyEdit")
    (change,) = asked["params"]["edit"]["documentChanges"]
    assert any("def scale_kernel_backward(" in edit["newText"] for edit in change["edits"])
    assert server.shut_down() == 0


def test_pulled_diagnostics(opened: Client, kernel: str) -> None:
    document = {"textDocument": {"uri": kernel}}
    opened.change(kernel, 2, {"text": KERNEL.replace("tl.load", "tl.lod")})
    pushed = opened.diagnostics(kernel, 2)
    full = opened.request("textDocument/diagnostic", document)
    assert full["kind"] == "full" and full["items"] == pushed
    again = opened.request(
        "textDocument/diagnostic", {**document, "previousResultId": full["resultId"]}
    )
    assert again["kind"] == "unchanged"


def test_workspace_symbols(server: Client, kernel: str, tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(KERNEL.replace("scale_kernel", "other_kernel"))
    server.initialize(workspaceFolders=[{"uri": tmp_path.as_uri(), "name": "here"}])
    found = server.request("workspace/symbol", {"query": "kernel"})
    assert {symbol["name"] for symbol in found} == {"scale_kernel", "other_kernel"}
    found = server.request("workspace/symbol", {"query": "otker"})
    assert [symbol["name"] for symbol in found] == ["other_kernel"]
    answer = server.request("workspace/diagnostic", {"previousResultIds": []})
    assert {item["uri"].rsplit("/", 1)[1] for item in answer["items"]} == {"scale.py", "other.py"}
    assert server.shut_down() == 0


DOCUMENT_METHODS = [name for name in METHODS if name.startswith("textDocument/")]


@pytest.mark.parametrize("method", DOCUMENT_METHODS)
def test_a_document_that_is_not_open(editor: Client, method: str) -> None:
    document = {"textDocument": {"uri": "file:///nowhere.py"}}
    assert editor.failure(method, document) == INVALID_PARAMS
    assert editor.failure(method, {}) == INVALID_PARAMS
    assert editor.failure(method) == INVALID_PARAMS


@pytest.mark.parametrize("method", METHODS)
def test_params_of_the_wrong_kind(opened: Client, kernel: str, method: str) -> None:
    if method in ("initialize", "shutdown"):
        return
    for params in (
        {
            "textDocument": {"uri": kernel},
            "position": "here",
            "range": 3,
            "positions": {},
            "context": [],
            "item": 1,
        },
        {
            "textDocument": {"uri": kernel},
            "position": {"line": -1, "character": 1e99},
            "data": {"uri": kernel},
        },
        {
            "data": {
                "uri": kernel,
                "offset": -5,
                "version": 1,
                "start": -1,
                "end": 1e30,
                "action": "ignore",
            }
        },
        {"item": {"uri": kernel, "selectionRange": {"start": {"line": 1e9, "character": 0}}}},
        {"command": "tad.kernels", "arguments": {}},
        [],
    ):
        opened.send({"id": "odd", "method": method, "params": params})
        opened.wait("odd")
        del opened.answers["odd"]
    assert opened.request("textDocument/hover", at(kernel, "tl.load", inside=4))


def test_every_request_of_the_table_is_used_here() -> None:
    text = "".join(file.read_text() for file in Path(__file__).parent.glob("test_*.py"))
    missing = [
        name for name in METHODS if f'"{name}"' not in text and name.rsplit("/", 1)[-1] not in text
    ]
    assert missing == []
