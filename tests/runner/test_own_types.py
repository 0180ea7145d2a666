"""A proved backward in the element types of its launch: what the forward's rounding explains, and what it does not."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.emitted.plan import EXAMPLES, Runner, derived, tad

KERNELS = """
import torch
import triton
import triton.language as tl


# tad: n=60, m=64, X=bf16[64, 64], W=bf16[64], Y=bf16[64, 64], BLOCK=64, grid=(1,)
@triton.jit
def scaled(X, W, Y, n, m, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    w = tl.load(W + cols, mask=cols < n, other=0.0).to(tl.float32)
    for row in range(m):
        x = tl.load(X + row * BLOCK + cols, mask=cols < n, other=0.0).to(tl.float32)
        tl.store(Y + row * BLOCK + cols, x * w, mask=cols < n)


# tad: n=60, X=f16[8, 64], W=f16[8, 64] in uniform(4, 5), Y=f16[8], BLOCK=64, grid=(8,)
@triton.jit
def softmax(X, W, Y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < n
    x = tl.load(X + at, mask=mask, other=float("-inf")).to(tl.float32)
    w = tl.load(W + at, mask=mask, other=0.0).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    p = e / tl.sum(e, axis=0)
    tl.store(Y + tl.program_id(0), tl.sum(p * w, axis=0))


# tad: n=19, Ids=i32[256], Table=bf16[8, 32], Y=bf16[256, 32], BLOCK=32, grid=(256,)
@triton.jit
def embedding(Ids, Table, Y, n, BLOCK: tl.constexpr):
    row = tl.load(Ids + tl.program_id(0))
    cols = tl.arange(0, BLOCK)
    x = tl.load(Table + row * BLOCK + cols, mask=cols < n, other=0.0)
    tl.store(Y + tl.program_id(0) * BLOCK + cols, x, mask=cols < n)


# tad: M=32, N=32, K=64, A=f32[32, 64], B=f32[64, 32], C=f32[32, 32], BLOCK=16, grid=(2, 2)
@triton.jit
def matmul(A, B, C, M, N, K, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK, BLOCK], tl.float32)
    for start in range(0, K, BLOCK):
        k = start + tl.arange(0, BLOCK)
        a = tl.load(A + m[:, None] * K + k[None, :])
        b = tl.load(B + k[:, None] * N + n[None, :])
        acc += tl.dot(a, b)
    tl.store(C + m[:, None] * N + n[None, :], acc)


@triton.jit
def open_types(X, Y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(Y + at, tl.exp(x) * x, mask=at < n)


# tad: n=60, X=f16[64] in uniform(200, 300), Y=f16[64], BLOCK=64, grid=(1,)
@triton.jit
def square(X, Y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n, other=0.0)
    tl.store(Y + at, x * x, mask=at < n)
"""
# kernel, what the backward says, what it is made to say, what the finding names
PLANTED = {
    "sum in bf16": (
        "scaled",
        [
            ("dw = tl.zeros([BLOCK], dtype=tl.float32)", "dw = tl.zeros([BLOCK], tl.bfloat16)"),
            ("dw += dy * x", "dw += (dy * x).to(tl.bfloat16)"),
        ],
        ("W", "the rounding to bfloat16 in `dw += (dy * x).to(tl.bfloat16)`"),
    ),
    "cast before a difference": (
        "softmax",
        [
            (
                "de = dp / total[:, None] - tl.sum(",
                "de = (dp / total[:, None]).to(tl.bfloat16) - tl.sum(",
            )
        ],
        ("X", "the cast to bfloat16 in `de = (dp / total[:, None]).to(tl.bfloat16)"),
    ),
    "cast before exp": (
        "softmax",
        [
            (
                "e = tl.exp(x - tl.max(x, axis=1)[:, None])",
                "e = tl.exp((x - tl.max(x, axis=1)[:, None]).to(tl.bfloat16).to(tl.float32))",
            )
        ],
        ("W", "the cast to bfloat16 in `e = tl.exp("),
    ),
    "cast in a float32 launch": (
        "matmul",
        [("dacc.to(B.dtype.element_ty)", "dacc.to(tl.bfloat16).to(tl.float32)")],
        ("A", "the cast to bfloat16 in `da += tl.dot(dacc.to(tl.bfloat16)"),
    ),
}


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    """One worker for all."""
    started = Runner()
    yield started
    started.close()


@pytest.fixture(scope="module")
def proofs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    """What is asked of the runner for each kernel of the text above."""
    path = tmp_path_factory.mktemp("own") / "kernels.py"
    path.write_text(KERNELS)
    return derived(path)[1]


def own_types(answer: dict) -> dict:
    """Of a proof that holds."""
    assert answer["status"] == "proved", answer["reason"]
    return answer["own_types"]


def test_what_is_derived_is_as_precise_as_its_forward(runner: Runner, proofs: dict) -> None:
    """Also over a sum of 64 rows, through a softmax of large weights, by atomics and in TF32."""
    types = {"scaled": "bf16", "softmax": "f16", "matmul": "f32 with dots in tf32"}
    types["embedding"] = "bf16"
    for name, expected in types.items():
        own = own_types(runner.ask("gradcheck", proofs[name]))
        assert own["finding"] is None, own
        (run,) = own["runs"]
        assert run["types"] == expected
        assert run["times"] < 2
        assert own["words"] == (
            f"in {expected}: {run['times']:.1f} times what the forward's rounding explains"
        )


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_rounding_that_the_forward_does_not_have(
    runner: Runner, proofs: dict, mistake: str
) -> None:
    """Right in fp64, and so proved; in its own types the finding names the gradient, the cast and its line."""
    name, edits, (gradient, place) = PLANTED[mistake]
    proof = copy.deepcopy(proofs[name])
    source = proof["backward"]["source"]
    head, tail = source.split(f"def {name}_backward", 1)
    for old, new in edits:
        assert old in tail
        tail = tail.replace(old, new)
    source = head + f"def {name}_backward" + tail
    proof["backward"]["source"] = source
    finding = own_types(runner.ask("gradcheck", proof))["finding"]
    assert finding, mistake
    assert finding["input"] == gradient
    assert place in finding["message"]
    assert source.splitlines()[finding["line"] - 1].strip() in finding["message"]


def test_atomics_into_a_narrow_buffer(runner: Runner, proofs: dict) -> None:
    """32 additions to an element, each rounded to bfloat16; the derived Function gives float32."""
    proof = copy.deepcopy(proofs["embedding"])
    (launch,) = proof["backward"]["launches"]
    assert launch["arguments"]["dTable"].pop("dtype") == "fp32"
    finding = own_types(runner.ask("gradcheck", proof))["finding"]
    assert finding["input"] == "Table"
    assert "the atomic update of bfloat16 in `tl.atomic_add((dTable" in finding["message"]
    assert "(0.0 times without it)" in finding["message"]


def test_types_that_nobody_says_are_tried_in_bfloat16(runner: Runner, proofs: dict) -> None:
    """Kernel and launch leave them open: nearly all calls of such kernels are in 16 bits."""
    (run,) = own_types(runner.ask("gradcheck", proofs["open_types"]))["runs"]
    assert run["types"] == "bf16"
    assert 0 < run["times"] < 2


def test_a_forward_that_overflows_is_not_tried(runner: Runner, proofs: dict) -> None:
    """300 squared is no float16: nothing is said of its gradient."""
    own = own_types(runner.ask("gradcheck", proofs["square"]))
    assert own["words"] == "f16 not tried: the forward overflows in these types"
    assert own["finding"] is None


def test_the_same_steps_each_time_and_fewer_than_the_proof(runner: Runner, proofs: dict) -> None:
    """A verdict does not depend on the machine; its cost is a part of the proof's."""
    first, second = (runner.ask("gradcheck", proofs["scaled"]) for _ in range(2))
    assert own_types(first) == own_types(second)
    assert own_types(first)["runs"][0]["steps"] < first["steps"]
    little = copy.deepcopy(proofs["scaled"]) | {"max_seconds": 600}
    assert own_types(runner.ask("gradcheck", little))["runs"] == own_types(first)["runs"]


@pytest.mark.parametrize("example", ["layer_norm", "attention_variants", "linear_attention"])
def test_examples_have_no_finding(runner: Runner, example: str) -> None:
    """Atomics, recurrences, and a slope whose gradient is what is left of large sums that cancel."""
    (path,) = (path for path in EXAMPLES if path.stem == example)
    for proof in derived(path)[1].values():
        for seed in (0, 9):
            assert own_types(runner.ask("gradcheck", proof | {"seed": seed}))["finding"] is None


def test_a_written_backward_is_told_at_its_line(tmp_path: Path) -> None:
    """A sum that someone made bfloat16 by hand: a warning there, exit status 1, words in every format."""
    forward, module = tmp_path / "kernels.py", tmp_path / "kernels_backward.py"
    start, end = KERNELS.index("# tad: n=60, m=64"), KERNELS.index("# tad: n=60, X=f16[8, 64]")
    forward.write_text(KERNELS[: KERNELS.index("# tad:")] + KERNELS[start:end])
    assert tad("--backward", forward, "-q", "-o", module).returncode == 0
    for old, new in PLANTED["sum in bf16"][1]:
        assert old in module.read_text()
        module.write_text(module.read_text().replace(old, new))
    run = tad("--check", "--grad", "-f", "concise", module)
    assert run.returncode == 1
    (line,) = (text for text in run.stdout.splitlines() if "gradient-imprecise" in text)
    lines = [line.strip() for line in module.read_text().splitlines()]
    number = lines.index("dw += (dy * x).to(tl.bfloat16)") + 1
    assert f"kernels_backward.py:{number}:" in line
    assert "warning[gradient-imprecise]" in line
    assert "own types: in bf16:" in tad("--check", "--grad", module).stdout
    assert "cast last" in tad("--explain", "gradient-imprecise").stdout
