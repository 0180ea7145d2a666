"""Launchers of kernels that update in place: the written module against formulas, the tensor used before and after."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from tests.emitted.plan import ROOT, tad
from tests.fixture_files import functions
from tests.support.worker import Worker
from tests.triton.interpret import call_function

KERNELS = ROOT / "tests" / "emitted" / "kernels" / "in_place.py"
FIRST, LAST = functions(KERNELS)["stored_before_and_after"]
KERNEL = "\n".join(KERNELS.read_text().split("\n")[FIRST - 1 : LAST])
MIRRORED = f"""import torch
import triton
import triton.language as tl


{KERNEL}


def mirror(x):
    y = x * 1.0
    before = x * 3.0
    out = torch.empty_like(y)
    stored_before_and_after[(triton.cdiv(y.numel(), 8),)](y, out, y.numel(), BLOCK=8)
    return before + y + out * x
"""


def test_contents_between_two_stores(tmp_path: Path, interpreter: Worker) -> None:
    """Contents from before, after the first and after the second store: all are in the gradient."""
    source = tmp_path / "mirror.py"
    source.write_text(MIRRORED)
    text = tad("--backward", source, "--no-proof").stdout
    assert re.search(r"x_amid = _saved_(copy|around)\(x\)", text)
    random = np.random.default_rng(4)
    x, up = random.uniform(-1.0, 1.0, 24), random.uniform(0.5, 1.5, 24)
    result = call_function(text, "mirror", [x], wrt=[0], grad_outputs=[up], worker=interpreter)
    order = np.arange(24).reshape(3, 8)[:, ::-1].ravel()
    factor = np.exp(x[order])
    np.testing.assert_allclose(result.outputs[0], 3 * x + x * factor * (1 + x), rtol=1e-5)
    want = up * (3 + factor * (1 + 2 * x)) + (up * x * (1 + x))[order] * np.exp(x)
    np.testing.assert_allclose(result.gradients[0], want, rtol=1e-4)


def test_a_tuned_backward_begins_each_try_with_the_copy(tmp_path: Path) -> None:
    """The tries of a tuner would each repeat the stores in what the last one left."""
    source = tmp_path / "mirror.py"
    tuner = (
        '@triton.autotune([triton.Config({"BLOCK": 8})], key=["n"], restore_value=["x"])\n@triton'
    )
    source.write_text(MIRRORED.replace("@triton", tuner, 1).replace(", BLOCK=8", ""))
    text = tad("--backward", source, "--no-proof").stdout
    assert 'restore_value=["dx", "x_amid"]' in text


def test_copies_are_told(tmp_path: Path) -> None:
    """Where the backward keeps copies; none where the kernel stores elsewhere or needs no value."""
    source = tmp_path / "mirror.py"
    source.write_text(MIRRORED)
    run = tad("--check", "--grad", source, "-f", "concise")
    copies = [line for line in run.stdout.splitlines() if "hint[gradient-copy]" in line]
    assert len(copies) == 1
    assert ":7:29: " in copies[0]
    assert "two copies of `x` from before the launch" in copies[0]
    source.write_text(
        MIRRORED.replace("tl.store(x + start + i, tl.exp(a))", "").replace("tl.exp", "")
    )
    source.write_text(
        source.read_text().replace("a * mirrored", "2.0 * a").replace("mirrored * a", "a")
    )
    assert "gradient-copy" not in tad("--check", "--grad", source, "-f", "concise").stdout


STEPPED = """import torch
import triton
import triton.language as tl


@triton.jit
def step_kernel(x, h, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    for t in range(n):
        a = tl.load(x + (row * n + t) * stride + i, mask=i < stride, other=0.0)
        s = tl.load(h + row * stride + i, mask=i < stride, other=0.0)
        tl.store(h + row * stride + i, s * s + a, mask=i < stride)


def step(x, h):
    state = h * 1.0
    step_kernel[(x.shape[0],)](x, state, x.shape[1], x.shape[2], BLOCK=8)
    return state
"""


def test_state_in_memory(tmp_path: Path, interpreter: Worker) -> None:
    """A state that each iteration overwrites: the launcher allocates a tape of what each iteration read."""
    source = tmp_path / "step.py"
    source.write_text(STEPPED)
    text = tad("--backward", source, "--no-proof").stdout
    assert re.search(r"h_amid = _saved_(copy|around)\(h\)", text)
    assert "h_tape = _state_tape(" in text
    random = np.random.default_rng(5)
    x, h = random.uniform(-0.6, 0.6, (3, 4, 6)), random.uniform(-0.6, 0.6, (3, 6))
    up = random.uniform(0.5, 1.5, (3, 6))
    result = call_function(text, "step", [x, h], wrt=[0, 1], grad_outputs=[up], worker=interpreter)
    states = [h]
    for t in range(4):
        states.append(states[-1] ** 2 + x[:, t])
    np.testing.assert_allclose(result.outputs[0], states[-1], rtol=1e-5)
    want = np.zeros_like(x)
    for t in reversed(range(4)):
        want[:, t] = up
        up = up * 2.0 * states[t]
    np.testing.assert_allclose(result.gradients[0], want, rtol=1e-4)
    np.testing.assert_allclose(result.gradients[1], up, rtol=1e-4)


def text_of(kernel: str) -> str:
    """The backward alone, of a kernel that overwrites what it reads."""
    file = ROOT / "tests" / "emitted" / "kernels" / "overwritten.py"
    text = tad("--backward", f"{file}:{kernel}", "--no-proof", "--wrapper", "none").stdout
    return text[text.index(f"def {kernel}_backward") :]


def test_what_a_load_sees_costs_no_more_than_it_must() -> None:
    """A tape only where iterations meet, stores repeated in a copy only where their order matters to a load."""
    assert "_tape" in text_of("branches_of_all_turns")
    assert "_tape" not in text_of("branches_of_their_own_turns")
    assert "y_amid" not in text_of("parts_that_never_meet")
    both = text_of("before_and_behind")
    assert "a = tl.load(y_before + lanes)" in both
    assert "b = tl.load(y + y_offsets)" in both
