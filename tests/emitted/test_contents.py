"""What a tensor held before a launch keeps its gradient where the kernel leaves it, or adds to it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emitted.plan import tad
from tests.support.worker import Worker
from tests.triton.interpret import call_function

SOURCE = """import torch
import triton
import triton.language as tl


@triton.jit
def above_kernel(x_ptr, y_ptr, n, limit, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, x * 3.0, mask=(i < n) & (x > limit))


def above(y, x):
    y = y.clone()
    above_kernel[(triton.cdiv(x.numel(), 8),)](x, y, x.numel(), 0.0, BLOCK=8)
    return y


@triton.jit
def add_rows_kernel(x_ptr, index_ptr, out_ptr, D, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    to = tl.load(index_ptr + row)
    d = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * D + d, mask=d < D)
    tl.atomic_add(out_ptr + to * D + d, x * x, mask=d < D)


def add_rows(y, x, index):
    out = y.clone()
    add_rows_kernel[(x.shape[0],)](x, index, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out


@triton.jit
def copy_rows_kernel(x_ptr, index_ptr, out_ptr, D, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    to = tl.load(index_ptr + row)
    d = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * D + d, mask=d < D)
    tl.store(out_ptr + to * D + d, x * x, mask=d < D)


def copy_rows(y, x, index):
    out = y * 1
    return copy_rows_into(out, x, index)


def copy_rows_into(out, x, index):
    copy_rows_kernel[(x.shape[0],)](x, index, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out
"""
ROWS = np.array([3, 1, 4], np.int64)
RANDOM = np.random.default_rng(7)


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The text written for the launchers above."""
    source = tmp_path_factory.mktemp("contents") / "contents.py"
    source.write_text(SOURCE)
    return tad("--backward", source).stdout


def gradients(
    module: str, launcher: str, arguments: list[object], upstream: np.ndarray, worker: Worker
) -> list[np.ndarray | None]:
    """Of the first two arguments."""
    call = call_function(
        module, launcher, arguments, wrt=[0, 1], grad_outputs=[upstream], worker=worker
    )
    return [call.gradients[0], call.gradients[1]]


def test_elements_that_are_left(module: str, interpreter: Worker) -> None:
    """A store under a mask that data decides: what it leaves has the upstream gradient."""
    y, x, up = RANDOM.random(20), RANDOM.standard_normal(20), RANDOM.random(20)
    dy, dx = gradients(module, "above", [y, x], up, interpreter)
    np.testing.assert_allclose(dy, np.where(x > 0, 0.0, up), rtol=1e-6)
    np.testing.assert_allclose(dx, np.where(x > 0, 3 * up, 0.0), rtol=1e-6)


def test_sums_onto_a_copy(module: str, interpreter: Worker) -> None:
    """An atomic sum passes the upstream gradient on to what was there."""
    y, x, up = RANDOM.random((6, 5)), RANDOM.random((3, 5)), RANDOM.random((6, 5))
    dy, dx = gradients(module, "add_rows", [y, x, ROWS], up, interpreter)
    np.testing.assert_allclose(dy, up, rtol=1e-6)
    np.testing.assert_allclose(dx, 2 * x * up[ROWS], rtol=1e-6)


def test_rows_that_are_overwritten(module: str, interpreter: Worker) -> None:
    """Rows of the caller's tensor that an index chooses lose their gradient, the others keep it."""
    y, x, up = RANDOM.random((6, 5)), RANDOM.random((3, 5)), RANDOM.random((6, 5))
    dy, dx = gradients(module, "copy_rows", [y, x, ROWS], up, interpreter)
    want = up.copy()
    want[ROWS] = 0
    np.testing.assert_allclose(dy, want, rtol=1e-6)
    np.testing.assert_allclose(dx, 2 * x * up[ROWS], rtol=1e-6)
