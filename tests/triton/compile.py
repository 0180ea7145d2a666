"""Compiles kernels with the installed Triton for a named GPU, on a machine without one.

In: kernel source (text or a file), a signature, constexpr values.  Out: the IR Triton made of it, or the
error it reported with its line.  The work happens in child processes (`tests.support.worker`), so a
compiler crash is a result, not the end of the tests.
"""

from __future__ import annotations

import ast
import atexit
import functools
import inspect
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.worker import Worker, WorkerDied, WorkerPool
from tests.triton.ttir import TtirValue, ttir_summary

__all__ = [
    "CompileFailure",
    "CompiledKernel",
    "ExpressionType",
    "TtirValue",
    "compile_kernel",
    "compile_many",
    "compile_request",
    "make_worker",
    "ttir_summary",
]

WARP_SIZE = 32


@dataclass(frozen=True)
class ExpressionType:
    """What Triton's front end made of one expression or assigned name; lines from 1, columns from 0.

    kind is the Python node (`BinOp`, `Call`, `Name`, ...), or `assign` for a name that the statement at
    this place binds; type is Triton's own text: `fp32`, `<['64', '32'], fp16>`, `pointer<fp32>`,
    `constexpr[128]`, `tuple(...)`.  Triton's own library functions have no rows.
    A helper that is compiled for several types has a row for each.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    kind: str
    text: str
    type: str


@dataclass
class CompiledKernel:
    """What Triton made of a kernel.

    raw_ttir is the front end's output (every value with its line and name), ttir the optimised form;
    cubin_size is 0 when the compile stopped at TTIR.  types: see `ExpressionType`.
    """

    name: str
    raw_ttir: str
    types: list[ExpressionType]
    ttir: str = ""
    cubin_size: int = 0
    shared_bytes: int = 0


class CompileFailure(Exception):
    """Triton refused the kernel.

    `line` counts from 1 in the kernel's file, None where Triton names none; `stage` is import (the module
    could not be imported), frontend, backend, or crash (the compiler died or ran past its time).
    """

    def __init__(self, message: str, line: int | None, stage: str, file: str = "") -> None:
        super().__init__(message, line, stage, file)
        self.message = message
        self.line = line
        self.stage = stage
        self.file = file

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        return f"{self.stage}: {place}{self.message}"


# ---- the parent's side ---------------------------------------------------------------------------


def make_worker(release: Path | None = None, permissive: bool = False) -> Worker:
    """A child that compiles.

    release: folder of another Triton (unpacked wheel) in place of the installed one.
    permissive: modules that are not installed import as empty shells (for third-party packages).
    """
    cache = tempfile.TemporaryDirectory(prefix="triton-cache-")
    atexit.register(cache.cleanup)
    environment = {
        "TRITON_INTERPRET": "0",
        "TRITON_CACHE_DIR": cache.name,
        "TAD_PERMISSIVE_IMPORTS": "1" if permissive else "0",
    }
    return Worker("tests.triton.compile", environment, [release] if release else [])


@functools.cache
def default_worker() -> Worker:
    """One child shared by all plain calls of this process."""
    worker = make_worker()
    atexit.register(worker.close)
    return worker


def compile_kernel(
    source: str | Path,
    kernel_name: str,
    signature: Mapping[str, str],
    constexprs: Mapping[str, object] | None = None,
    *,
    target: str = "cuda:90",
    num_warps: int = 4,
    num_stages: int = 3,
    until: str = "cubin",
    aligned: bool = True,
    worker: Worker | None = None,
    timeout: float = 120.0,
) -> CompiledKernel:
    """Compiles one kernel; raises CompileFailure when Triton does not accept it.

    source: Python text, or the path of a file.  signature: type per parameter as Triton writes it
    (`*fp32`, `i32`, `fp32`, `tensordesc<fp16[64, 64]>`); parameters in `constexprs` may be left out.
    until: "ttir" (fast) or "cubin".  aligned: pointers are divisible by 16, as PyTorch's are.
    """
    request = compile_request(
        source, kernel_name, signature, constexprs, target, num_warps, num_stages, until, aligned
    )
    try:
        result = (worker or default_worker()).call("compile_here", timeout=timeout, **request)
    except WorkerDied as death:
        raise CompileFailure(str(death), None, "crash") from None
    assert isinstance(result, CompiledKernel)
    return result


def compile_many(
    requests: Iterable[dict[str, object]],
    *,
    release: Path | None = None,
    permissive: bool = False,
    processes: int | None = None,
    timeout: float = 120.0,
) -> list[CompiledKernel | CompileFailure]:
    """Compiles many requests (see `compile_request`) in a few processes, in order."""
    pool = WorkerPool(lambda: make_worker(release, permissive), processes)
    try:
        results = pool.map("compile_here", requests, timeout)
    finally:
        pool.close()
    return [as_result(result) for result in results]


def as_result(result: object) -> CompiledKernel | CompileFailure:
    """A call's outcome with a dead child as a failure; anything else unexpected is raised."""
    if isinstance(result, WorkerDied):
        return CompileFailure(str(result), None, "crash")
    if isinstance(result, CompiledKernel | CompileFailure):
        return result
    raise result if isinstance(result, BaseException) else TypeError(repr(result))


def compile_request(
    source: str | Path,
    kernel_name: str,
    signature: Mapping[str, str],
    constexprs: Mapping[str, object] | None = None,
    target: str = "cuda:90",
    num_warps: int = 4,
    num_stages: int = 3,
    until: str = "cubin",
    aligned: bool = True,
) -> dict[str, object]:
    """One compile as plain data for `compile_many`; arguments as in `compile_kernel`."""
    return {
        "source": source,
        "kernel_name": kernel_name,
        "signature": dict(signature),
        "constexprs": dict(constexprs or {}),
        "target": target,
        "options": {"num_warps": num_warps, "num_stages": num_stages},
        "until": until,
        "aligned": aligned,
    }


# ---- the child's side ----------------------------------------------------------------------------


def compile_here(
    source: str | Path,
    kernel_name: str,
    signature: dict[str, str],
    constexprs: dict[str, object],
    target: str,
    options: dict[str, object],
    until: str,
    aligned: bool,
) -> CompiledKernel:
    """Compiles in this process; called in the child only."""
    from tests.triton import kernel_module

    backend, _, capability = target.partition(":")
    kernel_module.prepare(backend, int(capability))
    try:
        module = kernel_module.load(source)
        function = kernel_module.find_kernel(module, kernel_name)
    except CompileFailure:
        raise
    except Exception as error:
        line = kernel_module.line_in(error, kernel_module.path_of(source))
        raise CompileFailure(f"{type(error).__name__}: {error}", line, "import") from None
    return compile_function(
        function, signature, constexprs, (backend, int(capability)), options, until, aligned
    )


def compile_function(
    function: object,
    signature: dict[str, str],
    constexprs: dict[str, object],
    target: tuple[str, int],
    options: dict[str, object],
    until: str,
    aligned: bool,
) -> CompiledKernel:
    """Compiles a JITFunction; errors become CompileFailure."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    names = list(function.arg_names)  # type: ignore[attr-defined]
    complete = complete_signature(names, signature, constexprs)
    attributes = alignment(names, complete) if aligned else {}
    types: list[ExpressionType] = []
    try:
        source = ASTSource(function, complete, live_constexprs(constexprs, function), attributes)
        gpu = GPUTarget(target[0], target[1], WARP_SIZE)
        with type_recorder(types):
            raw = frontend(source, gpu, options)
    except Exception as error:
        raise failure_of(error, function, "frontend") from None
    name = function.__name__  # type: ignore[attr-defined]
    if until == "ttir":
        return CompiledKernel(name, raw, types)
    try:
        compiled = triton.compile(source, target=gpu, options=options)
    except Exception as error:
        raise failure_of(error, function, "backend") from None
    cubin = compiled.asm.get("cubin", b"")
    return CompiledKernel(
        name, raw, types, compiled.asm["ttir"], len(cubin), compiled.metadata.shared
    )


@contextmanager
def type_recorder(into: list[ExpressionType]) -> Iterator[None]:
    """Notes the type of every expression that Triton's front end visits, in all functions it compiles."""
    from triton.compiler.code_generator import CodeGenerator

    visit_before, set_before = CodeGenerator.visit, CodeGenerator.set_value
    library = str(Path(inspect.getfile(CodeGenerator)).parent.parent)
    seen: set[ExpressionType] = set()

    def note(generator: object, node: ast.AST, kind: str, text: str, value: object) -> None:
        if str(getattr(generator, "file_name", "")).startswith(library):
            return
        if not hasattr(node, "lineno"):  # made by the front end itself
            return
        type_name = type_text(value)
        if type_name:
            row = expression_row(generator, node, kind, text, type_name)
            if row not in seen:
                seen.add(row)
                into.append(row)

    def visit(self: object, node: ast.AST) -> object:
        value = visit_before(self, node)
        # Triton makes up nodes without a place, such as the missing bounds of `range`.
        placed = isinstance(node, ast.expr) and hasattr(node, "lineno")
        if placed and not isinstance(getattr(node, "ctx", None), ast.Store):
            note(self, node, type(node).__name__, ast.unparse(node), value)
        return value

    def set_value(self: object, name: str, value: object) -> None:
        set_before(self, name, value)
        node = getattr(self, "cur_node", None)
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef):
            note(self, node, "assign", name, value)

    CodeGenerator.visit, CodeGenerator.set_value = visit, set_value
    try:
        yield
    finally:
        CodeGenerator.visit, CodeGenerator.set_value = visit_before, set_before


def expression_row(
    generator: object, node: ast.AST, kind: str, text: str, type_name: str
) -> ExpressionType:
    """One node in its file's own numbering (Triton dedents a function before reading it)."""
    lines = getattr(generator, "begin_line", 0)
    indent = getattr(generator, "begin_col", 1) - 1
    assert isinstance(node, ast.expr | ast.stmt)
    return ExpressionType(
        str(getattr(generator, "file_name", "")),
        node.lineno + lines,
        node.col_offset + indent,
        (node.end_lineno or node.lineno) + lines,
        (node.end_col_offset or 0) + indent,
        kind,
        text,
        type_name,
    )


def type_text(value: object) -> str:
    """The type of a front-end value as Triton writes it; "" for what is no value of the kernel."""
    import triton.language as tl

    if isinstance(value, tl.constexpr):
        inner = value.value
        plain = isinstance(inner, int | float | str | bool | None.__class__ | tl.dtype)
        return f"constexpr[{inner}]" if plain else ""
    if isinstance(value, tl.tuple):
        return f"tuple({', '.join(type_text(v) or '?' for v in value.values)})"
    if isinstance(value, tl.tensor):
        return str(value.type)
    kind = getattr(value, "type", None)
    return str(kind) if isinstance(kind, tl.core.base_type) else ""


def run_time_type(text: str) -> str | tuple[str, ...]:
    """A type as Triton takes it: `(i32, i32)` is a tuple of types."""
    is_tuple = text.startswith("(")
    return tuple(item.strip() for item in text[1:-1].split(",")) if is_tuple else text


def complete_signature(
    names: list[str], signature: dict[str, str], constexprs: dict[str, object]
) -> dict[str, str | tuple[str, ...]]:
    """The signature in parameter order with `constexpr` for every constexpr."""
    out = {}
    for name in names:
        if name in constexprs or signature.get(name) == "constexpr":
            out[name] = "constexpr"
        elif name in signature:
            out[name] = run_time_type(signature[name])
        else:
            raise CompileFailure(f"no type given for parameter '{name}'", None, "import")
    return out


def live_constexprs(constexprs: dict[str, object], kernel: object) -> dict[str, object]:
    """Constexpr values; `tl.float16` is a dtype, `function:NAME` what the kernel's file has by that name."""
    import triton.language as tl

    out = {}
    for name, value in constexprs.items():
        if isinstance(value, str) and value.startswith("tl."):
            value = getattr(tl, value.removeprefix("tl."))
        elif isinstance(value, str) and value.startswith("function:"):
            value = kernel.fn.__globals__[value.removeprefix("function:")]  # type: ignore[attr-defined]
        out[name] = value
    return out


def alignment(
    names: list[str], signature: dict[str, str | tuple[str, ...]]
) -> dict[tuple[int], list[list[object]]]:
    """The attribute Triton gives to aligned pointers."""
    return {
        (index,): [["tt.divisibility", 16]]
        for index, name in enumerate(names)
        if str(signature[name]).startswith("*")
    }


def frontend(source: object, target: object, options: dict[str, object]) -> str:
    """The front end's IR as text, with locations, before any pass."""
    from triton._C.libtriton import ir
    from triton.compiler.compiler import make_backend

    backend = make_backend(target)
    parsed = backend.parse_options(dict(options))
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    given = {
        "target": target,
        "options": parsed,
        "codegen_fns": backend.get_codegen_implementation(parsed),
        "module_map": backend.get_module_map(),
        "context": context,
    }
    wanted = inspect.signature(source.make_ir).parameters  # type: ignore[attr-defined]
    module = source.make_ir(**{k: v for k, v in given.items() if k in wanted})  # type: ignore[attr-defined]
    return str(module)


def failure_of(error: BaseException, function: object, stage: str) -> CompileFailure:
    """Triton's error with the line it names, in the file's own numbering."""
    innermost = error
    line, file = None, ""
    seen: BaseException | None = error
    while seen is not None:
        node = getattr(seen, "node", None)
        if node is not None and hasattr(node, "lineno"):
            innermost = seen
        seen = seen.__cause__
    node = getattr(innermost, "node", None)
    if node is not None and hasattr(node, "lineno"):
        owner = owner_of(getattr(innermost, "src", None), function)
        line = node.lineno + first_line(owner) - 1
        file = file_of(owner)
    message = (
        getattr(innermost, "error_message", None) or str(innermost) or type(innermost).__name__
    )
    cause = innermost.__cause__
    if cause is not None and str(cause) not in str(message):
        message = f"{message}: {cause}"
    return CompileFailure(f"{type(innermost).__name__}: {message}", line, stage, file)


def owner_of(text: str | None, function: object) -> object:
    """The jit function whose source text an error quotes: the kernel or one of its helpers."""
    from triton.runtime.jit import JITFunction

    todo, seen = [function], set()
    while todo:
        candidate = todo.pop()
        if id(candidate) in seen:
            continue
        seen.add(id(candidate))
        if source_of(candidate) == text:
            return candidate
        scope = getattr(getattr(candidate, "fn", None), "__globals__", {})
        names = getattr(getattr(candidate, "fn", None), "__code__", None)
        for name in names.co_names if names else ():
            if isinstance(scope.get(name), JITFunction):
                todo.append(scope[name])
    return function


def source_of(function: object) -> str | None:
    """The text a JITFunction compiles, from its `def`."""
    return getattr(function, "src", None)


def first_line(function: object) -> int:
    """The line of the file where `source_of` begins."""
    fn = function.fn  # type: ignore[attr-defined]
    lines, start = inspect.getsourcelines(fn)
    for offset, text in enumerate(lines):
        if re.match(r"\s*def\s", text):
            return start + offset
    return start


def file_of(function: object) -> str:
    """The file a jit function was read from."""
    return inspect.getsourcefile(function.fn) or ""  # type: ignore[attr-defined]
