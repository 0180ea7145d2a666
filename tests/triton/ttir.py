"""Reads Triton's TTIR text: one row per SSA value with its type, shape, source line and variable name.

A name is the last Python variable a value was assigned to (Triton keeps only that one).
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class TtirValue:
    """One SSA value: `name` is the Python variable it was assigned to, "" where Triton kept none.

    type is TTIR's text (`tensor<128xf32>`, `i32`, `!tt.ptr<f32>`), shape its dimensions ([] for scalars).
    """

    ssa: str
    op: str
    type: str
    shape: tuple[int, ...]
    element: str
    line: int | None
    file: str
    name: str


LOCATION = re.compile(r"^(#loc\d*) = loc\((.*)\)$")
POSITION = re.compile(r'^"(?P<file>[^"]*)":(?P<line>\d+):\d+')
NAMED = re.compile(r'^"(?P<name>[^"]*)"\((?P<inner>.*)\)$')
OPERATION = re.compile(
    r"^\s*(?P<results>%[^=]*?) = \"?(?P<op>[A-Za-z_][\w.]*)\"?(?P<rest>.*)\sloc\((?P<loc>.*)\)$"
)
OPENER = re.compile(r'^\s*(%[^=]*?) = "?([A-Za-z_][\w.]*)"?(.*)\{\s*$')
CLOSER = re.compile(r"^\s*\}\)?(?P<rest>.*)\sloc\((?P<loc>.*)\)$")
ARGUMENT = re.compile(
    r"(%[\w.]+): ((?:[^\s<>]|<[^{]*?>)+?)(?: \{[^}]*\})? loc\((#loc\d*|\"[^\"]*\"\(#loc\d*\))\)"
)
TENSOR = re.compile(r"^tensor<((?:\d+x)+)(.*)>$")


@dataclass
class Region:
    """An operation whose text spans lines: its first line taken apart, None for one without results."""

    results: str = ""
    op: str = ""
    rest: str = ""


def ttir_summary(ttir: str) -> list[TtirValue]:
    """Every value of a TTIR text (as `str(module)` prints it) with its type and place in the source."""
    places = locations(ttir)
    out: list[TtirValue] = []
    open_regions: list[Region] = []
    for line in ttir.splitlines():
        if "tt.func" in line:
            for ssa, type_text, loc in ARGUMENT.findall(line):
                out.append(value_of(ssa, "argument", type_text, argument_place(loc, places)))
        if line.rstrip().endswith("{"):
            if not line.lstrip().startswith("}"):
                opener = OPENER.match(line)
                open_regions.append(Region(*opener.groups()) if opener else Region())
        elif line.lstrip().startswith("}") and open_regions:
            region = open_regions.pop()
            if region.results:
                out += region_values(region, line, places)
        elif match := OPERATION.match(line):
            types = result_types(match["op"], match["rest"])
            place = place_of(match["loc"], places)
            for ssa, type_text in zip(result_names(match["results"]), types, strict=False):
                out.append(value_of(ssa, match["op"], type_text, place))
    return out


def region_values(
    region: Region, closing: str, places: dict[str, tuple[str, int | None, str]]
) -> list[TtirValue]:
    """The results of an operation with regions, known at its closing line."""
    match = CLOSER.match(closing)
    place = place_of(match["loc"], places) if match else ("", None, "")
    text = region.rest if region.op.startswith("scf.") else (match["rest"] if match else "")
    types = result_types(region.op, text)
    return [
        value_of(ssa, region.op, type_text, place)
        for ssa, type_text in zip(result_names(region.results), types, strict=False)
    ]


def argument_place(
    text: str, places: dict[str, tuple[str, int | None, str]]
) -> tuple[str, int | None, str]:
    """The place of a function's argument: `loc("name"(#loc))`."""
    if text in places:
        return places[text]
    named = NAMED.match(text)
    if named:
        file, line, _ = places.get(named["inner"], ("", None, ""))
        return file, line, named["name"]
    return "", None, ""


def locations(ttir: str) -> dict[str, tuple[str, int | None, str]]:
    """(file, line, variable name) of each `#locN`, through names, calls and fusions."""
    texts = {}
    for line in ttir.splitlines():
        match = LOCATION.match(line)
        if match:
            texts[match[1]] = match[2]
    places: dict[str, tuple[str, int | None, str]] = {}
    for key in texts:
        places[key] = resolve(texts[key], texts, 0)
    return places


def resolve(text: str, texts: dict[str, str], depth: int) -> tuple[str, int | None, str]:
    """Where one location text leads: its innermost file position and its outermost name."""
    if depth > 50 or text == "unknown":
        return "", None, ""
    if text.startswith("#"):
        return resolve(texts.get(text, "unknown"), texts, depth + 1)
    position = POSITION.match(text)
    if position:
        return position["file"], int(position["line"]), ""
    named = NAMED.match(text)
    if named:
        file, line, _ = resolve(named["inner"], texts, depth + 1)
        return file, line, named["name"]
    call = re.match(r"^callsite\((.*) at .*\)$", text)
    if call:
        return resolve(call[1], texts, depth + 1)
    return "", None, ""


def place_of(
    text: str, places: dict[str, tuple[str, int | None, str]]
) -> tuple[str, int | None, str]:
    """The place of an operation's trailing `loc(...)`."""
    return places[text] if text in places else resolve(text, {}, 0)


def value_of(ssa: str, op: str, type_text: str, place: tuple[str, int | None, str]) -> TtirValue:
    """A value with its type taken apart."""
    tensor = TENSOR.match(type_text)
    shape = tuple(int(n) for n in tensor[1].split("x")[:-1]) if tensor else ()
    element = tensor[2] if tensor else type_text
    file, line, name = place
    return TtirValue(ssa, op, type_text, shape, element, line, file, name)


def result_names(text: str) -> list[str]:
    """`%3:2` -> %3#0, %3#1; `%a, %b` -> both."""
    out = []
    for part in text.split(","):
        name, _, count = part.strip().partition(":")
        out += [f"{name}#{index}" for index in range(int(count))] if count else [name]
    return out


def result_types(op: str, rest: str) -> list[str]:
    """The result types an operation line ends with."""
    if op.startswith("scf."):
        match = re.search(r"-> \((.*)\)(?:\s+:\s+\S+)?\s*$", rest)
        return split_types(match[1]) if match else []
    arrow = rest.rfind("->")
    if arrow >= 0:
        return split_types(rest[arrow + 2 :].strip().strip("()"))
    colon = rest.rfind(" : ")
    if colon < 0:
        return []
    types = split_types(rest[colon + 3 :])
    return operand_typed_result(op, types)


def operand_typed_result(op: str, types: list[str]) -> list[str]:
    """The result type where an operation prints only operand types."""
    if not types:
        return []
    if op in ("arith.cmpi", "arith.cmpf"):
        tensor = TENSOR.match(types[0])
        return [f"tensor<{tensor[1]}i1>" if tensor else "i1"]
    if op == "tt.load":
        return [pointee(types[0])]
    if op == "arith.select":
        return [types[-1]]
    if op == "tt.addptr":
        return [types[0]]
    return [types[-1].split(" to ")[-1]]


def pointee(type_text: str) -> str:
    """The type a load from a pointer (tensor) gives."""
    tensor = TENSOR.match(type_text)
    if tensor:
        return f"tensor<{tensor[1]}{pointee(tensor[2])}>"
    match = re.match(r"^!tt\.ptr<([^,>]*)(?:, \d+)?>$", type_text)
    return match[1] if match else type_text


def split_types(text: str) -> list[str]:
    """Splits a comma list outside of brackets."""
    out, depth, current = [], 0, ""
    for character in text:
        depth += {"<": 1, "(": 1, "[": 1, ">": -1, ")": -1, "]": -1}.get(character, 0)
        if character == "," and depth == 0:
            out.append(current.strip())
            current = ""
        else:
            current += character
    return [part for part in [*out, current.strip()] if part]
