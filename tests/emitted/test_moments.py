"""Running means and squared distances: the derivation takes them for sums, in whatever spelling."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emitted.plan import derived, proved_module, tad

TEXT = """import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, rows, n, eps, R: tl.constexpr, B: tl.constexpr):
    {index}
    mean = 0.0
    m2 = 0.0
    {first}
    for start in range(0, n, B):
        at = start + tl.arange(0, B)
        a = tl.load({address}, mask={mask}, other={other}).to(tl.float32)
        {body}
    rstd = tl.rsqrt(m2 / {behind} + eps)
    for start in range(0, n, B):
        at = start + tl.arange(0, B)
        a = tl.load({address}, mask={mask}, other=0.0).to(tl.float32)
        tl.store({address_y}, tl.sin((a - mean) * rstd), mask={mask})


def run(x, eps=1e-3):
    rows, n = x.shape
    y = torch.empty_like(x)
    kernel[(rows // {per},)](x, y, rows, n, eps, R={per}, B=16)
    return y
"""
MERGED = """here = tl.minimum(n - start, B)
        part = tl.sum(a) / here
        off = tl.where(at < n, a - part, 0.0)
        delta = part - mean
        both = count + here
        mean += delta * here / both
        m2 += tl.sum(off * off) + delta * delta * count * here / both
        count = both"""
ROW = {
    "index": "row = tl.program_id(0)",
    "first": "count = 0.0",
    "address": "x + row * n + at",
    "address_y": "y + row * n + at",
    "mask": "at < n",
    "other": "0.0",
    "body": MERGED,
    "behind": "n",
    "per": "1",
}
TILE = """here = tl.minimum(n - start, B) * R
        part = tl.sum(a) / here
        off = tl.where(at[None, :] < n, a - part, 0.0)
        weight = here / (count + here)
        m2 += tl.sum(off * off) + (part - mean) * (part - mean) * count * weight
        mean = mean * (1 - weight) + part * weight
        count += here"""
# By sums along one axis first, of what is loaded and scaled.
SCALED = """s = a * 3.0
        here = tl.sum(tl.where(at < n, 1.0, 0.0))
        delta = s - mean
        next = mean + tl.sum(tl.where(at < n, delta, 0.0)) / (count + here)
        m2 += tl.sum(tl.where(at < n, delta * (s - next), 0.0))
        mean = next
        count += here"""
MOMENTS = {
    "merged": {},
    "counted behind": {"behind": "count"},
    "beyond the mask is a number": {
        "other": "7.0",
        "body": MERGED.replace("sum(a)", "sum(tl.where(at < n, a, 0.0))"),
    },
    "counted by the loop": {
        "first": "",
        "body": MERGED.replace("count = both", "").replace("count", "start"),
    },
    "tile": {
        "index": "row = tl.program_id(0) * R + tl.arange(0, R)",
        "address": "x + row[:, None] * n + at[None, :]",
        "address_y": "y + row[:, None] * n + at[None, :]",
        "mask": "at[None, :] < n",
        "body": TILE,
        "behind": "(n * R)",
        "per": "2",
    },
    "scaled": {"body": SCALED},
}
OTHERS = {
    # the distances are not from the mean of all
    "without the middle term": {
        "body": MERGED.replace(" + delta * delta * count * here / both", "")
    },
    "forgets": {"body": MERGED.replace("delta * here / both", "delta * 0.5")},
    "counts too many": {"body": MERGED.replace("tl.minimum(n - start, B)", "B * 1.0")},
    # a mean for all numbers and sizes that are drawn, and none for others
    "clipped": {
        "body": MERGED.replace(
            "delta * here / both\n", "tl.minimum(delta, 10.0) * here / both\n", 1
        )
    },
    "clipped elements": {
        "body": MERGED.replace("tl.sum(a)", "tl.sum(tl.where(a > 50.0, 50.0, a))")
    },
    "ends late": {
        "body": MERGED.replace(
            "delta * here / both\n", "tl.where(start < 4096, delta, 0.0) * here / both\n", 1
        )
    },
    "capped": {"body": MERGED.replace("count = both", "count = tl.minimum(both, 5000.0)")},
}


def text(**changes: str) -> str:
    return TEXT.format(**{**ROW, **changes})


@pytest.mark.parametrize("name", MOMENTS)
def test_a_running_mean_is_a_sum(name: str, tmp_path: Path) -> None:
    module = proved_module(tmp_path, text(**MOMENTS[name]))
    kernel = module.split("def kernel_backward(")[1].split("\n\n\n")[0]
    assert "tape" not in kernel and "back in range" not in kernel
    assert "mean_saved_ptr" in module, "the forward may store it"


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_mean_keeps_its_states(name: str, tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(text(**OTHERS[name]))
    kernel = derived(path)[1]["kernel"]["backward"]["source"]
    assert "tape" in kernel or "back in range" in kernel


def test_a_row_is_walked_twice(tmp_path: Path) -> None:
    """What the mean's gradient needs is summed where the row is read already."""
    path = tmp_path / "kernels.py"
    path.write_text(text())
    run = tad("--backward", "--no-proof", path)
    kernel = run.stdout.split("def kernel_backward(")[1].split("\n\n\n")[0]
    assert kernel.count("tl.load(x") == 2, kernel
