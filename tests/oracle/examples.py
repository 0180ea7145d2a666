"""Every launcher of examples/, and how to call it: a size that leaves the last block ragged, where it may.

Block pointers are not here: the Triton that the oracle runs with has them no more.
"""

from __future__ import annotations

from pathlib import Path

from tests.oracle.case import Case, call_of

FOLDER = Path(__file__).resolve().parents[2] / "examples"


def tokens(shape: list[int], high: int) -> dict:
    """Row numbers."""
    return {"shape": shape, "dtype": "int64", "grad": False, "low": 0, "high": high}


def single(*shape: int) -> dict:
    """float32: for kernels whose operations have no other type."""
    return {"shape": list(shape), "dtype": "float32"}


def heads(time: int, names: str = "qkv", batch: int = 1, count: int = 1, size: int = 16) -> dict:
    """Queries, keys and values."""
    return {name: [batch, count, time, size] for name in names}


def flat_heads() -> dict:
    """Heads, time, feature."""
    return {name: [2, 40, 16] for name in "qkv"}


X = {"x": [3, 45]}
NORM = {"x": [3, 45], "w": [45], "b": [45]}
MATRICES = {"a": [20, 18], "b": [18, 24]}
SCAN = {
    "x": [1, 5, 10],
    "dt": {"shape": [1, 5, 10], "low": 0.1},
    "A": {"shape": [10, 4], "low": -1.0, "high": -0.2},
    "B": [1, 5, 4],
    "C": [1, 5, 4],
    "D": [10],
}
ROTARY = {"x": [2, 5, 3, 16], "cos": [5, 8], "sin": [5, 8]}
# Calls by module: what is called, with what.
CALLS: dict[str, list[tuple[str, dict]]] = {
    "activations": [
        ("m.gelu(x)", X),
        ("m.gelu(x, True)", X),
        ("m.silu(x)", X),
        ("m.swiglu(g, u)", {"g": [5, 70], "u": [5, 70]}),
        ("m.geglu(x)", {"x": [3, 74]}),
    ],
    "attention": [
        ("m.attention(q, k, v)", heads(40)),
        ("m.attention(q, k, v, True, 0.3)", heads(40)),
    ],
    "attention_two_stage": [
        ("m.causal_attention(q, k, v)", heads(64)),
        ("m.causal_attention(q, k, v, False, 0.5)", heads(64)),
    ],
    "attention_variants": [
        (
            "m.grouped_query_attention(q, k, v)",
            {"q": [1, 40, 2, 16], "k": [1, 40, 1, 16], "v": [1, 40, 1, 16]},
        ),
        ("m.window_attention(q, k, v, 7)", flat_heads()),
        ("m.biased_attention(q, k, v, slopes)", {**heads(40, count=2), "slopes": [2]}),
        ("m.biased_attention(q, k, v, None, 5.0)", heads(40, count=2)),
        ("m.sigmoid_attention(q, k, v)", flat_heads()),
        ("m.sigmoid_attention(q, k, v, -2.5)", flat_heads()),
    ],
    "conv1d": [
        ("m.causal_conv1d(x, w, b)", {"x": [2, 13, 20], "w": [20, 4], "b": [20]}),
        ("m.causal_conv1d(x, w, activation='silu')", {"x": [2, 13, 20], "w": [20, 4]}),
    ],
    "cross_entropy": [
        ("m.cross_entropy(x, y)", {"x": [5, 37], "y": tokens([5], 36)}),
        ("m.cross_entropy(x, y, 3, 0.1)", {"x": [5, 37], "y": tokens([5], 4)}),
    ],
    "cumsum": [("m.cumsum(x)", X), ("m.cumsum_row(x)", X), ("m.cumsum_row(x, True)", X)],
    "dropout": [
        ("m.seeded_dropout(x, 0.3, 7)", X),
        ("m.dropout_add(x, r, b, 0.3, 7)", {"x": [3, 45], "r": [3, 45], "b": [45]}),
    ],
    "embedding": [
        ("m.embedding(t, w)", {"t": tokens([2, 3], 7), "w": [8, 20]}),
        ("m.embedding(t, w, p, 2.0)", {"t": tokens([2, 3], 7), "w": [8, 20], "p": [3, 20]}),
    ],
    "group_norm": [("m.group_norm(x, 3, w, b)", {"x": [2, 6, 3, 5], "w": [6], "b": [6]})],
    "layer_norm": [
        ("m.layer_norm(x, w, b)", NORM),
        ("m.layer_norm_row(x, w, b)", NORM),
        ("m.layer_norm_row(x, w)", {"x": [3, 45], "w": [45]}),
    ],
    "linear_attention": [
        ("m.linear_attention(q, k, v)", heads(40)),
        (
            "m.linear_attention(q, k, v, d, 0.5)",
            {**heads(40, count=2), "d": {"shape": [2], "low": -0.2, "high": -0.1}},
        ),
    ],
    "log_softmax": [("m.log_softmax(x)", X)],
    "matmul": [
        ("m.matmul(a, b)", MATRICES),
        ("m.matmul(a.t(), b.t())", {"a": [18, 20], "b": [24, 18]}),
        ("m.linear(x, w, b, 'silu')", {"x": [20, 18], "w": [24, 18], "b": [24]}),
        ("m.linear(x, w)", {"x": [20, 18], "w": [24, 18]}),
        ("m.batched_matmul(a, b)", {"a": [2, 20, 18], "b": [2, 18, 24]}),
        ("m.matmul_descriptor(a, b)", {"a": [32, 32], "b": [32, 32]}),
    ],
    "reductions": [
        ("m.row_sum(x)", X),
        ("m.column_mean(x)", X),
        ("m.full_sum(x)", X),
        ("m.squared_distance(a, b, 0.1)", {"a": [6, 20], "b": [6, 20]}),
    ],
    "rms_norm": [
        ("m.rms_norm(x, w)", {"x": [3, 45], "w": [45]}),
        ("m.rms_norm(x, w, r, offset=1.0)", {"x": [3, 45], "w": [45], "r": [3, 45]}),
    ],
    "rotary": [
        ("m.rotary(x, cos, sin)", ROTARY),
        (
            "(m.rotary_inplace(x, cos, sin), x)[1]",
            {**ROTARY, "x": {"shape": [5, 3, 16], "in_place": True}},
        ),
    ],
    "softmax": [("m.softmax(x)", X), ("m.online_softmax(x)", X)],
    "state_space": [
        ("m.recurrence(a, x, h)", {"a": [2, 6, 10], "x": [2, 6, 10], "h": [2, 10]}),
        ("m.recurrence(a, x)", {"a": [2, 6, 10], "x": [2, 6, 10]}),
        ("m.scan(a, x)", {"a": [2, 6, 10], "x": [2, 6, 10]}),
        ("m.selective_scan(x, dt, A, B, C, D)", SCAN),
    ],
    "variance": [("m.variance(x)", X), ("m.variance(x, 0)", X)],
}


def examples() -> list[Case]:
    """A case a module, with all of its calls."""
    cases = []
    for name, calls in CALLS.items():
        text = (FOLDER / f"{name}.py").read_text()
        given = [call_of({"call": call, "inputs": inputs}) for call, inputs in calls]
        cases.append(Case(f"example_{name}", "examples", {"user.py": text}, given))
    return cases
