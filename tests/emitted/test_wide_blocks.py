"""Blocks of a program's elements: where the forward's are small, an elementwise backward has larger ones of its own."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.emitted.plan import Runner, derived, helper_texts, proved_module, tad
from tests.support.worker import Worker
from tests.triton.interpret import call_function

OWN = "_wide_block("
HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
FLAT = """{decorator}@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + {load}, mask=offs < n, other=0.0)
    tl.store(y_ptr + offs, {value}, mask=offs < n)


def launched(x, block=8):
    y = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), {block}),)](x, y, x.numel(), BLOCK={block})
    return y
"""
PLAIN = {"decorator": "", "value": "x * x", "block": "block", "load": "offs"}
TILES = """@triton.jit
def kernel(x_ptr, y_ptr, m, n, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.program_id(1) * COLS + tl.arange(0, COLS)
    mask = (rows[:, None] < m) & (cols[None, :] < n)
    offs = rows[:, None] * n + cols[None, :]
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    tl.store(y_ptr + offs, x * x, mask=mask)


def launched(x):
    m, n = x.shape
    y = torch.empty_like(x)
    kernel[(triton.cdiv(m, 2), triton.cdiv(n, 4))](x, y, m, n, ROWS=2, COLS=4)
    return y
"""
TAKEN = {
    "flat": (FLAT.format(**PLAIN), "ctx.grid, 0, BLOCK, n, x_ptr, dy_ptr)"),
    "tiles": (TILES, "ctx.grid, 1, COLS, n, x_ptr, dy_ptr, lanes=ROWS)"),
}
LEFT = {
    "large": {"block": "1024"},
    "tuned": {
        "decorator": '@triton.autotune([triton.Config({}, num_warps=w) for w in (2, 4)], key=["n"])\n'
    },
    "the whole block": {"value": "tl.cumsum(x * x, 0)"},
    "the program's number": {"value": "x * x * tl.program_id(0)"},
}


@pytest.mark.parametrize("name", TAKEN)
def test_small_blocks_grow(name: str, tmp_path: Path, interpreter: Worker) -> None:
    source, said = TAKEN[name]
    text = proved_module(tmp_path, HEAD + source)
    assert OWN + said in re.sub(r"\s+", " ", text).replace("( ", "(").replace(" )", ")")
    few = text.replace("programs > 2048", "programs > 1")
    assert few != text
    random = np.random.default_rng(6)
    given, upstream = random.uniform(-1, 1, (9, 21)), random.uniform(-1, 1, (9, 21))
    for module in (text, few):
        found = call_function(
            module, "launched", [given], wrt=[0], grad_outputs=[upstream], worker=interpreter
        ).gradients
        np.testing.assert_allclose(found[0], 2 * given * upstream, rtol=1e-6)


@pytest.mark.parametrize("name", LEFT)
def test_other_kernels_keep_the_forwards_block(name: str, tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(HEAD + FLAT.format(**{**PLAIN, **LEFT[name]}))
    assert OWN not in tad("--backward", path, "--no-proof").stdout


class Tensor:
    """Of elements of so many bytes."""

    def __init__(self, size: int) -> None:
        self.element_size = lambda: size


def test_a_program_moves_so_many_bytes(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(HEAD + FLAT.format(**PLAIN))
    names: dict = {"torch": SimpleNamespace(Tensor=Tensor)}
    text = tad("--backward", path, "--no-proof").stdout
    exec(helper_texts(text, "_wide_block", "_warps"), names)
    choose, two, four = names["_wide_block"], Tensor(2), Tensor(4)
    many = 1 << 26
    assert choose((many // 256,), 0, 256, many, two, two) == ((many // 2048,), 2048, 4)
    assert choose((many // 256,), 0, 256, many, four, two) == ((many // 1024,), 1024, 4)
    assert choose((many // 128,), 0, 128, many - 5, two, num_warps=1) == ((many // 2048,), 2048, 4)
    assert choose((4096, 128), 1, 32, 4096, two, lanes=16) == ((4096, 32), 128, 4)
    # large enough; few programs; a short axis; a grid that leaves elements out, or that has no such axis
    assert choose((many // 1024,), 0, 1024, many, two) == ((many // 1024,), 1024, 4)
    assert choose((many // 16384,), 0, 16384, many, two, two) == ((many // 16384,), 16384, 16)
    assert choose((2048,), 0, 256, 2048 * 256, two) == ((2048,), 256, 2)
    assert choose((9000, 1), 1, 16, 16, two) == ((9000, 1), 16, 1)
    assert choose((9000,), 0, 256, 9000 * 256 + 1, two, num_warps=2) == ((9000,), 256, 2)
    assert choose((9000,), 1, 256, 256, two) == ((9000,), 256, 2)


def test_the_proof_runs_such_blocks(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(HEAD + FLAT.format(**PLAIN))
    request = derived(path)[1]["kernel"]
    (launch,) = request["backward"]["launches"]
    assert launch["tiles"]["BLOCK"]["axis"] == 0 and launch["own"] == {"lanes": "1"}
    runner = Runner()
    try:
        assert runner.ask("gradcheck", request)["status"] == "proved"
        text = request["backward"]["source"]
        wrong = text.replace("x_ptr + offs", "x_ptr + offs + tl.program_id(0) * (BLOCK // 128)")
        assert wrong != text
        request["backward"]["source"] = wrong
        answer = runner.ask("gradcheck", request)
        assert answer["status"] == "failed"
        assert "in the tiles that it is launched with" in json.dumps(answer)
    finally:
        runner.close()


def backward_of(text: str, path: Path) -> str:
    path.write_text(HEAD + text)
    run = tad("--backward", path, "--no-proof")
    assert run.returncode == 0, run.stderr
    return run.stdout.split("def kernel_backward(")[1].split("\nclass ")[0]


def test_programs_that_run_together_have_blocks_that_follow_each_other(tmp_path: Path) -> None:
    """The first axis of the grid runs first: where it numbers rows, the kernel numbers its programs anew."""
    body = backward_of(TILES, tmp_path / "rows.py")
    assert "program = tl.program_id(0) + tl.program_id(1) * tl.num_programs(0)\n" in body
    assert "rows = program // offset * ROWS + tl.arange(0, ROWS)" in body
    assert "cols = program % offset * COLS + tl.arange(0, COLS)" in body
    turned = TILES.replace("program_id(0) * ROWS", "program_id(1) * ROWS")
    turned = turned.replace("program_id(1) * COLS", "program_id(0) * COLS")
    turned = turned.replace(
        "triton.cdiv(m, 2), triton.cdiv(n, 4)", "triton.cdiv(n, 4), triton.cdiv(m, 2)"
    )
    assert "num_programs" not in backward_of(turned, tmp_path / "columns.py")
    assert "num_programs" not in backward_of(TAKEN["flat"][0], tmp_path / "flat.py")
