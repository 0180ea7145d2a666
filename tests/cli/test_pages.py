"""What the pages show is what the programs do: the backward in README, links to files, options in commands."""

from __future__ import annotations

import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.cli.conftest import Workspace

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "clients/*/*.md", "examples/**/*.md")
    for path in ROOT.glob(pattern)
)
DEVELOPERS_PAGES = [
    ROOT / name
    for name in (
        "CONTRIBUTING.md",
        "docs/architecture.md",
        "docs/differentiation.md",
        "docs/server.md",
    )
]
# examples of what a user's file may be called
NOT_OURS = {"softmax.py", "train.py"}


def blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def jit_function(text: str, name: str) -> str:
    """Its decorator and body, without its docstring."""
    text = re.sub(r'^    """.*?"""\n', "", text, flags=re.MULTILINE)
    start = text.index(f"@triton.jit\ndef {name}(")
    return text[start:].split("\n\n\n")[0].rstrip("\n") + "\n"


def test_readme_shows_a_real_backward(workspace: Workspace) -> None:
    forward, backward = blocks((ROOT / "README.md").read_text())[:2]
    source = (ROOT / "examples" / "softmax.py").read_text()
    assert forward == jit_function(source, "softmax_kernel")
    workspace.write({"softmax.py": source})
    result = workspace.tad("--backward", "softmax.py:softmax_kernel")
    assert result.status == 0, result.stderr
    assert backward == jit_function(result.stdout, "softmax_kernel_backward")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"`[^`\n]*`", "", text)
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    relative = [link.split("#")[0] for link in links if not re.match(r"[a-z]+:|#|data:", link)]
    assert [link for link in relative if link and not (page.parent / link).exists()] == []


def test_commands_have_options_that_exist(workspace: Workspace) -> None:
    known = set(re.findall(r"--[a-z][a-z-]*", workspace.tad("--help").stdout))
    seen = 0
    for page in PAGES:
        for command in re.findall(r"tad-lsp((?: [^\s`|#&>]+)+)", page.read_text()):
            for option in re.findall(r"(?<=\s)--[a-z][a-z-]*", command):
                seen += 1
                assert option in known, f"{page.relative_to(ROOT)}: tad-lsp{command}"
    assert seen > 20


def tracked_files() -> list[str]:
    run = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return run.stdout.splitlines()


def test_files_that_pages_name_exist() -> None:
    tracked = tracked_files()
    seen = 0
    for page in DEVELOPERS_PAGES:
        for name in re.findall(r"`([\w./*-]+\.(?:c|h|def|mjs|py|txt))`", page.read_text()):
            if name in NOT_OURS:
                continue
            seen += 1
            pattern = "*/" + re.sub(r"[A-Z]{4,}", "*", name)  # FAMILY.py
            assert any(fnmatch("/" + path, pattern) for path in tracked), f"{page.name}: {name}"
    assert seen > 60


def declared_tests() -> dict[str, set[str]]:
    """Names of tests, by the file they are in: C, Python and the editors' stories."""
    declares = r'^(?:def test_(\w+)|TEST\((\w+)\)|step\("([^"]+)"|  async "([^"]+)")'
    found: dict[str, set[str]] = {}
    for file in map(ROOT.joinpath, tracked_files()):
        if file.suffix not in (".py", ".c", ".js", ".mjs") or "tests" not in file.parts:
            continue
        names = {"".join(groups) for groups in re.findall(declares, file.read_text(), re.M)}
        key = "host" if file.parent.name == "host" else file.name.split(".")[0]
        found.setdefault(key, set()).update(names)
    return found


def test_each_feature_is_held_by_tests_that_exist() -> None:
    tests = declared_tests()
    text = (ROOT / "docs/editors/features.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ") and "held by" not in line]
    assert len(rows) > 15
    for row in rows:
        named = re.findall(r"`(\w+)::([^`]+)`", row)
        assert named, row
        assert [
            f"{file}::{name}" for file, name in named if name not in tests.get(file, set())
        ] == []


def test_targets_that_pages_name_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        for target in re.findall(r"`make ([a-z-]+)", page.read_text()):
            assert target in targets, f"{page.relative_to(ROOT)}: make {target}"


def test_readme_counts_what_there_is() -> None:
    readme = (ROOT / "README.md").read_text()
    actions = re.findall(r"^ACTION\(", (ROOT / "codeactions/actions.def").read_text(), re.MULTILINE)
    assert f"{len(actions)} code actions" in readme
    coverage = (ROOT / "docs/coverage.md").read_text()
    total = re.search(r"^\| \*\*total\*\* .*$", coverage, re.MULTILINE)
    assert total
    _understood, derived, compiles, proved = re.findall(r"\((\d+)\.\d %\)", total[0])
    claim = re.search(r"derives (\d+) %.*?compiles (\d+) %.*?(\d+) % are proved", readme, re.DOTALL)
    assert claim
    assert [*claim.groups()] == [derived, compiles, proved]
