"""Small mistakes in an emitted backward: what a wrong rule, schedule or printer would write.

No mistake here is a missing cast: proofs compute in double precision and do not see those.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

REDUCTIONS = {"sum", "max", "min", "cumsum"}


@dataclass(frozen=True)
class Mutant:
    """One mistake: `kind` of mistake, the line's text before and after, and the whole text with it."""

    kind: str
    line: int
    before: str
    after: str
    text: str


class Text:
    """A source text whose nodes can be replaced."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where a node stands; the emitted text is ASCII, so columns are characters."""
        first = self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        last = self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        return first, last

    def of(self, node: ast.AST) -> str:
        first, last = self.span(node)
        return self.source[first:last]

    def line(self, offset: int) -> tuple[int, str]:
        """The number of the line of an offset, and its text."""
        number = sum(start <= offset for start in self.starts)
        return number, self.source[self.starts[number - 1] : self.starts[number]].strip()

    def mutant(self, kind: str, first: int, last: int, new: str) -> Mutant:
        text = self.source[:first] + new + self.source[last:]
        number, before = self.line(first)
        return Mutant(kind, number, before, Text(text).line(first)[1], text)

    def replace(self, kind: str, node: ast.AST, new: str) -> Mutant:
        return self.mutant(kind, *self.span(node), new)


def called(node: ast.AST) -> str:
    """The last name of what is called: `atomic_add` of `tl.atomic_add(...)`."""
    if not isinstance(node, ast.Call):
        return ""
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def drop_term(text: Text, node: ast.AST) -> Iterator[Mutant]:
    """`a + b` -> `a` and `b`, also of addresses."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        yield text.replace("drop term", node, f"({text.of(node.left)})")
        if isinstance(node.op, ast.Add):
            yield text.replace("drop term", node, f"({text.of(node.right)})")


def flip_sign(text: Text, node: ast.AST) -> Iterator[Mutant]:
    """`a + b` -> `a - b`, `a - b` -> `a + b`, `-a` -> `a`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        sign = "-" if isinstance(node.op, ast.Add) else "+"
        left, right = text.of(node.left), text.of(node.right)
        yield text.replace("flip sign", node, f"(({left}) {sign} ({right}))")
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield text.replace("flip sign", node, f"({text.of(node.operand)})")


def no_sum(text: Text, node: ast.AST) -> Iterator[Mutant]:
    """`a += b` -> `a = b`."""
    if isinstance(node, ast.AugAssign):
        first, last = text.span(node)
        target, value = text.of(node.target), text.of(node.value)
        yield text.mutant("+= to =", first, last, f"{target} = {value}")


def drop_factor(text: Text, node: ast.AST) -> Iterator[Mutant]:
    """`a * b` -> `a` and `b`, `a / b` -> `a`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        yield text.replace("drop factor", node, f"({text.of(node.left)})")
        if isinstance(node.op, ast.Mult):
            yield text.replace("drop factor", node, f"({text.of(node.right)})")


def wrong_constant(text: Text, node: ast.AST) -> Iterator[Mutant]:
    """`0.5 * x` -> `1.0 * x`. Not in `other=`: those lanes are masked again below."""
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        for constant in ast.iter_child_nodes(node):
            if isinstance(constant, ast.Constant) and isinstance(constant.value, float):
                yield text.replace("wrong constant", constant, repr(2 * constant.value or 1.0))


def drop_mask(text: Text, node: ast.AST) -> Iterator[Mutant]:
    """Without `mask=` (and `other=`)."""
    if called(node) not in ("load", "store", "atomic_add"):
        return
    assert isinstance(node, ast.Call)
    kept = [k for k in node.keywords if k.arg not in ("mask", "other")]
    if len(kept) < len(node.keywords):
        parts = [text.of(a) for a in node.args] + [f"{k.arg}={text.of(k.value)}" for k in kept]
        yield text.replace("drop mask", node, f"{text.of(node.func)}({', '.join(parts)})")


def drop_condition(text: Text, node: ast.AST) -> Iterator[Mutant]:
    """`a & b` -> `a` and `b`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
        yield text.replace("drop condition", node, f"({text.of(node.left)})")
        yield text.replace("drop condition", node, f"({text.of(node.right)})")


def move_comparison(text: Text, node: ast.AST) -> Iterator[Mutant]:
    """`a < b` -> `a <= b` and the like."""
    turned = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
    if isinstance(node, ast.Compare):
        sign = turned.get(type(node.ops[0]))
        left, right = text.of(node.left), text.of(node.comparators[0])
        if sign:
            yield text.replace("move comparison", node, f"({left} {sign} {right})")


def swap_dot(text: Text, node: ast.AST) -> Iterator[Mutant]:
    """`tl.dot(a, b)` -> `tl.dot(b, a)`."""
    if called(node) == "dot":
        assert isinstance(node, ast.Call)
        first, last = text.span(node.args[0])[0], text.span(node.args[1])[1]
        a, b = text.of(node.args[0]), text.of(node.args[1])
        yield text.mutant("swap dot", first, last, f"{b}, {a}")


def drop_function(text: Text, node: ast.AST) -> Iterator[Mutant]:
    """`tl.exp(x)` -> `x`, `tl.trans(x)` -> `x`, and any other function of one tile."""
    one = {"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "sigmoid", "trans", "tanh"}
    if called(node) in one | {"erf", "abs", "flip"}:
        assert isinstance(node, ast.Call)
        yield text.replace("drop function", node, f"({text.of(node.args[0])})")


def wrong_axis(text: Text, node: ast.AST) -> Iterator[Mutant]:
    """`axis=0` -> `axis=1`, `axis=1` -> `axis=0`."""
    if called(node) in REDUCTIONS:
        assert isinstance(node, ast.Call)
        for axis in [k.value for k in node.keywords if k.arg == "axis"] + node.args[1:2]:
            if isinstance(axis, ast.Constant) and axis.value in (0, 1):
                yield text.replace("wrong axis", axis, str(1 - axis.value))


def no_atomic(text: Text, node: ast.AST) -> Iterator[Mutant]:
    """`tl.atomic_add` -> `tl.store`."""
    if called(node) == "atomic_add":
        assert isinstance(node, ast.Call)
        yield text.replace("no atomic", node.func, "tl.store")


def move_bound(text: Text, node: ast.AST) -> Iterator[Mutant]:
    """`range(a, b)` -> one turn less at either end."""
    if not isinstance(node, ast.For) or called(node.iter) not in ("range", "static_range"):
        return
    assert isinstance(node.iter, ast.Call)
    arguments = node.iter.args
    step = text.of(arguments[2]) if len(arguments) == 3 else "1"
    upper = arguments[1] if len(arguments) > 1 else arguments[0]
    yield text.replace("move bound", upper, f"{text.of(upper)} - ({step})")
    if len(arguments) > 1:
        yield text.replace("move bound", arguments[0], f"{text.of(arguments[0])} + ({step})")


def drop_store(text: Text, node: ast.AST) -> Iterator[Mutant]:
    """A gradient that is not written."""
    if isinstance(node, ast.Expr) and called(node.value) in ("store", "atomic_add"):
        yield text.replace("drop store", node, "pass")


def wrong_program(text: Text, node: ast.AST) -> Iterator[Mutant]:
    """`tl.program_id(0)` -> of axis 1."""
    if called(node) == "program_id":
        assert isinstance(node, ast.Call)
        axis = node.args[0]
        if isinstance(axis, ast.Constant):
            yield text.replace("wrong program", axis, str((axis.value + 1) % 2))


MISTAKES: list[Callable[[Text, ast.AST], Iterator[Mutant]]] = [
    drop_term,
    flip_sign,
    no_sum,
    drop_factor,
    wrong_constant,
    drop_mask,
    drop_condition,
    move_comparison,
    swap_dot,
    drop_function,
    wrong_axis,
    no_atomic,
    move_bound,
    drop_store,
    wrong_program,
]


def stale_indices(text: Text, function: ast.FunctionDef) -> Iterator[Mutant]:
    """The loop variable of the turn before, in one statement of the body."""
    for loop in ast.walk(function):
        if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
            continue
        for statement in loop.body:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and node.id == loop.target.id:
                    yield text.replace("stale index", node, f"({node.id} - 1)")
                    break


def mutants_of(source: str) -> list[Mutant]:
    """Every mistake at every place of the backward kernels of a module."""
    text = Text(source)
    found: list[Mutant] = []
    for function in ast.parse(source).body:
        if not isinstance(function, ast.FunctionDef) or "_backward" not in function.name:
            continue
        for node in (node for statement in function.body for node in ast.walk(statement)):
            for mistake in MISTAKES:
                found += mistake(text, node)
        found += stale_indices(text, function)
    return found
