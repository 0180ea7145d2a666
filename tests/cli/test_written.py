"""`--check --grad` on written backwards: each is proved as it stands, with the launches of its forward."""

from __future__ import annotations

import ast
import json
import random
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Workspace

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))


def write(workspace: Workspace, name: str, *flags: str) -> str:
    """The module of an example, written beside it."""
    workspace.write({f"{name}.py": (EXAMPLES / f"{name}.py").read_text()})
    result = workspace.tad("--backward", f"{name}.py", "-o", "written.py", "--no-proof", *flags)
    assert result.status == 0, result.stderr
    return (workspace.path / "written.py").read_text()


def check(workspace: Workspace) -> dict:
    result = workspace.tad("--check", "--grad", "written.py", "--format", "json")
    answer = json.loads(result.stdout)
    answer["status"] = result.status
    return answer


def statuses(answer: dict) -> set[str]:
    return {kernel["status"] for kernel in answer["kernels"]}


@pytest.mark.sampled(0.3)
@pytest.mark.parametrize("name", NAMES)
def test_a_module_proves_as_it_was_written(workspace: Workspace, name: str) -> None:
    write(workspace, name)
    answer = check(workspace)
    assert statuses(answer) == {"proved"}, answer["kernels"]
    assert not [kernel for kernel in answer["kernels"] if kernel["name"].endswith("_backward")]


KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def mix_kernel(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    w = tl.load(w_ptr + offs, mask=mask, other=0.0)
    tl.store(y_ptr + offs, tl.exp(x) * w + x * 2.0, mask=mask)


def mix(x, w):
    y = torch.empty_like(x)
    n = x.numel()
    mix_kernel[(triton.cdiv(n, 64),)](x, w, y, n, BLOCK=64)
    return y
"""


def edited(workspace: Workspace, *edits: tuple[str, str]) -> dict:
    """The answer for the module of KERNEL after text was replaced in it; each edit must find its text."""
    workspace.write({"mix.py": KERNEL})
    written = workspace.tad("--backward", "mix.py", "-o", "written.py", "--no-proof")
    assert written.status == 0, written.stderr
    text = (workspace.path / "written.py").read_text()
    for before, after in edits:
        assert re.search(before, text), (before, text)
        text = re.sub(before, after, text)
    (workspace.path / "written.py").write_text(text)
    return check(workspace)


@pytest.mark.parametrize(
    "edits",
    [
        [],
        [(r"( +)(dx = )", r"\1# by hand\n\1\2")],
        [(r"\bdx\b", "gradient_of_x")],
        [(r"\bdx_ptr\b", "out_x")],
        [(r"\bdy_ptr\b", "upstream"), (r"\bdx_ptr\b", "out_x"), (r"\bdw_ptr\b", "out_w")],
        [(r"\bdx_ptr, dw_ptr, n", "out_x, dw_ptr, n"), (r"dx_ptr \+ offs", "out_x + offs"),
         (r"if dx_ptr is", "if out_x is"), (r"dx_ptr=dx_ptr", "out_x=dx_ptr")],
        [(r"dy \* 2\.0", "(dy + dy)")],
    ],
    ids=["as it is", "a comment", "a variable", "a name everywhere", "three names", "a parameter", "x + x"],
)  # fmt: skip
def test_an_edit_that_keeps_the_gradient_is_proved(workspace: Workspace, edits: list) -> None:
    answer = edited(workspace, *edits)
    assert statuses(answer) == {"proved"}, answer
    assert answer["status"] == 0


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        (r"(tl\.store\(dx_ptr \+ offs, )dx", r"\g<1>dx * 0.5", "tl.store(dx_ptr"),
        (r"(tl\.store\(dw_ptr \+ offs, [^,]*)", r"\1 * 2.0", "tl.store(dw_ptr"),
        (r"tl\.store\(dw_ptr \+ offs, [^,]*", "tl.store(dw_ptr + offs, x", "tl.store(dw_ptr"),
        (r"dy \* 2\.0", "dy * 3.0", "tl.store(dx_ptr"),
    ],
)
def test_a_mistake_is_refuted_at_its_line(
    workspace: Workspace, before: str, after: str, line: str
) -> None:
    answer = edited(workspace, (before, after))
    assert answer["status"] == 1
    assert statuses(answer) == {"failed"}
    wrong = [found for found in answer["diagnostics"] if found["name"] == "gradient-wrong"]
    text = (workspace.path / "written.py").read_text().splitlines()
    assert line in text[wrong[0]["range"]["start"]["line"]], wrong


BLOCKS = """
import torch
import triton
import triton.language as tl

{globals}

{decorator}
@triton.jit
def parts_kernel(x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    x = tl.load(x_ptr + rows[:, None] * N + cols[None, :], mask=mask, other=0.0)
    part = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
    tl.store(y_ptr + part, tl.sum(tl.sum(x * x, 1), 0))


def parts(x{parameters}):
    M, N = x.shape
    {locals}
    y = torch.empty(triton.cdiv(M, {m}), triton.cdiv(N, {n}), device=x.device)
    parts_kernel[{grid}](x, y, M, N, {blocks})
    return y
"""
PLAIN = {
    "globals": "",
    "decorator": "",
    "parameters": "",
    "locals": "",
    "m": "BLOCK_M",
    "n": "BLOCK_N",
    "grid": "(triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))",
    "blocks": "BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N",
}
META = "lambda meta: (triton.cdiv(M, meta['BLOCK_M']), triton.cdiv(N, meta['BLOCK_N']))"
TUNED = "@triton.autotune(configs=[triton.Config({'BLOCK_M': 64, 'BLOCK_N': 32})], key=['M'])"
PASSED = {
    "locals": {"locals": "BLOCK_M, BLOCK_N = 64, 32"},
    "the other way": {"locals": "BLOCK_M, BLOCK_N = 32, 64"},
    "large": {"locals": "BLOCK_M, BLOCK_N = 128, 512"},
    "beside a small one": {"locals": "BLOCK_M, BLOCK_N = 16, 32"},
    "of sizes": {"locals": "BLOCK_M, BLOCK_N = 64, min(32, triton.next_power_of_2(N))"},
    "defaults": {"parameters": ", BLOCK_M=64, BLOCK_N=32"},
    "globals": {"globals": "BLOCK_M = 64\nBLOCK_N = 32"},
    "a dictionary": {
        "locals": "blocks = {'BLOCK_M': 64, 'BLOCK_N': 32}", "grid": META, "blocks": "**blocks",
        "m": "blocks['BLOCK_M']", "n": "blocks['BLOCK_N']",
    },
    "tuned": {"decorator": TUNED, "grid": META, "blocks": "", "m": "64", "n": "32"},
    "without masks": {
        "locals": "BLOCK_M, BLOCK_N = 64, 32\n    assert M % BLOCK_M == 0 and N % BLOCK_N == 0",
    },
}  # fmt: skip


@pytest.mark.parametrize("passed", PASSED)
def test_an_exchange_of_blocks_is_refuted(workspace: Workspace, passed: str) -> None:
    """Blocks that differ in the launch differ in the proof, however small they are made there."""
    text = BLOCKS.format(**PLAIN | PASSED[passed])
    if passed == "without masks":
        text = text.replace(", mask=mask, other=0.0", "")
    workspace.write({"parts.py": text})
    written = workspace.tad("--backward", "parts.py", "-o", "written.py", "--no-proof")
    assert written.status == 0, written.stderr
    assert statuses(check(workspace)) == {"proved"}
    text = (workspace.path / "written.py").read_text()
    wrong, count = re.subn(r"pid_1 \* BLOCK_N", "pid_1 * BLOCK_M", text)
    assert count == 1
    (workspace.path / "written.py").write_text(wrong)
    answer = check(workspace)
    assert answer["status"] == 1
    assert statuses(answer) == {"failed"}


def mistakes(text: str) -> list[tuple[int, int, str]]:
    """Each stored or added value of a backward's kernels as (start, end, half of it)."""
    lines = [0]
    for line in text.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    found = []
    for kernel in ast.walk(ast.parse(text)):
        if not isinstance(kernel, ast.FunctionDef) or "_backward" not in kernel.name:
            continue
        for call in ast.walk(kernel):
            name = call.func.attr if is_method(call) else ""
            if name not in ("store", "atomic_add") or ast.unparse(call.args[0])[0] != "d":
                continue
            value = call.args[1]
            start = lines[value.lineno - 1] + value.col_offset
            end = lines[value.end_lineno - 1] + value.end_col_offset
            found.append((start, end, f"({text[start:end]}) * 0.5"))
    return found


def is_method(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)


@pytest.mark.sampled(0.35)
@pytest.mark.parametrize("name", random.Random(7).sample(NAMES, 6))
def test_a_seeded_mistake_in_a_module_is_refuted(workspace: Workspace, name: str) -> None:
    text = write(workspace, name)
    places = mistakes(text)
    start, end, instead = random.Random(name).choice(places)
    (workspace.path / "written.py").write_text(text[:start] + instead + text[end:])
    answer = check(workspace)
    assert answer["status"] == 1 and "failed" in statuses(answer), (instead, answer["kernels"])


def test_a_changed_forward_is_told(workspace: Workspace) -> None:
    workspace.write({"mix.py": KERNEL})
    workspace.tad("--backward", "mix.py", "-o", "written.py", "--no-proof")
    workspace.write({"mix.py": KERNEL.replace("x * 2.0", "x * 3.0")})
    answer = check(workspace)
    assert answer["status"] == 1
    assert "gradient-outdated" in {found["name"] for found in answer["diagnostics"]}
    assert statuses(answer) == {"derived"}


def test_a_module_without_its_file_is_not_called_wrong(workspace: Workspace) -> None:
    workspace.write({"mix.py": KERNEL})
    workspace.tad("--backward", "mix.py", "-o", "written.py", "--no-proof")
    (workspace.path / "mix.py").unlink()
    answer = check(workspace)
    assert statuses(answer) == {"derived"}
    assert "mix.py" in answer["kernels"][0]["reason"]


def test_a_module_without_its_file_says_what_helps(workspace: Workspace) -> None:
    """And that helps: beside its file the same module is proved."""
    write(workspace, "softmax")
    origin = workspace.path / "softmax.py"
    elsewhere = origin.rename(workspace.path / "moved")
    answer = check(workspace)
    assert statuses(answer) == {"derived"}
    words = "its launches are in softmax.py, which is not beside this module: put both files in one folder"
    assert words in answer["kernels"][0]["reason"]
    elsewhere.rename(origin)
    assert statuses(check(workspace)) == {"proved"}


def test_a_parameter_that_nobody_knows_is_told(workspace: Workspace) -> None:
    answer = edited(
        workspace,
        (r"dx_ptr=dx_ptr", "what=dx_ptr[0:]"),
        (r"\bdx_ptr, dw_ptr, n", "what, dw_ptr, n"),
        (r"dx_ptr \+ offs", "what + offs"),
    )
    assert answer["status"] == 1
    assert "gradient-unpaired" in {found["name"] for found in answer["diagnostics"]}


OWN = (
    KERNEL
    + """

@triton.jit
def mix_kernel_backward(g, x_ptr, w_ptr, gx, gw, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    up = tl.load(g + offs, mask=mask)
    e = tl.exp(tl.load(x_ptr + offs, mask=mask))
    tl.store(gx + offs, up * (e * tl.load(w_ptr + offs, mask=mask) + 2.0), mask=mask)
    tl.store(gw + offs, up * e, mask=mask)
"""
)


def test_a_backward_of_the_authors_own_is_not_taken_for_ours(workspace: Workspace) -> None:
    """It has the derived kernel's name and none of its gradients: what is derived is proved, the other left alone."""
    workspace.write({"written.py": OWN})
    answer = check(workspace)
    assert "gradient-unpaired" not in {found["name"] for found in answer["diagnostics"]}
    proofs = {kernel["name"]: kernel["status"] for kernel in answer["kernels"]}
    assert proofs["mix_kernel"] == "proved"
