"""Guesses types and constexpr values to compile a kernel with, from its text and what the caller knows.

Pointers are told by their use (the address of a load, store or atomic, through assignments and helper
calls); other parameters are floats or 32-bit integers by their use and name; constexprs get their default,
the first autotune configuration's value, or a value that fits their name.  A guess may be wrong: the caller
overrides it per parameter.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.triton.corpus import (
    Found,
    JitFinder,
    Parameter,
    called_name,
    finder_of,
    own_statements,
    parameters_of,
)

TYPE = re.compile(r"^(\*+k?)?(i1|i8|i16|i32|i64|u1|u8|u16|u32|u64|fp16|bf16|fp32|fp64|fp8\w+)$")
ADDRESS_CALLS = {"load", "store", "make_block_ptr", "make_tensor_descriptor", "advance"}
FLOAT_NAMES = re.compile(
    r"(^|_)(eps|epsilon|scale|scaling|alpha|beta|gamma|lr|momentum|p|prob|dropout|softcap|cap|value|"
    r"slope|threshold|temperature|weight_decay|decay|lambda|theta|factor|coeff?|smoothing|inv\w*)(_|$)",
    re.IGNORECASE,
)
FLAG_NAMES = re.compile(
    r"^(HAS|IS|USE|DO|STORE|SAVE|RETURN|ENABLE|WITH|APPLY|COMPUTE|OUTPUT|FUSE)_"
)
INTEGER_POINTER = re.compile(
    r"(index|indices|idx|offset|seqlen|cu_|label|target|token|lens?$|lens?_|position|slot|table|mapping)",
    re.IGNORECASE,
)
DEFAULT_POINTER = "*fp32"
DEFAULT_BLOCK = 32


@dataclass
class Signature:
    """Input for `compile_kernel`: types of run-time parameters and values of constexprs."""

    types: dict[str, str]
    constexprs: dict[str, object]
    num_warps: int = 4
    num_stages: int = 3
    guessed: list[str] = field(default_factory=list)


def guess_signature(
    path: Path, kernel_name: str, kinds: Mapping[str, object] | None = None
) -> Signature:
    """The signature of a kernel in a file; raises KeyError when the file has no such jit function.

    kinds: what is known: a Triton type (`*fp16`, `i32`, `tensordesc<fp16[64, 64]>`) or, for a constexpr,
    its value.  `"*"` alone is a key for the element type of pointers nobody names: {"*": "*bf16"}.
    """
    finder = finder_of(path)
    by_name = {found.node.name: found for found in finder.found}
    by_name |= {found.name: found for found in finder.found}
    found = by_name[kernel_name]
    known = dict(kinds or {})
    default_pointer = str(known.pop("*", DEFAULT_POINTER))
    usage = Usage(finder)
    pointers = usage.pointer_parameters(found)
    integers = usage.integer_pointers(found)
    tuned, warps, stages = first_configuration(found.node)
    signature = Signature({}, {}, warps, stages)
    for parameter in parameters_of(found.node):
        name = parameter.name
        if name in known:
            place(signature, parameter, known[name])
            continue
        signature.guessed.append(name)
        if parameter.constexpr:
            signature.constexprs[name] = constexpr_value(
                parameter, tuned, usage.compared_to_none(found)
            )
        elif name in tuned:
            signature.constexprs[name] = tuned[name]
        elif name in pointers:
            integer = name in integers or INTEGER_POINTER.search(name) is not None
            signature.types[name] = "*i64" if integer else default_pointer
        else:
            signature.types[name] = scalar_type(parameter, found.node)
    return signature


def place(signature: Signature, parameter: Parameter, kind: object) -> None:
    """Enters what the caller knows about a parameter."""
    is_type = isinstance(kind, str) and (TYPE.match(kind) or kind.startswith("tensordesc<"))
    if is_type and not parameter.constexpr:
        signature.types[parameter.name] = str(kind)
    else:
        signature.constexprs[parameter.name] = kind


def constexpr_value(
    parameter: Parameter, tuned: Mapping[str, object], none_checked: set[str]
) -> object:
    """A value for a constexpr: tuned, default, or by its name."""
    if parameter.name in tuned:
        return tuned[parameter.name]
    if parameter.default is not None:
        try:
            return ast.literal_eval(parameter.default)
        except ValueError:
            pass
    name = parameter.name
    upper = name.upper()
    if "DTYPE" in upper or upper.endswith("_TYPE"):
        return "tl.float32"
    if parameter.name in none_checked:
        return None
    if FLAG_NAMES.match(upper):
        return True
    if FLOAT_NAMES.search(name) and upper != name:
        return 0.5
    if "STAGES" in upper:
        return 2
    if "WARPS" in upper:
        return 4
    if upper.startswith(("NUM_", "N_")) or upper in ("H", "HQ", "HV", "G", "GROUP", "GROUP_SIZE"):
        return 4
    if re.search(r"VER|CONFIG|MODE|STYLE|KIND", upper):
        return 0
    if re.search(r"PRECISION", upper):
        return "tf32"
    return DEFAULT_BLOCK


def scalar_type(parameter: Parameter, node: ast.FunctionDef) -> str:
    """i32 or fp32."""
    annotation = parameter.annotation.strip("'\"").rpartition(".")[2]
    by_annotation = {"int": "i32", "float": "fp32", "bool": "i1", "float32": "fp32", "int64": "i64"}
    if annotation in by_annotation:
        return by_annotation[annotation]
    if annotation in ("int32", "uint32", "uint64", "float64", "float16"):
        return annotation.replace("uint", "u").replace("int", "i").replace("float", "fp")
    if parameter.default is not None and re.match(r"^-?\d+\.|^-?\d+e-", parameter.default):
        return "fp32"
    if used_as_extent(parameter.name, node):
        return "i32"
    lower = parameter.name
    return "fp32" if FLOAT_NAMES.search(lower) and not lower.isupper() else "i32"


def used_as_extent(name: str, node: ast.FunctionDef) -> bool:
    """Whether a parameter bounds a comparison, a range, or takes part in // and %."""
    for inner in own_statements(node):
        if isinstance(inner, ast.Compare) and any(
            isinstance(c, ast.Name) and c.id == name for c in inner.comparators
        ):
            return True
        if isinstance(inner, ast.Call) and called_name(inner) in ("range", "cdiv", "multiple_of"):
            if any(isinstance(a, ast.Name) and a.id == name for a in inner.args):
                return True
        if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.FloorDiv | ast.Mod):
            if any(isinstance(s, ast.Name) and s.id == name for s in (inner.left, inner.right)):
                return True
    return False


def first_configuration(node: ast.FunctionDef) -> tuple[dict[str, object], int, int]:
    """Values, warps and stages of the first literal `Config({...})` in the decorators."""
    for decorator in node.decorator_list:
        for inner in ast.walk(decorator):
            if isinstance(inner, ast.Call) and called_name(inner) == "Config" and inner.args:
                try:
                    values = dict(ast.literal_eval(inner.args[0]))
                except (ValueError, TypeError):
                    continue
                options = {"num_warps": 4, "num_stages": 3}
                for keyword in inner.keywords:
                    if keyword.arg in options and isinstance(keyword.value, ast.Constant):
                        options[keyword.arg] = int(keyword.value.value)  # type: ignore[arg-type]
                return values, options["num_warps"], options["num_stages"]
    return {}, 4, 3


class Usage:
    """Which parameters of jit functions are pointers, by what happens to them."""

    def __init__(self, finder: JitFinder) -> None:
        self.by_name = {found.node.name: found for found in finder.found}
        self.cache: dict[str, set[str]] = {}

    def compared_to_none(self, found: Found) -> set[str]:
        """Names compared with None."""
        return {
            node.left.id
            for node in own_statements(found.node)
            if isinstance(node, ast.Compare)
            and isinstance(node.left, ast.Name)
            and any(isinstance(c, ast.Constant) and c.value is None for c in node.comparators)
        }

    def pointer_parameters(self, found: Found) -> set[str]:
        """Parameters whose value reaches an address."""
        key = found.node.name
        if key in self.cache:
            return self.cache[key]
        self.cache[key] = set()
        parameters = {p.name for p in parameters_of(found.node)}
        roots = self.address_roots(found)
        # Names flow backwards through assignments `p = q + ...`: the left-most name is the pointer.
        sources: dict[str, set[str]] = {}
        for node in own_statements(found.node):
            for target, value in assignments(node):
                sources.setdefault(target, set()).update(base_names(value))
        todo, seen = list(roots), set(roots)
        while todo:
            for name in sources.get(todo.pop(), set()):
                if name not in seen:
                    seen.add(name)
                    todo.append(name)
        self.cache[key] = seen & parameters
        return self.cache[key]

    def integer_pointers(self, found: Found) -> set[str]:
        """Pointer parameters whose loaded values are used as integers: in addresses, ranges, // or %."""
        loaded: dict[str, set[str]] = {}
        flows: dict[str, set[str]] = {}
        used: set[str] = set()
        out: set[str] = set()
        bases: dict[str, set[str]] = {}
        for node in own_statements(found.node):
            for target, value in assignments(node):
                loaded.setdefault(target, set()).update(loads_in(value))
                flows.setdefault(target, set()).update(names_in(value))
                bases.setdefault(target, set()).update(base_names(value))
            for expression in integer_places(node):
                used |= names_in(expression)
                out |= loads_in(expression)
        for target in self.address_roots(found):
            if target not in bases:
                continue
            used |= flows[target] - bases[target]
        todo, seen = list(used), set(used)
        while todo:
            name = todo.pop()
            out |= loaded.get(name, set())
            for source in flows.get(name, set()) - seen:
                seen.add(source)
                todo.append(source)
        resolved: set[str] = set()
        while out - resolved:
            name = (out - resolved).pop()
            resolved.add(name)
            out |= bases.get(name, set())
        return out & {p.name for p in parameters_of(found.node)}

    def address_roots(self, found: Found) -> set[str]:
        """Base names of addresses used directly or handed to a helper's pointer parameter."""
        out: set[str] = set()
        for node in own_statements(found.node):
            if isinstance(node, ast.Attribute) and node.attr == "element_ty":
                out |= base_names(node.value)
            if not isinstance(node, ast.Call):
                continue
            name = called_name(node)
            if name in ADDRESS_CALLS or name.startswith("atomic_"):
                address = node.args[:1] or [
                    k.value for k in node.keywords if k.arg in ("pointer", "base")
                ]
                out |= {n for a in address for n in base_names(a)}
            helper = self.by_name.get(name)
            if helper is not None and isinstance(node.func, ast.Name):
                out |= self.handed_on(node, helper)
        return out

    def handed_on(self, call: ast.Call, helper: Found) -> set[str]:
        """Base names of arguments at a helper's pointer parameters."""
        pointers = self.pointer_parameters(helper)
        names = [p.name for p in parameters_of(helper.node)]
        pairs = [*zip(names, call.args, strict=False), *((k.arg, k.value) for k in call.keywords)]
        return {n for name, value in pairs if name in pointers for n in base_names(value)}


def names_in(node: ast.AST) -> set[str]:
    """Every name in an expression, but those inside a nested load's address."""
    if isinstance(node, ast.Call) and called_name(node) == "load":
        return set()
    if isinstance(node, ast.Name):
        return {node.id}
    return {n for child in ast.iter_child_nodes(node) for n in names_in(child)}


def loads_in(node: ast.AST) -> set[str]:
    """Base names of the addresses loaded in an expression."""
    out: set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and called_name(inner) == "load":
            if inner.args:
                out |= base_names(inner.args[0])
            elif isinstance(inner.func, ast.Attribute):
                out |= base_names(inner.func.value)
    return out


def integer_places(node: ast.AST) -> list[ast.expr]:
    """Expressions in a node whose values must be integers: offsets, ranges, // % & << operands."""
    if isinstance(node, ast.Call):
        name = called_name(node)
        if (name in ADDRESS_CALLS or name.startswith("atomic_")) and node.args:
            return offsets_of(node.args[0])
        if name in ("range", "cdiv"):
            return list(node.args)
    if isinstance(node, ast.BinOp) and isinstance(
        node.op, ast.FloorDiv | ast.Mod | ast.LShift | ast.RShift
    ):
        return [node.left, node.right]
    return []


def offsets_of(address: ast.expr) -> list[ast.expr]:
    """The parts of an address that are added to its base."""
    if isinstance(address, ast.BinOp) and isinstance(address.op, ast.Add | ast.Sub):
        if base_names(address.left):
            return [*offsets_of(address.left), address.right]
        return [address.left, *offsets_of(address.right)]
    return []


def assignments(node: ast.AST) -> list[tuple[str, ast.expr]]:
    """(name, value) pairs of an assignment, tuples taken apart."""
    if isinstance(node, ast.AugAssign | ast.AnnAssign):
        if isinstance(node.target, ast.Name) and node.value is not None:
            return [(node.target.id, node.value)]
    if isinstance(node, ast.Assign):
        out = []
        for target in node.targets:
            if isinstance(target, ast.Name):
                out.append((target.id, node.value))
            elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                out += [
                    (t.id, v)
                    for t, v in zip(target.elts, node.value.elts, strict=False)
                    if isinstance(t, ast.Name)
                ]
        return out
    return []


def base_names(node: ast.expr) -> set[str]:
    """The name an address expression starts from: `p + i * s` -> p, both sides of a choice."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        left = base_names(node.left)
        return left if left or isinstance(node.op, ast.Sub) else base_names(node.right)
    if isinstance(node, ast.IfExp):
        return base_names(node.body) | base_names(node.orelse)
    if isinstance(node, ast.Subscript):
        return base_names(node.value)
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("to", "advance"):
            return base_names(node.args[0] if node.func.attr == "advance" else node.func.value)
        if called_name(node) in (
            "make_block_ptr",
            "multiple_of",
            "max_contiguous",
            "where",
            "cast",
        ):
            index = 1 if called_name(node) == "where" else 0
            return base_names(node.args[index]) if len(node.args) > index else set()
    return set()
