"""Silencing by comment, by option and by `[tool.tad]`; pyproject files that are broken."""

import pytest

from tests.cli.conftest import BROKEN, CLEAN, Workspace


def commented(comment: str) -> str:
    return BROKEN.replace("other=0.0)", f"other=0.0)  {comment}")


@pytest.mark.parametrize(
    "comment",
    [
        "# tad: ignore",
        "# tad: ignore[unknown-operation]",
        "# tad:ignore[unknown-operation]",
        "# tad: ignore[shape-mismatch, unknown-operation]",
        "# tad: ignore[language]",
        "# noqa: F821  # tad: ignore[unknown-operation]",
        "# tad: ignore  because it is so",
    ],
)
def test_comment_silences(workspace: Workspace, comment: str) -> None:
    workspace.write({"a.py": commented(comment)})
    result = workspace.check()
    assert result.names == []
    assert result.status == 0
    assert result.json["summary"]["suppressed"] == 1


@pytest.mark.parametrize(
    "comment", ["# tad: ignore[shape-mismatch]", "# tad: ignored", "# tad: ignore[]", "# tad: M=3", "# ignore"]
)
def test_comment_does_not_silence(workspace: Workspace, comment: str) -> None:
    workspace.write({"a.py": commented(comment)})
    result = workspace.check()
    assert result.names == ["unknown-operation"]
    assert result.status == 1


def test_comment_on_another_line_does_not_silence(workspace: Workspace) -> None:
    workspace.write({"a.py": BROKEN.replace("    x = ", "    # tad: ignore\n    x = ")})
    assert workspace.check().names == ["unknown-operation"]


def test_the_former_name_of_a_finding(workspace: Workspace) -> None:
    """Who has it in a comment, in settings or on a command line need not change it."""
    settings = '[tool.tad]\nignore = ["gradient-verified"]\n[tool.tad.severity]\n'
    workspace.write(
        {
            "a.py": CLEAN.replace("\n", "\n# tad: ignore-file[gradient-verified]\n", 1),
            "pyproject.toml": settings + 'gradient-verified = "hint"\n',
        }
    )
    result = workspace.check("--ignore", "gradient-verified", "--severity", "gradient-verified=off")
    assert (result.status, result.names, result.stderr) == (0, [], "")
    page = workspace.tad("--explain", "gradient-verified")
    assert page.status == 0 and page.stdout.startswith("# gradient-proved"), page.stdout


TWO = """import triton
import triton.language as tl


{above}@triton.jit
def first(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(y_ptr + offsets, 2 * x, mask=offsets < n)
    {inside}


@triton.jit
def second(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(y_ptr + offsets, 2 * x, mask=offsets < n)
"""
LOAD = "unmasked-load"


@pytest.mark.parametrize(
    ("above", "inside", "expected"),
    [
        ("", "", [LOAD, LOAD]),
        ("# tad: ignore[unmasked-load]\n", "", [LOAD]),
        ("# tad: ignore[types, memory]\n# tad: BLOCK=64\n@triton.autotune([], key=[])\n", "", [LOAD]),
        ("# tad: ignore\n", "", [LOAD]),
        ("# tad: ignore-file[unmasked-load]\n", "", []),
        ("", "# tad: ignore-file", []),
        ("", '"""# tad: ignore-file"""', [LOAD, LOAD]),
        ("", "y = (  # tad: ignore[memory]\n    3)", [LOAD, LOAD]),
    ],
)
def test_comments_for_a_function_and_a_file(
    workspace: Workspace, above: str, inside: str, expected: list[str]
) -> None:
    workspace.write({"a.py": TWO.format(above=above, inside=inside)})
    assert [name for name in workspace.check().names if name == LOAD] == expected


@pytest.mark.parametrize(
    ("above", "inside", "message"),
    [
        (
            "# tad: ignore[unmaskd-load]\n",
            "",
            "there is no diagnostic `unmaskd-load`; did you mean `unmasked-load`?",
        ),
        ("", "y = 3  # tad: ignore[unmasked-load]", "`unmasked-load` is not reported"),
        ("# tad: ignore[tf32-dot, memory]\n", "", "`tf32-dot` is not reported"),
        ("# tad: ignore-file[types]\n", "", "`types` is not reported"),
        ("", "# tad: ignore[unmasked-load]\n    y = 3", "this comment silences nothing"),
        ("# tad: ignore[unmasked-load]\n\n", "", "this comment silences nothing"),
    ],
)
def test_comments_that_silence_nothing_are_said(
    workspace: Workspace, above: str, inside: str, message: str
) -> None:
    workspace.write({"a.py": TWO.format(above=above, inside=inside)})
    said = [d for d in workspace.check().json["diagnostics"] if d["name"].endswith("-ignore")]
    assert [message in d["message"] for d in said] == [True]


def test_what_others_may_report_is_no_useless_comment(workspace: Workspace) -> None:
    helper = "\n\n@triton.jit\ndef helper(x):\n    return x + 1  # tad: ignore[shape-mismatch]\n"
    checked = "y = 3  # tad: ignore[gradient-wrong, race, gradients]  # tad: ignore"
    workspace.write({"a.py": TWO.format(above="", inside=checked) + helper})
    assert workspace.check().names == [LOAD, LOAD]
    workspace.write({"a.py": TWO.format(above="", inside="y = 3  # tad: ignore[tf32-dot]")})
    assert workspace.check("--ignore", "tf32-dot").names == [LOAD, LOAD]


@pytest.mark.parametrize(
    ("arguments", "severity", "status"),
    [
        ("unmasked-load=error", "error", 1),
        ("memory=hint", "hint", 0),
        ("unmasked-load=info,memory=error", "info", 0),
        ("memory=off", None, 0),
    ],
)
def test_severities(workspace: Workspace, arguments: str, severity: str | None, status: int) -> None:
    text = TWO.format(above="", inside="")
    workspace.write({"a.py": text})
    result = workspace.check("--severity", arguments)
    assert {d["severity"] for d in result.json["diagnostics"]} == ({severity} if severity else set())
    assert result.status == status
    levels = ", ".join("{} = {!r}".format(*item.split("=")) for item in arguments.split(","))
    workspace.write({"pyproject.toml": f"[tool.tad]\nseverity = {{{levels}}}\n"})
    assert workspace.check().json["diagnostics"] == result.json["diagnostics"]
    assert workspace.check("--severity", "memory=warning,unmasked-load=warning").status == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("unmaskd-load=hint", "did you mean `unmasked-load`?"),
        ("unmasked-load", "one of the levels error, warning, info, hint, off"),
        ("unmasked-load=loud", "one of the levels error, warning, info, hint, off"),
    ],
)
def test_severities_that_are_none(workspace: Workspace, arguments: str, message: str) -> None:
    workspace.write({"a.py": BROKEN})
    result = workspace.check("--severity", arguments)
    assert result.status == 2 and message in result.stderr
    workspace.write({"pyproject.toml": "[tool.tad.severity]\ntypes = 3\n"})
    assert "`severity` is a table" in workspace.check().stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--ignore", "unknown-operation"], []),
        (["--ignore", "language"], []),
        (["--ignore", "types"], ["unknown-operation"]),
        (["--select", "unknown-operation,shape-mismatch"], ["unknown-operation"]),
        (["--select", "types"], []),
        (["--select", "language", "--ignore", "unknown-operation"], []),
    ],
)
def test_select_and_ignore(workspace: Workspace, arguments: list[str], expected: list[str]) -> None:
    workspace.write({"a.py": BROKEN})
    result = workspace.check(*arguments)
    assert result.names == expected
    assert result.status == (1 if expected else 0)


@pytest.mark.parametrize("option", ["--select", "--ignore"])
def test_unknown_names_are_refused(workspace: Workspace, option: str) -> None:
    result = workspace.check(option, "unknown-operatoin")
    assert result.status == 2
    assert f"{option}: there is no diagnostic `unknown-operatoin`; did you mean `unknown-operation`?" in result.stderr


def test_pyproject(workspace: Workspace) -> None:
    workspace.write({"a.py": BROKEN, "sub/b.py": BROKEN, "old/c.py": BROKEN, "gen_x.py": BROKEN})
    workspace.write({"pyproject.toml": '[tool.tad]\nexclude = ["old", "gen_*.py"]\n'})
    assert {d["file"] for d in workspace.check().json["diagnostics"]} == {"a.py", "sub/b.py"}
    assert workspace.tad("--check", "old/c.py").status == 1  # named, so it is checked
    workspace.write({"pyproject.toml": '[tool.tad]\nignore = ["unknown-operation"]\n'})
    assert workspace.check().status == 0
    workspace.write({"pyproject.toml": '[tool.tad]\nselect = ["types"]\n'})
    assert workspace.check().status == 0
    assert workspace.check("--select", "language").status == 1  # the command line wins


def test_nearest_pyproject_with_a_section_counts(workspace: Workspace) -> None:
    workspace.write({"pyproject.toml": '[tool.tad]\nignore = ["language"]\n', "a.py": BROKEN})
    workspace.write({"sub/pyproject.toml": "[project]\nname = 'x'\n", "sub/b.py": BROKEN})
    workspace.write({"own/pyproject.toml": "[tool.tad]\n", "own/c.py": BROKEN})
    assert {d["file"] for d in workspace.check().json["diagnostics"]} == {"own/c.py"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[tool.tad]\nignore = [\n", "pyproject.toml: line "),
        ("[project]\nname = 'x'\n\n[tool.tad\n", "pyproject.toml: line 4"),
        ("[tool.tad]\nignore = 3\n", "pyproject.toml:2: `ignore` is a list of strings"),
        (
            "[tool.tad]\n\nignore = ['unknwon-operation']\n",
            "pyproject.toml:3: there is no diagnostic `unknwon-operation`; did you mean `unknown-operation`?",
        ),
        ("[tool.tad]\nignroe = []\n", "pyproject.toml:2: [tool.tad] has no key `ignroe`"),
        ("[tool.tad]\nkernels = 1\n", "pyproject.toml:2: `kernels` is a table"),
        ("[tool.tad.kernels]\nscale = 'M=1'\n", "pyproject.toml:2: `kernels.scale` is a table"),
        ("[tool]\ntad = 1\n", "pyproject.toml:2: `tad` is a table"),
        (b"[tool.tad]\n# \xff\n", "pyproject.toml:2: the file is not UTF-8"),
    ],
)
def test_broken_pyproject(workspace: Workspace, text: str | bytes, says: str) -> None:
    workspace.write({"a.py": BROKEN, "b.py": CLEAN, "pyproject.toml": text})
    result = workspace.check()
    assert result.status == 2
    assert says in result.stderr
    assert result.stderr.count("\n") == 1, "said once, not for each file"
    assert result.names == ["unknown-operation"], "the files are checked all the same"
