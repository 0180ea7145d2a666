"""Mistakes in a written module: edits that a hand could make, of the Functions and of the kernels."""

from __future__ import annotations

import ast
import functools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

Edit = tuple[ast.AST, str]


@dataclass(frozen=True)
class Mutant:
    kind: str
    line: int
    text: str


def is_function_class(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef) and any("autograd" in ast.unparse(b) for b in node.bases)


def methods(tree: ast.Module, name: str = "") -> Iterator[ast.FunctionDef]:
    for node in tree.body:
        if not is_function_class(node):
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and name in ("", method.name):
                yield method


def own_functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Methods of Functions, and helpers."""
    yield from methods(tree)
    for node in tree.body:
        is_plain = isinstance(node, ast.FunctionDef) and not node.decorator_list
        if is_plain and node.name.startswith("_"):
            yield node


@functools.lru_cache(maxsize=4)
def laid_out(text: str) -> tuple[bytes, list[int]]:
    """The bytes, and where each line starts in them."""
    data, starts = text.encode(), [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return data, starts


def span(text: str, node: ast.AST) -> tuple[int, int]:
    starts = laid_out(text)[1]
    return starts[node.lineno - 1] + node.col_offset, starts[
        node.end_lineno - 1
    ] + node.end_col_offset


def source(text: str, node: ast.AST) -> str:
    start, end = span(text, node)
    return laid_out(text)[0][start:end].decode()


def called(call: ast.AST) -> str:
    """The last word of what is called."""
    if not isinstance(call, ast.Call):
        return ""
    callee = call.func
    if isinstance(callee, ast.Subscript):
        callee = callee.value
    return getattr(callee, "attr", getattr(callee, "id", ""))


def launches(function: ast.FunctionDef) -> Iterator[ast.Call]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
            yield node


def returned(text: str, tree: ast.Module) -> Iterator[tuple[ast.AST, list[ast.expr]]]:
    """What each backward returns: gradients that are not None."""
    for method in methods(tree, "backward"):
        value = method.body[-1].value if isinstance(method.body[-1], ast.Return) else None
        if isinstance(value, ast.Call):
            elements = value.args[1:]
        elif isinstance(value, ast.Tuple):
            elements = value.elts
        else:
            elements = [value] if value else []
        yield method, [e for e in elements if source(text, e) != "None"]


# --- Mistakes of the Function


def negated(text: str, tree: ast.Module) -> Iterator[Edit]:
    for _, gradients in returned(text, tree):
        for gradient in gradients:
            yield gradient, f"-({source(text, gradient)})"
            yield gradient, f"0.5 * {source(text, gradient)}"
            yield gradient, "None"


def exchanged(text: str, tree: ast.Module) -> Iterator[Edit]:
    """One gradient in another's place."""
    for _, gradients in returned(text, tree):
        for one, two in pairwise(gradients):
            yield one, source(text, two)


def other_grid(text: str, tree: ast.Module) -> Iterator[Edit]:
    for method in methods(tree):
        for launch in launches(method):
            grid = launch.func.slice
            yield grid, "(1,)"
            yield grid, f"({source(text, grid)})[:1]"


def not_zeroed(text: str, tree: ast.Module) -> Iterator[Edit]:
    for function in own_functions(tree):
        for node in ast.walk(function):
            name = called(node)
            if "zeros" in name and isinstance(node.func, ast.Attribute):
                yield node.func, source(text, node.func).replace("zeros", "empty")


def other_argument(text: str, tree: ast.Module) -> Iterator[Edit]:
    """An argument of a launch in the place of the next: a stride, a pointer, a flag."""
    for method in methods(tree):
        for launch in launches(method):
            values = [word.value for word in launch.keywords if word.arg]
            for one, two in pairwise(values):
                if source(text, one) != source(text, two):
                    yield one, source(text, two)


def other_number(text: str, tree: ast.Module) -> Iterator[Edit]:
    for function in own_functions(tree):
        for node in ast.walk(function):
            if isinstance(node, ast.Constant) and type(node.value) is int:
                yield node, str(node.value + 1)


def other_saved(text: str, tree: ast.Module) -> Iterator[Edit]:
    """What forward keeps, and what backward takes it for."""
    for method in methods(tree):
        for node in ast.walk(method):
            items = []
            if called(node) == "_save":
                items = node.args
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
                items = node.value.elts
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
                items = node.targets[0].elts
            for one, two in pairwise(items):
                if source(text, one) != source(text, two):
                    yield one, source(text, two)


def scaled(text: str, tree: ast.Module) -> Iterator[Edit]:
    for method in methods(tree, "backward"):
        for launch in launches(method):
            for word in launch.keywords:
                value = source(text, word.value)
                yield word.value, "None" if value.endswith("_ptr") else f"{value} * 2"


def left_out(text: str, tree: ast.Module) -> Iterator[Edit]:
    """A method at the end of an expression: a cast, a sum, `.zero_()`."""
    for function in own_functions(tree):
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                yield node, source(text, node.func.value)


def another_axis(text: str, tree: ast.Module) -> Iterator[Edit]:
    for function in own_functions(tree):
        for node in ast.walk(function):
            if called(node) == "sum" and len(getattr(node, "args", ())) == 1:
                yield node.args[0], f"{source(text, node.args[0])} + 1"


def other_test(text: str, tree: ast.Module) -> Iterator[Edit]:
    for function in own_functions(tree):
        for node in ast.walk(function):
            if isinstance(node, ast.If | ast.IfExp):
                yield node.test, f"not ({source(text, node.test)})"


def no_statement(text: str, tree: ast.Module) -> Iterator[Edit]:
    for function in own_functions(tree):
        for node in ast.walk(function):
            is_one = isinstance(node, ast.Assign | ast.AugAssign | ast.Expr)
            is_words = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if is_one and not is_words:
                yield node, "pass"


def done_twice(text: str, tree: ast.Module) -> Iterator[Edit]:
    for method in methods(tree, "backward"):
        for node in method.body:
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                yield node, f"{source(text, node)}\n        {source(text, node)}"


def other_call(text: str, tree: ast.Module) -> Iterator[Edit]:
    """In a launcher: what a Function is applied to."""
    for node in ast.walk(tree):
        if called(node) == "apply" and "Function" in source(text, node.func):
            for one, two in pairwise(node.args[1:]):
                if source(text, one) != source(text, two):
                    yield one, source(text, two)
            yield node.args[1], f"({source(text, node.args[1])}).detach()"


def replaced(text: str, tree: ast.Module) -> Iterator[Edit]:
    """Behind all that is there."""
    last = tree.body[-1]
    for node in tree.body:
        if is_function_class(node):
            after = f"{node.name}.backward = staticmethod(lambda ctx, *g: g)"
            yield last, f"{source(text, last)}\n\n\n{after}"
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("_"):
            yield last, f"{source(text, last)}\n\n\n{node.name} = lambda *a, **k: a[0]"


FUNCTION_KINDS: list[Callable[[str, ast.Module], Iterator[Edit]]] = [
    negated, exchanged, other_grid, not_zeroed, other_argument, other_number, other_saved, scaled,
    left_out, another_axis, other_test, no_statement, done_twice, other_call, replaced,
]  # fmt: skip


# --- Mistakes of the kernels


def kernels(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and "_backward" in node.name and node.decorator_list:
            yield node


def stores(tree: ast.Module) -> Iterator[ast.Call]:
    for kernel in kernels(tree):
        for node in ast.walk(kernel):
            if called(node) in ("store", "atomic_add"):
                yield node


def stored_otherwise(text: str, tree: ast.Module) -> Iterator[Edit]:
    for call in stores(tree):
        value = source(text, call.args[1])
        yield call.args[1], f"({value}) * 0.5"
        yield call.args[1], f"-({value})"


def stored_elsewhere(text: str, tree: ast.Module) -> Iterator[Edit]:
    for call in stores(tree):
        yield call.args[0], f"{source(text, call.args[0])} + 1"


def part_elsewhere(text: str, tree: ast.Module) -> Iterator[Edit]:
    """A sum in parts, behind all of them or in another's row."""
    for kernel in kernels(tree):
        for node in ast.walk(kernel):
            is_place = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)
            if is_place and source(text, node.right).endswith("_stride"):
                name = source(text, node.left)
                if name in ("program", "slice"):
                    yield node.left, f"({name} + 50)"


def added_otherwise(text: str, tree: ast.Module) -> Iterator[Edit]:
    for kernel in kernels(tree):
        for node in ast.walk(kernel):
            if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
                target, value = source(text, node.target), source(text, node.value)
                yield node, f"{target} = {value}"
                yield node, f"{target} -= {value}"


KERNEL_KINDS: list[Callable[[str, ast.Module], Iterator[Edit]]] = [
    stored_otherwise, stored_elsewhere, part_elsewhere, added_otherwise,
]  # fmt: skip


def applied(text: str, edit: Edit) -> str:
    node, instead = edit
    (start, end), data = span(text, node), laid_out(text)[0]
    return (data[:start] + instead.encode() + data[end:]).decode()


def drawn(seed: str, text: str, kinds: list, each: int) -> list[Mutant]:
    """So many of each kind, where there are as many; each is other Python than the text."""
    chance, tree = random.Random(seed), ast.parse(text)
    before, chosen = ast.dump(tree), []
    for kind in kinds:
        edits = list(kind(text, tree))
        chance.shuffle(edits)
        count = 0
        for node, instead in edits:
            if count == each:
                break
            try:
                mutant = applied(text, (node, instead))
                is_other = ast.dump(ast.parse(mutant)) != before
            except SyntaxError:
                continue
            if is_other:
                chosen.append(Mutant(kind.__name__, node.lineno, mutant))
                count += 1
    return chosen
