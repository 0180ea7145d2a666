"""A file whose analysis takes long does not keep others waiting for the keys that are typed in it."""

from __future__ import annotations

import time

from tests.protocol.client import Client
from tests.protocol.conftest import KERNEL

HEAD = "import triton\nimport triton.language as tl\n\n\n"
KEYS = range(2, 5)  # versions
HEIGHT = 13
PLACE = {"line": 12, "character": 4}  # of a name in KERNEL


TOWERS = 30  # of a file that takes the whole budget of steps


def tower(version: int) -> str:
    """Helpers that call each other twice: thousands of operations when they are inlined; another text each time."""
    text = HEAD + f"@triton.jit\ndef tower_0(a):\n    return a * {version}.0\n\n\n"
    for i in range(1, HEIGHT):
        text += (
            f"@triton.jit\ndef tower_{i}(a):\n    return tower_{i - 1}(a) + tower_{i - 1}(a)\n\n\n"
        )
    return text + (
        "@triton.jit\ndef tall_kernel(x_ptr, B: tl.constexpr):\n    o = tl.arange(0, B)\n"
        f"    tl.store(x_ptr + o, tower_{HEIGHT - 1}(tl.load(x_ptr + o)))\n"
    )


def hover(client: Client, uri: str, line: int, character: int) -> int:
    place = {"line": line, "character": character}
    return client.start("textDocument/hover", {"textDocument": {"uri": uri}, "position": place})


def published(client: Client, uri: str) -> list[int]:
    """Versions whose diagnostics have come and were not asked for."""
    return [
        message["params"]["version"]
        for message in client.notifications
        if message["method"] == "textDocument/publishDiagnostics"
        and message["params"]["uri"] == uri
    ]


def test_a_hover_passes_the_long_analyses_of_another_file(editor: Client, kernel: str) -> None:
    tall = kernel.replace("scale.py", "tall.py")
    editor.open(kernel, KERNEL)
    assert editor.diagnostics(kernel, 1) is not None
    editor.open(tall, tower(1))
    editor.diagnostics(tall, 1)
    own = []
    for version in KEYS:
        editor.change(tall, version, {"text": tower(version)})
        own.append(hover(editor, tall, 6, 5))
    other = hover(editor, kernel, **PLACE)
    assert editor.wait(other)["result"] is not None
    # One analysis may have been running; those of the later keys wait.
    assert own[-1] not in editor.answers and not published(editor, tall)
    editor.diagnostics(tall, KEYS[-1])
    assert all("result" in editor.wait(number) for number in own)
    order = [number for number in editor.answers if number in [*own, other]]
    assert [number for number in order if number != other] == own


def test_the_order_of_one_file_stays(editor: Client, kernel: str) -> None:
    """Also where its analysis gets short again while long ones wait."""
    editor.open(kernel, tower(1))
    editor.diagnostics(kernel, 1)
    numbers = []
    for version, text in enumerate((tower(2), KERNEL, tower(4), KERNEL), 2):
        editor.change(kernel, version, {"text": text})
        numbers.append(hover(editor, kernel, **PLACE))
    editor.wait(numbers[-1])
    assert [number for number in editor.answers if number in numbers] == numbers
    assert editor.diagnostics(kernel, 5) == []
    assert editor.answers[numbers[1]]["result"] == editor.answers[numbers[3]]["result"]


def towers(height: int) -> str:
    """Helpers that take all the steps that the analysis of a file has."""
    text = HEAD
    for k in range(TOWERS):
        text += f"@triton.jit\ndef t{k}_0(a):\n    return a * {k}.0\n\n\n"
        for i in range(1, height):
            text += (
                f"@triton.jit\ndef t{k}_{i}(a):\n    return t{k}_{i - 1}(a) + t{k}_{i - 1}(a)\n\n\n"
            )
        text += f"@triton.jit\ndef k{k}(x_ptr):\n    tl.store(x_ptr, t{k}_{height - 1}(tl.load(x_ptr)))\n\n\n"
    return text


def test_an_edit_interrupts_an_analysis_of_the_text_before(editor: Client, kernel: str) -> None:
    """And a hover in another file is answered. Of several tries one has to be far shorter than the whole analysis."""
    other = kernel.replace("scale.py", "other.py")
    editor.open(other, KERNEL)
    editor.diagnostics(other, 1)
    tall = kernel.replace("scale.py", "tall.py")
    started = time.monotonic()
    editor.open(tall, towers(31))
    said = [item["code"] for item in editor.diagnostics(tall, 1)]
    whole = time.monotonic() - started
    assert said == ["limit-reached"] * TOWERS
    shortest = whole
    for i in range(5):
        uri = kernel.replace("scale.py", f"tall_{i}.py")
        editor.open(uri, towers(31))
        time.sleep(whole / 20)  # it is at work by now
        hovered = hover(editor, other, **PLACE)
        editor.change(uri, 2, {"text": KERNEL})
        started = time.monotonic()
        assert editor.diagnostics(uri, 2) == []
        shortest = min(shortest, time.monotonic() - started)
        assert editor.wait(hovered)["result"] is not None
        assert 1 not in published(editor, uri)
    assert shortest < whole / 3


NAMES = 50_000
# A kernel with a line of so many names: each is counted from the start of its line.
LONG_LINE = HEAD + (
    "@triton.jit\ndef long_kernel(x_ptr):\n    x = tl.load(x_ptr)\n"
    f"    t = ({'x, ' * NAMES})\n    tl.store(x_ptr, t[0])\n"
)
REQUEST_FAILED = -32803


def test_a_request_has_steps_of_its_own(editor: Client, kernel: str) -> None:
    """What takes more says so, and the next one is served: in this file, and a hover in another."""
    hostile = kernel.replace("scale.py", "hostile.py")
    editor.open(hostile, LONG_LINE)
    assert editor.diagnostics(hostile, 1) is not None
    editor.open(kernel, KERNEL)
    editor.diagnostics(kernel, 1)
    document = {"textDocument": {"uri": hostile}}
    asked = editor.start("textDocument/semanticTokens/full", document)
    other = hover(editor, kernel, **PLACE)
    own = hover(editor, hostile, 6, 4)
    error = editor.wait(asked)["error"]
    assert error["code"] == REQUEST_FAILED and "steps" in error["message"]
    assert editor.wait(other)["result"] is not None
    assert editor.wait(own)["result"] is not None
    tokens = editor.request("textDocument/semanticTokens/full", {"textDocument": {"uri": kernel}})
    assert tokens["data"]
