"""Cells of a notebook, as editors open them: Python documents without imports, with lines that are IPython's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.protocol.client import Client, edit, place
from tests.protocol.conftest import KERNEL

CELL = KERNEL[KERNEL.index("@triton.jit") :]


@pytest.fixture
def cell(tmp_path: Path) -> str:
    return f"vscode-notebook-cell:{tmp_path}/kernels.ipynb#W0sZmlsZQ%3D%3D"


def codes(editor: Client, uri: str, version: int = 1) -> list[str]:
    return [d["code"] for d in editor.diagnostics(uri, version)]


@pytest.mark.parametrize(
    "text",
    [
        "%%time\n" + CELL,
        "%%capture output\n" + CELL,
        "%%writefile kernels.py\n" + KERNEL,
        "%%bash\nfor file in *.py; do\n  echo ${file}\ndone\n",
        "%%unknown\n@triton.jit\ndef f(x:\n",
        "%matplotlib inline\n!pip install triton \\\n    --upgrade\n" + CELL,
        "import torch\n%load_ext autoreload\nfiles = !ls *.py\nused, free = %sx free\nscale_kernel??\n"
        + CELL,
        "result = await fetch()\nasync for part in result:\n    %store part\n" + CELL,
        'text = """\n%no magic\n!nor this\n"""\nremainder = (17\n    % 5)\nshare = 17 \\\n    % 5\n'
        + CELL,
        "for n in sizes:\n    !nvidia-smi\nif sizes:\n    %timeit launch(x, y)\n" + CELL,
    ],
    ids=lambda text: text.split("\n")[0],
)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_what_is_ipythons_is_no_mistake(editor: Client, cell: str, text: str, ends: str) -> None:
    editor.open(cell, text.replace("\n", ends))
    assert codes(editor, cell) == []


def test_mistakes_are_found_where_they_are(editor: Client, cell: str) -> None:
    text = "%%time\n!pip install x\n" + CELL.replace("tl.load", "tl.laod")
    editor.open(cell, text)
    (found,) = editor.diagnostics(cell, 1)
    assert found["code"] == "unknown-operation"
    assert found["range"]["start"] == place(text, "tl.laod")


def test_a_magic_that_becomes_python_while_it_is_typed(editor: Client, cell: str) -> None:
    editor.open(cell, "%%bash\n" + CELL)
    assert editor.request("textDocument/codeLens", {"textDocument": {"uri": cell}}) == []
    editor.change(cell, 2, edit(0, 0, 0, 6, "%%time"))
    lenses = editor.request("textDocument/codeLens", {"textDocument": {"uri": cell}})
    assert (
        [lens["range"]["start"]["line"] for lens in lenses]
        == [1 + CELL[: CELL.index("def scale_kernel")].count("\n")] * len(lenses)
        != []
    )


def test_names_of_other_cells_are_no_mistakes(editor: Client, cell: str) -> None:
    text = CELL[CELL.index("@triton.jit\ndef scale_kernel") :].replace(
        "mask=mask", "mask=mask & (offsets < LIMIT)"
    )
    editor.open(cell, text)
    assert [d for d in editor.diagnostics(cell, 1) if d["severity"] < 4] == []
    at = {"textDocument": {"uri": cell}, "position": place(text, "offsets")}
    assert "i32[BLOCK]" in editor.request("textDocument/hover", at)["contents"]["value"]


def test_modules_are_found_from_the_notebooks_folder(
    editor: Client, cell: str, tmp_path: Path
) -> None:
    (tmp_path / "helpers.py").write_text(KERNEL[: KERNEL.index("@triton.jit\ndef scale_kernel")])
    text = "from helpers import scale\n" + CELL[
        CELL.index("@triton.jit\ndef scale_kernel") :
    ].replace("scale(x)", "scale(x, x)")
    editor.open(cell, text)
    assert codes(editor, cell) == ["wrong-argument"]


def test_a_backward_stands_below_its_kernel_and_is_proved(editor: Client, cell: str) -> None:
    editor.open(cell, "%%time\n" + CELL)
    argument = {"uri": cell, "kernel": "scale_kernel"}
    preview = editor.request(
        "workspace/executeCommand", {"command": "tad.backwardPreview", "arguments": [argument]}
    )
    assert preview["uri"] == cell
    assert preview["text"].startswith("%%time\n" + CELL[: CELL.index("def launch")])
    assert "def scale_kernel_backward(" in preview["text"]
    status = editor.request(
        "workspace/executeCommand", {"command": "tad.checkGradients", "arguments": [argument]}
    )
    assert status["status"] == "proved", status
