"""Finds the kernels in a folder of other people's Python packages, by `ast` alone: nothing is imported.

An independent count of what tad-lsp reports: every jit function of every file with its line, decorators,
parameters, and whether it is a kernel (launched) or a helper (called by other jit functions).
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path

CORPUS = Path(__file__).resolve().parent.parent.parent / ".corpus"
STORES = {"store", "store_tensor_descriptor", "_experimental_descriptor_store"}
LAUNCH_DECORATORS = {"autotune", "heuristics"}


@dataclass
class Parameter:
    """A parameter of a jit function; texts as written."""

    name: str
    constexpr: bool = False
    annotation: str = ""
    default: str | None = None


@dataclass
class Kernel:
    """A jit function of a file.

    name is dotted inside classes and functions; line is that of `def`; decorators as written without
    arguments, or ["triton.jit()"] for `kernel = triton.jit(function)`; kind is kernel or helper; calls are
    the names of other jit functions it uses (imported ones included, as written); jit says which jit:
    triton or gluon.
    """

    name: str
    line: int
    decorators: list[str]
    params: list[Parameter]
    kind: str = "kernel"
    returns_value: bool = False
    stores: bool = False
    calls: list[str] = field(default_factory=list)
    jit: str = "triton"


@lru_cache(maxsize=8192)
def parsed(path: Path) -> ast.Module | None:
    """The tree of a file; None for what is no readable Python."""
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return None


@lru_cache(maxsize=8192)
def finder_of(path: Path) -> JitFinder:
    """The jit functions of a file as found; an unreadable file has none."""
    tree = parsed(path)
    return JitFinder(tree if tree is not None else ast.Module([], []))


def corpus_files(root: Path = CORPUS) -> Iterator[Path]:
    """Every `.py` file below `root` that defines a jit function, in a fixed order.

    That of the packages, which changes only when they are installed anew, is noted beside them.
    """
    if root != CORPUS:
        yield from searched_files(root)
        return
    requirements = Path(__file__).parents[1] / "corpus-requirements.txt"
    key = hashlib.sha256(requirements.read_bytes() + Path(__file__).read_bytes()).hexdigest()
    note = root / f".jit-files-{key[:16]}"
    if not note.exists():
        found = "".join(f"{path.relative_to(root)}\n" for path in searched_files(root))
        written = root / f"{note.name}.{os.getpid()}"
        written.write_text(found)
        written.replace(note)
    yield from (root / line for line in note.read_text().splitlines())


def searched_files(root: Path) -> Iterator[Path]:
    """The same, by reading all of them."""
    for path in sorted(root.rglob("*.py")):
        try:
            text = path.read_bytes()
        except OSError:
            continue
        if b"triton" in text and b"jit" in text:
            if finder_of(path).found:
                yield path


def find_kernels(path: Path) -> list[Kernel]:
    """The jit functions of one file, in source order; an unreadable file has none."""
    finder = finder_of(path)
    kernels = [describe(found, finder) for found in finder.found]
    classify(kernels, finder.launched, finder)
    return sorted(kernels, key=lambda k: k.line)


@dataclass
class Found:
    """A function definition that is a jit function, and why."""

    name: str
    node: ast.FunctionDef
    decorators: list[str]
    jit: str


class JitFinder(ast.NodeVisitor):
    """Collects jit functions, following import aliases, assignments of `jit`, and calls of it."""

    def __init__(self, tree: ast.Module) -> None:
        # What a name means: triton, jit, autotune, heuristics, gluon, gluon.jit, language.
        self.meaning: dict[str, str] = {}
        self.imported: dict[str, str] = {}
        # Names launched as `name[grid](...)`, `name.run(...)` or `name.warmup(...)`.
        self.launched: set[str] = set()
        self.scope: list[str] = []
        self.functions: dict[str, ast.FunctionDef] = {}
        self.found: list[Found] = []
        self.by_call: list[tuple[str, str, str]] = []
        self.visit(tree)
        self.add_called()

    def visit_Import(self, node: ast.Import) -> None:
        """`import triton`, `import triton.language as tl`."""
        for alias in node.names:
            if alias.name == "triton" or (alias.name.startswith("triton.") and not alias.asname):
                self.meaning[alias.asname or "triton"] = "triton"
            elif alias.name == "triton.language":
                self.meaning[alias.asname or alias.name] = "language"
            elif alias.name == "triton.experimental.gluon":
                self.meaning[alias.asname or alias.name] = "gluon"

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """`from triton import jit`, `from triton.experimental import gluon`, helpers of other files."""
        module = node.module or ""
        for alias in node.names:
            bound = alias.asname or alias.name
            self.imported[bound] = alias.name
            if node.level:
                # A package's own wrapper module that hands Triton on under its own name.
                if alias.name in ("triton", "tl"):
                    self.meaning[bound] = "triton" if alias.name == "triton" else "language"
            elif module in ("triton", "triton.runtime", "triton.runtime.jit"):
                if alias.name in ("jit", "autotune", "heuristics"):
                    self.meaning[bound] = alias.name
                elif alias.name == "language":
                    self.meaning[bound] = "language"
            elif module.startswith("triton.experimental") and alias.name == "gluon":
                self.meaning[bound] = "gluon"
            elif module == "triton.experimental.gluon" and alias.name == "jit":
                self.meaning[bound] = "gluon.jit"
            elif alias.name == "triton" and not module.startswith("triton"):
                self.meaning[bound] = "triton"

    def visit_Assign(self, node: ast.Assign) -> None:
        """`jit = triton.jit`, `kernel = triton.jit(function)`."""
        target = node.targets[0]
        if isinstance(target, ast.Name):
            meaning = self.means(node.value)
            if meaning in ("jit", "gluon.jit", "autotune", "heuristics"):
                self.meaning[target.id] = meaning
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """`triton.jit(f)` and `triton.jit(options)(f)` anywhere."""
        function = node.func
        if isinstance(function, ast.Subscript) or (
            isinstance(function, ast.Attribute) and function.attr in ("run", "warmup")
        ):
            self.launched.add(ast.unparse(function.value).rpartition(".")[2])
        if isinstance(function, ast.Call):
            function = function.func
        meaning = self.means(function)
        if meaning in ("jit", "gluon.jit") and node.args and isinstance(node.args[0], ast.Name):
            jit = "gluon" if meaning == "gluon.jit" else "triton"
            self.by_call.append((node.args[0].id, f"{ast.unparse(function)}()", jit))
        self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Methods get dotted names."""
        self.scope.append(node.name)
        self.generic_visit(node)
        self.scope.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """A function: jit or not."""
        name = ".".join([*self.scope, node.name])
        self.functions.setdefault(node.name, node)
        jit = self.jit_of(node)
        if jit:
            self.found.append(
                Found(name, node, [decorator_text(d) for d in node.decorator_list], jit)
            )
        self.scope.append(node.name)
        self.generic_visit(node)
        self.scope.pop()

    def jit_of(self, node: ast.FunctionDef) -> str:
        """triton, gluon or "" by the decorators."""
        for decorator in node.decorator_list:
            target = decorator.func if isinstance(decorator, ast.Call) else decorator
            meaning = self.means(target)
            if meaning == "jit":
                return "triton"
            if meaning == "gluon.jit":
                return "gluon"
        return ""

    def means(self, node: ast.expr) -> str:
        """The meaning of a name or attribute, "" when it has none here."""
        if isinstance(node, ast.Name):
            return self.meaning.get(node.id, "")
        if isinstance(node, ast.Attribute):
            base = self.means(node.value)
            if base == "triton" and node.attr in ("jit", "autotune", "heuristics", "language"):
                return node.attr
            if base == "gluon" and node.attr == "jit":
                return "gluon.jit"
        return ""

    def add_called(self) -> None:
        """Functions made jit by a call."""
        known = {id(found.node) for found in self.found}
        for name, decorator, jit in self.by_call:
            node = self.functions.get(name)
            if node is not None and id(node) not in known:
                known.add(id(node))
                self.found.append(Found(name, node, [decorator], jit))


def decorator_text(node: ast.expr) -> str:
    """A decorator without its arguments."""
    return ast.unparse(node.func if isinstance(node, ast.Call) else node)


def is_constexpr(annotation: str) -> bool:
    """Whether an annotation makes a parameter a constexpr."""
    text = annotation.strip("'\"")
    return text == "constexpr" or text.endswith(".constexpr")


def parameters_of(node: ast.FunctionDef) -> list[Parameter]:
    """Parameters with their texts."""
    args = node.args
    positional = args.posonlyargs + args.args
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults))
    pairs = [
        *zip(positional, defaults + list(args.defaults), strict=True),
        *zip(args.kwonlyargs, args.kw_defaults, strict=True),
    ]
    out = []
    for arg, default in pairs:
        annotation = ast.unparse(arg.annotation) if arg.annotation else ""
        text = ast.unparse(default) if default else None
        out.append(Parameter(arg.arg, is_constexpr(annotation), annotation, text))
    return out


def own_statements(node: ast.FunctionDef) -> Iterator[ast.AST]:
    """Everything in a function but nested function bodies."""
    stack: list[ast.AST] = list(node.body)
    while stack:
        current = stack.pop()
        yield current
        if not isinstance(current, ast.FunctionDef | ast.Lambda):
            stack.extend(ast.iter_child_nodes(current))


def is_store(call: ast.Call) -> bool:
    """A call that writes to memory: tl.store, desc.store, atomics, and the functions by name."""
    name = called_name(call)
    return name in STORES or name.startswith("atomic_")


def called_name(call: ast.Call) -> str:
    """The last part of the called name."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def describe(found: Found, finder: JitFinder) -> Kernel:
    """What one jit function does by itself."""
    kernel = Kernel(
        found.name,
        found.node.lineno,
        found.decorators,
        parameters_of(found.node),
        jit=found.jit,
    )
    jit_names = {f.node.name for f in finder.found}
    for node in own_statements(found.node):
        if isinstance(node, ast.Return) and node.value is not None:
            empty = isinstance(node.value, ast.Constant) and node.value.value is None
            kernel.returns_value = kernel.returns_value or not empty
        elif isinstance(node, ast.Call):
            kernel.stores = kernel.stores or is_store(node)
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            if name in jit_names or name in finder.imported:
                kernel.calls.append(name)
    kernel.calls = list(dict.fromkeys(kernel.calls))
    return kernel


def classify(kernels: list[Kernel], launched: set[str], finder: JitFinder) -> None:
    """Kernels are launched or write memory; helpers return values or are called by jit functions."""
    by_name = {k.name.rpartition(".")[2]: k for k in kernels}
    called = {name for k in kernels for name in k.calls}
    referenced = references(finder)

    def writes(kernel: Kernel, seen: frozenset[str]) -> bool:
        if kernel.stores:
            return True
        return any(
            name in by_name and name not in seen and writes(by_name[name], seen | {name})
            for name in kernel.calls
        )

    for kernel in kernels:
        short = kernel.name.rpartition(".")[2]
        tuned = any(d.rpartition(".")[2] in LAUNCH_DECORATORS for d in kernel.decorators)
        if tuned or short in launched:
            kernel.kind = "kernel"
        elif kernel.returns_value or short in called or short in referenced:
            kernel.kind = "helper"
        else:
            kernel.kind = "kernel" if writes(kernel, frozenset([short])) else "helper"


def references(finder: JitFinder) -> set[str]:
    """Jit functions that other jit functions name without calling (combine functions, arguments)."""
    names = {found.node.name for found in finder.found}
    out = set()
    for found in finder.found:
        for node in own_statements(found.node):
            if isinstance(node, ast.Name) and node.id in names and node.id != found.node.name:
                out.add(node.id)
    return out


def corpus_kernels(root: Path = CORPUS) -> Iterator[tuple[Path, list[Kernel]]]:
    """The jit functions of every file; helpers called only from other files count as helpers."""
    files = [(path, find_kernels(path)) for path in corpus_files(root)]
    names = {name for path, _ in files for name in imported_calls(path)}
    for path, kernels in files:
        for kernel in kernels:
            tuned = any(d.rpartition(".")[2] in LAUNCH_DECORATORS for d in kernel.decorators)
            if kernel.name in names and kernel.kind == "kernel" and not tuned:
                if kernel.name not in finder_of(path).launched:
                    kernel.kind = "helper"
        yield path, kernels


def imported_calls(path: Path) -> set[str]:
    """Names that jit functions of a file call and that the file imports, as they are called at home."""
    finder = finder_of(path)
    out = set()
    for found in finder.found:
        for node in own_statements(found.node):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                if node.func.id in finder.imported:
                    out.add(finder.imported[node.func.id])
    return out


def main() -> int:
    """Prints the corpus, or one file, as JSON."""
    parser = argparse.ArgumentParser(description="List the jit functions of a folder or file.")
    parser.add_argument("path", type=Path, nargs="?", default=CORPUS)
    path = parser.parse_args().path
    found = [(path, find_kernels(path))] if path.is_file() else corpus_kernels(path)
    document = {str(p): [asdict(k) for k in kernels] for p, kernels in found}
    json.dump(document, sys.stdout, indent=1)
    sys.stdout.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
