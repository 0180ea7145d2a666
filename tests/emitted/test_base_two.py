"""Exponentials of products of matrices are taken to base 2, where the factor costs nothing for each element."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.emitted.plan import tad
from tests.emitted.test_statistics import BASE_2, CAUSAL, GUARDED_TWICE, KERNEL, NATURAL

LOG2_E = "1.4426950408889634"
SCORE = "tl.dot(a, tl.trans(b)) * scale"

SOFT_CAP = ((SCORE, "20.0 * tl.inline_tanh(tl.dot(a, tl.trans(b)) * scale / 20.0)"),)
SLOPE = ((SCORE, f"{SCORE} + 0.1 * (c[None, :] - rows[:, None])"),)
DIVIDED = ((SCORE, "tl.dot(a, tl.trans(b)) / scale"),)
CONSTANT = ((SCORE, "tl.dot(a, tl.trans(b)) * 0.25"),)
BARE = ((SCORE, "tl.dot(a, tl.trans(b))"),)
LARGE = (('* scale, -float("inf"))', "* scale, -1e9)"),)
# The first row sees nothing: all of its scores are -1e9.
NOTHING_SEEN = (*LARGE, ("c[None, :] < n, tl.dot", "rows[:, None] > c[None, :], tl.dot"))
BIAS = (
    ("q, k, v, o, lse, n,", "q, k, v, o, bias, lse, n,"),
    (
        SCORE,
        f"{SCORE} + tl.load(bias + rows[:, None] * n + c[None, :], "
        "mask=inside & (c[None, :] < n), other=0.0)",
    ),
    ("def attention(q, k, v):", "def attention(q, k, v, bias):"),
    ("range(0, n, N)", "range(0, n, N)"),
)


def backwards(tmp_path: Path, *changes: tuple[str, str], wrt: str = "") -> list[str]:
    """The proved kernels of the statistics' forward with these changes."""
    text = KERNEL
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    text = text.replace("tl.inline_tanh(", "libdevice.tanh(")
    text = text.replace(
        "import triton\n", "import triton\nfrom triton.language.extra import libdevice\n"
    )
    path = tmp_path / "attend.py"
    path.write_text(text)
    done = tad("--backward", path, *(["--wrt", wrt] if wrt else []))
    assert done.returncode == 0, done.stderr
    assert "gradients proved" in done.stderr
    assert "precision" not in done.stderr
    kernels = [
        part
        for part in re.split(r"\n\n\n", done.stdout)
        if re.match(r"@triton\.jit\ndef attend_backward", part)
    ]
    assert kernels
    return kernels


@pytest.mark.parametrize(
    "changes",
    [(), CAUSAL, GUARDED_TWICE, SOFT_CAP, SLOPE, DIVIDED, CONSTANT, BARE, LARGE, NOTHING_SEEN],
    ids=lambda changes: changes[-1][1][:40] if changes else "plain",
)
def test_base_two(tmp_path: Path, changes: tuple) -> None:
    """No element is multiplied by log2(e) for its own sake, and what is masked stands around the difference."""
    for kernel in backwards(tmp_path, *changes):
        assert "tl.exp(" not in kernel
        assert "tl.exp2(" in kernel
        assert kernel.count(LOG2_E) <= (3 if "masked" in kernel else 2)
        assert re.search(r" - (lse|calm)_log2e\[(:, None|None, :)\]", kernel), kernel


def test_the_scale_takes_the_factor_in_once(tmp_path: Path) -> None:
    """Outside of all loops, and the product has no other factor."""
    for kernel in backwards(tmp_path):
        assert f"\n    scale_log2e = scale * {LOG2_E}\n" in kernel
        product = r"tl\.dot\([ab], .*\) \* scale_log2e - lse_log2e\[(:, None|None, :)\]"
        assert re.search(product, kernel), kernel
        assert re.search(r"s = tl\.where\(.*\n +p = tl\.exp2\(s\)\n", kernel, re.S), kernel


@pytest.mark.parametrize("changes", [BASE_2, NATURAL])
def test_what_is_to_base_two_stays(tmp_path: Path, changes: tuple) -> None:
    for kernel in backwards(tmp_path, *changes):
        assert "scale_log2e" not in kernel


def test_a_constant_for_minus_infinity_meets_its_row_as_it_is(tmp_path: Path) -> None:
    """-1e9 * log2(e) is rounded by more than a row's sum: their difference is taken before."""
    for kernel in backwards(tmp_path, *NOTHING_SEEN):
        assert re.search(rf"masked = \(-1000000000\.0 - \w+\) \* {LOG2_E}", kernel), kernel


def test_a_bias_of_any_size_stays_as_it_is(tmp_path: Path) -> None:
    """It may hold the least float, which has no multiple."""
    for kernel in backwards(tmp_path, *BIAS):
        assert "tl.exp2(" not in kernel


def test_the_gradient_of_the_scale(tmp_path: Path) -> None:
    kernels = backwards(tmp_path, wrt="q,k,v,scale")
    assert any("scale_log2e" in kernel for kernel in kernels)
    assert any("dscale" in kernel for kernel in kernels)


@pytest.mark.parametrize("changes", [(), BASE_2, NATURAL, CAUSAL, CONSTANT, LARGE])
def test_the_scale_fuses_with_the_row(tmp_path: Path, changes: tuple) -> None:
    """The difference of dP and its row is scaled where it is made, not once more behind it."""
    for kernel in backwards(tmp_path, *changes):
        assert re.search(r" = tl\.dot\((grad|w), .*\) \* .* \+ ", kernel), kernel
        assert not re.search(r"ds \* |\(dp \* p\) \* |dp \* p \* ", kernel), kernel
