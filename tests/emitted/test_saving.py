"""`--save auto`: a forward stores what its backward would run a loop for, and both are proved as one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import Runner, derived, tad
from tests.emitted.test_statistics import BASE_2, CAUSAL
from tests.emitted.test_statistics import KERNEL as ATTENTION
from tests.support.worker import Worker
from tests.triton.interpret import call_function

WITHOUT_LSE = (
    ("    tl.store(lse + head + rows, top + tl.log(total), mask=rows < n)\n", ""),
    ("    lse = torch.empty(heads, n, dtype=torch.float32, device=q.device)\n", ""),
    ("return o, lse", "return o"),
    ("q, k, v, o, lse, n", "q, k, v, o, n"),
)
NAMED_GRID = (
    (
        "    attend[(triton.cdiv(n, 16), heads)]",
        "    grid = triton.cdiv(n, 16), heads\n    attend[grid]",
    ),
)
LAMBDA = (
    (
        "    attend[(triton.cdiv(n, 16), heads)]",
        "    grid = lambda meta: (triton.cdiv(n, meta['M']), heads)\n    attend[grid]",
    ),
)

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
NORM = (
    HEAD
    + """@triton.jit
def norm(x, w, y, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0) * n
    total = 0.0
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x + row + cols, mask=cols < n, other=0.0).to(tl.float32), 0)
    mean = total / n
    squares = 0.0
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        a = tl.load(x + row + cols, mask=cols < n, other=0.0).to(tl.float32)
        away = tl.where(cols < n, a - mean, 0.0)
        squares += tl.sum(away * away, 0)
    rstd = tl.rsqrt(squares / n + eps)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        a = tl.load(x + row + cols, mask=cols < n, other=0.0).to(tl.float32)
        b = tl.load(w + cols, mask=cols < n, other=0.0).to(tl.float32)
        tl.store(y + row + cols, (a - mean) * rstd * b, mask=cols < n)


def run(x, w):
    y = torch.empty_like(x)
    norm[(x.shape[0],)](x, w, y, x.shape[1], 1e-5, BLOCK=16)
    return y
"""
)
LOSS = (
    HEAD
    + """@triton.jit
def loss(x, t, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) * n
    top = -float("inf")
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        a = tl.load(x + row + cols, mask=cols < n, other=-float("inf")).to(tl.float32)
        top = tl.maximum(top, tl.max(a, 0))
    total = 0.0
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        a = tl.load(x + row + cols, mask=cols < n, other=-float("inf")).to(tl.float32)
        total += tl.sum(tl.exp(a - top), 0)
    label = tl.load(t + tl.program_id(0))
    picked = tl.load(x + row + label).to(tl.float32)
    tl.store(out + tl.program_id(0), top + tl.log(total) - picked)


def run(x, t):
    out = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
    loss[(x.shape[0],)](x, t, out, x.shape[1], BLOCK=16)
    return out
"""
)


TILES = (
    HEAD
    + """@triton.jit
def tiles(x, w, y, m, n, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    squares = tl.zeros([ROWS], tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        inside = (rows[:, None] < m) & (cols[None, :] < n)
        a = tl.load(x + rows[:, None] * n + cols[None, :], mask=inside, other=0.0).to(tl.float32)
        squares += tl.sum(a * a, 1)
    rstd = tl.rsqrt(squares / n + eps)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        inside = (rows[:, None] < m) & (cols[None, :] < n)
        a = tl.load(x + rows[:, None] * n + cols[None, :], mask=inside, other=0.0).to(tl.float32)
        b = tl.load(w + cols, mask=cols < n, other=0.0).to(tl.float32)
        tl.store(y + rows[:, None] * n + cols[None, :], a * rstd[:, None] * b[None, :], mask=inside)


def run(x, w):
    y = torch.empty_like(x)
    m, n = x.shape
    tiles[(triton.cdiv(m, 4),)](x, w, y, m, n, 1e-5, ROWS=4, BLOCK=16)
    return y
"""
)

RETURNS = """    row = tl.program_id(0) * n
    if tl.load(t + tl.program_id(0)) == 5:
        tl.store(out + tl.program_id(0), 0.0)
        return
"""
SOME = LOSS.replace("    row = tl.program_id(0) * n\n", RETURNS)
# both sides of a branch are statements of their own: a store behind it would not know the value
SIDES = SOME.replace("        return\n    top = ", "    else:\n    top = ").replace(
    "        return\n", ""
)
SIDES = (
    SIDES[: SIDES.index("    else:\n") + len("    else:\n")]
    + re.sub(
        r"(?m)^(?=    )(?=.*\n)",
        "    ",
        SIDES[SIDES.index("    else:\n") + len("    else:\n") : SIDES.index("\n\n\ndef run")]
        + "\n",
    ).rstrip("\n")
    + SIDES[SIDES.index("\n\n\ndef run") :]
)


def attention(*changes: tuple[str, str]) -> str:
    """The kernel of the statistics' tests, which keeps its log-sum-exp for itself."""
    text = ATTENTION
    for old, new in (*WITHOUT_LSE, *changes):
        if old not in text and old.startswith("    tl.store(lse"):
            continue
        assert old in text, old
        text = text.replace(old, new)
    return text


random = np.random.default_rng(3)
QKV = [random.uniform(-1, 1, (2, 37, 16)) for _ in range(3)]
ROWS = [random.uniform(-1, 1, (5, 37)), random.uniform(-1, 1, (37,))]
LABELS = [ROWS[0], random.integers(0, 37, (5,))]
# text, launcher, its arguments, how many have gradients, loops of the forward that run again: without and with
CASES = {
    "attention": (attention(), "attention", QKV, 3, 1, 0),
    "base 2": (attention(*BASE_2[:2]), "attention", QKV, 3, 1, 0),
    "causal": (attention(*CAUSAL), "attention", QKV, 3, 1, 0),
    "a named grid": (attention(*NAMED_GRID), "attention", QKV, 3, 1, 0),
    "a grid of what is passed": (attention(*LAMBDA), "attention", QKV, 3, 1, 0),
    "norm": (NORM, "run", ROWS, 2, 2, 0),
    "tiles of rows": (TILES, "run", ROWS, 2, 1, 0),
    "loss": (LOSS, "run", LABELS, 1, 2, 0),
    # one of the loops stores the zeros of ignored rows
    "loss of some": (SOME, "run", [ROWS[0], np.array([3, 5, 0, 5, 36])], 1, 3, 1),
}


def again(module: str) -> int:
    """How many loops of the forward stand in the backward."""
    return module.count("    # the loop of line ")


def module_of(path: Path, how: str, *flags: str) -> str:
    run = tad("--backward", path, "--save", how, *flags)
    assert run.returncode == 0, run.stderr
    assert flags or "gradients proved" in run.stderr, run.stderr
    return run.stdout


@pytest.mark.parametrize("name", CASES)
def test_what_is_stored_is_loaded(name: str, tmp_path: Path) -> None:
    """Fewer loops; the module proves as it lies there, and nothing of it counts as edited."""
    text, _, _, _, loops, fewer = CASES[name]
    path = tmp_path / "source.py"
    path.write_text(text)
    plain = module_of(path, "none", "--no-proof")
    saving = module_of(
        path,
        "auto",
        *(
            ()
            if name in ("causal", "norm", "tiles of rows", "loss", "loss of some")
            else ("--no-proof",)
        ),
    )
    assert again(plain) == loops
    assert again(saving) == fewer
    assert " also stores `" not in plain
    assert " also stores `" in saving
    assert "4 bytes for each " in saving
    assert path.read_text() == text
    if name != "norm":
        return
    written = tmp_path / "source_backward.py"
    written.write_text(saving)
    check = tad("--check", "--grad", written)
    assert " proved " in check.stdout, check.stdout
    assert "gradient-function-edited" not in check.stdout
    update = tad("--backward", path, "--save", "auto", "--update", "--no-proof")
    assert update.returncode == 0, update.stderr
    assert written.read_text() == saving


@pytest.mark.parametrize("name", ["norm", "loss", "loss of some"])
def test_gradients_are_those_without(name: str, tmp_path: Path, interpreter: Worker) -> None:
    text, launcher, given, inputs, _, _ = CASES[name]
    path = tmp_path / "source.py"
    path.write_text(text)
    found = []
    for how in ("none", "auto"):
        module = module_of(path, how, "--no-proof")
        result = call_function(
            module,
            launcher,
            given,
            wrt=list(range(inputs)),
            grad_outputs=[np.cos(np.arange(5.0)) if "loss" in name else np.cos(given[0])],
            worker=interpreter,
        )
        found.append([*result.outputs, *result.gradients[:inputs]])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_what_one_side_of_a_branch_computes_is_not_stored(tmp_path: Path) -> None:
    path = tmp_path / "source.py"
    path.write_text(SIDES)
    assert "    else:\n        top = " in SIDES
    assert " also stores `" not in module_of(path, "auto", "--no-proof")


DRAWS = (Path(__file__).parent / "kernels" / "draws.py").read_text()
ROW = random.uniform(-1, 1, (3, 21))
DRAWN = {
    "flat": (ROW,),
    "unnamed": (ROW, random.uniform(-1, 1, (3, 21))),
    "tiles": (ROW, random.uniform(-1, 1, (21,))),
    "summed": (ROW,),
    "helped": (ROW,),
}


@pytest.mark.parametrize("name", DRAWN)
def test_what_was_drawn_is_kept(name: str, tmp_path: Path, interpreter: Worker) -> None:
    """A byte for each lane; the backward draws nothing. Masked where lanes beyond the mask are seen by nobody."""
    path = tmp_path / "source.py"
    path.write_text(DRAWS)
    found = []
    for how in ("none", "auto"):
        module = module_of(path, how, "--no-proof")
        backward = module[module.index(f"def {name}_backward(") :]
        backward = backward[: backward.index("class ")]
        assert ("tl.rand" in backward) == (how == "none")
        if how == "auto":
            assert "1 byte for each lane" in module
            before, _ = re.split(r"\.to\(\s*tl\.int1\s*\)", backward)
            load = before[before.rindex("tl.load(") :]  # a row that is not there is masked anyway
            is_masked = "mask=" in load and "mask=inside[:, None]," not in load
            assert is_masked == (name != "summed")
        result = call_function(
            module,
            f"run_{name}",
            [*DRAWN[name], 0.4, 1234],
            wrt=list(range(len(DRAWN[name]))),
            grad_outputs=[np.cos(ROW)],
            worker=interpreter,
        )
        found.append([*result.outputs, *result.gradients[: len(DRAWN[name])]])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)
    assert 0.1 < np.mean(found[0][0] == 0) < 0.9


def test_what_was_drawn_is_proved_as_kept(tmp_path: Path, runner: Runner) -> None:
    path = tmp_path / "source.py"
    path.write_text(DRAWS[: DRAWS.index("@triton.jit\ndef unnamed")])
    (params,) = derived(path, "--save", "auto")[1].values()
    assert runner.ask("gradcheck", params)["status"] == "proved"
    right = ", keep);" if ", keep);" in params["source"] else ", keep)"
    assert params["source"].count(right) == 1
    params = {**params, "source": params["source"].replace(right, right.replace("keep", "at > 3"))}
    assert runner.ask("gradcheck", params)["status"] == "failed"


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    runner = Runner()
    yield runner
    runner.close()


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("attention", "top + tl.log(total))", "top + total)"),
        ("norm", ", mean)", ", mean * 1.01)"),
        ("loss", ", total)", ", total + 1.0)"),
        ("norm", "; tl.store(mean_saved_ptr", "  # tl.store(mean_saved_ptr"),
    ],
)
def test_a_wrong_value_is_refuted(
    name: str, right: str, wrong: str, tmp_path: Path, runner: Runner
) -> None:
    """The backward is proved with what this forward stores, not with what it should have stored."""
    path = tmp_path / f"{name}.py"
    path.write_text(CASES[name][0])
    (params,) = derived(path, "--save", "auto")[1].values()
    assert params["saved"]
    assert runner.ask("gradcheck", params)["status"] == "proved"
    assert params["source"].count(right) == 1
    params = {**params, "source": params["source"].replace(right, wrong)}
    assert runner.ask("gradcheck", params)["status"] == "failed"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("attend[(triton.cdiv(n, 16), heads)](q, k", "attend[(triton.cdiv(n, 16), heads)](*(q, k"),
        ("    return o", "    print(attend)\n    return o"),
        (
            "    return o",
            "    if n: attend[(3, heads)](q, k, v, o, n, 0.3, D=16, M=16, N=16)\n    return o",
        ),
        (
            "@triton.jit",
            "@triton.autotune([triton.Config({'M': 16}), triton.Config({'M': 32})], key=['n'])\n@triton.jit",
        ),
    ],
    ids=["spread arguments", "another use", "a launch in one line", "a tuned block"],
)
def test_where_a_launch_cannot_pass_it_nothing_is_stored(
    old: str, new: str, tmp_path: Path
) -> None:
    text = attention().replace(old, new)
    if "*(q" in new:
        text = text.replace("n, 0.3, D=16", "n, 0.3), D=16")
    if "Config" in new:
        text = text.replace("D=16, M=16, N=16", "D=16, N=16").replace(
            "attend[(triton.cdiv(n, 16), heads)]",
            "attend[lambda meta: (triton.cdiv(n, meta['M']), heads)]",
        )
    path = tmp_path / "source.py"
    path.write_text(text)
    run = tad("--backward", path, "--save", "auto", "--no-proof")
    assert " also stores `" not in run.stdout
    assert "attend_backward" in run.stdout


BOUNDED = """import torch
import triton
import triton.language as tl


@triton.jit
def columns(x, y, R, C, eps, BR: tl.constexpr, BC: tl.constexpr):
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    squares = tl.zeros((BC,), dtype=tl.float32)
    for first in range(0, R, BR):
        r = first + tl.arange(0, BR)
        keep = (r[:, None] < R) & (c[None, :] < C)
        v = tl.load(x + r[:, None] * C + c[None, :], mask=keep, other=0.0).to(tl.float32)
        squares += tl.sum(v * v, axis=0)
    scale = 1.0 / tl.maximum(tl.sqrt(squares), eps)
    for first in range(0, R, BR):
        r = first + tl.arange(0, BR)
        keep = (r[:, None] < R) & (c[None, :] < C)
        v = tl.load(x + r[:, None] * C + c[None, :], mask=keep, other=0.0).to(tl.float32)
        tl.store(y + r[:, None] * C + c[None, :], v * scale[None, :], mask=keep)


def launch(x, eps=1e-12):
    R, C = x.shape
    y = torch.empty_like(x)
    columns[(triton.cdiv(C, 8),)](x, y, R, C, eps, BR=16, BC=8)
    return y
"""


def test_what_a_value_was_made_of_is_stored_where_both_are_needed(tmp_path: Path) -> None:
    """Whether the bound was reached is asked of the sum, not of the scale."""
    path = tmp_path / "source.py"
    path.write_text(BOUNDED)
    run = tad("--backward", path, "--save", "auto")
    assert "`columns` also stores `squares_saved_ptr`" in run.stdout and "proved" in run.stderr
    kernel = run.stdout.split("def columns_backward(")[1].split("\n\n\n")[0]
    assert kernel.count("for first in") == 2


def test_sizes_that_are_spread_are_counted(tmp_path: Path) -> None:
    """How many `*sizes` passes follows from what else is passed."""
    text = attention()
    assert "v, o, n, 0.3, D=16" in text
    path = tmp_path / "source.py"
    path.write_text(text.replace("n, 0.3, D=16", "*(n, 0.3), D=16"))
    run = tad("--backward", path, "--save", "auto")
    assert " also stores `" in run.stdout and "proved" in run.stderr, run.stderr


@pytest.mark.parametrize("wrapper", ["none", "triton_op"])
def test_only_functions_make_it(wrapper: str, tmp_path: Path) -> None:
    path = tmp_path / "source.py"
    path.write_text(NORM)
    flags = ("--wrapper", wrapper, "--no-proof")
    run = tad("--backward", path, *flags)
    assert " also stores `" not in run.stdout
    assert run.stdout == tad("--backward", path, "--save", "none", *flags).stdout


def test_the_schedule_says_what_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "source.py"
    path.write_text(NORM)
    said = "the forward also stores `mean` in `mean_saved_ptr`: 4 bytes for each program"
    assert said in tad("--dump", "schedule", path).stdout
    assert said not in tad("--dump", "schedule", path, "--save", "none").stdout
