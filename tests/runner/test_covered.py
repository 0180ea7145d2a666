"""What a proof says that it covered, and what it says that it could not have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.emitted.plan import Runner, derived, tad

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n"
FLAGS = (
    HEAD
    + """
@triton.jit
def kernel(X, Y, n, m, stride, SCALED: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(X + row * stride + cols, mask=cols < n, other=0.0)
        if SCALED:
            x = x * 3.0
        if row > m:
            x = x * x
        tl.store(Y + row * stride + cols, x, mask=cols < n)
"""
)
TOLD = "# tad: n=21, m=1, stride=32, SCALED=True, BLOCK=16, X=f32[4, 32], Y=f32[4, 32], grid=(4,)"


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    """One worker for all."""
    started = Runner()
    yield started
    started.close()


def answer_of(runner: Runner, folder: Path, text: str) -> dict:
    """The proof of the only kernel of a text."""
    path = folder / "kernels.py"
    path.write_text(text)
    (proof,) = derived(path)[1].values()
    return runner.ask("gradcheck", proof)


def test_words_of_what_the_user_wrote(runner: Runner, tmp_path: Path) -> None:
    """One configuration: its programs, its last block, its loops and flags; the rest is named."""
    text = FLAGS.replace("@triton.jit", TOLD + "\n@triton.jit")
    answer = answer_of(runner, tmp_path, text)
    assert answer["status"] == "proved"
    had, missing = answer["covered"].split("; not had: ")
    line = text.splitlines().index("    for start in range(0, n, BLOCK):") + 1
    assert had == (
        f"4 programs, last block 5 of 16, loop of line {line}: 2 iterations, SCALED=True, "
        "strides contiguous"
    )
    assert f"no iteration of the loop of line {line}" in missing
    assert f"one iteration of the loop of line {line}" in missing
    assert "SCALED=False" in missing
    assert missing.endswith("(the configurations are those that you wrote)")
    coverage = answer["coverage"]
    assert coverage["programs"] == [4, 1, 1]
    assert coverage["last_block"] == "5 of 16"
    assert coverage["loops"] == [
        {"line": line, "none": False, "one": False, "several": True, "most": 2}
    ]
    assert coverage["branches"] == [{"line": line + 5, "taken": True, "passed": True}]
    assert coverage["values"] == {"SCALED": ["True"]}
    assert answer["configurations"][0]["covered"] == had


def test_flags_are_tried_both_ways(runner: Runner, tmp_path: Path) -> None:
    """Without a word from the user both values of a flag are had."""
    answer = answer_of(runner, tmp_path, FLAGS)
    assert answer["status"] == "proved"
    assert set(answer["coverage"]["values"]["SCALED"]) == {"True", "False"}
    assert not any("SCALED" in one for one in answer["coverage"]["missing"])


INFINITE = (
    HEAD
    + """
# tad: n=21, BLOCK=16, X=f32[21], Y=f32[21], L=f32[21], grid=(2,)
@triton.jit
def kernel(X, Y, L, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i, mask=i < n, other=0.0)
    tl.store(Y + i, x * x, mask=i < n)
    tl.store(L + i, tl.where(i % 4 == 0, START, x), mask=i < n)
"""
)


@pytest.mark.parametrize("start", ['-float("inf")', "0.0"])
def test_elements_that_took_no_part_are_counted(runner: Runner, tmp_path: Path, start: str) -> None:
    """What the forward stores as infinite has no derivative to compare with: a proof says how much that was."""
    answer = answer_of(runner, tmp_path, INFINITE.replace("START", start))
    assert answer["status"] == "proved"
    words = "6 of 42 stored elements, of L, that are infinite or NaN"
    assert (f"; not compared: {words}" in answer["covered"]) == (start != "0.0")
    assert answer["coverage"]["not_finite"] == (words if start != "0.0" else None)


def test_the_dump_shows_every_configuration(tmp_path: Path) -> None:
    """`--dump configurations`: a line each, what it covers, and the sum."""
    path = tmp_path / "kernels.py"
    path.write_text(FLAGS)
    shown = tad("--dump", "configurations", f"{path}:kernel").stdout.splitlines()
    assert shown[0] == "kernel: proved"
    assert shown[1].startswith("    proved (kernel): # tad: X=f32, ")
    assert shown[2].startswith("        covers 3 programs, last block ")
    assert any(line.startswith("    covered: 3 programs, last block ") for line in shown)
    assert shown[-1].endswith(" steps")


MEETING = (
    HEAD
    + """
@triton.jit
def kernel(X, S, n, share, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i, mask=i < n, other=0.0)
    tl.store(S + tl.program_id(0) // 4 * share, tl.sum(x * x, 0))
"""
)


def test_single_programs_alone_are_no_proof(runner: Runner, tmp_path: Path) -> None:
    """What runs with one program alone, since several meet, may need an owner for what they share."""
    answer = answer_of(runner, tmp_path, MEETING)
    assert answer["status"] == "unproved"
    assert answer["reason"].startswith("proved with 1 program along axis 0, not with more: of ")
    assert "stored by two programs" in answer["reason"]


def test_the_only_program_of_what_the_user_wrote_is_enough(runner: Runner, tmp_path: Path) -> None:
    """`grid=(1,)` is the user's word, and there is nothing else that failed."""
    told = "# tad: n=21, share=1, BLOCK=32, X=f32[21], S=f32[1], grid=(1,)\n@triton.jit"
    answer = answer_of(runner, tmp_path, MEETING.replace("@triton.jit", told))
    assert answer["status"] == "proved"
    assert "3 programs along axis 0" in answer["coverage"]["missing"]


NOTHING = (
    HEAD
    + """
@triton.jit
def kernel(X, S, Y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    best = float("-inf")
    total = 0.0
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(X + row * n + cols, mask=cols < n, other=float("-inf"))
        new = tl.maximum(best, tl.max(x, 0))
        total = total * tl.exp(best - new) + tl.sum(tl.exp(x - new), 0)
        best = new
    total += tl.exp(tl.load(S + row) - best)
    tl.store(Y + row, 1.0 / total)
"""
)


def test_a_gradient_that_is_not_finite_without_an_iteration_is_named(
    runner: Runner, tmp_path: Path
) -> None:
    """A sink beside nothing: exp(s + inf). It is no verdict on sizes that the kernel is made for."""
    answer = answer_of(runner, tmp_path, NOTHING)
    assert answer["status"] == "proved"
    assert "no iteration of the loop" in answer["covered"]
    assert answer["covered"].endswith("or the gradient is not finite there)")


SLICED = (
    HEAD
    + """
@triton.jit
def kernel(X, Y, length, step, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(X + row * step + cols, mask=cols < length, other=0.0)
    tl.store(Y + row * length + cols, x * x, mask=cols < length)


def run(a):
    rows, last = a.shape
    a = a[:, -(last + 3):]
    y = torch.empty((rows, a.shape[1]))
    kernel[(rows,)](a, y, a.shape[1], a.stride(0), BLOCK=triton.next_power_of_2(last))
    return y
"""
)


def test_a_slice_from_before_the_start_begins_at_the_start(runner: Runner, tmp_path: Path) -> None:
    """As in Python: `a[-5:]` of three rows is all three."""
    answer = answer_of(runner, tmp_path, SLICED)
    assert answer["status"] == "proved", answer["reason"]
    for configuration in answer["configurations"]:
        assert "length=-" not in str(configuration)


LATER = (
    HEAD
    + """
@triton.jit
def kernel(X, IDS, Y, first, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(X + row * n + cols, mask=cols < n, other=0.0)
    kept = tl.load(IDS + first + cols, mask=cols < n, other=0)
    tl.store(Y + row * n + cols, x * x * kept, mask=cols < n)


def run(a, mask):
    rows, n = a.shape
    y = torch.empty_like(a)
    kernel[(rows,)](a, mask, y, mask.shape[0] - n, n, BLOCK=triton.next_power_of_2(n))
    return y
"""
)


def test_sizes_that_a_launcher_is_not_made_for_are_no_verdict(
    runner: Runner, tmp_path: Path
) -> None:
    """A mask that is shorter than the rows: with some of the made-up sizes, not with those of a caller."""
    for names in (("a", "mask"), ("values", "ids"), ("data", "chosen"), ("x", "which")):
        text = LATER.replace("run(a, mask)", f"run({', '.join(names)})")
        text = text.replace("a.shape", f"{names[0]}.shape").replace("like(a)", f"like({names[0]})")
        text = text.replace("(a, mask, y, mask", f"({names[0]}, {names[1]}, y, {names[1]}")
        answer = answer_of(runner, tmp_path, text)
        assert answer["status"] != "failed", (names, answer["reason"])


BEGINNINGS = (
    HEAD
    + """
@triton.jit
def kernel(X, W, S, Y, skip, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    state = tl.load(W + row)
    for i in {loop}:
        x = tl.load(X + row * stride + i + tl.arange(0, BLOCK))
        state = state * 0.5 + tl.sum(tl.sin(x))
    tl.store(Y + row, state)
"""
)


@pytest.mark.parametrize(
    "loop", ["range(skip, n)", "range(tl.load(S + row), tl.load(S + row + 1), BLOCK)"]
)
def test_loops_that_begin_anywhere_have_no_one_and_several_iterations(
    runner: Runner, tmp_path: Path, loop: str
) -> None:
    """A beginning is below the end; parts that lie in memory are long, short and empty."""
    answer = answer_of(runner, tmp_path, BEGINNINGS.replace("{loop}", loop))
    assert answer["status"] == "proved"
    assert re.search(r": 0, 1, \d+ iterations", answer["covered"]), answer["covered"]


CROSSING = (
    HEAD
    + """
@triton.jit
def kernel(X, P, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = tl.load(P + i, mask=i < n, other=0)
    x = tl.load(X + place, mask=i < n, other=0.0)
    tl.store(X + i, x * x, mask=i < n)
"""
)
LAUNCH = """

def permuted(x, places):
    x = x.clone()
    kernel[(triton.cdiv(x.numel(), 64),)](x, places, x.numel(), BLOCK=64)
    return x
"""


def test_programs_of_a_launcher_that_read_what_others_store(tmp_path: Path) -> None:
    """Proved for one program alone: the check fails, with the line. Without a launcher that is open."""
    path = tmp_path / "kernels.py"
    for launch, status in ((LAUNCH, 1), ("", 0)):
        path.write_text(f"import torch\n{CROSSING}{launch}")
        run = tad("--check", "--grad", path)
        assert run.returncode == status, run.stdout
        assert ("warning[race]" in run.stdout) == bool(launch)
        assert "proved with 1 program along axis 0, not with more" in run.stdout
        run = tad("--backward", path)
        assert run.returncode == status, run.stderr
        assert run.stdout.startswith("# WARNING: " if launch else "# NOT PROVED: ")
