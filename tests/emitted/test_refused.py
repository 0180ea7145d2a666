"""What is refused because it is not understood says what that is, where it stands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.emitted.plan import tad
from tests.triton.compile import CompileFailure, compile_kernel

HEAD = "import triton\nimport triton.language as tl\n\n\n"
CAPTURED = (
    HEAD
    + """def make(scale):
    @triton.jit
    def scaled(x, out, B: tl.constexpr):
        lanes = tl.arange(0, B)
        tl.store(out + lanes, tl.load(x + lanes) * scale)

    return scaled
"""
)
TUPLE = (
    HEAD
    + """@triton.jit
def summed(parts, out, B: tl.constexpr, N: tl.constexpr):
    lanes = tl.arange(0, B)
    total = tl.zeros([B], dtype=tl.float32)
    for i in tl.static_range(N):
        total += tl.load(parts[i] + lanes)
    tl.store(out + lanes, total * total)
"""
)
LENGTH = (  # the items that are read do not tell it
    HEAD
    + """@triton.jit
def strided(x, strides, out, B: tl.constexpr):
    lanes = tl.arange(0, B) * strides[0]
    tl.store(out + tl.arange(0, B), tl.load(x + lanes) * len(strides))
"""
)
FLOATS = (
    HEAD
    + """@triton.jit
def scaled(x, factors, out, B: tl.constexpr):
    a = tl.load(x + tl.arange(0, B)) * factors[0]
    tl.store(out + tl.arange(0, B), a * a)
"""
)
REMOVED = (  # its result has the only path from an input to the output
    HEAD
    + """@triton.jit
def product(desc, out, K: tl.constexpr, B: tl.constexpr):
    a = tl._experimental_descriptor_load(desc, [0, 0], [B, B], tl.float32)
    total = tl.zeros((B, B), dtype=tl.float32)
    for _ in range(K):
        total += tl.dot(a, a)
    places = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(out + places, total.to(out.dtype.element_ty))
"""
)
META = (
    HEAD
    + """@triton.jit
def squared(X, Y, N, **meta):
    BLOCK = meta["BLOCK"]
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + offsets, mask=offsets < N)
    tl.store(Y + offsets, x * x, mask=offsets < N)
"""
)
OPEN = (
    HEAD
    + """@triton.jit
def mapped(x, out, F: tl.constexpr, B: tl.constexpr):
    lanes = tl.arange(0, B)
    tl.store(out + lanes, F(tl.load(x + lanes)))
"""
)
PASSED = """

@triton.jit
def plain(v):
    return v * v


@triton.jit
def sorted_lanes(v):
    return tl.cat(v, v, can_reorder=True)


def run(x, out, F=plain):
    mapped[(1,)](x, out, F, B=16)


def run_sorted(x, out):
    run(x, out, F=sorted_lanes)
"""


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (OPEN, 8, "it is not known which function a launch passes for `F`"),
        (CAPTURED, 9, "`scale` belongs to the function around the kernel"),
        (TUPLE, 10, "Of what a launch passes in a tuple only whole numbers"),
        (LENGTH, 7, "Of what a launch passes in a tuple only whole numbers"),
        (REMOVED, 7, "an operation that Triton no longer has"),
        (META, 7, "make each of its items a parameter, `BLOCK: tl.constexpr`"),
        (FLOATS, 7, "Of what a launch passes in a tuple only whole numbers"),
    ],
)
def test_says_what_was_not_understood(tmp_path: Path, text: str, line: int, reason: str) -> None:
    file = tmp_path / "refused.py"
    file.write_text(text)
    report = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)
    (kernel,) = report["kernels"]
    assert kernel["status"] == "refused"
    assert reason in kernel["reason"]
    (found,) = [d for d in report["diagnostics"] if d["name"] == "gradient-unknown-shape"]
    assert found["range"]["start"]["line"] + 1 == line


def test_names_the_function_without_a_backward(tmp_path: Path) -> None:
    """Of several that launches pass, one stands in the way."""
    file = tmp_path / "passed.py"
    file.write_text(OPEN + PASSED)
    report = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)
    (kernel,) = [k for k in report["kernels"] if k["name"] == "mapped"]
    assert kernel["status"] == "refused"
    assert kernel["reason"].startswith("with `sorted_lanes` for `F`: ")


def test_stops_compilation_for_another_function(tmp_path: Path) -> None:
    """The backward is for the functions that launches pass, and no other compiles."""
    file = tmp_path / "passed.py"
    file.write_text(OPEN + PASSED[: PASSED.index("def run_sorted")])
    emitted = tad("--backward", f"{file}:mapped", "--wrapper", "none").stdout
    types = dict.fromkeys(["dout", "x", "dx"], "*fp32")
    constants: dict[str, object] = {"B": 16, "F": "function:plain", "dout_before": None}
    compile_kernel(emitted, "mapped_backward", types, constants, until="ttir")
    other = emitted + "\n\n@triton.jit\ndef other(v):\n    return v + v\n"
    with pytest.raises(CompileFailure, match="this backward is for plain alone"):
        compile_kernel(
            other, "mapped_backward", types, {**constants, "F": "function:other"}, until="ttir"
        )


def test_no_operator_takes_a_function(tmp_path: Path) -> None:
    """An operator's schema has no type for it; the kernel is there, and says so."""
    file = tmp_path / "passed.py"
    file.write_text(OPEN + PASSED[: PASSED.index("def run_sorted")])
    emitted = tad("--backward", f"{file}:mapped", "--wrapper", "triton_op").stdout
    assert "`mapped` is no operator: `F` is of a type that no operator takes." in emitted
    assert "def mapped_backward(" in emitted


TABLE = (
    HEAD
    + """@triton.jit
def through_table(table, out, B: tl.constexpr):
    lanes = tl.arange(0, B)
    x = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(out + tl.program_id(0) * B + lanes, tl.load(x + lanes) * 2.0)
"""
)


def test_a_tensor_that_nobody_knows_may_have_a_gradient(tmp_path: Path) -> None:
    """A kernel that reads floats through an address from memory is refused; "not differentiable" would be false."""
    file = tmp_path / "table.py"
    file.write_text(TABLE, encoding="utf-8")
    kernel = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)["kernels"][0]
    assert kernel["status"] == "refused"
    assert "through an address that is a number" in kernel["reason"]


ASSEMBLY = (
    HEAD
    + """@triton.jit
def copied(o, x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    words = x.to(tl.pointer_type(tl.uint32))
    v = tl.inline_asm_elementwise(
        "ld.global.u32 $0, [$1];", "=r,l", [words + i], dtype=tl.uint32, is_pure=True, pack=1
    )
    tl.store(o.to(tl.pointer_type(tl.uint32)) + i, v, mask=i < n)
"""
)


def test_assembly_that_reads_by_itself(tmp_path: Path) -> None:
    """Nobody sees which tensor it reads: that says nothing of whether there is a gradient."""
    path = tmp_path / "kernels.py"
    path.write_text(ASSEMBLY)
    run = tad("--backward", path)
    assert run.returncode == 1
    assert "this assembly takes an address" in run.stderr
    path.write_text(ASSEMBLY.replace("[words + i]", "[i]").replace("ld.global", "mov"))
    assert "takes an address" not in tad("--backward", path).stderr


CALLED_BACK = (
    HEAD
    + """@triton.jit
def fused(x, y, out, n, FUSE: tl.constexpr, B: tl.constexpr):
    lanes = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + lanes, mask=lanes < n, other=0.0)
    a = a * a
    if FUSE is not None:
        a = FUSE(a, tl.load(y + lanes, mask=lanes < n, other=0.0))
    tl.store(out + lanes, a, mask=lanes < n)


def run(x, y=None, function=None):
    out = torch.empty_like(x)
    fused[(triton.cdiv(x.numel(), 16),)](x, y, out, x.numel(), FUSE=function, B=16)
    return out
"""
)


def test_a_function_that_only_callers_know_may_be_none(tmp_path: Path) -> None:
    """The backward is for None, which the kernel asks for; with a function it stops compilation."""
    file = tmp_path / "called.py"
    file.write_text(CALLED_BACK, encoding="utf-8")
    kernel = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)["kernels"][0]
    assert kernel["status"] == "proved", kernel["reason"]
    text = tad("--backward", "--no-proof", file).stdout
    assert 'tl.static_assert(FUSE is None, "this backward is for None alone")' in text
    file.write_text(CALLED_BACK.replace("if FUSE is not None:", "if B > 8:"), encoding="utf-8")
    kernel = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)["kernels"][0]
    assert kernel["status"] == "refused"
    assert "it is not known which function a launch passes" in kernel["reason"]
