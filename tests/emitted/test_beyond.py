"""Kernels that read around the view which they get: the gradient goes to the tensor that the view is of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import tad
from tests.support.worker import Worker
from tests.triton.interpret import call_function

FILE = """import torch
import triton
import triton.language as tl


@triton.jit
def pairs_kernel(o, x, first, second, n, ld, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + row * ld + first + i, mask=i < n, other=0.0)
    b = tl.load(x + row * ld + second + i, mask=i < n, other=0.0)
    tl.store(o + row * n + i, a * b * b, mask=i < n)


@triton.jit
def flip_kernel(o, x, step, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i * step, mask=i < n, other=0.0)
    tl.store(o + i, v * v * i, mask=i < n)


def previous_row(x):
    rows, n = x.shape
    o = torch.empty(rows - 1, n, dtype=x.dtype)
    pairs_kernel[(rows - 1,)](o, x[1:], 0, -n, n, n, BLOCK=8)
    return o


def halves(x):
    rows, n = x.shape
    half = n // 2
    left = x[:, :half]
    o = torch.empty(rows, half, dtype=x.dtype)
    pairs_kernel[(rows,)](o, left, 0, half, half, n, BLOCK=8)
    return o


def first_row(x):
    rows, n = x.shape
    o = torch.empty_like(x)
    pairs_kernel[(rows,)](o, x[0], 0, 0, n, n, BLOCK=8)
    return o


def flipped(x):
    n = x.shape[0] * x.shape[1]
    o = torch.empty(n, dtype=x.dtype)
    flip_kernel[(1,)](o, x.view(-1)[n - 1 :], -1, n, BLOCK=32)
    return o
"""
WITHIN = (
    FILE[: FILE.index("def previous_row")]
    + """def within(x):
    rows, n = x.shape
    o = torch.empty(rows - 1, n, dtype=x.dtype)
    pairs_kernel[(rows - 1,)](o, x[1:], 0, 0, n, x.stride(0), BLOCK=triton.next_power_of_2(n))
    return o


def left_half(x):
    rows, n = x.shape[0], x.shape[1] // 2
    o = torch.empty(rows, n, dtype=x.dtype)
    pairs_kernel[(rows,)](o, x[:, :n], 0, 0, n, x.stride(0), BLOCK=triton.next_power_of_2(n))
    return o
"""
)
EXPECTED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "previous_row": lambda x: x[1:] * x[:-1] ** 2,
    "halves": lambda x: x[:, :3] * x[:, 3:] ** 2,
    "first_row": lambda x: x**3,
    "flipped": lambda x: x.reshape(-1)[::-1] ** 2 * np.arange(x.size),
}
X = np.random.default_rng(5).uniform(0.2, 1.0, (4, 6)).astype(np.float32)


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("beyond") / "kernels.py"
    path.write_text(FILE)
    return tad("--backward", "--no-proof", path).stdout


@pytest.mark.parametrize("name", EXPECTED)
def test_the_gradient_has_all_that_was_read(name: str, module: str, interpreter: Worker) -> None:
    """Also of what lies before, behind and between the rows of the view."""
    function = EXPECTED[name]
    upstream = np.cos(np.arange(function(X).size)).reshape(function(X).shape).astype(np.float32)
    result = call_function(module, name, [X], wrt=[0], grad_outputs=[upstream], worker=interpreter)
    expected = np.zeros(X.shape)
    for at in np.ndindex(*X.shape):
        step = np.zeros(X.shape)
        step[at] = 1e-5
        expected[at] = ((function(X + step) - function(X - step)) * upstream).sum() / 2e-5
    assert np.allclose(result.gradients[0], expected, atol=1e-4)  # type: ignore[arg-type]


def test_views_that_are_not_left_stay_as_they_are(tmp_path: Path) -> None:
    """A view of which the kernel reads its elements alone has a gradient of its own."""
    path = tmp_path / "kernels.py"
    path.write_text(WITHIN)
    text = tad("--backward", "--no-proof", path).stdout
    assert "_gradient_buffer(x, " in text
    assert "_gradient_around" not in text


def test_operators_say_that_they_cannot(tmp_path: Path) -> None:
    """An operator gets tensors, not what they are views of."""
    path = tmp_path / "kernels.py"
    path.write_text(FILE)
    text = tad("--backward", "--no-proof", "--wrapper", "triton_op", path).stdout
    assert "`pairs_kernel` is no operator: it reads around the views that it gets." in text


BEFORE = (
    FILE[: FILE.index("def previous_row")]
    + """def whole(x):
    rows, n = x.shape
    o = torch.empty_like(x)
    pairs_kernel[(rows,)](o, x, 0, -n, n, n, BLOCK=triton.next_power_of_2(n))
    return o
"""
)


def test_what_lies_in_front_of_a_tensor_is_refused(tmp_path: Path) -> None:
    """A launch that passes a whole tensor, of which the kernel reads the row before the first."""
    path = tmp_path / "kernels.py"
    path.write_text(BEFORE)
    run = tad("--backward", path)
    assert run.returncode == 1
    assert "line 11: reads element" in run.stderr
    assert "of x, in front of it" in run.stderr
    assert run.stdout.startswith("# WARNING")
