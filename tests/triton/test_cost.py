"""Bytes and FLOPs that `--cost --sizes` counts, against what Triton's compiler makes of the same launch (sm_90).

All numbers of a launch are bound as constants, so that loops have as many iterations in the compiled text as in it.
Counted there are loads, stores and products, by their shapes and by the iterations around them; the rest is what
`tests/unit/cost.c` holds.  A launch is left where a number of iterations or a branch hangs on the program or on
memory, and where it has atomics or descriptors.
"""

from __future__ import annotations

import ast
import json
import math
import os
import re
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.emitted.configuration import KEYS, PROVABLE, REMOVED_FROM_TRITON, specification_of
from tests.emitted.plan import ROOT, Runner, derived
from tests.emitted.specification import FUNCTION, Buffer, Specification
from tests.triton.compile import CompiledKernel, CompileFailure, compile_kernel

BIN = Path(os.environ.get("TAD_BIN", ROOT / "build")).resolve()
ENOUGH = 50  # kernels whose launch is counted in the compiled text
EACH = 6  # kernels; all of them take some minutes, and differ nowhere else (450 of them, 2026-11-29)
# What a kernel asks for twice is loaded once, also in two loops of one iteration, and what a flag leaves without a
# reader is not loaded. A product with zeros is none: the first state of linear attention.
JOINED = {
    "flags:blocks_of_two_sizes": {"read": (576, 192)},
    "in_place:read_then_replaced": {"read": (48, 32)},
    "layer_norm:layer_norm_kernel": {"read": (15360, 12288)},
    "linear_attention:linear_attention_kernel": {"dot_flop": (73728, 61440)},
    "mixed:branch_by_constexpr": {"read": (128, 64)},
    "mixed:unrolled_promotion": {"read": (320, 256)},
    "names:parameters_move": {"read": (512, 256)},
    "softmax:online_softmax_kernel": {"read": (6144, 3072)},
}
TRITON_TYPES = {"f16": "fp16", "f32": "fp32", "f64": "fp64"}
BYTES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "f16": 2, "bf16": 2, "f32": 4, "f64": 8}
CONSTANT = re.compile(r"^\s*(%[\w.-]+) = arith\.constant (-?\d+) : ")
FOR = re.compile(r"scf\.for %[\w.-]+ = (%[\w.-]+) to (%[\w.-]+) step (%[\w.-]+) ")
ACCESS = re.compile(r"(?:%[\w.]+ = )?tt\.(load|store|atomic_rmw)\b.* : (.*?)(?: loc\(.*\))?$")
DOT = re.compile(r"tt\.dot\b.* : tensor<([\dx]+)x\w+> \* tensor<([\dx]+)x\w+> ->")
POINTER = re.compile(r"(?:tensor<([\dx]+)x)?!tt\.ptr<(\w+)>")


class Open(Exception):
    """What the text alone does not say."""


def amounts(ttir: str) -> dict[str, int]:
    """Bytes that one program loads and stores, and FLOPs of its products."""
    numbers: dict[str, int] = {}
    found = {"read": 0, "written": 0, "dot_flop": 0}
    times: list[int | None] = [1]  # that each open block is come by; None: the text does not say
    for line in ttir.splitlines():
        text = re.sub(r" loc\(.*\)$", "", line).rstrip()
        if match := CONSTANT.match(text):
            numbers[match[1]] = int(match[2])
        around = times[-1]
        if match := ACCESS.search(text):
            pointer = POINTER.search(match[2])
            if around is None or not pointer or match[1] == "atomic_rmw":
                raise Open(text)
            lanes = math.prod(int(n) for n in pointer[1].split("x")) if pointer[1] else 1
            kind = "read" if match[1] == "load" else "written"
            found[kind] += lanes * BYTES[pointer[2]] * around
        elif any(word in text for word in ("tt.descriptor", "tt.call", "scf.while", "cf.cond_br")):
            raise Open(text)
        elif match := DOT.search(text):
            if around is None:
                raise Open(text)
            rows, columns = ([int(n) for n in shape.split("x")] for shape in match.groups())
            found["dot_flop"] += 2 * math.prod(rows) * columns[-1] * around
        if text.lstrip().startswith("}"):
            times.pop()
        if text.endswith("{"):
            inner = around
            if "scf.for" in text:
                match = FOR.search(text)
                assert match, text
                bounds = [numbers.get(name) for name in match.groups()]
                known = around is not None and None not in bounds
                inner = around * len(range(*bounds)) if known else None  # type: ignore[arg-type]
            elif "scf.if" in text or "} else {" in text:
                inner = None
            times.append(inner)
    return found


def of_parameters(key: str, specification: Specification) -> dict[str, object]:
    """The values of parameters; a line names sizes beside them."""
    path, name = KEYS[key]
    nodes = ast.walk(ast.parse(path.read_text()))
    node = next(n for n in nodes if isinstance(n, ast.FunctionDef) and n.name == name)
    names = {one.arg for one in [*node.args.args, *node.args.kwonlyargs]}
    return {k: v for k, v in specification.values.items() if k in names}


def compiled(key: str, specification: Specification) -> CompiledKernel:
    """The kernel with every number of the launch as a constant."""
    path, name = KEYS[key]
    types, constants = {}, {}
    for parameter, value in of_parameters(key, specification).items():
        if isinstance(value, Buffer):
            types[parameter] = f"*{TRITON_TYPES.get(value.type, value.type)}"
        elif isinstance(value, float):
            types[parameter] = "fp32"
        else:
            constants[parameter] = value
    return compile_kernel(path, name, types, constants, until="cubin")


def written(value: object) -> str:
    """As `--sizes` takes it."""
    if isinstance(value, Buffer):
        return value.type
    if isinstance(value, str):
        return value.removeprefix(FUNCTION) if value.startswith(FUNCTION) else json.dumps(value)
    return repr(value)


def counted(key: str, specification: Specification) -> dict:
    """What `--cost` says of the launch."""
    path, name = KEYS[key]
    sizes = ",".join(f"{k}={written(v)}" for k, v in of_parameters(key, specification).items())
    grid = "x".join(str(n) for n in specification.grid)
    run = subprocess.run(
        [
            BIN / "tad-lsp",
            "--cost",
            f"{path}:{name}",
            "--sizes",
            f"{sizes},grid={grid}",
            "-f",
            "json",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if run.returncode:
        raise Open(run.stderr)
    return json.loads(run.stdout)["kernels"][0]["launch"]


def sums(key: str) -> bool:
    """Whether the kernel sums tiles."""
    path, name = KEYS[key]
    nodes = ast.walk(ast.parse(path.read_text()))
    node = next(n for n in nodes if isinstance(n, ast.FunctionDef) and n.name == name)
    return "tl.sum(" in ast.unparse(node)


def compare(key: str, runner: Runner) -> dict[str, tuple[int, int]] | None:
    """Counted and compiled by kind, where they differ; None where the text does not say it."""
    if key in REMOVED_FROM_TRITON or not derived(KEYS[key][0])[1].get(KEYS[key][1]):
        return None
    specification = specification_of(runner, key)
    try:
        said = counted(key, specification)
        if not said or not said["exact"]:
            return None
        one = amounts(compiled(key, specification).ttir)
    except (CompileFailure, Open):
        return None
    programs = math.prod(specification.grid)
    if sums(key):  # the compiler makes a product of matrices of a sum of products
        one.pop("dot_flop")
    return {k: (said[k], n * programs) for k, n in one.items() if said[k] != n * programs}


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    started = Runner()
    yield started
    started.close()


def test_bytes_and_flops_are_those_of_the_compiler(runner: Runner) -> None:
    drawn = [key for key in PROVABLE if zlib.crc32(key.encode()) % EACH == 0]
    found = {key: compare(key, runner) for key in [*JOINED, *drawn]}
    told = {key: differences for key, differences in found.items() if differences is not None}
    assert {key: differences for key, differences in told.items() if differences} == JOINED
    assert len(told) >= ENOUGH
