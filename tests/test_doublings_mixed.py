"""Random mixes of lines that use a name twice: twice the text takes at most so many times the steps.

A step (base/budget.h) is a measure of work that is the same on every machine, so nothing is timed.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(os.environ.get("TAD_BIN", ROOT / "build")).resolve()
HANG = 240  # seconds
SEEDS = range(6)
FEWEST, MOST = 12, 24  # lines of the shorter text
# Where each line is held against each, twice the text takes four times the steps; where names double, 2 ** FEWEST.
MOST_TIMES = 8
# What the loading of the table of operations and the rules takes once a run.
ONCE = 40_000

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
HELPERS = (
    "@triton.jit\ndef twice(a):\n    return a * a + a\n\n\n"
    "@triton.jit\ndef both(a, b):\n    return a + b, a * b\n\n\n"
    "@triton.jit\ndef chosen(a, b, F: tl.constexpr):\n"
    "    if F > 2:\n        a = a + b\n    else:\n        a = a * b\n    return a\n\n\n"
)
START = (
    "    pid = tl.program_id(0)\n    o = pid * B + tl.arange(0, B)\n    mask = o < n\n"
    "    m = tl.load(x_ptr + o, mask=mask, other=0.0)\n    k = m * 2\n"
    "    q = o\n    s = n\n    c: tl.constexpr = D\n    t = (m, k)\n    p = x_ptr + o\n"
)
END = (
    "    m += tl.load(p, mask=mask, other=0.0) + tl.load(x_ptr + q, mask=mask, other=0.0)\n"
    "    tl.store(y_ptr + o, m + k * c + t[0], mask=mask)\n\n\n"
)

# What a line of a kernel may be; {i} is its number.
KERNEL = [
    "m = m * k + m",
    "k = m + k * m",
    "m = tl.where(mask, m, k) + k",
    "m = tl.where(m > k, m * k, k)",
    "k = tl.where(mask & (k > 0), k, m * m)",
    "m, k = both(m, k)",
    "m = twice(k) - twice(m)",
    "m = chosen(m, k, D)",
    "k = tl.exp(m) * tl.maximum(m, k)",
    "m = m - tl.max(m, 0) * tl.sum(k * m, 0)",
    "k = tl.cumsum(m, 0) * k",
    "mask = mask & (o < n - {i})",
    "mask = (mask & (q < n)) | (mask & (o > s))",
    "q = q + q % {i}",
    "q = tl.minimum(q, q - s) + o",
    "q = tl.where(mask, q, o) + q // 2",
    "s = s + s // {i}",
    "s = min(s, s * 2) + max(s, n)",
    "s = (s if s > {i} else s + n) + n",
    "c = c * c + D",
    "c = (c + {i}) // 2 + c % 3",
    "t = (t[0] + t[1], t[0] * m)",
    "t = (t[1], k)",
    "p = tl.where(mask, p, p + {i})",
    "p = p + s",
    "m += tl.load(p, mask=mask, other=0.0)",
    "k = tl.load(x_ptr + q, mask=mask & (q < n), other=0.0) * k",
    "tl.store(y_ptr + q, m * k, mask=mask)",
    "if s > {i}:\n        m = m * k\n        s = s + s\n    else:\n        k = m + k",
    "if D > {i}:\n        m = m * m\n        q = q + o\n    else:\n        m = k",
    "for j in range(s):\n        m = m * k + m\n        k = k + m",
    "for j in range({i}, D):\n        q = q + j * q\n        m += k",
    "for j in tl.static_range(2):\n        m = m * k + m",
    "while s > {i}:\n        s = s // 2 + s // 3\n        m = m + m",
]
# And of its launcher.
HOST = [
    "n = n + n % {i}",
    "n = n * a + n",
    "a = a + n // 2",
    "n = n if n > {i} else n + a",
    "a = max(a, n) + min(a, n)",
    "if n > a:\n        n = n + a\n    else:\n        a = n * 2",
    "z = (n, a) if n < {i} else (a, a)\n    a = z[0] + z[1]",
    "x = x.view(-1, 2).reshape(-1)",
    "x = x.contiguous() + x",
    "y = torch.empty_like(x) if n > {i} else torch.zeros_like(y)",
    "x = torch.cat([x, x]) if a > n else x",
    "n = x.shape[0] + y.numel()",
    "n, a = a, n + a",
    "for j in range({i}):\n        n = n + a",
    "grid = lambda meta: (triton.cdiv(n + a, meta['B']), triton.cdiv(a, {i}))",
    "a = size_of(a, n)",
    "assert n > {i} or a > n",
    "while a > n:\n        a = a // 2 + n // 2",
]


def lines(drawn: random.Random, kinds: list[str], count: int) -> str:
    return "".join(f"    {drawn.choice(kinds)}\n".replace("{i}", str(i + 3)) for i in range(count))


def kernel(name: str, body: str, steps: str) -> str:
    return (
        f"@triton.jit\ndef {name}(x_ptr, y_ptr, n, D: tl.constexpr, B: tl.constexpr):\n"
        f"{START}{body}{END}"
        f"def {name}_launch(x, a: int):\n    y = torch.empty_like(x)\n    n = x.numel()\n"
        f"    grid = (triton.cdiv(n, 64),)\n{steps}"
        f"    {name}[grid](x, y, n, D=4, B=64)\n    return y\n\n\n"
    )


def texts(seed: int, kinds: int = 6) -> tuple[str, str]:
    """A kernel of few kinds of lines, so that they meet often, and the same with its lines twice."""
    drawn = random.Random(seed)
    count = drawn.randint(FEWEST, MOST)
    own = drawn.sample(KERNEL, kinds), drawn.sample(HOST, kinds)
    body, steps = (lines(drawn, each, count) for each in own)
    size = "def size_of(a, n):\n    return a * n + a\n\n\n"
    head = HEAD + HELPERS + size
    return head + kernel("k", body, steps), head + kernel("k", body * 2, steps * 2)


def steps_of(path: Path, *arguments: str) -> int:
    done = subprocess.run(
        [BIN / "tad-lsp", arguments[0], path, *arguments[1:]],
        capture_output=True,
        timeout=HANG,
        check=False,
        env={**os.environ, "TAD_WATCH_STEPS": "1"},
    )
    said = (done.stdout + done.stderr).decode()
    assert done.returncode in (0, 1), said
    assert "internal-error" not in said
    return sum(int(steps) for steps in re.findall(r"^tad-lsp: steps: (\d+)$", said, re.M))


COMMANDS = [("--check",), ("--backward", "--no-proof"), ("--self-check",)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0][2:])
def test_twice_the_text_takes_a_few_times_the_steps(command, seed, tmp_path):
    steps = []
    for name, text in zip(("once", "again"), texts(seed), strict=True):
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        steps.append(steps_of(path, *command))
    assert steps[1] <= MOST_TIMES * max(steps[0], ONCE), steps


def tower(height: int) -> str:
    """Helpers that call the one below twice, and are inlined: work that does double with each."""
    text = HEAD + "@triton.jit\ndef h_0(a):\n    return a * a\n\n\n"
    for i in range(1, height):
        text += f"@triton.jit\ndef h_{i}(a):\n    return h_{i - 1}(a) + h_{i - 1}(a)\n\n\n"
    return text + kernel("k", f"    m = h_{height - 1}(m)\n", "")


def test_the_measure_sees_what_doubles(tmp_path):
    steps = []
    for height in (6, 12):
        path = tmp_path / f"tower_{height}.py"
        path.write_text(tower(height))
        steps.append(steps_of(path, "--check"))
    assert steps[1] > MOST_TIMES * max(steps[0], ONCE), steps
