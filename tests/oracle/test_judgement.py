"""The oracle itself: it sees what is wrong in modules that were spoiled on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.oracle.case import Case, call_of
from tests.oracle.pool import Child, judgements

USER = """
import torch
import triton
import triton.language as tl


@triton.jit
def square(o, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(o + i, v * v, mask=i < n)


def run(x):
    o = torch.empty_like(x)
    square[(triton.cdiv(x.numel(), 4),)](o, x, x.numel(), BLOCK=4)
    return o
"""
FUNCTION = """

@triton.jit
def square_backward(do, x, dx, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(dx + i, 2.0 * v * tl.load(do + i, mask=i < n, other=0.0), mask=i < n)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return run(x)

    @staticmethod
    def backward(ctx, do):
        (x,) = ctx.saved_tensors
        dx = torch.empty_like(x)
        square_backward[(triton.cdiv(x.numel(), 4),)](do.contiguous(), x, dx, x.numel(), BLOCK=4)
        return dx


original, Square_apply = run, Square.apply
"""
GOOD = (
    USER.replace("def run", "def launch") + FUNCTION.replace("run", "launch") + "\n\n"
    "def run(x):\n"
    "    return Square.apply(x)\n"
)
# Changes of the module, exit status, what is said, and the verdict.
SPOILED = {
    "right": ("", "", 0, "", "right"),
    "halved": ("2.0 * v", "v", 0, "", "silent"),
    "halved, warned": ("2.0 * v", "v", 1, "square: the gradient of x is wrong", "refused"),
    "halved, another named": ("2.0 * v", "v", 1, "cube: the gradient of x is wrong", "silent"),
    "a last block lost": ("dx + i, 2.0 * v", "dx + i, 2.0 * v * (i < 4)", 0, "", "silent"),
    "NaN": ("2.0 * v", "v / (v - v)", 0, "", "silent"),
    "not written": ("tl.store(dx + i", "tl.store(dx + i + 0 * n", 0, "", "right"),
    "memory nobody wrote": (
        "mask=i < n)\n\n\nclass",
        "mask=i < n - 1)\n\n\nclass",
        0,
        "",
        "silent",
    ),
    "outside of its tensors": (
        "mask=i < n)\n\n\nclass",
        "mask=i < n + 1)\n\n\nclass",
        0,
        "",
        "silent",
    ),
    "no gradient": ("return Square.apply(x)", "return launch(x)", 0, "", "silent"),
    "another output": ("return Square.apply(x)", "return Square.apply(x) + 1", 0, "", "silent"),
    "our sentence": (
        "(x,) = ctx",
        "raise ValueError('make it contiguous')\n        (x,) = ctx",
        0,
        "",
        "loud",
    ),
    "a slip": ("(x,) = ctx.saved", "(x,) = ctx.saves", 0, "", "unclear"),
    "endless": ("(x,) = ctx", "while True:\n            pass\n        (x,) = ctx", 0, "", "hang"),
    "left out": ("def run(x)", "def running(x)", 0, "", "unclear"),
    "left out, said": ("def run(x)", "def running(x)", 1, "run is left out", "refused"),
    "a crash of ours": ("", "", 139, "", "crash"),
}


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    """A process with PyTorch."""
    child = Child()
    yield child
    child.stop()


def tool(folder: Path, script: str) -> Path:
    """What runs in tad-lsp's place."""
    path = folder / "tad-lsp"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("name", SPOILED)
def test_spoiled_module(name: str, child: Child, tmp_path: Path) -> None:
    """Each kind of fault gets its verdict."""
    before, after, status, said, verdict = SPOILED[name]
    assert before in GOOD
    (tmp_path / "spoiled.py").write_text(GOOD.replace(before, after))
    spoil = tool(tmp_path, f'cp {tmp_path}/spoiled.py "$4"\necho "{said}" >&2\nexit {status}')
    call = call_of({"call": "m.run(x)", "inputs": {"x": [7]}})
    case = Case("square", "spoiled", {"user.py": USER}, [call])
    folder = tmp_path / "case"
    folder.mkdir()
    (judged,) = judgements(case, child.run(case, folder, spoil, seconds=2))
    assert judged.verdict == verdict, judged.reason


def test_original_that_fails_is_no_case(child: Child, tmp_path: Path) -> None:
    """A launcher that raises by itself says nothing about us."""
    call = call_of({"call": "m.walk(x)", "inputs": {"x": [7]}})
    case = Case("square", "spoiled", {"user.py": USER}, [call])
    (judged,) = judgements(case, child.run(case, tmp_path, tool(tmp_path, "exit 0")))
    assert judged.verdict == "broken"


def test_a_file_whose_kernels_are_elsewhere_is_refused(child: Child, tmp_path: Path) -> None:
    """Nothing is written, and the sentence says why."""
    call = call_of({"call": "m.run(x)", "inputs": {"x": [7]}})
    case = Case("square", "spoiled", {"user.py": USER}, [call])
    script = "echo 'tad-lsp: user.py has no Triton kernel' >&2; exit 2"
    (judged,) = judgements(case, child.run(case, tmp_path, tool(tmp_path, script)))
    assert judged.verdict == "refused"
