"""Compiles a forward kernel of the corpus and the backward derived from it, with the same types and constexprs.

All emitted kernels go through Triton's front end and its IR verifier, and on to a cubin where that ends in time.
The forward says which types and constexpr values are possible ones: what tad-runner made of its launcher, what
its text suggests, and variations of that; the first that Triton's front end accepts is used.  The emitted kernel's
parameters carry the forward's names; gradients are called `d` + name and have the type of what they belong to.
"""

from __future__ import annotations

import ast
import atexit
import hashlib
import importlib.metadata
import importlib.util
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.emitted import specification
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


def release() -> str:
    """Of the Triton that compiles."""
    return importlib.metadata.version("triton")


def compile_pair(
    path: Path,
    kernel_name: str,
    types: dict[str, str],
    emitted: str,
    specifications: list[str],
    until: str,
) -> Compiled:
    """Both kernels; emitted is "" when there is only the forward to try.

    types: what tad-lsp takes the run-time parameters for; specifications: `# tad:` lines to run the kernel with.
    """
    from tests.triton import kernel_module

    kernel_module.prepare(*TARGET)
    kernel_module.allow_package(CORPUS)
    try:
        module = kernel_module.load(path)
        forward = kernel_module.find_kernel_anywhere(module, path, kernel_name)
    except BaseException as error:
        return Compiled(f"import: {type(error).__name__}: {first_line(str(error))}", "")
    known = [s for text in specifications if (s := from_specification(text, forward))]
    signature, problem = compiling_signature(forward, known, path, kernel_name, types)
    if signature is None:
        return Compiled(problem, "")
    if not emitted:
        return whole_forward(forward, signature) if until == "cubin" else Compiled("ok", "")
    try:
        backwards = emitted_kernels(emitted, kernel_name, module.__package__ or "")
    except Exception as error:
        return Compiled("ok", f"import: {type(error).__name__}: {first_line(str(error))}")
    for backward in backwards:
        failure = compile_backward(backward, signature, until)
        if failure is not None:
            lines = emitted.splitlines()
            known_line = failure.line is not None and failure.line <= len(lines)
            line = lines[failure.line - 1].strip() if known_line else ""  # type: ignore[operator]
            return Compiled("ok", f"{failure.stage}: {first_line(failure.message)}", line)
    return Compiled(
        "ok",
        "ok" if backwards else "import: no emitted kernel",
        "",
        bool(backwards and until == "cubin"),
    )


def whole_forward(forward: object, signature: Signature) -> Compiled:
    """A forward that the front end accepts, compiled to the end."""
    own = {n: t for n, t in signature.types.items() if n not in signature.constexprs}
    try:
        compile_function(forward, own, signature.constexprs, TARGET, OPTIONS, "cubin", True)
    except CompileFailure as failure:
        return Compiled(f"{failure.stage}: {first_line(failure.message)}", "")
    return Compiled("ok", "", "", True)


def first_line(message: str) -> str:
    """The most telling line of an error, not too long."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    telling = [line for line in lines if "rror" in line] or lines or [""]
    return telling[-1][:300]


def compiling_signature(
    forward: object, known: list[Signature], path: Path, kernel_name: str, types: dict[str, str]
) -> tuple[Signature | None, str]:
    """The first signature that Triton's front end accepts, or what it says to the first one.

    A forward with block pointers, which this Triton no longer has, is not asked: its backward has none.
    """
    problem = ""
    for signature in [*known, *guesses(path, kernel_name, types)]:
        try:
            own = {n: t for n, t in signature.types.items() if n not in signature.constexprs}
            compile_function(forward, own, signature.constexprs, TARGET, OPTIONS, "ttir", True)
            return signature, ""
        except CompileFailure as failure:
            if "Block pointers have been removed" in failure.message:
                return signature, ""
            problem = problem or f"{failure.stage}: {first_line(failure.message)}"
        except Exception as error:
            problem = problem or f"frontend: {type(error).__name__}: {first_line(str(error))}"
    return None, problem


def from_specification(text: str, kernel: object) -> Signature | None:
    """Types and values of a `# tad:` line for a kernel; None for one with values this does not know."""
    try:
        values = specification.parse(text).values
    except Exception:
        return None
    signature = Signature({}, {})
    for parameter in kernel.params:  # type: ignore[attr-defined]
        name, value = parameter.name, values.get(parameter.name)
        if isinstance(value, specification.Buffer):
            signature.types[name] = "*" + re.sub(r"^f(?=\d)", "fp", value.type)
        elif parameter.is_constexpr or value is None or isinstance(value, str):
            if name in values:
                signature.constexprs[name] = value
        elif isinstance(value, bool):
            signature.types[name] = "i1"
        elif isinstance(value, float):
            signature.types[name] = "fp32"
        elif isinstance(value, int):
            signature.types[name] = "i64" if abs(value) >= 1 << 31 else "i32"
    return signature


def told_by_types(signature: Signature, types: dict[str, str]) -> Signature:
    """A signature in which run-time parameters have the types that tad-lsp infers."""
    own = dict(signature.types)
    for name, kind in types.items():
        if name in own:
            is_pointer = own[name].startswith("*")
            if kind.startswith("*") != is_pointer or re.fullmatch(r"\*?[iu]\d+|fp\d+", kind):
                own[name] = kind if re.fullmatch(r"\*?([iu]|fp)\d+", kind) else "*fp32"
    return replace(signature, types=own)


def guesses(path: Path, kernel_name: str, types: dict[str, str]) -> Iterator[Signature]:
    """Likely signatures: as guessed, with other flags, sizes and element types."""
    try:
        plain = guess_signature(path, kernel_name)
    except Exception as error:
        raise CompileFailure(f"no signature: {error}", None, "import") from None
    first = told_by_types(plain, types)
    yield first
    flags = [n for n, v in first.constexprs.items() if v is True or FLAG_NAMES.match(n.upper())]
    off = {**first.constexprs, **dict.fromkeys(flags, False)}
    if flags:
        yield replace(first, constexprs=off)
    yield plain
    for size in (16, 64, 128):
        for base in (first.constexprs, off):
            sized = {
                n: size if isinstance(v, int) and not isinstance(v, bool) and v >= 16 else v
                for n, v in base.items()
            }
            yield replace(first, constexprs=sized)
    for element in ("*fp16", "*bf16"):
        yield told_by_types(guess_signature(path, kernel_name, {"*": element}), types)


def emitted_kernels(text: str, kernel_name: str, package: str) -> list[object]:
    """The derived kernels of an emitted module: those whose names start with the forward's + `_backward`.

    package: of the forward's file, beside which the module would be written; "" where it is in none.
    """
    from tests.triton import kernel_module

    path = kernel_module.path_of(text)
    name = f"emitted_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    if package:
        name = f"{package}.{name}"
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
    types |= scratch_types(backward.src, names)  # type: ignore[attr-defined]
    params = [p for p in backward.params if p.is_constexpr]  # type: ignore[attr-defined]
    values = {p.name: p.default for p in params if p.has_default}
    values |= {n: v for n, v in signature.constexprs.items() if n in names}
    values |= {n: None for n in names if n not in types and n not in values}
    declared = {p.name for p in params}
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


def scratch_types(source: str, names: list[str]) -> dict[str, str]:
    """Scratch memory and its sizes, as the comments below the head of an emitted kernel declare them."""
    kinds = {"float64": "*fp64", "int64": "*i64", "int32": "*i32"}
    found = {}
    for name, what in re.findall(r"^ *# (\w+): (.*)$", source, re.MULTILINE):
        if name in names:
            found[name] = "i32" if "room for" in what else kinds.get(what.split()[-1], "*fp32")
        found |= dict.fromkeys(re.findall(r"zeros, `(\w+)` times", what), "i32")
        if name in names and "times; the gradient is their sum" in what:
            # the distance of the sums stands behind their pointer's name
            distance = f"{name.removesuffix('_ptr')}_stride".lower()
            found |= {n: "i32" for n in names if n.lower() == distance}
    return found


def type_of(name: str, signature: Signature) -> str | None:
    """The type of an emitted parameter: the forward's, or that of what it is the gradient of; None for None."""
    if name in signature.types:
        return signature.types[name]
    if name.removesuffix("_before") in signature.types:
        return signature.types[name.removesuffix("_before")]
    for prefix in ("d_in_", "d_", "d"):
        of = name.removeprefix(prefix)
        if name.startswith(prefix) and of in signature.types:
            return signature.types[of]
        if name.startswith(prefix) and signature.constexprs.get(of, 0) is None:
            return None
    return "*fp32" if name not in signature.constexprs else None
