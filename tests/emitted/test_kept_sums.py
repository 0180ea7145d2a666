"""A sum of tiles that the forward stored is loaded in place of its terms."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.emitted.plan import ROOT, tad

STYLES = ROOT / "bench" / "gpu" / "style"
NORM = """import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, r, w, y, s, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + c, mask=c < n, other=0.0).to(tl.float32)
    b = tl.load(r + row * n + c, mask=c < n, other=0.0).to(tl.float32)
    total = a + b
    tl.store(s + row * n + c, total, mask=c < n)
    scale = tl.rsqrt(tl.sum(total * total, axis=0) / n + 1e-6)
    v = tl.load(w + c, mask=c < n, other=0.0).to(tl.float32)
    tl.store(y + row * n + c, total * scale * v, mask=c < n)


def run(x, r, w):
    rows, n = x.shape
    s = torch.empty_like(x)
    y = torch.empty_like(x)
    kernel[(rows,)](x, r, w, y, s, n, BLOCK=triton.next_power_of_2(n))
    return y, s
"""


def kernel_of(tmp_path: Path, *changes: tuple[str, str]) -> str:
    text = NORM
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "norm.py"
    path.write_text(text)
    done = tad("--backward", path)
    assert "gradients proved" in done.stderr, done.stderr
    return done.stdout.split("def kernel_backward(")[1].split("\nclass ")[0]


def loads(kernel: str, name: str) -> int:
    """How often the text loads elements of it, of one row or of several."""
    return len(re.findall(rf"tl\.load\(\s*\(?{name} \+ ", kernel))


def test_the_sum_is_loaded_and_its_terms_are_not(tmp_path: Path) -> None:
    kernel = kernel_of(tmp_path)
    assert loads(kernel, "s") == 1 and not loads(kernel, "x") and not loads(kernel, "r")


@pytest.mark.parametrize(
    "changes",
    [
        [("total = a + b", "total = a - b")],
        [("total = a + b", "total = a * 0.5 + b")],
        [("    s = torch.empty_like(x)\n    y = ", "    s, y = torch.empty_like(x), ")],
        [("return y, s", "return y")],
    ],
    ids=["difference", "scaled", "made side by side", "not returned"],
)
def test_in_other_spellings_too(changes: list[tuple[str, str]], tmp_path: Path) -> None:
    kernel = kernel_of(tmp_path, *changes)
    assert loads(kernel, "s") and not loads(kernel, "r")


@pytest.mark.parametrize(
    "changes",
    [
        [("total * scale * v, mask", "total * scale * v + a * b, mask")],  # its terms count as well
        [("s = torch.empty_like(x)", "s = torch.empty_like(x, dtype=torch.float32)")],
        [("s = torch.empty_like(x)", "s = torch.empty_like(x, dtype=torch.float8_e4m3fn)")],
        [("s = torch.empty_like(x)", "s = r")],
        [("    return y, s", "    s.mul_(2.0)\n    return y, s")],
        [("    return y, s", "    s[0] = 0.0\n    return y, s")],
        [("total = a + b", "total = a * b")],
        [("s = torch.empty_like(x)", "s, _ = torch.stack((x, r)).unbind(0)")],
        [("    tl.store(s", "    if n > 7:\n        tl.store(s")],
        [("total, mask=c < n)\n    scale", "total, mask=c < n - 1)\n    scale")],
    ],
    ids=[
        "terms are needed",
        "wider",
        "narrower",
        "in place",
        "changed later",
        "elements changed",
        "product",
        "parts of another tensor",
        "not always stored",
        "not all stored",
    ],
)
def test_elsewhere_it_is_not(changes: list[tuple[str, str]], tmp_path: Path) -> None:
    assert not loads(kernel_of(tmp_path, *changes), "s")


def test_norms_of_a_residual_load_their_sum() -> None:
    for file, name, stored, terms in (
        ("norms", "add_rms_norm_kernel", "S", ("X", "R")),
        ("further", "rms_residual_kernel", "s_ptr", ("x_ptr", "r_ptr")),
        ("unseen", "keep_add_norm_kernel", "s_ptr", ("x_ptr", "r_ptr")),
        ("reductions", "drop_rms_kernel", "s_ptr", ("x_ptr", "r_ptr")),
    ):
        text = tad("--backward", "--no-proof", f"{STYLES / file}.py:{name}").stdout
        body = text.split(f"def {name}_backward(")[1].split("\nclass ")[0]
        assert loads(body, stored), name
        for term in terms:
            assert not loads(body, term), name
