"""States of a loop that memory has already: no tape, and no loop that fills one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import proved_module
from tests.support.worker import Worker
from tests.triton.interpret import call_function

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"

ADVANTAGES = """@triton.jit
def k(r_ptr, v_ptr, y_ptr, T, N, gamma, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < N
    after = tl.load(v_ptr + T * N + i, mask=m, other=0.0)
    adv = tl.zeros([B], dtype=tl.float32)
    for back in range(T):
        t = T - 1 - back
        v = tl.load(v_ptr + t * N + i, mask=m, other=0.0)
        r = tl.load(r_ptr + t * N + i, mask=m, other=0.0)
        adv = r * after * gamma - v + gamma * adv * adv
        tl.store(y_ptr + t * N + i, adv, mask=m)
        after = v


def run(r, v, gamma=0.9):
    T, N = r.shape
    y = torch.empty((T, N), dtype=torch.float32)
    k[(triton.cdiv(N, 4),)](r, v, y, T, N, gamma, B=4)
    return y
"""

TAPS = """@triton.jit
def k(x_ptr, y_ptr, T, N, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < N
    newer = tl.zeros([B], dtype=tl.float32) + 0.5
    for t in range(FIRST, T, STEP):
        x = tl.load(x_ptr + t * N + i, mask=m, other=0.0)
        tl.store(y_ptr + t * N + i, newer * newer * x, mask=m)
        newer = LEFT


def run(x):
    T, N = x.shape
    y = torch.zeros_like(x)
    k[(triton.cdiv(N, 4),)](x, y, T, N, B=4)
    return y
"""


def kernel_of(text: str) -> str:
    return text[text.index("def k_backward(") :].split("\nclass ")[0]


def gradients_of(text: str, inputs: list[np.ndarray], worker: Worker) -> None:
    """Holds the gradients against differences of the forward."""
    random = np.random.default_rng(7)
    forward = call_function(text, "run", inputs, wrt=[], worker=worker).outputs[0]
    upstream = random.uniform(-1, 1, forward.shape)
    found = call_function(
        text, "run", inputs, wrt=range(len(inputs)), grad_outputs=[upstream], worker=worker
    ).gradients
    for i, (value, gradient) in enumerate(zip(inputs, found, strict=True)):
        way = random.uniform(-1, 1, value.shape)
        sides = []
        for step in (1e-3, -1e-3):
            moved = [*inputs[:i], value + step * way, *inputs[i + 1 :]]
            sides.append(call_function(text, "run", moved, wrt=[], worker=worker).outputs[0])
        want = ((sides[0] - sides[1]) / 2e-3 * upstream).sum()
        np.testing.assert_allclose((gradient * way).sum(), want, rtol=2e-3, atol=2e-3)


def test_what_was_stored_and_what_was_loaded_is_loaded_again(
    tmp_path: Path, interpreter: Worker
) -> None:
    text = proved_module(tmp_path, HEAD + ADVANTAGES)
    kernel = kernel_of(text)
    assert "tape" not in kernel
    assert kernel.count("for ") == 1
    random = np.random.default_rng(7)
    gradients_of(text, [random.uniform(-1, 1, (5, 6)), random.uniform(-1, 1, (6, 6))], interpreter)


@pytest.mark.parametrize(
    ("first", "step", "left", "is_taped"),
    [
        (0, 1, "x", False),
        (1, 1, "x", False),
        (0, 2, "x", False),
        (0, 1, "x * 2.0 + 1.0", False),
        (0, 1, "x + newer", True),  # a recurrence: nobody has it
        (0, 1, "x * newer + x", True),
    ],
)
def test_inputs_that_are_handed_on(
    first: int, step: int, left: str, is_taped: bool, tmp_path: Path, interpreter: Worker
) -> None:
    parts = TAPS.replace("FIRST", str(first)).replace("STEP", str(step)).replace("LEFT", left)
    text = proved_module(tmp_path, HEAD + parts)
    assert ("newer_tape" in kernel_of(text)) == is_taped
    gradients_of(text, [np.random.default_rng(7).uniform(-1, 1, (7, 6))], interpreter)


def test_a_tape_that_stays_keeps_those_beside_it(tmp_path: Path) -> None:
    """Its loop runs beforehand, whatever the others need: `older` is a state of the iteration before."""
    text = TAPS.replace("FIRST", "0").replace("STEP", "1").replace("LEFT", "x")
    text = text.replace("newer * newer * x", "newer * older * x")
    text = text.replace("        newer = x", "        older = newer\n        newer = x")
    text = text.replace("    for t", "    older = tl.zeros([B], dtype=tl.float32)\n    for t")
    kernel = kernel_of(proved_module(tmp_path, HEAD + text))
    assert "newer_tape" in kernel and "older_tape" in kernel


STORED = """@triton.jit
def k(x_ptr, y_ptr, T, N, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < N
    h = tl.zeros([B], dtype=tl.float32)
    for t in range(T):
        x = tl.load(x_ptr + t * N + i, mask=m, other=0.0)
        h = OLD * h + x
        tl.store(y_ptr + PLACE, h, mask=MASK)


def run(x):
    T, N = x.shape
    y = torch.zeros((T, N), dtype=torch.TYPE)
    k[(triton.cdiv(N, 4),)](x, y, T, N, B=4)
    return y
"""


@pytest.mark.parametrize(
    ("old", "place", "mask", "element", "is_taped"),
    [
        ("h", "t * N + i", "m", "float32", False),
        ("h", "t * N + i", "m", "bfloat16", True),  # rounded
        ("h", "i", "m", "float32", True),  # the last state alone is left
        ("h", "t * N + i", "m & (t % 2 == 0)", "float32", True),
        ("tl.sum(h)", "t * N + i", "m", "float32", True),  # lanes that no store has count, too
    ],
)
def test_states_that_are_stored(
    old: str, place: str, mask: str, element: str, is_taped: bool, tmp_path: Path, interpreter: Worker
) -> None:
    parts = {"OLD": old, "PLACE": place, "MASK": mask, "TYPE": element}
    text = STORED
    for name, part in parts.items():
        text = text.replace(name, part)
    text = proved_module(tmp_path, HEAD + text)
    assert ("h_tape" in kernel_of(text)) == is_taped
    if element == "float32":
        gradients_of(text, [np.random.default_rng(7).uniform(-0.5, 0.5, (5, 6))], interpreter)
