"""Rows that programs own, though flags, callers and loops decide about them, or they lie further apart than usual."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.emitted.plan import tad

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"

FURTHER = """@triton.jit
def further(x, y, L: tl.constexpr, N: tl.constexpr, B: tl.constexpr):
    b, row = tl.program_id(0), tl.program_id(1)
    x += b * STEP + row * N
    total = 0.0
    for start in range(0, N, B):
        cols = start + tl.arange(0, B)
        total += tl.sum(tl.exp(tl.load(x + cols, mask=cols < N, other=-float("inf"))))
    tl.store(y + b * L + row, total)
"""

GATED = """@triton.jit
def gated(x, y, g, sx, sg, D, B: tl.constexpr, GATE: tl.constexpr, BEFORE: tl.constexpr):
    row, group = tl.program_id(0), tl.program_id(1)
    x += row * sx + group * D
    y += row * sx + group * D
    if GATE:
        g += row * sg + group * D
    o = tl.arange(0, B)
    a = tl.load(x + o, mask=o < D, other=0.0)
    if FIRST:
        a *= tl.sigmoid(tl.load(g + o, mask=o < D, other=0.0))
    a = a / tl.sqrt(tl.sum(a * a) + 1.0)
    if SECOND:
        a *= tl.sigmoid(tl.load(g + o, mask=o < D, other=0.0))
    tl.store(y + o, a, mask=o < D)
"""

PARTS = """@triton.jit
def parts(x, y, n, d, row, B: tl.constexpr, C: tl.constexpr, PART: tl.constexpr = 16):
    first = tl.program_id(0) * B
    cols = tl.program_id(1) * C + tl.arange(0, C)
    acc = tl.zeros([C], dtype=tl.float32)
    for part in range(0, B, PART):
        rows = first + part + tl.arange(0, PART)
        a = tl.load(x + rows[:, None] * row + cols[None, :],
                    mask=(rows < n)[:, None] & (cols < d)[None, :], other=0.0)
        acc += tl.sum(a * a, axis=0)
    tl.atomic_add(y + cols, acc, mask=cols < d)


def run(x):
    n, d = x.shape
    y = torch.zeros(d, dtype=torch.float32)
    parts[(triton.cdiv(n, BLOCK), triton.cdiv(d, 16))](x, y, n, d, x.stride(0), B=BLOCK, C=16)
    return y
"""

CALLED = """@triton.jit
def frames(x, y, step, B: tl.constexpr):
    f, o = tl.program_id(0), tl.arange(0, B)
    a = tl.load(x + f * step + o)
    tl.store(y + f * B + o, a * a)


def _launch(x, y, count, step):
    frames[(count,)](x, y, step, B=8)


def run(x, hop, window):
    count, width = x.shape
    y = torch.empty(count, 8, dtype=x.dtype)
    _launch(x, y, count, PASSED)
    return y
"""

TURNED = """@triton.jit
def turned(x, y, z, n, row, zn: tl.constexpr, zt: tl.constexpr, H: tl.constexpr, T: tl.constexpr, KEEP: tl.constexpr):
    j = tl.arange(0, H)
    for r in range(tl.program_id(0), n, tl.num_programs(0)):
        a = tl.load(x + r * row + j)
        b = tl.load(x + r * row + H + j)
        a = a * b
        if KEEP:
            tl.store(z + r * zn + 0 * zt + j, a)
        for t in range(1, T):
            a = a * b
            if KEEP:
                tl.store(z + r * zn + t * zt + j, a)
        tl.store(y + r * H + j, a)
"""


def checked(folder: Path, text: str) -> tuple[str, int]:
    """The status of the one kernel of a text, and how many of its gradients need atomics."""
    path = folder / "rows.py"
    path.write_text(HEAD + text)
    report = json.loads(tad("--check", "--grad", "--format", "json", path).stdout)
    (kernel,) = report["kernels"]
    return kernel["status"], kernel["atomics"]


@pytest.mark.parametrize(
    ("step", "atomics"),
    [
        ("(L + 1) * N", 0),
        ("(2 * L + 3) * N", 0),
        ("L * N", 0),
        ("(L - 1) * N", 1),  # the last row of one is the first of the next
        ("(L * N + 1)", 1),  # columns move, too
    ],
)
def test_rows_that_lie_further_apart_have_owners(step: str, atomics: int, tmp_path: Path) -> None:
    status, found = checked(tmp_path, FURTHER.replace("STEP", step))
    assert found == atomics
    assert atomics or status == "proved"


@pytest.mark.parametrize(
    ("first", "second", "atomics"),
    [
        ("GATE and not BEFORE", "GATE and BEFORE", 0),
        ("not BEFORE and GATE", "not (not GATE or not BEFORE)", 0),
        ("not BEFORE", "GATE and BEFORE", 1),  # without a gate all programs read one row
    ],
)
def test_flags_that_are_joined_are_told_apart(
    first: str, second: str, atomics: int, tmp_path: Path
) -> None:
    text = GATED.replace("FIRST", first).replace("SECOND", second)
    status, found = checked(tmp_path, text)
    assert (status, found) == ("proved", atomics)


@pytest.mark.parametrize(("block", "atomics"), [(32, 0), (24, 1)])
def test_blocks_in_parts_have_owners(block: int, atomics: int, tmp_path: Path) -> None:
    """A block of 24 rows in parts of 16: the second part reaches into the next block."""
    text = PARTS.replace("BLOCK", str(block))
    status, found = checked(tmp_path, text)
    assert found == atomics
    assert status == "proved"
    module = tad("--backward", "--no-proof", tmp_path / "rows.py").stdout
    assert ("tl.static_assert(B % PART == 0" in module) == (atomics == 0)


@pytest.mark.parametrize(
    ("passed", "atomics"),
    [
        ("x.stride(0)", 0),
        ("width", 0),
        ("x.shape[1]", 0),
        ("x.size(1)", 0),
        ("hop", 1),
        ("width // 2", 1),
        ("x.stride(1)", 1),  # 1, where rows lie side by side
        ("window.shape[0]", 1),  # of a tensor that the launch does not have
    ],
)
def test_what_callers_ask_tensors_for_is_no_hop(passed: str, atomics: int, tmp_path: Path) -> None:
    _, found = checked(tmp_path, CALLED.replace("PASSED", passed))
    assert found == atomics


def test_one_caller_with_a_hop_is_enough(tmp_path: Path) -> None:
    more = "\n\ndef other(x, y, hop):\n    _launch(x, y, 4, hop)\n"
    _, found = checked(tmp_path, CALLED.replace("PASSED", "x.stride(0)") + more)
    assert found == 1


def test_a_loop_that_goes_backwards_has_the_same_rows(tmp_path: Path) -> None:
    assert checked(tmp_path, TURNED) == ("proved", 0)


STAGE = """@triton.jit
def stage(x, y, n, half, B: tl.constexpr):
    row = tl.program_id(0)
    p = tl.program_id(1) * B + tl.arange(0, B)
    m = p < n // 2
    top = p // half * 2 * half + p % half
    a = tl.load(x + LOADED, mask=MASK, other=0.0)
    b = tl.load(x + LOADED + half, mask=m, other=0.0)
    tl.store(y + row * n + top, a * b, mask=m)
    tl.store(y + row * n + top + half, a - b * b, mask=m)


def run(x, half):
    rows, n = x.shape
    y = torch.zeros_like(x)
    stage[(rows, triton.cdiv(n // 2, 16))](x, y, n, half, B=16)
    return y
"""


@pytest.mark.parametrize(
    ("loaded", "mask", "atomics"),
    [
        ("row * n + top", "m", 0),
        ("top + row * n", "m", 0),
        ("row * n + top", "p < n", 1),  # the store leaves lanes out that are loaded
        ("row * n + top % 64", "m", 1),
        ("row // 2 * n + top", "m", 1),  # two rows have what one stores
    ],
)
def test_a_store_at_the_same_place_tells_halves_of_blocks_apart(
    loaded: str, mask: str, atomics: int, tmp_path: Path
) -> None:
    """No lane of theirs is linear in the address: the tile of addresses is the store's."""
    text = STAGE.replace("LOADED", loaded).replace("MASK", mask)
    status, found = checked(tmp_path, text)
    assert (status, found) == ("proved", atomics)


SPARSE = """@triton.jit
def sparse(starts, col, val, x, y, D, B: tl.constexpr):
    row = tl.program_id(0)
    d = tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros([B], dtype=tl.float32)
    for e in range(tl.load(starts + row), tl.load(starts + row + 1)):
        a = tl.load(x + tl.load(col + e) * D + d, mask=d < D, other=0.0)
        acc += tl.load(val + e) * a
    tl.store(y + row * D + d, acc, mask=d < D)
"""


def test_no_program_has_a_share_of_all_that_memory_lists(tmp_path: Path) -> None:
    """Each of them has a few of the elements: shares would be all of these for each program."""
    path = tmp_path / "rows.py"
    path.write_text(HEAD + SPARSE)
    text = tad("--backward", "--no-proof", path).stdout
    kernel = text[text.index("def sparse_backward(") :].split("\nclass ")[0]
    assert "most_slices" not in kernel
    assert "tl.atomic_add(dval + e" in kernel
