"""A backward that is wrong only where few configurations go: each such place is gone to.

The gradients that a backward stores are doubled under a condition: with one iteration only, from the third block on,
with strides of a transposed tensor, with one of two flags, where the last block is cut, where a size is even,
beyond a number that floats are compared with.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.emitted.plan import ROOT, Runner, derived
from tests.runner.mutations import Text, called

HIDDEN = [
    ("reductions", "row_sum_kernel", "n_cols <= BLOCK", "one iteration"),
    ("reductions", "row_sum_kernel", "n_cols > 2 * BLOCK", "a third iteration"),
    ("cumsum", "cumsum_kernel", "T <= BLOCK", "one iteration"),
    ("softmax", "online_softmax_kernel", "n_cols <= BLOCK", "one iteration"),
    ("layer_norm", "layer_norm_kernel", "N <= BLOCK_SIZE", "one iteration"),
    ("matmul", "matmul_kernel", "K <= BLOCK_K", "one iteration"),
    ("matmul", "matmul_kernel", "tl.num_programs(0) > 2", "a third block"),
    ("matmul", "matmul_kernel", "stride_am < stride_ak", "a transposed tensor"),
    ("matmul", "matmul_kernel", "M % BLOCK_M != 0", "a last block that is cut"),
    ("matmul_block_pointer", "matmul_block_kernel", "stride_am < stride_ak", "a transposed tensor"),
    ("attention", "attention_kernel", "seq_q > 2 * BLOCK_M", "a third block"),
    ("attention", "attention_kernel", "CAUSAL", "a flag"),
    ("linear_attention", "linear_attention_kernel", "HAS_DECAY", "a flag"),
    ("grouped_scale", "grouped_scale_kernel", "C > G", "several channels in each group"),
    ("grouped_scale", "grouped_scale_kernel", "image > 0", "a second image"),
    ("grouped_scale", "grouped_scale_kernel", "C % G == 0", "groups without a rest"),
    ("softmax", "softmax_kernel", "n_cols % 2 == 0", "an even length"),
    (
        "layer_norm",
        "layer_norm_kernel",
        "N % 12 == 0",
        "a length whose thirds and quarters are whole",
    ),
    ("matmul", "matmul_kernel", "M % 4 == 0", "as many rows as whole fours have"),
    ("matmul", "matmul_kernel", "K % 4 == 0", "whole fours of columns"),
    ("steep", "softplus_kernel", "x > 20.0", "numbers beyond a threshold"),
    ("steep", "capped_square_kernel", "x > cap", "numbers beyond one that the caller passes"),
    ("labelled_rows", "labelled_rows_kernel", "label == ignored", "an ignored label"),
]
FOLDERS = (ROOT / "examples", Path(__file__).parent / "hidden")


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    """One worker for all."""
    started = Runner()
    yield started
    started.close()


def doubled(source: str, condition: str) -> str:
    """The text with each gradient that is stored twice as large where the condition holds."""
    text = Text(source)
    names = {node.id for node in ast.walk(ast.parse(condition)) if isinstance(node, ast.Name)}
    places = []
    for function in ast.parse(source).body:
        if not isinstance(function, ast.FunctionDef) or "_backward" not in function.name:
            continue
        known = {argument.arg for argument in function.args.args}
        known |= {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
        if not names - {"tl"} <= known:
            continue
        for node in ast.walk(function):
            if called(node) in ("store", "atomic_add"):
                assert isinstance(node, ast.Call)
                places.append(text.span(node.args[1]))
    assert places
    for first, last in sorted(places, reverse=True):
        value = f"(({source[first:last]}) * tl.where({condition}, 2.0, 1.0))"
        source = source[:first] + value + source[last:]
    return source


@pytest.mark.parametrize(("file", "kernel", "condition", "where"), HIDDEN)
def test_what_is_wrong_in_one_place_is_refuted(
    runner: Runner, file: str, kernel: str, condition: str, where: str
) -> None:
    """Proved as derived, refuted with the mistake."""
    path = next(found for folder in FOLDERS if (found := folder / f"{file}.py").exists())
    proof = derived(path)[1][kernel]
    backward = proof["backward"]
    text = doubled(backward["source"], condition)
    wrong = runner.ask("gradcheck", {**proof, "backward": {**backward, "source": text}})
    assert wrong["status"] == "failed", (where, wrong["reason"], wrong["covered"])
