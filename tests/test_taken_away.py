"""Quick fixes give back what was there: masks, `other`, casts and axes are taken out of working kernels, one at a time.

Whatever is then offered at that place leaves the same mask up to names, or nothing is offered.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import drawn, sample_seed
from tests.support.taken_away import Taken, difference, taken_away
from tests.test_actions import OFFER, patched
from tests.triton.corpus import CORPUS

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(os.environ.get("TAD_BIN", ROOT / "build")).resolve()
MASKS = {"mask-load", "mask-store", "complete-mask", "add-other"}
AXES = {"add-axis", "add-axis-of-instance", "add-axis-of-launch"}
CASTS = {"sum-in-float32", "sum-input-in-float32", "cast-after-sum", "cast-to-float32"}
CASTS |= {"accumulate-in-float32", "cast-dot-operand", "widen-offset"}
ABOUT = {"cast": CASTS, "axis": AXES, "turned": AXES}  # MASKS for the others

# Loads whose masked lanes nobody uses: a store leaves them out, or `where` does. Their authors chose
# an infinity; 0 is as good.
UNUSED_LANES = {"in_ptr + cols", "block_ptr_in", "MRD_ptr + row_offs", "M + offs_m"}
UNUSED_LANES |= {"pi_ptr + row * SK + offs", "logits_ptr + cols"}

# Rows of theirs come back by `%`: a bound of columns alone is enough.
WRAPPED = frozenset({"position_ptr + position"})


def offered(path: Path) -> list[tuple[str, int, tuple[str, ...]]]:
    """Quick fixes of a file: name, line, diff."""
    run = subprocess.run(
        [BIN / "tad-lsp", "--dump", "fixes", path.name],
        cwd=path.parent,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found: list[tuple[str, int, tuple[str, ...]]] = []
    head: re.Match[str] | None = None
    diff: list[str] = []
    for line in [*run.stdout.split("\n"), "0: end: "]:
        match = OFFER.match(line)
        if not match:
            diff.append(line)
            continue
        if head:
            found.append((head["name"], int(head["line"]), tuple(diff)))
        head, diff = match, []
    return found


def changes(diff: tuple[str, ...]) -> list[str]:
    return [line for line in diff if line[:1] in "+-" and not line.startswith(("---", "+++"))]


def judged(taken: Taken, folder: Path, known: list[tuple[str, list[str]]]) -> list[str | None]:
    """What each fix left otherwise that is offered since something was taken away."""
    folder.mkdir()
    path = folder / taken.path.name
    path.write_text(taken.text)
    results = []
    for name, line, diff in offered(path):
        is_new = (name, changes(diff)) not in known
        is_here = taken.line <= line <= taken.end_line or taken.kind not in (
            "mask",
            "part",
            "other",
        )
        if is_new and is_here and name in ABOUT.get(taken.kind, MASKS):
            text = patched(taken.text, diff)
            problem = difference(taken, text, line, UNUSED_LANES, WRAPPED)
            where = f"{taken.path}:{line} {taken.kind} {name}: {problem}"
            results.append(where if problem else None)
    return results


def judge_all(all_taken: list[Taken], folder: Path) -> tuple[Counter[str], list[str]]:
    """How often a fix was offered, by what was taken; and what was wrong."""
    known = {
        path: [(name, changes(diff)) for name, _, diff in offered(path)]
        for path in {taken.path for taken in all_taken}
    }
    counts: Counter[str] = Counter()
    wrong = []

    def judge(numbered: tuple[int, Taken]) -> tuple[Taken, list[str | None]]:
        number, taken = numbered
        return taken, judged(taken, folder / str(number), known[taken.path])

    with ThreadPoolExecutor(2) as pool:
        for taken, results in pool.map(judge, enumerate(all_taken)):
            counts[taken.kind] += len(results)
            wrong += [problem for problem in results if problem]
    return counts, wrong


def test_fixes_of_the_examples_give_back_what_was_there(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """A run of everything takes a share, drawn by the commit; a run of this file takes all."""
    files = sorted((ROOT / "examples").glob("*.py"))
    all_taken = [taken for path in files for taken in taken_away(path)]
    assert len(all_taken) >= 250
    seed = sample_seed(pytestconfig)
    counts, wrong = judge_all(drawn(all_taken, 0.4, seed), tmp_path)
    assert wrong == []
    if seed:
        return
    assert counts["mask"] >= 55 and counts["part"] >= 5 and counts["cast"] >= 5, counts
    assert counts["axis"] >= 80 and counts["turned"] >= 130, counts


def test_fixes_of_other_peoples_kernels_give_back_what_was_there(tmp_path: Path) -> None:
    files = [path for path in sorted(CORPUS.rglob("*.py")) if b"@triton.jit" in path.read_bytes()]
    chosen = random.Random(17)
    all_taken = []
    for path in chosen.sample(files, 60):
        here = list(taken_away(path))
        all_taken += chosen.sample(here, min(3, len(here)))
    counts, wrong = judge_all(all_taken, tmp_path)
    assert wrong == []
    assert counts.total() >= 10, counts
