"""Reads the markers of tests/fixtures/*.py: comments that say what is reported about the line above them.

    x = tl.load(x_ptr + offsets)
    #   ^^^^^^^^^^^^^^^^^^^^^^^^ warning[unmasked-load]: part of the message

The carets are under the range (to the end of its first line, where it has several). A range that starts in the
column of the `#` is written `# <^^^`. Several markers may follow one line.
"""

from __future__ import annotations

import ast
import functools
import re
from dataclasses import dataclass
from pathlib import Path

FIXTURES = Path(__file__).parent / "fixtures"
MARKER = re.compile(
    r"^(?P<lead>\s*)#(?P<gap>\s*<?)(?P<carets>\^*)\s+"
    r"(?P<kind>error|warning|info|hint)\[(?P<name>[a-z0-9-]+)\]: (?P<text>.*)$"
)


@dataclass(frozen=True, order=True)
class Expected:
    """One marker: lines from 1, columns from 0, the end exclusive."""

    line: int
    start: int
    end: int
    severity: str
    name: str
    text: str


@functools.cache
def read_markers(path: Path) -> list[Expected]:
    """All markers of a file, in order."""
    found = []
    line = 0
    for number, text in enumerate(path.read_text().split("\n"), 1):
        match = MARKER.match(text)
        if not match:
            line = number
            continue
        hash_column = len(match["lead"])
        start = hash_column if match["gap"].endswith("<") else hash_column + 1 + len(match["gap"])
        end = hash_column + 1 + len(match["gap"]) + len(match["carets"])
        found.append(Expected(line, start, end, match["kind"], match["name"], match["text"]))
    return found


def fixture_files() -> list[Path]:
    """The fixture files, in order."""
    return sorted(FIXTURES.glob("*.py"))


@functools.cache
def functions(path: Path) -> dict[str, tuple[int, int]]:
    """First line (decorators included) and last line of each function, the markers after it included."""
    lines = path.read_text().split("\n")
    out = {}
    for node in ast.parse("\n".join(lines)).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        last = node.end_lineno or node.lineno
        while last < len(lines) and MARKER.match(lines[last]):
            last += 1
        out[node.name] = (first, last)
    return out


def reported_in(path: Path, name: str) -> list[Expected]:
    """The markers inside one function."""
    first, last = functions(path)[name]
    return [marker for marker in read_markers(path) if first <= marker.line <= last]
