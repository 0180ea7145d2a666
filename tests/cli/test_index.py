"""`--index` and `--similar`: forwards with a backward, from places that the user names, found by their structure."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import BIN, Result, Workspace

HEADER = "import triton\nimport triton.language as tl\n\n\n"


def softmax(name: str, value: str = "x") -> str:
    return f"""@triton.jit
def {name}(out, inp, n, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    row = tl.program_id(0) * n
    {value} = tl.load(inp + row + at, mask=at < n, other=-float("inf"))
    {value} = tl.exp({value} - tl.max({value}, axis=0))
    tl.store(out + row + at, {value} / tl.sum({value}, axis=0), mask=at < n)


"""


def scale(name: str) -> str:
    return f"""@triton.jit
def {name}(out, inp, n, SIZE: tl.constexpr):
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tl.store(out + at, tl.load(inp + at, mask=at < n) * 2.0, mask=at < n)


"""


FUNCTION = """from torch.autograd import Function

from .launch import back, run


class Soft(Function):
    @staticmethod
    def forward(ctx, x):
        return run(x)

    @staticmethod
    def backward(ctx, g):
        return back(g)
"""
LAUNCH = """from .kernels import soft_bwd, soft_fwd


def run(x):
    soft_fwd[(1,)](x, x, 4, 8)
    return x


def back(g):
    soft_bwd[(1,)](g, g, 4, 8)
    return g
"""
PACKAGE = {
    "pack/__init__.py": "",
    "pack/kernels.py": HEADER + softmax("soft_fwd") + scale("soft_bwd"),
    "pack/launch.py": LAUNCH,
    "pack/function.py": FUNCTION,
}
Run = Callable[..., Result]


@pytest.fixture
def tad(workspace: Workspace) -> Run:
    """The program with an index of its own."""
    workspace.write({**PACKAGE, "mine.py": HEADER + softmax("mine", "value") + scale("twice")})
    home = {"XDG_DATA_HOME": str(workspace.path / "data")}
    return lambda *arguments: workspace.tad(*arguments, env=home)


def index_of(workspace: Workspace) -> Path:
    return workspace.path / "data/tad-lsp/index.sqlite"


def test_a_pair_is_found_across_files(tad: Run, workspace: Workspace) -> None:
    told = tad("--index", "pack")
    assert told.status == 0
    assert "4 files read: 2 kernels, 1 Function with a backward; 0 unchanged, 0 gone" in told.stderr
    (kernel,) = tad("--similar", "mine.py:mine", "--json").json["kernels"]
    assert (kernel["kernel"], kernel["line"]) == ("mine", 6)
    (near,) = kernel["similar"]
    kernels, function = (
        str(workspace.path / "pack/kernels.py"),
        str(workspace.path / "pack/function.py"),
    )
    assert (near["similarity"], near["structure"]) == (pytest.approx(1), pytest.approx(1))
    assert (near["file"], near["name"], near["line"], near["copies"]) == (
        kernels,
        "soft_fwd",
        6,
        [],
    )
    assert near["functions"] == [{"file": function, "name": "Soft", "line": 8}]
    assert near["backwards"] == [{"file": kernels, "name": "soft_bwd", "line": 15}]
    text = tad("--similar", "mine.py", "--min-sim", "0.9").stdout
    assert text == (
        f"mine.py:6: mine\n  1.00  {kernels}:6: soft_fwd\n          backward {kernels}:15: soft_bwd\n"
        "mine.py:15: twice: nothing is similar\n"
    )


def test_what_a_kernel_is_called_tells_where_its_structure_does_not(
    tad: Run, workspace: Workspace
) -> None:
    tad("--index", "pack")
    workspace.write(
        {"mine.py": HEADER + scale("plain"), "soft_kernels.py": HEADER + scale("soft_fwd")}
    )
    by_name = {}
    for target in ("mine.py:plain", "soft_kernels.py:soft_fwd"):
        (kernel,) = tad("--similar", target, "--min-sim", "0", "--json").json["kernels"]
        (by_name[target],) = kernel["similar"]
    plain, soft = by_name.values()
    assert plain["structure"] == pytest.approx(soft["structure"])
    assert soft["similarity"] > plain["similarity"] + 0.1


def test_structure_and_words_both_have_to_say_so(tad: Run, workspace: Workspace) -> None:
    """A kernel under other names and for something else is behind one that is somewhat like it in both."""
    other = softmax("soft_fwd").replace("tl.exp(", "tl.exp2(")
    for word, new in (("row", "u"), ("inp", "a"), ("out", "b"), ("at", "k"), ("SIZE", "W")):
        other = re.sub(rf"\b{word}\b", new, other)
    workspace.write(
        {
            "pack/kernels.py": HEADER + other.replace("soft_fwd", "fwd") + scale("soft_bwd"),
            "pack/launch.py": LAUNCH.replace("soft_fwd", "fwd"),
            "near/function.py": FUNCTION.replace("Soft", "Near"),
            "near/__init__.py": "",
            "near/launch.py": LAUNCH,
            "near/kernels.py": HEADER
            + softmax("soft_fwd").replace("tl.exp(", "tl.log(").replace("/ tl.sum", "- tl.sum")
            + scale("soft_bwd"),
            "soft.py": HEADER + softmax("soft_fwd"),
        }
    )
    tad("--index", "pack", "near")
    asked = ("--similar", "soft.py:soft_fwd", "--min-sim", "0", "--json")
    (kernel,) = tad(*asked).json["kernels"]
    first, second = kernel["similar"]
    assert first["structure"] < second["structure"] < 0.95
    assert Path(first["file"]).parent.name == "near"


def test_only_what_has_changed_is_read_again(tad: Run, workspace: Workspace) -> None:
    tad("--index", "pack", "mine.py")
    assert (
        "0 files read: 0 kernels, 0 Functions with a backward; 5 unchanged" in tad("--index").stderr
    )
    os.utime(workspace.path / "pack/kernels.py", (1, 1))
    assert "0 files read" in tad("--index", "pack").stderr
    # The kernels' file, and those that import it.
    workspace.write(
        {"pack/kernels.py": HEADER + softmax("soft_fwd") + scale("other") + scale("soft_bwd")}
    )
    assert (
        "3 files read: 3 kernels, 1 Function with a backward; 2 unchanged" in tad("--index").stderr
    )
    (near,) = tad("--similar", "mine.py:mine", "--json").json["kernels"][0]["similar"]
    assert near["backwards"][0]["line"] == 21
    (workspace.path / "pack/function.py").unlink()
    assert "4 unchanged, 1 gone" in tad("--index").stderr
    assert tad("--similar", "mine.py:mine", "--json").json["kernels"][0]["similar"] == []


def test_what_is_excluded_or_forgotten_is_not_there(tad: Run, workspace: Workspace) -> None:
    tad("--index", "pack")
    found = ("--similar", "mine.py:mine", "--json")
    assert len(tad(*found).json["kernels"][0]["similar"]) == 1
    assert tad(*found, "--exclude", "*/other/*,*/pack/*").json["kernels"][0]["similar"] == []
    assert "0 files forgotten" in tad("--index", "--forget", "mine.py").stderr
    assert "4 files forgotten" in tad("--index", "--forget", "pack").stderr
    assert tad(*found).json["kernels"][0]["similar"] == []
    again = tad("--index")
    assert again.status == 2
    assert "nothing is indexed: name files and folders" in again.stderr
    tad("--index", "pack", "--exclude", "*/function.py")
    assert tad(*found).json["kernels"][0]["similar"] == []


def test_near_duplicates_are_one(tad: Run, workspace: Workspace) -> None:
    copy = {name.replace("pack/", "copy/"): text for name, text in PACKAGE.items()}
    workspace.write(copy)
    tad("--index", "pack", "copy")
    (near,) = tad("--similar", "mine.py:mine", "--json").json["kernels"][0]["similar"]
    assert [Path(copy["file"]).name for copy in near["copies"]] == ["kernels.py"]
    assert "soft_fwd (and 1 almost the same)\n" in tad("--similar", "mine.py:mine").stdout
    # Of itself there is the other alone.
    (near,) = tad("--similar", "pack/kernels.py:soft_fwd", "--json").json["kernels"][0]["similar"]
    assert near["file"].endswith("/copy/kernels.py")
    assert tad("--similar", "mine.py", "--top-k", "0").status == 2
    assert "at most 1" in tad("--similar", "mine.py", "--min-sim", "1.5").stderr


def test_broken_files_do_not_stop_the_others(tad: Run, workspace: Workspace) -> None:
    workspace.write(
        {"pack/nul.py": b"import triton\0\n", "pack/half.py": HEADER + softmax("cut")[:120]}
    )
    (workspace.path / "pack/loop.py").symlink_to("loop.py")
    (workspace.path / "pack/round").symlink_to("..")
    (workspace.path / "pack/same.py").symlink_to("kernels.py")
    told = tad("--index", "pack")
    assert told.status == 2
    assert "pack/nul.py:1: the file has a NUL byte" in told.stderr
    assert "5 files read: " in told.stderr
    assert len(tad("--similar", "mine.py:mine", "--json").json["kernels"][0]["similar"]) == 1


def test_nothing_of_the_code_runs(tad: Run, workspace: Workspace) -> None:
    harm = f"open({str(workspace.path / 'ran')!r}, 'w').close()\n"
    workspace.write(
        {"pack/kernels.py": harm + PACKAGE["pack/kernels.py"], "pack/__init__.py": harm}
    )
    assert tad("--index", "pack").status == 0
    assert tad("--similar", "mine.py").status == 0
    assert not (workspace.path / "ran").exists()


@pytest.mark.parametrize("how", ["text", "cut", "empty"])
def test_a_damaged_index_is_made_anew(tad: Run, workspace: Workspace, how: str) -> None:
    tad("--index", "pack")
    index = index_of(workspace)
    data = index.read_bytes()
    index.write_bytes(
        {"text": b"no database at all\n" * 100, "cut": data[: len(data) // 2], "empty": b""}[how]
    )
    told = tad("--similar", "mine.py")
    assert told.status == 2
    assert "tad-lsp --index" in told.stderr
    told = tad("--index", "pack")
    assert told.status == 0
    assert "the index is made anew: it is " in told.stderr
    assert "4 files read" in told.stderr
    assert len(tad("--similar", "mine.py:mine", "--json").json["kernels"][0]["similar"]) == 1


def test_an_index_of_another_version_is_made_anew(tad: Run, workspace: Workspace) -> None:
    tad("--index", "pack")
    with sqlite3.connect(index_of(workspace)) as database:
        database.execute("PRAGMA user_version = 1")
    database.close()
    told = tad("--similar", "mine.py")
    assert told.status == 2
    assert "is of another version: `tad-lsp --index` makes it anew" in told.stderr
    told = tad("--index")
    assert told.status == 0
    assert "the index is made anew: it is of another version" in told.stderr
    assert "4 files read" in told.stderr


def test_two_write_at_once(tad: Run, workspace: Workspace) -> None:
    env = {**os.environ, "XDG_DATA_HOME": str(workspace.path / "data")}
    commands = [[str(BIN / "tad-lsp"), "--index", path] for path in ("pack", "mine.py", "pack")]
    runs = [
        subprocess.Popen(c, cwd=workspace.path, env=env, stderr=subprocess.PIPE) for c in commands
    ]
    assert [run.communicate(timeout=60) and run.returncode for run in runs] == [0, 0, 0]
    assert "5 unchanged, 0 gone" in tad("--index").stderr


def test_without_an_index_it_is_said(tad: Run, workspace: Workspace) -> None:
    told = tad("--similar", "mine.py")
    assert told.status == 2
    assert "nothing is indexed: `tad-lsp --index PATH...` does so" in told.stderr
    assert "nowhere: No such file" in tad("--index", "nowhere").stderr
    home = workspace.tad("--index", "pack", env={"XDG_DATA_HOME": "", "HOME": ""})
    assert home.status == 2
    assert "neither $XDG_DATA_HOME nor $HOME" in home.stderr
    tad("--index", "pack")
    index_of(workspace).chmod(0o666)
    told = tad("--similar", "mine.py")
    assert told.status == 2
    assert "can be written by others" in told.stderr
    assert (
        "has no kernel `none`"
        in (index_of(workspace).chmod(0o600), tad("--similar", "mine.py:none"))[1].stderr
    )
