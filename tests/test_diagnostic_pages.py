"""The first example of a diagnostic's page has that diagnostic, and the second one, which shows it mended, has not."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(os.environ.get("TAD_BIN", ROOT / "build")).resolve()
HEAD = "import triton\nimport triton.language as tl\n\n\n"
ROWS = re.compile(r'^DIAGNOSTIC\(\w+,\s+"([a-z0-9-]+)",\s+\w+,\s+"([a-z ]+)"', re.MULTILINE)
FAMILIES = dict(
    row
    for path in sorted((ROOT / "analysis" / "diagnostics").glob("diagnostics*.def"))
    for row in ROWS.findall(path.read_text())
)
# Nothing of Python's can show this.
WITHOUT = {"internal-error"}
# Their one example says what is to be written, and the finding is that nothing is.
ONLY_MENDED = {"gradient-not-run"}
NAMES = [
    name
    for name, family in FAMILIES.items()
    if family not in ("gradients", "checks") and name not in WITHOUT
]

# What the names stand for that an example uses and does not define.
MEANINGS = {
    "lanes": "tl.arange(0, 64)",
    "rows": "tl.program_id(0) * 16 + tl.arange(0, 16)",
    "columns": "tl.arange(0, 64)",
    "offsets": "tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)",
    "mask": "lanes < n",
    "x": "tl.load(x_ptr + lanes).to(tl.float32)",
    "y": "tl.load(y_ptr + lanes).to(tl.float32)",
    "w": "tl.load(w_ptr + lanes).to(tl.float32)",
    "dw": "tl.load(x_ptr + tl.program_id(0) * 64 + lanes).to(tl.float32)",
    "weights": "tl.load(w_ptr + offsets).to(tl.float32)",
    "acc": "tl.zeros([64], dtype=tl.float32)",
    "h": "tl.zeros([64], dtype=tl.float32)",
    "a": "tl.load(a_ptr + lanes[:, None] * 64 + lanes[None, :])",
    "b": "tl.load(b_ptr + lanes[:, None] * 64 + lanes[None, :])",
    "q": "tl.load(q_ptr + lanes[:, None] * 32 + tl.arange(0, 32)[None, :])",
    "k": "tl.load(k_ptr + lanes[:, None] * 32 + tl.arange(0, 32)[None, :])",
    "v": "tl.load(v_ptr + lanes[:, None] * 64 + lanes[None, :]).to(tl.float16)",
    "count": "tl.sum((lanes < n).to(tl.int32), axis=0)",
    "p": "y_ptr + pid",
    "m": "pid < n",
    "s": "tl.load(s_ptr + lanes[:, None] * 64 + lanes[None, :]).to(tl.float32)",
}


def examples(name: str) -> list[str]:
    page = subprocess.run(
        [BIN / "tad-lsp", "--explain", name], capture_output=True, text=True, check=True
    )
    return re.findall(r"^```python\n(.*?)^```$", page.stdout, re.MULTILINE | re.DOTALL)


def open_names(text: str) -> list[str]:
    """Names that are read and that nothing defines before, in their order."""
    bound, found = {"tl", "triton", "float", "range"}, []
    for statement in ast.parse(text).body:
        names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
        updated = {
            n.target.id
            for n in ast.walk(statement)
            if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)
        }
        for node in names:
            is_read = isinstance(node.ctx, ast.Load) or node.id in updated
            if is_read and node.id not in bound and node.id not in found:
                found.append(node.id)
        bound |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return found


def kernel_around(body: str) -> str:
    """A kernel with the example in it: what it uses is loaded before, and parameters are the rest."""
    setup: list[str] = []
    parameters: list[str] = []

    def define(name: str) -> None:
        if name in MEANINGS:
            line = f"{name} = {MEANINGS[name]}"
            for needed in open_names(line):
                define(needed)
            if line not in setup:
                setup.append(line)
        elif name not in parameters:
            parameters.append(name)

    for name in open_names(body):
        define(name)
    declared = [f"{name}: tl.constexpr" if name.isupper() else name for name in parameters]
    lines = ["pid = tl.program_id(0)", *setup, *body.rstrip("\n").split("\n")]
    return (
        "@triton.jit\ndef kernel("
        + ", ".join(declared)
        + "):\n"
        + "".join(f"    {line}\n" for line in lines)
    )


OFFSETS = "offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)"
ADD = "tl.atomic_add(y_ptr, tl.sum(x.to(tl.float32), axis=0))"
STORE = "tl.store(y_ptr + offsets, x, mask=offsets < n)"
LAUNCH = "kernel[(triton.cdiv(n, BLOCK),)](x, y, n, BLOCK)"


def launched(example: str, decorator: str = "", offsets: str = OFFSETS, effect: str = ADD) -> str:
    """A kernel, and the example in its launcher."""
    return f"""{decorator}@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    {offsets}
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    {effect}


def launch(x, y, n, grid, BLOCK):
    {example}
"""


def whole(name: str, example: str) -> str:
    """A file around the example of a page."""
    plain = example.split("#")[0].strip()
    if "@triton.jit" in example:
        return HEAD + example
    if name.startswith("autotune-"):
        tuned = (
            plain if plain.startswith("@") else f'@triton.autotune(configs=[{plain}], key=["n"])'
        )
        configs = 'configs = [triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})]'
        grid = 'lambda meta: (triton.cdiv(n, meta["BLOCK"]),)'
        return HEAD + configs + "\n\n\n" + launched(f"kernel[{grid}](x, y, n)", tuned + "\n")
    if plain.startswith("kernel"):
        return HEAD + launched(plain)
    if name == "grid-axis-unread":
        return HEAD + launched(LAUNCH, offsets=plain, effect=STORE)
    if name == "syntax-error":  # nothing to be read from it
        return HEAD + "lanes = 0\n" + example
    return HEAD + kernel_around(example)


def found(path: Path) -> set[str]:
    run = subprocess.run(
        [BIN / "tad-lsp", "--check", "--format", "json", path], capture_output=True, text=True
    )
    return {finding["name"] for finding in json.loads(run.stdout)["diagnostics"]}


@pytest.mark.parametrize("name", NAMES)
def test_examples(name: str, tmp_path: Path) -> None:
    shown = examples(name)
    assert len(shown) == 2
    file = tmp_path / "example.py"
    for example, is_wrong in zip(shown, (True, False), strict=True):
        file.write_text(whole(name, example))
        assert (name in found(file)) == is_wrong, file.read_text()


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_every_page_shows_both(name: str) -> None:
    """In two examples, or in one whose lines are set against each other."""
    shown = examples(name)
    assert shown, "a page without an example"
    lines = [line for example in shown for line in example.splitlines()]
    assert len(lines) > 1 or name in ONLY_MENDED
