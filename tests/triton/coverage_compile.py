"""Compiles a forward kernel of the corpus and the backward derived from it, with the same types and constexprs.

All emitted kernels go through Triton's front end and its IR verifier, a fixed part of them on to a cubin.
The forward says which guess of types and constexpr values is a possible one: several are tried, and the first
that Triton's front end accepts is used.  The emitted kernel's parameters carry the forward's names; gradients are
called `d` + name and have the type of what they are the gradient of.
"""

from __future__ import annotations

import ast
import atexit
import hashlib
import importlib.util
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.support.worker import Worker
from tests.triton.compile import CompileFailure, compile_function, complete_signature
from tests.triton.corpus import CORPUS
from tests.triton.signature import FLAG_NAMES, Signature, guess_signature

TARGET = ("cuda", 90)
OPTIONS: dict[str, object] = {"num_warps": 4, "num_stages": 2}


@dataclass
class Compiled:
    """ "ok", why not, or "" where it was not tried; backward_line is the text of the line Triton names."""

    forward: str
    backward: str
    backward_line: str = ""
    cubin: bool = False


def wants_cubin(kernel_name: str) -> bool:
    """Whether a kernel is compiled to the end: one in eight, by its name."""
    return int(hashlib.sha256(kernel_name.encode()).hexdigest()[:8], 16) % 8 == 0


def make_compile_worker() -> Worker:
    """A child that compiles other people's kernels: what they import and is missing becomes a shell."""
    folder = tempfile.TemporaryDirectory(prefix="triton-cache-")
    atexit.register(folder.cleanup)
    environment = {
        "TRITON_INTERPRET": "0",
        "TRITON_CACHE_DIR": folder.name,
        "TAD_PERMISSIVE_IMPORTS": "1",
    }
    return Worker("tests.triton.coverage_compile", environment)


# ---- the child's side ------------------------------------------------------------------------------


def compile_pair(path: Path, kernel_name: str, pointers: list[str], emitted: str) -> Compiled:
    """Both kernels; emitted is "" when there is only the forward to try."""
    from tests.triton import kernel_module

    kernel_module.prepare(*TARGET)
    kernel_module.allow_package(CORPUS)
    try:
        forward = kernel_module.find_kernel(kernel_module.load(path), kernel_name)
    except BaseException as error:
        return Compiled(f"import: {type(error).__name__}: {first_line(str(error))}", "")
    signature, problem = compiling_signature(forward, path, kernel_name, pointers)
    if signature is None:
        return Compiled(problem, "")
    if not emitted:
        return Compiled("ok", "")
    try:
        backwards = emitted_kernels(emitted, kernel_name)
    except Exception as error:
        return Compiled("ok", f"import: {type(error).__name__}: {first_line(str(error))}")
    cubin = wants_cubin(kernel_name)
    for backward in backwards:
        failure = compile_backward(backward, signature, "cubin" if cubin else "ttir")
        if failure is not None:
            lines = emitted.splitlines()
            known = failure.line is not None and failure.line <= len(lines)
            line = lines[failure.line - 1].strip() if known else ""  # type: ignore[operator]
            return Compiled("ok", f"{failure.stage}: {first_line(failure.message)}", line)
    return Compiled("ok", "ok" if backwards else "import: no emitted kernel", "", cubin)


def first_line(message: str) -> str:
    """The most telling line of an error, not too long."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    telling = [line for line in lines if "rror" in line] or lines or [""]
    return telling[-1][:300]


def compiling_signature(
    forward: object, path: Path, kernel_name: str, pointers: list[str]
) -> tuple[Signature | None, str]:
    """The first guess that Triton's front end accepts, or what it says to the first one."""
    problem = ""
    for signature in guesses(path, kernel_name, pointers):
        try:
            types = dict(signature.types)
            compile_function(forward, types, signature.constexprs, TARGET, OPTIONS, "ttir", True)
            return signature, ""
        except CompileFailure as failure:
            problem = problem or f"{failure.stage}: {first_line(failure.message)}"
        except Exception as error:
            problem = problem or f"frontend: {type(error).__name__}: {first_line(str(error))}"
    return None, problem


def guesses(path: Path, kernel_name: str, pointers: list[str]) -> Iterator[Signature]:
    """Likely signatures: as guessed, with other flags, sizes and element types."""
    try:
        first = guess_signature(path, kernel_name)
        unseen = [n for n in pointers if not first.types.get(n, "*").startswith("*")]
        first.types.update(dict.fromkeys(unseen, "*fp32"))
    except Exception as error:
        raise CompileFailure(f"no signature: {error}", None, "import") from None
    yield first
    flags = [n for n, v in first.constexprs.items() if v is True or FLAG_NAMES.match(n.upper())]
    off = {**first.constexprs, **dict.fromkeys(flags, False)}
    if flags:
        yield replace(first, constexprs=off)
    for size in (16, 64, 128):
        for base in (first.constexprs, off):
            sized = {
                n: size if isinstance(v, int) and not isinstance(v, bool) and v >= 16 else v
                for n, v in base.items()
            }
            yield replace(first, constexprs=sized)
    for element in ("*fp16", "*bf16"):
        yield guess_signature(path, kernel_name, {"*": element})


def emitted_kernels(text: str, kernel_name: str) -> list[object]:
    """The derived kernels of an emitted module: those whose names start with the forward's + `_backward`."""
    from tests.triton import kernel_module

    path = kernel_module.path_of(text)
    name = f"emitted_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    loader = kernel_module.TolerantLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
    names = [
        node.name
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith(f"{kernel_name}_backward")
        and any("jit" in ast.unparse(d) for d in node.decorator_list)
    ]
    return [kernel_module.find_kernel(module, n) for n in names]


def compile_backward(backward: object, signature: Signature, until: str) -> CompileFailure | None:
    """Compiles one emitted kernel; None when Triton accepts it."""
    names = list(backward.arg_names)  # type: ignore[attr-defined]
    types = {n: t for n in names if (t := type_of(n, signature)) is not None}
    values = {n: v for n, v in signature.constexprs.items() if n in names}
    declared = {p.name for p in backward.params if p.is_constexpr}  # type: ignore[attr-defined]
    types = {n: t for n, t in types.items() if n not in values}
    try:
        missing = [n for n in declared if n not in values]
        if missing:
            raise CompileFailure(f"constexpr `{missing[0]}` has no value", None, "signature")
        complete_signature(names, types, values)
        compile_function(backward, types, values, TARGET, OPTIONS, until, True)
    except CompileFailure as failure:
        return failure
    except Exception as error:
        return CompileFailure(f"{type(error).__name__}: {error}", None, "backend")
    return None


def type_of(name: str, signature: Signature) -> str | None:
    """The type of an emitted parameter: the forward's, or that of what it is the gradient of."""
    if name in signature.types:
        return signature.types[name]
    for prefix in ("d_in_", "d_", "d"):
        if name.startswith(prefix) and name.removeprefix(prefix) in signature.types:
            return signature.types[name.removeprefix(prefix)]
    return "*fp32" if name not in signature.constexprs else None
