"""Elements that do not count may hold anything, and gradients stay finite."""

from __future__ import annotations

import ast
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.emitted.infinite_kernels import kernel
from tests.emitted.plan import Runner, derived, tad
from tests.runner.mutations import Text, called

SEEDS = range(160)
BATCH = 40
# Kernels may amplify rounding until differences have no digit left.
NO_VERDICT = (
    "changes with the last digits",
    "the gradients together are wrong: relative error",
    "every derivative is 0 with these values",
)


def verdicts(texts: list[str]) -> list[tuple[str, str]]:
    """Status and reason of the one kernel of each text."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for i, text in enumerate(texts):
            files.append(Path(folder) / f"drawn{i:03}.py")
            files[-1].write_text(text)
        report = json.loads(tad("--check", "--grad", "--format", "json", *files).stdout)
    kernels = sorted(report["kernels"], key=lambda entry: entry["file"])
    assert len(kernels) == len(texts)
    return [(entry["status"], entry["reason"] or "") for entry in kernels]


@pytest.mark.parametrize("start", SEEDS[::BATCH])
def test_what_does_not_count_stays_out(start: int) -> None:
    """Finite where the forward's differences are, whatever lies beyond masks and in branches that are not chosen."""
    found = verdicts([kernel(seed) for seed in range(start, start + BATCH)])
    for seed, (status, reason) in zip(range(start, start + BATCH), found, strict=True):
        settled = status == "proved" or any(why in reason for why in NO_VERDICT)
        assert settled, f"seed {seed}: {status}: {reason}"
    assert sum(status == "proved" for status, _ in found) > 0.9 * BATCH


MUTATED = range(40)
LEAST_REFUTED = 25


def without_a_mask(source: str) -> Iterator[str]:
    """The text with one `tl.where(mask, x, 0.0)` less, `x` in its place, for each."""
    text = Text(source)
    backwards = [
        node for node in ast.parse(source).body if "_backward" in getattr(node, "name", "")
    ]
    for node in (inner for function in backwards for inner in ast.walk(function)):
        is_choice = called(node) == "where" and len(node.args) == 3
        if is_choice and text.of(node.args[2]) == "0.0":
            yield text.replace("no mask", node, f"({text.of(node.args[1])})").text


def test_a_missing_mask_is_refuted(tmp_path: Path) -> None:
    """Without one of its masks a backward is proved only where that changes nothing: NaN settles nothing."""
    runner = Runner()
    tried, refuted, open_ends = 0, 0, []
    for seed in MUTATED:
        path = tmp_path / f"drawn{seed}.py"
        path.write_text(kernel(seed))
        proof = {**derived(path)[1]["drawn"], "max_seconds": 10}
        if runner.ask("gradcheck", proof)["status"] != "proved":
            continue  # x / x everywhere: there is nothing to refute
        for source in without_a_mask(proof["backward"]["source"]):
            backward = {**proof["backward"], "source": source}
            answer = runner.ask("gradcheck", {**proof, "backward": backward})
            tried += 1
            refuted += answer["status"] == "failed"
            if answer["status"] == "unproved":
                open_ends.append((seed, answer["reason"]))
    runner.close()
    assert open_ends == []
    assert refuted >= LEAST_REFUTED, f"{refuted} of {tried}"


UNCONFIGURED = """
import triton
import triton.language as tl


@triton.jit
def weighted(x_ptr, w_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    w = tl.load(w_ptr)
    tl.store(y_ptr + i, tl.sqrt(1.0 / (x * x)) * w, mask=i < n)
"""


def test_nan_settles_nothing_where_sizes_are_made_up(tmp_path: Path) -> None:
    """That the forward divides by 0, in elements that it drops, is no excuse for a gradient that is NaN."""
    path = tmp_path / "weighted.py"
    path.write_text(UNCONFIGURED)
    runner = Runner()
    proof = derived(path)[1]["weighted"]
    assert runner.ask("gradcheck", proof)["status"] == "proved"
    sources = list(without_a_mask(proof["backward"]["source"]))
    assert sources
    for source in sources:
        backward = {**proof["backward"], "source": source}
        assert runner.ask("gradcheck", {**proof, "backward": backward})["status"] == "failed"
    runner.close()


BOUNDS_IN_TWO_FORMS = """
import triton
import triton.language as tl


# tad: T=11, V=6, x=f32[11, 6], r=f32[11] in uniform(0.5, 1.5), w=f32[6], y=f32[6], BT=4, BV=8, grid=(1,)
@triton.jit
def scaled_rows(x, r, w, y, T, V, BT: tl.constexpr, BV: tl.constexpr):
    lanes = tl.arange(0, BT)
    columns = tl.arange(0, BV)
    total = tl.zeros([BV], dtype=tl.float32)
    w0 = tl.load(w + columns, mask=columns < V, other=0.0)
    for block in range(0, tl.cdiv(T, BT)):
        rows = block * BT + lanes
        inside = rows < T
        ok = inside[:, None] & (columns[None, :] < V)
        x0 = tl.load(x + rows[:, None] * V + columns[None, :], mask=ok, other=0.0) + w0[None, :]
        r0 = tl.load(r + rows, mask=inside, other=0.0)
        part = tl.sum(x0 / r0[:, None], axis=1, keep_dims=True) * x0
        kept = (columns < V)[None, :] * (lanes < T - block * BT)[:, None]
        total += tl.sum(tl.where(kept, part, 0.0), axis=0)
    tl.store(y + columns, total, mask=columns < V)
"""

ONLINE_ENTROPY = """
import triton
import triton.language as tl


# tad: n_cols=11, x_stride=11, x_ptr=f32[3, 11], ent_ptr=f32[3], BLOCK=4, grid=(3,)
@triton.jit
def entropy(x_ptr, ent_ptr, x_stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    m = tl.full((), -float("inf"), tl.float32)
    s = tl.zeros((), tl.float32)
    a = tl.zeros((), tl.float32)
    for start in range(0, n_cols, BLOCK):
        offs = start + cols
        ok = offs < n_cols
        x = tl.load(x_ptr + row * x_stride + offs, mask=ok, other=0.0)
        z = tl.where(ok, x, -float("inf"))
        m_new = tl.maximum(m, tl.max(z, axis=0))
        r = tl.exp(m - m_new)
        e = tl.exp(z - m_new)
        shift = tl.where(s > 0, (m - m_new) * s, 0.0)
        a = r * (a + shift) + tl.sum(tl.where(ok, e * (z - m_new), 0.0), axis=0)
        s = s * r + tl.sum(e, axis=0)
        m = m_new
    tl.store(ent_ptr + row, tl.log(s) - a / s)
"""


@pytest.mark.parametrize("text", [BOUNDS_IN_TWO_FORMS, ONLINE_ENTROPY], ids=["bounds", "entropy"])
def test_what_one_condition_leaves_out_another_divides_by(text: str) -> None:
    """One bound in two forms, a product of truths, and an infinity that a loop begins with."""
    assert verdicts([text]) == [("proved", "")]


@pytest.mark.parametrize(
    "value",
    ["tl.erf({a})", "tl.exp(-{a} * {a})", "tl.exp(-0.5 * {a} * {a})", "tl.exp({a} * ({a} * -2))"],
)
def test_what_cannot_overflow_needs_no_guard(value: str, tmp_path: Path) -> None:
    """A multiple of a square has one sign: beyond the mask, too, its exponential is between 0 and 1."""
    path = tmp_path / "k.py"
    path.write_text(
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
        "def k(x, b, y, M, N, R: tl.constexpr, C: tl.constexpr):\n"
        "    i = tl.program_id(0) * R + tl.arange(0, R)\n"
        "    j = tl.arange(0, C)\n"
        "    inside = (i < M)[:, None] & (j < N)[None, :]\n"
        "    a = tl.load(x + i[:, None] * N + j[None, :], mask=inside, other=0.0)\n"
        "    a += tl.load(b + j, mask=j < N, other=0.0)[None, :]\n"
        f"    tl.store(y + i[:, None] * N + j[None, :], {value.format(a='a')}, mask=inside)\n"
    )
    run = tad("--backward", path)
    assert "gradients proved" in run.stderr
    assert "tl.where" not in run.stdout
