"""What the panel shows of memory: which lanes touch what under the cursor, and who owns what in the backward."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from tests.protocol.client import Client, place
from tests.protocol.conftest import KERNEL

TILE = """import triton
import triton.language as tl


@triton.jit
def tile_kernel(x_ptr, i_ptr, y_ptr, stride, M: tl.constexpr, N: tl.constexpr):
    rows = tl.program_id(1) * M + tl.arange(0, M)
    cols = tl.arange(0, N)
    x = tl.load(x_ptr + rows[:, None] * stride + cols[None, :])
    at = tl.load(i_ptr + cols)
    tl.store(y_ptr + at, tl.sum(x, axis=0))


def launch(x, i, y):
    tile_kernel[(1, 4)](x, i, y, x.stride(0), M=16, N=32)
"""


def access(client: Client, uri: str, text: str, word: str) -> Any:
    argument = {"uri": uri, "position": place(text, word)}
    return client.request("workspace/executeCommand", {"command": "tad.access", "arguments": [argument]})


def test_lanes_of_a_line(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    found = access(editor, kernel, KERNEL, "tl.load")
    assert (found["kernel"], found["kind"], found["pointer"]) == ("scale_kernel", "load", "x_ptr")
    assert found["axes"] == [{"extent": {"text": "BLOCK", "number": 128}, "stride": {"text": "1", "number": 1}}]
    assert found["programs"] == [{"axis": 0, "step": {"text": "BLOCK", "number": 128}}]
    assert found["masked"] and found["type_open"] and found["lanes"] == "coalesced"
    assert found["configuration"] == "the launch in launch"
    assert access(editor, kernel, KERNEL, "mask = ") is None
    assert access(editor, kernel, KERNEL, "import triton") is None


def test_two_axes_and_what_memory_says(editor: Client, kernel: str) -> None:
    editor.open(kernel, TILE)
    found = access(editor, kernel, TILE, "x = tl.load")
    assert [axis["extent"]["number"] for axis in found["axes"]] == [16, 32]
    assert found["axes"][0]["stride"] == {"text": "stride"}
    assert found["axes"][1]["stride"] == {"text": "1", "number": 1}
    (program,) = found["programs"]
    assert program["axis"] == 1 and "number" not in program["step"]
    gathered = access(editor, kernel, TILE, "tl.store")
    assert gathered["kind"] == "store" and not gathered["known"] and gathered["programs"] == []


GROUPED = """import triton
import triton.language as tl


@triton.jit
def grouped_kernel(x_ptr, y_ptr, stride, rows, M: tl.constexpr, G: tl.constexpr):
    group = tl.program_id(0) // G
    first = group * G + tl.program_id(0) % G
    at = first % rows * M + tl.arange(0, M)
    tl.store(y_ptr + at, tl.load(x_ptr + at))
"""


def test_programs_that_are_numbered_in_groups_are_apart(editor: Client, kernel: str) -> None:
    """By how far is not known; that they touch the same elements is not said."""
    editor.open(kernel, GROUPED)
    found = access(editor, kernel, GROUPED, "tl.load")
    assert found["known"]
    assert found["programs"] == [{"axis": 0, "step": None}]


def test_the_backwards_kernels_and_who_owns_what(editor: Client, kernel: str) -> None:
    editor.open(kernel, KERNEL)
    argument = {"uri": kernel, "kernel": "scale_kernel"}
    found = editor.request(
        "workspace/executeCommand", {"command": "tad.schedule", "arguments": [argument]}
    )
    (backward,) = found["kernels"]
    assert backward["name"] == "scale_kernel_backward"
    assert all(work["text"].startswith("reads ") and "share" not in work for work in backward["work"])
    (gradient,) = backward["gradients"]
    assert (gradient["name"], gradient["of"]) == ("dx_ptr", "x_ptr")
    assert gradient["owner"] == "a program along grid axis 0" and "collisions" not in gradient
    assert "reason" not in found
    assert found["cost"]["card"] is None and "measured" not in found["cost"]
    assert [point["side"] for point in found["cost"]["points"]] == ["forward", "backward"]


TUNED = TILE.replace(
    "@triton.jit", "@triton.autotune([triton.Config({'M': 64, 'N': 32}, num_warps=8)], key=[])\n@triton.jit"
).replace(", M=16, N=32", "")


def test_a_configuration_on_the_card(editor: Client, kernel: str) -> None:
    """Sums across the 8 warps of 32 columns: 4 bytes for each; half of that at the 2 bytes of an open type."""
    (path_of(kernel).parent / "pyproject.toml").write_text('[tool.tad]\ncard = "h100"\n')
    editor.open(kernel, TUNED)
    argument = {"uri": kernel, "kernel": "tile_kernel"}
    found = editor.request(
        "workspace/executeCommand", {"command": "tad.schedule", "arguments": [argument]}
    )
    assert found["cost"]["card"]["memory_gb_s"] == 3350
    point = found["cost"]["points"][0]
    assert (point["name"], point["side"]) == ("configuration 1", "forward")
    taken = point["footprint"]
    assert taken["warps"] == 8 and taken["shared_bytes"] == 32 * 8 * 2
    at = {"textDocument": {"uri": kernel}, "position": place(TUNED, "'M': 64")}
    assert "`tile_kernel`, configuration 1: about 512 bytes of" in hovered(editor, at)
    at["position"] = place(TUNED, "tile_kernel(", inside=2)
    assert "configuration 1: about 512 bytes of shared memory" in hovered(editor, at)


def hovered(client: Client, at: dict[str, Any]) -> str:
    return client.request("textDocument/hover", at)["contents"]["value"]


def path_of(uri: str) -> Path:
    return Path(unquote(urlparse(uri).path))
