"""`--tune none`: the backward of a tuned kernel runs in the configuration that the forward's tuner took."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import tad
from tests.emitted.test_modules import TUNED as STATES
from tests.support.worker import Worker
from tests.triton.interpret import call_function

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
SQUARE = """@triton.autotune(configs=[triton.Config({"BLOCK": 4}, num_warps=2), triton.Config({"BLOCK": 8})], key=["n"])
@triton.jit
def square(x, w, y, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + offs, mask=offs < n, other=0.0)
    b = tl.load(w)
    tl.store(y + offs, a * a * b, mask=offs < n)


def run(x, w):
    y = torch.empty_like(x)
    square[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, w, y, x.numel())
    return y
"""
ALIAS = SQUARE.replace("def square", "def plain").replace(
    "\n\ndef run", "\n\nsquare = TUNE(plain)\n\n\ndef run"
)
WRAPPED = "TUNE = " + ALIAS[1 : ALIAS.index("\n")] + "\n\n\n" + ALIAS[ALIAS.index("\n") + 1 :]


@pytest.mark.parametrize("source", [SQUARE, WRAPPED], ids=["a decorator", "an alias"])
def test_no_list_of_its_own(source: str, tmp_path: Path, interpreter: Worker) -> None:
    """One tuner is left, the forward's; gradients are what they are with two."""
    path = tmp_path / "source.py"
    path.write_text(HEAD + source)
    random = np.random.default_rng(1)
    given = [random.uniform(-1, 1, (19,)), random.uniform(-1, 1, (1,))]
    upstream = [random.uniform(-1, 1, (19,))]
    found = []
    for how in ("forward", "none"):
        run = tad("--backward", path, "--tune", how)
        assert run.returncode == 0, run.stderr
        assert "gradients proved" in run.stderr
        is_tuned = how == "forward"
        assert run.stdout.count("triton.autotune(") == 1 + is_tuned
        assert ("ctx.tuned = _tuned(square)" in run.stdout) != is_tuned
        assert ("**ctx.tuned" in run.stdout) != is_tuned
        found.append(
            call_function(
                run.stdout, "run", given, wrt=[0, 1], grad_outputs=upstream, worker=interpreter
            ).gradients
        )
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    np.testing.assert_allclose(found[1][0], 2 * given[0] * given[1] * upstream[0], rtol=1e-5)


def test_states_of_a_tuned_loop(tmp_path: Path, interpreter: Worker) -> None:
    """The memory that a backward asks for is that of the configuration; heuristics stay."""
    path = tmp_path / "source.py"
    path.write_text(STATES)
    random = np.random.default_rng(2)
    given = [random.uniform(-1, 1, (5, 11)), None]
    upstream = [random.uniform(-1, 1, (5, 11))]
    found = []
    for how in ("forward", "none"):
        text = tad("--backward", path, "--tune", how).stdout
        assert text.count("@triton.heuristics(") == 2
        found.append(
            call_function(
                text, "decay", given, wrt=[0], grad_outputs=upstream, worker=interpreter
            ).gradients[0]
        )
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_what_is_not_tuned_stays(tmp_path: Path) -> None:
    """Without a tuner the option changes nothing."""
    path = tmp_path / "source.py"
    path.write_text(
        HEAD
        + SQUARE[SQUARE.index("@triton.jit") :].replace(
            "x.numel())\n    return", "x.numel(), BLOCK=4)\n    return"
        )
    )
    texts = {tad("--backward", path, "--tune", how).stdout for how in ("forward", "none")}
    assert len(texts) == 1


@pytest.mark.parametrize(
    "arguments",
    [("--backward", "FILE", "--tune=none"), ("--tune", "none", "--backward", "FILE")],
    ids=["behind", "in front"],
)
def test_the_place_of_the_option(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """`--tune` is a command, too."""
    path = tmp_path / "source.py"
    path.write_text(HEAD + SQUARE)
    run = tad(*[path if a == "FILE" else a for a in arguments])
    assert run.returncode == 0, run.stderr
    assert "ctx.tuned" in run.stdout


def test_an_operator_keeps_no_configuration(tmp_path: Path) -> None:
    """Wrong use is said."""
    path = tmp_path / "source.py"
    path.write_text(HEAD + SQUARE)
    run = tad("--backward", path, "--wrapper", "triton_op", "--tune", "none")
    assert run.returncode == 2
    assert "--tune none has no meaning with --wrapper triton_op" in run.stderr
