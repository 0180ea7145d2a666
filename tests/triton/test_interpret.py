"""Triton's interpreter, as the tests use it, against NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.triton.compile import compile_kernel
from tests.triton.interpret import InterpretFailure, Typed, call_function, interpret_kernel

KERNELS = Path(__file__).parent / "kernels"
RANDOM = np.random.default_rng(7)


def random(*shape: int) -> np.ndarray:
    """Normal float32 numbers."""
    return RANDOM.standard_normal(shape).astype(np.float32)


def softmax(x: np.ndarray) -> np.ndarray:
    """NumPy's softmax of rows."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def test_softmax_with_persistent_rows() -> None:
    """Fewer programs than rows, columns that do not fill the block, and strided rows."""
    storage = random(5, 90)
    x = storage[:, :70]
    result = interpret_kernel(
        KERNELS / "softmax.py", "softmax_kernel", (2,),
        {"out_ptr": np.zeros((5, 70), np.float32), "in_ptr": x, "in_stride": 90, "out_stride": 70,
         "n_rows": 5, "n_cols": 70},
        {"BLOCK": 128},
    )  # fmt: skip
    np.testing.assert_allclose(result["out_ptr"], softmax(x), atol=1e-6)
    np.testing.assert_array_equal(result["in_ptr"], x)


def test_layer_norm_of_three_loops() -> None:
    """Three passes over a row, scalar stores."""
    x, w, b = random(4, 75), random(75), random(75)
    result = interpret_kernel(
        KERNELS / "layer_norm.py", "layer_norm_kernel", (4,),
        {"X": x, "Y": np.zeros_like(x), "W": w, "B": b, "Mean": np.zeros(4, np.float32),
         "Rstd": np.zeros(4, np.float32), "stride": 75, "N": 75, "eps": 1e-5},
        {"BLOCK_SIZE": 32},
    )  # fmt: skip
    mean, var = x.mean(1, keepdims=True), x.var(1, keepdims=True)
    np.testing.assert_allclose(result["Y"], (x - mean) / np.sqrt(var + 1e-5) * w + b, atol=2e-6)
    np.testing.assert_allclose(result["Mean"], mean[:, 0], atol=1e-6)


@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "bf16"])
def test_matmul_in_each_precision(kind: str) -> None:
    """Grouped programs, ragged edges, transposed operand by strides."""
    m, n, k = 37, 29, 41
    a, b = random(m, k).astype(np.float64), random(n, k).astype(np.float64)
    if kind == "bf16":
        given = {"a_ptr": Typed(a, "bf16"), "b_ptr": Typed(b, "bf16"),
                 "c_ptr": Typed(np.zeros((m, n)), "bf16")}  # fmt: skip
        tolerance = 0.15
    else:
        given = {"a_ptr": a.astype(kind), "b_ptr": b.astype(kind), "c_ptr": np.zeros((m, n), kind)}
        tolerance = {"float64": 1e-12, "float32": 1e-4, "float16": 0.05}[kind]
    result = interpret_kernel(
        KERNELS / "matmul.py", "matmul_kernel", (3 * 2,),
        {**given, "M": m, "N": n, "K": k, "stride_am": k, "stride_ak": 1, "stride_bk": 1,
         "stride_bn": k, "stride_cm": n, "stride_cn": 1},
        {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 16, "GROUP_M": 2},
    )  # fmt: skip
    np.testing.assert_allclose(result["c_ptr"], a @ b.T, atol=tolerance)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_through_its_launcher(causal: bool) -> None:
    """A launcher with a grid of the tuned configuration, autotune, heuristics and a helper."""
    q, k, v = random(2, 40, 16), random(2, 40, 16), random(2, 40, 16)
    result = call_function(KERNELS / "attention.py", "attention", [q, k, v, causal])
    scores = np.einsum("hmd,hnd->hmn", q, k) / 4
    if causal:
        scores = np.where(np.tril(np.ones((40, 40), bool)), scores, -np.inf)
    expected = np.einsum("hmn,hnd->hmd", softmax(scores), v)
    np.testing.assert_allclose(result.outputs[0], expected, atol=1e-5)
    highest = scores.max(-1)
    lse = highest + np.log(np.exp(scores - highest[..., None]).sum(-1))
    np.testing.assert_allclose(result.outputs[1], lse, atol=1e-4)


def test_dropout_repeats_its_mask() -> None:
    """The same seed gives the same mask; about p of the elements are gone."""
    x = np.ones(1000, np.float32)
    runs = [
        interpret_kernel(
            KERNELS / "elementwise.py", "dropout_kernel", (8,),
            {"x_ptr": x, "y_ptr": np.zeros_like(x), "n": 1000, "p": 0.25, "seed": seed},
            {"BLOCK": 128},
        )["y_ptr"]
        for seed in (3, 3, 4)
    ]  # fmt: skip
    np.testing.assert_array_equal(runs[0], runs[1])
    assert (runs[0] != runs[2]).any()
    assert abs((runs[0] == 0).mean() - 0.25) < 0.05
    np.testing.assert_allclose(runs[0][runs[0] != 0], 1 / 0.75, rtol=1e-6)


def to_bfloat16(x: np.ndarray) -> np.ndarray:
    """Rounds float32 to bfloat16's nearest, in float32, by adding half of the last place."""
    scale = np.float64(2.0) ** (np.floor(np.log2(np.abs(x) + 1e-300)) - 7)
    return (np.rint(x / scale) * scale).astype(np.float32)


def test_bfloat16_arithmetic_rounds_each_step() -> None:
    """Sums, products, comparisons and selections of bfloat16, and an atomic total."""
    x, w = to_bfloat16(random(100)), to_bfloat16(random(100))
    result = interpret_kernel(
        KERNELS / "elementwise.py", "arithmetic_kernel", (2,),
        {"x_ptr": Typed(x, "bf16"), "w_ptr": Typed(w, "bf16"),
         "y_ptr": Typed(np.zeros(100), "bf16"), "total_ptr": np.zeros(1, np.float32), "n": 100},
        {"BLOCK": 64},
    )  # fmt: skip
    y = to_bfloat16(to_bfloat16(x * w) + x)
    y = np.where(y > 1, to_bfloat16(y - w), y)
    np.testing.assert_allclose(result["y_ptr"], y, atol=0)
    np.testing.assert_allclose(result["total_ptr"], y.sum(), rtol=1e-5)


def test_bfloat16_dot() -> None:
    """A product of bfloat16 matrices accumulates in float32."""
    a, b = to_bfloat16(random(16, 16)), to_bfloat16(random(16, 16))
    result = interpret_kernel(
        KERNELS / "elementwise.py", "bf16_dot_kernel", (1,),
        {"a_ptr": Typed(a, "bf16"), "b_ptr": Typed(b, "bf16"),
         "c_ptr": np.zeros((16, 16), np.float32)},
        {"N": 16},
    )  # fmt: skip
    np.testing.assert_allclose(result["c_ptr"], a @ b, atol=1e-5)


def test_libdevice_in_both() -> None:
    """A libdevice function compiles and is interpreted."""
    x = random(100)
    result = interpret_kernel(
        KERNELS / "elementwise.py", "gelu_kernel", (1,),
        {"x_ptr": x, "y_ptr": np.zeros_like(x), "n": 100}, {"BLOCK": 128},
    )  # fmt: skip
    inner = np.tanh(0.7978845608 * (x + 0.044715 * x**3))
    np.testing.assert_allclose(result["y_ptr"], 0.5 * x * (1 + inner), atol=1e-6)
    compiled = compile_kernel(
        KERNELS / "elementwise.py", "gelu_kernel", {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"},
        {"BLOCK": 128},
    )  # fmt: skip
    assert compiled.cubin_size > 0


def test_gradients_of_a_function_among_host_operations() -> None:
    """An autograd.Function with kernels both ways, inside matmul, transpose, product and view."""
    x, g = random(6, 5), random(36)
    result = call_function(
        KERNELS / "softmax.py", "attention_weights", [x, 0.5], wrt=[0], grad_outputs=[g]
    )

    def value(at: np.ndarray) -> float:
        return float((softmax(0.5 * at @ at.T).reshape(-1) * g).sum())

    wide, numeric = x.astype(np.float64), np.zeros((6, 5))
    for index in np.ndindex(6, 5):
        step = np.zeros((6, 5))
        step[index] = 1e-5
        numeric[index] = (value(wide + step) - value(wide - step)) / 2e-5
    np.testing.assert_allclose(result.gradients[0], numeric, atol=1e-5)
    assert result.gradients[1] is None


def test_writes_outside_are_found() -> None:
    """One element behind an array."""
    with pytest.raises(InterpretFailure, match="element 10") as caught:
        interpret_kernel(
            KERNELS / "elementwise.py", "beyond_kernel", (1,),
            {"x_ptr": np.zeros(10, np.float32), "n": 10},
        )  # fmt: skip
    assert caught.value.kind == "outside"


def test_wild_pointers_end_the_child_only() -> None:
    """A write far away is a failure, and the next run works."""
    arguments = {"x_ptr": np.zeros(10, np.float32), "n": 1 << 29}
    with pytest.raises(InterpretFailure) as caught:
        interpret_kernel(KERNELS / "elementwise.py", "beyond_kernel", (1,), arguments)
    assert caught.value.kind == "crash"
    arguments["n"] = 4
    result = interpret_kernel(KERNELS / "elementwise.py", "beyond_kernel", (1,), arguments)
    assert result["x_ptr"].tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 0, 0]
