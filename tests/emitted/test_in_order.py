"""Gradients of copies in another order are stored in the order of their elements."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import proved_module, tad
from tests.support.worker import Worker
from tests.triton.interpret import call_function

COPY = """import torch
import triton
import triton.language as tl


@triton.jit
def k(x, y, T, H, D, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    d = i % D
    t = i // D % T
    h = i // (D * T) % H
    b = i // (D * T * H)
    a = tl.load(x + {at}, mask=i < n, other=0.0)
    tl.store(y + i, a * a * {factor}, mask=i < n)


def run(x):
    b, T, H, D = x.shape
    y = torch.empty(b, H, T, D)
    n = y.numel()
    k[({grid},)](x, y, T, H, D, n, B=16)
    return y
"""
PLAIN = {"at": "((b * T + t) * H + h) * D + d", "factor": "(d + 1)", "grid": "triton.cdiv(n, 16)"}
# What a person would write for elements that are read in another order.
KERNEL = """
    for start in range(tl.program_id(0) * B, elements, tl.num_programs(0) * B):
        x_offsets = start + lanes
        offsets = x_offsets // D
        offsets_1 = x_offsets - offsets * D
        offsets_2 = offsets // H
"""


@pytest.mark.parametrize("shape", [(2, 3, 5, 7), (1, 4, 4, 8), (3, 1, 6, 5)])
def test_a_copy_in_another_order(shape: tuple, tmp_path: Path, interpreter: Worker) -> None:
    text = proved_module(tmp_path, COPY.format(**PLAIN))
    assert KERNEL in text
    assert "tl.load(x + x_offsets, " in text and "tl.store(dx + x_offsets, " in text
    assert "FILL=fills" in text
    assert "k_backward[_all_turns(ctx.grid, T * H * D * triton.cdiv(n, T * H * D), B)](" in text
    random = np.random.default_rng(8)
    batch, T, H, D = shape
    given, upstream = random.uniform(-1, 1, shape), random.uniform(-1, 1, (batch, H, T, D))
    found = call_function(
        text, "run", [given], wrt=[0], grad_outputs=[upstream], worker=interpreter
    ).gradients
    want = 2 * given * upstream.swapaxes(1, 2) * (np.arange(D) + 1)
    np.testing.assert_allclose(found[0], want, rtol=1e-6)


LEFT = {
    "in its own order": {"at": "i"},
    "rows apart": {"at": "((b * T + t) * H + h) * 2 * D + d"},
    "the same element twice": {"at": "(b * T + t) * D + d"},
    "a grid that leaves some out": {"grid": "triton.cdiv(n, 32)"},
}


@pytest.mark.parametrize("name", LEFT)
def test_other_gradients_stay_where_they_are(name: str, tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(COPY.format(**{**PLAIN, **LEFT[name]}))
    text = tad("--backward", "--no-proof", path).stdout
    assert "elements = " not in text


def test_the_proof_sees_digits_in_a_wrong_order(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(COPY.format(**PLAIN))
    text = tad("--backward", path).stdout
    wrong = text.replace("offsets_2 = offsets // H\n", "offsets_2 = offsets // T\n")
    assert wrong != text
    module = tmp_path / "kernels_backward.py"
    module.write_text(wrong)
    run = tad("--check", "--grad", module)
    assert run.returncode == 1 and "1 failed" in run.stdout + run.stderr


PAD = """import torch
import triton
import triton.language as tl


@triton.jit
def k(x, y, H, W, OH, OW, P, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    w = i % OW - P
    h = i // OW % OH - P
    plane = i // (OW * OH)
    a = tl.load(x + (plane * H + h) * W + w, mask=(i < n) & {inside}, other=0.0)
    tl.store(y + i, a * a, mask=i < n)


def run(x, p):
    planes, H, W = x.shape
    y = torch.empty(planes, H + 2 * p, W + 2 * p)
    n = y.numel()
    k[(triton.cdiv(n, 16),)](x, y, H, W, H + 2 * p, W + 2 * p, p, n, B=16)
    return y
"""
INSIDE = "(h >= 0) & (h < H) & (w >= 0) & (w < W)"


@pytest.mark.parametrize(("shape", "p"), [((3, 5, 7), 2), ((1, 4, 8), 0), ((2, 6, 5), -1)])
def test_padding(shape: tuple, p: int, tmp_path: Path, interpreter: Worker) -> None:
    """Below 0 it cuts: elements that nobody reads have 0, and nothing is read in front of a tensor."""
    text = proved_module(tmp_path, PAD.format(inside=INSIDE))
    assert "FILL=fills" in text and "tl.store(dx + " in text
    random = np.random.default_rng(9)
    planes, H, W = shape
    given = random.uniform(-1, 1, shape)
    upstream = random.uniform(-1, 1, (planes, H + 2 * p, W + 2 * p))
    found = call_function(
        text, "run", [given, p], wrt=[0], grad_outputs=[upstream], worker=interpreter
    ).gradients
    inner = (
        upstream[:, p : p + H, p : p + W]
        if p >= 0
        else np.pad(upstream, ((0, 0), (-p, -p), (-p, -p)))
    )
    np.testing.assert_allclose(found[0], 2 * given * inner, rtol=1e-6)


def test_padding_without_an_edge_stays_where_it_is(tmp_path: Path) -> None:
    """Columns behind a row are the next one's."""
    path = tmp_path / "kernels.py"
    path.write_text(PAD.format(inside=INSIDE.replace(" & (w < W)", "")))
    assert "elements = " not in tad("--backward", "--no-proof", path).stdout


ENLARGED = """import torch
import triton
import triton.language as tl


@triton.jit
def k(x, y, H, W, OH, OW, n, S: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    w = i % {width}
    h = i // {width} % {height}
    plane = i // ({width} * {height})
    a = tl.load(x + (plane * H + h // S) * W + w // S, mask=i < n, other=0.0)
    tl.store(y + i, a * a * (w + 1), mask=i < n)


def run(x, s=2):
    planes, H, W = x.shape
    y = torch.empty(planes, H * s, W * s)
    n = y.numel()
    k[(triton.cdiv(n, 16),)](x, y, H, W, H * s, W * s, n, S=s, B=16)
    return y
"""
WIDTHS = {
    "as the kernel says": {"width": "(W * S)", "height": "(H * S)"},
    "as the launcher says": {"width": "OW", "height": "OH"},
}


@pytest.mark.parametrize("name", WIDTHS)
@pytest.mark.parametrize(("shape", "s"), [((2, 3, 5), 2), ((1, 4, 3), 3), ((3, 1, 7), 1)])
def test_an_enlarged_picture(
    name: str, shape: tuple, s: int, tmp_path: Path, interpreter: Worker
) -> None:
    """A lane of the gradient adds up what is read of its element."""
    path = tmp_path / "kernels.py"
    path.write_text(ENLARGED.format(**WIDTHS[name]))
    text = tad("--backward", "--no-proof", path).stdout
    assert "atomic" not in text and "in tl.static_range(S):" in text
    random = np.random.default_rng(10)
    planes, H, W = shape
    given = random.uniform(-1, 1, shape)
    upstream = random.uniform(-1, 1, (planes, H * s, W * s))
    found = call_function(
        text, "run", [given, s], wrt=[0], grad_outputs=[upstream], worker=interpreter
    ).gradients
    factors = upstream * (np.arange(W * s) + 1)
    want = 2 * given * factors.reshape(planes, H, s, W, s).sum((2, 4))
    np.testing.assert_allclose(found[0], want, rtol=1e-6)


def test_a_picture_of_another_size_keeps_atomics(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    text = ENLARGED.format(**WIDTHS["as the launcher says"])
    path.write_text(text.replace("W * s)", "W + s)").replace("H * s, W * s, n", "H * s, W + s, n"))
    assert "atomic_add" in tad("--backward", "--no-proof", path).stdout


FLIPPED = """import torch
import triton
import triton.language as tl


@triton.jit
def k(x, y, n, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.program_id(1) * B + tl.arange(0, B)
    a = tl.load(x + row * n + (n - 1 - c), mask=c < n, other=0.0)
    tl.store(y + row * n + c, a * a * (c + 1), mask=c < n)


def run(x, columns):
    m, n = x.shape
    y = torch.zeros(m, n)
    k[(m, triton.cdiv(columns, 16))](x, y, n, B=16)
    return y
"""


@pytest.mark.parametrize("columns", [37, 20])
def test_rows_that_are_turned_over(columns: int, tmp_path: Path, interpreter: Worker) -> None:
    """All of a row is stored, or, where the grid ends before it does, zeros are there first."""
    text = proved_module(tmp_path, FLIPPED)
    assert "(0, min(max(min(programs[1] * B, n) - n + 1, 0), 1))," in text
    random = np.random.default_rng(11)
    given, upstream = random.uniform(-1, 1, (3, 37)), random.uniform(-1, 1, (3, 37))
    found = call_function(
        text, "run", [given, columns], wrt=[0], grad_outputs=[upstream], worker=interpreter
    ).gradients
    read = min(-(-columns // 16) * 16, 37)
    want = 2 * given * (upstream * (np.arange(37) + 1) * (np.arange(37) < read))[:, ::-1]
    np.testing.assert_allclose(found[0], want, rtol=1e-6)


PADDED = """import torch
import triton
import triton.language as tl


@triton.jit
def k(x, y, N, NO, left, B: tl.constexpr):
    row = tl.program_id(0)
    o = tl.program_id(1) * B + tl.arange(0, B)
    c = o - left
    a = tl.load(x + row * N + c, mask=(c >= 0) & (c < N), other=0.0)
    tl.store(y + row * NO + o, a * a, mask=o < NO)


def run(x, left, right):
    M, N = x.shape
    NO = N + left + right
    y = torch.empty(M, NO)
    k[(M, triton.cdiv(NO, 8))](x, y, N, NO, left, B=8)
    return y
"""


@pytest.mark.parametrize(("left", "right"), [(2, 3), (0, 0), (-2, 5), (3, -4), (-1, -1)])
def test_rows_that_begin_later(left: int, right: int, tmp_path: Path, interpreter: Worker) -> None:
    """All of a row is stored from `left` on; nothing is known of a row that begins in front of the lanes."""
    text = proved_module(tmp_path, PADDED)
    assert "(0, min(max(left + 1, 0), 1))," in text
    assert "(1, max(min(min(programs_[1] * B, N + left), NO) - left, 0))," in text
    random = np.random.default_rng(12)
    given, upstream = random.uniform(-1, 1, (3, 21)), random.uniform(-1, 1, (3, 21 + left + right))
    found = call_function(
        text, "run", [given, left, right], wrt=[0], grad_outputs=[upstream], worker=interpreter
    ).gradients
    want = np.zeros_like(given)
    for c in range(21):
        if 0 <= c + left < upstream.shape[1]:
            want[:, c] = 2 * given[:, c] * upstream[:, c + left]
    np.testing.assert_allclose(found[0], want, rtol=1e-6)


BESIDE = """import torch
import triton
import triton.language as tl


@triton.jit
def k(a, b, y, NA, NB, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.program_id(1) * B + tl.arange(0, B)
    first = c < NA
    p = tl.load(a + row * NA + c, mask=first, other=0.0)
    q = tl.load(b + row * NB + c - NA, mask=(c >= NA) & (c < NA + NB), other=0.0)
    tl.store(y + row * (NA + NB) + c, tl.where(first, p * p, q * q), mask=c < NA + NB)


def run(a, b):
    M, NA = a.shape
    NB = b.shape[1]
    y = torch.empty(M, NA + NB)
    k[(M, triton.cdiv(NA + NB, 8))](a, b, y, NA, NB, B=8)
    return y
"""


def test_rows_side_by_side_are_stored_whole(tmp_path: Path) -> None:
    text = proved_module(tmp_path, BESIDE)
    stored = re.sub(r"\s+", "", text.replace("programs_[", "programs["))
    assert "(1,min(programs[1]*B,NA)),(NA,programs[0])" in stored
    assert "(1,max(min(programs[1]*B,NA+NB)-NA,0))," in stored
