"""`--fix`: the safe fixes are made in place, or shown; nothing else of a file changes."""

from __future__ import annotations

import os
import stat

from tests.cli.conftest import Workspace

KERNEL = """import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, y_ptr, z_ptr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes, mask=lanes < BLOCK, other=0.0)  # kept
    unused = tl.load(z_ptr + lanes)
    tl.store(y_ptr + lanes, x)
"""
FIXED = KERNEL.replace(", mask=lanes < BLOCK, other=0.0", "").replace(
    "    unused = tl.load(z_ptr + lanes)\n", ""
)
UNSAFE = """import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(y_ptr + offsets, 2 * x, mask=offsets < n)
"""

UNFINISHED = """import triton
import triton.language as tl


@triton.jit
def step_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    h = tl.zeros([BLOCK], dtype=tl.float32)
    for t in range(n):
        x = tl.load(x_ptr + t * BLOCK + lanes)
        h = h * 0.5 + (x * 2.0
        y = h * x
        tl.store(y_ptr + t * BLOCK + lanes, y)
"""


def text(workspace: Workspace, name: str) -> str:
    return (workspace.path / name).read_bytes().decode()


def test_safe_fixes_are_made_and_named(workspace: Workspace) -> None:
    workspace.write({"src/a.py": KERNEL, "src/b.py": UNSAFE})
    result = workspace.tad("--fix", "src")
    assert (result.status, text(workspace, "src/a.py")) == (0, FIXED)
    assert text(workspace, "src/b.py") == UNSAFE
    assert result.stdout.splitlines() == [
        "src/a.py:8: mask-always-true: Remove the comparison that is always true",
        "src/a.py:9: unused-load: Remove the load",
    ]
    assert result.stderr == "tad-lsp: 2 fixes in 1 file\n"
    again = workspace.tad("--fix", "src")
    assert (again.status, again.stdout, again.stderr) == (0, "", "tad-lsp: 0 fixes in 0 files\n")


def test_loads_are_used_while_a_line_is_not_finished(workspace: Workspace) -> None:
    workspace.write({"a.py": UNFINISHED})
    assert "unused-load" not in workspace.tad("--check", "a.py", "--format", "concise").stdout


def test_diff_shows_and_writes_nothing(workspace: Workspace) -> None:
    workspace.write({"a.py": KERNEL})
    result = workspace.tad("--fix", "a.py", "--diff")
    assert (result.status, text(workspace, "a.py")) == (1, KERNEL)
    assert "-    unused = tl.load(z_ptr + lanes)\n" in result.stdout
    assert result.stdout.startswith("--- a.py\n+++ a.py\n@@ ")
    assert "none of them written" in result.stderr
    assert workspace.tad("--fix", "a.py", "--diff", "--ignore", "memory").status == 0


def test_what_is_no_python_is_left_alone(workspace: Workspace) -> None:
    broken = KERNEL + "\n\nx = = 3\n"
    workspace.write({"a.py": broken})
    result = workspace.tad("--fix", "a.py")
    assert (result.status, text(workspace, "a.py")) == (0, broken)
    assert "a.py: has a syntax error: nothing is fixed there" in result.stderr
    assert "0 fixes in 0 files" in result.stderr


def test_what_is_silenced_stays(workspace: Workspace) -> None:
    silent = KERNEL.replace("# kept", "# tad: ignore[mask-always-true]").replace(
        "z_ptr + lanes)", "z_ptr + lanes)  # tad: ignore"
    )
    workspace.write({"a.py": silent, "b.py": KERNEL})
    assert workspace.tad("--fix", ".", "--select", "mask-always-true").status == 0
    assert text(workspace, "a.py") == silent
    assert "unused" in text(workspace, "b.py") and "mask" not in text(workspace, "b.py")
    workspace.write({"pyproject.toml": '[tool.tad]\nignore = ["unused-load"]\n'})
    workspace.tad("--fix", ".")
    assert "unused" in text(workspace, "b.py")


def test_a_file_keeps_its_permissions_and_its_line_ends(workspace: Workspace) -> None:
    workspace.write({"a.py": KERNEL.replace("\n", "\r\n")})
    path = workspace.path / "a.py"
    path.chmod(0o640)
    assert workspace.tad("--fix", "a.py").status == 0
    assert text(workspace, "a.py") == FIXED.replace("\n", "\r\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(workspace.path) == ["a.py"]


def test_a_link_out_of_the_folder_is_not_followed(workspace: Workspace) -> None:
    workspace.write({"elsewhere/a.py": KERNEL, "here/b.py": ""})
    (workspace.path / "here/a.py").symlink_to(workspace.path / "elsewhere/a.py")
    result = Workspace(workspace.path / "here").tad("--fix", "a.py")
    assert result.status == 2 and "leads out of" in result.stderr
    assert text(workspace, "elsewhere/a.py") == KERNEL


def test_what_cannot_be_read_is_said_and_the_others_are_fixed(workspace: Workspace) -> None:
    workspace.write({"a.py": KERNEL, "b.py": b"\xff\xfe"})
    result = workspace.tad("--fix", "b.py", "none.py", "a.py")
    assert (result.status, text(workspace, "a.py")) == (2, FIXED)
    assert "b.py" in result.stderr and "none.py" in result.stderr
