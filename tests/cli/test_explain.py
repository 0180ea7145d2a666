"""`--explain`, `--doctor` and `--dump`."""

import os
import re
from pathlib import Path

from tests.cli.conftest import BROKEN, CLEAN, ROOT, Workspace


def diagnostic_names() -> list[str]:
    names = []
    for table in sorted((ROOT / "analysis" / "diagnostics").glob("diagnostics*.def")):
        names += re.findall(r'^DIAGNOSTIC\(\w+,\s*"([a-z0-9-]+)"', table.read_text(), re.M)
    return names


def test_every_diagnostic_has_a_page(workspace: Workspace) -> None:
    names = diagnostic_names()
    assert len(names) >= 40
    for name in names:
        result = workspace.tad("--explain", name)
        assert result.status == 0, name
        assert result.stdout.startswith(f"# {name}\n"), name
        assert len(result.stdout) > 200, f"the page of {name} says too little"


def test_pages_show_what_is_reported_and_the_same_mended(workspace: Workspace) -> None:
    for name in diagnostic_names():
        page = workspace.tad("--explain", name).stdout
        assert "```python" in page, name
        if page.count("```python") > 1:
            reported, mended = page.index("\nReported:\n\n```"), page.index("\nMended:\n\n```")
            assert reported < mended, name


def test_operations(workspace: Workspace) -> None:
    for name in ("exp", "tl.exp", "triton.language.exp"):
        result = workspace.tad("--explain", name)
        assert result.status == 0
        assert result.stdout.startswith("# tl.exp\n")
        assert "grad * result" in result.stdout


def test_unknown_names(workspace: Workspace) -> None:
    result = workspace.tad("--explain", "unknown-operatoin")
    assert result.status == 2
    assert "did you mean `unknown-operation`?" in result.stderr
    assert "did you mean `softmax`?" in workspace.tad("--explain", "tl.sofmax").stderr
    nothing = workspace.tad("--explain", "qqqqqqqqqqqqqqqqq")
    assert nothing.status == 2
    assert "did you mean" not in nothing.stderr


def test_doctor(workspace: Workspace, fake_runner: Path) -> None:
    result = workspace.tad("--doctor", "--runner", fake_runner)
    assert result.status == 0
    for name in ("tad-runner", "C compiler", "Python", "Triton", "NVIDIA driver", "NVRTC", "GPU"):
        assert re.search(rf"^  (found|missing)  +(worker )?{name} ", result.stdout, re.M), name


def test_doctor_says_how_the_worker_is_contained(workspace: Workspace, fake_runner: Path) -> None:
    told = workspace.tad("--doctor").stdout
    line = re.search(r"^  found +sandbox of the worker +(.*)", told, re.M)
    assert line and line[1].startswith(
        "system calls filtered (no network, no files, no programs), no new"
    )
    told = workspace.tad("--doctor", "--runner", fake_runner).stdout
    assert re.search(
        r"^  missing +sandbox of the worker +the worker does not tell of one", told, re.M
    )


def test_doctor_without_anything(workspace: Workspace, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    result = workspace.tad("--doctor", "--runner", "/no/such/runner", env={"PATH": str(empty)})
    assert result.status == 1
    assert "no `python3` on PATH" in result.stdout
    assert "none of cc, gcc, clang on PATH" in result.stdout
    assert "cannot start `/no/such/runner`" in result.stdout


def test_doctor_with_a_python_that_fails_or_hangs(workspace: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "path"
    folder.mkdir()
    python = folder / "python3"
    python.write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    python.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    assert "`python3` failed: broken" in workspace.tad("--doctor", env={"PATH": path}).stdout


def test_check_needs_no_python(workspace: Workspace, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    workspace.write({"a.py": BROKEN, "b.py": CLEAN})
    result = workspace.tad("--check", "a.py", "b.py", "-f", "json", env={"PATH": str(empty)})
    assert result.names == ["unknown-operation"]
    grad = workspace.tad("--check", "b.py", "--grad", "-f", "json", env={"PATH": str(empty)})
    assert grad.json["kernels"][0]["status"] == "proved", grad.json["kernels"][0]["reason"]


def test_dump(workspace: Workspace) -> None:
    workspace.write({"a.py": CLEAN})
    result = workspace.tad("--dump", "ir", "a.py:scale_kernel")
    assert result.status == 0
    assert "scale_kernel" in result.stdout
    assert workspace.tad("--dump", "help").status == 0
    unknown = workspace.tad("--dump", "nonsense", "a.py")
    assert unknown.status == 2
    assert "nonsense" in unknown.stderr
