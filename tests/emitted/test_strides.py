"""Strides that a launcher sets to 0, and views whose elements share memory: what is read often is summed, or refused.

The written modules run end to end, with a stand-in for PyTorch and in Triton's own interpreter.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import tad
from tests.emitted.test_modules import floats
from tests.support.worker import Worker
from tests.triton.interpret import InterpretFailure, call_function

STEPS = """import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, w_ptr, y_ptr, n, row_step, lane_step, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + i, mask=i < n)
    w = tl.load(w_ptr + row * row_step + i * lane_step, mask=i < n)
    tl.store(y_ptr + row * n + i, x * w, mask=i < n)


def by_expression(x, w):
    y = torch.empty_like(x)
    row_step = 0 if w.shape[0] == 1 else w.stride(0)
    lane_step = w.stride(1) if w.shape[1] > 1 else 0
    scale_kernel[(x.shape[0],)](x, w, y, x.shape[1], row_step, lane_step, BLOCK=8)
    return y


def by_statement(x, w):
    y = torch.empty_like(x)
    row_step, lane_step = 0, 0
    if w.size(0) > 1:
        row_step = w.stride(0)
    if w.size(1) > 1:
        lane_step = w.stride(1)
    scale_kernel[(x.shape[0],)](x, w, y, x.shape[1], row_step, lane_step, BLOCK=8)
    return y


def by_flags(x, w, one_row=False, one_lane=False):
    y = torch.empty_like(x)
    steps = (0 if one_row else w.stride(0), w.stride(1) if not one_lane else 0)
    scale_kernel[(x.shape[0],)](x, w, y, x.shape[1], *steps, BLOCK=8)
    return y
"""


@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (1, 6), (3, 6)])
@pytest.mark.parametrize("launcher", ["by_expression", "by_statement", "by_flags"])
def test_a_launcher_may_set_strides_to_zero(
    launcher: str, shape: tuple[int, int], tmp_path: Path, interpreter: Worker
) -> None:
    """What one number is read for is summed, over programs and over lanes."""
    source = tmp_path / "steps.py"
    source.write_text(STEPS)
    text = tad("--backward", source, "--no-proof").stdout
    x, w, upstream = floats(3, 6), floats(*shape) + 2.0, floats(3, 6) + 0.5
    flags = [size == 1 for size in shape] if launcher == "by_flags" else []
    result = call_function(
        text, launcher, [x, w, *flags], wrt=[0, 1], grad_outputs=[upstream], worker=interpreter
    )
    axes = tuple(axis for axis in (0, 1) if shape[axis] == 1)
    np.testing.assert_allclose(
        result.gradients[0], np.broadcast_to(w, x.shape) * upstream, rtol=1e-6
    )
    np.testing.assert_allclose(
        result.gradients[1], (x * upstream).sum(axis=axes, keepdims=True), rtol=1e-5
    )


def test_the_stride_of_what_is_absent_keeps_programs_apart(tmp_path: Path) -> None:
    """0 where there is no tensor is a stride of none: where there is one, its rows are stored."""
    source = tmp_path / "steps.py"
    source.write_text(
        STEPS[: STEPS.index("def by_expression")].replace(
            "BLOCK: tl", "HAS_W: tl.constexpr, BLOCK: tl"
        )
        + """def maybe(x, w=None):
    y = torch.empty_like(x)
    has_w = w is not None
    row_step, lane_step = (w.stride(0), w.stride(1)) if has_w else (0, 0)
    scale_kernel[(x.shape[0],)](x, w, y, x.shape[1], row_step, lane_step, HAS_W=has_w, BLOCK=8)
    return y
"""
    )
    text = tad("--backward", source, "--no-proof").stdout
    assert "tl.store(dw_ptr" in text and "atomic_add" not in text


SHARED = (
    STEPS[: STEPS.index("def by_expression")]
    + """def shared(x, w):
    rows = w.expand(x.shape[0], x.shape[1])
    y = torch.empty_like(x)
    scale_kernel[(x.shape[0],)](x, rows, y, x.shape[1], rows.stride(0), rows.stride(1), BLOCK=8)
    return y


def frames(x, w):
    rows = w.as_strided((3, 6), (2, 1))
    y = torch.empty_like(x)
    scale_kernel[(x.shape[0],)](x, rows, y, x.shape[1], rows.stride(0), rows.stride(1), BLOCK=8)
    return y
"""
)


@pytest.mark.parametrize("launcher", ["shared", "frames"])
def test_views_that_overlap_need_no_gradient(
    launcher: str, tmp_path: Path, interpreter: Worker
) -> None:
    """A mask that is expanded, frames that share samples: the gradients of the rest do not wait for theirs."""
    source = tmp_path / "shared.py"
    source.write_text(SHARED)
    text = tad("--backward", source, "--no-proof").stdout
    x, upstream = floats(3, 6), floats(3, 6) + 0.5
    w = floats(1, 6) if launcher == "shared" else floats(20)
    rows = np.stack([w[2 * i : 2 * i + 6] for i in range(3)]) if launcher == "frames" else w
    result = call_function(
        text, launcher, [x, w], wrt=[0], grad_outputs=[upstream], worker=interpreter
    )
    np.testing.assert_allclose(result.gradients[0], rows * upstream, rtol=1e-6)


def test_expanded_views_have_gradients(tmp_path: Path, interpreter: Worker) -> None:
    """Each element has one of its own, and autograd sums them."""
    source = tmp_path / "shared.py"
    source.write_text(SHARED)
    text = tad("--backward", source, "--no-proof").stdout
    x, w, upstream = floats(3, 6), floats(1, 6), floats(3, 6) + 0.5
    result = call_function(
        text, "shared", [x, w], wrt=[0, 1], grad_outputs=[upstream], worker=interpreter
    )
    np.testing.assert_allclose(result.gradients[0], w * upstream, rtol=1e-6)
    sums = (x * upstream).sum(0, keepdims=True)
    np.testing.assert_allclose(result.gradients[1], sums, rtol=1e-5)


def test_views_that_overlap_have_no_gradient(tmp_path: Path, interpreter: Worker) -> None:
    """Rows that are stored would overwrite each other: where nobody knows what is a stride, that is an error."""
    source = tmp_path / "shared.py"
    source.write_text(SHARED.replace("rows.stride(0), rows", "0 * x.stride(0), rows"))
    text = tad("--backward", source, "--no-proof").stdout
    with pytest.raises(InterpretFailure, match="an overlapping view has no gradients"):
        call_function(
            text,
            "shared",
            [floats(3, 6), floats(1, 6)],
            wrt=[0, 1],
            grad_outputs=[floats(3, 6)],
            worker=interpreter,
        )


ROWS = """import torch
import triton
import triton.language as tl


@triton.jit
def rows_kernel(x_ptr, y_ptr, x_step, y_step, D: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, D)
    x = tl.load(x_ptr + row * x_step + cols)
    tl.store(y_ptr + row * y_step + cols, x * x)


"""
APART = {
    "own": "rows_kernel[(M,)](x, y, x.stride(0), y.stride(0), D=D)",
    "halves": "rows_kernel[(2 * M,)](x, y, x.stride(0) // 2, D // 2, D=D // 2)",
    "first_half": "rows_kernel[(M,)](x, torch.empty(M, D // 2), D, D // 2, D=D // 2)",
    "frames": "v = x.unfold(0, 8, 4).contiguous()\n"
    "    rows_kernel[(M,)](v, torch.empty(v.shape), v.stride(0), v.stride(0), D=8)",
    "groups": "rows_kernel[(M * g,)](x, y, D // g, D // g, D=triton.next_power_of_2(D // g))",
}
OVERLAPPING = {
    "half": "rows_kernel[(M,)](x, y, x.stride(0) // 2, y.stride(0), D=D)",
    "shifted": "rows_kernel[(M,)](x, y, D >> 1, D, D=D)",
    "one_less": "rows_kernel[(M,)](x, y, D - 1, D, D=D)",
    "windows": "v = x.as_strided((M, D), (D // 4, 1))\n"
    "    rows_kernel[(M,)](x, y, v.stride(0), y.stride(0), D=D)",
}


def rows_launcher(launch: str) -> str:
    return ROWS + (
        "def rows(x, g):\n    M, D = x.shape\n    y = torch.empty_like(x)\n"
        f"    {launch}\n    return y\n"
    )


@pytest.mark.parametrize("name", [*APART, *OVERLAPPING])
def test_rows_that_a_launcher_moves_together(name: str, tmp_path: Path) -> None:
    """Less than a row between two of them: programs meet in the gradient."""
    source = tmp_path / "rows.py"
    source.write_text(rows_launcher({**APART, **OVERLAPPING}[name]))
    text = tad("--backward", source, "--no-proof", "--wrapper", "none").stdout
    assert ("tl.atomic_add(dx_ptr" in text) == (name in OVERLAPPING)
    assert ("tl.store(dx_ptr" in text) == (name in APART)


@pytest.mark.parametrize("name", ["half", "shifted", "one_less"])
def test_rows_that_overlap_are_summed(name: str, tmp_path: Path, interpreter: Worker) -> None:
    source = tmp_path / "rows.py"
    source.write_text(rows_launcher(OVERLAPPING[name]))
    text = tad("--backward", source, "--no-proof").stdout
    x, upstream = floats(3, 8), floats(3, 8) + 0.5
    result = call_function(
        text, "rows", [x, 1], wrt=[0], grad_outputs=[upstream], worker=interpreter
    )
    step = 7 if name == "one_less" else 4
    expected = np.zeros(24, np.float32)
    for row in range(3):
        lanes = slice(row * step, row * step + 8)
        expected[lanes] += 2 * x.reshape(-1)[lanes] * upstream[row]
    np.testing.assert_allclose(result.gradients[0], expected.reshape(3, 8), rtol=1e-5)
