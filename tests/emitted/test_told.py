"""Rows that memory chooses: a store of the forward has them, so that no two programs share one. No atomics then."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.emitted.plan import tad

# heads of sequences in chunks of rows: packed ones, or without offsets all of one length
CHUNKS = """import torch
import triton
import triton.language as tl


@triton.jit
def chunk_kernel(
    q,
    g,
    y,
    starts,
    chunks,
    T,
    H: tl.constexpr,
    D: tl.constexpr,
    C: tl.constexpr,
    B: tl.constexpr,
    VARIABLE: tl.constexpr,
):
    block = tl.program_id(0)
    batch = tl.program_id(1) // H
    head = tl.program_id(1) % H
    if VARIABLE:
        part = tl.load(chunks + block * 2)
        block = tl.load(chunks + block * 2 + 1)
        first = tl.load(starts + part)
        length = tl.load(starts + part + 1) - first
    else:
        first = batch * T
        length = T
    rows = block * B + tl.arange(0, B)
    inside = rows < length
    gate = tl.load(g + (first + rows) * H + head, mask=inside, other=0.0)
    for c in range(tl.cdiv(D, C)):
        cols = c * C + tl.arange(0, C)
        at = ((first + rows) * H + head)[:, None] * D + cols[None, :]
        here = inside[:, None] & (cols < D)[None, :]
        a = tl.load(q + at, mask=here, other=0.0)
        to = ((first + rows) * H + head)[:, None] * D + cols[None, :]
        tl.store(y + to, tl.sin(a) * gate[:, None], mask=here)


def in_chunks(q, g, starts=None):
    y = torch.empty_like(q)
    B, H, D = 8, q.shape[-2], q.shape[-1]
    if starts is None:
        T = q.shape[1]
        grid = (triton.cdiv(T, B), q.shape[0] * H)
        chunk_kernel[grid](q, g, y, None, None, T, H=H, D=D, C=4, B=B, VARIABLE=False)
        return y
    lengths = (starts[1:] - starts[:-1]).tolist()
    chunks = torch.tensor(
        [[part, i] for part, n in enumerate(lengths) for i in range(triton.cdiv(n, B))],
        dtype=torch.int64,
        device=q.device,
    )
    grid = (chunks.shape[0], H)
    chunk_kernel[grid](q, g, y, starts, chunks, q.shape[0], H=H, D=D, C=4, B=B, VARIABLE=True)
    return y
"""

# a program may return early, where a flag and memory say so: the rest stands in both branches of the packed ones' flag
RETURNING = (
    CHUNKS.replace(
        "    VARIABLE: tl.constexpr,\n", "    VARIABLE: tl.constexpr,\n    SOME: tl.constexpr,\n"
    )
    .replace(
        "        block = tl.load(chunks + block * 2 + 1)\n",
        "        if SOME and part < 0:\n            return\n        block = tl.load(chunks + block * 2 + 1)\n",
    )
    .replace("VARIABLE=False", "VARIABLE=False, SOME=False")
    .replace("VARIABLE=True", "VARIABLE=True, SOME=True")
)

# all columns at once; a row is no lane, and the places of chunks are an index from memory
ROWS = """import torch
import triton
import triton.language as tl


@triton.jit
def row_kernel(q, w, y, order, D: tl.constexpr):
    row = tl.load(order + tl.program_id(0))
    cols = tl.arange(0, D)
    a = tl.load(q + row * D + cols)
    tl.store(y + row * D + cols, a * a * tl.load(w + row))


def by_order(q, w, order):
    y = torch.empty_like(q)
    row_kernel[(order.shape[0],)](q, w, y, order, D=16)
    return y
"""

# each row in two loops, the second of which needs a sum of the first
TWICE = CHUNKS.replace(
    "    for c in range(tl.cdiv(D, C)):\n",
    """    total = tl.zeros([B], dtype=tl.float32)
    for c in range(tl.cdiv(D, C)):
        cols = c * C + tl.arange(0, C)
        at = ((first + rows) * H + head)[:, None] * D + cols[None, :]
        here = inside[:, None] & (cols < D)[None, :]
        total += tl.sum(tl.load(q + at, mask=here, other=0.0), 1)
    for c in range(tl.cdiv(D, C)):
""",
).replace("tl.sin(a) *", "tl.sin(a) * total[:, None] *")

# the tile, its first row apart, and then each of its rows: chunks behind the end return early
ANCHORED = CHUNKS.replace(
    "    rows = block * B + tl.arange(0, B)\n",
    """    if block * B >= length:
        return
    rows = block * B + tl.arange(0, B)
""",
).replace(
    "        tl.store(y + to, tl.sin(a) * gate[:, None], mask=here)\n",
    """        anchor = tl.load(q + ((first + block * B) * H + head) * D + cols, mask=cols < D, other=0.0)
        a = a * anchor[None, :]
        for i in range(tl.minimum(B, length - block * B)):
            row = (first + block * B + i) * H + head
            one = tl.load(q + row * D + cols, mask=cols < D, other=0.0)
            a += one[None, :] * one[None, :]
        tl.store(y + to, tl.sin(a) * gate[:, None], mask=here)
""",
)

# programs of even and of odd numbers have outputs of their own, and may have the same rows
EITHER = """import torch
import triton
import triton.language as tl


@triton.jit
def either_kernel(q, y, z, order, D: tl.constexpr):
    program = tl.program_id(0)
    row = tl.load(order + program)
    cols = tl.arange(0, D)
    if program % 2 == 0:
        tl.store(y + row * D + cols, tl.sin(tl.load(q + row * D + cols)))
    else:
        tl.store(z + row * D + cols, tl.exp(tl.load(q + row * D + cols)))


def either(q, order):
    y, z = torch.zeros_like(q), torch.zeros_like(q)
    either_kernel[(order.shape[0],)](q, y, z, order, D=16)
    return y, z
"""


def backward(folder: Path, text: str, *options: str) -> tuple[str, str]:
    """The module of a text, and what was said."""
    path = folder / "told.py"
    path.write_text(text)
    done = tad("--backward", *options, path)
    return done.stdout, done.stderr


def changed(text: str, *changes: tuple[str, str]) -> str:
    """The text with other words."""
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(
    ("text", "gradients"),
    [(CHUNKS, ("dq", "dg")), (ROWS, ("dq", "dw")), (TWICE, ("dq", "dg"))],
    ids=["chunks", "rows", "two loops"],
)
def test_rows_are_stored_plainly(text: str, gradients: tuple[str, ...], tmp_path: Path) -> None:
    module, said = backward(tmp_path, text, "--time-limit", "100")
    assert "gradients proved" in said
    assert "tl.atomic_add" not in module
    for gradient in gradients:
        assert re.search(rf"tl\.store\(\s*\(?{gradient} \+", module)
        name = gradient.removeprefix("d")
        assert (
            "the gradient assumes that no two programs store to one element of `y`, "
            f"so that they share no elements of `{name}`" in said
        )


Q = "at = ((first + rows) * H + head)[:, None] * D + cols[None, :]"
ELSEWHERE = "to = ((first + rows) * H + head)[:, None] * D + cols[None, :]"
STORE = "tl.store(y + to, tl.sin(a) * gate[:, None], mask=here)"
# numbers that are no pair of one program, so that the list of blocks tells nothing
UNLISTED = [("tl.load(chunks + block * 2 + 1)", "tl.load(chunks + block * 2 + 2)")]


@pytest.mark.parametrize(
    "changes",
    [
        [("q + at", "q + at - head % 2 * D")],
        [(Q, "at = ((first + rows) * H + head // 2)[:, None] * D + cols[None, :]")],
        [(Q, "at = ((first + rows) * H * D + head * 2)[:, None] + cols[None, :]")],
        [(Q, "at = ((first + rows) * (H * C) + head * C)[:, None] + cols[None, :]")],
        [(Q, "at = ((first + rows) // 2 * H + head)[:, None] * D + cols[None, :]")],
        [("q + at, mask=here", "q + at, mask=(cols < D)[None, :]")],
        [("mask=here)\n", "mask=here & (rows < length - 1)[:, None])\n")],
        [("mask=here)\n", "mask=here & (rows % 2 == 0)[:, None])\n")],
        [("mask=here)\n", "mask=here & (cols >= block)[None, :])\n")],
        [(STORE, f"if head % 2 == 0:\n            {STORE}")],
        [(STORE, f"if c == block:\n            {STORE}")],
        [(ELSEWHERE, "to = (first + rows)[:, None] * D + cols[None, :]")],
        [(ELSEWHERE, "to = ((first + rows) * H + head + block)[:, None] * D + cols[None, :]")],
    ],
    ids=[
        *("heads that share", "heads of a group", "heads that overlap", "columns of heads"),
        *("rows of a pair", "rows of others", "rows left out", "odd rows left out"),
        *("other columns", "a store of some heads", "a store of some columns"),
        *("heads in one place", "heads elsewhere"),
    ],
)
def test_others_are_added(changes: list[tuple[str, str]], tmp_path: Path) -> None:
    module, _ = backward(tmp_path, changed(CHUNKS, *UNLISTED, *changes), "--no-proof")
    assert "tl.atomic_add(dq" in module


def test_programs_that_return_early_store_plainly(tmp_path: Path) -> None:
    module, said = backward(tmp_path, RETURNING, "--time-limit", "100")
    assert "gradients proved" in said
    assert "if not (SOME and part < 0):" in module
    assert "tl.atomic_add" not in module


def test_programs_that_return_early_sum_what_heads_share(tmp_path: Path) -> None:
    """Of the programs that store alike, one stores; those that are asked do not differ by the heads that are summed."""
    text = changed(
        RETURNING,
        ("    H: tl.constexpr,\n", "    H: tl.constexpr,\n    KEYS: tl.constexpr,\n"),
        (
            "    if VARIABLE:\n",
            "    key = head // (H // KEYS)\n    if VARIABLE:\n",
        ),
        (
            "        at = ((first + rows) * H + head)",
            "        at = ((first + rows) * KEYS + key)",
        ),
        (
            "    y = torch.empty_like(q)\n",
            "    y = torch.empty(*g.shape, q.shape[-1], device=q.device)\n",
        ),
        ("B, H, D = 8, q.shape[-2], q.shape[-1]", "B, H, D = 8, g.shape[-1], q.shape[-1]"),
        ("H=H, D=D", "H=H, KEYS=q.shape[-2], D=D"),
    )
    module, said = backward(tmp_path, text, "--time-limit", "100")
    assert "gradients proved" in said
    assert "tl.atomic_add" not in module


def test_rows_one_further_on_are_stored_plainly(tmp_path: Path) -> None:
    change = ("q + at, mask=here", "q + at + H * D, mask=here & (rows + 1 < length)[:, None]")
    module, _ = backward(tmp_path, changed(CHUNKS, change), "--no-proof")
    assert "tl.atomic_add(dq" not in module
    assert "tl.store(dq + at + H * D," in module


def test_one_row_of_a_tile_is_the_programs(tmp_path: Path) -> None:
    """It adds to what it stored of the tile, one after the other."""
    module, said = backward(tmp_path, ANCHORED, "--time-limit", "100")
    assert "gradients proved" in said
    assert "tl.atomic_add" not in module
    assert "tl.debug_barrier()" in module


@pytest.mark.parametrize(
    "changes",
    [
        [
            (
                "((first + block * B) * H + head) * D + cols",
                "((first + block * B + B) * H + head) * D + cols",
            )
        ],
        [
            (
                "((first + block * B) * H + head) * D + cols",
                "((first + block * B - 1) * H + head) * D + cols",
            )
        ],
        [("    if block * B >= length:\n        return\n", "")],
        [("tl.minimum(B, length - block * B)", "length - block * B")],
        [("tl.minimum(B, length - block * B)", "B")],
        [("tl.minimum(B, length - block * B)", "1 + tl.minimum(B, length - block * B)")],
    ],
    ids=["below", "above", "behind the end", "beyond the tile", "beyond the rows", "one more"],
)
def test_rows_that_the_tile_may_not_have_are_added(
    changes: list[tuple[str, str]], tmp_path: Path
) -> None:
    module, _ = backward(tmp_path, changed(ANCHORED, *changes), "--no-proof")
    assert "tl.atomic_add(dq" in module


@pytest.mark.parametrize(
    "changes",
    [
        [("range(tl.cdiv(D, C))", "range(D // C)")],
        [("range(tl.cdiv(D, C))", "range(block)")],
    ],
    ids=["no whole block", "as many as memory says"],
)
def test_what_the_loop_may_not_store_is_added(
    changes: list[tuple[str, str]], tmp_path: Path
) -> None:
    module, _ = backward(tmp_path, changed(CHUNKS, *UNLISTED, *changes), "--no-proof")
    assert "tl.atomic_add(dg" in module


def test_rows_that_heads_share_are_summed(tmp_path: Path) -> None:
    change = ("g + (first + rows) * H + head", "g + (first + rows)")
    module, said = backward(tmp_path, changed(CHUNKS, change), "--time-limit", "100")
    assert "gradients proved" in said
    assert "tl.atomic_add" not in module


@pytest.mark.parametrize(
    "changes",
    [
        [("tl.sum(tl.load(q + at, mask=here", "tl.sum(tl.load(q + at - H * D, mask=here")],
        [("total += tl.sum(tl.load(q + at,", "total += tl.sum(tl.load(q + at + 1,")],
    ],
    ids=["the row before", "the next column"],
)
def test_places_that_differ_are_added(changes: list[tuple[str, str]], tmp_path: Path) -> None:
    module, _ = backward(tmp_path, changed(TWICE, *changes), "--no-proof")
    assert "tl.atomic_add(dq" in module


# what each program has, beside the rows that programs of even numbers store
SOME = changed(
    EITHER,
    (
        "    if program % 2 == 0:\n",
        "    a = tl.load(q + row * D + cols)\n    if program % 2 == 0:\n",
    ),
    ("tl.sin(tl.load(q + row * D + cols))", "tl.sin(a)"),
    ("    else:\n        tl.store(z + row", "    tl.store(z + program"),
    ("tl.exp(tl.load(q + row * D + cols))", "tl.exp(a)"),
)


@pytest.mark.parametrize("text", [EITHER, SOME], ids=["either", "some"])
def test_stores_of_other_programs_tell_nothing(text: str, tmp_path: Path) -> None:
    module, _ = backward(tmp_path, text, "--no-proof")
    assert "tl.atomic_add(dq" in module


def test_what_all_programs_store_tells_rows(tmp_path: Path) -> None:
    text = changed(SOME, ("    if program % 2 == 0:\n    ", ""))
    module, _ = backward(tmp_path, text, "--no-proof")
    assert "tl.atomic_add(dq" not in module
