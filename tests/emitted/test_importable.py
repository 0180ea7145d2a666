"""Modules written for files of public packages: they compile, and define each name that they use, as their sources do.

`make test` takes a seeded sample, `make test-all` all of the corpus and the examples (`TAD_ALL_MODULES=1`).
"""

from __future__ import annotations

import ast
import json
import os
import random
import subprocess
from pathlib import Path

import pytest

from tests.emitted.plan import EXAMPLES, ROOT, tad
from tests.triton.corpus import CORPUS, corpus_files

SAMPLE, SEED = 16, 13
RUFF = ROOT / ".venv" / "bin" / "ruff"


def chosen() -> list[Path]:
    """Files with kernels."""
    if not CORPUS.is_dir():
        return sorted(EXAMPLES)
    files = [p for p in sorted(corpus_files()) if "triton.jit" in p.read_text(errors="ignore")]
    if os.environ.get("TAD_ALL_MODULES"):
        return [*EXAMPLES, *files]
    return [*random.Random(SEED).sample(files, min(SAMPLE, len(files)))]


def findings(path: Path) -> set[tuple[str, str]]:
    """Names that a file does not define, or defines twice."""
    command = [RUFF, "check", "--isolated", "--no-cache", "--select", "F811,F821,F823"]
    run = subprocess.run(
        [*command, "--output-format", "json", path], capture_output=True, text=True, check=False
    )
    return {(f["code"], f["message"].split(" from line ")[0]) for f in json.loads(run.stdout)}


def imported(path: Path) -> set[str]:
    """Names that a file's imports bind."""
    nodes = ast.walk(ast.parse(path.read_text()))
    imports = [n for n in nodes if isinstance(n, ast.Import | ast.ImportFrom)]
    return {alias.asname or alias.name for node in imports for alias in node.names}


@pytest.mark.parametrize("path", chosen(), ids=lambda p: "/".join(p.parts[-3:]))
def test_modules_compile_and_define_their_names(path: Path, tmp_path: Path) -> None:
    """What they leave open their source leaves open."""
    target = tmp_path / "written.py"
    run = tad("--backward", path, "--no-proof", "-o", target)
    assert run.returncode in (0, 1), run.stderr
    if not target.exists():
        assert "no backward for" in run.stderr or "no forward kernel" in run.stderr
        return
    tree = ast.parse(target.read_text())
    names = [n.name for n in tree.body if isinstance(n, ast.ClassDef) and "Function" in n.name]
    assert len(names) == len(set(names))
    # An import of the file that only a launcher left out uses, whose name a kernel binds anew, harms nobody.
    allowed = {("F811", f"Redefinition of unused `{name}`") for name in imported(path)}
    assert findings(target) <= findings(path) | allowed


HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
SQUARE = """@triton.jit
def square(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, v * v, mask=i < n)
"""
RUN = """def run(x):
    y = torch.empty_like(x)
    n = x.numel()
    square[(triton.cdiv(n, 64),)](x, y, n, B=64)
    return y
"""


def indented(text: str) -> str:
    """For the body of an `if`."""
    return "".join(f"    {line}\n" if line else "\n" for line in text.splitlines())


def by_release(kernel: str, run: str) -> str:
    """Kernel and launcher once for each release, under the same names."""
    old = kernel.replace("v * v", "v * v + 0.0")
    return (
        'if triton.__version__ >= "2.1.0":\n\n'
        + indented(f"{kernel}\n@torch.no_grad()\n{run}")
        + 'elif triton.__version__ == "2.0.0":\n\n'
        + indented(f"{old}\n@torch.no_grad()\n{run}")
        + "else:\n    raise RuntimeError\n"
    )


CONFIGS = "\n\nCONFIGS = [triton.Config({'B': 64}), triton.Config({'B': 128})]\n"
TUNED = "square = triton.autotune(CONFIGS, key=['n'])(square)\n"
PARTS = """@triton.autotune(configs=[triton.Config({}, num_warps=w) for w in (2, 4)], key=["B"])
@triton.jit
def parts(x, starts, y, total, x_row, step, y_row, y_part, B: tl.constexpr):
    row = tl.program_id(0)
    part = tl.program_id(1)
    lane = tl.arange(0, B)
    at = tl.load(starts + part * step) + lane
    end = tl.load(starts + (part + 1) * step)
    v = tl.load(x + row * x_row + at, mask=at < end, other=0.0)
    tl.store(y + row * y_row + part * y_part + lane, v * v)
    tl.store(total + row * x_row + at, 2.0 * v, mask=at < end)


def run(x, starts, B=16):
    count = starts.shape[0] - 1
    y = torch.empty(x.shape[0], count, B)
    total = torch.empty_like(x)
    grid = (x.shape[0], count)
    parts[grid](
        x, starts, y, total, x.stride(0), starts.stride(0), y.stride(0), y.stride(1), B
    )
    return y, total
"""
MEASURED = """# `triton.jit`'ed functions are called by a grid
def call(kernel, x):
    # as `triton.jit` wants it
    y = torch.empty_like(x)
    kernel[(1,)](x, y, 64, B=64)
    return y


output = call(square, torch.ones(64))
"""
OF_A_SCRIPT = """def of_a_script(n):
    sizes = [s for s in (n, SIZE)]
    return run(torch.empty(sizes))


if __name__ == "__main__":
    SIZE = 4
    for s in range(4):
        of_a_script(s)
"""
SOME_OF_A_BLOCK = """from torch.utils._triton import has_triton

if has_triton():
    CONFIGS = [triton.Config({"B": 64})]

    @triton.autotune(configs=CONFIGS, key=["n"])
    @triton.jit
    def square(x, y, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        v = tl.load(x + i, mask=i < n)
        tl.store(y + i, v * v, mask=i < n)

    @triton.jit
    def most(x, y, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.atomic_max(y, tl.max(tl.load(x + i, mask=i < n, other=0.0), 0))

    def run(x):
        y = torch.empty_like(x)
        n = x.numel()
        grid = lambda meta: (triton.cdiv(n, meta["B"]),)
        square[grid](x, y, n)
        return y

    @torch.library.custom_op("own::square", mutates_args={})
    def registered(x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        square[(1,)](x, y, x.numel())
        return y

    @registered.register_fake
    def fake(x):
        return torch.empty_like(x)

    def largest(x):
        y = torch.zeros(1)
        most[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y

    def both(x):
        return run(x), largest(x)

else:

    def both(x):
        raise NotImplementedError
"""
# What the module has to have, beside names that are defined.
WRITTEN = {
    "releases": (HEAD + by_release(SQUARE, RUN), "y = SquareFunction.apply("),
    "tuned below": (
        HEAD + SQUARE + CONFIGS + f"if len(CONFIGS) > 1:\n    {TUNED}\n\n{RUN}",
        "y = SquareFunction.apply(",
    ),
    "rows of tuned kernels": (HEAD + PARTS, "_check_tuned_spans("),
    "a call that is no wrapper": (
        HEAD + SQUARE + "\n\n" + MEASURED,
        "        square[grid](",
    ),
    "some launchers of a block": (
        HEAD + SOME_OF_A_BLOCK,
        "        y = SquareFunction.apply(grid, x, y, n)",
    ),
    "what is left out of a block": (
        HEAD + SOME_OF_A_BLOCK,
        "`registered` is left out: it is registered as an operator below an `if`.\n"
        "`fake` is left out: it calls `registered`.\n"
        "`largest` is left out: it launches `most`, which has no generated backward.\n"
        "`both` is left out: it calls `largest`.\n",
    ),
    "names of a script": (
        HEAD + SQUARE + "\n\n" + RUN + "\n\n" + OF_A_SCRIPT,
        "`of_a_script` is left out: it uses `SIZE`, which is set only where the file is run",
    ),
}


@pytest.mark.parametrize("case", WRITTEN)
def test_a_module_defines_what_it_uses(case: str, tmp_path: Path) -> None:
    text, part = WRITTEN[case]
    source, written = tmp_path / "source.py", tmp_path / "written.py"
    source.write_text(text)
    run = tad("--backward", source, "--no-proof", "-o", written)
    assert run.returncode in (0, 1), run.stderr
    assert findings(written) <= findings(source)
    assert part in written.read_text()
