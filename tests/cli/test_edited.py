"""What a hand edited around the kernels of a written backward: Functions, launches, launchers, helpers."""

from __future__ import annotations

import ast
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Workspace
from tests.cli.mutants import FUNCTION_KINDS, KERNEL_KINDS, drawn, own_functions, span
from tests.cli.test_ask_phases import FILE as BY_HAND
from tests.cli.test_written import EXAMPLES, KERNEL, NAMES, check, statuses, write

ALL = bool(os.environ.get("TAD_ALL_MUTANTS"))
EACH = 4 if ALL else 1
SAMPLE = NAMES if ALL else random.Random(11).sample(NAMES, 4)
NAME = "gradient-function-edited"


def edits(workspace: Workspace, *files: str) -> list[str]:
    """What `--dump edits` says, a line a place."""
    result = workspace.tad("--dump", "edits", *files)
    assert result.status == 0 and not result.stderr, result.stderr
    return result.stdout.splitlines()


def written(workspace: Workspace, *flags: str, text: str = KERNEL) -> str:
    workspace.write({"mix.py": text})
    result = workspace.tad("--backward", "mix.py", "-o", "written.py", "--no-proof", *flags)
    assert result.status == 0, result.stderr
    return (workspace.path / "written.py").read_text()


def replaced(text: str, before: str, after: str) -> str:
    assert re.search(before, text), before
    return re.sub(before, after, text)


def with_names(text: str) -> str:
    """Each local variable of a Function and of a helper under another name, under comments and with types and words."""
    places = {}
    for function in own_functions(ast.parse(text)):
        nodes = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
        bound = {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
        bound -= {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
        places |= {span(text, node): f"its_{node.id}" for node in nodes if node.id in bound}
    data = text.encode()
    for (start, end), name in sorted(places.items(), reverse=True):
        data = data[:start] + name.encode() + data[end:]
    text = re.sub(r"(?m)^( +)return ", r"\1# what came of it\n\1return ", data.decode())
    return re.sub(
        r"(def backward\(ctx[^)]*\)):", r'\1 -> tuple:\n        """Of one launch."""', text
    )


@pytest.mark.parametrize("name", SAMPLE)
def test_a_harmless_edit_is_none(workspace: Workspace, name: str) -> None:
    text = write(workspace, name)
    other = with_names(text)
    assert other != text
    files = {"names.py": other, "formatted.py": text, "lines.py": other.replace("\n", "\r\n")}
    workspace.write(files)
    ruff = Path(sys.executable).with_name("ruff")
    subprocess.run(
        [ruff, "format", "-q", "--isolated", "--line-length", "60", "formatted.py"],
        cwd=workspace.path, check=True,
    )  # fmt: skip
    assert (workspace.path / "formatted.py").read_text() != text
    assert edits(workspace, "written.py", *files) == []


@pytest.mark.parametrize("name", SAMPLE)
def test_a_mutant_of_a_function_is_told(workspace: Workspace, name: str) -> None:
    text = write(workspace, name)
    mutants = drawn(name, text, FUNCTION_KINDS, EACH)
    assert len(mutants) >= 10
    workspace.write({f"m{i}.py": mutant.text for i, mutant in enumerate(mutants)})
    said = edits(workspace, *(f"m{i}.py" for i in range(len(mutants))))
    told = {line.split(":")[0] for line in said}
    alive = [(m.kind, m.line) for i, m in enumerate(mutants) if f"m{i}.py" not in told]
    assert alive == []


def test_a_backward_of_ones_own_is_no_edit(workspace: Workspace) -> None:
    """A class and kernels that somebody wrote by hand, in a file that we did not write."""
    workspace.write({"kernels.py": BY_HAND})
    result = workspace.tad("--check", "--grad", "--format", "json", "kernels.py")
    assert (result.status, result.json["kernels"][0]["status"]) == (0, "proved"), result.stdout


@pytest.mark.skipif(not ALL, reason="some seconds each: make test-all")
@pytest.mark.parametrize("name", NAMES)
def test_a_mutant_of_a_kernel_is_refuted(workspace: Workspace, name: str) -> None:
    text = write(workspace, name)
    for mutant in drawn(name, text, KERNEL_KINDS, 2):
        (workspace.path / "written.py").write_text(mutant.text)
        answer = check(workspace)
        assert answer["status"] == 1, (mutant.kind, mutant.line)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (r"None, dx_ptr, dw_ptr", "None, -dx_ptr, dw_ptr",
         "`MixKernelFunction.backward` returns `-dx_ptr` where the derived one returns `dx_ptr`"),
        (r"dw_ptr=dw_ptr", "dw_ptr=dx_ptr",
         "passes `dx_ptr` for `dw_ptr` where the derived one passes `dw_ptr`"),
        (r"mix_kernel_backward\[\S+\]\(", "mix_kernel_backward[(1,)](", "where the derived one"),
        (r"needs_input_grad\[2\]", "needs_input_grad[1]", "has `ctx.needs_input_grad[1]` where"),
        (r"( +)return _first_order", r"\1print(dx_ptr)\n\1return _first_order",
         "has `print(dx_ptr)`, which is not in the derived one"),
        (r" {8}_mark_written\(.*\n", "", "lacks `_mark_written(ctx, (y_ptr,))` of the derived one"),
        (r"_zeros_beside\(stored or \(\), tensor, dtype\)", "torch.empty_like(tensor)", "`_gradient_buffer` "),
        (r"MixKernelFunction\.apply\(\(triton\.cdiv\(n, 64\),\), x, w",
         "MixKernelFunction.apply((triton.cdiv(n, 64),), w, x", "`mix` passes `w`"),
        (r"\Z", "\n\nMixKernelFunction.backward = None\n", "is changed here"),
    ],
    ids=["negated", "another", "grid", "wanted", "logged", "unmarked", "not zeroed", "applied", "replaced"],
)  # fmt: skip
def test_an_edit_is_told_at_its_line(
    workspace: Workspace, before: str, after: str, words: str
) -> None:
    text = written(workspace)
    (workspace.path / "written.py").write_text(replaced(text, before, after))
    said = edits(workspace, "written.py")
    assert len(said) == 1 and words in said[0], said


def edited_check(workspace: Workspace, edit: str = "-dx_ptr", *flags: str) -> tuple[int, dict]:
    text = written(workspace)
    text = replaced(text, r"None, dx_ptr, dw_ptr", f"None, {edit}, dw_ptr")
    (workspace.path / "written.py").write_text(text)
    result = workspace.tad("--check", "--grad", "written.py", "--format", "json", *flags)
    return result.status, json.loads(result.stdout)


def test_a_check_fails_and_proves_nothing(workspace: Workspace) -> None:
    """Halve a gradient by hand, and CI is not green."""
    status, answer = edited_check(workspace, "0.5 * dx_ptr")
    found = [item for item in answer["diagnostics"] if item["name"] == NAME]
    assert status == 1 and len(found) == 1 and found[0]["severity"] == "warning"
    text = (workspace.path / "written.py").read_text().splitlines()
    assert "0.5 * dx_ptr" in text[found[0]["range"]["start"]["line"]]
    assert statuses(answer) == {"derived"}
    assert "what is edited around them" in answer["kernels"][0]["reason"]


def test_an_edit_that_is_meant_can_be_said_to_be(workspace: Workspace) -> None:
    status, answer = edited_check(workspace, f"-dx_ptr  # tad: ignore[{NAME}]\n")
    assert status == 0 and statuses(answer) == {"proved"}, answer
    assert edited_check(workspace, "-dx_ptr", "--severity", f"{NAME}=error")[0] == 1
    status, answer = edited_check(workspace, "-dx_ptr", "--ignore", NAME)
    assert status == 0 and statuses(answer) == {"proved"}


def test_formats_and_baselines_have_it(workspace: Workspace) -> None:
    edited_check(workspace)
    command = ("--check", "--grad", "written.py")
    for form in ("sarif", "github", "gitlab", "junit", "concise"):
        assert NAME in workspace.tad(*command, "-f", form).stdout, form
    workspace.tad(*command, "--write-baseline", "known.json")
    assert workspace.tad(*command, "--baseline", "known.json").status == 0


def test_fewer_inputs_and_no_tuning_are_no_edits(workspace: Workspace) -> None:
    written(workspace, "--wrt", "w_ptr")
    assert edits(workspace, "written.py") == []
    tuned = '@triton.autotune([triton.Config({"BLOCK": 64})], key=["n"])\n@triton.jit\ndef mix'
    text = KERNEL.replace("@triton.jit\ndef mix", tuned).replace(", BLOCK=64", "")
    for flags in ((), ("--tune", "none")):
        written(workspace, *flags, text=text)
        assert edits(workspace, "written.py") == []


def test_operators_are_compared(workspace: Workspace) -> None:
    text = written(workspace, "--wrapper", "triton_op")
    assert edits(workspace, "written.py") == []
    (workspace.path / "written.py").write_text(replaced(text, r"dx_ptr=dx_ptr", "dx_ptr=dw_ptr"))
    assert edits(workspace, "written.py")


def test_a_launcher_that_changed_makes_no_function_an_edited_one(workspace: Workspace) -> None:
    """The Function is right for the launches that the module carries."""
    written(workspace)
    launch = "mix_kernel[(triton.cdiv(n, 64),)](x, w, y, n, BLOCK=64)"
    workspace.write({"mix.py": KERNEL.replace(launch, launch.replace("64", "128"))})
    said = edits(workspace, "written.py")
    assert said and all("`mix` " in line for line in said), said


def test_a_kernel_that_changed_is_outdated_and_not_edited(workspace: Workspace) -> None:
    written(workspace)
    workspace.write({"mix.py": KERNEL.replace("x * 2.0", "x * 3.0")})
    assert edits(workspace, "written.py") == []


def test_a_backward_below_its_kernel(workspace: Workspace) -> None:
    """Without a header the forward is what the file itself has."""
    text = re.sub(r'^""".*?"""\n', "", written(workspace), flags=re.S)
    (workspace.path / "mix.py").write_text(text)
    assert edits(workspace, "mix.py") == []
    (workspace.path / "mix.py").write_text(text.replace("dw_ptr=dw_ptr", "dw_ptr=dx_ptr"))
    assert len(edits(workspace, "mix.py")) == 1


def test_an_example_below_its_kernels(workspace: Workspace) -> None:
    for name in SAMPLE:
        text = re.sub(r'^""".*?"""\n', "", write(workspace, name), flags=re.S)
        (workspace.path / "own.py").write_text(text)
        assert edits(workspace, "own.py") == [], EXAMPLES / name
