"""Files that would take minutes are analysed as far as their steps go, and say so; what else is in them goes on.

Nothing is timed: the one limit is far above what a run takes, and far below what all of the towers would.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(os.environ.get("TAD_BIN", ROOT / "build")).resolve()
HANG = 60  # seconds
TOWERS = 30
HEIGHT = 31
MOST_BYTES = 1 << 30

HEAD = "import triton\nimport triton.language as tl\n\n\n"
LOW = (
    "@triton.jit\ndef low(x_ptr, y_ptr, n, B: tl.constexpr):\n"
    "    o = tl.program_id(0) * B + tl.arange(0, B)\n    m = o < n\n"
    "    tl.store(y_ptr + o, tl.load(x_ptr + o, mask=m, other=0.0) * 3.0, mask=m)\n\n\n"
)


def tower(number: int) -> str:
    """Helpers that call each other twice, and a kernel above them that stores before and after."""
    name = f"tower_{number}"
    text = f"@triton.jit\ndef {name}_0(a):\n    return a * {number}.5\n\n\n"
    for i in range(1, HEIGHT):
        below = f"{name}_{i - 1}(a)"
        text += f"@triton.jit\ndef {name}_{i}(a):\n    return {below} + {below}\n\n\n"
    return text + (
        f"@triton.jit\ndef tall_{number}(x_ptr, y_ptr, z_ptr, B: tl.constexpr):\n"
        "    o = tl.arange(0, B)\n    x = tl.load(x_ptr + o)\n    tl.store(y_ptr + o, x * 2)\n"
        f"    tl.store(z_ptr + o, {name}_{HEIGHT - 1}(x))\n\n\n"
    )


@pytest.fixture
def towers(tmp_path: Path) -> Path:
    path = tmp_path / "towers.py"
    path.write_text(HEAD + "".join(map(tower, range(TOWERS))) + LOW)
    return path


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    limit = f"ulimit -v {MOST_BYTES // 1024}; exec "
    words = " ".join(f"'{word}'" for word in (BIN / "tad-lsp", *arguments))
    return subprocess.run(
        ["bash", "-c", limit + words], capture_output=True, text=True, timeout=HANG, check=False
    )


def test_a_file_of_towers_is_checked(towers):
    done = run("--check", "--format", "json", towers)
    findings = json.loads(done.stdout)["diagnostics"]
    said = [finding for finding in findings if finding["name"] == "limit-reached"]
    lines = towers.read_text().splitlines()
    assert sorted(
        lines[finding["range"]["start"]["line"]].split("(")[0] for finding in said
    ) == sorted(f"def tall_{i}" for i in range(TOWERS))
    assert len(findings) == len(said)


def test_the_backward_of_what_is_cut_is_refused(towers, tmp_path):
    """Its stores beyond the limit are not known, so what is known is not the whole gradient."""
    out = tmp_path / "out.py"
    done = run("--backward", "--no-proof", towers, "-o", out)
    assert done.returncode == 1
    assert (done.stdout + done.stderr).count("limit-reached") == TOWERS
    text = out.read_text()
    assert "def low_backward(" in text
    assert "def tall_0_backward(" not in text


def test_host_code_has_steps_of_its_own(tmp_path):
    """The launch is one that is not understood, and the kernel is checked all the same."""
    path = tmp_path / "host.py"
    path.write_text(
        HEAD
        + LOW
        + "def launch(x, y):\n"
        + "    x = x.view(-1, 2).reshape(-1)\n" * 20_000
        + "    low[(1,)](x, y, 64, B=64)\n"
    )
    assert "takes more steps than its evaluation has" in run("--dump", "launches", path).stdout
    done = run("--check", path)
    assert done.returncode == 0 and "limit-reached" not in done.stdout + done.stderr
