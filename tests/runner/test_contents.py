"""No two tensors of a proof hold the same numbers: a backward that reads the one for the other is refuted."""

from __future__ import annotations

import json
import re
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


@triton.jit
def visible_blocks(q, k, o, visible, stride, B: tl.constexpr, T: tl.constexpr):
    row = tl.program_id(0)
    weight = tl.load(q + row)
    largest = -float("inf")
    total = 0.0
    for i in range(T):
        shown = tl.load(visible + row * stride + i)
        if shown == True:
            score = tl.load(k + i * B + tl.arange(0, B)) * weight
            larger = tl.maximum(largest, tl.max(score, 0))
            total = total * tl.exp(largest - larger) + tl.sum(tl.exp(score - larger), 0)
            largest = larger
    tl.store(o + row, largest + tl.log(total))


@triton.jit
def rows_of_lengths(x, y, lengths, stride, B: tl.constexpr, D: tl.constexpr):
    part = tl.program_id(0)
    length = tl.load(lengths + part)
    x_rows = tl.make_block_ptr(x + part * stride, (length, D), (D, 1), (0, 0), (B, D), (1, 0))
    total = tl.zeros([D], dtype=tl.float32)
    for first in range(0, length, B):
        v = tl.load(x_rows, boundary_check=(0,), padding_option="zero")
        total += tl.sum(v * v, 0)
        x_rows = tl.advance(x_rows, (B, 0))
    tl.store(y + part * D + tl.arange(0, D), total)


@triton.jit
def blocks_of_rows(x, y, lengths, blocks, stride, B: tl.constexpr, T: tl.constexpr):
    row = tl.program_id(0)
    length = tl.load(lengths + row)
    listed = tl.load(blocks + row * T + tl.arange(0, T))
    total = tl.zeros([B], dtype=tl.float32)
    shown = tl.sum(tl.where(listed * B < length, 1, 0), 0)
    for i in range(tl.minimum(shown, length)):
        at = tl.load(blocks + row * T + i) * B + tl.arange(0, B)
        v = tl.load(x + row * stride + at, mask=at < length, other=0.0)
        total += v * v
    tl.store(y + row * B + tl.arange(0, B), total)
"""


def test_integers_in_memory_are_plausible(tmp_path: Path) -> None:
    """Parts begin behind each other, blocks are some that there are, rows have one expert and see a block."""
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
        answers, "proved"
    )
    texts = {name: answer["configurations"][0]["text"] for name, answer in answers.items()}
    assert "starts=i32 in growing(48), lengths=i32 in range(1, 40)" in texts["weighted_parts"]
    assert "blocks=i32 in range(0, 1) or 1" in texts["chosen_blocks"]
    assert "experts=i32 in range(0, 3)" in texts["rows_of_experts"]
    # A list alone that bounds a loop is no list of starts, which grow with each.
    assert "lengths=i32 in range(1, 40)" in texts["rows_of_lengths"]
    assert "lengths=i32 in range(1, 40)" in texts["blocks_of_rows"]
    # What is compared with True is no float, which it would never be.
    assert "visible=i32 in range(1, 1) or 0" in texts["visible_blocks"]


LISTS = """
import torch
import triton
import triton.language as tl


@triton.jit
def parts_by_ends(x, y, counts, ends, n: tl.constexpr, B: tl.constexpr):
    part, block = tl.program_id(0), tl.program_id(1)
    count = tl.load(counts + part)
    first = tl.load(ends + part) - count
    if block * B >= count:
        return
    rows = block * B + tl.arange(0, B)
    places = (first + rows)[:, None] * n + tl.arange(0, n)[None, :]
    inside = (rows < count)[:, None]
    tl.store(y + places, tl.exp(tl.load(x + places, mask=inside, other=0.0)), mask=inside)


def by_ends(x, counts):
    y = torch.empty_like(x)
    ends = torch.cumsum(counts, 0)
    grid = (counts.shape[0], triton.cdiv(x.shape[0], 16))
    parts_by_ends[grid](x, y, counts, ends, n=8, B=16)
    return y


@triton.jit
def rows_of_ranges(x, y, ranges, sums, part_of, stride, n: tl.constexpr):
    row = tl.program_id(0)
    part = tl.load(part_of + row)
    source = tl.load(ranges + part * 2) + row - tl.load(sums + part)
    lanes = tl.arange(0, n)
    v = tl.load(x + source * stride + lanes)
    tl.store(y + row * stride + lanes, v * v)


def of_ranges(x, ranges, sums, part_of, rows):
    y = x.new_empty(rows, 8)
    rows_of_ranges[(rows,)](x, y, ranges, sums, part_of, x.stride(0), n=8)
    return y


@triton.jit
def chosen_rows(x, y, bins, chosen, stride_b, n: tl.constexpr):
    block = tl.program_id(0)
    first = tl.load(bins + block * stride_b)
    total = tl.zeros((n,), dtype=tl.float32) + 1.0
    for i in range(first, tl.load(bins + (block + 1) * stride_b)):
        total += tl.load(x + tl.load(chosen + i) * n + tl.arange(0, n))
    tl.store(y + block * n + tl.arange(0, n), 1.0 / (total * total))


def of_bins(x, chosen, numbers):
    bins = torch.zeros(numbers.shape[0] + 1, dtype=torch.int32, device=x.device)
    bins[1:] = torch.cumsum(numbers, 0)
    y = x.new_empty(numbers.shape[0], 8)
    chosen_rows[(numbers.shape[0],)](x, y, bins, chosen, bins.stride(0), n=8)
    return y


@triton.jit
def padded_parts(x, w, y, ends, longest, stride, n: tl.constexpr):
    part = tl.program_id(0)
    first, last = tl.load(ends + part), tl.load(ends + part + 1)
    padding = longest - (last - first)
    lanes = tl.arange(0, n)
    for row in range(0, last - first):
        at = (first + row) * n + lanes
        weight = tl.load(w + part * stride + padding + row)
        tl.store(y + at, tl.load(x + at) * weight)


def of_padded(x, w, ends, longest):
    y = torch.empty_like(x)
    padded_parts[(ends.shape[0] - 1,)](x, w, y, ends, longest, w.stride(0), n=8)
    return y


@triton.jit
def numbered(order, n, B: tl.constexpr):
    row = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(order + row, n - 1 - row, mask=row < n)


@triton.jit
def rows_in_order(x, y, order, n: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, n)
    v = tl.load(x + tl.load(order + row) * n + lanes)
    tl.store(y + row * n + lanes, v * v)


def in_order(x):
    rows = x.shape[0]
    order = torch.full((rows,), -1, dtype=torch.int32, device=x.device)
    numbered[(triton.cdiv(rows, 16),)](order, rows, B=16)
    y = torch.empty_like(x)
    rows_in_order[(rows,)](x, y, order, n=8)
    return y
"""


def test_lists_of_one_launch_are_about_the_same_parts(tmp_path: Path) -> None:
    """Made up one by one they lead in front of the tensor; zeros that a launcher fills bound no loop."""
    file = tmp_path / "lists.py"
    file.write_text(LISTS)
    runner = Runner()
    try:
        answers = {
            name: runner.ask("gradcheck", request) for name, request in derived(file)[1].items()
        }
    finally:
        runner.close()
    assert {name: answer["status"] for name, answer in answers.items()} == dict.fromkeys(
        answers, "proved"
    )
    texts = {name: answer["configurations"][0]["text"] for name, answer in answers.items()}
    assert "counts=i32 in parts(lengths), ends=i32 in parts(ends)" in texts["parts_by_ends"]
    words = "ranges=i32 in parts(bounds), sums=i32 in parts(starts), part_of=i32 in parts(rows)"
    assert words in texts["rows_of_ranges"]
    assert " in zeros" not in texts["chosen_rows"]
    # Another kernel has written over what the launcher filled it with.
    assert "range(-1, -1)" not in texts["rows_in_order"]


def test_a_line_names_lists_of_parts(tmp_path: Path) -> None:
    line = "# tad: n=8, B=16, counts=i32 in parts(lengths), ends=i32 in parts(ends), grid=(4, 2)\n"
    file = tmp_path / "told.py"
    file.write_text(
        LISTS.replace("@triton.jit\ndef parts_by_ends", line + "@triton.jit\ndef parts_by_ends")
    )
    runner = Runner()
    try:
        request = derived(file)[1]["parts_by_ends"]
        answer = runner.ask("gradcheck", request)
        assert answer["status"] == "proved", answer["reason"]
        assert answer["configurations"][0]["source"] == "comment"
        request["spec"]["text"] = request["spec"]["text"].replace("parts(ends)", "parts(end)")
        words = "parts() takes starts, ends, lengths, rows or bounds"
        assert words in runner.ask("gradcheck", request)["reason"]
    finally:
        runner.close()


WHOLE = """
import torch
import triton
import triton.language as tl


@triton.jit
def whole_rows(x, y, n, H: tl.constexpr, W: tl.constexpr):
    rows = tl.program_id(0) * W + tl.arange(0, W)
    places = rows[:, None] * n + tl.arange(0, H)[None, :]
    total = tl.zeros((W,), dtype=tl.float32)
    for _ in range(tl.cdiv(n, H)):
        v = tl.load(x + places)
        total += tl.sum(v * v, axis=1)
        places += H
    tl.store(y + rows, total)


def rows(x):
    m, n = x.shape
    assert m % 16 == 0
    y = x.new_empty(m)
    whole_rows[(m // 16,)](x, y, n, H=32, W=16)
    return y


@triton.jit
def large_rows(x, y, T, M, n: tl.constexpr, W: tl.constexpr):
    for i in range(T):
        rows = (tl.program_id(0) * T + i) * W + tl.arange(0, W)
        places = rows[:, None] * n + tl.arange(0, n)[None, :]
        v = tl.load(x + places, mask=(rows < M)[:, None], other=0.0)
        tl.store(y + rows, tl.sum(v * v, 1), mask=rows < M)


def large(x):
    M, n = x.shape
    if M <= 4096 or n < 512:
        return (x * x).sum(1)
    y = x.new_empty(M)
    large_rows[(triton.cdiv(M, 64),)](x, y, 8, M, n=n, W=8)
    return y
"""


def test_sizes_that_a_kernel_is_not_made_for_cost_no_verdict(tmp_path: Path) -> None:
    """Whole blocks without a mask are proved where rows are whole; a launch of millions leaves steps for others."""
    file = tmp_path / "whole.py"
    file.write_text(WHOLE)
    runner = Runner()
    try:
        requests = derived(file)[1]
        answers = {name: runner.ask("gradcheck", request) for name, request in requests.items()}
        statuses = {name: answer["status"] for name, answer in answers.items()}
        assert statuses == {"whole_rows": "proved", "large_rows": "proved"}
        reasons = [lost["reason"] for lost in answers["whole_rows"]["discarded"]]
        assert any(
            "rows lie on each other: the written Function raises" in reason for reason in reasons
        )
        assert answers["large_rows"]["steps"] < 250_000_000
        text = requests["whole_rows"]["backward"]["source"]
        wrong = {**requests["whole_rows"], "backward": dict(requests["whole_rows"]["backward"])}
        wrong["backward"]["source"] = text.replace("tl.store(dx +", "tl.store(dx + 1 +")
        assert wrong["backward"]["source"] != text
        assert runner.ask("gradcheck", wrong)["status"] == "failed"
    finally:
        runner.close()


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


ROWS = """
import triton
import triton.language as tl


@triton.jit
def rows_apart(x, y, lengths, stride, n, B: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, B)
    v = tl.load(x + row * stride + lanes, mask=lanes < tl.load(lengths + row), other=0.0)
    tl.store(y + row * stride + lanes, v * v, mask=lanes < n)


@triton.jit
def rows_in_steps(x, y, lengths, n, D: tl.constexpr, B: tl.constexpr):
    part = tl.program_id(0)
    columns = tl.arange(0, D)[None, :]
    length = tl.load(lengths + part)
    total = tl.zeros([D], dtype=tl.float32)
    for first in range(0, n, B):
        rows = (first + tl.arange(0, B))[:, None]
        v = tl.load(x + (part * n + rows) * D + columns, mask=rows < length, other=0.0)
        total += tl.sum(v * v, 0)
    tl.store(y + part * D + tl.arange(0, D), total)
"""


@pytest.mark.parametrize("name", ["rows_apart", "rows_in_steps"])
def test_no_row_is_longer_than_all_rows_are(name: str, tmp_path: Path) -> None:
    """However far rows lie apart, what ends each of them in a mask or a loop is above what made-up lengths say."""
    file = tmp_path / "rows.py"
    file.write_text(ROWS)
    runner = Runner()
    try:
        answer = runner.ask("gradcheck", derived(file)[1][name])
    finally:
        runner.close()
    assert answer["status"] == "proved", answer["reason"]
    for configuration in answer["configurations"]:
        text = configuration["text"]
        end = re.search(r"lengths=i32 in range\(1, (\d+)\)", text)
        size = re.search(r"\bn=(\d+)", text)
        assert not end or int(size[1]) == 0 or int(end[1]) <= int(size[1]) + 1, text
