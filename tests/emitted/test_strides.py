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


def test_views_that_overlap_have_no_gradient(tmp_path: Path, interpreter: Worker) -> None:
    """Rows that are stored would overwrite each other: asked for, that is an error."""
    source = tmp_path / "shared.py"
    source.write_text(SHARED)
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
