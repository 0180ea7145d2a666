"""Row statistics of an online softmax, and what it divided by its sum, are loaded where the forward stored them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.emitted.plan import tad

KERNEL = """import torch
import triton
import triton.language as tl


@triton.jit
def attend(q, k, v, o, lse, n, scale, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    head = tl.program_id(1) * n
    rows = tl.program_id(0) * M + tl.arange(0, M)
    d = tl.arange(0, D)
    inside = rows[:, None] < n
    a = tl.load(q + (head + rows[:, None]) * D + d[None, :], mask=inside, other=0.0)
    top = tl.full([M], -float("inf"), dtype=tl.float32)
    total = tl.zeros([M], dtype=tl.float32)
    acc = tl.zeros([M, D], dtype=tl.float32)
    for start in range(0, n, N):
        c = start + tl.arange(0, N)
        b = tl.load(k + (head + c[:, None]) * D + d[None, :], mask=c[:, None] < n, other=0.0)
        w = tl.load(v + (head + c[:, None]) * D + d[None, :], mask=c[:, None] < n, other=0.0)
        s = tl.where(c[None, :] < n, tl.dot(a, tl.trans(b)) * scale, -float("inf"))
        higher = tl.maximum(top, tl.max(s, 1))
        p = tl.exp(s - higher[:, None])
        keep = tl.exp(top - higher)
        total = total * keep + tl.sum(p, 1)
        acc = acc * keep[:, None] + tl.dot(p.to(w.dtype), w)
        top = higher
    tl.store(o + (head + rows[:, None]) * D + d[None, :], acc / total[:, None], mask=inside)
    tl.store(lse + head + rows, top + tl.log(total), mask=rows < n)


def attention(q, k, v):
    heads, n, size = q.shape
    o = torch.empty_like(q)
    lse = torch.empty(heads, n, dtype=torch.float32, device=q.device)
    attend[(triton.cdiv(n, 16), heads)](q, k, v, o, lse, n, 0.3, D=16, M=16, N=16)
    return o, lse
"""

BASE_2 = (
    (
        "tl.dot(a, tl.trans(b)) * scale",
        "tl.dot(a, tl.trans(b)) * (scale * 1.4426950408889634)",
    ),
    ("tl.exp(", "tl.exp2("),
    ("tl.log(", "tl.log2("),
)
NATURAL = (
    *BASE_2,
    ("top + tl.log2(total)", "(top + tl.log2(total)) * 0.6931471805599453"),
)
GUARDED = (
    ("    tl.store(o +", "    safe = tl.where(total == 0.0, 1.0, total)\n    tl.store(o +"),
    ("acc / total[:, None]", "acc / safe[:, None]"),
    ("tl.log(total)", "tl.log(safe)"),
)
GUARDED_TWICE = (
    *GUARDED,
    (
        "        p = tl.exp(s",
        "        calm = tl.where(higher == -float('inf'), 0.0, higher)\n        p = tl.exp(s",
    ),
    ("s - higher[:, None]", "s - calm[:, None]"),
    ("tl.exp(top - higher)", "tl.exp(top - calm)"),
    ("c[None, :] < n, tl.dot", "(c[None, :] < n) & (rows[:, None] > c[None, :]), tl.dot"),
)
RECIPROCAL = (("acc / total[:, None]", "acc * (1.0 / total)[:, None]"),)
WITHOUT_MASKS = (
    (", mask=inside, other=0.0", ""),
    (", mask=inside", ""),
    (", mask=rows < n", ""),
    ("    heads, n, size = q.shape\n", "    heads, n, size = q.shape\n    assert n % 16 == 0\n"),
)
CAUSAL = (
    ("c[None, :] < n, tl.dot", "(c[None, :] < n) & (rows[:, None] >= c[None, :]), tl.dot"),
    ("range(0, n, N)", "range(0, tl.minimum(n, (tl.program_id(0) + 1) * M), N)"),
)

UNSCALED = (  # the maximum is that of the products, and counted in units of the scale
    ("tl.dot(a, tl.trans(b)) * scale", "tl.dot(a, tl.trans(b))"),
    ("tl.exp(s - higher[:, None])", "tl.exp2(s * scale - higher[:, None] * scale)"),
    ("tl.exp(top - higher)", "tl.exp2((top - higher) * scale)"),
    ("top + tl.log(total)", "top * scale + tl.log2(total)"),
)
UNSCALED_BASE_E = (
    ("    top = tl.full", "    in_base_2 = scale * 1.4426950408889634\n    top = tl.full"),
    UNSCALED[0],
    ("tl.exp(s - higher[:, None])", "tl.exp2(s * in_base_2 - (higher * in_base_2)[:, None])"),
    ("tl.exp(top - higher)", "tl.exp2((top - higher) * in_base_2)"),
    ("top + tl.log(total)", "top * scale + tl.log(total)"),
)
UNSCALED_DIFFERENCE = (
    *(UNSCALED[0], UNSCALED[2], UNSCALED[3]),
    ("tl.exp(s - higher[:, None])", "tl.exp2((s - higher[:, None]) * scale)"),
)
CARRIED = (  # no sum, but the log-sum-exp so far
    ("    total = tl.zeros([M]", "    total = tl.full([M], -float('inf')"),
    ("tl.maximum(top, tl.max(s, 1))", "tl.maximum(total, tl.max(s, 1))"),
    ("total * keep + tl.sum(p, 1)", "higher + tl.log(tl.exp(total - higher) + tl.sum(p, 1))"),
    ("acc / total[:, None]", "acc * tl.exp(top - total)[:, None]"),
    ("top + tl.log(total)", "total"),
)


def emitted(tmp_path: Path, *changes: tuple[str, str]) -> str:
    """The proved module of the kernel above with these changes."""
    text = KERNEL
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "attend.py"
    path.write_text(text)
    done = tad("--backward", path)
    assert done.returncode == 0, done.stderr
    assert "gradients proved" in done.stderr
    return done.stdout


def kernels(module: str) -> list[str]:
    """The emitted kernels, the forward's left out."""
    found = re.split(r"\n\n\n", module)
    return [part for part in found if re.match(r"@triton\.jit\ndef attend_backward", part)]


@pytest.mark.parametrize(
    "changes",
    [
        (),
        BASE_2,
        NATURAL,
        GUARDED,
        GUARDED_TWICE,
        RECIPROCAL,
        WITHOUT_MASKS,
        CAUSAL,
        (*CAUSAL, *NATURAL),
        (*CAUSAL, *GUARDED),
        UNSCALED,
        UNSCALED_BASE_E,
        (*CAUSAL, *UNSCALED),
        CARRIED,
        (*CARRIED, *BASE_2),
        (*CAUSAL, *CARRIED),
    ],
    ids=[
        "plain",
        "base 2",
        "base 2, stored in base e",
        "guarded",
        "guarded, rows without anything",
        "reciprocal",
        "without masks",
        "causal",
        "causal, base 2",
        "causal, guarded",
        "unscaled",
        "unscaled, stored in base e",
        "causal, unscaled",
        "carried",
        "carried, base 2",
        "causal, carried",
    ],
)
def test_the_loop_does_not_run_again(changes: tuple[tuple[str, str], ...], tmp_path: Path) -> None:
    module = emitted(tmp_path, *changes)
    programs, owners = kernels(module)
    for kernel in (programs, owners):
        assert kernel.count("tl.load(lse + ") == 1
        assert "tl.max(" not in kernel
        assert " / " not in kernel
        assert "the loop of line" not in kernel.replace(
            "back through the loop of line", ""
        ).replace("iterations of the loop of line", "")
    # the output is read once for each row: what it is summed up to is left in memory for the owners
    assert "tl.load(o + " in programs
    assert "tl.load(o + " not in owners
    assert "tl.atomic_add" not in module


def test_a_maximum_apart_from_its_scale_is_divided_once_a_row(tmp_path: Path) -> None:
    programs, owners = kernels(emitted(tmp_path, *UNSCALED_DIFFERENCE))
    for kernel in (programs, owners):
        assert kernel.count(" / scale)") == 1
        assert kernel.count(" / ") == 1
        assert "tl.max(" not in kernel


ROW = """import torch
import triton
import triton.language as tl


@triton.jit
def soft_mean(x, w, y, lse, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top = -float("inf")
    total = -float("inf")
    mean = 0.0
    for start in range(0, n, BLOCK):
        c = start + tl.arange(0, BLOCK)
        a = tl.load(x + row * n + c, mask=c < n, other=-float("inf"))
        b = tl.load(w + row * n + c, mask=c < n, other=0.0)
        higher = tl.maximum(total, tl.max(a, 0))
        p = tl.exp(a - higher)
        mean = mean * tl.exp(top - higher) + tl.sum(p * b, 0)
        total = higher + tl.log(tl.sum(p, 0) + tl.exp(total - higher))
        top = higher
    tl.store(y + row, mean * tl.exp(top - total))
    tl.store(lse + row, total)


def soft(x, w):
    rows, n = x.shape
    y = torch.empty(rows, device=x.device)
    lse = torch.empty(rows, device=x.device)
    soft_mean[(rows,)](x, w, y, lse, n, BLOCK=64)
    return y, lse
"""


def test_so_it_is_with_one_row_a_program(tmp_path: Path) -> None:
    path = tmp_path / "row.py"
    path.write_text(ROW)
    done = tad("--backward", path)
    assert "gradients proved" in done.stderr
    kernel = done.stdout.split("def soft_mean_backward")[1].split("class ")[0]
    assert "tl.load(lse + " in kernel
    assert "tl.max(" not in kernel


LOSS = """import torch
import triton
import triton.language as tl


@triton.jit
def loss_kernel(x, labels, loss, lse, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top = -float("inf")
    total = 0.0
    for start in range(0, n, BLOCK):
        c = start + tl.arange(0, BLOCK)
        a = tl.load(x + row * n + c, mask=c < n, other=-float("inf")).to(tl.float32)
        higher = tl.maximum(top, tl.max(a))
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(a - higher))
        top = higher
    whole = top + tl.log(total)
    tl.store(lse + row, whole)
    label = tl.load(labels + row)
    if label != -100:
        at_label = whole - tl.load(x + row * n + label).to(tl.float32)
    else:
        at_label = 0.0
    tl.store(loss + row, at_label)


def losses(x, labels):
    rows, n = x.shape
    loss = torch.empty(rows, dtype=torch.float32, device=x.device)
    lse = torch.empty(rows, dtype=torch.float32, device=x.device)
    loss_kernel[(rows,)](x, labels, loss, lse, n, BLOCK=64)
    return loss
"""


def test_another_output_from_a_branch_behind_them_changes_nothing(tmp_path: Path) -> None:
    """The forward stores it, and the backward does not need it."""
    path = tmp_path / "loss.py"
    path.write_text(LOSS)
    done = tad("--backward", path)
    assert "gradients proved" in done.stderr
    kernel = done.stdout.split("def loss_kernel_backward")[1].split("class ")[0]
    assert "tl.load(lse + " in kernel
    assert "tl.max(" not in kernel
    assert kernel.count("tl.load(x + ") == 1


@pytest.mark.parametrize(
    "changes",
    [
        [("dtype=torch.float32, device", "dtype=torch.float16, device")],
        [("torch.empty_like(q)", "torch.empty_like(q, dtype=torch.float16)")],
        [("    return o, lse", "    o.mul_(2.0)\n    return o, lse")],
        [("    return o, lse", "    o.view(-1)[:4] = 0.0\n    return o, lse")],
        [("    return o, lse", "    lse += 1.0\n    return o, lse")],
        [("heads)](q, k, v, o, lse", "heads)](q, k, v, o.view(-1, size), lse")],
        [("o = torch.empty_like(q)", "o = torch.stack((torch.empty_like(q), q))[0]")],
        [("acc / total[:, None]", "acc * 2.0 / total[:, None]")],
        [("    tl.store(lse", "    if scale > 0:\n        tl.store(lse")],
        [("top + tl.log(total)", "total + 0.0 * top")],
        # from other starts, and scaled by what differs from key to key, these are no statistics
        [*CARRIED, ("total = tl.full([M], -float('inf')", "total = tl.full([M], 0.5")],
        [*UNSCALED_DIFFERENCE, ('top = tl.full([M], -float("inf")', "top = tl.full([M], -1e6")],
        [
            *(UNSCALED[0], UNSCALED[2], UNSCALED[3]),
            ("        higher =", "        turn = scale + 0.01 * start\n        higher ="),
            ("tl.exp(s - higher[:, None])", "tl.exp2(s * scale - higher[:, None] * turn)"),
        ],
    ],
    ids=[
        "rounded",
        "rounded output",
        "changed in place",
        "elements changed",
        "statistics changed",
        "view",
        "part of a tensor",
        "scaled output",
        "not always stored",
        "another statistic",
        "another start",
        "a scale that may be 0",
        "another scale",
    ],
)
def test_elsewhere_it_does(changes: list[tuple[str, str]], tmp_path: Path) -> None:
    module = emitted(tmp_path, *changes)
    assert not any("tl.load(lse + " in kernel for kernel in kernels(module))
