"""A case: files that a user wrote, and calls of their launchers to be differentiated.

A call is an expression over `m` (the imported module), `torch` and the inputs by name; its result is a tensor or a
nest of them.  A hand-written case is a Python file with lines `# case: {"call": ..., "inputs": {...}}` at its top.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass
class Input:
    """A tensor: its shape, and what it is filled with."""

    shape: list[int]
    dtype: str = "float64"
    grad: bool = True
    low: float = -1.0
    high: float = 1.0
    values: list | None = None  # instead of random ones, flat
    in_place: bool = False  # the launcher writes to it: autograd wants no leaf then


@dataclass
class Call:
    """One use of a launcher."""

    call: str
    inputs: dict[str, Input]
    reference: str = (
        ""  # what to take differences of, where autograd's own rules say other than the call
    )
    second: bool = False  # also differentiate the gradient
    wide: bool = False  # differences in float64, with the file's float types widened
    seed: int = 1
    expect: str = ""  # a verdict that it has to have, where another would be no fault


@dataclass
class Case:
    """Files by name, and calls; `main` is the file whose backward is written."""

    name: str
    kind: str
    files: dict[str, str]
    calls: list[Call]
    main: str = "user.py"
    lint: list[str] = field(default_factory=list)

    def to_json(self) -> dict:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict) -> Case:
        calls = [call_of(c) for c in data["calls"]]
        return cls(**{**data, "calls": calls})


def input_of(data: object) -> Input:
    """An input from JSON: a shape, or an object with the fields of Input."""
    if isinstance(data, list):
        return Input(data)
    if "dtype" in data and not data["dtype"].startswith(("float", "bfloat")):  # type: ignore[operator]
        data = {"grad": False, **data}  # type: ignore[dict-item]
    return Input(**data)  # type: ignore[arg-type]


def call_of(data: dict) -> Call:
    """A call from JSON."""
    inputs = {name: input_of(value) for name, value in data["inputs"].items()}
    return Call(**{**data, "inputs": inputs})


def read(path: Path, kind: str = "") -> Case:
    """The case of a hand-written file, with the files of the folder of its name beside it."""
    text = path.read_text()
    head = "# case: "
    calls = [json.loads(line[len(head) :]) for line in text.splitlines() if line.startswith(head)]
    kinds = [call.pop("class") for call in calls if "class" in call]
    body = "\n".join(line for line in text.split("\n") if not line.startswith(head))
    files = {"user.py": body}
    for other in sorted(path.with_suffix("").glob("*.py")):
        files[other.name] = other.read_text()
    return Case(path.stem, kind or kinds[0], files, [call_of(call) for call in calls])
