"""What is read and what is not: folders, links, and files that are no Python text."""

import os
from pathlib import Path

import pytest

from tests.cli.conftest import BROKEN, CLEAN, Workspace


def checked(workspace: Workspace, *paths: str) -> set[str]:
    """The files in which the broken kernel was found."""
    result = workspace.tad("--check", *paths, "--format", "json")
    assert result.status == 1, result.stderr
    return {d["file"] for d in result.json["diagnostics"] if d["severity"] == "error"}


def test_folders_are_walked_and_some_are_skipped(workspace: Workspace) -> None:
    names = ["a.py", "sub/b.py", "sub/deep/er/c.py", "d.txt", "d.pyi", ".hidden/e.py", "node_modules/f.py"]
    names += ["__pycache__/g.py", "env/lib/h.py", "sub/.venv/i.py"]
    workspace.write(dict.fromkeys(names, BROKEN))
    workspace.write({"env/pyvenv.cfg": "home = /usr\n"})
    assert checked(workspace, ".") == {"a.py", "sub/b.py", "sub/deep/er/c.py"}
    assert checked(workspace, "sub", "a.py", "./sub/../a.py") == {"a.py", "sub/b.py", "sub/deep/er/c.py"}


def test_what_is_named_is_checked_wherever_it_is(workspace: Workspace) -> None:
    names = [".hidden/e.py", "node_modules/f.py", "kernel.txt", "env/g.py"]
    workspace.write(dict.fromkeys(names, BROKEN))
    workspace.write({"env/pyvenv.cfg": ""})
    assert checked(workspace, *names) == set(names)
    assert checked(workspace, ".hidden") == {".hidden/e.py"}
    assert checked(workspace, "env") == {"env/g.py"}


def test_links(workspace: Workspace) -> None:
    workspace.write({"real/a.py": BROKEN})
    (workspace.path / "real/again.py").symlink_to("a.py")
    (workspace.path / "real/loop").symlink_to(".")
    (workspace.path / "real/gone.py").symlink_to("nowhere.py")
    result = workspace.tad("--check", "real", "-f", "json")
    assert result.status == 1
    assert result.json["summary"]["files"] == 1
    assert checked(workspace, str(workspace.path / "real/again.py"))


def test_paths_that_are_not_there(workspace: Workspace) -> None:
    workspace.write({"a.py": BROKEN})
    result = workspace.tad("--check", "missing.py", "a.py", "no/folder", "", "-f", "json")
    assert result.status == 2
    assert "missing.py: No such file or directory" in result.stderr
    assert "no/folder: No such file or directory" in result.stderr
    assert "empty path" in result.stderr
    assert result.names == ["unknown-operation"]
    assert len(result.json["problems"]) == 3


def test_unreadable_folder_does_not_stop_the_others(workspace: Workspace) -> None:
    workspace.write({"open/a.py": BROKEN, "shut/b.py": BROKEN, "file.py": CLEAN})
    (workspace.path / "shut").chmod(0)
    (workspace.path / "file.py").chmod(0)
    # Root reads everything, so ask as somebody who cannot; nested paths stand for it where that is not possible.
    if os.geteuid() == 0:
        long_path = "/".join(["x"] * 70)
        workspace.write({f"{long_path}/b.py": BROKEN})
        says = "folders are nested more than 64 deep"
    else:
        says = "shut: cannot read the folder"
    result = workspace.tad("--check", ".", "-f", "json")
    (workspace.path / "shut").chmod(0o755)
    assert result.status == 2
    assert says in result.stderr
    assert any(d["file"] == "open/a.py" for d in result.json["diagnostics"])


BAD = {
    "nul.py": (b"x = 1\ny = '\0'\n", "nul.py:2: the file has a NUL byte"),
    "latin.py": ("# caf\xe9\n".encode("latin-1"), "latin.py:1: the file is not UTF-8"),
    "utf16.py": ("x = 1\n".encode("utf-16"), "utf16.py:1: the file"),
    "surrogate.py": (b"\n\n# \xed\xa0\x80\n", "surrogate.py:3: the file is not UTF-8"),
    "huge.py": (b"#" * 10_000_001, "huge.py: the file has 10.0 MB; files over 10 MB are not analysed"),
}


@pytest.mark.parametrize("name", BAD)
def test_files_that_are_no_source(workspace: Workspace, name: str) -> None:
    content, says = BAD[name]
    workspace.write({name: content, "good.py": BROKEN})
    result = workspace.tad("--check", ".", "-f", "json")
    assert result.status == 2
    assert says in result.stderr
    assert result.names == ["unknown-operation"]
    alone = workspace.tad("--backward", name)
    assert alone.status == 2
    assert says in alone.stderr


def test_special_files(workspace: Workspace) -> None:
    os.mkfifo(workspace.path / "pipe.py")
    (workspace.path / "folder.py").mkdir()
    result = workspace.tad("--check", "pipe.py", "-f", "json", limit=20)
    assert result.status == 2
    assert "pipe.py: is no regular file" in result.stderr
    assert workspace.tad("--check", ".", limit=20).status == 0


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000 + ")" * 10_000,
        "x = " + "(" * 10_000,
        "[" * 10_000 + "]" * 10_000,
        "x" + ".a" * 10_000,
        "x" + "[0]" * 10_000,
        "-" * 10_000 + "x",
        "a" + " + a" * 10_000,
        "lambda: " * 5_000 + "0",
    ],
    ids=["parentheses", "open", "brackets", "attributes", "subscripts", "minus", "sum", "lambda"],
)
def test_deep_nesting_in_a_kernel_and_outside(workspace: Workspace, text: str) -> None:
    workspace.write({"outside.py": text + "\n", "inside.py": CLEAN + f"    y = {text}\n    tl.lod(y)\n"})
    result = workspace.tad("--check", "outside.py", "inside.py", "-f", "json", limit=60)
    assert result.status in (0, 1), result.stderr
    assert result.stderr == ""


def test_deep_nesting_is_said(workspace: Workspace) -> None:
    deep = "(" * 10_000 + "x" + ")" * 10_000
    workspace.write({"a.py": CLEAN + f"    y = {deep}\n    tl.store(y_ptr + offsets, y, mask=mask)\n"})
    result = workspace.tad("--check", "a.py", "-f", "json", limit=60)
    assert result.status in (0, 1)
    assert result.json["diagnostics"], "a kernel that is nested too deeply to be understood is named"


def test_empty_and_odd_but_valid_files(workspace: Workspace) -> None:
    workspace.write(
        {
            "empty.py": "",
            "bom.py": b"\xef\xbb\xbf" + CLEAN.encode(),
            "crlf.py": CLEAN.replace("\n", "\r\n"),
            "no_newline.py": CLEAN.rstrip("\n"),
            "names ü #%.py": CLEAN,
        }
    )
    result = workspace.check()
    assert result.status == 0, result.stdout
    assert result.json["summary"]["files"] == 5
    assert result.json["summary"]["kernels"] == 4


def test_nothing_of_the_users_runs(workspace: Workspace, tmp_path: Path) -> None:
    trap = f"open({str(tmp_path / 'ran')!r}, 'w')\n"
    workspace.write({"a.py": trap + CLEAN + trap, "sitecustomize.py": trap, "triton.py": trap})
    assert workspace.check().status == 0
    workspace.tad("--doctor")
    assert not (tmp_path / "ran").exists()
