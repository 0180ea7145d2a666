"""Triton's compiler, as the tests use it: kernels, errors, inferred types, and dying children."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.triton.compile import (
    CompiledKernel,
    CompileFailure,
    compile_kernel,
    compile_many,
    compile_request,
    make_worker,
    ttir_summary,
)
from tests.triton.coverage_compile import make_compile_worker

KERNELS = Path(__file__).parent / "kernels"
MATMUL_SCALARS = (
    "M", "N", "K", "stride_am", "stride_ak", "stride_bk", "stride_bn", "stride_cm", "stride_cn",
)  # fmt: skip
MATMUL_TYPES = {
    **dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), "*fp16"),
    **dict.fromkeys(MATMUL_SCALARS, "i32"),
}
MATMUL_BLOCKS = {"BLOCK_M": 64, "BLOCK_N": 32, "BLOCK_K": 16, "GROUP_M": 8}
ATTENTION_TYPES = {
    "Q": "*bf16", "K": "*bf16", "V": "*bf16", "O": "*bf16", "LSE": "*fp32", "scale": "fp32",
    "stride_h": "i32", "stride_n": "i32", "N": "i32",
}  # fmt: skip
ATTENTION_CONSTANTS = {"D": 32, "CAUSAL": True, "BLOCK_M": 32, "BLOCK_N": 16, "EVEN_N": False}


def line_of(path: Path, text: str) -> int:
    """The first line that contains a text."""
    lines = path.read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if text in line)


def test_matmul_compiles_to_machine_code() -> None:
    """Cubin, shared memory and both forms of IR."""
    kernel = compile_kernel(KERNELS / "matmul.py", "matmul_kernel", MATMUL_TYPES, MATMUL_BLOCKS)
    assert kernel.cubin_size > 1000
    assert kernel.shared_bytes > 0
    assert "tt.dot" in kernel.raw_ttir and "tt.dot" in kernel.ttir


def test_autotuned_kernel_with_helper_compiles() -> None:
    """Autotune and heuristics are unwrapped; the helper is compiled with it."""
    kernel = compile_kernel(
        KERNELS / "attention.py", "attention_kernel", ATTENTION_TYPES, ATTENTION_CONSTANTS
    )
    assert kernel.cubin_size > 1000
    assert "_step" in kernel.raw_ttir


def test_several_targets() -> None:
    """The target is the caller's."""
    for target in ("cuda:80", "cuda:100"):
        kernel = compile_kernel(
            KERNELS / "softmax.py", "softmax_kernel",
            {"out_ptr": "*fp32", "in_ptr": "*fp32", "in_stride": "i32", "out_stride": "i32",
             "n_rows": "i32", "n_cols": "i32"},
            {"BLOCK": 128}, target=target,
        )  # fmt: skip
        assert kernel.cubin_size > 500


def test_expression_types_have_their_places() -> None:
    """Types of expressions and assigned names, with lines and columns of the file."""
    path = KERNELS / "matmul.py"
    kernel = compile_kernel(path, "matmul_kernel", MATMUL_TYPES, MATMUL_BLOCKS, until="ttir")
    assigned = {(row.line, row.text): row.type for row in kernel.types if row.kind == "assign"}
    assert assigned[line_of(path, "offs_m = "), "offs_m"] == "<['64'], int32>"
    assert assigned[line_of(path, "a = tl.load"), "a"] == "<['64', '16'], fp16>"
    assert assigned[line_of(path, "acc = tl.zeros"), "acc"] == "<['64', '32'], fp32>"
    assert assigned[line_of(path, "c = acc.to"), "c"] == "<['64', '32'], fp16>"
    lines = path.read_text().splitlines()
    for row in kernel.types:
        if row.kind in ("Name", "Attribute") and row.file == str(path):
            assert lines[row.line - 1][row.column : row.end_column] == row.text


def test_ttir_summary_names_lines_and_shapes() -> None:
    """The IR's own view: operation, type, shape, line and variable."""
    path = KERNELS / "matmul.py"
    kernel = compile_kernel(path, "matmul_kernel", MATMUL_TYPES, MATMUL_BLOCKS, until="ttir")
    values = ttir_summary(kernel.raw_ttir)
    arguments = [v for v in values if v.op == "argument" and v.file == str(path)]
    assert [v.name for v in arguments][:3] == ["a_ptr", "b_ptr", "c_ptr"]
    dot = next(v for v in values if v.op == "tt.dot")
    assert (dot.shape, dot.element, dot.line) == ((64, 32), "f32", line_of(path, "acc = tl.dot"))
    load = next(v for v in values if v.op == "tt.load" and v.line == line_of(path, "b = tl.load"))
    assert (load.shape, load.element) == ((16, 32), "f16")
    loop = [v for v in values if v.op == "scf.for"]
    assert (64, 32) in [v.shape for v in loop]
    compared = next(v for v in values if v.op == "arith.cmpi" and v.shape)
    assert compared.element == "i1"
    # Every line that defines a value was understood.
    defined = sum(line.count(" = ") > 0 and line.lstrip().startswith("%")
                  for line in kernel.raw_ttir.splitlines())  # fmt: skip
    assert len({(v.ssa.partition("#")[0], v.op, v.line) for v in values}) >= defined * 0.9


def test_reductions_and_conditions_have_types() -> None:
    """Operations whose text spans lines."""
    kernel = compile_kernel(
        KERNELS / "attention.py", "attention_kernel", ATTENTION_TYPES, ATTENTION_CONSTANTS,
        until="ttir",
    )  # fmt: skip
    reductions = [v for v in ttir_summary(kernel.raw_ttir) if v.op == "tt.reduce"]
    assert {v.shape for v in reductions} == {(32,)}


WRONG_SHAPE = """
import triton
import triton.language as tl


@triton.jit
def helper(a):
    return a + tl.arange(0, 8)


@triton.jit
def kernel(x_ptr, N: tl.constexpr):
    a = tl.load(x_ptr + tl.arange(0, N))
    b = helper(a)
    tl.store(x_ptr + tl.arange(0, N), b)
"""


def test_failure_names_its_line() -> None:
    """An error inside of a helper has the helper's line, in the file's numbering."""
    with pytest.raises(CompileFailure) as caught:
        compile_kernel(WRONG_SHAPE, "kernel", {"x_ptr": "*fp32"}, {"N": 16})
    assert caught.value.stage == "frontend"
    assert caught.value.line == 8
    assert "broadcast" in caught.value.message or "incompatible" in caught.value.message
    assert compile_kernel(WRONG_SHAPE, "kernel", {"x_ptr": "*fp32"}, {"N": 8}).cubin_size > 0


def test_import_failures_are_reported() -> None:
    """A module that does not import, a missing name, a missing type."""
    with pytest.raises(CompileFailure) as caught:
        compile_kernel("import triton\n\nraise ValueError('no')\n", "kernel", {})
    assert (caught.value.stage, caught.value.line) == ("import", 3)
    with pytest.raises(CompileFailure) as caught:
        compile_kernel("import triton\n", "kernel", {})
    assert caught.value.stage == "import"
    with pytest.raises(CompileFailure, match="parameter 'x_ptr'"):
        compile_kernel(WRONG_SHAPE, "kernel", {}, {"N": 8})


HANGS = "while True:\n    pass\n"
DIES = "import os\n\nos._exit(7)\n"
WORKS = WRONG_SHAPE


def test_worker_has_the_paths_of_its_parent(tmp_path, monkeypatch) -> None:
    """Another release of Triton on PYTHONPATH is the one that compiles."""
    (tmp_path / "triton-0.0.dist-info").mkdir()
    (tmp_path / "triton-0.0.dist-info" / "METADATA").write_text("Name: triton\nVersion: 0.0\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    worker = make_compile_worker()
    assert worker.call("release") == "0.0"
    worker.close()


def test_worker_survives_hangs_and_deaths() -> None:
    """A child that hangs or dies is a failure of that kernel alone."""
    with make_worker() as worker:
        with pytest.raises(CompileFailure) as caught:
            compile_kernel(HANGS, "kernel", {}, worker=worker, timeout=4)
        assert caught.value.stage == "crash"
        with pytest.raises(CompileFailure, match="status 7"):
            compile_kernel(DIES, "kernel", {}, worker=worker)
        kernel = compile_kernel(WORKS, "kernel", {"x_ptr": "*fp32"}, {"N": 8}, worker=worker)
        assert kernel.cubin_size > 0


def test_many_in_order() -> None:
    """Results come in the order of the requests, failures among them."""
    requests = [
        compile_request(WRONG_SHAPE, "kernel", {"x_ptr": "*fp32"}, {"N": n}, until="ttir")
        for n in (8, 16, 8, 7)
    ]
    results = compile_many(requests, processes=2)
    assert [type(r) for r in results] == [
        CompiledKernel, CompileFailure, CompiledKernel, CompileFailure,
    ]  # fmt: skip
