"""Completion in `[tool.tad]` of a pyproject.toml, of which nothing is analysed as Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.protocol.client import Client

TEXT = """[project]
name = "kernels"

[tool.tad]
ignore = ["unmasked-load", "", ]
select = [
    "mem",
]
card = "
sel

[tool.tad.severity]
tf32-dot = "off"
offset-overflow =
mem

[tool.other]
sel
"""
NAMES = {"unmasked-load", "missing-other", "memory", "schedule"}
PLACES = [
    ('"unmasked-load", "', NAMES, "unmasked-load"),
    ('    "mem', NAMES, "missing-other"),
    ('"", ', NAMES, '"missing-other"'),
    ('card = "', {"h100", "a100"}, "h100"),
    ("\nsel", {"ignore", "select", "severity", "exclude", "card"} - {"severity"}, "select = []"),
    ("offset-overflow =", {"error", "warning", "info", "hint", "off"}, '"off"'),
    ("\nmem", NAMES, "memory = "),
]


@pytest.fixture
def settings(server: Client, tmp_path: Path) -> str:
    server.initialize()
    uri = (tmp_path / "pyproject.toml").as_uri()
    server.open(uri, TEXT)
    return uri


def words(server: Client, uri: str, offset: int) -> dict[str, str]:
    before = TEXT[:offset]
    position = {"line": before.count("\n"), "character": offset - (before.rfind("\n") + 1)}
    answer = server.request(
        "textDocument/completion", {"textDocument": {"uri": uri}, "position": position}
    )
    return {item["label"]: item["textEdit"]["newText"] for item in answer["items"]}


@pytest.mark.parametrize(("place", "wanted", "inserted"), PLACES)
def test_words_of_settings(
    server: Client, settings: str, place: str, wanted: set[str], inserted: str
) -> None:
    offset = TEXT.index(place) + len(place)
    found = words(server, settings, offset)
    assert wanted <= set(found)
    assert inserted in found.values()


def test_other_sections_are_left_alone(server: Client, settings: str) -> None:
    assert words(server, settings, TEXT.rindex("sel") + 3) == {}
    assert words(server, settings, TEXT.index('name = "') + 8) == {}


def test_nothing_of_it_is_analysed(server: Client, settings: str) -> None:
    assert server.diagnostics(settings, 1) == []
    at = {"textDocument": {"uri": settings}, "position": {"line": 4, "character": 3}}
    assert server.request("textDocument/hover", at) is None
