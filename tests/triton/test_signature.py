"""Guessed signatures: right on kernels whose types are known, and good enough to compile them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.triton.compile import compile_kernel
from tests.triton.corpus import corpus_files, find_kernels
from tests.triton.signature import guess_signature

KERNELS = Path(__file__).parent / "kernels"


def test_pointers_scalars_and_tuned_values() -> None:
    """Pointers by use through assignments and helpers; constexprs from the first configuration."""
    signature = guess_signature(KERNELS / "attention.py", "attention_kernel")
    assert [n for n, t in signature.types.items() if t.startswith("*")] == [
        "Q", "K", "V", "O", "LSE",
    ]  # fmt: skip
    assert signature.types["scale"] == "fp32"
    assert signature.types["N"] == "i32"
    layer_norm = guess_signature(KERNELS / "layer_norm.py", "layer_norm_kernel")
    assert layer_norm.types["eps"] == "fp32"
    assert layer_norm.types["stride"] == layer_norm.types["N"] == "i32"
    assert layer_norm.types["X"] == "*fp32"


def test_what_the_caller_knows_wins() -> None:
    """Types, values, and the element type of the other pointers."""
    known = {"*": "*bf16", "w_ptr": "*fp16", "n": "i64", "BLOCK": 256}
    signature = guess_signature(KERNELS / "elementwise.py", "arithmetic_kernel", known)
    assert signature.types == {
        "x_ptr": "*bf16", "w_ptr": "*fp16", "y_ptr": "*bf16", "total_ptr": "*bf16", "n": "i64",
    }  # fmt: skip
    assert signature.constexprs == {"BLOCK": 256}
    assert signature.guessed == ["x_ptr", "y_ptr", "total_ptr"]


INDIRECT = """
import triton
import triton.language as tl


@triton.jit
def fetch(table, i):
    return tl.load(table + i)


@triton.jit
def kernel(src, where, starts, out, alpha, stride, DTYPE: tl.constexpr, HAS_BIAS: tl.constexpr,
           BLOCK: tl.constexpr, bias=None):
    first = tl.load(starts + tl.program_id(0))
    last = tl.load(starts + tl.program_id(0) + 1)
    for i in range(first, last):
        row = tl.load(where + i)
        row_ptr = src + row * stride
        x = tl.load(row_ptr + tl.arange(0, BLOCK)) * alpha
        if HAS_BIAS:
            x += fetch(bias, tl.arange(0, BLOCK))
        tl.store(out + i * stride + tl.arange(0, BLOCK), x.to(DTYPE))
"""


def test_indices_and_helper_pointers(tmp_path: Path) -> None:
    """Loaded offsets and bounds are integers; a pointer may only reach a load inside a helper."""
    path = tmp_path / "indirect.py"
    path.write_text(INDIRECT)
    signature = guess_signature(path, "kernel")
    assert signature.types == {
        "src": "*fp32", "where": "*i64", "starts": "*i64", "out": "*fp32", "alpha": "fp32",
        "stride": "i32", "bias": "*fp32",
    }  # fmt: skip
    assert signature.constexprs == {"DTYPE": "tl.float32", "HAS_BIAS": True, "BLOCK": 32}
    kernel = compile_kernel(path, "kernel", signature.types, signature.constexprs)
    assert kernel.cubin_size > 0


KNOWN_KERNELS = [
    (path, kernel.name)
    for path in corpus_files(KERNELS)
    for kernel in find_kernels(path)
    if kernel.kind == "kernel"
]


@pytest.mark.parametrize("path, name", KNOWN_KERNELS, ids=lambda v: getattr(v, "stem", v))
def test_guesses_compile(path: Path, name: str) -> None:
    """Every kernel beside these tests compiles with its guess."""
    known = {"EVEN_N": True} if name == "attention_kernel" else {}
    signature = guess_signature(path, name, known)
    kernel = compile_kernel(path, name, signature.types, signature.constexprs, until="ttir")
    assert name in kernel.raw_ttir
