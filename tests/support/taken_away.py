"""Takes a mask, `other`, a cast or an axis out of a kernel, and compares what a fix makes of it with what was there."""

from __future__ import annotations

import ast
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ACCESSES = {"load": 1, "store": 2}  # where the mask stands when it has no keyword
TURNED = {":, None": "None, :", "None, :": ":, None"}
INFINITIES = {
    **dict.fromkeys(("-float('inf')", "float('-inf')", "-1e+30", "min_value"), "-inf"),
    **dict.fromkeys(("float('inf')", "1e+30", "max_value"), "inf"),
}


# CPython 3.11 counts the depth of what its parser builds for all threads together.
PARSING = threading.Lock()


def parsed(text: str | bytes, mode: str = "exec") -> ast.AST:
    with PARSING:
        return ast.parse(text, mode=mode)


@dataclass(frozen=True)
class Taken:
    """One thing taken away: kind is mask, part, named (of a mask with a name), other, cast, axis, or turned (an axis
    on the other side)."""

    path: Path
    kind: str
    function: str
    line: int
    end_line: int
    text: str


class Places:
    """Byte offsets of nodes in a text."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.lines = [0]
        for line in data.split(b"\n"):
            self.lines.append(self.lines[-1] + len(line) + 1)

    def start(self, node: ast.expr) -> int:
        return self.lines[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr) -> int:
        return self.lines[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)

    def text(self, node: ast.expr) -> bytes:
        return self.data[self.start(node) : self.end(node)]

    def keyword(self, keyword: ast.keyword) -> tuple[int, int] | None:
        """The argument with the comma before it."""
        start = self.lines[keyword.lineno - 1] + keyword.col_offset
        while self.data[start - 1 : start] in (b" ", b"\n", b"\t"):
            start -= 1
        is_clean = self.data[start - 1 : start] == b","
        return (start - 1, self.end(keyword.value)) if is_clean else None

    def without(self, *spans: tuple[int, int]) -> str:
        data = self.data
        for start, end in sorted(spans, reverse=True):
            data = data[:start] + data[end:]
        return data.decode()

    def replaced(self, node: ast.expr, text: bytes) -> str:
        return (self.data[: self.start(node)] + text + self.data[self.end(node) :]).decode()


def access_of(call: ast.AST) -> str | None:
    """load or store, of a call to `tl.load` or `tl.store`."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    owner = call.func.value
    is_ours = isinstance(owner, ast.Name) and owner.id == "tl" and call.func.attr in ACCESSES
    return call.func.attr if is_ours else None


def is_both(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd)


def taken_from_call(call: ast.Call, places: Places) -> Iterator[tuple[str, str]]:
    """What can be taken out of one call: (kind, text)."""
    given = {keyword.arg: keyword for keyword in call.keywords}
    spans = {name: places.keyword(given[name]) for name in ("mask", "other") if name in given}
    if access_of(call) and spans.get("mask") and None not in spans.values():
        yield "mask", places.without(*(span for span in spans.values() if span))
        if spans.get("other"):
            yield "other", places.without(spans["other"])  # type: ignore[arg-type]
        mask = given["mask"].value
        if isinstance(mask, ast.BinOp) and is_both(mask):
            for kept in (mask.left, mask.right):
                yield "part", places.replaced(mask, ast.unparse(kept).encode())
    if isinstance(call.func, ast.Attribute) and call.func.attr == "to" and len(call.args) == 1:
        value = call.func.value
        at = places.data.find(b".to(", places.end(value))
        if at >= 0 and at < places.end(call):
            yield "cast", places.without((at, places.end(call)))


def axis_of(node: ast.AST) -> str | None:
    """`:, None` or `None, :`, of a tile that gets an axis."""
    axes = ast.unparse(node.slice).strip("()") if isinstance(node, ast.Subscript) else None
    return axes if axes in TURNED else None


def taken_from_axes(node: ast.Subscript, places: Places) -> Iterator[tuple[str, str]]:
    """The text without the new axis, and with it on the other side."""
    if places.end(node) - places.end(node.value) > len("[None, :]"):  # brackets around the tile
        return
    for kind, axes in (("axis", ""), ("turned", f"[{TURNED[axis_of(node) or '']}]")):
        end = places.end(node.value)
        yield kind, (places.data[:end] + axes.encode() + places.data[places.end(node) :]).decode()


def is_python(text: str) -> bool:
    try:
        parsed(text)
    except SyntaxError:
        return False
    return True


def taken_away(path: Path) -> Iterator[Taken]:
    """Each thing that can be taken out of the kernels of a file, one at a time."""
    data = path.read_bytes()
    if b"\r" in data:
        return
    places = Places(data)
    for function in ast.walk(parsed(data)):
        if not isinstance(function, ast.FunctionDef):
            continue
        if not any("jit" in ast.unparse(decorator) for decorator in function.decorator_list):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Call):
                for kind, text in taken_from_call(node, places):
                    if not is_python(text):  # what stood in brackets of its own
                        continue
                    yield Taken(path, kind, function.name, *lines_of(node), text)
            if isinstance(node, ast.Subscript) and axis_of(node):
                for kind, text in taken_from_axes(node, places):
                    yield Taken(path, kind, function.name, *lines_of(node), text)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
                mask = node.value
                for kept in (mask.left, mask.right) if is_both(mask) else ():
                    text = places.replaced(mask, ast.unparse(kept).encode())
                    yield Taken(path, "named", function.name, *lines_of(mask), text)


def lines_of(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.end_lineno or node.lineno


class Expanded(ast.NodeTransformer):
    """Names become what they were assigned last before a line; a new axis goes to the names inside."""

    def __init__(self, names: dict[str, ast.expr], depth: int = 0) -> None:
        self.names, self.depth = names, depth

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.names or self.depth > 8:
            return node
        return Expanded(self.names, self.depth + 1).visit(copied(self.names[node.id]))

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        value = self.visit(node.value)
        return with_axes(value, ast.unparse(node.slice).strip("()"))


def copied(node: ast.expr) -> ast.expr:
    return parsed(ast.unparse(node), mode="eval").body


def with_axes(value: ast.expr, axes: str) -> ast.expr:
    """`(rows < n)[:, None]` is `rows[:, None] < n`."""
    if isinstance(value, ast.Compare):
        return ast.Compare(with_axes(value.left, axes), value.ops, value.comparators)
    if isinstance(value, ast.BinOp):
        return ast.BinOp(with_axes(value.left, axes), value.op, with_axes(value.right, axes))
    text = ast.unparse(value)
    if isinstance(value, (ast.Constant, ast.Name)) or "program_id" in text:
        return value
    return parsed(f"({text})[{axes}]", mode="eval").body


def names_before(function: ast.FunctionDef, line: int) -> dict[str, ast.expr]:
    names: dict[str, ast.expr] = {}
    assigned = [node for node in ast.walk(function) if isinstance(node, ast.Assign)]
    for node in sorted(assigned, key=lambda node: node.lineno):
        if node.lineno < line and isinstance(node.targets[0], ast.Name):
            names[node.targets[0].id] = node.value
    for node in ast.walk(function):  # another value each time
        if isinstance(node, (ast.AugAssign, ast.For)) and isinstance(node.target, ast.Name):
            names.pop(node.target.id, None)
    return names


def bounds_of(mask: ast.expr | None, names: dict[str, ast.expr]) -> set[str]:
    """The terms of a mask as text. What tests loaded data is the kernel's choice, and bounds nothing."""
    if mask is None:
        return set()
    terms, todo = set(), [Expanded(names).visit(copied(mask))]
    while todo:
        term = todo.pop()
        if isinstance(term, ast.BinOp) and is_both(term):
            todo += [term.left, term.right]
            continue
        is_choice = isinstance(term, ast.Compare) and isinstance(term.ops[0], ast.NotEq)
        if not is_choice or "tl.load(" not in ast.unparse(term):
            terms.add(ast.unparse(term))
    return terms


def function_of(text: str, name: str, line: int) -> ast.FunctionDef:
    found = [
        node
        for node in ast.walk(parsed(text))
        if isinstance(node, ast.FunctionDef) and node.name == name
    ]
    return min(found, key=lambda node: abs(node.lineno - line))


class WithoutCasts(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        is_cast = isinstance(node.func, ast.Attribute) and node.func.attr == "to"
        return node.func.value if is_cast else node  # type: ignore[attr-defined]


class WithAxesInside(ast.NodeTransformer):
    """`(a + b)[:, None]` is `a[:, None] + b[:, None]`."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        axes = axis_of(node)
        return with_axes(node.value, axes) if axes else node


def argument(call: ast.Call, name: str, position: int) -> ast.expr | None:
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    return given.get(name, call.args[position] if len(call.args) > position else None)


def other_of(call: ast.Call) -> str:
    other = argument(call, "other", 2) if access_of(call) == "load" else None
    text = ast.unparse(other) if other else "0"
    return INFINITIES.get(text, text.replace(".0", ""))


def difference(
    taken: Taken, fixed: str, line: int, others: set[str], wrapped: frozenset[str] = frozenset()
) -> str | None:
    """What a fix at `line` left otherwise than it was; None where it is the same up to names. `others`: of masked lanes
    that nobody uses, which may hold anything. `wrapped`: of rows that come back by `%`, which need no bound."""
    before = function_of(taken.path.read_text(), taken.function, taken.line)
    after = function_of(fixed, taken.function, taken.line)
    if taken.kind == "cast":
        texts = [ast.unparse(WithoutCasts().visit(node)) for node in (before, after)]
        return None if texts[0] == texts[1] else "more than a cast"
    if taken.kind in ("axis", "turned"):
        texts = [ast.unparse(WithAxesInside().visit(node)) for node in (before, after)]
        return None if texts[0] == texts[1] else "another axis"
    names = names_before(before, line), names_before(after, line)
    calls = [
        [node for node in ast.walk(function) if isinstance(node, ast.Call) and access_of(node)]
        for function in (before, after)
    ]
    if len(calls[0]) != len(calls[1]):
        return "another number of accesses"
    for old, new in zip(*calls, strict=True):
        if not new.lineno <= line <= (new.end_lineno or 0):
            continue
        position = ACCESSES[access_of(old) or "load"]
        wanted = bounds_of(argument(old, "mask", position), names[0])
        got = bounds_of(argument(new, "mask", position), names[1])
        is_enough = ast.unparse(old.args[0]) in wrapped and got and got < wanted
        if wanted != got and not is_enough:
            return f"{sorted(wanted)} is now {sorted(got)}"
        if other_of(old) != other_of(new) and ast.unparse(old.args[0]) not in others:
            return f"other {other_of(old)} is now {other_of(new)}"
    return None
