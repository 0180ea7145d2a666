"""`--backward --update`: what is new goes into the module that is there, and what a hand edited in it stays."""

import re

import pytest

from tests.cli.conftest import ROOT, Workspace

EXAMPLES = ROOT / "examples"
EXAMPLE = (EXAMPLES / "softmax.py").read_text()
Y = "    y = numerator / tl.sum(numerator, axis=0)\n"
DX = "    dx = dnumerator * y\n"
OPTIONS = ("--no-proof", "-q")


def derived(workspace: Workspace, text: str) -> str:
    """The module of a file, and the file beside it."""
    workspace.write({"softmax.py": text})
    (workspace.path / "softmax_backward.py").unlink(missing_ok=True)
    run = workspace.tad("--backward", "softmax.py", "-o", "softmax_backward.py", *OPTIONS)
    assert run.status == 0, run.stderr
    return (workspace.path / "softmax_backward.py").read_text()


def updated(workspace: Workspace, text: str, module: str, status: int = 0) -> tuple[str, str]:
    """A module after its file became `text`, and what was said."""
    workspace.write({"softmax.py": text, "softmax_backward.py": module})
    run = workspace.tad("--backward", "softmax.py", "--update", *OPTIONS)
    assert run.status == status, run.stderr
    return (workspace.path / "softmax_backward.py").read_text(), run.stderr


def test_what_a_hand_edited_stays(workspace: Workspace) -> None:
    row = "row = tl.program_id(0)"
    new = "# moved down\n\n" + EXAMPLE.replace(row, row + ".to(tl.int64)", 1)
    fresh, before = derived(workspace, new), derived(workspace, EXAMPLE)
    edited = before.replace(DX, "    # in this order\n    dx = y * dnumerator\n", 1)
    edited = edited.replace("import torch\n", "import logging\n\nimport torch\n", 1)
    text, said = updated(workspace, new, edited)
    wanted = fresh.replace(DX, "    # in this order\n    dx = y * dnumerator\n", 1)
    assert text == wanted.replace("import torch\n", "import logging\n\nimport torch\n", 1)
    assert "kept 2 places that were edited" in said


def test_a_conflict_shows_both(workspace: Workspace) -> None:
    before = derived(workspace, EXAMPLE)
    new = EXAMPLE.replace("numerator = tl.exp(", "numerator = tl.exp2(", 1)
    edited = before.replace(DX, "    dx = y * dnumerator\n", 1)
    text, said = updated(workspace, new, edited, status=1)
    places = re.findall(
        r"<<<<<<< softmax_backward.py\n(.*?)=======\n(.*?)>>>>>>> derived from softmax.py\n", text, re.S
    )
    assert places == [("    dx = y * dnumerator\n", "    dx = dnumerator * y * 0.6931471805599453\n")]
    line = text[: text.index("<<<<<<<")].count("\n") + 1
    assert f"softmax_backward.py:{line}: 1 place was edited where the backward changed" in said
    # Undecided, it is no module that could be read.
    again, said = updated(workspace, new, text, status=2)
    assert again == text and "cannot be updated: it is no Python as it stands" in said


def test_a_new_parameter_changes_launchers_that_nobody_edited(workspace: Workspace) -> None:
    before = derived(workspace, EXAMPLE)
    new = EXAMPLE.replace("n_cols, BLOCK: tl.constexpr", "n_cols, scale, BLOCK: tl.constexpr", 1)
    new = new.replace(Y, Y.replace("numerator /", "scale * numerator /"), 1)
    new = new.replace("n_cols, BLOCK=block", "n_cols, 0.5, BLOCK=block", 1)
    text, _ = updated(workspace, new, before)
    assert text == derived(workspace, new)


@pytest.mark.parametrize("where", ["module", "file"])
def test_a_launcher_that_differs_is_asked_about(workspace: Workspace, where: str) -> None:
    """By the file or by a hand: nobody can tell, so both are shown."""
    before = derived(workspace, EXAMPLE)
    new = EXAMPLE.replace(Y, Y + "    y = y * 2.0\n", 1)
    change = ("block >= 2048", "block >= 1024")
    module = before.replace(*change) if where == "module" else before
    new = new.replace(*change) if where == "file" else new
    text, _ = updated(workspace, new, module, status=1)
    assert text.count("<<<<<<<") == 1 and "block >= 2048" in text and "block >= 1024" in text
    assert "dy = dy * 2.0" in text


@pytest.mark.parametrize("name", ["softmax", "layer_norm", "matmul", "activations", "rms_norm"])
def test_a_module_that_nobody_edited_becomes_the_new_one(workspace: Workspace, name: str) -> None:
    old = (EXAMPLES / f"{name}.py").read_text()
    store = r"^( +)(tl\.store\(\S+.*?, )(\w+)(, mask=.*\))$"
    new = "# first\n" + re.sub(store, r"\1\2\3 * 2.0\4", old, count=1, flags=re.M)
    assert "* 2.0, mask=" in new
    fresh, before = derived(workspace, new), derived(workspace, old)
    text, said = updated(workspace, new, before)
    assert text == fresh != before
    assert "kept" not in said


def test_what_cannot_be_read_back_is_left_alone(workspace: Workspace) -> None:
    before = derived(workspace, EXAMPLE)
    text, said = updated(workspace, EXAMPLE, "import torch\n", status=2)
    assert text == "import torch\n" and "was not written by --backward" in said
    start = before.index("@triton.jit\ndef softmax_kernel_backward(")
    headless = before[: before.index("@triton.jit")] + before[start:]
    for kernel in ("online_softmax_kernel", "softmax_kernel"):
        headless = headless.replace(f"def {kernel}_backward", f"def {kernel}_gradient")
    text, said = updated(workspace, EXAMPLE, headless, status=2)
    assert text == headless and "it has no forward kernel with a backward" in said


def test_as_a_diff(workspace: Workspace) -> None:
    before = derived(workspace, EXAMPLE)
    edited = before.replace(DX, "    dx = y * dnumerator\n", 1)
    workspace.write({"softmax_backward.py": edited})
    run = workspace.tad("--backward", "softmax.py", "--update", "--diff", *OPTIONS)
    assert (run.status, run.stdout) == (0, "")
