"""Ids that number samples, heads, windows and rows: programs that share an element sum it without atomics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import proved_module
from tests.emitted.test_loaded_states import HEAD, gradients_of
from tests.support.worker import Worker

MODULATED = """@triton.jit
def k(x_ptr, mod_ptr, y_ptr, rows, T, D, BD: tl.constexpr):
    row = tl.program_id(0)
    GUARD
    cols = tl.arange(0, BD)
    m = cols < D
    x = tl.load(x_ptr + row * D + cols, mask=m, other=0.0)
    sample = row // T
    shift = tl.load(mod_ptr + sample * STEP + cols, mask=m, other=0.0)
    scale = tl.load(mod_ptr + sample * STEP + BEHIND + cols, mask=m, other=0.0)
    tl.store(y_ptr + row * D + cols, x * (1 + scale * scale) + shift, mask=m)


def run(x, mod):
    B, T, D = x.shape
    y = torch.zeros_like(x)
    k[(B * T + SPARE,)](x, mod, y, B * T, T, D, BD=8)
    return y
"""


@pytest.mark.parametrize(
    ("guard", "step", "behind", "spare", "is_free"),
    [
        ("pass", "2 * D", "D", "0", True),
        ("if row >= rows:\n        return", "2 * D", "D", "0", True),
        ("if row >= rows:\n        return", "2 * D", "D", "5", True),  # programs without a row
        ("pass", "D", "D", "0", False),  # a sample's scale is the next one's shift
        ("pass", "2 * D", "D - 1", "0", False),  # the chunks of one sample overlap
    ],
)
def test_rows_of_a_sample_share_its_modulation(
    guard: str,
    step: str,
    behind: str,
    spare: str,
    is_free: bool,
    tmp_path: Path,
    interpreter: Worker,
) -> None:
    parts = {"GUARD": guard, "STEP": step, "BEHIND": behind, "SPARE": spare}
    text = MODULATED
    for name, part in parts.items():
        text = text.replace(name, part)
    text = proved_module(tmp_path, HEAD + text)
    if is_free:
        assert "tl.atomic_add" not in text
    random = np.random.default_rng(7)
    inputs = [random.uniform(-1, 1, (3, 4, 5)), random.uniform(-1, 1, (3 + 1, 2 * 5))]
    gradients_of(text, inputs, interpreter)


BIASED = """@triton.jit
def k(s_ptr, bias_ptr, y_ptr, H, T, BT: tl.constexpr):
    row = tl.program_id(0)
    sample = row // (H * T)
    t = row % T
    j = tl.arange(0, BT)
    m = j < T
    s = tl.load(s_ptr + row * T + j, mask=m, other=-float("inf"))
    bias = tl.load(bias_ptr + PLACE + j, mask=m, other=0.0)
    s = tl.where(m, s + bias, -float("inf"))
    e = tl.exp(s - tl.max(s, axis=0))
    tl.store(y_ptr + row * T + j, e / tl.sum(e, axis=0), mask=m)


def run(s, bias):
    B, H, T, _ = s.shape
    y = torch.empty_like(s)
    k[(B * H * T,)](s, bias, y, H, T, BT=4)
    return y
"""


@pytest.mark.parametrize(
    "place",
    [
        "(sample * T + t) * T",  # one for all heads
        "t * T",  # one for all heads of all samples
        "sample * T",  # one for all rows of a sample
        "row // T % H * T",  # one for all rows of a head
        "row // T * T",
    ],
)
def test_digits_that_the_kernel_does_not_compute(
    place: str, tmp_path: Path, interpreter: Worker
) -> None:
    text = proved_module(tmp_path, HEAD + BIASED.replace("PLACE", place))
    assert "tl.atomic_add" not in text
    random = np.random.default_rng(7)
    inputs = [random.uniform(-1, 1, (2, 3, 4, 4)), random.uniform(-1, 1, (6, 4, 4))]
    gradients_of(text, inputs, interpreter)


WINDOWS = """@triton.jit
def k(x_ptr, y_ptr, H, W, C, shift, S: tl.constexpr, BC: tl.constexpr):
    pid = tl.program_id(0)
    c = tl.arange(0, BC)
    columns = W // S
    token = pid % (S * S)
    window = pid // (S * S)
    sample = window // ((H // S) * columns)
    window = window % ((H // S) * columns)
    h = (window // columns) * HIGH + token // S
    w = (window % columns) * S + token % S
    h = (h + shift) % MODULUS
    w = (w + shift) % W
    x = tl.load(x_ptr + ((sample * ROWS + h) * W + w) * C + c, mask=c < C, other=0.0)
    tl.store(y_ptr + pid * C + c, x * x, mask=c < C)


def run(x):
    N, H, W, C = x.shape
    y = torch.empty((N * H * W, C), dtype=torch.float32)
    k[(N * H * W,)](x, y, H, W, C, 1, S=2, BC=4)
    return y
"""


@pytest.mark.parametrize(
    ("high", "modulus", "rows", "is_free"),
    [
        ("S", "H", "H", True),
        (
            "S",
            "H",
            "(H // S * S)",
            False,
        ),  # of other pictures than these, a row may be the next sample's
        ("S", "(H - 2)", "H", False),  # some rows are read twice
        ("(S + 1)", "H", "H", False),  # windows that lie on each other behind the turn
    ],
)
def test_shifted_windows(
    high: str, modulus: str, rows: str, is_free: bool, tmp_path: Path, interpreter: Worker
) -> None:
    parts = {"HIGH": high, "MODULUS": modulus, "ROWS": rows}
    text = HEAD + WINDOWS
    for name, part in parts.items():
        text = text.replace(name, part)
    text = proved_module(tmp_path, text)
    assert ("tl.atomic_add" not in text) == is_free
    gradients_of(text, [np.random.default_rng(7).uniform(-1, 1, (2, 6, 4, 3))], interpreter)


HALVES = """@triton.jit
def k(x_ptr, y_ptr, H, D: tl.constexpr):
    pid = tl.program_id(0)
    head = pid % H
    row = pid // H
    half: tl.constexpr = D // 2
    i = tl.arange(0, half)
    base = x_ptr + row * ROW + head * D
    a = tl.load(base + i)
    b = tl.load(base + half + i)
    c = tl.load(base + H * D + i)
    d = tl.load(base + H * D + half + i)
    y = y_ptr + pid * D
    tl.store(y + i, a * c - b * d)
    tl.store(y + half + i, a * d + b * c)


def run(x):
    N, _, H, D = x.shape
    y = torch.empty((N, H, D), dtype=torch.float32)
    k[(N * H,)](x, y, H, D)
    return y
"""


@pytest.mark.parametrize(("row", "is_free"), [("2 * H * D", True), ("H * D", False)])
def test_halves_of_packed_heads(
    row: str, is_free: bool, tmp_path: Path, interpreter: Worker
) -> None:
    text = proved_module(tmp_path, HEAD + HALVES.replace("ROW", row))
    if is_free:
        assert "tl.atomic_add" not in text
    gradients_of(text, [np.random.default_rng(7).uniform(-1, 1, (3, 2, 2, 4))], interpreter)


HALF_OF_A_ROW = """@triton.jit
def k(x_ptr, y_ptr, n):
    pid = tl.program_id(0)
    a = tl.load(x_ptr + pid * n)
    b = tl.load(x_ptr + pid * n + n // 2)
    tl.store(y_ptr + pid, a * b)


def run(x):
    N, n = x.shape
    y = torch.empty((N,), dtype=torch.float32)
    k[(N,)](x, y, n)
    return y
"""


@pytest.mark.parametrize("n", [1, 2, 5])
def test_half_of_a_row_of_one_is_its_start(n: int, tmp_path: Path, interpreter: Worker) -> None:
    """`n // 2` is 0 for one element, which both loads read then."""
    text = proved_module(tmp_path, HEAD + HALF_OF_A_ROW)
    gradients_of(text, [np.random.default_rng(7).uniform(-1, 1, (3, n))], interpreter)
