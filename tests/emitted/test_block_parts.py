"""Loops of several products take the forward's block of rows in parts, where each lane is by itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.emitted.plan import ROOT, Runner, derived, tad

ATTENTION = ROOT / "examples" / "attention.py"
KERNELS = ROOT / "tests" / "emitted" / "kernels"
TWO_STAGE = ROOT / "examples" / "attention_two_stage.py"

KERNEL = """import torch
import triton
import triton.language as tl


@triton.jit
def attend(q, k, v, w, o, T, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    block = tl.program_id(0)
    head = tl.program_id(1).to(tl.int64) * T * D
    q += head
    k += head
    v += head
    o += head
    m = block * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    x = tl.load(q + m[:, None] * D + d[None, :], mask=m[:, None] < T, other=0.0)
    numbers = tl.load(w + m, mask=m < T, other=0).to(tl.float32)
    extra = EXTRA
    acc = tl.zeros([BLOCK_M, D], dtype=tl.float32)
    for start in range(0, T, BLOCK_N):
        n = start + tl.arange(0, BLOCK_N)
        inside = n[:, None] < T
        y = tl.load(k + n[:, None] * D + d[None, :], mask=inside, other=0.0)
        z = tl.load(v + n[:, None] * D + d[None, :], mask=inside, other=0.0)
        s = tl.dot(x, tl.trans(y)) * 0.25 + extra
        p = tl.where(inside.T, tl.sigmoid(s), 0.0)
        acc += tl.dot(p.to(z.dtype), z)
    tl.store(o + m[:, None] * D + d[None, :], acc, mask=m[:, None] < T)


def attention(q, k, v, w: torch.Tensor):
    o = torch.empty_like(q)
    heads, T, D = q.shape
    w = w.to(torch.int32)
    attend[(triton.cdiv(T, 128), heads)](q, k, v, w, o, T, D=D, BLOCK_M=128, BLOCK_N=16)
    return o
"""

#: What is added to a score, and whether the rows of a block can be taken in parts then.
EXTRAS = {
    "0.5": True,
    "numbers[:, None] * 0.125": True,
    "tl.where(m % 3 == 0, 0.5, -0.5)[:, None]": True,
    "(tl.arange(0, BLOCK_M) * 0.01)[:, None]": True,
    "(block * 0.25)": True,
    "tl.sum(numbers, axis=0) * 0.01": True,  # a program's own, from scratch memory
    "(tl.cumsum(numbers, axis=0) * 0.01)[:, None]": False,
    "(tl.flip(m) % 7 * 0.01)[:, None]": False,
    "(tl.max_contiguous(m, BLOCK_M) % 7 * 0.01)[:, None]": False,
    "(tl.reshape(tl.reshape(m, [2, BLOCK_M // 2]) % 7, [BLOCK_M]) * 0.01)[:, None]": False,
}


def written(file: Path) -> str:
    """The module for a file, which has to be proved."""
    run = tad("--backward", file)
    assert run.returncode == 0, run.stderr
    assert "gradients proved" in run.stderr, run.stderr
    return run.stdout


@pytest.mark.parametrize("extra", list(EXTRAS))
def test_rows_of_a_block_are_taken_in_parts(extra: str, tmp_path: Path) -> None:
    """Where an operation is of all rows together, the loop stays as it is."""
    path = tmp_path / "attend.py"
    path.write_text(KERNEL.replace("EXTRA", extra))
    text = written(path)
    keys = text[text.index("def attend_backward_dk_dv(") : text.index("class ")]
    assert ("PARTS: tl.constexpr = 1" in keys) == EXTRAS[extra]
    assert ("tl.arange(0, BLOCK_M // PARTS)" in keys) == EXTRAS[extra]


def of_many_rows(file: Path, folder: Path) -> Path:
    """The same file, whose launches have 128 rows."""
    text = file.read_text()
    for old, new in (("BLOCK_M=64,", "BLOCK_M=128,"), ("BLOCK_N = 64, 32", "BLOCK_N = 128, 64")):
        text = text.replace(old, new)
    assert text != file.read_text()
    path = folder / file.name
    path.write_text(text)
    return path


def test_the_launch_says_how_many(tmp_path: Path) -> None:
    """At most 64 rows beside a tile of its own; else the rows of a part are chosen as such a tile is."""
    text = " ".join(written(of_many_rows(ATTENTION, tmp_path)).split())
    assert "rows = min(BLOCK_M, 64)" in text and "PARTS=BLOCK_M // rows," in text
    assert "loaded=(2 * HEAD_DIM * rows, 0)," in text
    text = " ".join(written(of_many_rows(TWO_STAGE, tmp_path)).split())
    assert "tile, warps, stages = _loop_tile( BLOCK_M, (K, V, Q, dOut)," in text
    assert "PARTS=BLOCK_M // tile," in text and "divides=(BLOCK_M,)," in text
    # the kernel that streams keys has them all at once, with warps and stages of its own
    assert "_, warps, stages = _loop_tile( BLOCK_N, (Q, Out, dOut, K, V)," in text
    assert text.count("PARTS: tl.constexpr") == 1 and text.count("fixed=True,") == 1


def test_few_rows_stay_together() -> None:
    """Where no launch has more rows than a part, there are none."""
    for file in (ATTENTION, TWO_STAGE):
        run = tad("--backward", "--no-proof", file)
        assert run.returncode == 0 and "PARTS" not in run.stdout
    assert "fixed=True,\n                owned=True," in run.stdout


def test_variants_of_a_flag_share_the_choice(tmp_path: Path) -> None:
    """Below an `if` the launch takes what each side has for itself."""
    path = tmp_path / "flags.py"
    path.write_text(
        (KERNELS / "attends_by_flags.py").read_text().replace("D=d, M=16", "D=d, M=128")
    )
    run = tad("--backward", "--no-proof", path)
    text = " ".join(run.stdout.split())
    keys = text[text.index("def flagged_backward_dk_dv(") :]
    assert keys[: keys.index("class ")].count("for part in range((programs - first) * PARTS)") > 1
    assert "PARTS=M // tile," in text


def test_a_tuned_forward_leaves_the_parts_to_its_backward(tmp_path: Path) -> None:
    """The blocks are those that the tuner took; of how many rows at once it knows nothing."""
    tuned = '@triton.autotune([triton.Config({"BLOCK_M": 64, "BLOCK_N": 32})], key=["seq_q"])\n'
    text = ATTENTION.read_text().replace("@triton.jit", tuned + "@triton.jit", 1)
    for argument in ("BLOCK_M=64", "BLOCK_N=32", "num_warps=4", "num_stages=2"):
        text = text.replace(f"        {argument},\n", "")
    path = tmp_path / "kernel.py"
    path.write_text(text)
    found = " ".join(written(path).split())
    assert "tuned = _tuned(attention_kernel_backward)" in found
    assert '_loop_tile( tuned["BLOCK_M"], (K, V, Q, dOut), rows=tuned["BLOCK_N"],' in found
    assert 'PARTS=tuned["BLOCK_M"] // tile,' in found
    assert '**{**tuned, "num_warps": warps, "num_stages": stages},' in found
    run = tad("--backward", "--tune", "none", path)
    assert run.returncode == 0 and "PARTS" not in run.stdout


def test_who_passes_no_parts_has_none(tmp_path: Path) -> None:
    """Operators and callers by hand choose nothing."""
    for wrapper in ("none", "triton_op"):
        file = of_many_rows(ATTENTION, tmp_path)
        run = tad("--backward", "--no-proof", "--wrapper", wrapper, file)
        assert run.returncode == 0 and "PARTS" not in run.stdout


def test_the_proof_runs_the_parts(tmp_path: Path) -> None:
    request = derived(of_many_rows(ATTENTION, tmp_path))[1]["attention_kernel"]
    parts = request["backward"]["launches"][1]["tiles"]["PARTS"]
    assert parts["same"] == "BLOCK_M" and parts["sizes"] == [2, 4, 8, 16]
    runner = Runner()
    try:
        assert runner.ask("gradcheck", request)["status"] == "proved"
        # the first rows of a block for each of its parts: right for one part alone
        text = request["backward"]["source"]
        fixed = text.replace("lanes = offset + tl.arange", "lanes = 0 * offset + tl.arange")
        assert fixed != text
        edited = json.loads(json.dumps(request))
        edited["backward"]["source"] = fixed
        answer = runner.ask("gradcheck", edited)
        assert answer["status"] == "failed"
        assert "in the tiles that it is launched with" in json.dumps(answer)
        for launch in edited["backward"]["launches"]:
            launch["tiles"].pop("PARTS", None)
        assert runner.ask("gradcheck", edited)["status"] == "proved"
    finally:
        runner.close()


def test_owners_that_are_shared_out_among_heads_take_parts(tmp_path: Path) -> None:
    """Programs of several heads share the tiles of keys: their loop over tiles is around that over rows."""
    variants = of_many_rows(ROOT / "examples" / "attention_variants.py", tmp_path)
    source = variants.read_text()
    assert "cdiv(T, 64), n_heads" in source
    variants.write_text(source.replace("cdiv(T, 64), n_heads", "cdiv(T, 128), n_heads"))
    text = written(variants)
    start = text.index("def grouped_query_kernel_backward_dk_ptr_dv_ptr(")
    keys = text[start : text.index("\nclass ", start)]
    assert "PARTS: tl.constexpr = 1" in keys and "BLOCK_M // PARTS" in keys
