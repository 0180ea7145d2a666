"""The operation table as `tad-lsp --dump ops` prints it."""

from __future__ import annotations

import functools
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODULES = ("math.", "core.", "standard.", "random.")


@dataclass(frozen=True)
class Parameter:
    """One parameter of a row: `default` is its text, None where it is required."""

    name: str
    default: str | None
    stars: int


@dataclass(frozen=True)
class Row:
    """One row of the table; texts as in analysis/ops/*.def."""

    id: str
    kind: str
    name: str
    aliases: tuple[str, ...]
    methods: tuple[str, ...]
    symbol: str
    parameters: tuple[Parameter, ...]
    shape: str
    element: str
    effects: int
    gradient: str
    expands: str
    since: str
    until: str
    instead: str
    doc: str

    def rules(self) -> dict[str, str]:
        """Parameter -> expression; empty where the derivative is not a text."""
        if ": " not in self.gradient:
            return {}
        lines = self.gradient.split("; ")
        return {line.split(": ", 1)[0]: line.split(": ", 1)[1] for line in lines}


def split_parameters(text: str) -> list[str]:
    """Splits at commas outside brackets and quotes."""
    parts, depth, quote, start = [], 0, "", 0
    for i, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def parse_parameter(text: str) -> Parameter:
    """`*dims`, `axis` or `axis=None`."""
    name, equals, default = text.partition("=")
    stars = len(name) - len(name.lstrip("*"))
    return Parameter(name.strip("* "), default.strip() if equals else None, stars)


def parse_row(line: str) -> Row:
    """One line of the dump."""
    cells = line.split("\t")
    words = [tuple(cell.replace(",", " ").split()) for cell in (cells[3], cells[4])]
    parameters = tuple(parse_parameter(p) for p in split_parameters(cells[6]) if p != "*")
    return Row(*cells[:3], *words, cells[5], parameters, *cells[7:9], int(cells[9]), *cells[10:])


def program() -> Path:
    """The `tad-lsp` under test."""
    return Path(os.environ.get("TAD_BIN", ROOT / "build")).resolve() / "tad-lsp"


@functools.cache
def rows() -> tuple[Row, ...]:
    """The whole table."""
    command = [str(program()), "--dump", "ops"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return tuple(parse_row(line) for line in done.stdout.splitlines())


@functools.cache
def spellings() -> dict[str, Row]:
    """What may follow `tl.` -> row."""
    table: dict[str, Row] = {}
    for row in rows():
        for name in (row.name, *row.aliases):
            if name:
                assert name not in table, f"{name} is in two rows"
                table[name] = row
    return table


@functools.cache
def methods() -> dict[str, Row]:
    """Method name (or `descriptor.NAME`) -> row."""
    return {name: row for row in rows() for name in row.methods}


def find(name: str) -> Row | None:
    """The row of what follows `tl.`, as op_find does it."""
    table = spellings()
    if name in table:
        return table[name]
    if name.startswith("extra."):
        return table.get(name.removeprefix("extra.").removeprefix("cuda."))
    for module in MODULES:
        if name.startswith(module):
            return table.get(name.removeprefix(module))
    return None
