"""Windows of a picture that overlap: each element adds up what the windows that it is in would have added."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import tad
from tests.support.worker import Worker
from tests.triton.interpret import call_function

HEAD = """import torch
import triton
import triton.language as tl


@triton.jit
def k(x, y, H, W, OH, OW, n, K: tl.constexpr, S: tl.constexpr, P: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    ow = i % OW
    oh = i // OW % OH
"""
UNFOLDED = """    kw = i // (OW * OH) % K
    kh = i // (OW * OH * K) % K
    plane = i // (OW * OH * K * K)
    h = oh * S + kh{pad}
    w = ow * S + kw{pad}
    a = tl.load(x + (plane * H + h) * W + w, mask={mask}, other=0.0)
    tl.store(y + i, a * a, mask=m)
"""
SUMMED = """    plane = i // (OW * OH)
    total = tl.zeros([B], tl.float32)
    for kh in range(K):
        for kw in range(K):
            h = oh * S + kh{pad}
            w = ow * S + kw{pad}
            total += tl.load(x + (plane * H + h) * W + w, mask={mask}, other=0.0)
    tl.store(y + i, total * 0.5, mask=m)
"""
RUN = """

def run(x, K, S, P):
    N, H, W = x.shape
    OH, OW = {height}, {width}
    y = torch.empty({shape})
    n = y.numel()
    k[(triton.cdiv(n, 16),)](x, y, H, W, OH, OW, n, K=K, S=S, P=P, B=16)
    return y
"""
PLAIN = {"height": "(H - K) // S + 1", "width": "(W - K) // S + 1"}
PADDED = {"height": "(H + 2 * P - K) // S + 1", "width": "(W + 2 * P - K) // S + 1"}
INSIDE = "m & (h >= 0) & (h < H) & (w >= 0) & (w < W)"


def text_of(tmp_path: Path, is_unfolded: bool, is_padded: bool) -> str:
    body = UNFOLDED if is_unfolded else SUMMED
    body = body.format(pad=" - P" if is_padded else "", mask=INSIDE if is_padded else "m")
    shape = "N, K * K, OH, OW" if is_unfolded else "N, OH, OW"
    sizes = PADDED if is_padded else PLAIN
    source = tmp_path / "k.py"
    source.write_text(HEAD + body + RUN.format(shape=shape, **sizes))
    run = tad("--backward", "--time-limit", 60, source)
    assert "gradients proved" in run.stderr, run.stderr
    return run.stdout


def windows(x: np.ndarray, K: int, S: int, P: int) -> np.ndarray:
    """Of each element of each window: the plane, the row and the column of the picture with its padding."""
    N, H, W = x.shape
    OH, OW = (H + 2 * P - K) // S + 1, (W + 2 * P - K) // S + 1
    plane, kh, kw, oh, ow = np.meshgrid(*map(np.arange, (N, K, K, OH, OW)), indexing="ij")
    return np.stack((plane, oh * S + kh, ow * S + kw))


@pytest.mark.parametrize("is_unfolded", [True, False])
@pytest.mark.parametrize("is_padded", [True, False])
@pytest.mark.parametrize("K, S", [(3, 1), (3, 2), (2, 3)])
def test_windows_are_gathered(
    is_unfolded: bool, is_padded: bool, K: int, S: int, tmp_path: Path, interpreter: Worker
) -> None:
    text = text_of(tmp_path, is_unfolded, is_padded)
    assert "atomic" not in text
    P = 1 if is_padded else 0
    random = np.random.default_rng(3)
    x = random.uniform(-1, 1, (2, 7, 6))
    at = windows(x, K, S, P)
    padded, want = np.pad(x, ((0, 0), (P, P), (P, P))), np.zeros((2, 7 + 2 * P, 6 + 2 * P))
    shape = at.shape[1:]
    if is_unfolded:
        upstream = random.uniform(-1, 1, (shape[0], K * K, *shape[3:]))
        share = 2 * padded[tuple(at)] * upstream.reshape(shape)
    else:
        upstream = random.uniform(-1, 1, (shape[0], *shape[3:]))
        share = np.broadcast_to(0.5 * upstream[:, None, None], shape)
    np.add.at(want, tuple(at), share)
    found = call_function(
        text, "run", [x, K, S, P], wrt=[0], grad_outputs=[upstream], worker=interpreter
    )
    np.testing.assert_allclose(
        found.gradients[0], want[:, P : P + 7, P : P + 6], rtol=1e-6, atol=1e-6
    )


def test_windows_that_no_mask_ends_are_looked_at(tmp_path: Path, interpreter: Worker) -> None:
    """A window that reaches into the next row has other readers: the Function raises."""
    text = text_of(tmp_path, False, False)
    assert re.search(
        r'_check_windows\(\s*"x", \(1, OW \* S \+ K - S\), \(W, OH \* S \+ K - S\)', text
    )
    source = text.replace("OH, OW = (H - K) // S + 1, (W - K) // S + 1", "OH, OW = H - K + 1, W")
    assert source != text
    x = np.ones((2, 7, 6))
    with pytest.raises(Exception, match="reach over the end of rows"):
        call_function(source, "run", [x, 3, 1, 0], wrt=[0], worker=interpreter)


def test_windows_of_a_kernel_without_a_launch_stay(tmp_path: Path) -> None:
    """Nobody knows whether a launch has a lane for each window."""
    source = tmp_path / "k.py"
    source.write_text(HEAD + SUMMED.format(pad="", mask="m"))
    assert "elements = " not in tad("--backward", "--no-proof", source).stdout


@pytest.mark.parametrize(
    "wrapper, said", [("none", "# x: (1, OW * S + K - S), (W,"), ("triton_op", "_check_windows(")]
)
def test_who_launches_by_himself_is_told(wrapper: str, said: str, tmp_path: Path) -> None:
    source = tmp_path / "k.py"
    shape = "N, OH, OW"
    source.write_text(HEAD + SUMMED.format(pad="", mask="m") + RUN.format(shape=shape, **PLAIN))
    text = tad("--backward", "--no-proof", "--wrapper", wrapper, source).stdout
    assert "elements = " in text and said in text


def test_elements_behind_the_windows_are_left_alone(tmp_path: Path) -> None:
    """Where no mask ends a row, nobody knows whether the input has what lies between its windows and the next row."""
    text = text_of(tmp_path, False, False)
    assert re.search(r"< OW \* S \+ K - S|< OW \* S \+ \(K - S\)|< offset", text)
    kernel = text[text.index("def k_backward") : text.index("class ")]
    assert kernel.count("OH * S") == 1 and kernel.count("OW * S") == 1


def test_an_element_goes_through_the_windows_that_have_it(tmp_path: Path) -> None:
    """Of nine taps in steps of two it is at most four: what is left is computed of the window's number."""
    text = text_of(tmp_path, False, True)
    kernel = text[text.index("def k_backward") : text.index("class ")]
    assert kernel.count("in tl.static_range((K + S - 1) // S):") == 2
    assert "kh = " in kernel and "range(K)" not in kernel


def test_what_is_multiplied_by_a_tap_goes_through_the_taps(tmp_path: Path) -> None:
    source = tmp_path / "k.py"
    body = SUMMED.format(pad=" - P", mask=INSIDE).replace("other=0.0)", "other=0.0) * (kw + 1)", 1)
    source.write_text(HEAD + body + RUN.format(shape="N, OH, OW", **PADDED))
    run = tad("--backward", "--time-limit", 60, source)
    assert "gradients proved" in run.stderr, run.stderr
    kernel = run.stdout[run.stdout.index("def k_backward") : run.stdout.index("class ")]
    assert (
        "in tl.static_range(K):" in kernel
        and "turn in tl.static_range((K + S - 1) // S):" in kernel
    )
