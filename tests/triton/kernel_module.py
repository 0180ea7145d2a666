"""Imports kernel sources in a child process with the stand-in for torch and a named GPU target.

Used by `compile` and `interpret`; nothing here runs in the tests' own process.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import tempfile
import traceback
import types
from pathlib import Path

from tests.support import fake_torch

_folder: list[tempfile.TemporaryDirectory[str]] = []
_loaded: dict[str, types.ModuleType] = {}


class NamedDriver:
    """Answers Triton's question for the active GPU with the target we compile for."""

    def __init__(self, backend: str, capability: int) -> None:
        self.backend, self.capability = backend, capability

    def get_current_target(self) -> object:
        """The named target."""
        from triton.backends.compiler import GPUTarget

        return GPUTarget(self.backend, self.capability, 32)

    def get_active_torch_device(self) -> object:
        """A device called cuda."""
        return fake_torch.device("cuda", 0)

    def get_device_interface(self) -> object:
        """torch.cuda of the stand-in."""
        return sys.modules["torch.cuda"]

    def get_current_device(self) -> int:
        """The only one."""
        return 0

    def get_current_stream(self, device: object = None) -> int:
        """The only one."""
        return 0

    def get_empty_cache_for_benchmark(self) -> object:
        """Nothing to flush."""
        return sys.modules["torch"].empty(1)

    def clear_cache(self, cache: object) -> None:
        """Nothing to flush."""

    @property
    def utils(self) -> object:
        """Properties of the card."""
        properties = {
            "max_shared_mem": 227 * 1024,
            "multiprocessor_count": 132,
            "warpSize": 32,
            "max_num_regs": 65536,
        }
        return types.SimpleNamespace(get_device_properties=lambda device: properties)


def prepare(backend: str = "cuda", capability: int = 90) -> None:
    """Puts the stand-ins in place; cheap when they are."""
    fake_torch.install(permissive=is_permissive())
    from triton.runtime import driver

    driver.set_active(NamedDriver(backend, capability))


class TolerantLoader(importlib.machinery.SourceFileLoader):
    """Runs a module statement by statement; what fails is skipped and its names become shells."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Executes what can be executed; line numbers and files stay the real ones."""
        path = self.get_filename()
        tree = ast.parse(Path(path).read_text(encoding="utf-8"), path)
        for statement in tree.body:
            code = compile(ast.Module([statement], []), path, "exec", dont_inherit=True)
            try:
                exec(code, module.__dict__)
            except Exception:
                for name in bound_names(statement):
                    module.__dict__.setdefault(name, fake_torch.Shell(name))


def bound_names(statement: ast.stmt) -> list[str]:
    """Names a failed statement would have bound; functions and classes stay unbound."""
    if isinstance(statement, ast.Import):
        return [a.asname or a.name.partition(".")[0] for a in statement.names]
    if isinstance(statement, ast.ImportFrom):
        return [a.asname or a.name for a in statement.names if a.name != "*"]
    if isinstance(statement, ast.Assign):
        return [t.id for t in statement.targets if isinstance(t, ast.Name)]
    return []


class TolerantFinder(importlib.abc.MetaPathFinder):
    """Finds the modules of third-party packages below one folder and loads them tolerantly."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def find_spec(
        self, name: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A spec for a source file below the root, None for anything else."""
        if name.partition(".")[0] in ("triton", "torch", "numpy", "tests"):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path or [str(self.root)])  # type: ignore
        if spec is None or not spec.origin or not spec.origin.endswith(".py"):
            return None
        if not Path(spec.origin).is_relative_to(self.root):
            return None
        loader = TolerantLoader(spec.name, spec.origin)
        search = spec.submodule_search_locations
        return importlib.util.spec_from_file_location(
            spec.name, spec.origin, loader=loader, submodule_search_locations=search
        )


def allow_package(root: Path) -> None:
    """Makes the packages below `root` importable; tolerantly where missing modules are shells."""
    if is_permissive():
        if not any(isinstance(f, TolerantFinder) and f.root == root for f in sys.meta_path):
            sys.meta_path.insert(0, TolerantFinder(root))
    elif str(root) not in sys.path:
        sys.path.append(str(root))


def is_permissive() -> bool:
    """Whether this child lets missing modules import as shells."""
    return os.environ.get("TAD_PERMISSIVE_IMPORTS") == "1"


def load(source: str | Path) -> types.ModuleType:
    """The module of a source text or file; the same source is imported once.

    A file inside a package (a folder with `__init__.py`) is imported by its dotted name, so that its
    own imports work.
    """
    path = path_of(source)
    key = f"{path}:{hashlib.sha256(path.read_bytes()).hexdigest()}"
    if key not in _loaded:
        root, name = package_name(path)
        if "." in name:
            allow_package(root)
            _loaded[key] = importlib.import_module(name)
        else:
            _loaded[key] = load_single(path)
    return _loaded[key]


def load_single(path: Path) -> types.ModuleType:
    """A module of a file that is in no package."""
    name = f"kernels_{hashlib.sha256(str(path).encode()).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def path_of(source: str | Path) -> Path:
    """The file of a source; a text is written to one, because Triton reads kernels from files."""
    if isinstance(source, Path):
        return source.resolve()
    if not _folder:
        _folder.append(tempfile.TemporaryDirectory(prefix="kernels-"))
    digest = hashlib.sha256(source.encode()).hexdigest()[:16]
    path = Path(_folder[0].name) / f"source_{digest}.py"
    if not path.exists():
        path.write_text(source, encoding="utf-8")
    return path


def package_name(path: Path) -> tuple[Path, str]:
    """The folder to put on sys.path and the dotted name below it."""
    parts = [] if path.stem == "__init__" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").exists():
        parts.append(folder.name)
        folder = folder.parent
    return folder, ".".join(reversed(parts))


def find_kernel(module: types.ModuleType, name: str) -> object:
    """The jit function `name` (dotted for a class member), without autotune and heuristics."""
    found: object = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise AttributeError(f"no '{name}' in the module")
        found = getattr(found, part)
    return unwrap(found)


def find_kernel_anywhere(module: types.ModuleType, path: Path, name: str) -> object:
    """As `find_kernel`; a jit function inside another function is defined anew, in what surrounds it there.

    What stands before it in the enclosing functions and blocks is executed statement by statement; what fails, because
    it needs the function's arguments, is skipped.
    """
    try:
        return find_kernel(module, name)
    except (AttributeError, TypeError):
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        chain = enclosing(tree, name.rpartition(".")[2])
        if not chain:
            raise
    scope = types.ModuleType(module.__name__)
    scope.__dict__.update(module.__dict__)
    for outer, inner in zip(chain[1:], chain[2:], strict=False):
        for statement in blocks_of(outer):
            execute_tolerantly(statement, path, scope)
            if statement is inner:
                break
    execute_tolerantly(chain[-1], path, scope)  # type: ignore[arg-type]
    return find_kernel(scope, chain[-1].name)  # type: ignore[attr-defined]


def enclosing(node: ast.AST, name: str) -> list[ast.AST]:
    """The way from a tree to the function `name` in it: every node that holds statements."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef) and child.name == name and child.decorator_list:
            return [node, child]
        below = enclosing(child, name)
        if below:
            return [node, *below]
    return []


def blocks_of(node: ast.AST) -> list[ast.stmt]:
    """The statements of all blocks of a node: body, else, handlers."""
    return [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]


def execute_tolerantly(statement: ast.stmt, path: Path, scope: types.ModuleType) -> None:
    """Runs what defines something; a failure leaves it undefined.  Of a `try` around a `return` only the body runs."""
    if isinstance(statement, ast.Expr | ast.Return | ast.Raise):
        return
    try:
        code = compile(ast.Module([statement], []), str(path), "exec", dont_inherit=True)
    except SyntaxError:
        if isinstance(statement, ast.Try | ast.With):
            for inner in statement.body:
                execute_tolerantly(inner, path, scope)
        return
    with contextlib.suppress(Exception):
        exec(code, scope.__dict__)


def unwrap(found: object) -> object:
    """The jit function inside autotune, heuristics and other launch wrappers."""
    for _ in range(16):
        kind = type(found).__name__
        if kind in ("JITFunction", "InterpretedFunction", "GluonJITFunction"):
            return found
        inner = getattr(found, "fn", None) or getattr(found, "__wrapped__", None)
        if inner is None:
            break
        found = inner
    raise TypeError(f"{getattr(found, '__name__', found)!r} is not a triton.jit function")


def line_in(error: BaseException, path: Path) -> int | None:
    """The last line of `path` that an error passed through."""
    if isinstance(error, SyntaxError):
        return error.lineno
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename) == path
    ]
    return lines[-1] if lines else None
