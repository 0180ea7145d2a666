"""Programs and lanes that are divided both (patches, windows): plain stores, and no zeros where all is stored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import proved_module, tad
from tests.support.worker import Worker
from tests.triton.interpret import call_function

PATCHES = """import torch
import triton
import triton.language as tl


@triton.jit
def k(x, y, C, H, W, P: tl.constexpr, B: tl.constexpr):
    patch, b = tl.program_id(0), tl.program_id(1)
    across = W // P
    top, left = patch // across, patch % across
    i = tl.arange(0, B)
    m = i < {size}
    c, r, q = {digits}
    a = tl.load(x + {at}, mask=m, other=0.0)
    tl.store(y + (b * tl.num_programs(0) + patch) * (C * P * P) + i, a * a, mask=m)


def run(x, p=4):
    b, C, H, W = x.shape
    patches = (H // p) * (W // p)
    y = torch.empty(b, patches, C * p * p)
    k[(patches, b)](x, y, C, H, W, P=p, B=triton.next_power_of_2(C * p * p))
    return y
"""
PLAIN = {
    "size": "C * P * P",
    "digits": "i // (P * P), i // P % P, i % P",
    "at": "((b * C + c) * H + top * P + r) * W + left * P + q",
}


def patches(x: np.ndarray, p: int) -> np.ndarray:
    b, C, H, W = x.shape
    x = x[:, :, : H // p * p, : W // p * p].reshape(b, C, H // p, p, W // p, p)
    return x.transpose(0, 2, 4, 1, 3, 5).reshape(b, -1, C * p * p)


@pytest.mark.parametrize("shape", [(2, 3, 8, 12), (1, 1, 4, 4), (2, 2, 9, 14)])
def test_patches_of_pictures(shape: tuple, tmp_path: Path, interpreter: Worker) -> None:
    """Pictures of 9 x 14 have rows and columns in no patch."""
    text = proved_module(tmp_path, PATCHES.format(**PLAIN))
    assert "atomic" not in text
    assert "(H * W, min(C, B // (P * P)))," in text
    random = np.random.default_rng(5)
    x = random.uniform(-1, 1, shape)
    upstream = random.uniform(-1, 1, patches(x, 4).shape)
    found = call_function(
        text, "run", [x], wrt=[0], grad_outputs=[upstream], worker=interpreter
    ).gradients
    numbers = np.arange(x.size, dtype=float).reshape(shape)
    want = np.zeros(x.size)
    want[patches(numbers, 4).astype(int).ravel()] = upstream.ravel()
    np.testing.assert_allclose(found[0], want.reshape(shape) * 2 * x, rtol=1e-5)


LEFT = {
    "rows of a patch at one place": {"at": "((b * C + c) * H + top * P) * W + left * P + q"},
    "patches that overlap by a column": {
        "at": "((b * C + c) * H + top * P + r) * W + left * (P - 1) + q"
    },
    "a digit that is left out": {"digits": "i // (P * P), i // P % P, i // P % P"},
    "digits that overlap": {"digits": "i // P, i // P % P, i % P"},
}


@pytest.mark.parametrize("name", LEFT)
def test_elements_that_meet_are_added_up(name: str, tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(PATCHES.format(**{**PLAIN, **LEFT[name]}))
    text = tad("--backward", "--no-proof", path).stdout
    assert "tl.atomic_add(" in text


# Lanes up to an end that is no number of whole channels: which channels there are, nobody knows.
def test_a_mask_that_ends_within_a_digit(tmp_path: Path, interpreter: Worker) -> None:
    text = proved_module(tmp_path, PATCHES.format(**{**PLAIN, "size": "C * P * P - 1"}))
    assert "atomic" in text
    x = np.random.default_rng(6).uniform(-1, 1, (2, 2, 4, 8))
    upstream = np.ones((2, 2, 32))
    found = call_function(
        text, "run", [x], wrt=[0], grad_outputs=[upstream], worker=interpreter
    ).gradients
    want = 2 * x
    want[:, 1, 3, 3] = want[:, 1, 3, 7] = 0  # the last lane of each patch
    np.testing.assert_allclose(found[0], want, rtol=1e-5)


def test_channels_that_memory_counts_may_be_of_two_pictures(tmp_path: Path) -> None:
    """Where there are more of them than a picture has, programs of two pictures meet."""
    path = tmp_path / "kernels.py"
    text = PATCHES.format(**{**PLAIN, "size": "tl.load(counts + b) * P * P"})
    text = text.replace("def k(x, ", "def k(x, counts, ").replace("](x, y", "](x, counts, y")
    path.write_text(text.replace("def run(x, p=4)", "def run(x, counts, p=4)"))
    assert "tl.atomic_add(" in tad("--backward", "--no-proof", path).stdout


@pytest.mark.parametrize("step", [2, 4])
def test_patches_that_a_caller_s_step_lets_overlap(
    step: int, tmp_path: Path, interpreter: Worker
) -> None:
    """`(width - patch) // step` counts patches: that makes no size of the step."""
    text = PATCHES.format(**{**PLAIN, "at": PLAIN["at"].replace("top * P", "top * S")})
    text = text.replace("left * P", "left * S").replace("def k(x, y, ", "def k(x, y, S, ")
    text = text.replace("across = W // P", "across = (W - P) // S + 1").replace("](x, y", "](x, y, s")
    text = text.replace("def run(x, p=4)", f"def run(x, p=4, s={step})")
    text = text.replace("(H // p) * (W // p)", "((H - p) // s + 1) * ((W - p) // s + 1)")
    module = proved_module(tmp_path, text)
    assert "tl.atomic_add(" in module
    x = np.random.default_rng(9).uniform(-1, 1, (1, 1, 8, 8))
    rows = range(0, 8 - 3, step)
    upstream = np.random.default_rng(10).uniform(-1, 1, (1, len(rows) ** 2, 16))
    found = call_function(
        module, "run", [x], wrt=[0], grad_outputs=[upstream], worker=interpreter
    ).gradients
    want = np.zeros_like(x)
    for n, (top, left) in enumerate((top, left) for top in rows for left in rows):
        want[0, 0, top : top + 4, left : left + 4] += upstream[0, n].reshape(4, 4)
    np.testing.assert_allclose(found[0], want * 2 * x, rtol=1e-5)


WINDOWS = """import torch
import triton
import triton.language as tl


@triton.jit
def k(x, y, H, W, C, S: tl.constexpr, BS: tl.constexpr, BC: tl.constexpr):
    window, b = tl.program_id(0), tl.program_id(1)
    across = W // S
    i = tl.arange(0, BS)
    c = tl.program_id(2) * BC + tl.arange(0, BC)
    row = window // across * S + i // S
    col = window % across * S + i % S
    at = x + ((b * H + row) * W + col)[:, None] * C + c[None, :]
    m = {mask}
    a = tl.load(at, mask=m, other=0.0)
    out = y + ((b * tl.num_programs(0) + window) * BS + i)[:, None] * C + c[None, :]
    tl.store(out, a * a, mask=m)


def run(x, s=4):
    b, H, W, C = x.shape
    windows = (H // s) * (W // s)
    y = torch.empty(b, windows, s * s, C)
    k[(windows, b, triton.cdiv(C, 4))](x, y, H, W, C, S=s, BS=s * s, BC=4)
    return y
"""


@pytest.mark.parametrize("mask", ["(c < C)[None, :]", "(i < S * S)[:, None] & (c < C)[None, :]"])
def test_windows_in_tiles_of_positions_and_channels(
    mask: str, tmp_path: Path, interpreter: Worker
) -> None:
    text = proved_module(tmp_path, WINDOWS.format(mask=mask))
    assert ("atomic" in text) == (mask == "(c < C)[None, :]")  # nobody says that BS is S * S
    x = np.random.default_rng(7).uniform(-1, 1, (2, 8, 4, 7))
    upstream = np.random.default_rng(8).uniform(-1, 1, (2, 2, 16, 7))
    found = call_function(
        text, "run", [x], wrt=[0], grad_outputs=[upstream], worker=interpreter
    ).gradients
    back = upstream.reshape(2, 2, 1, 4, 4, 7).transpose(0, 1, 3, 2, 4, 5).reshape(x.shape)
    np.testing.assert_allclose(found[0], 2 * x * back, rtol=1e-5)
