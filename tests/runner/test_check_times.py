"""`--check --time`: times beside the findings, in each format; launched against a stand-in for the driver."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from sarif_pydantic import Sarif

from tests.runner.test_bench import SQUARES, WRONG, Machine, machine  # noqa: F401
from tests.runner.test_protocol import BIN, HEAD
from tests.runner.test_times import cache, launches  # noqa: F401

FOUND = f"""{HEAD}
@triton.jit
def found(X, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(X + at, tl.lod(X + at))
"""


def check(machine: Machine, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:  # noqa: F811
    command = [str(BIN / "tad-lsp"), "--check", "--time", *arguments, "--python", sys.executable]
    environment = {**os.environ, **machine.variables, **more}
    return subprocess.run(
        command, env=environment, cwd=machine.folder, capture_output=True, text=True, timeout=300
    )


def test_times_stand_below_the_findings(machine: Machine) -> None:  # noqa: F811
    (machine.folder / "squares.py").write_text(SQUARES + FOUND.replace(HEAD, ""))
    run = check(machine, "squares.py")
    assert run.returncode == 1, run.stderr
    assert run.stdout.index("error[unknown-operation]") < run.stdout.index("a stand-in, Triton 3.")
    assert run.stdout.count("  squares  ") == 2
    assert run.stdout.rstrip().splitlines()[-1].startswith("1 error; 1 file, 2 kernels")
    assert "[1/3] squares.py:squares" in run.stderr
    assert "Triton" not in check(machine, "squares.py", "-q").stdout


def test_the_words_have_either_order(machine: Machine) -> None:  # noqa: F811
    command = [str(BIN / "tad-lsp"), "--time", "--check", "--help"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    command = [str(BIN / "tad-lsp"), "--time", "--check", "squares.py", "--python", sys.executable]
    environment = {**os.environ, **machine.variables}
    run = subprocess.run(
        command, env=environment, cwd=machine.folder, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0 and "nothing to report; 1 file" in run.stdout
    assert run.stdout.count("  squares  ") == 2


def test_formats(machine: Machine) -> None:  # noqa: F811
    report = json.loads(check(machine, ".", "-f", "json").stdout)
    assert [row["kernel"] for row in report["times"]["kernels"]] == ["squares", "squares", "whole"]
    assert report["times"]["kernels"][1]["forward"]["bytes"] == 8 << 20
    assert report["diagnostics"] == [] and "kernels" not in report
    log = json.loads(check(machine, ".", "-f", "sarif").stdout)
    Sarif.model_validate(log)
    (run,) = log["runs"]
    assert run["results"] == []
    assert run["properties"]["times"]["device"] == "a stand-in"
    assert [row["kernel"] for row in run["properties"]["times"]["kernels"]] == [
        *["squares", "squares", "whole"]
    ]
    (machine.folder / "wrong.py").write_text(WRONG)
    suites = ElementTree.fromstring(check(machine, ".", "-f", "junit").stdout)
    (suite,) = (suite for suite in suites if suite.get("name") == "times")
    assert (suite.get("tests"), suite.get("skipped")) == ("5", "2")
    assert [case.get("time") for case in suite] == ["0.001000"] * 2 + ["0.000500"] + [
        "0.000000"
    ] * 2


def test_what_became_slower_is_a_finding(machine: Machine) -> None:  # noqa: F811
    compare = ["--compare-times", "t.json", "--fail-slower", "10%"]
    assert check(machine, "squares.py", "--save-times", "t.json").returncode == 0
    run = check(machine, "squares.py", *compare)
    assert run.returncode == 0, run.stdout
    assert run.stdout.count("0.5 ms, before 0.5 ms, +0.0 %") == 4
    machine.change("t.json", 0.4)
    run = check(machine, "squares.py", *compare)
    assert run.returncode == 1
    line = SQUARES.splitlines().index("def squares(X, Y, n, BLOCK: tl.constexpr):") + 1
    words = "`squares`, forward: 0.5 ms, before 0.4 ms, +25.0 %"
    assert f"warning[kernel-slower]: {words}\n  --> squares.py:{line}:5\n" in run.stdout
    report = json.loads(check(machine, "squares.py", *compare, "-f", "json").stdout)
    assert {row["name"] for row in report["diagnostics"]} == {"kernel-slower"}
    first = report["times"]["compared"][0]
    assert (first["direction"], first["before_ms"], first["is_slower"]) == ("forward", 0.4, True)
    log = json.loads(check(machine, "squares.py", *compare, "-f", "sarif").stdout)
    assert {result["ruleId"] for result in log["runs"][0]["results"]} == {"kernel-slower"}
    assert check(machine, "squares.py", *compare[:2]).returncode == 0, "nobody asked to fail"
    ignored = check(machine, "squares.py", *compare, "--ignore", "kernel-slower")
    assert ignored.returncode == 0


def test_a_kernel_that_is_timed_no_more(machine: Machine) -> None:  # noqa: F811
    compare = ["--compare-times", "t.json", "--fail-slower", "10%"]
    assert check(machine, "squares.py", "--save-times", "t.json").returncode == 0
    (machine.folder / "squares.py").write_text(WRONG.replace("wrong", "squares"))
    run = check(machine, "squares.py", *compare, "-f", "concise")
    assert run.returncode == 1
    assert "`squares`, forward: it took 0.5 ms, and has no time now" in run.stdout


def test_what_this_machine_lacks(machine: Machine) -> None:  # noqa: F811
    (machine.folder / "found.py").write_text(FOUND)
    run = check(machine, "found.py", "squares.py", TAD_LIBCUDA="/nowhere.so")
    assert run.returncode == 2
    assert run.stderr.count("TAD_LIBCUDA names no library") == 1
    assert "error[unknown-operation]" in run.stdout, "findings stand all the same"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--time", "--fail-slower", "1%"], "--fail-slower needs --compare-times FILE"),
        (["--time", "--shard", "1/2"], "--time: the times of several machines are not merged"),
        (["--time", "--results", "r.json"], "--time: the times of several machines are not merged"),
        (["--save-times", "t.json"], "--save-times needs --time"),
        (["--python", "python3"], "--python needs --time"),
        (["--time=1"], "--time takes no value"),
    ],
)
def test_wrong_use(arguments: list[str], says: str, machine: Machine) -> None:  # noqa: F811
    command = [str(BIN / "tad-lsp"), "--check", "squares.py", *arguments]
    run = subprocess.run(command, cwd=machine.folder, capture_output=True, text=True, timeout=60)
    assert run.returncode == 2 and says in run.stderr and run.stdout == ""
