"""Texts that are broken, huge, circular or endless: the program says something and ends."""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(os.environ.get("TAD_BIN", ROOT / "build")).resolve()
HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef k(x, n, B: tl.constexpr):\n"


def nested(line: str, depth: int, last: str) -> str:
    lines = ["    " * (i + 1) + line.format(i=i) for i in range(depth)]
    return "\n".join([*lines, "    " * (depth + 1) + last, ""])


CASES = {
    "parentheses": HEAD + "    y = " + "(" * 10000 + "1" + ")" * 10000 + "\n    tl.store(x, y)\n",
    "open_parentheses": HEAD + "    y = " + "(" * 10000 + "\n",
    "attributes": HEAD + "    y = x" + ".a" * 20000 + "\n",
    "calls": HEAD + "    y = x" + "()" * 20000 + "\n",
    "subscripts": HEAD + "    y = x" + "[0]" * 20000 + "\n",
    "not": HEAD + "    y = " + "not " * 20000 + "n\n",
    "sum": HEAD + "    y = " + " + ".join(["n"] * 5000) + "\n",
    "blocks": HEAD + nested("if n > {i}:", 90, "tl.store(x, 1)"),
    "loops": HEAD + nested("for i{i} in range(n):", 60, "n = None"),
    "static_loops": HEAD + "    a = 0\n" + nested("for i{i} in tl.static_range(B):", 30, "a = a + 1"),
    "elif": HEAD
    + "    if n == 0:\n        y = 0\n"
    + "".join(f"    elif n == {i}:\n        y = {i}\n" for i in range(1, 2000))
    + "    else:\n        y = 1\n    tl.store(x, y)\n",
    "returns": HEAD
    + "".join(f"    if n == {i}:\n        if B == {i}:\n            return\n" for i in range(40))
    + "    tl.store(x, 1)\n",
    "unrolling": HEAD
    + "    for i in tl.static_range(1000000):\n        for j in tl.static_range(1000000):\n"
    + "            tl.store(x + i + j, i)\n",
    "endless": HEAD + "    i = 0\n    while True:\n        i += 1\n    tl.store(x, i)\n",
    "cycle": "import triton\nimport triton.language as tl\n"
    + "@triton.jit\ndef f(x):\n    return g(x) + g(x)\n"
    + "@triton.jit\ndef g(x):\n    return f(x) + f(x)\n"
    + "@triton.jit\ndef k(x):\n    tl.store(x, f(1))\n",
    "fibonacci": "import triton\nimport triton.language as tl\n@triton.jit\n"
    + "def f(n: tl.constexpr):\n    if n < 2:\n        return n\n    return f(n - 1) + f(n - 2)\n"
    + "@triton.jit\ndef k(x, N: tl.constexpr):\n    tl.store(x, f(N))\n"
    + "@triton.jit\ndef k40(x):\n    tl.store(x, f(40))\n",
    "comprehensions": HEAD
    + "    y = [i for i in range(100000000)]\n"
    + "    z = [i + j + l for i in range(4000) for j in range(4000) for l in range(4000)]\n",
    "circular_globals": "import triton\nimport triton.language as tl\nA = B\nB = A\nX = [X, X]\n"
    + "@triton.jit\ndef k(x):\n    tl.store(x, A + X[0])\n",
    "circular_default": "import triton\n@triton.jit\ndef f(x=f()):\n    return x\n"
    + "@triton.jit\ndef k(x):\n    f()\n",
    "growing_tuple": HEAD + "    t = (n, n)\n" + "    t = t + t\n" * 60 + "    tl.store(x, t[0])\n",
    "nested_tuple": HEAD
    + "    t = (n, n)\n"
    + "    t = (t, t)\n" * 60
    + "    for i in range(n):\n        t = t\n    if n > 1:\n        t = (t, t)\n    tl.store(x, n)\n",
    "growing_text": HEAD + "    s = 'aaaaaaaa'\n" + "    s = s + s\n" * 60,
    "no_body": HEAD,
    "half_typed": HEAD
    + "    y = tl.load(x + \n    z = \n    for i in \n    if\n    tl.\n    y[\n    a, b =\n"
    + "    tl.store(x, y, mask=)\n    def\n",
    "numbers": HEAD
    + "    a = 1 << 1000\n    b = 2 ** 100000\n    c = 1 // 0\n    d = 1 % 0\n    e = -1 << 63\n"
    + "    f = (-9223372036854775807 - 1) // -1\n    g = 1.0 / 0\n    h = -(-9223372036854775807 - 1)\n"
    + "    i = 9223372036854775807 * 9223372036854775807\n    j = 1 >> -1\n    tl.store(x, a)\n",
}


def check(path: Path) -> dict:
    run = subprocess.run(
        [BIN / "tad-lsp", "--check", path, "--format", "json"],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert run.returncode in (0, 1), run.stderr.decode()
    return json.loads(run.stdout)


@pytest.mark.parametrize("name", CASES)
def test_ends_with_a_report(name, tmp_path):
    path = tmp_path / f"{name}.py"
    path.write_text(CASES[name])
    names = {diagnostic["name"] for diagnostic in check(path)["diagnostics"]}
    assert "internal-error" not in names


@pytest.mark.parametrize("name", ["parentheses", "sum", "unrolling", "fibonacci", "growing_tuple"])
def test_limits_are_said(name, tmp_path):
    path = tmp_path / f"{name}.py"
    path.write_text(CASES[name])
    names = {diagnostic["name"] for diagnostic in check(path)["diagnostics"]}
    assert "limit-reached" in names


@pytest.mark.parametrize("seed", range(12))
def test_cut_and_mangled_kernels(seed, tmp_path):
    """Every golden kernel, cut off or with tokens swapped, deleted and doubled at random places."""
    generator = random.Random(seed)
    for golden in sorted((ROOT / "tests" / "golden").glob("*.py")):
        tokens = golden.read_text().replace("(", " ( ").split(" ")
        for _ in range(generator.randint(1, 6)):
            at = generator.randrange(len(tokens))
            kind = generator.randrange(4)
            if kind == 0:
                del tokens[at]
            elif kind == 1:
                tokens.insert(at, generator.choice(tokens))
            elif kind == 2:
                tokens[at] = generator.choice(["(", ")", "[", ":", "\n", "None", "1", "def", "=", "*"])
            else:
                other = generator.randrange(len(tokens))
                tokens[at], tokens[other] = tokens[other], tokens[at]
        if generator.random() < 0.3:
            tokens = tokens[: generator.randrange(len(tokens))]
        path = tmp_path / golden.name
        path.write_text(" ".join(tokens))
        names = {diagnostic["name"] for diagnostic in check(path)["diagnostics"]}
        assert "internal-error" not in names, path.read_text()
