"""What the forward divided by a row's sum, and stored, is loaded: the row's maximum and sum are not computed again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.emitted.plan import tad

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
LAUNCHER = """

def run(x):
    rows, n = x.shape
    y = torch.empty_like(x)
    kernel[(rows,)](x, y, n, BLOCK=triton.next_power_of_2(n))
    return y
"""
ROW = """@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + c, mask=c < n, other=-float("inf")).to(tl.float32)
    e = tl.exp(a - tl.max(a, axis=0))
    p = e / tl.sum(e, axis=0)
    tl.store(y + row * n + c, p, mask=c < n)
"""
LOOPS = """@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top = -float("inf")
    for start in range(0, n, 16):
        c = start + tl.arange(0, 16)
        a = tl.load(x + row * n + c, mask=c < n, other=-float("inf"))
        top = tl.maximum(top, tl.max(a))
    total = 0.0
    for start in range(0, n, 16):
        c = start + tl.arange(0, 16)
        a = tl.load(x + row * n + c, mask=c < n, other=-float("inf"))
        total += tl.sum(tl.exp(a - top))
    for start in range(0, n, 16):
        c = start + tl.arange(0, 16)
        a = tl.load(x + row * n + c, mask=c < n)
        tl.store(y + row * n + c, tl.exp(a - top) / total, mask=c < n)
"""
TILE = """@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    r = tl.program_id(0) + tl.arange(0, 1)
    c = tl.arange(0, BLOCK)
    at = r[:, None] * n + c[None, :]
    mask = (r[:, None] < tl.num_programs(0)) & (c[None, :] < n)
    a = tl.load(x + at, mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(a - tl.max(a, axis=1, keep_dims=True))
    p = e / tl.sum(e, axis=1, keep_dims=True)
    tl.store(y + at, p, mask=mask)
"""
TURNS = """@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    for row in range(tl.program_id(0), n, tl.num_programs(0)):
        c = tl.arange(0, BLOCK)
        a = tl.load(x + row * n + c, mask=c < n, other=-float("inf")).to(tl.float32)
        e = tl.exp(a - tl.max(a, axis=0))
        p = e / tl.sum(e, axis=0)
        tl.store(y + row * n + c, p, mask=c < n)
"""
LANES = """@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top = tl.full([16], -float("inf"), tl.float32)
    total = tl.zeros([16], tl.float32)
    for start in range(0, n, 16):
        c = start + tl.arange(0, 16)
        a = tl.load(x + row * n + c, mask=c < n, other=-float("inf"))
        higher = tl.maximum(a, top)
        empty = higher == -float("inf")
        total = tl.where(empty, total, total * tl.exp(top - higher) + tl.exp(a - higher))
        top = higher
    of_all = tl.max(top, axis=0)
    sum_of_all = tl.sum(total * tl.exp(top - of_all), axis=0)
    for start in range(0, n, 16):
        c = start + tl.arange(0, 16)
        a = tl.load(x + row * n + c, mask=c < n)
        tl.store(y + row * n + c, a - (of_all + tl.log(sum_of_all)), mask=c < n)
"""
SQUARE = ("    rows, n = x.shape\n", "    rows, n = x.shape\n    assert rows == n\n")
DIVISION = "p = e / tl.sum(e, axis=0)"
ONLINE = (
    (
        LOOPS[LOOPS.index("        top = tl.max") : LOOPS.index("    for start", 400)],
        "        higher = tl.maximum(top, tl.max(a))\n"
        "        total = total * tl.exp(top - higher) + tl.sum(tl.exp(a - higher))\n"
        "        top = higher\n",
    ),
    ('    top = -float("inf")\n', '    top = -float("inf")\n    total = 0.0\n'),
)

LOADED: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "a row": (ROW, []),
    "turns": (TURNS, [SQUARE]),
    "a tile": (TILE, []),
    "loops": (LOOPS, []),
    "online": (LOOPS, list(ONLINE)),
    "lanes": (LANES, []),
    "lanes, divided": (
        LANES,
        [("a - (of_all + tl.log(sum_of_all))", "tl.exp(a - of_all) / sum_of_all")],
    ),
    "reciprocal": (ROW, [(DIVISION, "p = e * (1.0 / tl.sum(e, axis=0))")]),
    "base 2": (ROW, [("e = tl.exp(", "e = tl.exp2(1.4426950408889634 * ")]),
    "scaled": (ROW, [(").to(tl.float32)", ").to(tl.float32) * 0.3")]),
    "temperature": (ROW, [("    e = tl.exp(", "    a = a * 0.5\n    e = tl.exp(")]),
    "below the diagonal": (
        ROW,
        [SQUARE, ("mask=c < n, other", "mask=(c < n) & (c <= row), other")],
    ),
    "rounded": (ROW, [("row * n + c, p,", "row * n + c, p.to(y.dtype.element_ty),")]),
    "logarithm": (ROW, [(DIVISION, "p = a - tl.max(a, axis=0) - tl.log(tl.sum(e, axis=0))")]),
    "log-sum-exp": (ROW, [(DIVISION, "p = a - (tl.max(a, axis=0) + tl.log(tl.sum(e, axis=0)))")]),
}


def written(tmp_path: Path, kernel: str, changes: list[tuple[str, str]]) -> tuple[str, str]:
    """The kernel of the proved module, and what was said."""
    text = HEAD + kernel + LAUNCHER
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "file.py"
    path.write_text(text)
    done = tad("--backward", path)
    assert done.returncode == 0, done.stderr
    assert "gradients proved" in done.stderr
    return done.stdout.split("def kernel_backward(")[1].split("\n\n\n")[0], done.stdout


@pytest.mark.parametrize("name", LOADED)
def test_it_is_loaded(name: str, tmp_path: Path) -> None:
    kernel, module = written(tmp_path, *LOADED[name])
    assert re.search(r"tl\.load\(\(?y \+ ", kernel)
    assert not re.search(r"tl\.load\(\(?x \+ ", kernel)
    assert "tl.max" not in kernel
    assert " / " not in kernel
    assert "_save(ctx, x, y)" in module


def test_an_upstream_gradient_is_read_where_it_counts(tmp_path: Path) -> None:
    """What is 0 in the output is neither read of it nor of its gradient."""
    kernel, _ = written(tmp_path, *LOADED["below the diagonal"])
    masks = re.findall(r"[ (]mask=(\w+)", kernel)
    assert len(masks) == 3
    assert set(masks) <= {masks[0], "stored"}  # zeros beside the gradient are stored, too


NOT_LOADED: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "changed in place": (ROW, [("    return y", "    y.mul_(2.0)\n    return y")]),
    "a part changed": (ROW, [("    return y", "    y[0] = 0.0\n    return y")]),
    "a view": (ROW, [("kernel[(rows,)](x, y,", "kernel[(rows,)](x, y.view(rows, n),")]),
    "in place": (ROW, [("    y = torch.empty_like(x)", "    y = x")]),
    "given": (ROW, [("def run(x):", "def run(x, y):"), ("    y = torch.empty_like(x)\n", "")]),
    "less exact": (ROW, [("torch.empty_like(x)", "torch.empty_like(x, dtype=torch.float16)")]),
    # twice the bytes of the row
    "more exact": (ROW, [("torch.empty_like(x)", "torch.empty_like(x, dtype=torch.float32)")]),
    "not always": (ROW, [("    tl.store(", "    if row % 2 == 0:\n        tl.store(")]),
    "stored again": (
        ROW,
        [("p, mask=c < n)\n", "p, mask=c < n)\n    tl.store(y + row * n, tl.sum(p) * 0.5)\n")],
    ),
    "overwritten": (
        ROW,
        [
            (
                "    a = tl.load(x + row * n + c,",
                "    for k in range(2):\n      a = tl.load(x + (k * rows + row) * n + c,",
            ),
            ("    e = ", "      e = "),
            ("    p = ", "      p = "),
            ("    tl.store", "      tl.store"),
            ("(x, y, n, BLOCK:", "(x, y, rows, n, BLOCK:"),
            ("(x, y, n, BLOCK=", "(x, y, rows, n, BLOCK="),
            ("torch.empty_like(x)", "torch.empty(rows, n, dtype=x.dtype)"),
            ("rows, n = x.shape", "_, rows, n = x.shape"),
        ],
    ),
    "negated": (ROW, [(DIVISION, "p = -e / tl.sum(e, axis=0)")]),
    "no whole": (ROW, [(DIVISION, "p = e / (tl.sum(e, axis=0) + 1.0)")]),
    "a sum of more": (ROW, [(DIVISION, "p = e / tl.sum(e * tl.cos(a), axis=0)")]),
    # lanes beyond the row count in its sum
    "the end counts": (
        ROW,
        [('other=-float("inf")', "other=0.0"), ("c < n, other", "c < n - 1, other")],
    ),
    # the row is read for its own sake: one tile more would be read
    "the row counts": (ROW, [("p, mask=c < n)", "p + a * a, mask=c < n)")]),
    "the maximum counts": (ROW, [("p, mask=c < n)", "p * tl.max(a, axis=0), mask=c < n)")]),
}


@pytest.mark.parametrize("name", NOT_LOADED)
def test_elsewhere_it_is_computed(name: str, tmp_path: Path) -> None:
    kernel, changes = NOT_LOADED[name]
    text, _ = written(tmp_path, kernel, changes)
    assert not re.search(r"tl\.load\(\(?y \+ ", text)
    assert re.search(r"tl\.load\(\(?x \+ ", text)
