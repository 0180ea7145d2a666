"""Turns: where programs of the forward take turns in one loop, a backward has a program for each."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import Runner, derived, helper_texts, proved_module, tad
from tests.support.worker import Worker
from tests.triton.interpret import call_function

OWN = "_all_turns(ctx.grid"
TEXT = """import torch
import triton
import triton.language as tl


{decorator}@triton.jit
def kernel(x_ptr, w_ptr, y_ptr, rows, n, BLOCK: tl.constexpr):
    program = tl.program_id(0){first}
    for {loop}:
        cols = {cols}
        x = tl.load(x_ptr + {row} + cols, mask=cols < n, other=0.0).to(tl.float32)
        tl.store(y_ptr + {row} + cols, {value}, mask=cols < n)
    {after}


def launched(x, w):
    y = torch.empty_like(x)
    rows, n = x.shape
    kernel[({programs},)](x, w, y, {sizes}, {block})
    return y
"""
ROWS = {
    "decorator": "",
    "first": "",
    "loop": "row in tl.range(program, rows, tl.num_programs(0))",
    "cols": "tl.arange(0, BLOCK)",
    "row": "row * n",
    "value": "x * tl.sum(x)",
    "after": "pass",
    "programs": "2",
    "sizes": "rows, n",
    "block": "BLOCK=triton.next_power_of_2(n)",
}
FLAT = ROWS | {
    "first": "\n    many = tl.num_programs(0) * BLOCK",
    "loop": "start in range(program * BLOCK, n, many)",
    "cols": "start + tl.arange(0, BLOCK)",
    "row": "rows * 0",
    "value": "x * x",
    "sizes": "rows, rows * n",
    "block": "BLOCK=16",
}
TAKEN = {
    "rows": (ROWS, f"{OWN}, rows)"),
    "blocks": (FLAT, f"{OWN}, n, BLOCK)"),
    "a weight in front": (
        ROWS | {"first": "\n    w = tl.load(w_ptr).to(tl.int32)", "value": "x * x * w"},
        f"{OWN}, rows)",
    ),
}
LEFT = {
    "the program's number": {"value": "x * x * program"},
    "how many there are": {"value": "x * x * tl.num_programs(0)"},
    "a store behind the loop": {"after": "tl.store(w_ptr + program, 0.0)"},
    "from the first": {"loop": "row in range(0, rows)"},
    "a step of its own": {"loop": "row in range(program, rows, 2)"},
    "from the next": {"loop": "row in range(program + 1, rows, tl.num_programs(0))"},
    "sums of programs": {"value": "x * tl.load(w_ptr)"},
    "tuned": {
        "decorator": '@triton.autotune([triton.Config({}, num_warps=w) for w in (2, 4)], key=["n"])\n'
    },
}


def source(path: Path, changes: dict[str, str]) -> Path:
    path.write_text(TEXT.format(**{**ROWS, **changes}))
    return path


@pytest.mark.parametrize("name", TAKEN)
def test_a_program_for_each_turn(name: str, tmp_path: Path, interpreter: Worker) -> None:
    changes, grid = TAKEN[name]
    text = proved_module(tmp_path, TEXT.format(**changes))
    assert f"kernel_backward[{grid}](" in text
    random = np.random.default_rng(5)
    given = [random.uniform(-1, 1, (7, 19)), random.uniform(3, 5, (7,))]
    upstream = [random.uniform(-1, 1, (7, 19))]
    found = [
        call_function(
            module, "launched", given, wrt=[0], grad_outputs=upstream, worker=interpreter
        ).gradients[0]
        for module in (text, text.replace(grid, "ctx.grid"))
    ]
    np.testing.assert_allclose(*found, rtol=1e-6)


@pytest.mark.parametrize("name", LEFT)
def test_other_kernels_keep_the_forwards_grid(name: str, tmp_path: Path) -> None:
    run = tad("--backward", source(tmp_path / "kernels.py", LEFT[name]), "--no-proof")
    assert "kernel_backward[ctx.grid](" in run.stdout
    assert OWN not in run.stdout


def test_how_many_turns_there_are(tmp_path: Path) -> None:
    text = tad("--backward", source(tmp_path / "kernels.py", {}), "--no-proof").stdout
    names: dict = {}
    exec(helper_texts(text, "_all_turns"), names)
    turns = names["_all_turns"]
    assert turns((2,), 7) == (7,)
    assert turns((9, 3), 7) == (7, 3)
    assert turns((2, 1, 5), 33, 16) == (3, 1, 5)
    # nothing to do, or nothing done
    assert turns((2,), 0) == (2,)
    assert turns((0,), 7) == (0,)
    assert turns((64,), 1 << 31) == (64,)


def test_the_proof_has_a_program_for_each_turn(tmp_path: Path) -> None:
    request = derived(source(tmp_path / "kernels.py", {}))[1]["kernel"]
    (launch,) = request["backward"]["launches"]
    assert launch["turns"] == {"end": "rows", "step": "1"}
    runner = Runner()
    try:
        assert runner.ask("gradcheck", request)["status"] == "proved"
        text = request["backward"]["source"]
        request["backward"]["source"] = text.replace(
            "x_ptr + ", "x_ptr + tl.num_programs(0) // 3 + "
        )
        assert request["backward"]["source"] != text
        answer = runner.ask("gradcheck", request)
        assert answer["status"] == "failed"
        assert "in the tiles that it is launched with" in json.dumps(answer)
    finally:
        runner.close()
