"""Names of files, source lines and messages are shown, and nothing that reads the output obeys them."""

import json
import os
import re
import xml.etree.ElementTree as ElementTree

import pytest

from tests.cli.conftest import CLEAN, HEADER, Workspace

ESCAPE, OVERRIDE, CSI = "\x1b[31m", "\u202e", "\u009b"
# A finding on a line that also says what terminals and build servers obey.
LINE = f"    x = tl.lod(x_ptr)  # ##[error]a ##vso[task.complete] {ESCAPE}{OVERRIDE}{CSI}\u2028\u2066"
KERNEL = f"{HEADER}@triton.jit\ndef k(x_ptr):\n{LINE}\n    tl.store(x_ptr, x)\n"
NAMES = ["::stop-commands::x.py", f"a{ESCAPE}{OVERRIDE}b.py", "new\nline\n::add-mask::.py", "##[error]x.py", "c\rd.py"]
TEXT_FORMATS = ["full", "concise", "github"]
FORMATS = [*TEXT_FORMATS, "json", "gitlab", "sarif", "junit"]
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
COMMAND = re.compile(r"^\s*::(?!(error|warning|notice) (file|title)=)|##[a-z]*\[", re.MULTILINE)


def is_inert(text: str) -> bool:
    return not OBEYED.search(text) and not COMMAND.search(text)


def test_the_check_itself() -> None:
    assert not any(is_inert(text) for text in (LINE, *NAMES[:2], NAMES[2], *NAMES[3:]))
    assert is_inert("::error file=x::y\na ::b")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", NAMES)
def test_nothing_printed_is_obeyed(workspace: Workspace, name: str, form: str) -> None:
    workspace.write({name: KERNEL})
    for operand in (".", f"./{name}", name):
        result = workspace.tad("--check", operand, "-f", form, "--color", "never")
        assert result.status == 1 and is_inert(result.stdout) and is_inert(result.stderr)
        lines = result.stdout.splitlines()
        assert form != "concise" or sum("unknown-operation" in line for line in lines) == 1


@pytest.mark.parametrize("name", NAMES)
def test_messages_are_one_line(workspace: Workspace, name: str) -> None:
    for command in (["--check"], ["--backward"], ["--dump", "ir"]):
        arguments = [*command, name]
        missing = workspace.tad(*arguments)
        assert missing.status == 2 and is_inert(missing.stderr)
        assert all(line.startswith("tad-lsp: ") for line in missing.stderr.splitlines())
    workspace.write({name: KERNEL, "pyproject.toml": f'[tool.tad]\n"x{OVERRIDE}" = 1\nignore = ["{OVERRIDE}"]\n'})
    for arguments in (["--check", name], ["--backward", name], ["--dump", "ops", name], ["--self-check", name]):
        assert is_inert(workspace.tad(*arguments).stderr)
    for stage in ("syntax", "module", "diagnostics", "actions"):
        dumped = workspace.tad("--dump", stage, name)
        assert is_inert(dumped.stdout) and is_inert(dumped.stderr)


def test_carets_stand_below_what_is_shown(workspace: Workspace) -> None:
    workspace.write({"a.py": KERNEL.replace("    x = tl.lod(x_ptr)", f"    y = '{OVERRIDE}\t'; x = tl.lod(x_ptr)")})
    lines = workspace.tad("--check", "a.py").stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if "| " in line and "tl.lod" in line)
    # Up to the tab, which stands below itself, as many columns as the escape has.
    assert lines[at + 1].split("\t")[0].endswith(" " * len("y = '\\u202e"))
    assert lines[at].split("\t")[1].index("lod") - lines[at + 1].split("\t")[1].index("^") in (0, 3)


def test_a_diff_is_not_obeyed(workspace: Workspace) -> None:
    workspace.write({"a.py": CLEAN, "a_backward.py": f"  ::add-mask::x\n{ESCAPE}\n##[error]\n"})
    result = workspace.tad("--backward", "a.py", "--no-proof", "--diff")
    assert "def scale_kernel_backward" in result.stdout and is_inert(result.stdout)


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_no_utf8_is_replaced(workspace: Workspace, form: str) -> None:
    folder = workspace.path
    (folder / "a.py").write_text(KERNEL)
    os.rename(folder / "a.py", bytes(folder) + b"/bad\xff\xc3.py")
    result = workspace.tad("--check", ".", "-f", form)  # decodes its output as UTF-8
    assert result.status == 1
    assert "bad\ufffd\ufffd.py" in result.stdout or "bad%FF%C3.py" in result.stdout


def test_values_survive(workspace: Workspace) -> None:
    name = NAMES[1]
    workspace.write({name: KERNEL})
    assert workspace.tad("--check", name, "-f", "json").json["diagnostics"][0]["file"] == name
    issues = json.loads(workspace.tad("--check", name, "-f", "gitlab").stdout)
    assert issues[0]["location"]["path"] == name
    workspace.write({NAMES[3]: KERNEL})
    suite = ElementTree.fromstring(workspace.tad("--check", NAMES[3], "-f", "junit").stdout)
    assert suite.find("testsuite/testcase").get("name") == NAMES[3]


def test_a_value_that_is_missing_is_no_chain(workspace: Workspace) -> None:
    """Python ends `a =` with its line, whatever the next line is."""
    text = CLEAN + "\n\n@triton.jit\ndef typed(x_ptr):\n    a =\n    b = tl.load(x_ptr)\n    tl.store(x_ptr, b)\n"
    workspace.write({"a.py": text})
    found = workspace.check().json["diagnostics"]
    assert [d["name"] for d in found if "=" in d["message"]] == ["syntax-error"], found
    workspace.write({"a.py": text.replace("a =\n    b", "a = b")})
    assert "unsupported-python" in workspace.check().names
