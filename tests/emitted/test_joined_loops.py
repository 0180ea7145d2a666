"""Loops over one range that the author divided are one in the backward: its iterations own gradients."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.emitted.plan import ROOT, tad

TEXT = (ROOT / "examples" / "attention_two_stage.py").read_text()
CALLS = re.compile(r"    if CAUSAL:\n        acc, l_i.*?(?=\n    m_i \+=)", re.S)


def stage(number: str) -> str:
    return (
        "acc, l_i, m_i = attend_blocks(acc, l_i, m_i, q, k_ptrs, v_ptrs, stride_kn, stride_vn,"
        f" start_m, qk_scale, {number}, N_CTX, BLOCK_M, BLOCK_N, offs_m, offs_n)"
    )


def staged(first: str, second: str) -> str:
    """The kernel as tutorials spell it: a number says which stages there are, and the launcher chooses between two."""
    calls = (
        f"    if {first}:\n        {stage('4 - STAGE')}\n    if {second}:\n        {stage('2')}\n"
    )
    text = CALLS.sub(lambda _: calls, TEXT)
    text = text.replace("    CAUSAL: tl.constexpr,\n", "    STAGE: tl.constexpr,\n")
    text = text.replace("CAUSAL=causal", "STAGE=stage")
    return text.replace(
        "    BLOCK_M, BLOCK_N = 64, 32\n",
        "    BLOCK_M, BLOCK_N = 64, 32\n    stage = 3 if causal else 1\n",
    )


def derive(tmp_path: Path, text: str) -> tuple[str, str]:
    path = tmp_path / "attend.py"
    path.write_text(text)
    done = tad("--backward", path)
    assert done.returncode == 0, done.stderr
    assert "gradients proved" in done.stderr, done.stderr
    return done.stdout, done.stderr


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        TEXT.replace("dtype=tl.float32)\n    acc = ", "dtype=tl.float32) + 1.0\n    acc = "),
        staged("STAGE & 1", "STAGE & 2"),
        staged("STAGE == 1 or STAGE == 3", "STAGE == 3"),
    ],
    ids=["flag", "sum from 1", "bits", "numbers"],
)
def test_two_stages_need_no_atomics_and_no_tape(tmp_path: Path, text: str) -> None:
    module, said = derive(tmp_path, text)
    assert "atomic" not in module
    assert "gradient-tape" not in said
    assert "gradient-recomputed-state" not in said
    assert re.search(r"def \w+_backward_dK_dV\(", module)
    assert 'tl.static_assert(BLOCK_M % BLOCK_N == 0, "BLOCK_M has to be a multiple of' in module


def test_the_mask_stands_where_it_is_needed(tmp_path: Path) -> None:
    module, _ = derive(tmp_path, TEXT)
    assert module.count("qk = qk_scaled + tl.where(mask, 0, -1000000.0)") == 2  # one a kernel
    assert re.search(r"if inside:\n +(\w+) = (\w+)\n +else:\n", module)


def test_a_number_that_was_not_launched_stops_compilation(tmp_path: Path) -> None:
    module, _ = derive(tmp_path, staged("STAGE & 1", "STAGE & 2"))
    assert re.search(r"tl\.static_assert\(\s+STAGE == 1 or STAGE == 3,", module)


def test_stages_that_any_caller_picks_stay_two_loops(tmp_path: Path) -> None:
    """Nobody says that it is 1 or 3: with 2 there would be another first loop."""
    text = staged("STAGE & 1", "STAGE & 2")
    text = text.replace("    stage = 3 if causal else 1\n", "").replace("causal=True,", "stage=3,")
    path = tmp_path / "attend.py"
    path.write_text(text)
    done = tad("--backward", path, "--no-proof")
    assert done.returncode == 0, done.stderr
    assert "STAGE == 1 or STAGE == 3" not in done.stdout


def test_blocks_that_do_not_divide_stay_two_loops(tmp_path: Path) -> None:
    text = TEXT.replace("BLOCK_M, BLOCK_N = 64, 32", "BLOCK_M, BLOCK_N = 32, 64")
    path = tmp_path / "attend.py"
    path.write_text(text)
    done = tad("--backward", path, "--no-proof")
    assert done.returncode == 0, done.stderr
    assert "static_assert" not in done.stdout
