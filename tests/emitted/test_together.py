"""Programs with few lanes: several of the forward's are one of the backward's."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.emitted.plan import ROOT, helper_texts, proved_module, tad
from tests.support.worker import Worker
from tests.triton.interpret import call_function

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
ROWS = """@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    {store}


def launched(x):
    rows, n = x.shape
    y = torch.empty_like(x)
    kernel[(rows,)](x, y, n, BLOCK={block})
    return y
"""
PLAIN = {
    "store": "tl.store(y_ptr + row * n + c, x * x, mask=c < n)",
    "block": "triton.next_power_of_2(n)",
}
# What a person would write for rows that several at once are read of.
KERNEL = """
    row = tl.program_id(0) * TOGETHER + tl.arange(0, TOGETHER)
    c = tl.arange(0, BLOCK)
    x_offsets = row * n
    x_mask = (c < n) & ((row < programs) | (TOGETHER == 1))[:, None]
"""
PLANES = """@triton.jit
def kernel(x_ptr, y_ptr, H, W, FLIP: tl.constexpr, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    h = tl.program_id(1)
    c = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in tl.static_range(2):
        x = tl.load(x_ptr + (plane * 2 * H + 2 * h + k) * W + c, mask=c < W, other=0.0)
        total += x * x * (k + 1)
    if FLIP:
        total = -total
    tl.store(y_ptr + (plane * H + h) * W + c, total, mask=c < W)


def launched(x):
    planes, H, W = x.shape
    y = torch.empty(planes, H // 2, W)
    kernel[(planes, H // 2)](x, y, H // 2, W, FLIP=True, BLOCK=triton.next_power_of_2(W))
    return y
"""


def kernels(tmp_path: Path, **parts: str) -> Path:
    path = tmp_path / "kernels.py"
    path.write_text(HEAD + ROWS.format(**{**PLAIN, **parts}))
    return path


def always_two(text: str) -> str:
    """The module with the least number of programs for which several are one, and no more than two or four of them."""
    few = text.replace("programs > 2048 * together", "programs > 2 * together")
    assert few != text
    return few


@pytest.mark.parametrize("rows", [1, 9, 16])
def test_rows_side_by_side(rows: int, tmp_path: Path, interpreter: Worker) -> None:
    text = proved_module(tmp_path, HEAD + ROWS.format(**PLAIN))
    assert KERNEL in text
    assert "_together(ctx.grid, 0, BLOCK, x_ptr, dy_ptr)" in re.sub(r"\s+", " ", text)
    random = np.random.default_rng(6)
    given, upstream = random.uniform(-1, 1, (rows, 21)), random.uniform(-1, 1, (rows, 21))
    for module in (text, always_two(text)):
        found = call_function(
            module, "launched", [given], wrt=[0], grad_outputs=[upstream], worker=interpreter
        ).gradients
        np.testing.assert_allclose(found[0], 2 * given * upstream, rtol=1e-6)


def test_rows_of_planes_with_loops_and_flags(tmp_path: Path, interpreter: Worker) -> None:
    text = proved_module(tmp_path, HEAD + PLANES)
    assert "tl.program_id(1) * TOGETHER" in text
    random = np.random.default_rng(7)
    given, upstream = random.uniform(-1, 1, (3, 10, 5)), random.uniform(-1, 1, (3, 5, 5))
    weights = -np.repeat(upstream, 2, 1) * np.tile([2, 4], 5)[None, :, None]
    for module in (text, always_two(text)):
        found = call_function(
            module, "launched", [given], wrt=[0], grad_outputs=[upstream], worker=interpreter
        ).gradients
        np.testing.assert_allclose(found[0], given * weights, rtol=1e-6)


SHARES = """@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * n + c, e / tl.sum(e), mask=c < n)


def launched(x):
    y = torch.empty_like(x)
    kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=32)
    return y
"""


@pytest.mark.parametrize("rows", [1, 9, 16])
def test_rows_with_sums_side_by_side(rows: int, tmp_path: Path, interpreter: Worker) -> None:
    """Each program's row has a sum of its own."""
    text = proved_module(tmp_path, HEAD + SHARES)
    assert "tl.sum(dy * y, axis=1)[:, None]" in text
    random = np.random.default_rng(8)
    given, upstream = random.uniform(-1, 1, (rows, 21)), random.uniform(-1, 1, (rows, 21))
    y = np.exp(given) / np.exp(given).sum(1, keepdims=True)
    expected = (upstream - (upstream * y).sum(1, keepdims=True)) * y
    for module in (text, always_two(text)):
        found = call_function(
            module, "launched", [given], wrt=[0], grad_outputs=[upstream], worker=interpreter
        ).gradients
        np.testing.assert_allclose(found[0], expected, rtol=1e-5, atol=1e-7)


NORM = """@triton.jit
def kernel(x_ptr, w_ptr, y_ptr, H, n, BLOCK: tl.constexpr):
    {ids}
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    w = tl.load(w_ptr + c, mask=c < n, other=0.0)
    r = tl.rsqrt(tl.sum(x * x) / n)
    tl.store(y_ptr + row * n + c, x * r * w, mask=c < n)


def launched(x, w):
    rows, n = x.shape
    y = torch.empty_like(x)
    kernel[{grid}](x, w, y, 5, n, BLOCK=triton.next_power_of_2(n))
    return y
"""
# How programs number the rows, and the axes along which they share the weights.
NORMS = {
    "(0,)": {"ids": "row = tl.program_id(0)", "grid": "(rows,)"},
    "(0, 1)": {"ids": "row = tl.program_id(0) * H + tl.program_id(1)", "grid": "(rows // 5, 5)"},
    "(0, 1, 2)": {
        "ids": "row = (tl.program_id(2) * 2 + tl.program_id(0)) * H + tl.program_id(1)",
        "grid": "(2, 5, rows // 10)",
    },
}
# What a person would write where an iteration has several rows.
ITERATION = """
        for first in tl.range(
            program * TOGETHER, programs, slices * TOGETHER, num_stages=STAGES
        ):
            row = first + tl.arange(0, TOGETHER)
            inside = (row < programs) | (TOGETHER == 1)
"""


def norm(path: Path) -> Path:
    """A norm of short rows without an epsilon, whose weights all programs share."""
    path.write_text(HEAD + NORM.format(**NORMS["(0,)"]))
    return path


def norm_gradients(x: np.ndarray, w: np.ndarray, dy: np.ndarray) -> list[np.ndarray]:
    """Of `x / rms(x) * w`, in closed form."""
    r = 1 / np.sqrt((x * x).mean(1, keepdims=True))
    p = dy * w
    return [p * r - x * r**3 * (p * x).mean(1, keepdims=True), (dy * x * r).sum(0)]


@pytest.mark.parametrize("axes", NORMS)
@pytest.mark.parametrize("rows", [10, 70])
def test_rows_of_an_iteration(axes: str, rows: int, tmp_path: Path, interpreter: Worker) -> None:
    """Weights that programs share: a grid of slices, with several rows at once, also of rests."""
    text = proved_module(tmp_path, HEAD + NORM.format(**NORMS[axes]))
    assert f"_sliced(ctx.grid, {axes}, slices)" in re.sub(r"\s+", " ", text)
    assert axes != "(0,)" or ITERATION in text
    assert "tl.num_programs" not in text and "TOGETHER=together" in text
    random = np.random.default_rng(9)
    given = [random.uniform(0.5, 1, shape) for shape in ((rows, 21), (21,))]
    upstream = random.uniform(-1, 1, (rows, 21))
    found = call_function(
        text, "launched", given, wrt=[0, 1], grad_outputs=[upstream], worker=interpreter
    ).gradients
    expected = norm_gradients(*given, upstream)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


ITERATION_MISTAKES = {
    "rows come again": ("slices * TOGETHER, num", "slices, num"),
    "the last row is left out": ("(row < programs)", "(row < programs - 1)"),
    "rows that are not there count": (
        "inside[:, None], (dy",
        "inside[:, None] | True, (dy",
    ),
    "one row of each is summed": ("tl.sum(dw, axis=0)", "tl.max(dw, axis=0)"),
}


@pytest.mark.parametrize("name", ITERATION_MISTAKES)
def test_the_proof_runs_several_iterations_as_one(name: str, tmp_path: Path) -> None:
    before, after = ITERATION_MISTAKES[name]
    text = tad("--backward", norm(tmp_path / "kernels.py")).stdout
    assert before in text
    (tmp_path / "kernels_backward.py").write_text(text.replace(before, after))
    run = tad("--check", "--grad", tmp_path / "kernels_backward.py")
    assert run.returncode == 1 and "1 failed" in run.stdout + run.stderr


LEFT = {
    "a tile that is large enough": {"block": "4096"},
    "a scan of the row": {
        "store": "tl.store(y_ptr + row * n + c, tl.cumsum(x * x, 0), mask=c < n)"
    },
    "lanes apart": {
        "store": "tl.store(y_ptr + row * n + 2 * c, x * x, mask=c < n)",
    },
}


@pytest.mark.parametrize("name", LEFT)
def test_other_kernels_do_their_own_work(name: str, tmp_path: Path) -> None:
    assert (
        "_together(ctx"
        not in tad("--backward", "--no-proof", kernels(tmp_path, **LEFT[name])).stdout
    )


MISTAKES = {
    "programs overlap": ("* TOGETHER + tl.arange(0, TOGETHER)", "+ tl.arange(0, TOGETHER)"),
    "no mask ends them": (" & ((row < programs) | (TOGETHER == 1))[:, None]", ""),
    "one is left out": ("(row < programs)", "(row < programs - 1)"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_proof_runs_several_as_one(name: str, tmp_path: Path) -> None:
    """Each mistake is one only where programs are gathered, or at their end."""
    before, after = MISTAKES[name]
    path = kernels(tmp_path)
    text = tad("--backward", path).stdout
    assert before in text
    module = tmp_path / "kernels_backward.py"
    module.write_text(text.replace(before, after))
    run = tad("--check", "--grad", module)
    assert run.returncode == 1 and "1 failed" in run.stdout + run.stderr


SPLIT = """@triton.jit
def kernel(x_ptr, q_ptr, k_ptr, scale, H: tl.constexpr, D, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    head = tl.program_id(1)
    d = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + (token * 2 * H + head) * D + d, mask=d < D)
    if head < H:
        tl.store(q_ptr + (token * H + head) * D + d, x * scale, mask=d < D)
    else:
        tl.store(k_ptr + (token * H + head - H) * D + d, x, mask=d < D)


def launched(x, scale):
    tokens, heads, D = x.shape
    q = torch.empty(tokens, heads // 2, D)
    k = torch.empty(tokens, heads // 2, D)
    block = triton.next_power_of_2(D)
    kernel[(tokens, heads)](x, q, k, scale, heads // 2, D, block, num_warps=1)
    return q, k
"""


def test_a_branch_by_the_last_axis(tmp_path: Path, interpreter: Worker) -> None:
    """Its programs take different ways; those of another axis take the same."""
    text = proved_module(tmp_path, HEAD + SPLIT)
    assert "    token = tl.program_id(0) * TOGETHER + tl.arange(0, TOGETHER)\n" in text
    assert "    head = tl.program_id(1)\n" in text
    random = np.random.default_rng(7)
    given = random.uniform(-1, 1, (5, 4, 11))
    upstream = [random.uniform(-1, 1, (5, 2, 11)) for _ in range(2)]
    found = call_function(
        always_two(text),
        "launched",
        [given, 3.0],
        wrt=[0],
        grad_outputs=upstream,
        worker=interpreter,
    ).gradients
    wanted = np.concatenate((3 * upstream[0], upstream[1]), 1)
    np.testing.assert_allclose(found[0], wanted, rtol=1e-6)


@pytest.mark.parametrize("wrapper", ["triton_op", "none"])
def test_only_a_function_says_how_many_are_one(wrapper: str, tmp_path: Path) -> None:
    text = tad("--backward", "--wrapper", wrapper, kernels(tmp_path), "--no-proof").stdout
    assert "def kernel_backward(" in text and "TOGETHER" not in text


class Tensor:
    """Of elements of so many bytes."""

    def __init__(self, size: int) -> None:
        self.element_size = lambda: size


def test_so_many_lanes_are_together() -> None:
    names: dict = {"torch": SimpleNamespace(Tensor=Tensor)}
    text = tad("--backward", ROOT / "tests/emitted/kernels/turned.py", "--no-proof").stdout
    exec(helper_texts(text, "_together", "_warps"), names)
    choose, two = names["_together"], Tensor(2)
    assert choose((802816,), 0, 128, two) == ((100352,), 8, 2)
    assert choose((7, 100001), 1, 256, two) == ((7, 25001), 4, 2)
    # few programs; large tiles; a grid without such an axis
    assert choose((2048,), 0, 128, two) == ((2048,), 1, 1)
    assert choose((4096,), 0, 128, two) == ((2048,), 2, 2)
    assert choose((9000,), 0, 1024, two) == ((9000,), 1, 4)
    assert choose((9000,), 0, 4096, two, num_warps=8) == ((9000,), 1, 8)
    assert choose((9000,), 1, 128, two, num_warps=1) == ((9000,), 1, 1)


def test_programs_are_counted_in_the_launch(tmp_path: Path, interpreter: Worker) -> None:
    """A kernel that asks how many programs there are gets the forward's number."""
    store = "tl.store(y_ptr + row * n + c, x * x * tl.num_programs(0), mask=c < n)"
    text = always_two(proved_module(tmp_path, HEAD + ROWS.format(**{**PLAIN, "store": store})))
    assert "num_programs(0)" not in text[text.index("def kernel_backward") : text.index("class ")]
    x = np.random.default_rng(4).uniform(-1, 1, (9, 5))
    upstream = [np.ones_like(x)]
    found = call_function(
        text, "launched", [x], wrt=[0], grad_outputs=upstream, worker=interpreter
    ).gradients
    np.testing.assert_allclose(found[0], 2 * 9 * x, rtol=1e-6)


def test_rows_of_an_enlarged_picture_are_side_by_side() -> None:
    """Their lanes read every second element, and three quarters of the forward's programs have none."""
    text = tad("--backward", f"{ROOT}/bench/gpu/style/layouts.py:upsample_rows_kernel").stdout
    assert "grid, together, warps = _together(ctx.grid, 1, BLOCK, dy_ptr)" in text
    assert "inside_4 = offsets_2 < programs\n" in text


PIXELS = """@triton.jit
def kernel(x_ptr, y_ptr, H, W, S: tl.constexpr, BLOCK: tl.constexpr):
    c = tl.program_id(0)
    h = tl.program_id(1)
    w = tl.arange(0, BLOCK)
    at = (c // S * H + h) * W * {apart} + w * {apart} + c % S
    x = tl.load(x_ptr + at, mask=w < W, other=0.0)
    tl.store(y_ptr + (c * H + h) * W + w, x * x, mask=w < W)


def launched(x, S):
    C, H, W = x.shape
    y = torch.empty(C * S, H, W // S)
    kernel[(C * S, H)](x, y, H, W // S, S=S, BLOCK=triton.next_power_of_2(W // S))
    return y
"""


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_programs_whose_elements_lie_between_others(
    steps: int, tmp_path: Path, interpreter: Worker
) -> None:
    """Each of S programs stores every S-th element of a row: all of them are one, and store whole rows."""
    text = proved_module(tmp_path, HEAD + PIXELS.format(apart="S"))
    assert "# several programs as one, where they store elements side by side" in text
    assert "_together(ctx.grid, 0, BLOCK, x_ptr, dy_ptr, least=S)" in text
    random = np.random.default_rng(6)
    x = random.uniform(-1, 1, (3, 2, 5 * steps))
    upstream = random.uniform(-1, 1, (3 * steps, 2, 5))
    found = call_function(
        text, "launched", [x, steps], wrt=[0], grad_outputs=[upstream], worker=interpreter
    ).gradients
    want = upstream.reshape(3, steps, 2, 5).transpose(0, 2, 3, 1).reshape(x.shape)
    np.testing.assert_allclose(found[0], 2 * x * want, rtol=1e-6)


def test_programs_whose_elements_are_further_apart(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(HEAD + PIXELS.format(apart="(2 * S)"))
    assert "least=" not in tad("--backward", "--no-proof", path).stdout.split("def _together")[0]


def test_how_many_programs_store_side_by_side() -> None:
    text = tad("--backward", f"{ROOT}/bench/gpu/style/moves.py:pixel_unshuffle_tile_kernel").stdout
    names: dict = {"_warps": lambda lanes, *tensors: 4}
    exec(helper_texts(text, "_together"), names)
    together = names["_together"]
    assert together((8, 1, 64), 2, 1024, least=2) == ((8, 1, 32), 2, 4)
    assert together((8, 1, 63), 2, 1024, least=2) == ((8, 1, 63), 1, 4)  # no whole number of them
    assert together((8, 1, 63), 2, 1024, least=3) == ((8, 1, 63), 1, 4)  # no tile has three rows
    assert together((8, 1, 64), 2, 4096, least=2) == ((8, 1, 64), 1, 4)
