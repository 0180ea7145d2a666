"""Reads of one tensor that programs never share: halves of rows by strides, a channel beside a loop over the others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import proved_module, tad
from tests.support.worker import Worker
from tests.triton.interpret import call_function

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
# What lies C rows further is the other half of 2 * C rows, or, of a lag, what another program reads, too.
HALVES = """@triton.jit
def k(x_ptr, y_ptr, C, T, stride_b, stride_c, stride_yb, stride_yc, B: tl.constexpr):
    t = tl.program_id(0) * B + tl.arange(0, B)
    c = tl.program_id(1)
    b = tl.program_id(2)
    m = t < T
    at = x_ptr + b * stride_b + c * stride_c + t
    left = tl.load(at, mask=m, other=0.0)
    right = tl.load(at + C * stride_c, mask=m, other=0.0)
    tl.store(y_ptr + b * stride_yb + c * stride_yc + t, left * right, mask=m)


"""
GATED = """def run(x):
    N, C2, T = x.shape
    y = torch.empty(N, C2 // 2, T, dtype=x.dtype)
    steps = x.stride(0), x.stride(1), y.stride(0), y.stride(1)
    k[(triton.cdiv(T, 8), C2 // 2, N)](x, y, C2 // 2, T, *steps, B=8)
    return y
"""
LAGGED = """def run(x, lag):
    N, C, T = x.shape
    y = torch.empty(N, C - lag, T, dtype=x.dtype)
    steps = x.stride(0), x.stride(1), y.stride(0), y.stride(1)
    k[(triton.cdiv(T, 8), C - lag, N)](x, y, lag, T, *steps, B=8)
    return y
"""
# Channel {alpha} of {all} beside a loop over {loop}.
BESIDE = """@triton.jit
def k(x_ptr, y_ptr, HW, B: tl.constexpr):
    n = tl.program_id(1)
    p = tl.program_id(0) * B + tl.arange(0, B)
    m = p < HW
    at = x_ptr + n * {all} * HW + p
    alpha = tl.load(at + {alpha} * HW, mask=m, other=0.0)
    for c in tl.static_range({loop}):
        v = tl.load(at + c * HW, mask=m, other=0.0)
        tl.store(y_ptr + (n * 3 + c - {first}) * HW + p, alpha * v, mask=m)


def run(x):
    N, C, H, W = x.shape
    assert C == {all}
    y = torch.empty(N, 3, H, W, dtype=x.dtype)
    k[(triton.cdiv(H * W, 8), N)](x, y, H * W, B=8)
    return y
"""
BAG = """@triton.jit
def k(ids_ptr, ends_ptr, w_ptr, t_ptr, y_ptr, D, B: tl.constexpr):
    bag = tl.program_id(0)
    d = tl.arange(0, B)
    m = d < D
    acc = tl.zeros([B], tl.float32)
    for i in range(tl.load(ends_ptr + bag), tl.load(ends_ptr + bag + 1)):
        row = tl.load(ids_ptr + i)
        acc += tl.load(w_ptr + i) * tl.load(t_ptr + row * D + d, mask=m, other=0.0)
    tl.store(y_ptr + bag * D + d, acc, mask=m)


def run(ids, ends, w, t):
    n, D = ends.numel() - 1, t.shape[1]
    y = torch.empty(n, D, dtype=t.dtype)
    k[(n,)](ids, ends, w, t, y, D, B=triton.next_power_of_2(D))
    return y
"""


def check(text: str, x: np.ndarray, upstream: np.ndarray, want: np.ndarray, worker: Worker) -> None:
    found = call_function(
        text, "run", [x], wrt=[0], grad_outputs=[upstream], worker=worker
    ).gradients
    np.testing.assert_allclose(found[0], want, rtol=1e-5)


def test_halves_of_rows_by_strides_are_stored(tmp_path: Path, interpreter: Worker) -> None:
    text = proved_module(tmp_path, HEAD + HALVES + GATED)
    assert "atomic" not in text and text.count("tl.store(dx_") + text.count("tl.store(dat") == 2
    x = np.random.default_rng(1).uniform(-1, 1, (2, 6, 11))
    upstream = np.random.default_rng(2).uniform(-1, 1, (2, 3, 11))
    want = np.concatenate([upstream * x[:, 3:], upstream * x[:, :3]], 1)
    check(text, x, upstream, want, interpreter)


def test_rows_at_a_lag_are_added_up(tmp_path: Path, interpreter: Worker) -> None:
    """A number of the caller's says which row, and programs meet."""
    text = proved_module(tmp_path, HEAD + HALVES + LAGGED)
    assert text.count("tl.atomic_add(") == 2
    x = np.random.default_rng(1).uniform(-1, 1, (2, 5, 11))
    upstream = np.random.default_rng(2).uniform(-1, 1, (2, 3, 11))
    found = call_function(
        text, "run", [x, 2], wrt=[0], grad_outputs=[upstream], worker=interpreter
    ).gradients
    want = np.zeros_like(x)
    want[:, :3] += upstream * x[:, 2:]
    want[:, 2:] += upstream * x[:, :3]
    np.testing.assert_allclose(found[0], want, rtol=1e-5)


@pytest.mark.parametrize(("alpha", "loop", "first"), [(3, "3", 0), (0, "1, 4", 1)])
def test_a_channel_beside_a_loop_is_stored(
    alpha: int, loop: str, first: int, tmp_path: Path, interpreter: Worker
) -> None:
    source = BESIDE.format(all=4, alpha=alpha, loop=loop, first=first)
    text = proved_module(tmp_path, HEAD + source)
    assert "atomic" not in text
    x = np.random.default_rng(1).uniform(-1, 1, (2, 4, 3, 5))
    upstream = np.random.default_rng(2).uniform(-1, 1, (2, 3, 3, 5))
    others = [c for c in range(4) if c != alpha]
    want = np.zeros_like(x)
    want[:, others] = upstream * x[:, alpha : alpha + 1]
    want[:, alpha] = (upstream * x[:, others]).sum(1)
    check(text, x, upstream, want, interpreter)


@pytest.mark.parametrize(("channels", "alpha"), [(4, 1), (3, 3)])
def test_a_channel_that_the_loop_has_is_added_up(
    channels: int, alpha: int, tmp_path: Path
) -> None:
    """Also one that is the next picture's, as far as the kernel says."""
    path = tmp_path / "kernels.py"
    path.write_text(HEAD + BESIDE.format(all=channels, alpha=alpha, loop="3", first=0))
    assert "tl.atomic_add(" in tad("--backward", "--no-proof", path).stdout


def test_rows_scattered_in_a_loop_have_no_shares(tmp_path: Path) -> None:
    """A share of one's own would be as large as the table, for each program."""
    text = proved_module(tmp_path, HEAD + BAG)
    assert "tl.atomic_add(" in text and "slices" not in text
