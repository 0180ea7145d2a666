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
