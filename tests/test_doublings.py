"""Values that are shared: the ways from the last to the first double with each line, the work does not.

Nothing is timed. The one limit on time is some hundred times what a run takes, and far below what 2^30 ways would take.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(os.environ.get("TAD_BIN", ROOT / "build")).resolve()
HANG = 240  # seconds
LINES = 32

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
PARAMETERS = "x_ptr, y_ptr, n, D: tl.constexpr, B: tl.constexpr"
FIRST = (
    "    pid = tl.program_id(0)\n    o = pid * B + tl.arange(0, B)\n    mask = o < n\n"
    "    m = tl.load(x_ptr + o, mask=mask, other=0.0)\n"
    "    s = n\n    c: tl.constexpr = B\n    t = (m, m)\n    p = x_ptr + o\n    q = o\n"
)
STORE = "    tl.store(y_ptr + o, m, mask=mask)\n"
LOAD = "    m = tl.load(x_ptr + q, mask=q < n, other=0.0)\n" + STORE
LAUNCH = (
    "def {name}_launch(x):\n    y = torch.empty_like(x)\n    n = x.numel()\n{steps}"
    "    {name}[(triton.cdiv(n, 64),)](x, y, n, D=32, B=64)\n    return y\n\n\n"
)

# name: a line of the kernel, what reads its last value
DOUBLED = {
    "product": ("m = m * m + m", STORE),
    "sum": ("m = m + m", STORE),
    "quotient": ("m = m / (m + 1.0)", STORE),
    "choice": ("m = tl.where(m > 0, m, m * 2)", STORE),
    "masked": ("m = tl.where(mask, m, m * 2)", STORE),
    "larger": ("m = tl.maximum(tl.minimum(m, m * 2), m * 0.5)", STORE),
    "exponential": ("m = tl.exp(m) * m", STORE),
    "reduction": ("m = m - tl.max(m, 0) * tl.sum(m, 0)", STORE),
    "outer": ("m = tl.sum(m[:, None] * m[None, :], 1)", STORE),
    "scan": ("m = tl.cumsum(m, 0) * m", STORE),
    "helper": ("m = twice(m)", STORE),
    "branch": ("if n > 3:\n        m = m * m + m\n    else:\n        m = m + m", STORE),
    "both": ("mask = mask & mask", STORE),
    "either": ("mask = (mask & (o < n - 1)) | (mask & (o > 1))", STORE),
    "tuple": ("t = (t[0] + t[1], t[0] * t[1])", "    m = t[0]\n" + STORE),
    "nested": ("t = (t, t)", STORE),
    "growing": ("t = t + t", STORE),
    "offset": ("q = q + q", LOAD),
    "square": ("q = q * q + q", LOAD),
    "remainder": ("q = q // 2 + q % 3", LOAD),
    "bits": ("q = (q ^ 1) + (q >> 1)", LOAD),
    "clamped": ("q = tl.minimum(q, q - 1)", LOAD),
    "chosen": ("q = tl.where(q < n, q, q - n)", LOAD),
    "pointer": ("p = tl.where(o < n, p, p + 1)", "    m = tl.load(p)\n" + STORE),
    "pointers": (
        "if n > 3:\n        p = p + 1\n    else:\n        p = p + 2",
        "    m = tl.load(p)\n" + STORE,
    ),
    "scalar": ("s = min(s, s * 2) + max(s, 3)", "    q = o + s\n" + LOAD),
    "condition": (
        "s = (s if s > 3 else s + 1) + (s if s < 7 else s - 1)",
        "    q = o + s\n" + LOAD,
    ),
    "polynomial": ("c = c * c + D", "    m = m * c\n" + STORE),
    "flag": ("c = (c and D > 3) or (c and D < 7)", "    if c:\n        m = m * 2\n" + STORE),
    "text": ("c = f'{c}{c}'", "    if c == 'a':\n        m = m * 2\n" + STORE),
    "place": ("q = q // 2 + q % 2", "    tl.store(y_ptr + q, m, mask=mask)\n"),
    "trips": (
        "s = s // 2 + s % 2 + s",
        "    for i in range(s):\n        m += tl.load(x_ptr + i)\n" + STORE,
    ),
    "carried": ("for i in range(n):\n        m = m * m + m\n        q = q + q % 7", LOAD),
}

HOST = {
    "host_sum": "n = n + n",
    "host_square": "n = n * n + n",
    "host_choice": "n = n if n > 3 else n + n",
    "host_branch": "if n > 3:\n        n = n + n\n    else:\n        n = n * 2",
    "host_tuple": "z = (x, y) if n < 0 else (n, n)\n    z = z + z",
    "host_tensor": "x = x + x",
}

TOWER = "@triton.jit\ndef tower_0(a):\n    return a * a\n\n\n" + "".join(
    f"@triton.jit\ndef tower_{i}(a):\n    return tower_{i - 1}(a) + tower_{i - 1}(a)\n\n\n"
    for i in range(1, 17)
)


def kernel(name: str, lines: str, last: str, steps: str = "") -> str:
    return f"@triton.jit\ndef {name}({PARAMETERS}):\n{FIRST}{lines}{last}\n\n" + LAUNCH.format(
        name=name, steps=steps
    )


def module(part: int, parts: int) -> str:
    """One of several files with a kernel for each way to double."""
    text = HEAD + "@triton.jit\ndef twice(a):\n    return a * a + a\n\n\n"
    for name, (line, last) in list(DOUBLED.items())[part::parts]:
        text += kernel(name, f"    {line}\n" * LINES, last)
    for name, line in list(HOST.items())[part::parts]:
        text += kernel(name, "", STORE, f"    {line}\n" * LINES)
    return text


def run(*arguments: object) -> str:
    done = subprocess.run(
        [BIN / "tad-lsp", *map(str, arguments)], capture_output=True, timeout=HANG, check=False
    )
    said = (done.stdout + done.stderr).decode()
    assert done.returncode in (0, 1), said
    assert "internal-error" not in said
    return said


PARTS = 4
COMMANDS = [("--check",), ("--backward", "--no-proof")]


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0][2:])
def test_doublings_end(command, part, tmp_path):
    path = tmp_path / "doublings.py"
    path.write_text(module(part, PARTS))
    run(command[0], path, *command[1:])


def test_features_of_doublings_end(tmp_path):
    path = tmp_path / "doublings.py"
    path.write_text(module(0, 3 * PARTS))
    run("--self-check", path)


def test_proofs_of_doublings_end(tmp_path):
    path = tmp_path / "doublings.py"
    path.write_text(module(0, 2 * PARTS))
    run("--check", path, "--grad", "--time-limit", "1")


def test_a_tower_of_helpers_is_said(tmp_path):
    path = tmp_path / "tower.py"
    path.write_text(HEAD + TOWER + kernel("k", "    m = tower_16(m)\n", STORE))
    assert "limit-reached" in run("--check", path)


def chain(depth: int) -> str:
    """Two outputs, and the one of them by one of many functions, each in the `else` of the one before."""
    text = HEAD + "@triton.jit\ndef act(a, KIND: tl.constexpr):\n"
    for i in range(depth):
        text += f"    {'el' if i else ''}if KIND == 'f{i}':\n        r = tl.sin(a * {i + 1}.0)\n"
    text += "    return r\n\n\n@triton.jit\ndef gated(x, y, a, b, n, KIND: tl.constexpr, B: tl.constexpr):\n"
    text += "    o = tl.program_id(0) * B + tl.arange(0, B)\n    u = tl.load(x + o, mask=o < n)\n"
    text += (
        "    v = tl.load(y + o, mask=o < n)\n    tl.store(a + o, u * act(v, KIND), mask=o < n)\n"
    )
    return text + "    tl.store(b + o, u * v * act(v * v, KIND), mask=o < n)\n"


def test_choices_in_choices_are_derived(tmp_path):
    """What is within a branch is walked once, however deep it is: the steps of a derivation suffice."""
    path = tmp_path / "chain.py"
    path.write_text(chain(24))
    said = run("--backward", path, "--no-proof", "--wrapper", "none")
    assert "limit-reached" not in said
    assert "def gated_backward" in said
