"""`--shard I/N`, `--results FILE` and `--merge FILE...`: parts put together are as one run."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import BROKEN, CLEAN, HEADER, Result, Workspace

ROOT = Path(__file__).resolve().parents[2]
SECONDS = re.compile(r"\d+\.\d\d(?= s\b)|(?<= )\d+\.\d\d(?=  \S+\.py:\d+)")
FILES = {
    "a.py": CLEAN,
    "b/many.py": HEADER
    + "\n\n".join(
        CLEAN.removeprefix(HEADER).replace("scale_kernel", f"kernel_{i}") for i in range(9)
    ),
    "b/broken.py": BROKEN,
    "b/host.py": "x = 1\n",
    "c/no_text.py": CLEAN.replace("3.0", "3.0\0"),
}


def run_parts(workspace: Workspace, count: int, *arguments: object, paths: list[str]) -> list[str]:
    """The files of all parts; each part names the paths in another order."""
    files = []
    for number in range(1, count + 1):
        order = paths if number % 2 else paths[::-1]
        file = f"part-{number}.json"
        found = workspace.tad(
            *["--check", *order, *arguments, "--shard", f"{number}/{count}", "--results", file]
        )
        assert (workspace.path / file).exists(), found.stderr
        files.append(file)
    return files


def without_times(result: Result) -> str:
    return SECONDS.sub("T", result.stdout)


def without_seconds(value: object) -> object:
    if isinstance(value, list):
        return [without_seconds(item) for item in value]
    if isinstance(value, dict):
        return {key: without_seconds(item) for key, item in value.items() if key != "seconds"}
    return value


def kernels_of(workspace: Workspace, file: str) -> list[tuple[str, str]]:
    held = json.loads((workspace.path / file).read_text())
    return [(kernel["file"], kernel["name"]) for kernel in held["kernels"]]


@pytest.mark.parametrize("count", [1, 2, 5, 40])
def test_merged_is_as_one_run(workspace: Workspace, count: int) -> None:
    workspace.write(FILES)
    paths = ["a.py", "b", "c"]
    files = run_parts(workspace, count, "--grad", paths=paths)
    for output in (["-f", "json"], []):
        whole = workspace.tad("--check", *paths, "--grad", *output)
        merged = workspace.tad("--merge", *files[::-1], *output)
        assert (merged.status, merged.stderr) == (whole.status, whole.stderr)
        assert whole.status == 2
        if output:
            assert without_seconds(merged.json) == without_seconds(whole.json)
        else:
            assert without_times(merged) == without_times(whole)


def test_examples_merge_to_their_report(workspace: Workspace) -> None:
    shutil.copytree(ROOT / "examples", workspace.path / "examples")
    files = run_parts(workspace, 3, "--grad", paths=["examples"])
    shares = [kernels_of(workspace, file) for file in files]
    assert max(map(len, shares)) - min(map(len, shares)) <= 4
    whole = workspace.tad("--check", "examples", "--grad", "-f", "json")
    merged = workspace.tad("--merge", *files, "-f", "json")
    assert merged.status == whole.status == 0
    assert without_seconds(merged.json) == without_seconds(whole.json)


def test_parts_are_even_and_each_kernel_is_in_one(workspace: Workspace) -> None:
    workspace.write(FILES)
    files = run_parts(workspace, 4, "--grad", "--jobs", 1, paths=["a.py", "b"])
    shares = [kernels_of(workspace, file) for file in files]
    everything = [kernel for share in shares for kernel in share]
    assert len(everything) == len(set(everything)) == 11
    assert max(map(len, shares)) <= 4


def test_each_machine_says_its_share(workspace: Workspace) -> None:
    workspace.write(FILES)
    said = []
    for number in (1, 2, 3):
        run = workspace.tad("--check", "a.py", "b", "--grad", "--shard", f"{number}/3")
        said += re.findall(
            r"part (\d) of 3: (\d+) of (\d+) kernels, in (\d) of 4 files", run.stderr
        )
    assert [row[0] for row in said] == ["1", "2", "3"]
    assert sum(int(row[1]) for row in said) == int(said[0][2]) == 11
    assert all(int(row[3]) >= 1 for row in said)
    quiet = workspace.tad("--check", "a.py", "--shard", "1/1", "-q")
    assert quiet.stderr == ""
    assert "part 1" not in workspace.tad("--check", "a.py").stderr


def test_a_part_that_is_missing_is_said(workspace: Workspace) -> None:
    workspace.write({"a.py": CLEAN, "b.py": BROKEN})
    files = run_parts(workspace, 4, paths=["a.py", "b.py"])
    result = workspace.tad("--merge", files[0], files[2])
    assert result.status == 2
    assert "the report is not whole: no results of parts 2, 4 of 4; run `--check`" in result.stderr
    assert "with `--shard I/4 --results FILE` for each, and merge again" in result.stderr


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda held: {**held, "of": 3}, "it is part 2 of 3, and part-1.json of 2"),
        (
            lambda held: {**held, "part": 1},
            "it is part 1, as is part-1.json; give one of them, once",
        ),
        (lambda held: {**held, "tree": "12"}, "it is of other files, or of other versions of them"),
        (lambda held: {**held, "grad": True}, "it was run with --grad, and part-1.json without it"),
        (
            lambda held: {**held, "version": "0.0.1"},
            "; run that part, or the merge, with the other's",
        ),
        (lambda held: {**held, "tad_results": 2}, "wrote it, and this is"),
        (lambda held: {"diagnostics": []}, "it has no results"),
        (lambda held: [held], "it has no results"),
        (lambda held: {**held, "part": 0}, "it does not say which part of a run it is"),
        (lambda held: {**held, "findings": [{"name": "no-such"}]}, "does not know: `no-such`"),
        (lambda held: {**held, "kernels": [{"status": "new"}]}, "does not know: `new`"),
    ],
)
def test_what_does_not_belong_together(workspace: Workspace, change, says: str) -> None:
    workspace.write({"a.py": CLEAN, "b.py": BROKEN})
    files = run_parts(workspace, 2, paths=["a.py", "b.py"])
    file = workspace.path / files[1]
    file.write_text(json.dumps(change(json.loads(file.read_text()))))
    result = workspace.tad("--merge", *files)
    assert result.status == 2
    assert "part-2.json: left out: " in result.stderr
    assert says in result.stderr


@pytest.mark.parametrize(
    "members",
    [
        {"files": 3, "findings": {}, "kernels": "x", "problems": [None, 3]},
        {"findings": [{"name": "unmasked-load", "severity": 1, "start": [-1, 1e99, "x"], "notes": [1]}]},
        {"kernels": [{"status": "proved", "proof": 3, "line": "x", "worst_error": None}]},
    ],
)  # fmt: skip
def test_a_damaged_file_is_survived(workspace: Workspace, members: dict) -> None:
    workspace.write({"a.py": CLEAN})
    (file,) = run_parts(workspace, 1, paths=["a.py"])
    held = json.loads((workspace.path / file).read_text())
    (workspace.path / file).write_text(json.dumps({**held, **members}))
    for output in ("full", "json", "sarif", "junit", "gitlab", "github", "concise"):
        assert workspace.tad("--merge", file, "-f", output).status in (0, 1, 2)


def test_files_that_changed_between_the_parts(workspace: Workspace) -> None:
    workspace.write({"a.py": CLEAN, "b.py": CLEAN})
    workspace.tad("--check", ".", "--shard", "1/2", "--results", "1.json")
    workspace.write({"b.py": BROKEN})
    workspace.tad("--check", ".", "--shard", "2/2", "--results", "2.json")
    assert "of other versions of them" in workspace.tad("--merge", "1.json", "2.json").stderr


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        (
            ["--select", "memory,types"],
            ["--select", "types"],
            "it was run with --select types, and 1.json with --select memory,types; run all parts",
        ),
        (["--ignore", "unmasked-load"], [], "it was run with none of --select, --ignore and"),
        ([], ["--severity", "memory=error"], "it was run with --severity memory=error, and 1.json"),
        (
            ["--grad"],
            ["--grad", "--seed", 3],
            "it was run with --seed 3 --time-limit 60, and 1.json with --seed 0",
        ),
    ],
)
def test_parts_of_other_words(
    workspace: Workspace, first: list[object], second: list[object], says: str
) -> None:
    workspace.write({"a.py": CLEAN, "b.py": BROKEN})
    workspace.tad("--check", ".", *first, "--shard", "1/2", "--results", "1.json")
    workspace.tad("--check", ".", *second, "--shard", "2/2", "--results", "2.json")
    merged = workspace.tad("--merge", "1.json", "2.json")
    assert merged.status == 2
    assert f"2.json: left out: {says}" in merged.stderr


def test_the_order_of_words_is_none(workspace: Workspace) -> None:
    workspace.write({"a.py": CLEAN, "b.py": BROKEN})
    for number, names in (("1", "memory,types"), ("2", "types,memory")):
        words = ["--select", names, "--shard", f"{number}/2", "--results", f"{number}.json"]
        workspace.tad("--check", ".", *words)
    assert "left out" not in workspace.tad("--merge", "1.json", "2.json").stderr


@pytest.mark.parametrize("text", ["0/2", "3/2", "2", "a/b", "1/2/3", "1/", "-1/2", "1/100001", ""])
def test_what_is_no_part(workspace: Workspace, text: str) -> None:
    workspace.write({"a.py": CLEAN})
    result = workspace.tad("--check", "a.py", "--shard", text)
    assert result.status == 2
    assert "--shard takes a part and how many there are, as 3/16" in result.stderr
    assert f"not `{text}`" in result.stderr


def test_a_baseline_is_for_all_parts_together(workspace: Workspace) -> None:
    load = CLEAN.replace(", mask=mask, other=0.0", "")
    workspace.write({"a.py": load, "b.py": load})
    refused = workspace.tad("--check", ".", "--shard", "1/2", "--baseline", "known.json")
    assert (refused.status, "give it to --merge" in refused.stderr) == (2, True)
    files = run_parts(workspace, 2, paths=["."])
    written = workspace.tad("--merge", *files, "--write-baseline", "known.json")
    assert (written.status, "2 findings written" in written.stderr) == (0, True)
    assert workspace.tad("--merge", *files, "--baseline", "known.json").status == 0
    assert workspace.tad("--check", ".", "--baseline", "known.json").status == 0
    assert workspace.tad("--merge", *files).status == 1


def test_what_is_written_and_what_is_not(workspace: Workspace) -> None:
    """Results replace results; a file of the user's, and what was read, stay."""
    workspace.write({"a.py": CLEAN, "notes.json": "{}"})
    once = workspace.tad("--check", "a.py", "--results", "r.json")
    again = workspace.tad("--check", "a.py", "--results", "r.json")
    assert (once.status, again.status) == (0, 0)
    theirs = workspace.tad("--check", "a.py", "--results", "notes.json")
    assert (theirs.status, "notes.json" in theirs.stderr) == (2, True)
    assert (workspace.path / "notes.json").read_text() == "{}"
    both = workspace.tad("--check", "a.py", "--results", "r.json", "-o", "r.json")
    assert (both.status, "name the same file" in both.stderr) == (2, True)
    over = workspace.tad("--merge", "r.json", "-o", "r.json", "--force")
    assert over.status == 2
    assert json.loads((workspace.path / "r.json").read_text())["part"] == 1
