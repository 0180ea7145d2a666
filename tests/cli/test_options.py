"""Parsing of the command line: every option is listed, wrong use is answered with a sentence and status 2."""

import re
import subprocess

import pytest

from tests.cli.conftest import BIN, BROKEN, CLEAN, Workspace

OPTIONS = (
    "--serve --stdio --pipe --socket --clientProcessId --record --time --python --self-check --replay "
    "--check --backward --explain --dump --doctor --version --help --grad --format --output --select --ignore "
    "--color --quiet --jobs --time-limit --seed --runner --wrt --wrapper --diff --no-proof --force "
    "--baseline --write-baseline --fix --ask --endpoint --api --model --max-iters --agree --answers --write --stdin "
    "--max-tokens --max-seconds --max-stalls --temperature --effort "
    "--merge --shard --results --backend --cost --card --sizes --severity --update-baseline --index "
    "--similar --top-k --min-sim --exclude --forget --json --examples --bench --csv --html --save-times "
    "--compare-times --fail-slower --update --tune --save --phase --module --reference"
).split()
FORMATS = "full concise json github gitlab sarif junit".split()


def test_help_lists_everything(workspace: Workspace) -> None:
    result = workspace.tad("--help")
    assert result.status == 0
    assert result.stderr == ""
    for word in [*OPTIONS, *FORMATS, "autograd"]:
        assert re.search(rf"(^|\s){re.escape(word)}(\s|$)", result.stdout, re.M), word
    assert all(len(line) <= 130 for line in result.stdout.splitlines())
    assert workspace.tad("-h").stdout == result.stdout


def test_no_option_is_left_out_of_this_list(workspace: Workspace) -> None:
    listed = set(re.findall(r"--[a-zA-Z-]+", workspace.tad("--help").stdout))
    assert listed == set(OPTIONS)


def test_version(workspace: Workspace) -> None:
    result = workspace.tad("--version")
    assert result.status == 0
    assert re.fullmatch(r"tad-lsp \d+\.\d+\.\d+\n", result.stdout)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--stdio", "--grad"], "--grad has no meaning with --serve"),
        (["--socket", "none"], "--socket takes a whole number"),
        (["somefile.py"], "say what to do"),
        (["--chekc", "a.py"], "did you mean --check?"),
        (["--completely-else"], "`tad-lsp --help` lists them"),
        (["--check"], "--check needs PATH..."),
        (["--check", "a.py", "--format", "xml"], "--format takes one of full, concise, json"),
        (["--check", "a.py", "--format"], "--format needs a value"),
        (["--check", "a.py", "--jobs", "0"], "--jobs takes a whole number of at least 1"),
        (["--check", "a.py", "--jobs", "two"], "--jobs takes a whole number"),
        (["--check", "a.py", "--jobs", "1.5"], "--jobs takes a whole number"),
        (["--check", "a.py", "--time-limit", "0"], "--time-limit takes a number"),
        (["--check", "a.py", "--time-limit", "nan"], "--time-limit takes a number"),
        (["--check", "a.py", "--seed", "-1"], "--seed takes a whole number"),
        (["--check", "a.py", "--grad=yes"], "--grad takes no value"),
        (["--check", "a.py", "--select", "a,,b"], "--select takes names"),
        (["--check", "a.py", "--update"], "--update has no meaning with --check"),
        (["--check", "a.py", "--diff"], "--diff has no meaning with --check"),
        (["--backward", "a.py", "--grad"], "--grad has no meaning with --backward"),
        (["--backward", "a.py", "b.py"], "does not know what to do with `b.py`"),
        (["--backward", "a.py", "--wrapper", "jax"], "--wrapper takes one of autograd, none, triton_op"),
        (["--check", "a.py", "--doctor"], "cannot be used together"),
        (["--explain"], "--explain needs NAME"),
        (["--backward", "a.py", "--card", "h100"], "--card has no meaning with --backward"),
        (["--version", "extra"], "does not know what to do with `extra`"),
    ],
)
def test_wrong_use(workspace: Workspace, arguments: list[str], says: str) -> None:
    result = workspace.tad(*arguments)
    assert result.status == 2
    assert says in result.stderr
    assert result.stderr.startswith("tad-lsp: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_values_after_equals_and_after_letters(workspace: Workspace) -> None:
    workspace.write({"a.py": CLEAN})
    spellings = [["--format=json"], ["--format", "json"], ["-f", "json"]]
    outputs = [workspace.tad("--check", "a.py", *spelling) for spelling in spellings]
    assert [o.status for o in outputs] == [0, 0, 0]
    assert all(o.json["diagnostics"] == outputs[0].json["diagnostics"] for o in outputs)
    assert workspace.tad("--check=a.py", "-f", "json").json["summary"]["files"] == 1


def test_a_file_whose_name_looks_like_an_option(workspace: Workspace) -> None:
    workspace.write({"--grad.py": BROKEN})
    result = workspace.tad("--check", "-f", "concise", "--", "--grad.py")
    assert result.status == 1
    assert "--grad.py:" in result.stdout


def test_output_file(workspace: Workspace) -> None:
    workspace.write({"a.py": BROKEN})
    result = workspace.tad("--check", "a.py", "-f", "concise", "-o", "report.txt")
    assert result.status == 1
    assert result.stdout == ""
    assert "unknown-operation" in (workspace.path / "report.txt").read_text()
    missing = workspace.tad("--check", "a.py", "-o", "no/such/folder/report.txt")
    assert missing.status == 2
    assert "no/such/folder/report.txt: cannot write" in missing.stderr


def test_stdout_that_is_full(workspace: Workspace) -> None:
    workspace.write({"a.py": BROKEN})
    result = workspace.tad("--check", "a.py", "-o", "/dev/full")
    assert result.status == 2
    assert "/dev/full" in result.stderr


def test_a_reader_that_has_seen_enough(workspace: Workspace) -> None:
    workspace.write({f"{i}.py": BROKEN for i in range(400)})
    command = f"'{BIN}/tad-lsp' --check . | head -n 1"
    run = subprocess.run(["bash", "-c", command], cwd=workspace.path, capture_output=True, check=True)
    assert run.stdout.startswith(b"error[")
    assert run.stderr == b""


def test_color(workspace: Workspace) -> None:
    workspace.write({"a.py": BROKEN})
    plain = workspace.tad("--check", "a.py")
    assert "\033" not in plain.stdout  # stdout is no terminal here
    assert "\033[1;31merror" in workspace.tad("--check", "a.py", "--color", "always").stdout
    assert "\033" not in workspace.tad("--check", "a.py", "--color", "never").stdout


def test_quiet_has_no_summary_and_no_hints(workspace: Workspace) -> None:
    workspace.write({"a.py": CLEAN + "\ndef half(:\n"})
    loud = workspace.tad("--check", "a.py")
    assert "1 file" in loud.stdout
    quiet = workspace.tad("--check", "a.py", "--quiet")
    assert quiet.stdout == ""
    assert quiet.stderr == ""
