"""What other programs are given: the GitHub problem matcher, the pre-commit hooks, the pages that show options."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import HEADER, Workspace

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def broken(workspace: Workspace) -> Workspace:
    """One file with an error and one with a warning."""
    load = "    x = tl.load(x_ptr + tl.arange(0, BLOCK))\n"
    kernel = "@triton.jit\ndef kernel(x_ptr, n, BLOCK: tl.constexpr):\n"
    workspace.write(
        {
            "error.py": HEADER + kernel + "    x = tl.lod(x_ptr)\n    tl.store(x_ptr, x)\n",
            "warning.py": HEADER + kernel + load + "    lanes = tl.arange(0, BLOCK)\n"
            "    tl.store(x_ptr + lanes, tl.load(x_ptr + lanes) + x, mask=lanes < n)\n",
        }
    )
    return workspace


def test_problem_matcher_reads_every_line(broken: Workspace) -> None:
    matcher = json.loads((ROOT / "clients" / "github" / "problem-matcher.json").read_text())
    pattern = matcher["problemMatcher"][0]["pattern"][0]
    result = broken.tad("--check", ".", "--format", "concise", "--quiet")
    lines = [line for line in result.stdout.split("\n") if line]
    report = json.loads(broken.tad("--check", ".", "--format", "json", "--quiet").stdout)
    assert len(lines) == len(report["diagnostics"]) > 0
    for line, diagnostic in zip(lines, report["diagnostics"], strict=True):
        match = re.match(pattern["regexp"], line)
        assert match, line
        assert match[pattern["severity"]] == diagnostic["severity"]
        assert match[pattern["code"]] == diagnostic["name"]
        assert match[pattern["message"]] == diagnostic["message"]
        assert int(match[pattern["line"]]) == diagnostic["range"]["start"]["line"] + 1


@pytest.mark.parametrize("name", [r"C:\kernels\a b.py", "it: 1:2: a.py", "D:/k/ä(1).py"])
def test_problem_matcher_reads_any_name(broken: Workspace, name: str) -> None:
    text = (broken.path / "error.py").read_text()
    (broken.path / name).parent.mkdir(parents=True, exist_ok=True)
    (broken.path / name).write_text(text)
    matcher = json.loads((ROOT / "clients" / "github" / "problem-matcher.json").read_text())
    pattern = matcher["problemMatcher"][0]["pattern"][0]
    line = broken.tad("--check", name, "--format", "concise", "--quiet").stdout.split("\n")[0]
    match = re.match(pattern["regexp"], line)
    assert match, line
    assert match[pattern["file"]] == name
    assert match[pattern["code"]] == "unknown-operation"


def hooks() -> dict[str, str]:
    """Id -> entry of .pre-commit-hooks.yaml, which is plain enough to read by lines."""
    text = (ROOT / ".pre-commit-hooks.yaml").read_text()
    return dict(re.findall(r"^- id: (\S+)(?:\n  .*)*?\n  entry: (.+)$", text, re.MULTILINE))


def test_hooks_run_as_they_are_written(broken: Workspace) -> None:
    assert set(hooks()) == {"tad-check", "tad-gradients"}
    files = sorted(path.name for path in broken.path.glob("*.py"))
    for entry in hooks().values():
        program, *arguments = shlex.split(entry)
        assert program == "tad-lsp"
        result = broken.tad(*arguments, *files)
        assert result.status == 1, result.stderr
        assert "error[" in result.stdout
