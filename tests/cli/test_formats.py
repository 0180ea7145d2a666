"""Every format of `--check`, parsed by somebody else's parser where there is one."""

import json
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from jsonschema import Draft7Validator
from pydantic import BaseModel
from sarif_pydantic import Sarif

from tests.cli.conftest import BROKEN, BROKEN_LINE, CLEAN, HEADER, ROOT, Workspace

WIDE = (
    HEADER
    + """@triton.jit
def wide(x_ptr, BLOCK: tl.constexpr):
\tname = "\U0001f600 é"; x = tl.lod(x_ptr)
"""
)


@pytest.fixture
def broken(workspace: Workspace) -> Workspace:
    workspace.write({"a.py": BROKEN, "b.py": CLEAN, "sub/c d.py": BROKEN})
    return workspace


def test_full_has_excerpt_and_carets(broken: Workspace) -> None:
    result = broken.tad("--check", "a.py")
    assert result.status == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith("error[unknown-operation]: ")
    assert lines[1].startswith(f"  --> a.py:{BROKEN_LINE}:")
    assert re.match(rf"\s+{BROKEN_LINE} \|     x = tl.lod\(", lines[2])
    column = int(lines[1].rsplit(":", 1)[1])
    source, carets = lines[2].split(" | ", 1)[1], lines[3].split(" | ", 1)[1]
    assert carets.index("^") == column - 1
    assert "lod" in source[carets.index("^") : carets.rindex("^") + 1]
    assert "1 error; 1 file, 1 kernel" in lines[-1]


def test_concise(broken: Workspace) -> None:
    result = broken.tad("--check", ".", "--format", "concise")
    assert result.status == 1
    rows = result.stdout.splitlines()[:-1]
    assert [row.split(":")[0] for row in rows] == ["a.py", "sub/c d.py"]
    assert all(re.match(r"[^:]+:\d+:\d+: error\[unknown-operation\] \S", row) for row in rows)


def test_json(broken: Workspace) -> None:
    result = broken.tad("--check", ".", "--format", "json")
    assert result.status == 1
    report = result.json
    assert set(report) == {"version", "diagnostics", "problems", "summary"}
    assert [d["file"] for d in report["diagnostics"]] == ["a.py", "sub/c d.py"]
    first = report["diagnostics"][0]
    assert set(first) == {"file", "range", "name", "severity", "family", "message", "related"}
    assert first["severity"] == "error"
    assert first["range"]["start"]["line"] == BROKEN_LINE - 1
    line = BROKEN.splitlines()[BROKEN_LINE - 1]
    start, end = (first["range"][k]["character"] for k in ("start", "end"))
    assert "lod" in line[start:end]
    assert report["summary"] | {"seconds": 0} == {
        "files": 3, "kernels": 3, "error": 2, "warning": 0, "info": 0, "hint": 0, "suppressed": 0, "seconds": 0,
    }  # fmt: skip


def test_json_of_a_clean_folder(workspace: Workspace) -> None:
    workspace.write({"b.py": CLEAN})
    result = workspace.check()
    assert result.status == 0
    assert result.names == []
    assert result.json["problems"] == []


def test_positions_count_utf16(workspace: Workspace) -> None:
    workspace.write({"w.py": WIDE})
    found = [d for d in workspace.check().json["diagnostics"] if d["name"] == "unknown-operation"]
    line = WIDE.splitlines()[6]
    start = found[0]["range"]["start"]["character"]
    utf16 = line.encode("utf-16-le")
    assert utf16[2 * start :].decode("utf-16-le").startswith(("tl.lod", "lod"))
    concise = workspace.tad("--check", "w.py", "-f", "concise").stdout
    column = int(concise.split(":")[2])
    assert line[column - 1 :].startswith(("tl.lod", "lod"))


def test_github(broken: Workspace) -> None:
    result = broken.tad("--check", ".", "--format", "github")
    assert result.status == 1
    rows = result.stdout.splitlines()
    assert len(rows) == 2
    pattern = r"::error file=([^,]+),line=(\d+),endLine=\d+,col=\d+,endColumn=\d+,title=unknown-operation::\S.*"
    matches = [re.fullmatch(pattern, row) for row in rows]
    assert [m and (m[1], int(m[2])) for m in matches] == [("a.py", BROKEN_LINE), ("sub/c d.py", BROKEN_LINE)]


def test_github_escapes(workspace: Workspace) -> None:
    workspace.write({"a,b:c%.py": BROKEN})
    assert "file=a%2Cb%3Ac%25.py," in workspace.tad("--check", ".", "--format", "github").stdout


def test_gitlab(broken: Workspace) -> None:
    broken.write({"twice.py": BROKEN + CLEAN.split("\n\n\n")[1].replace("tl.load", "tl.lod")})
    issues = json.loads(broken.tad("--check", ".", "--format", "gitlab").stdout)
    assert len(issues) == 4
    for issue in issues:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert issue["location"]["lines"]["begin"] >= 1
    assert len({issue["fingerprint"] for issue in issues}) == 4


def test_gitlab_fingerprints_survive_moved_lines(workspace: Workspace) -> None:
    workspace.write({"a.py": BROKEN})
    before = json.loads(workspace.tad("--check", ".", "--format", "gitlab").stdout)
    workspace.write({"a.py": "# a line more\n" + BROKEN})
    after = json.loads(workspace.tad("--check", ".", "--format", "gitlab").stdout)
    assert before[0]["fingerprint"] == after[0]["fingerprint"]
    assert before[0]["location"] != after[0]["location"]


def extras(model: BaseModel, path: str = "") -> list[str]:
    """Members that the SARIF model does not know."""
    found = [f"{path}.{name}" for name in model.model_extra or {}]
    for name in type(model).model_fields:
        value = getattr(model, name)
        for index, item in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(item, BaseModel):
                found += extras(item, f"{path}.{name}[{index}]")
    return found


SARIF_SCHEMA = Path(__file__).parent / "node_modules/@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json"


@pytest.fixture(scope="module")
def schema() -> Draft7Validator:
    """Of the standard itself; what it says of formats is checked where Python can."""
    text = json.loads(SARIF_SCHEMA.read_text())
    Draft7Validator.check_schema(text)
    return Draft7Validator(text, format_checker=Draft7Validator.FORMAT_CHECKER)


def test_sarif_by_its_schema(workspace: Workspace, schema: Draft7Validator) -> None:
    """What errors, warnings, hints, gradients that are wrong, suppressed findings and unreadable files become."""
    wrong = CLEAN.replace("tl.load(", "tl.lod(  # tad: ignore\n        ")
    workspace.write({"a.py": BROKEN, "sub/c d.py": BROKEN, "clean.py": CLEAN, "wrong.py": wrong, "nul.py": b"\0"})
    shutil.copy(ROOT / "examples/layer_norm.py", workspace.path)
    for more in ([], ["--grad"], ["--quiet"], ["--select", "unknown-operation"]):
        log = json.loads(workspace.tad("--check", ".", "--format", "sarif", *more).stdout)
        problems = [f"{error.json_path}: {error.message}" for error in schema.iter_errors(log)]
        assert problems == []
        assert log["runs"][0]["results"]
    log["runs"][0]["results"][0]["level"] = "fatal"
    del log["version"]
    assert len(list(schema.iter_errors(log))) == 2


def test_sarif_of_nothing_by_its_schema(workspace: Workspace, schema: Draft7Validator) -> None:
    schema.validate(json.loads(workspace.tad("--check", ".", "--format", "sarif").stdout))


def test_sarif(broken: Workspace) -> None:
    broken.write({"nul.py": b"\0"})
    result = broken.tad("--check", ".", "--format", "sarif")
    assert result.status == 2  # nul.py cannot be read, and the log says so
    raw = json.loads(result.stdout)
    assert raw["version"] == "2.1.0"
    log = Sarif.model_validate(raw)
    # The model lacks these two members of the standard.
    unknown = {".$schema", ".runs[0].columnKind", ".runs[0].invocations[0].toolExecutionNotifications"}
    assert set(extras(log)) <= unknown
    run = log.runs[0]
    assert run.tool.driver.name == "tad-lsp"
    rules = [rule.id for rule in run.tool.driver.rules]
    assert rules == ["unknown-operation"]
    uris = []
    for entry in run.results:
        assert rules[entry.rule_index] == entry.rule_id
        location = entry.locations[0].physical_location
        assert location.region.start_line == BROKEN_LINE
        assert location.region.end_column > location.region.start_column
        uris.append(location.artifact_location.uri)
    assert uris == ["a.py", "sub/c%20d.py"]
    invocation = raw["runs"][0]["invocations"][0]
    assert invocation["executionSuccessful"] is False
    assert "nul.py" in invocation["toolExecutionNotifications"][0]["message"]["text"]


def test_sarif_of_nothing(workspace: Workspace) -> None:
    result = workspace.tad("--check", ".", "--format", "sarif")
    assert result.status == 0
    run = Sarif.model_validate_json(result.stdout).runs[0]
    assert run.results == []


def test_junit(broken: Workspace) -> None:
    broken.write({"nul.py": b"\0"})
    result = broken.tad("--check", ".", "--format", "junit")
    suites = ElementTree.fromstring(result.stdout).findall("testsuite")
    assert [suite.get("name") for suite in suites] == ["check"]
    cases = suites[0].findall("testcase")
    assert int(suites[0].get("tests")) == len(cases)
    failed = {case.get("name") for case in cases if case.find("failure") is not None}
    assert failed == {"a.py", "sub/c d.py"}
    assert int(suites[0].get("failures")) == 2
    assert int(suites[0].get("errors")) == 1
    text = next(case for case in cases if case.get("name") == "a.py").find("failure").text
    assert f"a.py:{BROKEN_LINE}:" in text


def test_junit_escapes(workspace: Workspace) -> None:
    workspace.write({"a<&\"'>.py": BROKEN})
    suite = ElementTree.fromstring(workspace.tad("--check", ".", "--format", "junit").stdout)
    assert suite.find("testsuite/testcase").get("name") == "a<&\"'>.py"


def test_all_formats_agree_on_the_status(broken: Workspace) -> None:
    for name in "full concise json github gitlab sarif junit".split():
        assert broken.tad("--check", ".", "--format", name).status == 1, name
        assert broken.tad("--check", "b.py", "--format", name).status == 0, name
