"""Several statements add to one gradient, each of other programs': a kernel for each, one after the other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.emitted.plan import tad

GRAM = (Path(__file__).parent / "kernels" / "both_factors.py").read_text()
TUNED = (
    '@triton.autotune(configs=[triton.Config({"B": 16, "C": 16})], key=["n"])\n'
    "@triton.jit\ndef gram"
)


def checked(folder: Path, text: str, *changes: tuple[str, str]) -> dict[str, tuple[str, int]]:
    """What comes of each kernel's proof, and how many of its gradients need atomics."""
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "several.py"
    path.write_text(text)
    done = tad("--check", "--grad", "--format", "json", path)
    return {k["name"]: (k["status"], k["atomics"]) for k in json.loads(done.stdout)["kernels"]}


def test_each_factor_has_a_kernel(tmp_path: Path) -> None:
    proofs = checked(tmp_path, GRAM)
    assert proofs == {"gram": ("proved", 0), "distances": ("proved", 0)}
    done = tad("--backward", "--no-proof", tmp_path / "several.py").stdout
    assert "tl.atomic_add" not in done
    names = ("distances_backward_dx", "distances_backward_dx_2", "distances_backward_dnorms")
    assert all(f"def {name}(" in done for name in names)
    assert "tl.store(dx_ptrs_1, dx_1 + " in done


def test_a_tuner_keeps_what_the_other_kernel_has_added(tmp_path: Path) -> None:
    text = GRAM.replace("@triton.jit\ndef gram", TUNED)
    text = text.replace("x.stride(0), y.stride(0), B=16, C=16)", "x.stride(0), y.stride(0))", 1)
    assert checked(tmp_path, text)["gram"] == ("proved", 0)
    done = tad("--backward", "--no-proof", tmp_path / "several.py").stdout
    backward = done[: done.index("def gram_backward_dx")]
    assert backward.count('restore_value=["dx"]') == 2
    assert 'reset_to_zero=["dx"]' not in done


@pytest.mark.parametrize(
    "changes",
    [
        [("c = start + tl", "c = start // 2 + tl")],
        [("range(0, d, C)", "range(tl.program_id(0) * C, d, C)")],
        [("dot(a, tl.trans(b))", "dot(a, tl.trans(b)) + tl.load(x + start)")],
    ],
    ids=["columns that overlap", "a loop of the program", "a third place"],
)
def test_others_are_added(changes: list[tuple[str, str]], tmp_path: Path) -> None:
    status, atomics = checked(tmp_path, GRAM, *changes)["gram"]
    assert status == "proved" and atomics == 1


SOME = "tl.program_id(0) > tl.program_id(1)"
LATE = "tl.program_id(0) + tl.program_id(1) < 3"
READ = "tl.load(keep + tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)) > 0.5"


def left_out(condition: str) -> tuple[str, str]:
    """Programs return in front of the loop."""
    return "    total = tl", f"    if {condition}:\n        return\n    total = tl"


@pytest.mark.parametrize("condition", [SOME, LATE, f"({SOME}) | ({LATE})", "n < 64"])
def test_tiles_that_some_programs_leave_out(condition: str, tmp_path: Path) -> None:
    """An owner asks each program, and stores nothing where none comes."""
    assert checked(tmp_path, GRAM, left_out(condition))["gram"] == ("proved", 0)
    done = tad("--backward", "--no-proof", tmp_path / "several.py").stdout
    assert ("if any_program:" in done) == (condition != "n < 64")
    assert "tl.atomic_add" not in done


def test_tiles_that_memory_leaves_out(tmp_path: Path) -> None:
    changes = [
        ("def gram(x,", "def gram(keep, x,"),
        ("def run(x):", "def run(x, keep):"),
        ("gram[grid](x,", "gram[grid](keep, x,"),
    ]
    assert checked(tmp_path, GRAM, left_out(READ), *changes)["gram"] == ("proved", 0)


def test_columns_that_some_programs_leave_out(tmp_path: Path) -> None:
    """A branch in the loop of owners."""
    loop = "    for start in range(0, d, C):\n"
    body = GRAM[GRAM.index(loop) + len(loop) : GRAM.index("    to = i")]
    inner = "".join(f"    {line}\n" for line in body.splitlines())
    some = f"        if start < C * (tl.program_id(1) + 1):\n{inner}"
    assert checked(tmp_path, GRAM, (loop + body, loop + some))["gram"] == ("proved", 0)


def test_nobody_reads_what_is_behind_a_branch_alone(tmp_path: Path) -> None:
    """Where the loop of owners ends is read under a flag, by programs that go on."""
    changes = [
        ("def gram(x,", "def gram(x, ends,"),
        ("gram[grid](x,", "gram[grid](x, ends,"),
        ("def run(x):", "def run(x, ends):"),
        (
            "    total = tl",
            f"    if LIMITED:\n        d = tl.load(ends)\n        if {SOME}:\n            return\n    total = tl",
        ),
        ("C: tl.constexpr):", "C: tl.constexpr, LIMITED: tl.constexpr = False):"),
    ]
    text = GRAM[: GRAM.index("@triton.jit\ndef distances")]
    text += GRAM[GRAM.index("def run(x):") : GRAM.index("def run_distances")]
    status, _ = checked(tmp_path, text, *changes)["gram"]
    assert status == "proved"
