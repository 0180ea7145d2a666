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


@triton.jit
def triple_kernel(x_ptr, y_ptr, start, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + start + i, x * 3.0, mask=i < n)


@triton.jit
def zero_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, tl.zeros((BLOCK,), tl.float32), mask=i < n)
    tl.store(z_ptr + i, x * x, mask=i < n)


def triple(x, y, start=0):
    triple_kernel[(triton.cdiv(x.numel(), 8),)](x, y, start, x.numel(), BLOCK=8)
    return y


def joined(y, x):
    y = torch.cat([y, y * 2])
    return triple(x, y)


def from_its_caller(y, x):
    return onto_given(y * 2.0, x)


def onto_given(y, x):
    triple_kernel[(triton.cdiv(x.numel(), 8),)](x, y, 2, x.numel(), BLOCK=8)
    return y


def chosen(y, x, fresh: bool = False):
    if fresh:
        out = torch.zeros_like(y)
    else:
        out = torch.where(y > 0, y, y * 2)
    triple_kernel[(1,)](x, out, 1, 5, BLOCK=8)
    return out


def twice(y, x):
    out = torch.zeros_like(y)
    triple_kernel[(triton.cdiv(y.numel(), 8),)](y, out, 0, y.numel(), BLOCK=8)
    triple_kernel[(triton.cdiv(x.numel(), 8),)](x, out, 4, x.numel(), BLOCK=8)
    return out


def in_iterations(y, x):
    out = torch.zeros(20, device=x.device)
    for iteration in range(3):
        triple_kernel[(1,)](y * 1.0, out, iteration, 5, BLOCK=8)
    triple_kernel[(1,)](x, out, 9, 5, BLOCK=8)
    return out


def by_inner_function(y, x):
    out = torch.zeros(20, device=x.device)

    def write(values, start):
        triple_kernel[(1,)](values * 1.0, out, start, 5, BLOCK=8)

    write(y, 2)
    write(x, 4)
    return out * 1.0


def in_inner_iterations(y, x):
    out = []
    for values in (y, x):
        part = torch.zeros(20, device=x.device)
        for iteration in range(2):
            triple_kernel[(1,)](values * 1.0, part, iteration, 5, BLOCK=8)
        out.append(part * 1.0)
    return out[0] * 2.0 + out[1]


def zeroed(y, x):
    y = torch.cat([y])
    z = torch.empty_like(x)
    zero_kernel[(1,)](x, y, z, 5, BLOCK=8)
    return y[: x.numel()] * z + y[-1]
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


def written(start: int, count: int, size: int) -> np.ndarray:
    """Which elements a launch of `triple_kernel` overwrites."""
    return (np.arange(size) >= start) & (np.arange(size) < start + count)


def test_joined(module: str, interpreter: Worker) -> None:
    """What torch.cat made, passed on through a function."""
    y, x, up = RANDOM.random(10), RANDOM.standard_normal(7), RANDOM.random(20)
    dy, dx = gradients(module, "joined", [y, x], up, interpreter)
    left = np.where(written(0, 7, 20), 0.0, up)
    np.testing.assert_allclose(dy, left[:10] + 2 * left[10:], rtol=1e-6)
    np.testing.assert_allclose(dx, 3 * up[:7], rtol=1e-6)


def test_onto_given(module: str, interpreter: Worker) -> None:
    """A launcher that writes to its argument, under the bounds of another one: the rest keeps its gradient."""
    y, x, up = RANDOM.random(20), RANDOM.standard_normal(11), RANDOM.random(20)
    dy, dx = gradients(module, "from_its_caller", [y, x], up, interpreter)
    np.testing.assert_allclose(dy, 2 * np.where(written(2, 11, 20), 0.0, up), rtol=1e-6)
    np.testing.assert_allclose(dx, 3 * up[2:13], rtol=1e-6)


def test_chosen(module: str, interpreter: Worker) -> None:
    """New memory in one branch of a condition, something else in the other."""
    y, x, up = RANDOM.standard_normal(10), RANDOM.standard_normal(5), RANDOM.random(10)
    dy, dx = gradients(module, "chosen", [y, x], up, interpreter)
    left = np.where(written(1, 5, 10), 0.0, up)
    np.testing.assert_allclose(dy, left * np.where(y > 0, 1, 2), rtol=1e-6)
    np.testing.assert_allclose(dx, 3 * up[1:6], rtol=1e-6)


def test_twice(module: str, interpreter: Worker) -> None:
    """A second launch overwrites a part of what the first one wrote."""
    y, x, up = RANDOM.random(20), RANDOM.standard_normal(7), RANDOM.random(20)
    dy, dx = gradients(module, "twice", [y, x], up, interpreter)
    np.testing.assert_allclose(dy, np.where(written(4, 7, 20), 0.0, 3 * up), rtol=1e-6)
    np.testing.assert_allclose(dx, 3 * up[4:11], rtol=1e-6)


def test_in_iterations(module: str, interpreter: Worker) -> None:
    """One launch in a loop: each iteration overwrites most of what the one before it wrote."""
    y, x, up = RANDOM.random(5), RANDOM.standard_normal(5), RANDOM.random(20)
    dy, dx = gradients(module, "in_iterations", [y, x], up, interpreter)
    want = 3 * up[2:7]
    want[0] += 3 * (up[0] + up[1])
    np.testing.assert_allclose(dy, want, rtol=1e-6)
    np.testing.assert_allclose(dx, 3 * up[9:14], rtol=1e-6)


def test_by_inner_function(module: str, interpreter: Worker) -> None:
    """A function within the launcher, called twice, writes to the launcher's tensor."""
    y, x, up = RANDOM.random(5), RANDOM.standard_normal(5), RANDOM.random(20)
    dy, dx = gradients(module, "by_inner_function", [y, x], up, interpreter)
    np.testing.assert_allclose(dy, [3 * up[2], 3 * up[3], 0, 0, 0], rtol=1e-6)
    np.testing.assert_allclose(dx, 3 * up[4:9], rtol=1e-6)


def test_in_inner_iterations(module: str, interpreter: Worker) -> None:
    """A loop within the loop that makes the memory."""
    y, x, up = RANDOM.random(5), RANDOM.standard_normal(5), RANDOM.random(20)
    dy, dx = gradients(module, "in_inner_iterations", [y, x], up, interpreter)
    want = 3 * up[1:6]
    want[0] += 3 * up[0]
    np.testing.assert_allclose(dy, 2 * want, rtol=1e-6)
    np.testing.assert_allclose(dx, want, rtol=1e-6)


def test_zeroed(module: str, interpreter: Worker) -> None:
    """Constants that a kernel stores end the gradient of what was there."""
    y, x, up = RANDOM.random(9), RANDOM.standard_normal(5), RANDOM.random(5)
    dy, dx = gradients(module, "zeroed", [y, x], up, interpreter)
    np.testing.assert_allclose(dy, np.append(np.zeros(8), up.sum()), rtol=1e-6)
    np.testing.assert_allclose(dx, np.zeros(5), atol=1e-7)
