"""The parameters of emitted kernels, in an order that Python takes."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.emitted.plan import tad
from tests.triton.repositories import module_faults

# Its gradient is derived for one value of ROUND alone; the flag joins the parameters when both are merged.
TEXT = """
import triton
import triton.language as tl


@triton.jit
def scaled(x, y, n, ROUND: tl.constexpr, B: tl.constexpr, TWICE: tl.constexpr = False):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    if TWICE:
        a = a * a
    if ROUND:
        bits = a.to(tl.int32, bitcast=True) & -65536
        a = bits.to(tl.float32, bitcast=True)
    tl.store(y + i, a, mask=i < n)
"""


def test_defaults_come_last(tmp_path: Path) -> None:
    """A constexpr with a default stands behind those without, also where a flag is added by a merge."""
    file = tmp_path / "scaled.py"
    file.write_text(TEXT, encoding="utf-8")
    emitted = ast.parse(tad("--backward", "--no-proof", file).stdout)
    functions = {f.name: f for f in emitted.body if isinstance(f, ast.FunctionDef)}
    names = [argument.arg for argument in functions["scaled_backward"].args.args]
    assert names[-3:] == ["B", "ROUND", "TWICE"] or names[-3:] == ["ROUND", "B", "TWICE"]


CHOSEN = """
import torch
import triton
import triton.language as tl


@triton.jit
def copied(a, b, n, BACK: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    source = b if BACK else a
    target = a if BACK else b
    tl.store(target + i, tl.exp(tl.load(source + i, mask=i < n)), mask=i < n)


def forth(a):
    b = torch.empty_like(a)
    copied[(triton.cdiv(a.numel(), 64),)](a, b, a.numel(), BACK=False, B=64)
    return b


def back(b):
    a = torch.empty_like(b)
    copied[(triton.cdiv(b.numel(), 64),)](a, b, b.numel(), BACK=True, B=64)
    return a
"""


def test_both_tensors_of_a_choice_are_outputs(tmp_path: Path) -> None:
    """The Function hands back what a flag chooses to store to, so that its backward gets both gradients."""
    file, written = tmp_path / "copied.py", tmp_path / "written.py"
    file.write_text(CHOSEN, encoding="utf-8")
    tad("--backward", "--no-proof", "-o", written, file)
    assert module_faults(file, written) == []


FLAGS = """
import triton
import triton.language as tl


@triton.jit
def begin_anew(f, v, g, w):
    return f | g, tl.where(g, w, v + w)


@triton.jit
def sums(x, starts, y, N: tl.constexpr):
    i = tl.arange(0, N)
    _, total = tl.associative_scan((tl.load(starts + i), tl.load(x + i)), 0, begin_anew)
    tl.store(y + i, total)
"""


def test_flags_of_a_combine_function_are_integers(tmp_path: Path) -> None:
    """What a combine function takes bits of has no gradient, although nothing else says its type."""
    file = tmp_path / "sums.py"
    file.write_text(FLAGS, encoding="utf-8")
    emitted = ast.parse(tad("--backward", "--no-proof", file).stdout)
    functions = {f.name: f for f in emitted.body if isinstance(f, ast.FunctionDef)}
    names = {argument.arg for argument in functions["sums_backward"].args.args}
    assert "dx" in names and "dstarts" not in names


SCALES = """
import triton
import triton.language as tl


@triton.jit
def scaled(x, s, y, B: tl.constexpr, SCALE: tl.constexpr):
    row = tl.program_id(0)
    if SCALE == 1:
        scale = tl.load(s + row)
    elif SCALE == 2:
        scale = tl.load(s + row * B + tl.arange(0, B))
    if SCALE == 1:
        tl.store(y + row, tl.load(x + row) * scale)
    elif SCALE == 2:
        lanes = row * B + tl.arange(0, B)
        tl.store(y + lanes, tl.load(x + lanes) * scale)
"""


def test_a_flag_chooses_between_a_number_and_a_tile(tmp_path: Path) -> None:
    """The number of one branch is no tile of that number: its gradient would be counted once for each lane."""
    file = tmp_path / "scales.py"
    file.write_text(SCALES, encoding="utf-8")
    assert '"proved"' in tad("--check", "--grad", "--format", "json", file).stdout


EVEN = """
import triton
import triton.language as tl


@triton.jit
def product(x, w, y, M, N, K, sx, sw, EVEN: tl.constexpr, B: tl.constexpr, GROUP: tl.constexpr):
    down, across = tl.cdiv(M, B), tl.cdiv(N, B)
    group = tl.program_id(0) // (GROUP * across)
    size = min(down - group * GROUP, GROUP)
    rows = (group * GROUP + tl.program_id(0) % size) * B + tl.arange(0, B)
    columns = tl.program_id(0) % (GROUP * across) // size * B + tl.arange(0, B)
    lanes = tl.arange(0, B)
    across, wrapped = rows % M, columns % N
    if sx == K:
        across = tl.max_contiguous(tl.multiple_of(across, B), B)
    if sw == N:
        wrapped = tl.max_contiguous(tl.multiple_of(wrapped, B), B)
    xs = x + (across[:, None] * sx + lanes[None, :])
    ws = w + (lanes[:, None] * sw + wrapped[None, :])
    total = tl.zeros((B, B), dtype=tl.float32)
    for left in range(K, 0, -B):
        if EVEN:
            total += tl.dot(tl.load(xs), tl.load(ws))
        else:
            a = tl.load(xs, mask=lanes[None, :] < left, other=0.0)
            b = tl.load(ws, mask=lanes[:, None] < left, other=0.0)
            total += tl.dot(a, b)
        xs += B
        ws += B * sw
    places = rows[:, None] * N + columns[None, :]
    tl.store(y + places, total, mask=(rows < M)[:, None] & (columns < N)[None, :])
"""


def test_no_address_is_made_of_a_gradient_that_is_not_asked_for(tmp_path: Path) -> None:
    """What a flag's branches make of its pointer stands below the question for the gradient, too."""
    file = tmp_path / "even.py"
    file.write_text(EVEN, encoding="utf-8")
    answer = tad("--check", "--grad", "--format", "json", file).stdout
    assert '"proved"' in answer, answer
