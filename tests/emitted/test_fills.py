"""Zeros beside a gradient: a kernel stores them itself where the ends of its masks have all of the tensor."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import Runner, derived, proved_module, tad
from tests.support.worker import Worker
from tests.triton.interpret import call_function

SOFTMAX = """import torch
import triton
import triton.language as tl


{decorator}@triton.jit
def rows(x_ptr, {more}y_ptr, T, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    row = {row}
    cols = tl.arange(0, BLOCK)
    keep = {keep}
    x = tl.load(x_ptr + {place} + cols, mask=keep, other=-float("inf"))
    e = tl.exp({shifted})
    tl.store(y_ptr + {place} + cols, e / tl.sum(e, axis=0), mask=cols < T)


def launch(x{arguments}):
    T = x.shape[-1]
    y = torch.empty_like(x)
    rows[{grid}](x{arguments}, y, T, BLOCK=triton.next_power_of_2(T))
    return y
"""
CAUSAL = {
    "decorator": "",
    "more": "",
    "row": "pid % T",
    "keep": "(cols < T) & (cols <= row)",
    "place": "pid * T",
    "shifted": "x - tl.max(x, axis=0)",
    "arguments": "",
    "grid": "(x.numel() // T,)",
}
FILLED = {
    "causal": {},
    "one matrix": {"row": "pid"},
    "window": {"keep": "(cols < T) & (cols <= row) & (cols > row - 3)"},
    "parity": {"keep": "(cols % 2 <= row % 2) & (cols < T)"},
    # what is stored of the output, whose gradient is loaded, ends where the row does
    "endless": {"keep": "(cols <= row) & (cols % 2 <= row % 2)"},
    # the other gradient has a mask of its own
    "two gradients": {
        "more": "b_ptr, ",
        "arguments": ", b",
        "shifted": "x - tl.max(x, axis=0) + tl.load(b_ptr + pid * T + cols, mask=cols < T, other=0.0)",
    },
}
KEPT = {
    # nothing is left out
    "whole": {"keep": "cols < T"},
    # other lanes than those that the output's mask ends
    "shifted": {"keep": "(cols + 1 <= row) & (cols % 2 <= row % 2)"},
    # nothing says where a row ends
    "without end": {"keep": "cols % 2 <= row % 2"},
    # programs along the other axis have the same elements
    "shared": {
        "keep": "(cols < T) & (cols % 2 == tl.program_id(1))",
        "grid": "(x.numel() // T, 2)",
    },
    # rows lie where a quotient puts them
    "divided": {"place": "pid // 2 * T", "keep": "(cols < T) & (cols % 2 == pid % 2)"},
}
LARGEST = re.compile(r"(def \w+_backward\w*\(.*?)(?=\n\n\n)", re.S)


def written(path: Path, **changes: str) -> Path:
    """A softmax of rows that are cut further."""
    path.write_text(SOFTMAX.format(**{**CAUSAL, **changes}))
    return path


def emitted(path: Path, *options: str) -> str:
    """The module with the backward."""
    run = tad("--backward", "--no-proof", *options, path)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("name", FILLED)
def test_the_kernel_stores_the_zeros(name: str, tmp_path: Path) -> None:
    text = emitted(written(tmp_path / "kernels.py", **FILLED[name]))
    kernel = LARGEST.search(text)
    assert kernel and "FILL: tl.constexpr = False," in kernel[1]
    assert re.search(r"if FILL:\n +stored = .+\n +else:\n +stored = keep\n", kernel[1])
    said = re.sub(r"\s+", " ", text)
    ranges = "[(1, min(BLOCK, T)), (T, ctx.grid[0])]"
    one = "b" if name == "two gradients" else "x"
    assert f"d{one}_ptr, fills = _filled_buffer( {one}_ptr, stored={ranges} )" in said
    assert ("fills = False if ctx.needs_input_grad" in said) == (name == "two gradients")
    assert "FILL=fills," in said and "torch.zeros" not in kernel[1]


@pytest.mark.parametrize("name", KEPT)
def test_other_gradients_are_set_to_zero_before(name: str, tmp_path: Path) -> None:
    assert "FILL" not in emitted(written(tmp_path / "kernels.py", **KEPT[name]))


@pytest.mark.parametrize("option", ["none", "triton_op"])
def test_who_launches_by_himself_has_no_such_flag(option: str, tmp_path: Path) -> None:
    assert "FILL" not in emitted(written(tmp_path / "kernels.py"), "--wrapper", option)


def test_a_gradient_that_nobody_asks_for_is_not_filled(tmp_path: Path, interpreter: Worker) -> None:
    changes = {**CAUSAL, **FILLED["two gradients"]}
    text = proved_module(tmp_path, SOFTMAX.format(**changes))
    random = np.random.default_rng(5)
    x, b, upstream = (random.uniform(-1, 1, (2, 6, 6)) for _ in range(3))
    want = expected(x + b, upstream)
    for wrt in ([0], [1], [0, 1]):
        found = call_function(
            text, "launch", [x, b], wrt=wrt, grad_outputs=[upstream], worker=interpreter
        ).gradients
        assert sum(gradient is not None for gradient in found) == len(wrt)
        for gradient in (gradient for gradient in found if gradient is not None):
            np.testing.assert_allclose(gradient, want, rtol=1e-4, atol=1e-6)


def expected(x: np.ndarray, upstream: np.ndarray) -> np.ndarray:
    """The gradient of a causal softmax."""
    keep = np.tril(np.ones(x.shape[-2:], bool))
    e = np.where(keep, np.exp(x), 0)
    y = e / e.sum(-1, keepdims=True)
    return y * (upstream - (upstream * y).sum(-1, keepdims=True))


@pytest.mark.parametrize("shape", [(2, 5, 5), (1, 8, 8)])
def test_the_gradient_is_whole(shape: tuple, tmp_path: Path, interpreter: Worker) -> None:
    text = proved_module(tmp_path, SOFTMAX.format(**CAUSAL))
    random = np.random.default_rng(3)
    x, upstream = (random.uniform(-1, 1, shape) for _ in range(2))
    unfilled = text.replace("fills = tensor is not None and", "fills = False and")
    assert unfilled != text
    for module in (text, unfilled):
        found = call_function(
            module, "launch", [x], wrt=[0], grad_outputs=[upstream], worker=interpreter
        ).gradients[0]
        np.testing.assert_allclose(found, expected(x, upstream), rtol=1e-4, atol=1e-6)


def test_the_proof_looks_at_the_zeros(tmp_path: Path) -> None:
    request = derived(written(tmp_path / "kernels.py"))[1]["rows"]
    (launch,) = request["backward"]["launches"]
    assert launch["arguments"]["FILL"]["fill"] == "x_ptr"
    assert launch["arguments"]["FILL"]["filled"] == "[(1, min(BLOCK, T)), (T, grid.0)]"
    runner = Runner()
    try:
        assert runner.ask("gradcheck", request)["status"] == "proved"
        text = request["backward"]["source"]
        for old, new, said in (
            (
                r", 0\.0\),(\s+)mask=stored",
                r", 1.0),\1mask=stored",
                "which the forward never reads",
            ),
            (r"stored = tl\..+\n", "stored = keep\n", "whose memory is not set to 0"),
        ):
            changed, count = re.subn(old, new, text)
            assert count == 1, text
            request["backward"]["source"] = changed
            answer = runner.ask("gradcheck", request)
            assert answer["status"] == "failed" and said in json.dumps(answer), answer
    finally:
        runner.close()


def test_a_store_that_is_not_chosen_leaves_nothing() -> None:
    """A kernel may be tried with another store of its gradient; where it is not taken, nothing of it is left."""
    style = Path(__file__).parents[2] / "bench" / "gpu" / "style" / "further.py"
    done = tad("--backward", f"{style}:total_variation_kernel", "--no-proof")
    backward = done.stdout[done.stdout.index("def total_variation_kernel_backward") :]
    assert backward[: backward.index("\nclass ")].count("tl.store(") == 1


LENGTHS = """import torch
import triton
import triton.language as tl


@triton.jit
def rows(x_ptr, n_ptr, y_ptr, T, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    n = tl.load(n_ptr + pid)
    x = tl.load(x_ptr + pid * T + cols, mask=cols < n, other=-1.0)
    y = tl.exp(x) * x
    tl.store(y_ptr + pid * T + cols, y / tl.sum(y, axis=0), mask=cols < T)


def launch(x, n):
    M, T = x.shape
    y = torch.empty_like(x)
    rows[(M,)](x, n, y, T, BLOCK=triton.next_power_of_2(T))
    return y
"""


def test_what_is_loaded_beside_is_under_the_mask_of_the_row(tmp_path: Path) -> None:
    """A length in memory ends no lanes by eights: where the tensor has all of a row, all is loaded."""
    text = proved_module(tmp_path, LENGTHS)
    kernel = LARGEST.search(text)
    assert kernel and kernel[1].count("if FILL:") == 1
    loaded = re.search(r"x = tl.load\([^=]+mask=(\w+), other=-1.0", kernel[1])
    assert loaded and re.search(rf"tl.store\([^=]+mask={loaded[1]}\b", kernel[1])
    assert "x = tl.where(inside, x, -1.0)" in kernel[1]
    assert "dx_ptr, fills = _filled_within(" in text and "FILL=fills," in text


IGNORED = """import torch
import triton
import triton.language as tl


@triton.jit
def loss(x_ptr, t_ptr, o_ptr, V, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    t = tl.load(t_ptr + row)
    if t == {ignored}:
        tl.store(o_ptr + row, 0.0)
        return
    total = 0.0
    for start in range(0, V, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * V + cols, mask={mask}, other=0.0)
        total += tl.sum(tl.exp(x), 0)
    tl.store(o_ptr + row, tl.log(total))


def launch(x, t):
    M, V = x.shape
    o = torch.empty(M, device=x.device, dtype=x.dtype)
    loss[(M,)](x, t, o, V, BLOCK=4)
    return o
"""


@pytest.mark.parametrize("mask", ["cols < V", "cols % 2 == 0"])
def test_a_row_that_is_left_early_is_stored_as_zeros(mask: str, tmp_path: Path) -> None:
    text = proved_module(tmp_path, IGNORED.format(ignored=5, mask=mask))
    kernel = LARGEST.search(text)
    assert kernel and "FILL: tl.constexpr" in kernel[1] or mask != "cols < V"
    zeros = re.search(
        r"if t == 5:\n +if FILL:\n.*\n +for start in range\(0, V, BLOCK\):\n"
        r"(?:.+\n){1,3} +tl.store\(dx_ptr \+ row \* V \+ cols, 0.0, mask=cols < V\)\n +else:\n",
        kernel[1],
    )
    assert bool(zeros) == (mask == "cols < V"), kernel[1]
    assert ("[(1, V), (V, ctx.grid[0])]" in re.sub(r"\s+", " ", text)) == bool(zeros)
