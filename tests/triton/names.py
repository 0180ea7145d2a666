"""Turns the Python files of installed Triton releases into one JSON list of the `tl` surface.

Reads the files by `ast`; nothing of Triton is imported, so any number of releases can be compared.

    python tests/triton/names.py [--older FOLDER ...] > names.json

FOLDER is a folder that holds `triton/` (an unpacked wheel).  Without `--older` the list is that of the
installed release alone.  Shape of the JSON: see `Entry`.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HIDDEN_PARAMETERS = {"_semantic", "_builder", "_generator"}
LANGUAGE = "triton.language"
# Submodules whose own definitions users reach by a dotted name, nearest name first.
SUBMODULES = [
    "triton.language.math",
    "triton.language.random",
    "triton.language.standard",
    "triton.language.core",
    "triton.language.target_info",
    "triton.language.libdevice",
    "triton.language.extra.libdevice",
    "triton.language.extra.cuda",
    "triton.language.extra.cuda.libdevice",
]
CLASSES = [
    "tensor",
    "tensor_descriptor",
    "dtype",
    "pointer_type",
    "block_type",
    "constexpr",
    "tuple",
    "range",
    "static_range",
    "PropagateNan",
]
KIND_BY_DECORATOR = {
    "builtin": "builtin",
    "extern": "extern",
    "jit": "jit",
    "constexpr_function": "constexpr_function",
    "property": "property",
    "cached_property": "property",
}


@dataclass
class Parameter:
    """One parameter: `kind` is positional, keyword, var_positional or var_keyword; texts as written."""

    name: str
    kind: str = "positional"
    default: str | None = None
    annotation: str | None = None


@dataclass
class Entry:
    """One dotted name that a kernel can write.

    kind: builtin, jit, extern, constexpr_function, function, class, dtype, constant, module, method,
    property, attribute, operator.  `call` says how a method is implemented (builtin, jit, function).
    """

    name: str
    kind: str
    defined_in: str
    params: list[Parameter] | None = None
    returns: str | None = None
    call: str | None = None
    value: str | None = None
    dtypes: list[str] | None = None
    overloads: list[dict[str, object]] | None = None
    bases: list[str] | None = None
    same_as: str | None = None
    since: str = ""
    until: str | None = None
    history: list[dict[str, object]] = field(default_factory=list)

    def as_json(self) -> dict[str, object]:
        """The entry as plain data; fields that say nothing are left out."""
        out: dict[str, object] = {"name": self.name, "kind": self.kind}
        for key in ("call", "same_as", "value", "returns", "dtypes", "overloads", "bases"):
            value = getattr(self, key)
            if value is not None:
                out[key] = value
        if self.params is not None:
            out["params"] = [parameter_json(p) for p in self.params]
        out["defined_in"] = self.defined_in
        out["since"] = self.since
        out["until"] = self.until
        if self.history:
            out["history"] = self.history
        return out


def parameter_json(parameter: Parameter) -> dict[str, str]:
    """A parameter as plain data; `default` and `annotation` only where the source has them."""
    out = {"name": parameter.name, "kind": parameter.kind}
    if parameter.default is not None:
        out["default"] = parameter.default
    if parameter.annotation is not None:
        out["annotation"] = parameter.annotation
    return out


@dataclass
class Definition:
    """A node of a module's top level with the module that defines it."""

    module: str
    node: ast.AST


class Release:
    """The source of one Triton release, parsed file by file on demand."""

    def __init__(self, folder: Path) -> None:
        """`folder` holds `triton/`."""
        self.folder = folder
        self.trees: dict[str, ast.Module | None] = {}
        self.bound: dict[str, dict[str, tuple[ast.stmt, str]]] = {}

    def tree(self, module: str) -> ast.Module | None:
        """The parsed module, or None when the release has no such file."""
        if module not in self.trees:
            base = self.folder.joinpath(*module.split("."))
            path = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
            text = path.read_text(encoding="utf-8") if path.is_file() else None
            self.trees[module] = ast.parse(text) if text is not None else None
        return self.trees[module]

    def is_package(self, module: str) -> bool:
        """Whether relative imports of `module` start at itself."""
        return self.folder.joinpath(*module.split(".")).is_dir()

    def bindings(self, module: str) -> dict[str, Definition]:
        """Names bound at the top level of `module`, followed through imports inside the release."""
        out: dict[str, Definition] = {}
        for name in self.statements(module):
            found = self.lookup(module, name)
            if found:
                out[name] = found
        return out

    def statements(self, module: str) -> dict[str, tuple[ast.stmt, str]]:
        """For each name bound in `module` the statement, and the name it has at its source."""
        if module not in self.bound:
            tree = self.tree(module)
            self.bound[module] = {
                name: (node, original)
                for node in (tree.body if tree else [])
                for name, original in names_bound(node)
            }
        return self.bound[module]

    def lookup(self, module: str, name: str, depth: int = 0) -> Definition | None:
        """What `name` means in `module`; None for names from outside the release."""
        child = f"{module}.{name}"
        if name not in self.statements(module) or depth > 8:
            tree = self.tree(child)
            return Definition(child, tree) if tree else None
        node, original = self.statements(module)[name]
        if isinstance(node, ast.ImportFrom):
            source = self.import_source(module, node)
            inside = source.startswith("triton")
            return self.lookup(source, original, depth + 1) if inside else None
        return Definition(module, node)

    def import_source(self, module: str, node: ast.ImportFrom) -> str:
        """The absolute name of the module an import statement reads from."""
        if not node.level:
            return node.module or ""
        parts = module.split(".")
        keep = len(parts) - node.level + (1 if self.is_package(module) else 0)
        return ".".join(parts[:keep] + ([node.module] if node.module else []))


def names_bound(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """Names that a top-level statement binds, each with its name where it comes from."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name, node.name
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id, target.id
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id, node.target.id
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name, alias.name


def decorator_names(node: ast.FunctionDef | ast.ClassDef) -> list[str]:
    """The last part of each decorator's name: `core.builtin` -> builtin."""
    out = []
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(target, ast.Attribute):
            out.append(target.attr)
        elif isinstance(target, ast.Name):
            out.append(target.id)
    return out


def function_kind(node: ast.FunctionDef) -> str:
    """How the compiler treats a function, by its decorators."""
    for name in decorator_names(node):
        if name in KIND_BY_DECORATOR:
            return KIND_BY_DECORATOR[name]
    return "function"


def parameters(node: ast.FunctionDef, skip_first: bool = False) -> list[Parameter]:
    """The parameters a user may pass."""
    args = node.args
    out: list[Parameter] = []
    positional = args.posonlyargs + args.args
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults))
    for arg, default in zip(positional, defaults + list(args.defaults), strict=True):
        out.append(parameter(arg, "positional", default))
    if args.vararg:
        out.append(parameter(args.vararg, "var_positional", None))
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        out.append(parameter(arg, "keyword", default))
    if args.kwarg:
        out.append(parameter(args.kwarg, "var_keyword", None))
    out = out[1:] if skip_first else out
    return [p for p in out if p.name not in HIDDEN_PARAMETERS]


def parameter(arg: ast.arg, kind: str, default: ast.expr | None) -> Parameter:
    """One parameter with its texts."""
    return Parameter(
        arg.arg,
        kind,
        ast.unparse(default) if default else None,
        ast.unparse(arg.annotation) if arg.annotation else None,
    )


def checked_dtypes(node: ast.FunctionDef) -> list[str] | None:
    """The dtypes that a `_check_dtype` decorator admits."""
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("_check_dtype"):
            for keyword in decorator.keywords:
                return list(ast.literal_eval(keyword.value))
    return None


def dtype_name(node: ast.AST) -> str | None:
    """`core.dtype("fp32")` -> fp32; a plain dtype name (`core.int64`) as it is."""
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        return str(node.args[0].value)
    return node.attr if isinstance(node, ast.Attribute) else None


def extern_overloads(node: ast.FunctionDef) -> list[dict[str, object]] | None:
    """The table {argument dtypes: (symbol, result dtype)} of a libdevice function."""
    out: list[dict[str, object]] = []
    for inner in ast.walk(node):
        if not isinstance(inner, ast.Dict):
            continue
        for key, value in zip(inner.keys, inner.values, strict=True):
            if isinstance(key, ast.Tuple) and isinstance(value, ast.Tuple) and len(value.elts) == 2:
                symbol = value.elts[0]
                out.append(
                    {
                        "args": [dtype_name(e) for e in key.elts],
                        "result": dtype_name(value.elts[1]),
                        "symbol": symbol.value if isinstance(symbol, ast.Constant) else None,
                    }
                )
    return out or None


def is_removed(node: ast.AST) -> bool:
    """Whether a function is only kept to say that it is gone: its whole body raises NotImplementedError."""
    if not isinstance(node, ast.FunctionDef):
        return False
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return (
        len(body) == 1
        and isinstance(body[0], ast.Raise)
        and body[0].exc is not None
        and ast.unparse(body[0].exc).startswith("NotImplementedError")
    )


def entry_of(name: str, definition: Definition) -> Entry | None:
    """The entry for one definition under one dotted name."""
    node, module = definition.node, definition.module
    if is_removed(node):
        return None
    if isinstance(node, ast.Module):
        return Entry(name, "module", module)
    if isinstance(node, ast.FunctionDef):
        entry = Entry(name, function_kind(node), module, parameters(node))
        entry.returns = ast.unparse(node.returns) if node.returns else None
        entry.dtypes = checked_dtypes(node)
        entry.overloads = extern_overloads(node) if entry.kind == "extern" else None
        return entry
    if isinstance(node, ast.ClassDef):
        constructor = next(
            (n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None
        )
        params = parameters(constructor, skip_first=True) if constructor else dataclass_params(node)
        return Entry(
            name, "class", module, params, bases=[ast.unparse(b) for b in node.bases] or None
        )
    if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        text = ast.unparse(node.value)
        kind = "dtype" if text.startswith("dtype(") else "constant"
        value = dtype_name(node.value) if kind == "dtype" else text
        return Entry(name, kind, module, value=value)
    return None


def dataclass_params(node: ast.ClassDef) -> list[Parameter] | None:
    """Constructor parameters of a dataclass without `__init__`, else None."""
    if "dataclass" not in decorator_names(node):
        return None
    fields = [n for n in node.body if isinstance(n, ast.AnnAssign)]
    return [
        Parameter(
            ast.unparse(f.target),
            "positional",
            ast.unparse(f.value) if f.value else None,
            ast.unparse(f.annotation),
        )
        for f in fields
    ]


def class_chain(release: Release, module: str, name: str) -> list[Definition]:
    """A class and the classes of its own module that it inherits from, base first."""
    definition = release.bindings(module).get(name)
    if definition is None or not isinstance(definition.node, ast.ClassDef):
        return []
    chain: list[Definition] = []
    for base in definition.node.bases:
        if isinstance(base, ast.Name):
            chain += class_chain(release, module, base.id)
    return [*chain, definition]


def member_entry(prefix: str, module: str, node: ast.FunctionDef) -> Entry:
    """The entry of one method or property of a class."""
    kind = function_kind(node)
    full = f"{prefix}.{node.name}"
    if kind == "property":
        return Entry(full, "property", module)
    static = "staticmethod" in decorator_names(node)
    entry = Entry(full, "method", module, parameters(node, skip_first=not static), call=kind)
    if node.name.startswith("__"):
        entry.kind = "operator"
    entry.returns = ast.unparse(node.returns) if node.returns else None
    return entry


def class_entries(release: Release, prefix: str, name: str) -> Iterator[Entry]:
    """Members of a class of `triton.language.core`: own, inherited, and set in its constructor."""
    for definition in class_chain(release, "triton.language.core", name):
        for node in definition.node.body:  # type: ignore[attr-defined]
            if isinstance(node, ast.FunctionDef):
                if node.name == "__init__":
                    for attribute in constructor_attributes(node):
                        yield Entry(f"{prefix}.{attribute}", "attribute", definition.module)
                elif not node.name.startswith("_") or node.name.startswith("__"):
                    yield member_entry(prefix, definition.module, node)
            elif isinstance(node, ast.ClassDef):
                yield Entry(f"{prefix}.{node.name}", "class", definition.module)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                target = node.targets[0].id
                if not target.startswith("_"):
                    text = ast.unparse(node.value)
                    yield Entry(f"{prefix}.{target}", "constant", definition.module, value=text)


def constructor_attributes(node: ast.FunctionDef) -> list[str]:
    """Public attributes that a constructor sets on `self`."""
    out = []
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store):
            if ast.unparse(inner.value) == "self" and not inner.attr.startswith("_"):
                out.append(inner.attr)
    return list(dict.fromkeys(out))


def tensor_members(release: Release) -> Iterator[Entry]:
    """Free functions that Triton also installs as methods of `tl.tensor`."""
    for module in ("core", "math", "standard"):
        full = f"{LANGUAGE}.{module}"
        for name, definition in release.bindings(full).items():
            node = definition.node
            if definition.module == full and isinstance(node, ast.FunctionDef):
                if "_tensor_member_fn" in decorator_names(node) and not is_removed(node):
                    entry = Entry(
                        f"tl.tensor.{name}",
                        "method",
                        full,
                        parameters(node, skip_first=True),
                        call=function_kind(node),
                    )
                    entry.returns = ast.unparse(node.returns) if node.returns else None
                    yield entry


def short(module: str) -> str:
    """`triton.language.math` -> tl.math."""
    return module.replace(LANGUAGE, "tl", 1)


def is_reachable(name: str, definition: Definition) -> bool:
    """Public names, and private ones that are functions of the kernel language."""
    if not name.startswith("_"):
        return True
    node = definition.node
    return isinstance(node, ast.FunctionDef) and function_kind(node) != "function"


def language_entries(release: Release) -> Iterator[Entry]:
    """Names of `tl` itself, then of its submodules."""
    seen: dict[int, str] = {}
    for name, definition in release.bindings(LANGUAGE).items():
        if is_reachable(name, definition):
            entry = entry_of(f"tl.{name}", definition)
            if entry:
                seen.setdefault(id(definition.node), entry.name)
                yield entry
    for module in SUBMODULES:
        tree = release.tree(module)
        if tree is None:
            continue
        if short(module) not in seen.values():
            yield Entry(short(module), "module", module)
        for name, definition in release.bindings(module).items():
            if isinstance(definition.node, ast.Module) or not is_reachable(name, definition):
                continue
            own = definition.module == module or definition.module.startswith(module + ".")
            entry = entry_of(f"{short(module)}.{name}", definition) if own else None
            if entry:
                entry.same_as = seen.get(id(definition.node))
                seen.setdefault(id(definition.node), entry.name)
                yield entry


def triton_entries(release: Release) -> Iterator[Entry]:
    """Names of the `triton` module itself: jit, autotune, Config, cdiv, ..."""
    for name, definition in release.bindings("triton").items():
        if not name.startswith("_"):
            entry = entry_of(f"triton.{name}", definition)
            if entry:
                yield entry


def release_entries(release: Release) -> dict[str, Entry]:
    """Every entry of one release by its dotted name; the order is that of the source."""
    out: dict[str, Entry] = {}
    for entry in triton_entries(release):
        out[entry.name] = entry
    for entry in language_entries(release):
        out[entry.name] = entry
    for name in CLASSES:
        for entry in class_entries(release, f"tl.{name}", name):
            out[entry.name] = entry
    for entry in tensor_members(release):
        out[entry.name] = entry
    return out


def history_step(version: str, entry: Entry) -> dict[str, object]:
    """What a release says about a name, for comparing releases."""
    params = None if entry.params is None else [parameter_json(p) for p in entry.params]
    return {"since": version, "until": version, "kind": entry.kind, "params": params}


def same_step(left: dict[str, object], right: dict[str, object]) -> bool:
    """Whether two steps differ in nothing a caller can see (annotations and defaults' names aside)."""
    return signature_key(left) == signature_key(right)


def signature_key(step: dict[str, object]) -> object:
    """Parameter names, kinds and default texts; annotations do not count."""
    params = step["params"]
    if not isinstance(params, list):
        return None
    return [(p["name"], p["kind"], p.get("default")) for p in params]


def merge(releases: list[tuple[str, dict[str, Entry]]]) -> list[Entry]:
    """One entry per name over all releases, oldest first; `until` is the last release that had it."""
    newest = releases[-1][0]
    merged: dict[str, Entry] = {}
    steps: dict[str, list[dict[str, object]]] = {}
    for version, entries in releases:
        for name, entry in entries.items():
            since = merged[name].since if name in merged else version
            entry.since, entry.until = since, version
            merged[name] = entry
            step = history_step(version, entry)
            past = steps.setdefault(name, [])
            if past and same_step(past[-1], step):
                past[-1]["until"] = version
            else:
                past.append(step)
    for name, entry in merged.items():
        entry.until = None if entry.until == newest else entry.until
        entry.history = steps[name] if len(steps[name]) > 1 else []
    return list(merged.values())


def installed_folder() -> Path:
    """The folder that holds the installed `triton/`."""
    spec = importlib.util.find_spec("triton")
    if spec is None or spec.origin is None:
        raise SystemExit("names.py: Triton is not installed in this Python")
    return Path(spec.origin).parent.parent


def release_version(folder: Path) -> str:
    """The version a release's own `triton/__init__.py` states."""
    tree = Release(folder).tree("triton")
    for node in tree.body if tree else []:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__version__":
            return str(ast.literal_eval(node.value))
    raise SystemExit(f"names.py: no __version__ in {folder}/triton/__init__.py")


def collect(folders: list[Path]) -> dict[str, object]:
    """The whole document for releases in any order."""
    releases = [(release_version(folder), release_entries(Release(folder))) for folder in folders]
    releases.sort(key=lambda item: [int(part) for part in item[0].split(".")])
    entries = merge(releases)
    return {
        "triton": releases[-1][0],
        "versions": [version for version, _ in releases],
        "entries": [entry.as_json() for entry in entries],
    }


def main() -> int:
    """Writes the document to stdout."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--older", action="append", default=[], type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    document = collect([*arguments.older, installed_folder()])
    json.dump(document, sys.stdout, indent=1)
    sys.stdout.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
