"""What a stranger's code says of itself is shown in hovers and documentation; links, images and HTML in it are text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.protocol.client import Client
from tests.protocol.conftest import KERNEL

EVIL = "`[x](command:evil)`![i](http://evil/p)`<img src=//evil>"
FENCE = f"```\n{EVIL}\n[x](http://evil)\n``````\n~~~\n<b>\u202e"
TEXT = f'''import triton
import triton.language as tl

NAME: tl.constexpr = "{EVIL}"
LONG: tl.constexpr = """
{FENCE[:60]}
"""


@triton.jit
def helper(x, flag="{EVIL}"):
    """{EVIL}

{FENCE}
    """
    return x * 2.0


@triton.jit
def first_kernel(x_ptr, n, MODE: tl.constexpr = "{EVIL}", BLOCK: tl.constexpr = 8):
    """Copies.
{FENCE}"""
    i = tl.arange(0, BLOCK)
    kind = "{EVIL}"
    mask = (i < n) & (kind != "`[x](y)`")
    x = tl.load(x_ptr + i + len("`<b>`"), mask=(i < n) & (MODE == "`[x](y)`"))
    if MODE == "{EVIL}":
        x = helper(x, NAME)
    if LONG == NAME:
        x = helper(x)
    for j in range(n + len("`<b>`")):
        x += len("`<b>`")
    tl.store(x_ptr + i, x, mask=mask)


def launch(x):
    first_kernel[(1, len("`[x](y)`"))](x, x.numel() + len("`[x](y)`"), MODE="{EVIL}", BLOCK=8)
'''


def outside_of_code(markdown: str) -> str:
    """CommonMark: fenced blocks to a fence that is at least as long, then runs of backticks to an equal run."""
    kept, fence = [], ""
    for line in markdown.split("\n"):
        mark = re.match(r" {0,3}(`{3,}|~{3,})(.*)$", line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
        elif mark and not (mark[1][0] == "`" and "`" in mark[2]):
            fence = mark[1]
        else:
            kept.append(line)
    assert not fence, markdown
    return re.sub(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)", "", "\n".join(kept), flags=re.DOTALL)


def assert_inert(markdown: str) -> None:
    rest = outside_of_code(markdown)
    assert not re.search(r"\]\(|<\w|://|evil|!\[", rest), markdown
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x1b]", markdown)


def test_the_reader_of_markdown() -> None:
    assert outside_of_code("a `[x](y)` b\n```text\n[x](y)\n```\nc ``d`e`` f").split() == ["a", "b", "c", "f"]
    for markdown in ("`a`[x](http://evil)`", "```\na\n```\n<img>"):
        with pytest.raises(AssertionError):
            assert_inert(markdown)


def words() -> list[dict[str, int]]:
    """Where each word starts that is not in a string's text."""
    lines = TEXT.splitlines()
    return [
        {"line": number, "character": len(line[: match.start()].encode("utf-16-le")) // 2}
        for number, line in enumerate(lines)
        for match in re.finditer(r"\w+", line)
    ]


def test_hovers(editor: Client, tmp_path: Path) -> None:
    uri = (tmp_path / "`[x](y)`.py").as_uri()
    editor.open(uri, TEXT)
    shown = []
    for position in words():
        hover = editor.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": position})
        shown += [hover["contents"]["value"]] if hover else []
    for markdown in shown:
        assert_inert(markdown)
    assert sum("command:evil" in markdown for markdown in shown) >= 5, "the stranger's words are shown"
    assert any("Copies." in markdown for markdown in shown)


def test_signatures_and_completions(editor: Client, tmp_path: Path) -> None:
    uri = (tmp_path / "a.py").as_uri()
    editor.open(uri, TEXT)
    lines = TEXT.splitlines()
    row = next(i for i, line in enumerate(lines) if "helper(x, NAME)" in line)
    at = {"textDocument": {"uri": uri}, "position": {"line": row, "character": lines[row].index("(x") + 1}}
    (signature,) = editor.request("textDocument/signatureHelp", at)["signatures"]
    assert "command:evil" in signature["documentation"]["value"]
    assert_inert(signature["documentation"]["value"])
    at["position"]["character"] = lines[row].index("helper") + 3
    items = editor.request("textDocument/completion", at)["items"]
    (item,) = [item for item in items if item["label"] == "helper"]
    item = editor.request("completionItem/resolve", item)
    assert "command:evil" in item["documentation"]["value"]
    assert_inert(item["documentation"]["value"])


def test_messages(editor: Client, tmp_path: Path) -> None:
    """A message may quote the code, and shows what an editor would obey."""
    uri = (tmp_path / "a.py").as_uri()
    text = KERNEL.replace("BLOCK=128)", 'BLOCK=128, **{"\u202e\u2066\u200fc": 1})')
    editor.open(uri, text)
    said = [item["message"] for item in editor.diagnostics(uri, 1)]
    assert any("\\u202e\\u2066\\u200fc" in message for message in said), said
    for message in said:
        assert not re.search("[\u200e\u200f\u202a-\u202e\u2066-\u2069\x1b]", message)
