"""Inferred types against the types that the real Triton computes, expression by expression."""

from __future__ import annotations

import functools
import itertools
import re
import subprocess
from pathlib import Path

import pytest

from tests.support import optable
from tests.triton.compile import compile_kernel

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint32")
FLOATS = ("float16", "bfloat16", "float32", "float64")
SCALARS = ("2", "2.5", "True", "3000000000")
HEADER = """import triton
import triton.language as tl
from triton.language.extra import libdevice

@triton.jit
def add_pair(a, b):
    return a + b

@triton.jit
def welford(mean_a, m2_a, weight_a, mean_b, m2_b, weight_b):
    return mean_a + mean_b, m2_a + m2_b, weight_a + weight_b

@triton.jit
def kernel(p, q, n, scale, BLOCK: tl.constexpr):
"""
SIGNATURE = {"p": "*fp16", "q": "*i32", "n": "i32", "scale": "fp32"}
BLOCK = 32


def tiles(dtypes: tuple[str, ...]) -> list[str]:
    """One tile per element type."""
    return [f"t_{dtype} = tl.full((16,), 1, tl.{dtype})" for dtype in dtypes]


def numbered(expressions: list[str], prefix: str = "r") -> list[str]:
    """`r0 = ...`, `r1 = ...`"""
    return [f"{prefix}{i} = {expression}" for i, expression in enumerate(expressions)]


def same_sign(a: str, b: str) -> bool:
    """Triton divides integers of one signedness only."""
    return a.startswith("u") == b.startswith("u")


def arithmetic() -> list[str]:
    """Every pair of element types under every operator that takes it."""
    both = INTEGERS + FLOATS
    expressions = []
    for a, b in itertools.product(both, both):
        integers = a in INTEGERS and b in INTEGERS
        expressions += [f"t_{a} + t_{b}", f"t_{a} * t_{b}", f"t_{a} < t_{b}"]
        expressions.append(f"tl.maximum(t_{a}, t_{b})")
        expressions.append(f"tl.where(t_{a} > 0, t_{a}, t_{b})")
        if not integers or same_sign(a, b):
            expressions += [f"t_{a} / t_{b}", f"t_{a} % t_{b}"]
        if integers:
            expressions += [f"t_{a} & t_{b}", f"t_{a} << t_{b}"]
            if same_sign(a, b):
                expressions.append(f"t_{a} // t_{b}")
    return tiles(both) + numbered(expressions)


def with_scalars() -> list[str]:
    """Every element type against constexpr scalars, from both sides, and against a run-time scalar."""
    expressions = []
    for dtype, scalar in itertools.product(INTEGERS + FLOATS, SCALARS):
        if dtype in INTEGERS and scalar == "3000000000" and dtype not in ("int64", "uint32"):
            continue
        expressions += [f"t_{dtype} + {scalar}", f"{scalar} * t_{dtype}", f"t_{dtype} >= {scalar}"]
        if dtype in FLOATS:
            expressions += [f"t_{dtype} / {scalar}", f"{scalar} / t_{dtype}"]
        expressions.append(f"tl.where(t_{dtype} > 0, t_{dtype}, {scalar})")
    for dtype in INTEGERS + FLOATS:
        expressions += [f"t_{dtype} * scale", f"t_{dtype} + n"]
    return ["at = tl.load(p + n)", *tiles(INTEGERS + FLOATS), *numbered(expressions)]


def reductions() -> list[str]:
    """Sums, maxima, scans and their element types."""
    expressions = []
    for dtype in INTEGERS + FLOATS:
        tile = f"tl.full((16, 8), 1, tl.{dtype})"
        expressions += [f"tl.sum({tile}, axis=0)", f"tl.sum({tile}, 1, keep_dims=True)"]
        expressions += [f"tl.sum({tile})", f"tl.max({tile}, 1)", f"tl.min({tile}, axis=-2)"]
        expressions += [f"tl.argmax({tile}, 0)", f"tl.cumsum({tile}, 1)"]
        expressions.append(f"tl.reduce({tile}, 1, add_pair)")
        expressions.append(f"tl.associative_scan({tile}, 0, add_pair)")
    expressions += [
        "tl.sum(tl.full((16, 8), 1, tl.float16), axis=1, dtype=tl.float32)",
        "tl.sum(tl.full((16, 8), 1.0, tl.float32), axis=None, keep_dims=True)",
        "tl.cumprod(tl.full((16, 8), 1.0, tl.float32), 0, reverse=True)",
        "tl.xor_sum(tl.full((16, 8), 1, tl.int32), 1)",
        "tl.sort(tl.full((16, 8), 1.0, tl.float32))",
        "tl.topk(tl.full((16, 8), 1.0, tl.float32), 4)",
        "tl.histogram(tl.full((64,), 1, tl.int32), 16)",
        "tl.softmax(tl.full((16,), 1.0, tl.float32))",
        "tl.full((16, 8), 1.0, tl.float32).sum(0)",
        "tl.full((16, 8), 1.0, tl.float32).max(axis=1)",
    ]
    pairs = [
        "m0, i0 = tl.max(tl.full((16, 8), 1.0, tl.float16), 1, return_indices=True)",
        "m1, i1 = tl.min(tl.full((16, 8), 1, tl.int32), 0, return_indices=True, keep_dims=True)",
        "w0, w1, w2 = tl.reduce((tl.full((16, 8), 1.0, tl.float32), tl.full((16, 8), 2.0, tl.float32),"
        " tl.full((16, 8), 1.0, tl.float64)), 1, welford)",
    ]
    return numbered(expressions) + pairs


def movements() -> list[str]:
    """Shapes."""
    lines = [
        "a = tl.full((BLOCK, 8), 1.0, tl.float32)",
        "b = tl.full((4, BLOCK, 8), 1, tl.int32)",
        "v = tl.arange(0, BLOCK)",
    ]
    expressions = [
        "v[:, None]", "v[None, :]", "v[None, :, None]", "a[:, None, :]", "a[:, :, None]",
        "tl.expand_dims(a, 0)", "tl.expand_dims(a, -1)", "tl.expand_dims(v, (0, 2))", "a.expand_dims(1)",
        "tl.trans(a)", "a.T", "tl.trans(b)", "tl.trans(b, 2, 0, 1)", "tl.permute(b, (1, 2, 0))", "b.permute(0, 2, 1)",
        "tl.reshape(a, (8, BLOCK))", "tl.reshape(a, BLOCK * 8)", "a.reshape(BLOCK // 2, 16)",
        "tl.view(a, [4, 2 * BLOCK])",
        "tl.ravel(a)", "tl.broadcast_to(v[:, None], (BLOCK, 8))", "tl.broadcast_to(v[:, None], BLOCK, 16)",
        "tl.join(a, a)", "tl.interleave(a, a)", "tl.cat(v, v, can_reorder=True)", "tl.cat(a, a, dim=1)",
        "tl.flip(a, 1)", "tl.gather(a, tl.full((BLOCK, 8), 0, tl.int32), 1)", "tl.squeeze(v[None, :], 0)",
        "tl.unsqueeze(a, 1)", "tl.zeros((BLOCK, 4), tl.float16)", "tl.zeros_like(a)",
        "tl.zeros([BLOCK], dtype=tl.int8)",
        "tl.full([BLOCK, 2], 0.5, dtype=tl.bfloat16)", "tl.arange(3, 19)", "v[:, None] + v[None, :]", "a * v[:, None]",
        "v[None, :] < n", "a.to(tl.float16)", "tl.cast(v, tl.float64)", "a.to(tl.int32, bitcast=True)", "v.to(tl.int1)",
        "tl.dot(tl.full((16, 32), 1.0, tl.float16), tl.full((32, 64), 1.0, tl.float16))",
        "tl.dot(tl.full((16, 32), 1, tl.int8), tl.full((32, 64), 1, tl.int8))",
        "tl.dot(tl.full((16, 32), 1.0, tl.float16), tl.full((32, 64), 1.0, tl.float16), out_dtype=tl.float16)",
        "tl.dot(tl.full((4, 16, 32), 1.0, tl.bfloat16), tl.full((4, 32, 16), 1.0, tl.bfloat16))",
        "tl.dot(tl.full((16, 32), 1.0, tl.float64), tl.full((32, 16), 1.0, tl.float64))",
        "tl.dot(tl.full((16, 32), 1.0, tl.float32), tl.trans(tl.full((64, 32), 1.0, tl.float32)),"
        " acc=tl.full((16, 64), 1.0, tl.float32))",
    ]  # fmt: skip
    pairs = ["s0, s1 = tl.split(tl.join(a, a))", "c0, c1 = tl.broadcast(v[:, None], v[None, :])"]
    return lines + numbered(expressions) + pairs


def memory() -> list[str]:
    """Pointers, loads, atomics and descriptors."""
    lines = [
        "v = tl.arange(0, BLOCK)",
        "at = p + v",
        "grid = p + v[:, None] * n + tl.arange(0, 8)[None, :]",
        "address = q.to(tl.pointer_type(tl.float32)) + v",
        "d = tl.make_tensor_descriptor(p, [n, 64], [64, 1], [16, 64])",
        "block = d.load([0, 0])",
        "same = tl.load_tensor_descriptor(d, [16, 0])",
    ]
    expressions = [
        "tl.load(at)", "tl.load(at, mask=v < n)", "tl.load(at, v < n, other=0.0)", "tl.load(p)", "tl.load(q + n)",
        "tl.load(grid)", "tl.load(grid, mask=(v < n)[:, None], other=1)",
        "tl.load(p + v[:, None], mask=v[None, :] < n)",
        "tl.load(address)", "at - 1", "1 + at", "n + p", "p + n * 2", "tl.atomic_add(q + v, v)",
        "tl.atomic_max(q + v, 3, mask=v < n)", "tl.atomic_cas(q, 0, 1)", "tl.atomic_xchg(q, 1)",
        "tl.where(v < n, at, at + 1)", "tl.multiple_of(at, 16)", "tl.max_contiguous(v * 2, 8)",
        "tl.load(at).to(tl.float32) * scale", "tl.load(at).to(p.dtype.element_ty)",
        "tl.load(at).to(q.dtype.element_ty)",
        "tl.program_id(0) * BLOCK + v", "tl.num_programs(1) + n", "tl.cdiv(n, BLOCK)", "n // 2", "n / 2", "n % 7", "-n",
        "n > 0 and n < 5", "scale * 2", "scale + n", "min(n, 4)", "max(n, 2.5)",
    ]  # fmt: skip
    return lines + numbered(expressions)


def mathematics() -> list[str]:
    """Functions of floats."""
    names = "exp exp2 log log2 sqrt rsqrt sin cos erf floor ceil abs sigmoid".split()
    expressions = [f"tl.{name}(x)" for name in names] + [f"tl.math.{name}(y)" for name in names[:6]]
    library = (
        "tanh rint trunc log1p expm1 tan asin isnan float2int_rn llrint signbit cbrt round".split()
    )
    expressions += [f"libdevice.{name}(x)" for name in library]
    expressions += [
        "libdevice.pow(x, x)", "libdevice.atan2(x, x)", "libdevice.fmod(x, x)", "libdevice.float_as_int(x)",
        "libdevice.popc(tl.arange(0, 16))", "libdevice.ldexp(x, tl.arange(0, 16))", "tl.fma(x, x, x)", "tl.fdiv(x, y)",
        "tl.clamp(x, 0.0, 1.0)", "tl.div_rn(x, x)", "tl.umulhi(tl.arange(0, 16), tl.arange(0, 16))",
        "tl.rand(n, tl.arange(0, 16))", "tl.randn(7, tl.arange(0, 16))", "tl.randint(n, tl.arange(0, 16))",
        "-x", "~tl.arange(0, 16)", "x * x", "tl.add(x, y)", "tl.sub(x, 1)", "tl.mul(2, x)",
        "tl.inline_asm_elementwise('add.f32 $0, $1, $1;', '=r,r', [x], dtype=tl.float32, is_pure=True, pack=1)",
    ]  # fmt: skip
    lines = ["x = tl.full((16,), 0.5, tl.float32)", "y = tl.full((16,), 0.5, tl.float64)"]
    pairs = [
        "u0, u1, u2, u3 = tl.rand4x(n, tl.arange(0, 16))",
        "k0, k1, k2, k3 = tl.randint4x(n, tl.arange(0, 16))",
        "o0, o1 = tl.inline_asm_elementwise('add.f32 $0, $2, $2; mov.b32 $1, $2;', '=r,=r,r', [x],"
        " dtype=(tl.float32, tl.int32), is_pure=True, pack=1)",
    ]
    return lines + numbered(expressions) + pairs


FAMILIES = {
    "arithmetic": arithmetic(),
    "scalars": with_scalars(),
    "reductions": reductions(),
    "movements": movements(),
    "memory": memory(),
    "mathematics": mathematics(),
}
SHORT = {
    "i1": "int1", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16",
    "u32": "uint32", "u64": "uint64", "f16": "fp16", "bf16": "bf16", "f32": "fp32", "f64": "fp64",
}  # fmt: skip


def their_type(text: str) -> str:
    """`<['16', '8'], fp32>` and `pointer<fp32>` as `fp32[16, 8]` and `*fp32`."""
    tile = re.fullmatch(r"<\[(.*)\], (.*)>", text)
    if tile:
        shape = ", ".join(re.findall(r"\d+", tile[1]))
        return f"{their_type(tile[2])}[{shape}]"
    pointer = re.fullmatch(r"pointer<(.*?)>", text)
    return "*" + pointer[1] if pointer else text


def our_type(text: str) -> str:
    """`*f16[BLOCK]` as `*fp16[32]`: elements of parameters and BLOCK as the test compiles them."""
    text = text.replace("element0", "f16").replace("element1", "i32")
    shape = ""
    if "[" in text:
        text, _, dims = text.removesuffix("]").partition("[")
        sizes = [eval(dim, {"BLOCK": BLOCK}) for dim in dims.split(", ")]
        shape = "[" + ", ".join(map(str, sizes)) + "]"
    star = "*" * text.startswith("*")
    return star + SHORT.get(text.lstrip("*"), text.lstrip("*")) + shape


def our_types(path: Path) -> dict[str, str]:
    """Name -> type of the values that `--dump ir` names."""
    command = [str(optable.program()), "--dump", "ir", f"{path}:kernel"]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    found: dict[str, str] = {}
    open_regions: list[list[str]] = []
    for line in text.splitlines():
        defined = re.match(r"\s*((?:%[\w.]+(?:, )?)+) = ", line)
        names = defined[1].split(", ") if defined else []
        closed = re.match(r"\s*}(?: : (.*))?$", line)
        typed = re.search(r" : ([^\"|]*)$", line)
        if line.rstrip().endswith(("{", "|")):
            open_regions.append(names)
        elif closed:
            note_types(found, open_regions.pop(), closed[1])
        elif typed:
            note_types(found, names, typed[1])
    return found


def note_types(found: dict[str, str], names: list[str], text: str | None) -> None:
    """Types of one line's results."""
    types = re.split(r", (?![^\[]*\])", text or "")
    for name, type_text in zip(names, types, strict=False):
        found[name.removeprefix("%")] = our_type(type_text)


@functools.cache
def their_types(source: str) -> dict[str, str]:
    """Name -> type of what Triton bound to it."""
    kernel = compile_kernel(source, "kernel", SIGNATURE, {"BLOCK": BLOCK}, until="ttir")
    return {row.text: their_type(row.type) for row in kernel.types if row.kind == "assign"}


def expected_names(lines: list[str]) -> list[str]:
    """Every name that the family binds."""
    return [name for line in lines for name in line.split(" = ")[0].split(", ")]


@pytest.mark.parametrize("family", FAMILIES)
def test_types_are_tritons(family: str, tmp_path: Path) -> None:
    """Every expression of a family."""
    lines = FAMILIES[family]
    source = HEADER + "".join(f"    {line}\n" for line in lines)
    path = tmp_path / "kernel.py"
    path.write_text(source)
    ours, theirs = our_types(path), their_types(source)
    names = [name for name in expected_names(lines) if name != "d"]
    texts = {name: line for line in lines for name in line.split(" = ")[0].split(", ")}
    wrong = [
        (texts[name], theirs.get(name), ours.get(name))
        for name in names
        if ours.get(name) != theirs.get(name)
    ]
    assert wrong == []
    assert len(names) > 30
