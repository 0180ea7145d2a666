"""Every diagnostic of the fixtures is reported where its marker says, and nothing else is."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.fixture_files import fixture_files, functions, read_markers, reported_in

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(os.environ.get("TAD_BIN", ROOT / "build")).resolve()
ROW = re.compile(r'^DIAGNOSTIC\((\w+), "([a-z0-9-]+)", (\w+), "([a-z]+)"', re.MULTILINE)

# Rows whose findings come from elsewhere: the derivation and the check of a backward have tests of their own,
# an internal error is a fault that nobody knows how to cause.
ELSEWHERE = {"gradients", "checks"}
# The last two are about the comments that silence findings: tests/protocol/test_presentation.py.
WITHOUT_FIXTURE = {"internal-error", "syntax-error", "unknown-ignore", "unused-ignore"}


def diagnostics_of(path: Path, folder: Path | None = None) -> list[dict]:
    """What `tad-lsp --check` says about one file, hints included; run in that folder, else in the file's."""
    folder = folder or path.parent
    run = subprocess.run(
        [str(BIN / "tad-lsp"), "--check", "--format", "json", path.relative_to(folder)],
        cwd=folder,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert run.returncode in (0, 1), run.stderr.decode()
    return json.loads(run.stdout)["diagnostics"]


def place_of(diagnostic: dict, lines: list[str]) -> tuple[int, int, int, str, str]:
    """Line from 1, columns on that line, severity and name. The fixtures are ASCII: UTF-16 units are columns."""
    start, end = diagnostic["range"]["start"], diagnostic["range"]["end"]
    last = end["character"] if end["line"] == start["line"] else len(lines[start["line"]])
    return (start["line"] + 1, start["character"], last, diagnostic["severity"], diagnostic["name"])


def rows() -> dict[str, tuple[str, str]]:
    """Name -> (severity, family) of the whole table."""
    text = "".join(
        p.read_text() for p in sorted((ROOT / "analysis" / "diagnostics").glob("diagnostics*.def"))
    )
    return {name: (severity.lower(), family) for _, name, severity, family in ROW.findall(text)}


@pytest.mark.parametrize("path", fixture_files(), ids=lambda p: p.stem)
def test_markers_match_one_to_one(path: Path) -> None:
    lines = path.read_text().split("\n")
    expected = {(m.line, m.start, m.end, m.severity, m.name): m.text for m in read_markers(path)}
    found = diagnostics_of(path)
    actual = {place_of(d, lines): d["message"] for d in found}
    assert sorted(expected) == sorted(actual)
    # A mistake is one finding: the same name says nothing twice at one place.
    assert sorted(actual) == sorted(place_of(d, lines) for d in found)
    for place, text in expected.items():
        assert text in actual[place], place


def test_every_row_has_a_positive_and_a_negative_fixture() -> None:
    positive, negative = set(), set()
    for path in fixture_files():
        positive |= {marker.name for marker in read_markers(path)}
        for function in functions(path):
            match = re.fullmatch(r"(\w+?)_fine\d*", function)
            if match and not reported_in(path, function):
                negative.add(match[1].replace("_", "-"))
    wanted = {
        name for name, (_, family) in rows().items() if family not in ELSEWHERE
    } - WITHOUT_FIXTURE
    assert len(wanted) >= 45
    assert not wanted - positive
    assert not wanted - negative


def test_severities_are_those_of_the_table() -> None:
    table = rows()
    for path in fixture_files():
        if path.stem in ("language_other_build", "templates"):
            continue  # there what a compiler decides, or another program writes, is a hint
        for marker in read_markers(path):
            assert marker.severity == table[marker.name][0], marker


def test_what_lies_in_the_folder_of_an_accelerator_is_for_its_compiler(tmp_path: Path) -> None:
    text = (
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef k(x_ptr, y_ptr, B: tl.constexpr):\n"
        "    x = tl.load(x_ptr + tl.arange(0, B))\n    tl.store(y_ptr, tl.sum(x[: B // 2]))\n"
    )
    found = {}
    for folder in ("ops", "_ascend"):
        path = tmp_path / folder / "k.py"
        path.parent.mkdir()
        path.write_text(text)
        found[folder] = [(d["name"], d["severity"]) for d in diagnostics_of(path, tmp_path)]
    assert ("unsupported-python", "error") in found["ops"]
    assert ("unsupported-python", "hint") in found["_ascend"]
    assert all(severity == "hint" for _, severity in found["_ascend"])


def test_half_typed_text_is_a_hint(tmp_path: Path) -> None:
    path = tmp_path / "half.py"
    path.write_text(
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef k(x_ptr):\n    x = tl.load(x_ptr + )\n"
    )
    assert [
        (d["name"], d["severity"]) for d in diagnostics_of(path) if d["name"] == "syntax-error"
    ] == [("syntax-error", "hint")]


@pytest.mark.parametrize("name", sorted(rows()))
def test_explained_with_an_example(name: str) -> None:
    run = subprocess.run(
        [str(BIN / "tad-lsp"), "--explain", name], capture_output=True, timeout=60, check=False
    )
    page = run.stdout.decode()
    assert run.returncode == 0 and name in page
    if name not in {"internal-error", "not-understood"} and rows()[name][1] not in ELSEWHERE:
        assert page.count("```") >= 2, "the page shows code that triggers it"
