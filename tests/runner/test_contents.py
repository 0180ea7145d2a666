"""No two tensors of a proof hold the same numbers: a backward that reads the one for the other is refuted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.emitted.plan import Runner, derived

KERNEL = """
import torch
import triton
import triton.language as tl


{specification}@triton.jit
def product_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    x = tl.load(x_ptr + lanes, mask=mask)
    y = tl.load(y_ptr + lanes, mask=mask)
    tl.store(z_ptr + lanes, x * y, mask=mask)
{launcher}"""
COMMENT = "# tad: n=5, BLOCK=8, x_ptr=f32[n], y_ptr=f32[n], z_ptr=f32[n], grid=(1,)\n"
LAUNCHER = """

def product(x, y):
    z = torch.empty_like(x)
    product_kernel[(triton.cdiv(x.numel(), 8),)](x, y, z, x.numel(), BLOCK=8)
    return z
"""


@pytest.mark.parametrize(
    ("specification", "launcher"),
    [(COMMENT, ""), ("", LAUNCHER), ("", "")],
    ids=["comment", "launcher", "guess"],
)
def test_swapped_tensors_are_refuted(tmp_path: Path, specification: str, launcher: str) -> None:
    file = tmp_path / "product.py"
    file.write_text(KERNEL.format(specification=specification, launcher=launcher))
    request = derived(file)[1]["product_kernel"]
    text = request["backward"]["source"]
    runner = Runner()
    try:
        assert runner.ask("gradcheck", request)["status"] == "proved", text
        swapped = text.replace("(dx_ptr +", "(_ +").replace("(dy_ptr +", "(dx_ptr +")
        swapped = swapped.replace("(_ +", "(dy_ptr +")
        assert swapped != text
        wrong = json.loads(json.dumps(request))
        wrong["backward"]["source"] = swapped
        assert runner.ask("gradcheck", wrong)["status"] == "failed", swapped
    finally:
        runner.close()


COUNTED = """
import triton
import triton.language as tl


@triton.jit
def counted_rows(x, y, count, K, B: tl.constexpr):
    at = tl.arange(0, B)
    for row in range(tl.program_id(0), tl.load(count), tl.num_programs(0)):
        v = tl.load(x + row * K + at, mask=at < K, other=0.0)
        tl.store(y + row * K + at, v * v, mask=at < K)
"""


def test_a_count_in_memory_is_not_0(tmp_path: Path) -> None:
    """The bound of a loop that is the only number of its tensor: rows are stored, by several programs."""
    file = tmp_path / "counted.py"
    file.write_text(COUNTED)
    runner = Runner()
    try:
        answer = runner.ask("gradcheck", derived(file)[1]["counted_rows"])
    finally:
        runner.close()
    assert answer["status"] == "proved", answer["reason"]
    assert "2 iterations" in answer["covered"]


PARTS = """
import triton
import triton.language as tl


@triton.jit
def weighted_parts(x, w, y, starts, lengths, stride, B: tl.constexpr, D: tl.constexpr):
    part = tl.program_id(0)
    columns = tl.arange(0, D)
    start = tl.load(starts + part)
    length = tl.load(lengths + part)
    for first in range(0, length, B):
        rows = first + tl.arange(0, B)
        at = (start + rows)[:, None] * stride + columns[None, :]
        mask = rows[:, None] < length
        v = tl.load(x + at, mask=mask, other=0.0) * tl.load(w + part)
        tl.store(y + at, v, mask=mask)


@triton.jit
def chosen_blocks(q, k, o, blocks, n, B: tl.constexpr, T: tl.constexpr):
    row = tl.program_id(0)
    weight = tl.load(q + row)
    largest = -float("inf")
    total = 0.0
    for i in range(T):
        at = tl.load(blocks + row * T + i) * B + tl.arange(0, B)
        x = tl.load(k + at, mask=at < n, other=0.0)
        score = tl.where(at < n, x * weight, -float("inf"))
        larger = tl.maximum(largest, tl.max(score, 0))
        total = total * tl.exp(largest - larger) + tl.sum(tl.exp(score - larger), 0)
        largest = larger
    tl.store(o + row, largest + tl.log(total))


@triton.jit
def rows_of_experts(x, w, y, experts, n, E, stride, B: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    columns = tl.arange(0, D)
    mine = tl.load(experts + rows, mask=rows < n, other=E)
    total = tl.zeros([B, D], dtype=tl.float32)
    for expert in range(tl.min(mine, 0), tl.minimum(tl.max(mine, 0), E - 1) + 1):
        chosen = (mine == expert)[:, None]
        v = tl.load(x + rows[:, None] * stride + columns[None, :], mask=chosen, other=0.0)
        total += v * tl.load(w + expert * stride + columns)[None, :]
    tl.store(y + rows[:, None] * stride + columns[None, :], total, mask=(rows < n)[:, None])
"""


def test_integers_in_memory_are_plausible(tmp_path: Path) -> None:
    """Parts begin behind each other, blocks are some that there are, rows have one of few experts."""
    file = tmp_path / "parts.py"
    file.write_text(PARTS)
    runner = Runner()
    try:
        answers = {
            name: runner.ask("gradcheck", request) for name, request in derived(file)[1].items()
        }
    finally:
        runner.close()
    assert {name: answer["status"] for name, answer in answers.items()} == dict.fromkeys(
        ("weighted_parts", "chosen_blocks", "rows_of_experts"), "proved"
    )
    texts = {name: answer["configurations"][0]["text"] for name, answer in answers.items()}
    assert "starts=i32 in growing(48), lengths=i32 in range(1, 40)" in texts["weighted_parts"]
    assert "blocks=i32 in range(0, 1) or 1" in texts["chosen_blocks"]
    assert "experts=i32 in range(0, 3)" in texts["rows_of_experts"]


TWICE = """
import torch
import triton
import triton.language as tl


@triton.jit
def scaled_rows(x, y, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + lanes, mask=lanes < n, other=0.0)
    tl.store(y + row * stride + lanes, v * v, mask=lanes < n)


def squares(x):
    y = torch.empty_like(x)
    scaled_rows[(x.shape[0],)](x, y, False, x.stride(0), x.shape[1], BLOCK=32)
    return y
"""


def test_a_launch_that_python_refuses_is_none(tmp_path: Path) -> None:
    """An argument too many moves all behind it on: strides of 0, and a block that is given twice."""
    file = tmp_path / "twice.py"
    file.write_text(TWICE)
    runner = Runner()
    try:
        answer = runner.ask("gradcheck", derived(file)[1]["scaled_rows"])
    finally:
        runner.close()
    assert answer["status"] == "proved", answer["reason"]
    assert {c["source"] for c in answer["configurations"] + answer["discarded"]} == {"kernel"}


WINDOWS = """
import triton
import triton.language as tl


@triton.jit
def windows(x, w, y, n, B: tl.constexpr, K: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    lanes = at[:, None] + tl.arange(0, K)[None, :] - K // 2
    v = tl.load(x + lanes, mask=(lanes >= 0) & (lanes < n))
    s = tl.sum(v * tl.load(w + tl.arange(0, K))[None, :], 1)
    tl.store(y + at, s, mask=at < n)
"""


def test_what_is_always_undefined_is_taken_to_be_0(tmp_path: Path) -> None:
    """The first and the last windows reach beyond the ends, whatever the sizes: the report says what was assumed."""
    file = tmp_path / "windows.py"
    file.write_text(WINDOWS)
    proof = derived(file)[1]["windows"]
    runner = Runner()
    try:
        answer = runner.ask("gradcheck", proof)
        proof["backward"]["source"] = proof["backward"]["source"].replace("dv = ", "dv = 2.0 * ")
        wrong = runner.ask("gradcheck", proof)
    finally:
        runner.close()
    assert answer["status"] == "proved", answer["reason"]
    assert "assumed: masked-off loads without `other` read 0" in answer["covered"]
    assert answer["coverage"]["fills_zero"]
    assert wrong["status"] == "failed"
