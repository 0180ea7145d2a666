"""A loop that uses nothing but the transposes of the tiles that it computes computes these."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.emitted.plan import tad
from tests.emitted.test_base_two import BIAS, SCORE, SLOPE, SOFT_CAP
from tests.emitted.test_statistics import CAUSAL, GUARDED_TWICE, KERNEL

SUM = "tl.dot(p.to(w.dtype), w)"
DROPPED = (
    (
        SUM,
        "tl.dot(tl.where(tl.rand(7, rows[:, None] * n + c[None, :]) > 0.1, p, 0.0).to(w.dtype), w)",
    ),
)
#: A flag chooses the scores: both of its branches are transposed.
FLAG = (
    (f"{SCORE}, -float", "score, -float"),
    (
        "        s = tl.where",
        f"        score = {SCORE}\n        if M == N:\n"
        "            score = score * 0.5 + c[None, :] * 0.01\n        s = tl.where",
    ),
)


def owners(tmp_path: Path, *changes: tuple[str, str], wrt: str = "q,k,v") -> str:
    """The proved kernels that own gradients of others than the queries."""
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
    done = tad("--backward", path, "--wrt", wrt)
    assert done.returncode == 0, done.stderr
    assert "gradients proved" in done.stderr
    kernels = [
        part
        for part in re.split(r"\n\n\n", done.stdout)
        if re.match(r"@triton\.jit\ndef attend_backward_d", part)
    ]
    assert kernels, done.stdout
    return "".join(kernels)


@pytest.mark.parametrize(
    "changes",
    [(), CAUSAL, GUARDED_TWICE, SOFT_CAP, SLOPE, DROPPED, FLAG],
    ids=["plain", "causal", "guarded", "capped", "slope", "dropped", "flag"],
)
def test_the_owners_of_keys_compute_transposes(tmp_path: Path, changes: tuple) -> None:
    """What is transposed is loaded; probabilities and their gradients are used as they are."""
    kernel = owners(tmp_path, *changes)
    assert re.search(r"tl\.dot\(b, tl\.trans\(a\)\)", kernel), kernel
    assert re.search(r"tl\.dot\(w, tl\.trans\(grad\)\)", kernel), kernel
    assert set(re.findall(r"tl\.trans\((\w+)", kernel)) == {"a", "grad"}, kernel
    assert re.search(r"lse_log2e\[None, :\]|lse\[None, :\]|calm\w*\[None, :\]", kernel), kernel


def test_a_loaded_tile_of_scores_is_transposed_once(tmp_path: Path) -> None:
    kernel = owners(tmp_path, *BIAS)
    assert re.search(r"tl\.dot\(b, tl\.trans\(a\)\)", kernel), kernel
    assert kernel.count("tl.trans(") == 3, kernel


def test_a_tile_that_is_stored_is_computed_as_it_lies(tmp_path: Path) -> None:
    """The gradient of the bias is that of the scores."""
    kernels = owners(tmp_path, *BIAS, wrt="q,k,v,bias").split("@triton.jit")
    dbias = next(kernel for kernel in kernels if "tl.store(dbias" in kernel)
    assert re.search(r"tl\.dot\(a, (tl\.trans\(b\)|b_t)\)", dbias), dbias
