"""What a loop begins with is one of its iterations, done in front of it: a window's first element."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import proved_module
from tests.emitted.test_loaded_states import HEAD, gradients_of, kernel_of
from tests.support.worker import Worker

WINDOWS = """@triton.jit
def k(x_ptr, y_ptr, T, O, total, K: tl.constexpr, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    ok = o < total
    p = x_ptr + o // O * T + o % O * 2
    best = FIRST
    for k in tl.static_range(1, K):
        best = NEXT
    tl.store(y_ptr + o, best, mask=ok)


def run(x):
    N, T = x.shape
    O = (T - 3) // 2 + 1
    y = torch.empty((N, O), dtype=torch.float32)
    k[(triton.cdiv(N * O, 8),)](x, y, T, O, N * O, K=3, B=8)
    return y
"""
LOAD = "tl.load(p{}, mask=ok, other={})"


@pytest.mark.parametrize(
    ("first", "following", "is_rolled"),
    [
        (LOAD.format("", "-1e9"), f"tl.maximum(best, {LOAD.format(' + k', '-1e9')})", True),
        (LOAD.format("", "1e9"), f"tl.minimum({LOAD.format(' + k', '1e9')}, best)", True),
        (LOAD.format("", "0.0"), f"best + {LOAD.format(' + k', '0.0')}", True),
        (f"{LOAD.format('', '0.0')} * 2.0", f"best + {LOAD.format(' + k', '0.0')} * 2.0", True),
        (LOAD.format("", "0.0"), f"best + {LOAD.format(' + k', '0.0')} * 2.0", False),
        (LOAD.format(" + 1", "0.0"), f"best + {LOAD.format(' + k', '0.0')}", False),
        (LOAD.format("", "0.0"), f"best + {LOAD.format(' + k', '1.0')}", False),
        (LOAD.format("", "0.0"), f"best * {LOAD.format(' + k', '0.0')}", False),
    ],
)
def test_the_first_element_of_a_window(
    first: str, following: str, is_rolled: bool, tmp_path: Path, interpreter: Worker
) -> None:
    text = WINDOWS.replace("FIRST", first).replace("NEXT", following)
    text = proved_module(tmp_path, HEAD + text)
    kernel = kernel_of(text)
    assert ("range(1, K)" in kernel or "K - 1" in kernel) != is_rolled
    gradients_of(text, [np.random.default_rng(7).uniform(-1, 1, (3, 9))], interpreter)


def test_a_loop_that_may_end_before_it_stays(tmp_path: Path, interpreter: Worker) -> None:
    """Of two elements, half as many are in the loop: none but the one in front of it."""
    text = WINDOWS.replace("FIRST", LOAD.format("", "0.0"))
    text = text.replace("NEXT", f"best + {LOAD.format(' + k', '0.0')}")
    text = text.replace("tl.static_range(1, K)", "range(1, T // 16)")
    text = proved_module(tmp_path, HEAD + text)
    gradients_of(text, [np.random.default_rng(7).uniform(-1, 1, (3, 9))], interpreter)
