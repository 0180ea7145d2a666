"""Tensors of one launch that share memory: right gradients or a clear error; no error where no element is shared."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import tad
from tests.support.worker import Worker
from tests.triton.interpret import InterpretFailure, call_function

KERNELS = """import torch
import triton
import triton.language as tl


@triton.jit
def sums_kernel(y, total, x, n, ystride, tstride, stride, SAVE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + i, mask=i < n, other=0.0)
    tl.store(y + row * ystride + i, v * v, mask=i < n)
    if SAVE:
        tl.store(total + row * tstride, tl.sum(v * v * v))


@triton.jit
def shifted_kernel(y, x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    for k in range(4):
        at = k * n + i
        v = tl.load(x + at, mask=i < n, other=0.0)
        tl.store(y + at, v * v, mask=i < n)


@triton.jit
def twice_kernel(out, w, r, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(w + i, v * v, mask=i < n)
    tl.debug_barrier()
    tl.store(out + i, v * tl.load(r + i, mask=i < n), mask=i < n)


def sums(y, total, x, save):
    rows, n = x.shape
    steps = y.stride(0), total.stride(0), x.stride(0)
    sums_kernel[(rows,)](y, total, x, n, steps[0], steps[1], steps[2], SAVE=save, BLOCK=16)


def shifted(y, x, n):
    shifted_kernel[(1,)](y, x, n, BLOCK=8)


def twice(out, w, r, x):
    twice_kernel[(triton.cdiv(x.numel(), 16),)](out, w, r, x, x.numel(), BLOCK=16)


def fresh(x):
    y = torch.empty_like(x)
    total = torch.empty(x.shape[0], dtype=x.dtype)
    n, row = x.shape[1], x.stride(0)
    sums_kernel[(x.shape[0],)](y, total, x, n, y.stride(0), 1, row, SAVE=True, BLOCK=16)
    return y, total
"""
CALLERS = """

def plain(x):
    y = torch.empty_like(x)
    total = torch.empty(x.shape[0], dtype=x.dtype)
    sums(y, total, x, True)
    return y, total


def dummy(x):
    y = torch.empty_like(x)
    sums(y, y, x, False)
    return y


def dummy_view(x):
    y = torch.empty_like(x)
    sums(y, y[:, 0], x, False)
    return y


def dummy_input(x):
    y = torch.empty_like(x)
    sums(y, x, x, False)
    return y


def both_stored(x):
    y = torch.empty_like(x)
    sums(y, y, x, True)
    return y


def in_place(x):
    x = x.clone()
    sums(x, x, x, False)
    return x


def packed(x):
    rows, n = x.shape
    both = torch.empty(rows, n + 1, dtype=x.dtype)
    y, total = both[:, :n], both[:, n]
    sums(y, total, x, True)
    return y, total


def next_row(x):
    big = torch.zeros(8 * 5, dtype=x.dtype)
    shifted(big[5:], big, 5)
    return big


def same_rows(x):
    y = x.clone()
    shifted(y, y, 5)
    return y


def scratch(x):
    y, z = torch.empty_like(x), torch.empty_like(x)
    twice(y, z, z, x)
    return y


def apart(x):
    y, z = torch.empty_like(x), torch.empty_like(x)
    twice(y, z, x.clone(), x)
    return y
"""
X = np.random.default_rng(3).uniform(0.2, 1.0, (4, 5)).astype(np.float32)
RIGHT: dict[str, Callable[[np.ndarray], list[np.ndarray]]] = {
    "plain": lambda x: [x * x, (x**3).sum(1)],
    "fresh": lambda x: [x * x, (x**3).sum(1)],
    "dummy": lambda x: [x * x],
    "dummy_view": lambda x: [x * x],
    "dummy_input": lambda x: [x * x],
    "in_place": lambda x: [x * x],
    "same_rows": lambda x: [x * x],
    "packed": lambda x: [x * x, (x**3).sum(1)],
    "apart": lambda x: [x * x],
}
RAISES = {"both_stored": "y.*total", "next_row": "y.*x", "scratch": "w.*r"}


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The written module, with callers behind it that nobody saw when it was written."""
    path: Path = tmp_path_factory.mktemp("alias") / "kernels.py"
    path.write_text(KERNELS)
    return tad("--backward", "--no-proof", path).stdout + CALLERS


@pytest.mark.parametrize("name", RIGHT)
def test_right_where_no_element_is_shared(name: str, module: str, interpreter: Worker) -> None:
    """Dummies that no flag has stored, elementwise work in place, views of one buffer."""
    outputs = RIGHT[name](X)
    upstream = [np.cos(np.arange(o.size, dtype=np.float32)).reshape(o.shape) for o in outputs]
    result = call_function(module, name, [X], wrt=[0], grad_outputs=upstream, worker=interpreter)

    def loss(x: np.ndarray) -> float:
        return float(sum((o * u).sum() for o, u in zip(RIGHT[name](x), upstream, strict=True)))

    expected = np.zeros(X.shape)
    for at in np.ndindex(*X.shape):
        step = np.zeros(X.shape)
        step[at] = 1e-5
        expected[at] = (loss(X + step) - loss(X - step)) / 2e-5
    assert np.allclose(result.gradients[0], expected, atol=1e-4)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", RAISES)
def test_raises_where_elements_are_shared(name: str, module: str, interpreter: Worker) -> None:
    """The error names the two arguments and says what to do."""
    with pytest.raises(InterpretFailure, match=f"`{RAISES[name].replace('.*', '`.*`')}`.*clone"):
        call_function(module, name, [X], worker=interpreter)


def test_a_launcher_that_shows_it_is_not_checked(tmp_path: Path) -> None:
    """Memory that the launcher allocates for the launch shares none with the rest."""
    path = tmp_path / "kernels.py"
    start, end = KERNELS.index("def sums("), KERNELS.index("def fresh(")
    path.write_text(KERNELS[: KERNELS.index("@triton.jit\ndef shifted")] + KERNELS[end:])
    assert start < end
    assert "_check_disjoint" not in tad("--backward", "--no-proof", path).stdout


class View:
    """What the check asks a tensor for."""

    def __init__(self, start: int, shape: tuple[int, ...], steps: tuple[int, ...], size: int):
        self.start, self.shape, self.steps, self.size = start, shape, steps, size

    def element_size(self) -> int:
        return self.size

    def data_ptr(self) -> int:
        return self.start * self.size

    def stride(self) -> tuple[int, ...]:
        return self.steps

    def touched(self) -> set[int]:
        return {
            (self.start + sum(i * s for i, s in zip(at, self.steps, strict=True))) * self.size + b
            for at in np.ndindex(*self.shape)
            for b in range(self.size)
        }


def any_view(draw: random.Random) -> View:
    shape = tuple(
        draw.randint(0 if draw.random() < 0.1 else 1, 5) for _ in range(draw.randint(0, 3))
    )
    steps = tuple(draw.choice([0, 1, 1, 2, 3, 4, 6, 8, 12, 24]) for _ in shape)
    return View(draw.randint(0, 60), shape, steps, draw.choice([1, 2, 4, 4, 4, 8]))


def test_the_check_is_exact(module: str) -> None:
    """Two views, each byte of which is counted."""
    start = module.index("def _steps_meet")
    names: dict[str, Callable[[View, View], bool]] = {}
    exec(module[start : module.index("\n\n\ndef _check_disjoint", start)], names)  # type: ignore[arg-type]
    draw = random.Random(11)
    counts = {True: 0, False: 0}
    for _ in range(3000):
        a, b = any_view(draw), any_view(draw)
        meets = bool(a.touched() & b.touched())
        counts[meets] += 1
        assert names["_elements_meet"](a, b) == meets, (vars(a), vars(b))
    assert min(counts.values()) > 300


SHOWN = (
    KERNELS[: KERNELS.index("def sums(")]
    + """def scratch(x):
    out, buffer = torch.empty_like(x), torch.empty_like(x)
    twice_kernel[(triton.cdiv(x.numel(), 16),)](
        out, buffer.view(-1), buffer, x, x.numel(), BLOCK=16
    )
    return out
"""
)


def test_one_tensor_that_the_launchers_show(tmp_path: Path, interpreter: Worker) -> None:
    """What is stored through one parameter is loaded through another: one buffer, also in the proof."""
    path = tmp_path / "kernels.py"
    path.write_text(SHOWN)
    run = tad("--backward", path)
    assert "twice_kernel: gradients proved" in run.stderr
    upstream = np.cos(np.arange(X.size, dtype=np.float32)).reshape(X.shape)
    result = call_function(
        run.stdout, "scratch", [X], wrt=[0], grad_outputs=[upstream], worker=interpreter
    )
    assert np.allclose(result.gradients[0], 3 * X**2 * upstream, atol=1e-5)  # type: ignore[arg-type]
    other = run.stdout.replace("buffer.view(-1)", "x.clone()")
    with pytest.raises(InterpretFailure, match="one tensor passed for `r` and `w`"):
        call_function(other, "scratch", [X], worker=interpreter)


OVERLAPS = (
    KERNELS[: KERNELS.index("def sums(")]
    + """def next_row(x):
    big = torch.zeros(8 * 5, dtype=x.dtype)
    shifted_kernel[(1,)](big[5:], big, 5, BLOCK=8)
    return big


def two_halves(x):
    big = torch.cat([x.view(-1), x.view(-1)])
    shifted_kernel[(1,)](big[20:], big[:20], 5, BLOCK=8)
    return big
"""
)


def test_overlapping_views_that_a_launcher_passes(tmp_path: Path) -> None:
    """A launcher that no gradient is right for is left out by name; views beside each other stay."""
    path = tmp_path / "kernels.py"
    path.write_text(OVERLAPS)
    run = tad("--backward", "--no-proof", path)
    assert run.returncode == 1
    assert "passes `big[5:]` and `big`, which share elements, as `y` and `x`" in run.stderr
    assert "def next_row" not in run.stdout
    assert "def two_halves" in run.stdout


GUESSED_RANK = """import torch
import triton
import triton.language as tl


@triton.jit
def chunk_kernel(q, h, o, stride_h, stride_row, T: tl.constexpr, K: tl.constexpr, BT: tl.constexpr):
    i_t, i_h = tl.program_id(0), tl.program_id(1)
    rows, columns = tl.arange(0, BT), tl.arange(0, K)
    p_h = tl.make_block_ptr(
        h + i_h * stride_h + i_t * K * K, (K, K), (stride_row, 1), (0, 0), (K, K), (1, 0)
    )
    places = i_h * T * K + (i_t * BT + rows)[:, None] * K + columns[None, :]
    tl.store(o + places, tl.dot(tl.load(q + places), tl.load(p_h)))


def chunk(q, h, BT: int):
    H, T, K = q.shape
    o = torch.empty_like(q)
    chunk_kernel[(triton.cdiv(T, BT), H)](q, h, o, h.stride(0), h.stride(1), T=T, K=K, BT=BT)
    return o
"""


def test_a_guessed_rank_says_nothing_against_a_launcher(tmp_path: Path) -> None:
    """`h.stride(1)` is 1 of a matrix; a launcher that does not tell that `h` has three axes is not wrong for that."""
    path = tmp_path / "kernels.py"
    path.write_text(GUESSED_RANK)
    run = tad("--check", "--grad", path)
    assert run.returncode == 0, run.stdout
    assert "1 proved" in run.stdout


STATES = """import torch
import triton
import triton.language as tl


@triton.jit
def states_kernel(h, x, index, steps, D: tl.constexpr):
    c = tl.arange(0, D)
    for t in range(steps):
        row = tl.load(index + t)
        s = tl.load(h + row * D + c)
        v = tl.load(x + t * D + c)
        tl.store(h + row * D + c, s * 0.5 + v * s)


def states(h, x, index):
    h = h.clone()
    states_kernel[(1,)](h, x, index, x.shape[0], D=4)
    return h
"""


def test_rows_that_memory_names_may_come_again(tmp_path: Path, interpreter: Worker) -> None:
    """An update of `h[index[t]]` sees what an earlier step left there."""
    path = tmp_path / "kernels.py"
    path.write_text(STATES)
    run = tad("--backward", path)
    assert "gradients proved" in run.stderr
    assert "assumes" not in run.stderr
    index = np.array([0, 1, 0, 2, 0], np.int64)

    def function(h: np.ndarray, x: np.ndarray) -> np.ndarray:
        h = h.copy()
        for t, row in enumerate(index):
            h[row] = h[row] * 0.5 + x[t] * h[row]
        return h

    h, x = X[:3, :4].astype(np.float64), X.reshape(-1)[:20].reshape(5, 4).astype(np.float64)
    upstream = np.cos(np.arange(12)).reshape(3, 4)
    arguments = [h.astype(np.float32), x.astype(np.float32), index]
    result = call_function(
        run.stdout,
        "states",
        arguments,
        wrt=[0, 1],
        grad_outputs=[upstream.astype(np.float32)],
        worker=interpreter,
    )
    for which, given in enumerate((h, x)):
        expected = np.zeros(given.shape)
        for at in np.ndindex(*given.shape):
            step = np.zeros(given.shape)
            step[at] = 1e-6
            ends = [function(*((h + s, x) if which == 0 else (h, x + s))) for s in (step, -step)]
            expected[at] = ((ends[0] - ends[1]) * upstream).sum() / 2e-6
        assert np.allclose(result.gradients[which], expected, atol=1e-4)  # type: ignore[arg-type]
