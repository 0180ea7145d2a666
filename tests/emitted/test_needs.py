"""Launches of a backward that write only gradients which autograd does not ask for are left out."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import tad
from tests.support.worker import Worker
from tests.triton.interpret import call_function

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
SCALED = """@triton.jit
def scaled(x, w, b, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + row * n + o, mask=o < n, other=0.0)
    v = tl.exp(a) * tl.load(w + o, mask=o < n) + tl.load(b + o, mask=o < n)
    tl.store(y + row * n + o, v, mask=o < n)


def run(x, w, b):
    y = torch.empty_like(x)
    scaled[(x.shape[0], triton.cdiv(x.shape[1], 4))](x, w, b, y, x.shape[1], BLOCK=4)
    return y
"""

SOFTMAX = """@triton.jit
def pool(q, k, v, y, n, D: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    d = tl.arange(0, D)
    a = tl.load(q + row * D + d)
    most = -float("inf")
    total = 0.0
    acc = tl.zeros([D], tl.float32)
    for start in range(0, n, BLOCK):
        o = start + tl.arange(0, BLOCK)
        keys = tl.load(k + o[:, None] * D + d[None, :], mask=o[:, None] < n, other=0.0)
        s = tl.where(o < n, tl.sum(keys * a[None, :], axis=1), -float("inf"))
        higher = tl.maximum(most, tl.max(s, axis=0))
        p = tl.exp(s - higher)
        scale = tl.exp(most - higher)
        total = total * scale + tl.sum(p, axis=0)
        values = tl.load(v + o[:, None] * D + d[None, :], mask=o[:, None] < n, other=0.0)
        acc = acc * scale + tl.sum(p[:, None] * values, axis=0)
        most = higher
    tl.store(y + row * D + d, acc / total)


def run(q, k, v):
    y = torch.empty_like(q)
    pool[(q.shape[0],)](q, k, v, y, k.shape[0], D=4, BLOCK=4)
    return y
"""
IN_PLACE = """@triton.jit
def scale(x, w, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + o, mask=o < n, other=0.0)
    tl.store(x + row * n + o, a * tl.load(w + o, mask=o < n), mask=o < n)


def run(x, w):
    y = x * 1
    scale[(y.shape[0],)](y, w, y.shape[1], BLOCK=8)
    return y
"""
SINGLE = """@triton.jit
def product(x, w, y, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + o, mask=o < n) * tl.load(w + o, mask=o < n)
    tl.store(y + o, v, mask=o < n)


def run(x, w):
    y = torch.empty_like(x)
    product[(triton.cdiv(x.numel(), 4),)](x, w, y, x.numel(), BLOCK=4)
    return y
"""
# name: (file, shapes of the arguments, launches in order: the gradients that each asks for; None: it always runs)
CASES: dict[str, tuple[str, list[tuple[int, ...]], list[set[str] | None]]] = {
    "rows private, weights shared": (SCALED, [(5, 6), (6,), (6,)], [{"x"}, {"w", "b"}]),
    "the first leaves scratch": (SOFTMAX, [(3, 4), (6, 4), (6, 4)], [None, {"k", "v"}]),
    "in place": (IN_PLACE, [(3, 6), (6,)], [None]),
    "one kernel": (SINGLE, [(7,), (7,)], [None]),
}


def written(folder: Path, text: str) -> str:
    """The module for a file with that text, proved."""
    source = folder / "source.py"
    source.write_text(HEAD + text)
    run = tad("--backward", source)
    assert run.returncode == 0, run.stderr
    assert "gradients proved" in run.stderr, run.stderr
    return run.stdout


def launches(text: str) -> list[set[str] | None]:
    """For each launch of the first Function's backward the inputs whose need is asked for."""
    classes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    methods = {node.name: node for node in classes[0].body if isinstance(node, ast.FunctionDef)}
    names = [argument.arg for argument in methods["forward"].args.args[1:]]
    found: list[set[str] | None] = []
    for node in methods["backward"].body:
        asked = None
        if isinstance(node, ast.If):
            numbers = re.findall(r"needs_input_grad\[(\d+)\]", ast.unparse(node.test))
            asked = {names[int(number)] for number in numbers}
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Subscript):
                found.append(asked)
    return found


@pytest.mark.parametrize("name", CASES)
def test_what_is_not_asked_for(name: str, tmp_path: Path, interpreter: Worker) -> None:
    """Each launch asks for its gradients; each gradient alone is what it is among the others."""
    source, shapes, want = CASES[name]
    text = written(tmp_path, source)
    assert launches(text) == want
    random = np.random.default_rng(1)
    given = [random.uniform(-1, 1, shape) for shape in shapes]
    upstream = [random.uniform(-1, 1, shapes[0])]

    def gradients(wrt: list[int]) -> list[np.ndarray | None]:
        return call_function(
            text, "run", given, wrt=wrt, grad_outputs=upstream, worker=interpreter
        ).gradients

    together = gradients(list(range(len(given))))
    for i in range(len(given)):
        np.testing.assert_allclose(gradients([i])[i], together[i], rtol=1e-6)


def test_renamed_gradients(tmp_path: Path) -> None:
    """A backward in a file is understood with its conditions: what a parameter is for, and what is stored."""
    text = written(tmp_path, SCALED)
    renamed = re.sub(r"\bdw\b", "weights", re.sub(r"\bdx\b", "rows", text))
    module = tmp_path / "source_backward.py"
    module.write_text(renamed)
    run = tad("--check", "--grad", module)
    assert "1 proved" in run.stdout, run.stdout
    assert "gradient-unpaired" not in run.stdout


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("if ctx.needs_input_grad[1]:", "if True:", id="always"),
        pytest.param("dx = dw = db = None", "dx = None\n        dw = db = None", id="apart"),
    ],
)
def test_edited_conditions(before: str, after: str, tmp_path: Path) -> None:
    """Whatever stands around a launch, its kernel is proved as it is."""
    text = written(tmp_path, SCALED)
    assert before in text
    module = tmp_path / "source_backward.py"
    module.write_text(text.replace(before, after))
    run = tad("--check", "--grad", module)
    assert "1 proved" in run.stdout, run.stdout


UPSTREAM = """

def kept(x, stride):
    gradient = x.t()
    return gradient * (1.0 if _with_stride(gradient, stride) is gradient else 0.0)
"""


@pytest.mark.parametrize(
    ("shape", "stride", "is_kept"),
    [
        pytest.param((6, 1), (6, 1), True, id="one row"),
        pytest.param((1, 6), (1, 1), True, id="one column"),
        pytest.param((2, 3), (1, 3), True, id="the same steps"),
        pytest.param((2, 3), (2, 1), False, id="other steps"),
    ],
)
def test_upstream_gradients_without_copies(
    shape: tuple[int, int],
    stride: tuple[int, int],
    is_kept: bool,
    tmp_path: Path,
    interpreter: Worker,
) -> None:
    """An upstream gradient whose elements lie as the output's do is read where it is; `shape` is transposed."""
    text = written(tmp_path, SINGLE) + UPSTREAM
    x = np.ones(shape)
    kept = call_function(text, "kept", [x, stride], worker=interpreter).outputs[0]
    np.testing.assert_array_equal(kept, np.full(shape[::-1], float(is_kept)))
