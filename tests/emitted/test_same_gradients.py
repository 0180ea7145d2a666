"""Gradients that are one, or the upstream one: they are stored once, or not at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import proved_module
from tests.support.worker import Worker
from tests.triton.compile import compile_kernel
from tests.triton.interpret import call_function

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
RUN = """

def run(x, r):
    y = torch.empty_like(x)
    residual[(x.shape[0],)](x, r, y, x.stride(0), r.stride(0), x.shape[1], BLOCK=8)
    return y
"""
KERNEL = """@triton.jit
def residual(x, r, y, stride, r_stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    a = tl.load(x + row * stride + o, mask=o < n, other=0.0)
    b = tl.load(r + row * {stride} + o, mask={mask}, other=0.0)
    tl.store(y + row * stride + o, tl.exp({sum}), mask=o < n)
"""
# How two programs are alike or not: (stride of the residual's rows, its mask, the sum, whether they have one gradient).
FORMS = {
    "a sum": ("stride", "o < n", "a + b", True),
    "a sum of sums": ("stride", "o < n", "(a + 1.0) + (b - 0.5)", True),
    "a difference": ("stride", "o < n", "a - b", False),
    "a scaled term": ("stride", "o < n", "a + b * 2.0", False),
    "rows of their own": ("r_stride", "o < n", "a + b", False),
    "another mask": ("stride", "o < n - 1", "a + b", False),
}


def form(name: str) -> str:
    """The kernel and its launcher."""
    stride, mask, total, _ = FORMS[name]
    return KERNEL.format(stride=stride, mask=mask, sum=total) + RUN


@pytest.mark.parametrize("name", FORMS)
def test_which_gradients_are_one(name: str, tmp_path: Path, interpreter: Worker) -> None:
    """One buffer where every element of both is the same, else two; with the right numbers in any case."""
    text = proved_module(tmp_path, HEAD + form(name))
    assert ("dr = _same_buffer(" in text) == FORMS[name][3]
    assert ("dr=None if dr is dx else dr" in text) == FORMS[name][3]
    random = np.random.default_rng(2)
    x, r, upstream = (random.uniform(-1, 1, (3, 6)) for _ in range(3))
    found = call_function(
        text, "run", [x, r], wrt=[0, 1], grad_outputs=[upstream], worker=interpreter
    )
    alone = [
        call_function(
            text, "run", [x, r], wrt=[i], grad_outputs=[upstream], worker=interpreter
        ).gradients[i]
        for i in range(2)
    ]
    dx = upstream * found.outputs[0]
    np.testing.assert_allclose(alone[0], found.gradients[0], rtol=1e-6)
    np.testing.assert_allclose(alone[1], found.gradients[1], rtol=1e-6)
    if FORMS[name][3]:
        np.testing.assert_allclose(found.gradients[0], dx, rtol=1e-5)
        np.testing.assert_allclose(found.gradients[1], dx, rtol=1e-5)


def test_what_is_shared_is_stored_once(tmp_path: Path) -> None:
    """Triton leaves out the second store, and what leads to its addresses."""
    text = proved_module(tmp_path, HEAD + form("a sum"))
    types = dict.fromkeys(("dy", "x", "r", "dx"), "*fp32") | {"stride": "i32", "n": "i32"}
    types["programs"] = "i32"
    constants = {"dr": None, "BLOCK": 8, "TOGETHER": 2}
    ttir = compile_kernel(text, "residual_backward", types, constants).ttir
    assert ttir.count("tt.store") == 1


HELPERS = """

def shared(x, r, scale):
    x, r = x.t() if scale > 2.0 else x, r.half() if scale < 0.0 else r
    x, r = x.detach().requires_grad_(), r.detach().requires_grad_()
    if scale == 2.0:
        r = (r.requires_grad_() * r).view(r.shape)
    if scale == 1.5:
        r = r.view(-1).view(r.shape)
    dx = _gradient_buffer(x)
    return torch.ones(1) * (1.0 if _same_buffer(dx, x, r) is dx else 0.0)
"""


@pytest.mark.parametrize(
    ("scale", "is_one"),
    [
        pytest.param(1.0, True, id="alike"),
        pytest.param(2.0, True, id="computed"),
        pytest.param(1.5, False, id="a view of a leaf"),
        pytest.param(3.0, False, id="another layout"),
        pytest.param(-1.0, False, id="another type"),
    ],
)
def test_when_a_buffer_does_for_both(
    scale: float, is_one: bool, tmp_path: Path, interpreter: Worker
) -> None:
    """A buffer keeps its tensor's strides and type, so that of another layout or type is its own.

    So is that of a view of a leaf: autograd would keep the one buffer as two leaves' `.grad`, and add to it twice.
    """
    text = proved_module(tmp_path, HEAD + form("a sum")) + HELPERS
    x = np.ones((4, 4))
    found = call_function(text, "shared", [x, x, scale], worker=interpreter).outputs[0]
    assert bool(found[0]) == is_one


ADDED = """@triton.jit
def added(x, r, y, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + o, mask=o < n, other=0.0)
    b = tl.load(r + o, mask=o < n, other=0.0)
    tl.store(y + o, {sum}, mask=o < {end})


def run(x, r, programs):
    y = torch.zeros_like(x)
    added[(programs,)](x, r, y, x.numel(), BLOCK=8)
    return y
"""


@pytest.mark.parametrize(
    ("total", "end", "is_passed_on"),
    [
        pytest.param("a * a + b", "n", True, id="as it is"),
        pytest.param("a * a + b * 2.0", "n", False, id="scaled"),
        pytest.param("a * a - b", "n", False, id="negated"),
        pytest.param("a * a + b", "n - 1", True, id="another mask"),
    ],
)
@pytest.mark.parametrize("programs", [1, 3])
def test_the_upstream_gradient_is_handed_on(
    total: str, end: str, is_passed_on: bool, programs: int, tmp_path: Path, interpreter: Worker
) -> None:
    """A residual's gradient is the upstream one, as far as the launch reaches: elsewhere it is 0."""
    text = proved_module(tmp_path, HEAD + ADDED.format(sum=total, end=end))
    assert ("dr = _passed_on(" in text) == is_passed_on
    assert ("dr=None if dr is dy else dr" in text) == is_passed_on
    x, upstream = np.full(17, 0.5), np.arange(17.0)
    found = call_function(
        text, "run", [x, x, programs], wrt=[0, 1], grad_outputs=[upstream], worker=interpreter
    )
    reached = np.arange(17) < min(programs * 8, 17 - (end != "n"))
    factor = {"a * a + b * 2.0": 2.0, "a * a - b": -1.0}.get(total, 1.0)
    np.testing.assert_allclose(found.gradients[1], upstream * reached * factor, rtol=1e-6)
    np.testing.assert_allclose(found.gradients[0], upstream * reached, rtol=1e-6)


STRIDES = """@triton.jit
def normed(x, r, w, y, rows, n, x_row, r_row, y_row, {more}BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    scale = tl.load(w + o, mask=o < n, other=0.0)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        a = tl.load(x + row * x_row + o, mask=o < n, other=0.0)
        b = tl.load(r + row * r_row + o{step}, mask=o < n, other=0.0)
        inv = 1 / tl.sqrt(tl.sum(a * a, axis=0) / n + 1.0)
        tl.store(y + row * y_row + o, b + a * inv * scale, mask=o < n)


def run(x, r, w, wide):
    M, N = x.shape
    if wide:
        r = torch.cat([r, r], 1)[:, :N]
    y = torch.empty_like(x)
    normed[(2,)](x, r, w, y, M, N, x.stride(0), r.stride(0), y.stride(0), {given}BLOCK=8)
    return y
"""


@pytest.mark.parametrize("wide", [0, 1])
@pytest.mark.parametrize("own", [False, True])
def test_strides_of_tensors_that_are_laid_out_alike(
    own: bool, wide: int, tmp_path: Path, interpreter: Worker
) -> None:
    """Each tensor has a stride of its own: one number where both are laid out alike. Others tell nothing."""
    more, step, given = ("k, ", " * k", "1, ") if own else ("", "", "")
    text = proved_module(tmp_path, HEAD + STRIDES.format(more=more, step=step, given=given))
    assert ("dr = _passed_on(" in text) == (not own)
    random = np.random.default_rng(2)
    x, r, upstream = (random.uniform(-1, 1, (5, 6)) for _ in range(3))
    w = random.uniform(-1, 1, 6)
    found = call_function(
        text,
        "run",
        [x, r, w, wide],
        wrt=[0, 1, 2],
        grad_outputs=[upstream],
        worker=interpreter,
    )
    np.testing.assert_allclose(found.gradients[1], upstream, rtol=1e-6)
    inv = 1 / np.sqrt((x * x).mean(1, keepdims=True) + 1)
    np.testing.assert_allclose(found.gradients[2], (upstream * x * inv).sum(0), rtol=1e-5)


IN_A_BRANCH = """@triton.jit
def residual(x, r, y, n, HAS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + o, mask=o < n, other=0.0)
    if HAS:
        a += tl.load(r + row * n + o, mask=o < n, other=0.0)
    tl.store(y + row * n + o, tl.exp(a), mask=o < n)


def run(x, r, has):
    y = torch.empty_like(x)
    residual[(x.shape[0],)](x, r, y, x.shape[1], HAS=has, BLOCK=8)
    return y
"""


@pytest.mark.parametrize("has", [True, False])
def test_a_term_that_may_be_absent(has: bool, tmp_path: Path, interpreter: Worker) -> None:
    """Without its term the residual's gradient is zero, not that of the row."""
    text = proved_module(tmp_path, HEAD + IN_A_BRANCH)
    assert "_same_buffer" not in text
    x, upstream = np.full((2, 6), 0.5), np.ones((2, 6))
    found = call_function(
        text, "run", [x, x, has], wrt=[0, 1], grad_outputs=[upstream], worker=interpreter
    )
    want = np.exp(1.0) if has else 0.0
    np.testing.assert_allclose(found.gradients[1], np.full((2, 6), want), rtol=1e-6)


TUNED = """@triton.autotune([triton.Config({{"BLOCK": 8}})], key=["n"])
@triton.jit
def total(x, r, y, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + o, tl.load(x + o, mask={mask}) + tl.load(r + o, mask={mask}), mask={mask})
"""


@pytest.mark.parametrize("mask", ["o < n", "(o < n) & (o % 3 > 0)"])
def test_the_upstream_gradient_of_a_kernel_without_a_launch(mask: str, tmp_path: Path) -> None:
    """It is handed on only where it is known what is stored."""
    text = proved_module(tmp_path, HEAD + TUNED.format(mask=mask))
    assert "null" not in text
    assert ("dx = _gradient_buffer(x)" in text) == (mask != "o < n")
