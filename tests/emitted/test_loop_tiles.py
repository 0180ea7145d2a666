"""Loops of several products have a tile of their own where it may have any size, and are proved in it."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.emitted.plan import ROOT, Runner, derived, helper_texts, tad

ATTENTION = ROOT / "examples" / "attention.py"
OWN = "_loop_tile("
VARIANTS = ROOT / "examples" / "attention_variants.py"


def emitted(path: Path, kernel: str) -> str:
    """The module with the backward of one kernel."""
    run = tad("--backward", "--no-proof", f"{path}:{kernel}")
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_both_kernels_choose_a_tile() -> None:
    text = emitted(ATTENTION, "attention_kernel")
    assert text.count("= " + OWN) == 2
    assert text.count("BLOCK_N=tile,") == 2 and text.count("divides=(BLOCK_M,),") == 2
    assert text.count("owned=True,") == 1
    assert '**{**ctx.options, "num_warps": warps, "num_stages": stages}' in text
    # where nothing ends the loop but the masks, any size will do
    text = emitted(VARIANTS, "sigmoid_attention_kernel")
    assert text.count("= " + OWN) == 2 and "divides=(BLOCK_M" not in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # a bound that is no multiple of the rows: each size of tile ends elsewhere
        ("tl.minimum(seq_k, (block_m + 1) * BLOCK_M)", "tl.minimum(seq_k, block_m * BLOCK_M + 5)"),
        # what a tile holds depends on where it begins
        ("s = tl.where(visible, s, ", "s = tl.where(visible, s * (start // 7), "),
        ("s = tl.where(visible, s, ", "s = tl.where(visible, s * (start // BLOCK_N), "),
    ],
)
def test_other_loops_keep_the_forwards(old: str, new: str, tmp_path: Path) -> None:
    text = ATTENTION.read_text()
    assert old in text
    path = tmp_path / "kernel.py"
    path.write_text(text.replace(old, new))
    written = emitted(path, "attention_kernel")
    assert "BLOCK_N=tile" not in written and "its own BLOCK_N" not in written


def test_a_tuned_forward_decides_for_its_backward(tmp_path: Path) -> None:
    tuned = '@triton.autotune([triton.Config({"BLOCK_M": 64, "BLOCK_N": 32})], key=["seq_q"])\n'
    text = ATTENTION.read_text().replace("@triton.jit", tuned + "@triton.jit", 1)
    for argument in ("BLOCK_M=64", "BLOCK_N=32", "num_warps=4", "num_stages=2"):
        text = text.replace(f"        {argument},\n", "")
    path = tmp_path / "kernel.py"
    path.write_text(text)
    written = emitted(path, "attention_kernel")
    assert "BLOCK_N=tile" not in written and "its own BLOCK_N" not in written


def choose(room: int = 227 * 1024):
    """`_loop_tile` on a GPU that is made up."""
    text = emitted(ATTENTION, "attention_kernel")
    names: dict = {
        "torch": SimpleNamespace(version=SimpleNamespace(hip=None)),
        "_card_of": lambda _: (132, room),
    }
    exec(helper_texts(text, "_once", "_loop_tile", "_fitting_tile"), names)
    return names["_loop_tile"]


def tensors(width: int = 2) -> tuple:
    """What is asked of tensors."""
    return None, SimpleNamespace(element_size=lambda: width, device="cuda:0")


def queries(rows: int, dim: int) -> dict:
    """The kernel that streams keys and values."""
    counts = {"products": (rows * dim, 2 * rows), "kept": (3 * rows * dim, 0)}
    return {"rows": rows, **counts, "loaded": (0, 2 * dim), "divides": (rows,)}


def keys(rows: int, dim: int) -> dict:
    """The kernel that owns keys and values."""
    counts = {"products": (0, 2 * dim + 2 * rows), "kept": (0, 2 * dim)}
    loaded = {"loaded": (2 * rows * dim, 0), "divides": (rows,), "owned": True}
    return {"rows": rows, **counts, **loaded}


def test_the_tile_fits_twice() -> None:
    """Beside 128 rows an owner has two stages, and one of 8 warps fits once, as a tile of a stream may."""
    assert choose()(32, tensors(), **queries(64, 64)) == (64, 4, 3)
    assert choose()(32, tensors(), **queries(64, 128)) == (32, 4, 3)
    assert choose()(32, tensors(), **queries(128, 64)) == (64, 8, 3)
    assert choose()(32, tensors(), **keys(64, 64)) == (64, 4, 3)
    assert choose()(32, tensors(), **keys(64, 128)) == (64, 4, 2)
    assert choose()(32, tensors(), **keys(128, 64)) == (64, 4, 2)
    assert choose()(32, tensors(), **queries(128, 128)) == (64, 8, 3)
    assert choose()(64, tensors(), **keys(128, 128)) == (64, 8, 2)
    assert choose()(64, tensors(), **keys(128, 256)) == (64, 8, 3)  # the forward's, with more warps
    # parts of a block of 128 rows, beside an owner's tile that stays
    for tile, dim, chosen in (
        (64, 64, (64, 4, 3)),
        (64, 128, (64, 4, 2)),
        (128, 64, (64, 8, 3)),
        (128, 128, (64, 8, 2)),
    ):
        parts = queries(tile, dim) | {"divides": (128,), "owned": True}
        parts |= {"products": (2 * tile * dim, 2 * tile), "kept": (2 * tile * dim, 0)}
        assert choose()(128, tensors(), **parts) == chosen


def test_a_size_that_stays_has_its_warps_and_stages() -> None:
    for rows, tile, dim, chosen in (
        (64, 32, 64, (4, 3)),
        (128, 64, 64, (8, 3)),
        (128, 64, 128, (8, 3)),
        (128, 128, 64, (8, 3)),
        (128, 128, 128, (8, 2)),
    ):
        given = queries(rows, dim) | {"divides": (), "fixed": True}
        assert choose()(tile, tensors(), **given) == (tile, *chosen)


@pytest.mark.parametrize(
    ("size", "given", "width", "room"),
    [
        (32, queries(48, 64), 2, 227),  # the forward's does not divide the rows
        (16, queries(16, 64), 2, 227),  # nor does any other
        (32, queries(64, 64), 8, 227),  # doubles
        (32, keys(64, 256), 2, 64),  # too little room
    ],
)
def test_the_forwards_size_is_kept(size, given, width, room) -> None:
    chosen = choose(room * 1024)(size, tensors(width), **given, num_warps=2, num_stages=5)
    assert chosen == (size, 2, 5)


def test_the_proof_runs_the_tiles(tmp_path: Path) -> None:
    file = tmp_path / "attention.py"
    file.write_text(ATTENTION.read_text())
    request = derived(file)[1]["attention_kernel"]
    tile = request["backward"]["launches"][1]["tiles"]["BLOCK_N"]
    assert tile["divides"] == ["BLOCK_M"] and tile["sizes"][0] == 64
    runner = Runner()
    try:
        assert runner.ask("gradcheck", request)["status"] == "proved"
        # right in blocks of 16 alone
        text = request["backward"]["source"]
        fixed = text.replace("range(program * BLOCK_N, end", "range(program * 16, end")
        assert fixed != text
        edited = json.loads(json.dumps(request))
        edited["backward"]["source"] = fixed
        answer = runner.ask("gradcheck", edited)
        assert answer["status"] == "failed"
        assert "in the tiles that it is launched with" in json.dumps(answer)
        # Without these, the forward's own blocks tell: in one configuration they differ, as in the launch.
        for launch in edited["backward"]["launches"]:
            del launch["tiles"]
        answer = runner.ask("gradcheck", edited)
        assert answer["status"] == "failed"
        assert "in the tiles that it is launched with" not in json.dumps(answer)
    finally:
        runner.close()


def test_a_tile_divides_the_end_of_its_loop(tmp_path: Path) -> None:
    """Rows see all of the keys up to the end of their block, so that a wider tile would see more."""
    text = ATTENTION.read_text()
    old = "visible = visible & (offs_m[:, None] >= n[None, :])"
    assert old in text
    file = tmp_path / "attention.py"
    file.write_text(text.replace(old, "visible = visible & (offs_m[:, None] >= 0)"))
    request = derived(file)[1]["attention_kernel"]
    runner = Runner()
    try:
        assert runner.ask("gradcheck", request)["status"] == "proved"
        wrong = json.loads(json.dumps(request))
        for launch in wrong["backward"]["launches"]:
            launch["tiles"]["BLOCK_N"]["sizes"] = [256, 256]
        assert runner.ask("gradcheck", wrong)["status"] == "proved"  # none is a choice
        for launch in wrong["backward"]["launches"]:
            launch["tiles"]["BLOCK_N"]["divides"] = []
        answer = runner.ask("gradcheck", wrong)
        assert answer["status"] == "failed"
        assert "in the tiles that it is launched with" in json.dumps(answer)
    finally:
        runner.close()
