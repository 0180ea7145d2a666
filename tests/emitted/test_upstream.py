"""An upstream gradient is read in the layout that it comes in, where the kernel is given the output's strides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import Runner, derived, tad
from tests.support.worker import Worker
from tests.triton.interpret import call_function

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
STRIDED = """@triton.jit
def kernel(x_ptr, y_ptr, M, N, sxm, sxn, sym, syn, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    x = tl.load(x_ptr + rows[:, None] * sxm + cols[None, :] * sxn, mask=inside)
    tl.store(y_ptr + rows[:, None] * sym + cols[None, :] * syn, x * x, mask=inside)


def run(x):
    y = torch.empty_like(x)
    M, N = x.shape
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16))
    kernel[grid](x, y, M, N, x.stride(0), x.stride(1), y.stride(0), y.stride(1), BM=16, BN=16)
    return y
"""
SPREAD = STRIDED.replace(
    "x.stride(0), x.stride(1), y.stride(0), y.stride(1)", "*x.stride(), *y.stride()"
)
BEHIND = STRIDED.replace("y.stride(0), y.stride(1)", "y.stride(-2), y.stride(-1)")
ROWS = """@triton.jit
def kernel(x_ptr, y_ptr, N, sx, sy, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * sx + cols, mask=cols < N)
    tl.store(y_ptr + row * sy + cols, x * x, mask=cols < N)


def run(x):
    y = torch.empty_like(x)
    M, N = x.shape
    kernel[(M,)](x, y, N, x.stride(0), y.stride(0), BLOCK=triton.next_power_of_2(N))
    return y
"""
HEADS = """@triton.jit
def kernel(x_ptr, y_ptr, H, N, sxb, sxh, sxn, syb, syh, syn, D: tl.constexpr, B: tl.constexpr):
    pid = tl.program_id(1)
    batch, head = pid // H, pid % H
    rows = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    x_ptr += batch * sxb + head * sxh
    y_ptr += batch * syb + head * syh
    x = tl.load(x_ptr + rows[:, None] * sxn + d[None, :], mask=rows[:, None] < N)
    tl.store(y_ptr + rows[:, None] * syn + d[None, :], x * x, mask=rows[:, None] < N)


def run(x):
    y = torch.empty_like(x)
    batch, H, N, D = x.shape
    kernel[(triton.cdiv(N, 8), batch * H)](
        x, y, H, N, x.stride(0), x.stride(1), x.stride(2), y.stride(0), y.stride(1), y.stride(2), D=D, B=8
    )
    return y
"""
# name: (file, axes; None: laid out like the output)
CASES: dict[str, tuple[str, str | None]] = {
    "each axis": (STRIDED, "(0, 1)"),
    "spread": (SPREAD, "(0, 1)"),
    "counted from behind": (BEHIND, "(0, 1)"),
    "rows": (ROWS, "(0,)"),
    "batch and head on one axis": (HEADS, "(0, 1, 2)"),
    "several launches": (
        STRIDED + STRIDED[STRIDED.index("def run") :].replace("def run", "def again"),
        "(0, 1)",
    ),
    # nobody says that it is the output's own
    "the stride of another tensor": (ROWS.replace("y.stride(0)", "x.stride(0)"), None),
    "one launch passes another number": (
        ROWS
        + ROWS[ROWS.index("def run") :].replace("def run", "def again").replace("y.stride(0)", "N"),
        None,
    ),
    # one number for two tensors
    "shared with the input": (
        ROWS.replace("sx, sy, BLOCK: ", "sy, BLOCK: ")
        .replace("row * sx", "row * sy")
        .replace("x.stride(0), ", ""),
        None,
    ),
    # what the author promises of a stride does not hold for another one
    "a hint": (ROWS.replace("row * sy", "row * tl.multiple_of(sy, 16)"), None),
    # indices that run into the next row
    "two rows at once": (
        ROWS.replace("row * s", "2 * row * s")
        .replace("cols < N", "cols < 2 * N")
        .replace("[(M,)]", "[(M // 2,)]")
        .replace("next_power_of_2(N)", "next_power_of_2(2 * N)"),
        None,
    ),
    "no mask": (ROWS.replace(", mask=cols < N", ""), None),
    "flat": (ROWS.replace("row * sy", "row * N"), None),
}


def written(folder: Path, text: str, *more: str) -> str:
    """The module for a file with that text."""
    source = folder / "source.py"
    source.write_text(HEAD + text)
    run = tad("--backward", source, *more)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("name", CASES)
def test_which_strides_are_the_upstream_gradient_s_own(name: str, tmp_path: Path) -> None:
    """Those that address nothing else, by indices that stay within the tensor's axes."""
    source, axes = CASES[name]
    text = written(tmp_path, source, "--no-proof")
    found = re.search(r"dy_ptr = _upstream\(dy_ptr, ctx\.strides\[0\], given=(.*)\)", text)
    assert (found[1] if found else None) == axes
    if axes is None:
        assert "_upstream" not in text and "dy_ptr.stride" not in text
    else:
        for axis in axes.strip("(),").split(", "):
            assert f"=dy_ptr.stride({axis})," in text


KEPT = """

def kept(x, stride, given):
    gradient = x.t()
    return gradient * (1.0 if _upstream(gradient, stride, given) is gradient else 0.0)


def same(x, stride, given):
    return _upstream(x.t(), stride, given) * 1.0
"""


@pytest.mark.parametrize(
    ("shape", "stride", "given", "is_kept"),
    [
        pytest.param((2, 3), (2, 1), (0, 1), True, id="transposed"),
        pytest.param((2, 3), (2, 1), (0,), False, id="steps along the last axis are not given"),
        pytest.param((1, 3), (1, 1), (0,), True, id="one column"),
        pytest.param((2, 3), (4, 1), (0, 1), False, id="the output has gaps"),
        pytest.param((2, 3), (1, 3), (0, 1), True, id="transposed like the output"),
    ],
)
def test_copies_only_where_the_kernel_cannot_read(
    shape: tuple[int, int],
    stride: tuple[int, int],
    given: tuple[int, ...],
    is_kept: bool,
    tmp_path: Path,
    interpreter: Worker,
) -> None:
    """`shape` is transposed; a copy has the same elements."""
    text = written(tmp_path, STRIDED, "--no-proof") + KEPT
    x = np.arange(float(np.prod(shape))).reshape(shape) + 1.0
    kept = call_function(text, "kept", [x, stride, given], worker=interpreter).outputs[0]
    np.testing.assert_array_equal(kept, x.T * float(is_kept))
    same = call_function(text, "same", [x, stride, given], worker=interpreter).outputs[0]
    np.testing.assert_array_equal(same, x.T)


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    """One worker for all."""
    started = Runner()
    yield started
    started.close()


def answer_of(runner: Runner, folder: Path, text: str, before: str = "", after: str = "") -> dict:
    """The proof of the only kernel of a text, a part of its backward replaced."""
    path = folder / "kernels.py"
    path.write_text(HEAD + text)
    (proof,) = derived(path)[1].values()
    source = proof["backward"]["source"]
    kernel = source.index("def kernel_backward")
    assert before in source[kernel:]
    proof["backward"]["source"] = source[:kernel] + source[kernel:].replace(before, after)
    return runner.ask("gradcheck", proof)


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        pytest.param(STRIDED, " * syn", "", id="a stride of 1"),
        pytest.param(STRIDED, " * sym", " * N", id="the size for the stride"),
        pytest.param(ROWS, " * sy", " * sx", id="the input's stride"),
    ],
)
def test_the_proof_has_another_layout(
    text: str, before: str, after: str, runner: Runner, tmp_path: Path
) -> None:
    """Strides are not those of the output, so a kernel that takes these for them is refuted."""
    assert answer_of(runner, tmp_path, text)["status"] == "proved"
    assert answer_of(runner, tmp_path, text, before, after)["status"] == "failed"
