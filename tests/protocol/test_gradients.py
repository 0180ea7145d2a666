"""Backwards and gradient checks: the edit, the check after it, results on lenses, stale results, cancelling."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import FAKE_RUNNER
from tests.emitted.test_saving import NORM
from tests.protocol.client import BIN_DEV, CAPABILITIES, Client, edit, frame, place
from tests.protocol.conftest import KERNEL

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CANCELLED, REQUEST_FAILED, INVALID_PARAMS = -32800, -32803, -32602
ATOMIC = KERNEL.replace(
    "tl.store(y_ptr + offsets, y, mask=mask)", "tl.atomic_max(y_ptr + offsets, y, mask=mask)"
)


def command(
    name: str, uri: str, kernel: str | None = "scale_kernel", **more: Any
) -> dict[str, Any]:
    argument = {"uri": uri, **({"kernel": kernel} if kernel else {}), **more}
    return {"command": f"tad.{name}", "arguments": [argument]}


def status(client: Client, *wanted: str) -> dict[str, Any]:
    return client.next_notification("tad/gradientStatus", lambda params: params["status"] in wanted)


def titles(client: Client, uri: str) -> list[str]:
    lenses = client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    return [lens["command"]["title"] for lens in lenses]


def renamed(word: str) -> str:
    return KERNEL.replace("scale_kernel", f"{word}_kernel")


@pytest.fixture
def faked(tmp_path: Path) -> Iterator[Client]:
    """With a worker that does what the kernel's name says, under the address sanitizer."""
    server = Client(program=BIN_DEV / "tad-lsp")
    folder = tmp_path / "bin"
    folder.mkdir()
    runner = folder / "fake-runner"
    runner.write_text(FAKE_RUNNER.format(python=sys.executable))
    runner.chmod(0o755)
    server.configuration = {"runner": {"command": str(runner)}}
    server.initialize(initializationOptions={"settings": server.configuration})
    yield server
    assert server.shut_down() == 0
    assert server.stderr == b""


def test_a_check(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    result = editor.request("workspace/executeCommand", command("checkGradients", kernel))
    assert result["status"] == "proved" and result["worst_error"] < 1e-6
    assert result["inputs"][0]["name"] == "x_ptr" and result["stale"] is False
    assert status(editor, "running")["kernel"] == "scale_kernel"
    assert status(editor, "proved")["version"] == 1
    title = next(title for title in titles(editor, kernel) if "gradients proved" in title)
    assert re.search(r", worst \d\.\de[-+]\d\d, ([1-9]\d{0,2} ms|\d+\.\d s)$", title)
    proved: list[dict[str, Any]] = []
    while not proved:
        proved = [d for d in editor.diagnostics(kernel, 1) if d["code"] == "gradient-proved"]
    assert proved[0]["range"]["start"] == place(KERNEL, "scale_kernel")


@pytest.mark.parametrize("name", ["gradient-proved", "gradient-verified"])
def test_a_result_is_silenced_by_its_present_and_its_former_name(
    editor: Client, kernel: str, name: str
) -> None:
    editor.open(kernel, f"# tad: ignore-file[{name}]\n{KERNEL}")
    editor.request("workspace/executeCommand", command("checkGradients", kernel))
    assert status(editor, "proved")
    asked = {"textDocument": {"uri": kernel}}
    found = editor.request("textDocument/diagnostic", asked)["items"]
    assert not {d["code"] for d in found} & {"gradient-proved", "unknown-ignore"}, found
    editor.change(kernel, 2, {"text": KERNEL})
    found = editor.request("textDocument/diagnostic", asked)["items"]
    assert "gradient-proved" in {d["code"] for d in found}


def test_progress(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    editor.request("workspace/executeCommand", command("checkGradients", kernel))
    kinds = []
    while not kinds or kinds[-1] != "end":
        kinds.append(editor.next_notification("$/progress")["value"]["kind"])
    assert kinds[0] == "begin" and "report" in kinds


def test_results_become_stale_and_fresh_again(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    editor.request("workspace/executeCommand", command("checkGradients", kernel))
    above = KERNEL.replace("import triton\n", "# a comment\nimport triton\n", 1)
    editor.change(kernel, 2, {"text": above})
    assert any("gradients proved" in title for title in titles(editor, kernel))
    editor.change(kernel, 3, {"text": above.replace("x * 3.0", "x * 4.0")})  # in the helper
    assert status(editor, "proved") and status(editor, "proved")["stale"] is True
    assert any("check again" in title for title in titles(editor, kernel))
    found = editor.diagnostics(kernel, 3)
    assert "gradient-proved" not in [d["code"] for d in found]
    editor.change(kernel, 4, {"text": KERNEL})
    assert status(editor, "proved")["stale"] is False
    assert any("gradients proved" in title for title in titles(editor, kernel))


def test_generated_and_checked(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    result = editor.request("workspace/executeCommand", command("generateBackward", kernel))
    assert result["kernel"] == "scale_kernel"
    assert status(editor, "proved")["kernel"] == "scale_kernel"
    asked = next(
        request for request in editor.requests if request["method"] == "workspace/applyEdit"
    )
    create, fill = asked["params"]["edit"]["documentChanges"]
    text = fill["edits"][0]["newText"]
    editor.open(create["uri"], text)
    assert titles(editor, create["uri"])
    checked = editor.request("workspace/executeCommand", command("checkGradients", create["uri"]))
    assert checked["status"] == "proved"
    # The backward is no forward of its own.
    for name in ("kernels", "checkAllGradients"):
        listed = editor.request("workspace/executeCommand", command(name, create["uri"], None))
        assert [one["kernel"] for one in listed] == ["scale_kernel"]


def test_a_wrong_backward_is_found(editor: Client, kernel: str) -> None:
    """The backward that stands in the file is checked, not the one that would be derived."""
    editor.open(kernel, KERNEL)
    preview = editor.request("workspace/executeCommand", command("backwardPreview", kernel))
    assert preview["uri"].endswith("scale_backward.py")
    text = preview["text"]
    start = text.index("def scale_kernel_backward")
    wrong = text[:start] + text[start:].replace("* 3.0", "* 2.0", 1)
    assert wrong != text
    editor.open(preview["uri"], wrong)
    result = editor.request("workspace/executeCommand", command("checkGradients", preview["uri"]))
    assert result["status"] == "failed" and result["reason"]
    assert any("gradients wrong" in title for title in titles(editor, preview["uri"]))
    errors = []
    while not errors:
        errors = [d for d in editor.diagnostics(preview["uri"], 1) if d["code"] == "gradient-wrong"]
    assert errors[0]["severity"] == 1
    # Where the wrong gradient is written, also after lines were added above.
    store = place(wrong, "tl.store(dx_ptr")
    assert errors[0]["range"]["start"] == result["range"]["start"] == store
    editor.change(preview["uri"], 2, {"text": "# a comment\n" + wrong})
    moved = [d for d in editor.diagnostics(preview["uri"], 2) if d["code"] == "gradient-wrong"]
    assert moved[0]["range"]["start"] == {**store, "line": store["line"] + 1}


def test_a_derivative_by_hand(editor: Client, kernel: str) -> None:
    """Looked at where it stands, at each key; refuted there; never proved where nothing can check it."""
    body = "    return tl.exp2(x * 1.4426950408889634)\n"
    helper = "# tad: backward of power(x): {}\n@triton.jit\ndef power(x):\n{}\n\n"
    text = KERNEL.replace("@triton.jit", helper.format("grad * resul", body) + "@triton.jit", 1)
    text = text.replace("y, mask=mask)", "power(y), mask=mask)")
    assert text.count("power(") == 3
    editor.open(kernel, text)
    (said,) = [d for d in editor.diagnostics(kernel, 1) if d["code"] == "gradient-rule"]
    assert "`resul` is not defined" in said["message"]
    assert said["range"]["start"] == place(text, "resul\n")
    for version, rule, wanted in ((2, "grad * result", "proved"), (3, "2 * grad", "failed")):
        edited = text.replace("grad * resul\n", rule + "\n")
        editor.change(kernel, version, {"text": edited})
        found = editor.diagnostics(kernel, version)
        assert not [d for d in found if d["code"] == "gradient-rule"]
        result = editor.request("workspace/executeCommand", command("checkGradients", kernel))
        assert result["status"] == wanted
    assert result["range"]["start"] == place(edited, "# tad: backward")
    wrong: list[dict[str, Any]] = []
    while not wrong:
        wrong = [d for d in editor.diagnostics(kernel, 3) if d["code"] == "gradient-wrong"]
    assert wrong[0]["range"]["start"] == place(edited, "# tad: backward")
    assert "given by hand" in wrong[0]["message"]
    bits = "    return (x * 12102203.0 + 1064866805.0).to(tl.int32).to(tl.float32, bitcast=True)\n"
    editor.change(kernel, 4, {"text": edited.replace(body, bits)})
    result = editor.request("workspace/executeCommand", command("checkGradients", kernel))
    assert result["status"] == "unproved" and "given by hand" in result["reason"]


def test_an_edit_around_the_kernels_is_found(editor: Client, kernel: str) -> None:
    """The kernels are proved, and a gradient that Python halves is not; nor is it where a line was added above."""
    editor.open(kernel, KERNEL)
    preview = editor.request("workspace/executeCommand", command("backwardPreview", kernel))
    uri, text = preview["uri"], preview["text"]
    edited = text.replace(", None, dx_ptr, ", ", None, 0.5 * dx_ptr, ")
    assert edited != text
    editor.open(uri, edited)
    result = editor.request("workspace/executeCommand", command("checkGradients", uri))
    assert result["status"] == "unproved" and "edited around them" in result["reason"], result
    told = []
    while not told:
        told = [d for d in editor.diagnostics(uri, 1) if d["code"] == "gradient-function-edited"]
    line = place(edited, "0.5 * dx_ptr")["line"]
    assert len(told) == 1 and told[0]["severity"] == 2
    assert told[0]["range"]["start"]["line"] == line
    editor.change(uri, 2, {"text": "# a comment\n" + edited})
    moved = [d for d in editor.diagnostics(uri, 2) if d["code"] == "gradient-function-edited"]
    assert moved[0]["range"]["start"]["line"] == line + 1
    # Mended, it is another text: the result is stale, and nothing is told.
    editor.change(uri, 3, {"text": text})
    assert "gradient-function-edited" not in {d["code"] for d in editor.diagnostics(uri, 3)}
    result = editor.request("workspace/executeCommand", command("checkGradients", uri))
    assert result["status"] == "proved"


def test_preview_below_and_refusals(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    below = editor.request(
        "workspace/executeCommand", command("backwardPreview", kernel, where="below")
    )
    assert below["uri"] == kernel and "def scale_kernel_backward(" in below["text"]
    missing = command("backwardPreview", kernel, kernel="nobody")
    assert editor.failure("workspace/executeCommand", missing) == REQUEST_FAILED
    editor.change(kernel, 2, {"text": ATOMIC})
    refused = editor.request("workspace/executeCommand", command("backwardPreview", kernel))
    assert refused["refusal"] and refused["text"] == ""
    result = editor.request("workspace/executeCommand", command("checkGradients", kernel))
    assert result["status"] == "refused" and result["reason"]
    assert any(title.startswith("no backward: ") for title in titles(editor, kernel))
    actions = editor.request(
        "textDocument/codeAction",
        {
            "textDocument": {"uri": kernel},
            "range": {"start": place(ATOMIC, "scale_kernel"), "end": place(ATOMIC, "scale_kernel")},
            "context": {"diagnostics": [], "only": ["refactor"]},
        },
    )
    backward = next(a for a in actions if "backward" in a["title"])
    assert backward["disabled"]["reason"]


def test_a_text_without_a_file_has_its_backward_below(editor: Client) -> None:
    uri = "untitled:Untitled-1"
    editor.open(uri, KERNEL)
    preview = editor.request("workspace/executeCommand", command("backwardPreview", uri))
    assert preview["uri"] == uri and "def scale_kernel_backward(" in preview["text"]
    assert (
        KERNEL[KERNEL.index("@triton.jit\ndef scale_kernel") : KERNEL.index("def launch")]
        in preview["text"]
    )
    at = place(KERNEL, "scale_kernel")
    actions = editor.request(
        "textDocument/codeAction",
        {
            "textDocument": {"uri": uri},
            "range": {"start": at, "end": at},
            "context": {"diagnostics": [], "only": ["refactor"]},
        },
    )
    reasons = {action["title"]: action.get("disabled") for action in actions}
    assert "save it first" in reasons["Generate backward in a new file"]["reason"]
    assert reasons["Generate backward below the kernel"] is None


@pytest.mark.parametrize("has_lenses", [True, False])
def test_where_no_lens_is_shown_the_check_is_an_action(
    server: Client, kernel: str, has_lenses: bool
) -> None:
    server.initialize({"textDocument": {"codeLens": {}} if has_lenses else {}})
    server.open(kernel, KERNEL)
    at = place(KERNEL, "tl.load")
    asked = {
        "textDocument": {"uri": kernel},
        "range": {"start": at, "end": at},
        "context": {"diagnostics": []},
    }
    actions = server.request("textDocument/codeAction", asked)
    checks = [action for action in actions if action["kind"] == "refactor.check"]
    assert [action["title"] for action in checks] == (
        [] if has_lenses else ["Check the gradients of scale_kernel"]
    )
    for action in checks:
        call = {key: action["command"][key] for key in ("command", "arguments")}
        assert server.request("codeAction/resolve", action) == action
        assert server.request("workspace/executeCommand", call)["status"] == "proved"
    asked["context"]["only"] = ["quickfix"]
    assert all(a["kind"] == "quickfix" for a in server.request("textDocument/codeAction", asked))
    assert server.shut_down() == 0


def test_kernels_schedule_explain(editor: Client, kernel: str) -> None:
    # Not open: read from disk.
    kernels = editor.request("workspace/executeCommand", command("kernels", kernel, None))
    assert [(k["kernel"], k["status"]) for k in kernels] == [("scale_kernel", "unchecked")]
    assert kernels[0]["range"]["start"] == place(KERNEL, "scale_kernel")
    schedule = editor.request("workspace/executeCommand", command("schedule", kernel))
    assert schedule["axes"] == [{"axis": 0, "extent": "triton.cdiv(n, 128)"}]
    gradient = schedule["gradients"][0]
    assert gradient["input"] == "x_ptr" and gradient["after"]["atomic"] is False
    assert gradient["before"]["own"] == [0] and gradient["before"]["shared"] == []
    page = editor.request(
        "workspace/executeCommand",
        {"command": "tad.explain", "arguments": [{"name": "unmasked-load"}]},
    )
    assert page.startswith("# unmasked-load")


@pytest.mark.parametrize(
    "params",
    [
        {"command": "tad.none", "arguments": []},
        {"command": "tad.kernels", "arguments": []},
        {"command": "tad.kernels"},
        {"command": "tad.explain", "arguments": [{"name": "nothing"}]},
        {"command": "tad.checkGradients", "arguments": [{"uri": "file:///a.py"}]},
        {},
    ],
)
def test_wrong_commands(editor: Client, params: dict) -> None:
    assert editor.failure("workspace/executeCommand", params) in (INVALID_PARAMS, REQUEST_FAILED)


UNTRUSTED = [
    None,
    {},
    {"trusted": False},
    {"trusted": "yes"},
    {"trusted": 1},
    {"settings": {"trusted": True}},
]


@pytest.mark.parametrize("options", UNTRUSTED, ids=str)
def test_nothing_is_run_for_a_client_that_does_not_say_trusted(
    server: Client, kernel: str, tmp_path: Path, options: dict | None
) -> None:
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    folder = {
        "trusted": True,
        "runner": {"command": "./program"},
        "python": {"command": "./program"},
    }
    server.configuration = folder
    params = {"processId": None, "rootUri": tmp_path.as_uri(), "capabilities": CAPABILITIES}
    server.request(
        "initialize", params if options is None else {**params, "initializationOptions": options}
    )
    server.notify("initialized", {})
    server.open(kernel, KERNEL)
    server.settle()
    result = server.request("workspace/executeCommand", command("checkGradients", kernel))
    assert result["status"] == "unproved" and "not trusted" in result["reason"]
    generate = command("generateBackward", kernel)
    generate["arguments"][0]["where"] = "file"
    server.request("workspace/executeCommand", generate)
    number = server.start("workspace/executeCommand", command("timeKernel", kernel))
    # In the same words, wherever it is asked for.
    assert server.wait(number)["error"]["message"] == result["reason"]
    assert server.shut_down() == 0
    assert not ran.exists()


def test_all_of_a_file(faked: Client, kernel: str) -> None:
    text = renamed("good") + "".join(
        renamed(word)[46:].replace("scale(", f"{word}_scale(")
        for word in ("wrong", "refused", "dies")
    )
    faked.open(kernel, text)
    results = faked.request("workspace/executeCommand", command("checkAllGradients", kernel, None))
    states = {result["kernel"].removesuffix("_kernel"): result["status"] for result in results}
    assert states == {
        "good": "proved",
        "wrong": "failed",
        "refused": "unproved",
        "dies": "unproved",
    }
    reasons = {result["kernel"].removesuffix("_kernel"): result["reason"] for result in results}
    assert reasons["refused"] == "cannot run this" and "the last words" in reasons["dies"]


@pytest.mark.parametrize("way", ["request", "progress"])
def test_a_long_check_is_cancelled(faked: Client, kernel: str, way: str) -> None:
    faked.open(kernel, renamed("hangs"))
    number = faked.start(
        "workspace/executeCommand", command("checkGradients", kernel, kernel="hangs_kernel")
    )
    assert status(faked, "running")["kernel"] == "hangs_kernel"
    if way == "request":
        faked.notify("$/cancelRequest", {"id": number})
    else:
        token = faked.next_notification("$/progress")["token"]
        faked.notify("window/workDoneProgress/cancel", {"token": token})
    assert faked.wait(number)["error"]["code"] == CANCELLED
    assert status(faked, "unchecked")["kernel"] == "hangs_kernel"
    # The worker is free again.
    faked.change(kernel, 2, {"text": renamed("good")})
    result = faked.request(
        "workspace/executeCommand", command("checkGradients", kernel, kernel="good_kernel")
    )
    assert result["status"] == "proved", result.get("reason")


def processes_below(pid: int) -> Iterator[int]:
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in children.read_text().split():
            yield int(child)
            yield from processes_below(int(child))


def test_a_check_gives_way_to_typing(faked: Client, kernel: str) -> None:
    """Its worker has a lower priority than the server."""
    faked.open(kernel, renamed("hangs"))
    number = faked.start(
        "workspace/executeCommand", command("checkGradients", kernel, kernel="hangs_kernel")
    )
    assert status(faked, "running")["kernel"] == "hangs_kernel"
    own = os.getpriority(os.PRIO_PROCESS, faked.process.pid)
    end = time.monotonic() + 60
    lower: set[int] = set()
    while not lower and time.monotonic() < end:
        priorities = {
            os.getpriority(os.PRIO_PROCESS, pid) for pid in processes_below(faked.process.pid)
        }
        lower = {priority for priority in priorities if priority > own}
    assert lower
    faked.notify("$/cancelRequest", {"id": number})
    assert faked.wait(number)["error"]["code"] == CANCELLED


def test_a_session_that_ends_during_a_check(server: Client, kernel: str, tmp_path: Path) -> None:
    runner = tmp_path / "slow"
    runner.write_text("#!/bin/sh\nexec sleep 600\n")
    runner.chmod(0o755)
    server.initialize(initializationOptions={"settings": {"runner": {"command": str(runner)}}})
    server.open(kernel, KERNEL)
    server.start("workspace/executeCommand", command("checkGradients", kernel))
    status(server, "running")
    assert server.shut_down() == 0


def test_no_runner(server: Client, kernel: str, tmp_path: Path) -> None:
    server.configuration = {"runner": {"command": str(tmp_path / "nowhere")}}
    server.initialize(initializationOptions={"settings": server.configuration})
    server.open(kernel, KERNEL)
    result = server.request("workspace/executeCommand", command("checkGradients", kernel))
    assert result["status"] == "unproved" and "cannot start" in result["reason"]
    assert server.shut_down() == 0


def test_settings(server: Client, kernel: str, tmp_path: Path) -> None:
    wrong = KERNEL.replace("tl.load", "tl.lod")
    server.configuration = {
        "diagnostics": {"ignore": ["unknown-operation"]},
        "codeLens": {"enable": False},
    }
    server.initialize()
    server.open(kernel, wrong)
    server.change(kernel, 2, edit(0, 0, 0, 0, ""))
    server.request("textDocument/documentSymbol", {"textDocument": {"uri": kernel}})
    while "workspace/configuration" not in [request["method"] for request in server.requests]:
        server._take()
    server.change(kernel, 3, edit(0, 0, 0, 0, ""))
    found = server.diagnostics(kernel, 3)
    assert "unknown-operation" not in [d["code"] for d in found]
    assert server.request("textDocument/codeLens", {"textDocument": {"uri": kernel}}) == []
    server.configuration = {"diagnostics": {"ignore": 7}}
    server.notify("workspace/didChangeConfiguration", {"settings": None})
    assert "diagnostics.ignore" in server.next_notification("window/showMessage")["message"]
    (tmp_path / "pyproject.toml").write_text('[tool.tad]\nignore = ["language"]\n')
    changes = [{"uri": (tmp_path / "pyproject.toml").as_uri(), "type": 1}]
    server.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    server.change(kernel, 4, edit(0, 0, 0, 0, ""))
    assert "unknown-operation" not in [d["code"] for d in server.diagnostics(kernel, 4)]
    assert server.shut_down() == 0


def test_every_edit_is_told_apart_from_a_result(editor: Client, kernel: str) -> None:
    """Of two edits in one breath, the news of the first may not get lost with its diagnostics."""
    editor.open(kernel, KERNEL)
    editor.request("workspace/executeCommand", command("checkGradients", kernel))
    status(editor, "proved")
    at = place(KERNEL, "x * 3.0", inside=4)
    put = edit(at["line"], at["character"], at["line"], at["character"], "1")
    more = edit(at["line"], at["character"], at["line"], at["character"], "2")
    back = edit(at["line"], at["character"], at["line"], at["character"] + 2, "")
    version = 1
    for changes in [[put, more], [back]] * 30:
        messages = b""
        for change in changes:
            version += 1
            params = {
                "textDocument": {"uri": kernel, "version": version},
                "contentChanges": [change],
            }
            message = {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params}
            messages += frame(json.dumps(message).encode())
        editor.write(messages)
        is_stale = changes != [back]
        assert status(editor, "proved")["stale"] is is_stale
    editor.settle()


def test_imports_are_read_again(editor: Client, tmp_path: Path) -> None:
    helper = tmp_path / "helper.py"
    start = "import triton\nimport triton.language as tl\n\n\n"
    helper.write_text(start + "@triton.jit\ndef twice(x):\n    return x * 2.0\n")
    body = KERNEL[KERNEL.index("@triton.jit\ndef scale_kernel") :].replace("scale(x)", "twice(x)")
    text = start.replace("\n\n\n", "\nfrom helper import twice\n\n\n") + body
    uri = (tmp_path / "user.py").as_uri()
    editor.open(uri, text)
    assert [d["code"] for d in editor.diagnostics(uri, 1) if d["severity"] == 1] == []
    helper.write_text(start + "@triton.jit\ndef twice(x):\n    return tl.lod(x)\n")
    editor.notify(
        "workspace/didChangeWatchedFiles", {"changes": [{"uri": helper.as_uri(), "type": 2}]}
    )
    position = {"textDocument": {"uri": uri}, "position": place(text, "twice(x)")}
    links = editor.request("textDocument/definition", position)
    assert links[0]["targetUri"] == helper.as_uri()


def test_file_and_module_know_each_other(editor: Client, kernel: str) -> None:
    """The result of a check stands in both; each says when it is no longer the other's."""
    editor.open(kernel, KERNEL)
    preview = editor.request("workspace/executeCommand", command("backwardPreview", kernel))
    module = preview["uri"]
    Path(module.removeprefix("file://")).write_text(preview["text"])  # as accepted, and not open
    checked = editor.request("workspace/executeCommand", command("checkGradients", kernel))
    assert checked["uri"] == kernel and checked["status"] == "proved"
    assert status(editor, "proved")["uri"] == kernel
    assert status(editor, "proved")["uri"] == module
    editor.open(module, preview["text"])
    proved = titles(editor, module)
    assert [title[:16] for title in proved] == [
        "gradients proved",
        "Check again",
        "Time",
        "memory-bound, up",
        "gradients proved",
        "Check again",
    ]
    assert not any("backward" in title for title in titles(editor, kernel))

    editor.change(kernel, 2, {"text": KERNEL.replace("x * 3.0", "x * 4.0")})  # in the helper
    assert titles(editor, kernel)[0] == "Update backward"
    changed = "scale.py has changed: update backward"
    assert [title for title in titles(editor, module) if title == changed] == [changed] * 2
    lenses = editor.request("textDocument/codeLens", {"textDocument": {"uri": module}})
    asked = next(lens["command"] for lens in lenses if lens["command"]["title"] == changed)
    assert asked["command"] == "tad.generateBackward"
    assert asked["arguments"] == [{"uri": kernel, "kernel": "scale_kernel"}]
    updated = editor.request("workspace/executeCommand", command("backwardPreview", kernel))
    editor.change(module, 2, {"text": updated["text"]})
    assert changed not in titles(editor, module)
    assert not any("backward" in title for title in titles(editor, kernel))


def test_an_edited_backward_has_results_of_its_own(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    preview = editor.request("workspace/executeCommand", command("backwardPreview", kernel))
    start = preview["text"].index("def scale_kernel_backward")
    text = preview["text"][:start] + preview["text"][start:].replace("* 3.0", "* 2.0", 1)
    editor.open(preview["uri"], text)
    checked = editor.request("workspace/executeCommand", command("checkGradients", kernel))
    assert checked["status"] == "proved"
    assert not any("gradients proved" in title for title in titles(editor, preview["uri"]))
    assert any("gradients proved" in title for title in titles(editor, kernel))


def test_a_module_is_checked_with_the_launches_of_its_file(editor: Client, tmp_path: Path) -> None:
    """Alone, the module would tell too little: its Function is handed the output."""
    text = (EXAMPLES / "softmax.py").read_text()
    uri = (tmp_path / "softmax.py").as_uri()
    editor.open(uri, text)
    asked = command("backwardPreview", uri, "online_softmax_kernel", where="file")
    preview = editor.request("workspace/executeCommand", asked)
    module = preview["uri"]
    editor.open(module, preview["text"])
    check = command("checkGradients", module, "online_softmax_kernel")
    result = editor.request("workspace/executeCommand", check)
    assert result["status"] == "proved", result
    editor.change(uri, 2, {"text": text.replace("running_max = float", "running_max = 2 * float")})
    result = editor.request("workspace/executeCommand", check)
    assert result["status"] == "unproved" and "softmax.py" in result["reason"]


TUNED = KERNEL.replace("@triton.jit\ndef scale_kernel", "TUNER@triton.jit\ndef scale_kernel")


def test_a_setting_keeps_the_forwards_configuration(editor: Client, kernel: str) -> None:
    """`gradients.tune` off: the backward of a tuned kernel has no list of its own."""
    assert "TUNER" in TUNED
    tuner = '@triton.autotune(configs=[triton.Config({}, num_warps=4)], key=["n"])\n'
    editor.open(kernel, TUNED.replace("TUNER", tuner))
    texts = []
    for tunes in (True, False):
        editor.configuration = {"gradients": {"tune": tunes}}
        asked = sum(r["method"] == "workspace/configuration" for r in editor.requests)
        editor.notify("workspace/didChangeConfiguration", {"settings": None})
        while asked == sum(r["method"] == "workspace/configuration" for r in editor.requests):
            editor._take()
        editor.request("workspace/executeCommand", command("generateBackward", kernel))
        edits = [r for r in editor.requests if r["method"] == "workspace/applyEdit"]
        create, fill = edits[-1]["params"]["edit"]["documentChanges"]
        texts.append(fill["edits"][0]["newText"])
    assert ["ctx.tuned" in text for text in texts] == [False, True]
    assert [text.count("@triton.autotune(") for text in texts] == [2, 1]


def generated(editor: Client, uri: str, settings: dict) -> str:
    """What `Generate backward` writes under these settings."""
    editor.configuration = {"gradients": settings}
    asked = sum(r["method"] == "workspace/configuration" for r in editor.requests)
    editor.notify("workspace/didChangeConfiguration", {"settings": None})
    while asked == sum(r["method"] == "workspace/configuration" for r in editor.requests):
        editor._take()
    editor.request("workspace/executeCommand", command("generateBackward", uri, "norm"))
    edits = [r for r in editor.requests if r["method"] == "workspace/applyEdit"]
    return edits[-1]["params"]["edit"]["documentChanges"][1]["edits"][0]["newText"]


def test_a_forward_stores_row_statistics_unless_told_otherwise(editor: Client, kernel: str) -> None:
    """`gradients.save`: what is written, what is proved in the file, and that the pair is up to date."""
    editor.open(kernel, NORM)

    def schedule(uri: str) -> dict:
        return editor.request("workspace/executeCommand", command("schedule", uri, "norm"))

    assert " also stores `" not in generated(editor, kernel, {"save": False})
    assert schedule(kernel)["saved"] == []
    text = generated(editor, kernel, {})
    assert text.count(" also stores `") == 2
    shown = schedule(kernel)
    assert len(shown["saved"]) == 2
    for saved in shown["saved"]:
        assert f"also stores `{saved['parameter']}`: `{saved['value']}`, {saved['size']}" in text
    result = editor.request("workspace/executeCommand", command("checkGradients", kernel, "norm"))
    assert result["status"] == "proved", result
    written = Path(kernel.removeprefix("file://"))
    written = written.with_name(f"{written.stem}_backward.py")
    written.write_text(text)
    editor.open(written.as_uri(), text)
    assert schedule(written.as_uri())["kernels"] == shown["kernels"]
    check = command("checkGradients", written.as_uri(), "norm")
    result = editor.request("workspace/executeCommand", check)
    assert result["status"] == "proved", result


STOPS = """import triton
import triton.language as tl


# tad: n=64, g=0, x_ptr=f32[n], y_ptr=f32[n], BLOCK=64, grid=(1,)
@triton.jit
def divided(x_ptr, y_ptr, n, g, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    k = i // g
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, x * k, mask=i < n)


# tad: n=64, step=0, x_ptr=f32[n], y_ptr=f32[n], BLOCK=64, grid=(1,)
@triton.jit
def endless(x_ptr, y_ptr, n, step, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    for t in range(0, n, step):
        x = x * 2.0
    tl.store(y_ptr + i, x, mask=i < n)
"""


@pytest.mark.parametrize(
    ("kernel", "line", "words"),
    [
        ("divided", "    k = i // g", "not checked: integer division by zero"),
        ("endless", "    for t in range(0, n, step):", "not checked: a loop step of 0"),
    ],
)
def test_a_run_that_stops_is_told_at_its_line(
    editor: Client, kernel: str, line: str, words: str
) -> None:
    """Also after an edit above: its number in what the worker said would be another line then."""
    uri = "untitled:Stops"
    editor.open(uri, STOPS)
    editor.request("workspace/executeCommand", command("checkGradients", uri, kernel))
    for version, text in enumerate((STOPS, "\n\n" + STOPS), start=1):
        if version > 1:
            editor.change(uri, version, {"text": text})
        told: list[dict[str, Any]] = []
        while not told:
            said = editor.diagnostics(uri, version)
            told = [d for d in said if d["code"] == "gradient-not-run"]
        assert words in told[0]["message"] and ", line " not in told[0]["message"]
        at = told[0]["range"]["start"]
        assert text.splitlines()[at["line"]] == line and at["character"] == 4
