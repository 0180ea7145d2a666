"""`--baseline`: what is known is not reported, wherever its line has moved to; what is gone is said."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Workspace

HEAD = "import triton\nimport triton.language as tl\n\n\n"
KERNEL = """@triton.jit
def {name}(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(y_ptr + offsets, 2 * x, mask=offsets < n)


"""
OLD = HEAD + KERNEL.format(name="old_kernel")


def named(result) -> list[tuple[str, int]]:
    return [(d["file"], d["range"]["start"]["line"]) for d in result.json["diagnostics"]]


@pytest.fixture
def written(workspace: Workspace) -> Workspace:
    """A folder with a baseline."""
    workspace.write({"src/a.py": OLD, "src/b.py": HEAD})
    result = workspace.tad("--check", "src", "--write-baseline", "known.json")
    assert result.status == 0, result.stderr
    assert "known.json: 1 finding written" in result.stderr
    return workspace


def test_a_baseline_names_findings_without_their_lines(written: Workspace) -> None:
    held = json.loads((written.path / "known.json").read_text())
    assert held == {
        "baseline": [
            {
                "file": "src/a.py",
                "name": "unmasked-load",
                "line": "x = tl.load(x_ptr + offsets)",
            }
        ]
    }


def test_what_is_known_is_not_reported(written: Workspace) -> None:
    result = written.check("--baseline", "known.json")
    assert (result.status, named(result), result.json["summary"]["suppressed"]) == (0, [], 1)
    assert written.check().status == 1


def test_lines_may_move_and_the_folder_may_be_another(written: Workspace) -> None:
    written.write({"src/a.py": "# new\n\n" + OLD})
    result = written.check("--baseline", "known.json")
    assert (result.status, result.stderr) == (0, "")
    inner = Workspace(written.path / "src")
    assert inner.check("--baseline", "../known.json").status == 0


def test_what_is_new_is_reported_even_where_its_line_is_the_same(written: Workspace) -> None:
    written.write({"src/a.py": OLD + KERNEL.format(name="new_kernel")})
    result = written.check("--baseline", "known.json")
    assert result.status == 1 and len(named(result)) == 1
    written.write({"src/a.py": OLD, "src/b.py": OLD})
    assert [file for file, _ in named(written.check("--baseline", "known.json"))] == ["src/b.py"]


def test_what_is_gone_is_said(written: Workspace) -> None:
    written.write({"src/a.py": HEAD})
    result = written.check("--baseline", "known.json")
    assert result.status == 0
    assert "src/a.py: no longer there: unmasked-load: x = tl.load(x_ptr + offsets)" in result.stderr
    assert "known.json: 1 of its findings is gone" in result.stderr
    # Of files that were not checked, or findings that were not asked for, nothing is known.
    assert "gone" not in written.tad("--check", "src/b.py", "--baseline", "known.json").stderr
    assert "gone" not in written.check("--baseline", "known.json", "--select", "types").stderr
    (written.path / "src/a.py").unlink()
    assert "is gone" in written.check("--baseline", "known.json").stderr


def test_what_is_gone_is_dropped_and_nothing_is_added(written: Workspace) -> None:
    update = ("--baseline", "known.json", "--update-baseline")
    twice = OLD + KERNEL.format(name="second_kernel")
    written.write({"src/a.py": twice})
    assert written.tad("--check", "src", "--write-baseline", "known.json").status == 0
    written.write({"src/a.py": OLD, "src/b.py": OLD})
    result = written.check(*update)
    assert result.status == 1 and "known.json: 1 finding dropped, 1 kept" in result.stderr
    assert [file for file, _ in named(result)] == ["src/b.py"]
    held = json.loads((written.path / "known.json").read_text())["baseline"]
    assert [(entry["file"], entry.get("count")) for entry in held] == [("src/a.py", None)]
    written.write({"src/a.py": twice})
    assert [file for file, _ in named(written.check(*update))] == ["src/a.py", "src/b.py"]


def test_what_was_not_looked_at_is_kept(written: Workspace) -> None:
    update = ("--baseline", "known.json", "--update-baseline")
    before = (written.path / "known.json").read_bytes()
    assert "0 findings dropped" in written.tad("--check", "src/b.py", *update).stderr
    written.write({"src/a.py": OLD.replace("x = tl", "x == = tl")})
    written.check(*update)
    (written.path / "src/a.py").write_bytes(b"\xff\xfe")
    result = written.check(*update)
    assert result.status == 2 and "not updated" in result.stderr
    assert (written.path / "known.json").read_bytes() == before
    assert written.check(*update, "--select", "types").status == 2
    assert written.check("--update-baseline").status == 2


def test_a_baseline_is_written_again_but_replaces_nothing_else(written: Workspace) -> None:
    written.write({"src/a.py": OLD + KERNEL.format(name="new_kernel"), "mine.json": '{"a": 1}\n'})
    assert written.tad("--check", "src", "--write-baseline", "known.json").status == 0
    held = json.loads((written.path / "known.json").read_text())
    assert [entry.get("count") for entry in held["baseline"]] == [2]
    assert written.check("--baseline", "known.json").status == 0
    result = written.tad("--check", "src", "--write-baseline", "mine.json")
    assert result.status == 2 and "was not written by tad-lsp" in result.stderr
    assert (written.path / "mine.json").read_text() == '{"a": 1}\n'
    assert written.tad("--check", "src", "--write-baseline", "src/a.py", "--force").status == 2


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"baseline": 3}', "known", '{"baseline": [', "\0"]
)
def test_what_is_no_baseline_is_refused_and_all_is_reported(written: Workspace, text: str) -> None:
    written.write({"other.json": text})
    result = written.check("--baseline", "other.json")
    assert result.status == 2 and "other.json" in result.stderr
    assert named(result) == [("src/a.py", 7)]
    assert written.check("--baseline", "none.json").status == 2


def test_entries_of_any_form_are_survived(written: Workspace) -> None:
    entries = [3, None, [], {}, {"file": 3}, {"file": "src/a.py", "count": -7, "name": "x"}]
    written.write({"other.json": json.dumps({"baseline": entries})})
    assert written.check("--baseline", "other.json").status == 1


def test_one_of_both(written: Workspace) -> None:
    result = written.check("--baseline", "known.json", "--write-baseline", "known.json")
    assert result.status == 2 and "give one of them" in result.stderr
