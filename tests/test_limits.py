"""What is too much for a bounded search counts as unknown: no gradient gets wrong by it."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(os.environ.get("TAD_BIN", ROOT / "build")).resolve()
HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"


def run(tmp_path: Path, text: str, *arguments: str) -> str:
    path = tmp_path / "limit.py"
    path.write_text(text)
    command = [BIN / "tad-lsp", *(str(path) if a == "FILE" else a for a in arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def chain(length: int) -> str:
    """Values that each iteration hands on: what the first holds beyond the mask reaches the last after as many."""
    start = "".join(f"    v{i} = x\n" for i in range(length))
    shift = "".join(f"        v{i} = v{i - 1}\n" for i in range(length - 1, 0, -1))
    return HEAD + (
        "@triton.jit\ndef chain_kernel(x_ptr, s_ptr, y_ptr, n, rounds, B: tl.constexpr):\n"
        "    o = tl.program_id(0) * B + tl.arange(0, B)\n    mask = o < n\n"
        "    x = tl.load(x_ptr + o, mask=mask, other=0.0)\n    s = tl.load(s_ptr)\n    r = 1.0 / x\n"
        f"{start}    for i in range(rounds):\n{shift}        v0 = r * r\n"
        f"    tl.store(y_ptr + o, v{length - 1} * s, mask=mask)\n"
    )


@pytest.mark.parametrize("length", [1, 4, 14, 40])
def test_what_lies_beyond_a_mask_is_followed_through_long_chains(length, tmp_path):
    """1 / 0 beyond the mask, times the 0 that the gradient is there, is NaN in the sum that is the gradient of `s`."""
    emitted = run(tmp_path, chain(length), "--backward", "FILE", "--no-proof")
    last = f"v{length - 1}"
    assert re.search(rf"{last} = tl\.where\(mask, \w+, 0\.0\)\n\s+ds \+?= ", emitted), emitted


@pytest.mark.parametrize(("count", "says"), [(120, "proved"), (600, "more than 512 parameters")])
def test_many_parameters(count, says, tmp_path):
    names = ", ".join(f"a{i}" for i in range(count))
    text = HEAD + (
        f"@triton.jit\ndef many_kernel({names}, x_ptr, y_ptr, m, n, sm, sn, om, on,"
        " B: tl.constexpr, C: tl.constexpr):\n"
        "    r = tl.program_id(0) * B + tl.arange(0, B)\n    c = tl.program_id(1) * C + tl.arange(0, C)\n"
        "    mask = (r < m)[:, None] & (c < n)[None, :]\n"
        "    x = tl.load(x_ptr + r[:, None] * sm + c[None, :] * sn, mask=mask, other=0.0)\n"
        f"    x = x * (a0 + a{count - 1})\n"
        "    tl.store(y_ptr + r[:, None] * om + c[None, :] * on, x, mask=mask)\n"
    )
    assert says in run(tmp_path, text, "--check", "FILE", "--grad")


@pytest.mark.parametrize("rank", [3, 6, 8])
def test_what_lies_beyond_a_mask_is_followed_along_each_axis(rank, tmp_path):
    """The mask is along the first of so many axes, and 1 / 0 beyond it."""
    spread = "[:, " + ", ".join(["None"] * (rank - 1)) + "]"
    text = HEAD + (
        "@triton.jit\ndef wide_kernel(x_ptr, s_ptr, y_ptr, n, B: tl.constexpr):\n"
        "    p = tl.program_id(0) * B + tl.arange(0, B)\n"
        f"    mask = (p < n){spread}\n"
        f"    o = p{spread} * 2 + tl.arange(0, 2)[{', '.join(['None'] * (rank - 1))}, :]\n"
        "    x = tl.load(x_ptr + o, mask=mask, other=0.0)\n"
        "    s = tl.load(s_ptr)\n    r = 1.0 / x\n"
        "    tl.store(y_ptr + o, r * r * s, mask=mask)\n"
    )
    assert "tl.where(mask, r * r, 0.0)" in run(tmp_path, text, "--backward", "FILE", "--no-proof")


def refused(tmp_path: Path, body: str) -> str:
    """What is said of a kernel that has no backward."""
    path = tmp_path / "refused.py"
    head = "@triton.jit\ndef refused_kernel(x_ptr, y_ptr, n, B: tl.constexpr):\n"
    path.write_text(HEAD + head + "".join(f"    {line}\n" for line in body.split("\n")))
    command = [BIN / "tad-lsp", "--backward", "--no-proof", path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_tile_of_too_many_axes_is_named(tmp_path):
    said = refused(
        tmp_path,
        f"o = tl.arange(0, B)[{'None, ' * 8}:]\nx = tl.load(x_ptr + o)\ntl.store(y_ptr + o, x * x)",
    )
    assert "no backward" in said
    path = tmp_path / "refused.py"
    assert "a tile of 9 axes; tiles of 8 at most" in subprocess.run(
        [BIN / "tad-lsp", "--check", path], capture_output=True, text=True, check=False
    ).stdout  # fmt: skip


@pytest.mark.parametrize("operation", ["tl.cat(x, x, dim=7)", "tl.interleave(x, x)"])
def test_a_derivative_that_takes_one_axis_more_is_refused(operation, tmp_path):
    said = refused(
        tmp_path,
        f"o = tl.arange(0, B)[{'None, ' * 7}:]\nx = tl.load(x_ptr + o)\n"
        f"p = tl.arange(0, 2 * B)[{'None, ' * 7}:]\ny = {operation}\ntl.store(y_ptr + p, y * y)",
    )
    assert "axes that a tile may have" in said


def test_a_descriptor_that_is_advanced_is_refused(tmp_path):
    said = refused(
        tmp_path,
        "d = tl.make_tensor_descriptor(x_ptr, (n, n), (n, 1), (4, 4))\nd = tl.advance(d, (0, 4))\n"
        "x = d.load((0, 0))\ne = tl.make_tensor_descriptor(y_ptr, (n, n), (n, 1), (4, 4))\n"
        "e.store((0, 0), x * x)",
    )
    assert "is not made in this kernel" in said
