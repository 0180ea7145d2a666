"""The written modules end to end: imported, a launcher called, `backward` run, compared with differences of it.

PyTorch is a stand-in (`tests/support`), the kernels run in Triton's own interpreter.  Both wrappers must agree with
differences; a launcher that cannot be an operator is left out by name.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import ROOT, tad
from tests.support.worker import Worker
from tests.triton.interpret import call_function

STEP = 1e-3
Arguments = tuple[list[object], list[int]]


def floats(*shape: int, low: float = -1.0, high: float = 1.0) -> np.ndarray:
    """Numbers that are the same in each run."""
    random = np.random.default_rng(sum((i + 1) * n for i, n in enumerate(shape)))
    return random.uniform(low, high, shape)


def heads(batch: int, n: int, time: int, size: int) -> np.ndarray:
    """Queries, keys or values."""
    return floats(batch, n, time, size)


LABELS = np.array([3, 0, 36, 7, 11], np.int64)
TOKENS = np.array([[1, 4, 4], [0, 6, 2]], np.int64)
# The launcher's arguments, and the positions of those to differentiate.
CASES: dict[str, Callable[[], Arguments]] = {
    "activations:gelu": lambda: ([floats(3, 67)], [0]),
    "activations:silu": lambda: ([floats(3, 67)], [0]),
    "activations:swiglu": lambda: ([floats(5, 70), floats(5, 70) + 0.3], [0, 1]),
    "activations:geglu": lambda: ([floats(3, 74)], [0]),
    "attention:attention": lambda: (
        [heads(1, 2, 40, 16), heads(1, 2, 40, 16) + 0.1, heads(1, 2, 40, 16), True],
        [0, 1, 2],
    ),
    "attention_two_stage:causal_attention": lambda: (
        [heads(1, 1, 64, 16), heads(1, 1, 64, 16) + 0.1, heads(1, 1, 64, 16)],
        [0, 1, 2],
    ),
    "attention_variants:grouped_query_attention": lambda: (
        [floats(1, 64, 2, 16), floats(1, 64, 1, 16), floats(1, 64, 1, 16)],
        [0, 1, 2],
    ),
    "attention_variants:biased_attention": lambda: (
        [heads(1, 2, 64, 16), heads(1, 2, 64, 16), heads(1, 2, 64, 16), floats(2)],
        [0, 1, 2, 3],
    ),
    "conv1d:causal_conv1d": lambda: ([floats(2, 13, 20), floats(20, 4), floats(20)], [0, 1, 2]),
    "cross_entropy:cross_entropy": lambda: ([floats(5, 37), LABELS], [0]),
    "cumsum:cumsum": lambda: ([floats(3, 50)], [0]),
    "cumsum:cumsum_row": lambda: ([floats(3, 50), True], [0]),
    "dropout:seeded_dropout": lambda: ([floats(3, 50), 0.3, 7], [0]),
    "embedding:embedding": lambda: ([TOKENS, floats(8, 20), floats(3, 20)], [1, 2]),
    "group_norm:group_norm": lambda: ([floats(2, 6, 3, 5), 3, floats(6), floats(6)], [0, 2, 3]),
    "layer_norm:layer_norm": lambda: ([floats(3, 45), floats(45), floats(45)], [0, 1, 2]),
    "layer_norm:layer_norm_row": lambda: ([floats(3, 45), floats(45), floats(45)], [0, 1, 2]),
    "layer_norm:layer_norm_row/no bias": lambda: ([floats(3, 45), floats(45), None], [0, 1]),
    "linear_attention:linear_attention": lambda: (
        [
            heads(1, 2, 40, 16),
            heads(1, 2, 40, 16),
            heads(1, 2, 40, 16),
            floats(2, low=-0.2, high=-0.1),
        ],
        [0, 1, 2, 3],
    ),
    "log_softmax:log_softmax": lambda: ([floats(3, 45)], [0]),
    "matmul:matmul": lambda: ([floats(20, 18), floats(18, 24)], [0, 1]),
    "matmul:linear": lambda: ([floats(20, 18), floats(24, 18), floats(24), "silu"], [0, 1, 2]),
    "matmul:batched_matmul": lambda: ([floats(2, 20, 18), floats(2, 18, 24)], [0, 1]),
    "reductions:row_sum": lambda: ([floats(7, 45)], [0]),
    "reductions:column_mean": lambda: ([floats(45, 7)], [0]),
    "reductions:squared_distance": lambda: ([floats(6, 20), floats(6, 20) + 0.4], [0, 1]),
    "rms_norm:rms_norm": lambda: ([floats(3, 45), floats(45), floats(3, 45)], [0, 1, 2]),
    "rotary:rotary": lambda: ([floats(2, 5, 3, 16), floats(5, 8), floats(5, 8)], [0, 1, 2]),
    "softmax:softmax": lambda: ([floats(4, 45)], [0]),
    "softmax:online_softmax": lambda: ([floats(4, 45)], [0]),
    "state_space:recurrence": lambda: (
        [floats(2, 6, 10), floats(2, 6, 10), floats(2, 10)],
        [0, 1, 2],
    ),
    "state_space:selective_scan": lambda: (
        [
            floats(1, 5, 10),
            floats(1, 5, 10, low=0.1),
            -floats(10, 4, low=0.2),
            floats(1, 5, 4),
            floats(1, 5, 4),
            floats(10),
        ],
        [0, 1, 2, 3, 4, 5],
    ),
}
# Launchers without an operator, and why.
NO_OPERATOR = {
    "rms_norm:rms_norm": "may be None",
    "rotary:rotary_inplace": "in place",
}


@functools.cache
def module_text(name: str, wrapper: str) -> str:
    """The module written for an example."""
    run = tad("--backward", ROOT / "examples" / f"{name}.py", "--wrapper", wrapper)
    assert run.stdout, run.stderr
    return run.stdout


def tensor_outputs(outputs: list[object]) -> list[np.ndarray]:
    """Those of a launcher's results that have a gradient."""
    return [o for o in outputs if isinstance(o, np.ndarray) and o.dtype.kind == "f"]


@pytest.mark.sampled(0.3)
@pytest.mark.parametrize("wrapper", ["autograd", "triton_op"])
@pytest.mark.parametrize("case", CASES)
def test_module(case: str, wrapper: str, interpreter: Worker) -> None:
    """The gradient along a random direction is the launcher's difference along it."""
    name, launcher = case.partition("/")[0].split(":")
    if wrapper == "triton_op" and f"{name}:{launcher}" in NO_OPERATOR:
        return
    text = module_text(name, wrapper)
    arguments, wrt = CASES[case]()
    random = np.random.default_rng(5)
    directions = {i: random.standard_normal(np.shape(arguments[i])) for i in wrt}

    def outputs_at(step: float) -> list[np.ndarray]:
        moved = [a + step * directions[i] if i in wrt else a for i, a in enumerate(arguments)]  # type: ignore[operator]
        return tensor_outputs(call_function(text, launcher, moved, worker=interpreter).outputs)

    above, below = outputs_at(STEP), outputs_at(-STEP)
    weights = [random.standard_normal(o.shape) for o in above]
    terms = [
        ((a - b).astype(np.float64) / (2 * STEP) * w).ravel()
        for a, b, w in zip(above, below, weights, strict=True)
    ]
    expected, size = sum(float(t.sum()) for t in terms), sum(float(np.abs(t).sum()) for t in terms)
    result = call_function(
        text, launcher, arguments, wrt=wrt, grad_outputs=weights, worker=interpreter
    )
    for index in wrt:
        assert result.gradients[index] is not None
        assert result.gradients[index].shape == np.shape(arguments[index])  # type: ignore[union-attr]
    along = sum(float((result.gradients[i] * directions[i]).sum()) for i in wrt)  # type: ignore[operator]
    assert size > 0
    doubles = all(o.dtype == np.float64 for o in above)
    assert along == pytest.approx(expected, abs=(1e-5 if doubles else 3e-4) * size)


@pytest.mark.parametrize("case", NO_OPERATOR)
def test_left_out_by_name(case: str) -> None:
    """A launcher that writes to what its caller has is no function of tensors: the module says so."""
    name, launcher = case.split(":")
    tree = ast.parse(module_text(name, "triton_op"))
    assert launcher not in {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
    notes = ast.get_docstring(tree) or ""
    assert any(f"`{launcher}`" in line and NO_OPERATOR[case] in line for line in notes.splitlines())


ALIASES = """import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, 2.0 * tl.load(x_ptr + i, mask=i < n), mask=i < n)


def view_of_its_own(x):
    y = torch.empty_like(x)
    flat = y.view(-1)
    double_kernel[(triton.cdiv(x.numel(), 64),)](x, flat, x.numel(), BLOCK=64)
    return y


def second_name(x):
    y = torch.empty_like(x)
    z = y
    double_kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
    return z


def given(x, y):
    double_kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)


def fresh(x):
    y = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
    return y
"""


def test_written_arguments_must_be_fresh(tmp_path: Path) -> None:
    """Only where nobody else sees the tensor does an operator's result take its place."""
    source = tmp_path / "double.py"
    source.write_text(ALIASES)
    text = tad("--backward", source, "--wrapper", "triton_op").stdout
    names = {n.name for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)}
    assert {"fresh", "double_kernel_op", "double_kernel_backward_op"} <= names
    assert not names & {"view_of_its_own", "second_name", "given"}
    notes = ast.get_docstring(ast.parse(text)) or ""
    assert "`given` is left out: `double_kernel` writes to `y`" in notes


SAVED = """import torch
import triton
import triton.language as tl


@triton.jit
def centre_kernel(x_ptr, y_ptr, mean_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * n + i, mask=i < n, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n
    tl.store(mean_ptr + row, mean)
    tl.store(y_ptr + row * n + i, tl.exp(x - mean) * mean, mask=i < n)


def centre(x):
    y = torch.empty_like(x)
    mean = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
    centre_kernel[(x.shape[0],)](x, y, mean, x.shape[1], BLOCK=64)
    return y, mean
"""


@pytest.mark.parametrize("dtype, loaded", [("float32", True), ("bfloat16", False)])
def test_saved_values_are_loaded(dtype: str, loaded: bool, tmp_path: Path) -> None:
    """What the forward stores unrounded is not reduced again; what it stores rounded is another value."""
    source = tmp_path / "centre.py"
    source.write_text(SAVED.replace("float32", dtype))
    text = tad("--backward", source).stdout
    backward = text[text.index("def centre_kernel_backward") : text.index("class ")]
    assert ("tl.load(mean_ptr + row" in backward) == loaded
    assert ("    mean = tl.sum(" in backward) == (not loaded)
    assert ("_save(ctx, *read, mean_ptr)" in text) == loaded


RESTORED = """import torch
import triton
import triton.language as tl


@triton.jit
def total_kernel(x_ptr, w_ptr, y_ptr, total_ptr, T, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    w = tl.load(w_ptr + i)
    acc = 0.0
{body}
    tl.store(y_ptr + row * BLOCK + i, tl.exp(w * acc))


def total(x, w):
    y = torch.empty_like(w)
    sums = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
    total_kernel[(x.shape[0],)](x, w, y, sums, x.shape[1], BLOCK=64)
    return y
"""
OF_ITERATIONS = """    for t in range(T):
        s = tl.sum(tl.load(x_ptr + (row * T + t) * BLOCK + i).to(tl.float32))
        tl.store(total_ptr + row, s)
        acc += s"""
OF_ITERATIONS_EACH = OF_ITERATIONS.replace("total_ptr + row", "total_ptr + row * T + t")
OF_A_BRANCH = """    s = 0.0
    if T > 3:
        s = tl.sum(tl.load(x_ptr + row * BLOCK + i).to(tl.float32))
        tl.store(total_ptr + row, s)
    acc = s"""
OF_TWO = """    s = tl.sum(tl.load(x_ptr + row * BLOCK + i).to(tl.float32))
    tl.store(total_ptr + row, s)
    acc = tl.sum(tl.exp(w * s))
    tl.store(total_ptr + row, acc)"""
OF_ONE = """    acc = tl.sum(tl.load(x_ptr + row * BLOCK + i).to(tl.float32))
    tl.store(total_ptr + row, acc)"""


@pytest.mark.parametrize(
    ("body", "loaded"),
    [
        (OF_ONE, True),
        (OF_A_BRANCH, True),
        (OF_TWO, False),
        (OF_ITERATIONS, False),
        (OF_ITERATIONS_EACH, False),
    ],
    ids=["one", "branch", "two", "iterations", "each iteration"],
)
def test_overwritten_values_are_not_loaded(body: str, loaded: bool, tmp_path: Path) -> None:
    """Only the last of them is there, so each is computed again, as is what a loop stores one by one."""
    source = tmp_path / "total.py"
    source.write_text(RESTORED.format(body=body))
    text = tad("--backward", source, "--wrt", "w_ptr", "--no-proof").stdout
    backward = text[text.index("def total_kernel_backward") :]
    assert ("tl.load(total_ptr" in backward) == loaded, backward


OVER = """import torch
import triton
import triton.language as tl


@triton.jit
def cube_kernel(x_ptr, scale_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, x * x * x * tl.load(scale_ptr), mask=i < n)


def cube(x, scale):
    y = x * 1.0
    n = y.numel()
    cube_kernel[(triton.cdiv(n, 8),)](y, scale, y, n, BLOCK=8)
    return y
"""


def test_a_launch_may_write_over_what_it_reads(tmp_path: Path, interpreter: Worker) -> None:
    """One tensor under two names: the backward has what was there before."""
    source = tmp_path / "cube.py"
    source.write_text(OVER)
    text = tad("--backward", source, "--no-proof").stdout
    x, scale, upstream = floats(20), np.array([1.5]), floats(20) + 0.5
    result = call_function(
        text, "cube", [x, scale], wrt=[0, 1], grad_outputs=[upstream], worker=interpreter
    )
    np.testing.assert_allclose(result.outputs[0], 1.5 * x**3, rtol=1e-6)
    np.testing.assert_allclose(result.gradients[0], 4.5 * x**2 * upstream, rtol=1e-6)
    np.testing.assert_allclose(result.gradients[1], [(x**3 * upstream).sum()], rtol=1e-6)


def test_two_launches_may_read_one_result(tmp_path: Path, interpreter: Worker) -> None:
    """To read a tensor is no write: both backwards have it as it was."""
    source = tmp_path / "cubes.py"
    launcher = (
        OVER[: OVER.index("def cube(")]
        + """def powers(x, scale):
    n = x.numel()
    y, left, right = torch.empty_like(x), torch.empty_like(x), torch.empty_like(x)
    cube_kernel[(triton.cdiv(n, 8),)](x, scale, y, n, BLOCK=8)
    cube_kernel[(triton.cdiv(n, 8),)](y, scale, left, n, BLOCK=8)
    cube_kernel[(triton.cdiv(n, 8),)](y, scale, right, n, BLOCK=8)
    return left + right
"""
    )
    source.write_text(launcher)
    text = tad("--backward", source, "--no-proof").stdout
    x, scale, upstream = floats(20) + 1.5, np.array([1.0]), floats(20) + 0.5
    result = call_function(
        text, "powers", [x, scale], wrt=[0], grad_outputs=[upstream], worker=interpreter
    )
    np.testing.assert_allclose(result.outputs[0], 2 * x**9, rtol=1e-5)
    np.testing.assert_allclose(result.gradients[0], 18 * x**8 * upstream, rtol=1e-5)


GRIDS = """import torch
import triton
import triton.language as tl


@triton.jit
def halve_kernel(x_ptr, y_ptr, n, m, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n)
    tl.store(y_ptr + row * n + cols, x * x * 0.5, mask=cols < n)


def halve(x):
    m, n = x.shape
    y = torch.empty_like(x)
    halve_kernel[GRID](x, y, n, m, BLOCK=8)
    return y
"""


@pytest.mark.parametrize(
    "grid",
    [
        "triton.cdiv(n, 8), m",
        "triton.cdiv(n, 8), m, 1",
        "(triton.cdiv(n, 8), m)",
        "lambda meta: (triton.cdiv(n, meta['BLOCK']), m)",
        "(triton.cdiv(n, 8), *[m, 1])",
    ],
)
def test_grid_as_it_is_written(grid: str, tmp_path: Path, interpreter: Worker) -> None:
    """All axes of the grid arrive at both launches, with and without parentheses."""
    source = tmp_path / "halve.py"
    source.write_text(GRIDS.replace("GRID", grid))
    text = tad("--backward", source).stdout
    x, upstream = floats(3, 20), floats(3, 20) + 0.5
    result = call_function(text, "halve", [x], wrt=[0], grad_outputs=[upstream], worker=interpreter)
    np.testing.assert_allclose(result.outputs[0], 0.5 * x * x, rtol=1e-6)
    np.testing.assert_allclose(result.gradients[0], x * upstream, rtol=1e-6)


def test_grid_of_one_axis_without_parentheses(tmp_path: Path, interpreter: Worker) -> None:
    """`kernel[n,]` is a tuple."""
    source = tmp_path / "halve.py"
    source.write_text(
        GRIDS.replace("GRID", "triton.cdiv(n, 8),").replace("x.shape", "1, x.numel()")
    )
    text = tad("--backward", source).stdout
    x, upstream = floats(60), floats(60) + 0.5
    result = call_function(text, "halve", [x], wrt=[0], grad_outputs=[upstream], worker=interpreter)
    np.testing.assert_allclose(result.gradients[0], x * upstream, rtol=1e-6)


LAUNCHERS = """import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, w_ptr, y_ptr, n, SQUARE: tl.constexpr, BLOCK: tl.constexpr = 64):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + i, mask=i < n, other=0.0)
    if SQUARE:
        x = x * x
    tl.store(y_ptr + row * n + i, x * tl.load(w_ptr + i, mask=i < n, other=0.0), mask=i < n)


class Scale:
    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        y = torch.empty_like(x)
        scale_kernel[(x.shape[0],)](x, self.w, y, x.shape[1], SQUARE=True, num_warps=2)
        return y

    @staticmethod
    def plain(x, w):
        y = torch.zeros_like(x)
        scale_kernel[x.shape[0],](x, w, y, x.shape[1], False)
        return y


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        y = torch.empty_like(x)
        scale_kernel[(x.shape[0],)](x, w, y, x.shape[1], SQUARE=False)
        return y


def by_method(x, w):
    return Scale(w)(x)


def by_static_method(x, w):
    return 2.0 * Scale.plain(x, w)


def by_dictionary(x, w):
    y = torch.empty_like(x)
    meta = {"SQUARE": True, "BLOCK": 32, "num_warps": 4}
    scale_kernel[(x.shape[0],)](x, w_ptr=w, y_ptr=y, n=x.shape[1], **meta)
    return y


def by_tuple(x, w):
    y = torch.empty_like(x)
    arguments = (x, w, y, x.shape[1])
    scale_kernel[(x.shape[0],)](*arguments, SQUARE=False)
    return y


def by_places(x, w):
    y = torch.empty_like(x)
    scale_kernel[(x.shape[0],)](x, w, y, *x.shape[1:], True, 32)
    return y


def by_argument(x, w, out=None):
    if out is None:
        out = torch.empty_like(x)
    scale_kernel[(x.shape[0],)](x, w, out, x.shape[1], SQUARE=True)
    return out


def contiguous(function):
    def wrapped(*tensors):
        return function(*[t.contiguous() for t in tensors])

    return wrapped


@torch.no_grad()
@contiguous
def by_decorator(x, w):
    y = torch.empty_like(x)
    scale_kernel[(x.shape[0],)](x, w, y, x.shape[1], SQUARE=True)
    return y


def transposed(x, w):
    return by_decorator(x.t().contiguous().t(), w)


def by_view(x, w):
    y = torch.empty_like(x)
    scale_kernel[(x.shape[0],)](x, w, y.view(-1), x.shape[1], SQUARE=True)
    return y


def measured(x, w):
    print(by_method(x, w))
    return by_method(x, w)
"""
SQUARES = {"by_method", "by_dictionary", "by_argument", "by_places", "transposed"}


@pytest.mark.parametrize(
    "launcher",
    [
        "by_method",
        "by_static_method",
        "by_dictionary",
        "by_tuple",
        "by_argument",
        "by_places",
        "transposed",
    ],
)
def test_launchers(launcher: str, tmp_path: Path, interpreter: Worker) -> None:
    """Launches in methods, with spread arguments, into a caller's tensor; functions that call those."""
    source = tmp_path / "scale.py"
    source.write_text(LAUNCHERS)
    text = tad("--backward", source).stdout
    x, w, g = floats(3, 20), floats(20), floats(3, 20) + 0.5
    result = call_function(text, launcher, [x, w], wrt=[0, 1], grad_outputs=[g], worker=interpreter)
    if launcher in SQUARES:
        expected = [g * w * 2 * x, (g * x * x).sum(0)]
    else:
        factor = 2.0 if launcher == "by_static_method" else 1.0
        expected = [factor * g * w, factor * (g * x).sum(0)]
    for gradient, wanted in zip(result.gradients, expected, strict=True):
        np.testing.assert_allclose(gradient, wanted, rtol=1e-4, atol=1e-5)


def test_what_of_the_launchers_is_written(tmp_path: Path) -> None:
    """Written views go a way of their own, and what is no part of a library is left out."""
    source = tmp_path / "scale.py"
    source.write_text(LAUNCHERS)
    text = tad("--backward", source).stdout
    tree = ast.parse(text)
    functions = {n.name: ast.unparse(n) for n in tree.body if isinstance(n, ast.FunctionDef)}
    assert "ScaleKernelFunction.launch(" in functions["by_view"]
    assert "y = ScaleKernelFunction.apply(" in ast.unparse(
        next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Scale")
    )
    assert "measured" not in functions
    assert "class Doubled" not in text
    assert "`Doubled` is left out" in (ast.get_docstring(tree) or "")


HOPS = """import torch
import triton
import triton.language as tl


@triton.jit
def frames_kernel(x_ptr, w_ptr, y_ptr, hop, N: tl.constexpr):
    frame = tl.program_id(0)
    i = tl.arange(0, N)
    x = tl.load(x_ptr + frame * hop + i)
    tl.store(y_ptr + frame * N + i, x * tl.load(w_ptr + i))


def frames(x, w, hop):
    size = w.numel()
    count = (x.numel() - size) // hop + 1
    y = torch.empty(count, size, device=x.device, dtype=x.dtype)
    frames_kernel[(count,)](x, w, y, hop, size)
    return y


@triton.jit
def tile_kernel(x_ptr, y_ptr, hop, ROWS: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, ROWS)
    j = tl.arange(0, N)
    tile = tl.load(x_ptr + i[:, None] * hop + j[None, :])
    tl.store(y_ptr + i[:, None] * N + j[None, :], tile * tile)


def tile(x, hop):
    y = torch.empty(4, 8, device=x.device, dtype=x.dtype)
    tile_kernel[(1,)](x, y, hop, 4, 8)
    return y


@triton.jit
def window_kernel(x_ptr, w_ptr, y_ptr, L, OUT, stride, K: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    t = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], tl.float32)
    for k in range(K):
        x = tl.load(x_ptr + row * L + t * stride + k, mask=t < OUT, other=0.0)
        acc += x * tl.load(w_ptr + k)
    tl.store(y_ptr + row * OUT + t, acc, mask=t < OUT)


def window(x, w, stride=1):
    rows, length = x.shape
    out = (length - w.numel()) // stride + 1
    y = torch.empty(rows, out, device=x.device, dtype=x.dtype)
    window_kernel[rows, triton.cdiv(out, 16)](x, w, y, length, out, stride, w.numel(), BLOCK=16)
    return y


@triton.jit
def taps_kernel(x_ptr, y_ptr, OUT, step, BLOCK: tl.constexpr, K: tl.constexpr = 3, S: tl.constexpr = 1):
    t = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], tl.float32)
    for k in tl.static_range(K):
        x = tl.load(x_ptr + t * S * step + k, mask=t < OUT, other=0.0)
        acc += x * x
    tl.store(y_ptr + t, acc, mask=t < OUT)


class Settings:
    step = 1


def taps(x, settings=Settings):
    out = x.numel() - 2
    y = torch.empty(out, device=x.device, dtype=x.dtype)
    taps_kernel[(triton.cdiv(out, 8),)](x, y, out, settings.step, BLOCK=8)
    return y
"""


def test_numbers_of_the_caller_are_no_dimensions(tmp_path: Path, interpreter: Worker) -> None:
    """Frames that overlap by what the caller chooses share elements: their gradients add up."""
    source = tmp_path / "hops.py"
    source.write_text(HOPS)
    text = tad("--backward", source).stdout
    random = np.random.default_rng(3)

    def gradient(launcher: str, arguments: list[object], upstream: np.ndarray) -> np.ndarray:
        call = call_function(
            text, launcher, arguments, wrt=[0], grad_outputs=[upstream], worker=interpreter
        )
        assert call.gradients[0] is not None
        return call.gradients[0]

    x, w, up = random.random(40), random.random(16), random.random((7, 16))
    want = np.zeros(40)
    for frame in range(7):
        want[4 * frame : 4 * frame + 16] += up[frame] * w
    np.testing.assert_allclose(gradient("frames", [x, w, 4], up), want, rtol=1e-5)
    x, up = random.random(20), random.random((4, 8))
    want = np.zeros(20)
    for i in range(4):
        want[3 * i : 3 * i + 8] += 2 * up[i] * x[3 * i : 3 * i + 8]
    np.testing.assert_allclose(gradient("tile", [x, 3], up), want, rtol=1e-5)
    x, w, up = random.random((2, 30)), random.random(3), random.random((2, 28))
    want = np.zeros((2, 30))
    for k in range(3):
        want[:, k : k + 28] += up * w[k]
    np.testing.assert_allclose(gradient("window", [x, w], up), want, rtol=1e-5)
    x, up = random.random(30), random.random(28)
    want = np.zeros(30)
    for k in range(3):
        want[k : k + 28] += 2 * up * x[k : k + 28]
    np.testing.assert_allclose(gradient("taps", [x], up), want, rtol=1e-5)


TUNED = """import torch
import triton
import triton.language as tl


@triton.heuristics({"HAS_START": lambda args: args["start"] is not None})
@triton.autotune(configs=[triton.Config({"BLOCK": 8}, num_warps=2)], key=["d"])
@triton.jit
def decay_kernel(x, start, out, n, d, BLOCK: tl.constexpr, HAS_START: tl.constexpr):
    channel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = channel < d
    h = tl.zeros([BLOCK], dtype=tl.float32)
    if HAS_START:
        h += tl.load(start + channel, mask=inside, other=0.0)
    for t in range(n):
        h = tl.sin(h) * 0.9 + tl.load(x + t * d + channel, mask=inside, other=0.0)
        tl.store(out + t * d + channel, h * h, mask=inside)


def decay(x, start):
    n, d = x.shape
    out = torch.empty_like(x)
    decay_kernel[lambda meta: (triton.cdiv(d, meta["BLOCK"]),)](x, start, out, n, d)
    return out
"""


@pytest.mark.parametrize("has_start", [True, False])
def test_scratch_of_tuned_kernels(has_start: bool, tmp_path: Path, interpreter: Worker) -> None:
    """Room for the states, though the launcher knows neither the block nor the flag."""
    source = tmp_path / "decay.py"
    source.write_text(TUNED)
    text = tad("--backward", source).stdout
    assert '(given, launches, lambda meta: meta["n"] * meta["BLOCK"])' in text
    random = np.random.default_rng(6)
    x = random.standard_normal((5, 11))
    start = random.standard_normal(11) if has_start else None
    weights = random.standard_normal((5, 11))
    along = random.standard_normal((5, 11))

    def loss(step: float) -> float:
        outputs = call_function(
            text, "decay", [x + step * along, start], worker=interpreter
        ).outputs
        return float((tensor_outputs(outputs)[0] * weights).sum())

    result = call_function(
        text, "decay", [x, start], wrt=[0], grad_outputs=[weights], worker=interpreter
    )
    expected = (loss(STEP) - loss(-STEP)) / (2 * STEP)
    assert float((result.gradients[0] * along).sum()) == pytest.approx(expected, rel=1e-3)


OPERATORS = """import torch
import triton
import triton.language as tl


@triton.jit
def powers_kernel(x_ptr, square_ptr, cube_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(square_ptr + i, x * x, mask=i < n)
    tl.store(cube_ptr + i, x * x * x, mask=i < n)


class Powers:
    def __call__(self, x):
        square, cube = torch.empty_like(x), torch.empty_like(x)
        powers_kernel[(triton.cdiv(x.numel(), 32),)](x, square, cube, x.numel(), BLOCK=32)
        return square + cube


def powers(x):
    return Powers()(x)
"""


@pytest.mark.parametrize("wrapper", ["autograd", "triton_op"])
def test_methods(wrapper: str, tmp_path: Path, interpreter: Worker) -> None:
    """A method launches; two tensors are allocated in one statement."""
    source = tmp_path / "powers.py"
    source.write_text(OPERATORS)
    text = tad("--backward", source, "--wrapper", wrapper).stdout
    x = floats(70)
    result = call_function(
        text, "powers", [x], wrt=[0], grad_outputs=[np.ones(70)], worker=interpreter
    )
    np.testing.assert_allclose(result.gradients[0], 2 * x + 3 * x * x, rtol=1e-4, atol=1e-5)
    assert ".launch(" not in text


SHADOWED = """import torch
import triton
import triton.language as tl

from settings import ALLOW_TF32, SCALE


@triton.jit
def scaled_kernel(o, x, n, SCALE: tl.constexpr, ALLOW_TF32: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(o + i, a * a * SCALE, mask=i < n)


def scaled(x):
    with torch.no_grad():
        o = torch.empty_like(x)
        scaled_kernel[(1,)](o, x, x.numel(), SCALE=SCALE, ALLOW_TF32=ALLOW_TF32, BLOCK=16)
    return o
"""


def test_a_parameter_is_no_name_of_the_file(tmp_path: Path) -> None:
    """What a launcher that is left out alone has imported stays away, whatever a kernel calls its parameters."""
    source = tmp_path / "shadowed.py"
    source.write_text(SHADOWED)
    text = tad("--backward", "--no-proof", source).stdout
    assert "scaled_kernel_backward" in text
    assert "from settings" not in text
    source.write_text(SHADOWED.replace("    with torch.no_grad():", "    if True:"))
    assert "from settings import" in tad("--backward", "--no-proof", source).stdout


QUOTED = """import torch
import triton
import triton.language as tl


@triton.jit
def scaled_kernel(x, o, n, scale, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i, mask=i < n, other=0.0) * scale, mask=i < n)


def scaled(x, options: "Options | None" = None):
    o = torch.empty_like(x)
    scale = 2.0 if options is None else options.scale
    scaled_kernel[(triton.cdiv(x.numel(), 16),)](x, o, x.numel(), scale, BLOCK=16)
    return o


class Options:
    scale = 3.0


class Other:
    pass
"""


def test_types_in_quotes_are_written(tmp_path: Path) -> None:
    source = tmp_path / "quoted.py"
    source.write_text(QUOTED)
    text = tad("--backward", "--no-proof", source).stdout
    assert "class Options:" in text and "class Other:" not in text
