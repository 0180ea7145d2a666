"""Parts of a row that are stored one by one, as of a rotary embedding, are apart where none reaches further."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emitted.plan import tad

ROTARY = """import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, cos, H, D, stride_t, stride_h, ROT: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_D: tl.constexpr):
    t = tl.program_id(0)
    half: tl.constexpr = ROT // 2
    h = tl.arange(0, BLOCK_H)[:, None]
    f = tl.arange(0, half)[None, :]
    at = t * stride_t + h * stride_h
    m = h < H
    c = tl.load(cos + t * half + f)
    a = tl.load(x + at + f, mask=m, other=0.0)
    b = tl.load(x + at + half + f, mask=m, other=0.0)
    tl.store(y + at + f, a * c - b, mask=m)
    tl.store(y + at + half + f, b * c + a, mask=m)
    d = ROT + tl.arange(0, BLOCK_D)[None, :]
    tl.store(y + at + d, tl.load(x + at + d, mask=m & (d < D), other=0.0), mask=m & (d < D))


def run(x, cos):
    T, H, D = x.shape
    y = torch.empty_like(x)
    rot = 2 * cos.shape[1]
    kernel[(T,)](
        x, y, cos, H, D, x.stride(0), x.stride(1), rot, triton.next_power_of_2(H), triton.next_power_of_2(D - rot)
    )
    return y
"""


def kernel_of(tmp_path: Path, *changes: tuple[str, str]) -> str:
    text = ROTARY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "rotary.py"
    path.write_text(text)
    done = tad("--backward", path)
    assert "gradients proved" in done.stderr, done.stderr
    return done.stdout.split("def kernel_backward(")[1].split("\ndef run(")[0]


@pytest.mark.parametrize(
    "changes",
    [
        [],
        [("d = ROT + tl", "d = 2 * half + tl")],
        [("    d = ROT + tl", "    d = ROT + 3 + tl"), ("D - rot)", "D - rot - 3)")],
    ],
    ids=["next to it", "by halves", "with a gap"],
)
def test_parts_are_stored_plainly(changes: list[tuple[str, str]], tmp_path: Path) -> None:
    kernel = kernel_of(tmp_path, *changes)
    assert "debug_barrier" not in kernel and "_running_gradient" not in kernel
    assert "dx = _gradient_buffer(x, accumulate=True)" not in kernel


@pytest.mark.parametrize(
    "changes",
    [
        [("d = ROT + tl", "d = ROT - 1 + tl")],
        [("d = ROT + tl", "d = half + tl")],
        [("y + at + half + f, b", "y + at + half - 1 + f, b")],
    ],
    ids=["one back", "half of it", "halves that meet"],
)
def test_parts_that_reach_into_each_other_are_not(
    changes: list[tuple[str, str]], tmp_path: Path
) -> None:
    assert "_running_gradient" in kernel_of(tmp_path, *changes)
