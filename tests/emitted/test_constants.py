"""Launchers that launch kernels without a derivative, too: those stay where no gradient meets what they store."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import tad
from tests.support.worker import Worker
from tests.triton.interpret import call_function

SOURCE = """import torch
import triton
import triton.language as tl


@triton.jit
def order_kernel(x_ptr, place_ptr, sign_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    rank = tl.sum((x[:, None] > x[None, :]).to(tl.int32), axis=1)
    tl.store(place_ptr + i, rank)
    tl.store(sign_ptr + i, (x > 0.5).to(tl.float32))


@triton.jit
def sorted_kernel(x_ptr, place_ptr, sign_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    to = tl.load(place_ptr + i)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + to, x * x * (1.0 + tl.load(sign_ptr + i)))


@triton.jit
def fill_kernel(y_ptr, value, N: tl.constexpr):
    tl.store(y_ptr + tl.arange(0, N), value)


def in_order(x):
    place = torch.empty(8, dtype=torch.int32, device=x.device)
    sign = torch.empty_like(x)
    order_kernel[(1,)](x.detach(), place, sign, N=8)
    y = torch.empty_like(x)
    sorted_kernel[(1,)](x, place, sign, y, N=8)
    return y


def signs_onto(x, sign):
    place = torch.empty(8, dtype=torch.int32, device=x.device)
    order_kernel[(1,)](x, place, sign, N=8)
    y = torch.empty_like(x)
    sorted_kernel[(1,)](x, place, sign, y, N=8)
    return y


def filled(x):
    y = x * 2.0
    place = torch.arange(8, device=x.device)
    fill_kernel[(1,)](y, 0.5, N=4)
    sorted_kernel[(1,)](x, place, x, y, N=8)
    return y
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The text written for the launchers above."""
    source: Path = tmp_path_factory.mktemp("constants") / "constants.py"
    source.write_text(SOURCE)
    return tad("--backward", source).stdout


def test_places_and_signs(module: str, interpreter: Worker) -> None:
    """Whole numbers, and numbers made of comparisons, into new memory."""
    random = np.random.default_rng(3)
    x, up = random.random(8), random.random(8)
    call = call_function(module, "in_order", [x], wrt=[0], grad_outputs=[up], worker=interpreter)
    place = np.argsort(np.argsort(x))
    want = 2 * x * np.where(x > 0.5, 2, 1) * up[place]
    np.testing.assert_allclose(call.gradients[0], want, rtol=1e-6)


@pytest.mark.parametrize("name", ["signs_onto", "filled"])
def test_what_may_have_a_gradient(module: str, name: str) -> None:
    """Constants over what a gradient may go to: the launcher is left out, and the header says why."""
    assert f"def {name}(" not in module
    assert f"`{name}` is left out: it also launches" in module
