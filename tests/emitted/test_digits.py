"""The digits of a program's id are one chain, however a kernel spells them: no gradient of its own needs atomics."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.emitted.plan import tad

TEXT = """import torch
import triton
import triton.language as tl


@triton.jit
def k(x, y, sa, sb, sc, B, C, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    {digits}
    at = a * sa + b * sb + c * sc + o
    v = tl.load(x + at, mask=o < n, other=0.0)
    tl.store(y + pid * n + o, v * v, mask=o < n)


def run(x):
    A, B, C, n = x.shape
    y = torch.empty(A, B, C, n)
    k[(A * B * C,)](x, y, x.stride(0), x.stride(1), x.stride(2), B, C, n, BLOCK=16)
    return y
"""
SPELLED = {
    "quotients": "a, b, c = pid // C // B, pid // C % B, pid % C",
    "a_product": "a, b, c = pid // (B * C), pid // C % B, pid % C",
    "a_product_first": "a, b, c = pid // (B * C), pid % (B * C) // C, pid % C",
    "a_rest": "a, r = pid // (B * C), pid % (B * C)\n    b, c = r // C, r % C",
    "a_rest_of_a_rest": "a, b, c = pid // (C * B), pid // C % B, pid % (B * C) % C",
}


@pytest.mark.parametrize("name", SPELLED)
def test_each_program_owns_its_row(name: str, tmp_path: Path) -> None:
    file = tmp_path / "digits.py"
    file.write_text(TEXT.format(digits=SPELLED[name]))
    report = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)
    (kernel,) = report["kernels"]
    assert (kernel["status"], kernel["atomics"]) == ("proved", 0)


def test_of_another_number_nothing_is_said(tmp_path: Path) -> None:
    """`pid // (B * C)` and a digit of `pid + 1` are no chain: two programs may have one row."""
    file = tmp_path / "digits.py"
    digits = "a, b, c = pid // (B * C), (pid + 1) // C % B, pid % C"
    file.write_text(TEXT.format(digits=digits))
    text = tad("--backward", "--no-proof", "--wrapper", "none", file).stdout
    assert "tl.atomic_add(dx" in text


SHARED = """import torch
import triton
import triton.language as tl


@triton.jit
def k(x, bias, y, H, T, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    row, head, batch = pid % T, pid // T % H, pid // (T * H)
    v = tl.load(x + pid * n + o, mask=o < n, other=0.0)
    b = tl.load(bias + ({row}) * n + o, mask=o < n, other=0.0)
    tl.store(y + pid * n + o, v * b * (batch + 1), mask=o < n)


def run(x, bias):
    B, H, T, n = x.shape
    y = torch.empty_like(x)
    k[(B * H * T,)](x, bias, y, H, T, n, BLOCK=16)
    return y
"""
# A bias that batches share, and one of which nobody knows that they are digits of one number.
ROWS = {"head * T + row": 0, "row + T * head": 0, "head * T + row % H": 1}


@pytest.mark.parametrize("row", ROWS)
def test_neighbouring_digits_are_one(row: str, tmp_path: Path) -> None:
    file = tmp_path / "shared.py"
    file.write_text(SHARED.format(row=row))
    report = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)
    (kernel,) = report["kernels"]
    assert (kernel["status"], kernel["atomics"]) == ("proved", ROWS[row])
    if not ROWS[row]:
        text = tad("--backward", "--no-proof", file).stdout
        assert "for batch in" in text or "for forward_program in" in text
