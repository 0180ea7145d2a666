"""Addresses that a flag of the launch chooses, or that a store of the forward has too: no atomics there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emitted.plan import tad

HEAD = """import torch
import triton
import triton.language as tl


"""

# a tile of rows and columns for each program; rows are those of a batch, or of packed sequences
TILES = (
    HEAD
    + """@triton.jit
def tile_kernel(
    x, w, y, starts, chunks, T, H: tl.constexpr, D: tl.constexpr, B: tl.constexpr, C: tl.constexpr,
    PACKED: tl.constexpr,
):
    column = tl.program_id(0)
    block = tl.program_id(1)
    batch = tl.program_id(2) // H
    head = tl.program_id(2) % H
    if PACKED:
        part = tl.load(chunks + block * 2)
        block = tl.load(chunks + block * 2 + 1)
        first = tl.load(starts + part)
        length = tl.load(starts + part + 1) - first
    else:
        first = batch * T
        length = T
    if block * B >= length:
        return
    rows = block * B + tl.arange(0, B)
    cols = column * C + tl.arange(0, C)
    inside = (rows < length)[:, None] & (cols < D)[None, :]
    at = (first * H + head) * D + rows[:, None] * (H * D) + cols[None, :]
    a = tl.load(x + at, mask=inside, other=0.0)
    b = tl.load(w + head)
    tl.store(y + at, tl.sin(a) * b, mask=inside)


def in_tiles(x, w, starts=None):
    y = torch.empty_like(x)
    B, C, H, D = 8, 4, x.shape[-2], x.shape[-1]
    if starts is None:
        T = x.shape[1]
        grid = (triton.cdiv(D, C), triton.cdiv(T, B), x.shape[0] * H)
        tile_kernel[grid](x, w, y, None, None, T, H=H, D=D, B=B, C=C, PACKED=False)
        return y
    lengths = (starts[1:] - starts[:-1]).tolist()
    chunks = torch.tensor(
        [[part, i] for part, n in enumerate(lengths) for i in range(triton.cdiv(n, B))],
        dtype=torch.int64,
        device=x.device,
    )
    grid = (triton.cdiv(D, C), chunks.shape[0], H)
    tile_kernel[grid](x, w, y, starts, chunks, x.shape[0], H=H, D=D, B=B, C=C, PACKED=True)
    return y
"""
)

# the halves of rows, which begin where a flag says
HALVES = (
    HEAD
    + """@triton.jit
def turn_kernel(x, y, starts, T, R, D: tl.constexpr, B: tl.constexpr, PACKED: tl.constexpr):
    batch = tl.program_id(1)
    if PACKED:
        first = tl.load(starts + batch)
        length = tl.load(starts + batch + 1) - first
        x = x + first * D
        y = y + first * D
    else:
        length = T
        x = x + batch * T * D
        y = y + batch * T * D
    rows = tl.program_id(0) * B + tl.arange(0, B)
    cols = tl.arange(0, 8)
    inside = (rows < length)[:, None] & (cols < R)[None, :]
    at = rows[:, None] * D + cols[None, :]
    a = tl.load(x + at, mask=inside, other=0.0)
    b = tl.load(x + at + R, mask=inside, other=0.0)
    tl.store(y + at, tl.sin(a) * b, mask=inside)
    tl.store(y + at + R, a - b * b, mask=inside)


def turned(x, starts=None):
    y = torch.empty_like(x)
    D, B = x.shape[-1], 4
    if starts is None:
        T = x.shape[1]
        turn_kernel[(triton.cdiv(T, B), x.shape[0])](x, y, None, T, D // 2, D=D, B=B, PACKED=False)
        return y
    T = int((starts[1:] - starts[:-1]).max())
    grid = (triton.cdiv(T, B), starts.shape[0] - 1)
    turn_kernel[grid](x, y, starts, T, D // 2, D=D, B=B, PACKED=True)
    return y
"""
)

# a state that is stored row by row, or column by column
LAYOUTS = (
    HEAD
    + """@triton.jit
def state_kernel(h, x, y, D: tl.constexpr, E: tl.constexpr, TURNED: tl.constexpr):
    program = tl.program_id(0)
    rows = tl.arange(0, D)
    cols = tl.arange(0, E)
    at = program * D * E
    if TURNED:
        state = tl.trans(tl.load(h + at + cols[:, None] * D + rows[None, :]))
    else:
        state = tl.load(h + at + rows[:, None] * E + cols[None, :])
    values = tl.load(x + program * D + rows)
    tl.store(y + program * E + cols, tl.sum(tl.sin(state) * values[:, None], 0))


def by_state(h, x, turned):
    D, E = x.shape[1], h.shape[1 if turned else 2]
    y = torch.empty(x.shape[0], E, dtype=x.dtype, device=x.device)
    state_kernel[(x.shape[0],)](h, x, y, D=D, E=E, TURNED=turned)
    return y


def rows_first(h, x):
    return by_state(h, x, False)


def columns_first(h, x):
    return by_state(h, x, True)
"""
)


# rows in one sequence: the programs of other batches store the same
ALIKE = (
    HEAD
    + """@triton.jit
def alike_kernel(x, y, T, D: tl.constexpr, B: tl.constexpr, PACKED: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    cols = tl.arange(0, D)
    if PACKED:
        at = rows[:, None] * D + cols[None, :]
        a = tl.load(x + at, mask=(rows < T)[:, None], other=0.0)
        tl.store(y + at, tl.cumsum(a * a, 1), mask=(rows < T)[:, None])
    else:
        at = (tl.program_id(1) * T + rows)[:, None] * D + cols[None, :]
        a = tl.load(x + at, mask=(rows < T)[:, None], other=0.0)
        tl.store(y + at, tl.cumsum(a * a, 1), mask=(rows < T)[:, None])


def alike(x):
    y = torch.empty_like(x)
    T, D = x.shape[-2:]
    batches = x.shape[0] if x.dim() == 3 else 2
    alike_kernel[(triton.cdiv(T, 4), batches)](x, y, T, D=D, B=4, PACKED=x.dim() == 2)
    return y


def alike_packed(x):
    return alike(x)
"""
)


# lanes that wrap around store what others store: they are no programs, and tiles of other shapes do not ask for them
WRAPPED = (
    HEAD
    + """@triton.jit
def wrapped_kernel(a, b, c, M, N, K, B: tl.constexpr, C: tl.constexpr):
    rows = (tl.program_id(0) * B + tl.arange(0, B)) % M
    cols = (tl.program_id(1) * B + tl.arange(0, B)) % N
    total = tl.zeros([B, B], dtype=tl.float32)
    for k in range(0, K, C):
        inner = k + tl.arange(0, C)
        x = tl.load(a + rows[:, None] * K + inner[None, :], mask=inner[None, :] < K, other=0.0)
        y = tl.load(b + inner[:, None] * N + cols[None, :], mask=inner[:, None] < K, other=0.0)
        total += tl.dot(x, y)
    tl.store(c + rows[:, None] * N + cols[None, :], total)


def wrapped(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty(M, N, dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16))
    wrapped_kernel[grid](a, b, c, M, N, K, B=16, C=16)
    return c
"""
)


def backward(folder: Path, text: str, *options: str) -> tuple[str, str]:
    """The module of a text, and what was said."""
    path = folder / "flags.py"
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
    ("text", "gradient"),
    [(TILES, "dx"), (HALVES, "dx"), (LAYOUTS, "dh")],
    ids=["tiles", "halves", "layouts"],
)
def test_what_a_flag_chooses_is_stored_plainly(text: str, gradient: str, tmp_path: Path) -> None:
    module, said = backward(tmp_path, text, "--time-limit", "100")
    assert "gradients proved" in said
    assert f"tl.atomic_add({gradient}" not in module


@pytest.mark.parametrize("text", [TILES, HALVES], ids=["tiles", "halves"])
def test_it_is_said_what_that_rests_on(text: str, tmp_path: Path) -> None:
    _, said = backward(tmp_path, text, "--no-proof")
    assert (
        "the gradient assumes that no two programs store to one element of `y`, "
        "so that they share no elements of `x`" in said
    )


def test_what_programs_store_alike_is_one_programs(tmp_path: Path) -> None:
    module, said = backward(tmp_path, ALIKE, "--time-limit", "100")
    assert "gradients proved" in said
    assert "tl.atomic_add" not in module
    assert "no two programs store different values to one element of `y`" in said


def test_lanes_that_wrap_around_are_no_programs(tmp_path: Path) -> None:
    module, said = backward(tmp_path, WRAPPED, "--time-limit", "100")
    assert "gradients proved" in said
    assert "tl.atomic_add" not in module
    assert module.count("# the owners:") == 2


def test_what_others_add_besides_is_added(tmp_path: Path) -> None:
    text = changed(
        ALIKE,
        ("x, y, T", "x, y, z, T"),
        ("    rows = ", "    batch = tl.program_id(1)\n    rows = "),
        (
            "a * a, 1), mask=(rows < T)[:, None])\n    else",
            """a * a, 1), mask=(rows < T)[:, None])
        tl.store(z + batch * 4 + tl.arange(0, B), tl.sum(tl.sin(a), 1) * (batch + 1))
    else""",
        ),
        ("(x, y, z, T, D=D", "(x, y, torch.empty_like(x), T, D=D"),
    )
    module, _ = backward(tmp_path, text, "--no-proof")
    assert "tl.atomic_add(dx" in module


LOAD = "tl.load(x + at, mask=inside"
STORE = "tl.store(y + at, tl.sin(a) * b, mask=inside)"


# numbers that are no pair of one program, so that the list of blocks tells nothing
UNLISTED = [("tl.load(chunks + block * 2 + 1)", "tl.load(chunks + block * 2 + 2)")]


@pytest.mark.parametrize(
    "changes",
    [
        [(LOAD, "tl.load(x + at - head % 2 * D, mask=inside")],
        [(LOAD, "tl.load(x + at + block, mask=inside")],
        [(LOAD, "tl.load(x + at // 2, mask=inside")],
        [(LOAD, "tl.load(x + at, mask=(rows < length)[:, None]")],
        [(LOAD, "tl.load(x + at, mask=(cols < D)[None, :]")],
        [(STORE, f"if head % 2 == 0:\n        {STORE}")],
        [(STORE, STORE.replace("y + at", "y + at + head"))],
        [(STORE, STORE.replace("y + at", "y + at * (1 + head)"))],
        [(STORE, STORE.replace("mask=inside", "mask=inside & (rows % 2 == 0)[:, None]"))],
        [(STORE, STORE.replace("mask=inside", "mask=inside & (rows + 1 < length)[:, None]"))],
    ],
    ids=[
        *("heads that share", "chunks that overlap", "two lanes for one"),
        *("columns of others", "rows of others", "a store of some heads"),
        *("another place", "another stride", "odd rows left out", "the last row left out"),
    ],
)
def test_others_are_added(changes: list[tuple[str, str]], tmp_path: Path) -> None:
    module, _ = backward(tmp_path, changed(TILES, *UNLISTED, *changes), "--no-proof")
    assert "tl.atomic_add(dx" in module


@pytest.mark.parametrize(
    "changes",
    [
        [("tl.store(y + at + R, ", "tl.store(y + at + 2 * R, ")],
        [("tl.load(x + at + R, ", "tl.load(x + at + R * batch, ")],
        [("x, y, starts", "x, y, z, starts"), ("tl.store(y + at + R, ", "tl.store(z + at + R, ")],
    ],
    ids=["stored further apart", "no distance of the launch", "halves of two outputs"],
)
def test_halves_that_may_meet_are_added(changes: list[tuple[str, str]], tmp_path: Path) -> None:
    text = changed(HALVES, *changes).replace("(x, y, None", "(x, y, y.clone(), None")
    text = text.replace("(x, y, starts, T, D", "(x, y, y.clone(), starts, T, D")
    if "z + at" not in text:
        text = text.replace("y, y.clone()", "y")
    module, _ = backward(tmp_path, text, "--no-proof")
    assert "tl.atomic_add(dx" in module


@pytest.mark.parametrize(
    "condition", ["program % 2 == 0", "tl.load(x) > 0"], ids=["programs", "data"]
)
def test_sides_that_one_launch_takes_both_are_added(condition: str, tmp_path: Path) -> None:
    text = changed(
        LAYOUTS,
        ("if TURNED:", f"if {condition}:"),
        ("h + at + cols", "h + at // 2 + cols"),
    )
    module, _ = backward(tmp_path, text, "--no-proof")
    assert "tl.atomic_add(dh" in module


def test_programs_that_share_under_one_value_of_the_flag_are_added(tmp_path: Path) -> None:
    text = changed(
        TILES, *UNLISTED, ("first = batch * T\n", "first = 0\n"), ("* b, mask", "* b * batch, mask")
    )
    module, _ = backward(tmp_path, text, "--no-proof")
    assert "tl.atomic_add(dx" in module


ONE_MASK_OR_ALL = """import triton
import triton.language as tl


@triton.jit
def padded(x, y, D: tl.constexpr, P: tl.constexpr, R: tl.constexpr):
    d = tl.arange(0, P)
    if P != D:
        mask = d < D
    else:
        mask = tl.full((1,), 1, tl.int1)
    at = tl.arange(0, R)[:, None] * D + d[None, :]
    v = tl.load(x + at, mask=mask[None, :], other=0.0)
    tl.store(y + d, tl.sum(v * v, axis=0), mask=mask)
"""


def test_a_mask_of_one_lane_or_all_keeps_one_text(tmp_path: Path) -> None:
    """Nothing sums the mask: what follows is not written once for each shape."""
    source = tmp_path / "padded.py"
    source.write_text(ONE_MASK_OR_ALL)
    text = tad("--backward", source, "--no-proof", "--wrapper", "none").stdout
    assert text.count("tl.store(dx") == 1, text
