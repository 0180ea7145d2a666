"""`--backward`: what is written where, the diff, and what is refused."""

import ast
import resource
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import BIN, CLEAN, HEADER, Workspace

KERNEL = CLEAN.split("\n\n\n", 1)[1]
TWO = CLEAN + "\n\n" + KERNEL.replace("scale_kernel", "other_kernel").replace("x_ptr", "a_ptr")


def functions(text: str) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}


def test_to_stdout(workspace: Workspace) -> None:
    workspace.write({"a.py": TWO})
    both = workspace.tad("--backward", "a.py")
    assert both.status == 0, both.stderr
    assert {"scale_kernel", "other_kernel"} <= functions(both.stdout)
    one = workspace.tad("--backward", "a.py:other_kernel")
    assert one.status == 0
    assert len(functions(one.stdout)) < len(functions(both.stdout))
    assert "a_ptr" in one.stdout


def test_to_a_file_and_as_a_diff(workspace: Workspace) -> None:
    workspace.write({"a.py": CLEAN})
    text = workspace.tad("--backward", "a.py").stdout
    diff = workspace.tad("--backward", "a.py", "--diff")
    assert diff.status == 1
    assert diff.stdout.startswith("--- /dev/null\n+++ a_backward.py\n@@ -0,0 +1")
    written = workspace.tad("--backward", "a.py", "-o", "a_backward.py")
    assert written.status == 0
    assert written.stdout == ""
    assert "wrote a_backward.py" in written.stderr
    file = workspace.path / "a_backward.py"
    assert file.read_text() == text
    unchanged = workspace.tad("--backward", "a.py", "--diff")
    assert (unchanged.status, unchanged.stdout) == (0, "")

    lines = text.splitlines(keepends=True)
    file.write_text("".join(["# new\n", *lines[:3], *lines[4:-2]]))
    changed = workspace.tad("--backward", "a.py", "--diff")
    assert changed.status == 1
    patched = subprocess.run(["git", "apply", "-p0", "-"], input=changed.stdout, text=True, cwd=workspace.path,
                             capture_output=True, check=False)  # fmt: skip
    assert patched.returncode == 0, patched.stderr
    assert file.read_text() == text


def test_wrappers_and_wrt(workspace: Workspace) -> None:
    launcher = """

import torch


def scale(x):
    y = torch.empty_like(x)
    n = x.numel()
    scale_kernel[(triton.cdiv(n, 128),)](x, y, n, BLOCK=128)
    return y
"""
    workspace.write({"a.py": CLEAN + launcher})
    texts = {
        kind: workspace.tad("--backward", "a.py", "--wrapper", kind)
        for kind in ("autograd", "none", "triton_op")
    }
    assert all(result.status == 0 for result in texts.values())
    assert "torch.autograd.Function" in texts["autograd"].stdout
    assert "autograd" not in texts["none"].stdout
    assert (
        '@torch.library.triton_op("a::scale_kernel", mutates_args=())' in texts["triton_op"].stdout
    )
    assert "y = scale_kernel_op(" in texts["triton_op"].stdout
    assert workspace.tad("--backward", "a.py").stdout == texts["autograd"].stdout
    assert workspace.tad("--backward", "a.py", "--wrt", "x_ptr").status == 0
    wrong = workspace.tad("--backward", "a.py", "--wrt", "x_ptr,nothing")
    assert wrong.status == 2
    assert "`nothing` is a parameter of no kernel to differentiate" in wrong.stderr


def test_what_cannot_be_done(workspace: Workspace) -> None:
    helper = "\n\n@triton.jit\ndef helper(x):\n    return x\n"
    workspace.write({"a.py": CLEAN + helper, "none.py": "x = 1\n", "odd:name.py": CLEAN})
    cases = [
        ("a.py:scale_kernle", "has no kernel `scale_kernle`; did you mean `scale_kernel`?"),
        ("a.py:helper", "`helper` is no forward kernel"),
        ("none.py", "none.py has no Triton kernel"),
        ("missing.py", "missing.py: No such file"),
        ("missing.py:kernel", "missing.py: No such file"),
        (".", "is a folder"),
    ]
    for operand, says in cases:
        result = workspace.tad("--backward", operand)
        assert result.status == 2, operand
        assert says in result.stderr
        assert result.stdout == ""
    assert workspace.tad("--backward", "odd:name.py").status == 0
    assert workspace.tad("--backward", "odd:name.py:scale_kernel").status == 0


def test_a_kernel_without_derivative_says_why(workspace: Workspace) -> None:
    source = HEADER + (
        "@triton.jit\ndef ids(y_ptr, BLOCK: tl.constexpr):\n"
        "    offsets = tl.arange(0, BLOCK)\n    tl.store(y_ptr + offsets, offsets)\n"
    )
    workspace.write({"a.py": source})
    result = workspace.tad("--backward", "a.py")
    assert result.status == 1
    assert "a.py:6: no backward for `ids`: " in result.stderr
    assert result.stdout == ""


FILL = """

@triton.jit
def fill(out_ptr, n, step, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, {value}, mask=offsets < n)
"""
FILL_LAUNCH = """

import torch


def filled({arguments}):
    {before}
    fill[(triton.cdiv(n, 16),)](out, n, {step}, BLOCK=16)
    return out
"""


@pytest.mark.parametrize("value", ["0.0", "tl.zeros((BLOCK,), tl.float32)", "offsets.to(tl.float32)", "offsets * step",
                                   "step", "tl.rand(n, offsets)", "(offsets == 3).to(tl.float32)"])  # fmt: skip
@pytest.mark.parametrize(
    ("arguments", "before", "step"),
    [
        (None, None, None),
        ("n", "out = torch.empty(n)", "0.5"),
        ("n, a, b", "out = torch.empty(n)", "(b - a) / n"),
    ],
)
def test_a_kernel_that_fills_lacks_nothing(
    workspace: Workspace, value: str, arguments: str, before: str, step: str
) -> None:
    launch = FILL_LAUNCH.format(arguments=arguments, before=before, step=step) if arguments else ""
    workspace.write({"a.py": CLEAN + FILL.format(value=value) + launch})
    result = workspace.tad("--backward", "a.py", "--no-proof")
    assert result.status == 0, result.stderr
    assert "`fill`: it only fills memory" in result.stderr
    alone = workspace.tad("--backward", "a.py:fill", "--no-proof")
    assert (alone.status, alone.stdout) == (1, "")


@pytest.mark.parametrize(
    ("value", "arguments", "before", "step"),
    [
        ("0.0", "out", "n = out.numel()", "1.0"),  # what `out` held has a gradient
        ("0.0", "x", "out = x * 2; n = out.numel()", "1.0"),
        ("offsets * step", "x, n", "out = torch.empty(n)", "max(x.item(), 0.0)"),
        ("step", "x, n", "out = torch.empty(n)", "torch.norm(x).item()"),
        ("tl.floor(tl.load(out_ptr + offsets))", "n", "out = torch.empty(n)", "1.0"),
    ],
)
def test_a_fill_over_what_has_a_gradient_is_told(
    workspace: Workspace, value: str, arguments: str, before: str, step: str
) -> None:
    launch = FILL_LAUNCH.format(arguments=arguments, before=before, step=step)
    workspace.write({"a.py": CLEAN + FILL.format(value=value) + launch})
    result = workspace.tad("--backward", "a.py", "--no-proof")
    assert result.status == 1, result.stderr
    assert "no backward for `fill`" in result.stderr


SCATTER = (
    HEADER
    + """

@triton.jit
def scatter(x_ptr, rows_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    rows = tl.load(rows_ptr + offsets, mask=mask, other=0)
    tl.store(y_ptr + rows, tl.load(x_ptr + offsets, mask=mask, other=0.0) * 2.0, mask=mask)


@triton.jit
def halves(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * (BLOCK // 2) + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=mask, other=0.0) * 2.0, mask=mask)


@triton.jit
def digits(x_ptr, y_ptr, n, D: tl.constexpr, stride, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    place = offsets // D * stride + offsets % D
    tl.store(y_ptr + place, tl.load(x_ptr + place, mask=mask, other=0.0) * 2.0, mask=mask)


@triton.jit
def pairs(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y_ptr + offsets // 2, tl.load(x_ptr + offsets, mask=mask, other=0.0) * 2.0, mask=mask)


@triton.jit
def parts_of_a_row(x_ptr, y_ptr, PARTS: tl.constexpr):
    pid = tl.program_id(0)
    tl.store(y_ptr + pid // PARTS, tl.load(x_ptr + pid % PARTS) * 2.0)


@triton.jit
def remainder_of_another(x_ptr, y_ptr, A, B):
    pid = tl.program_id(0)
    place = pid % A % B + pid // B * B
    tl.store(y_ptr + place, tl.load(x_ptr + place) * 2.0)


@triton.jit
def remainder_of_a_multiple(x_ptr, y_ptr, A, B):
    pid = tl.program_id(0)
    place = pid % (A * B) % B + pid // B * B
    tl.store(y_ptr + place, tl.load(x_ptr + place) * 2.0)
"""
)


def test_what_a_gradient_assumes_is_said(workspace: Workspace) -> None:
    workspace.write({"a.py": SCATTER})
    result = workspace.tad("--backward", "a.py", "--no-proof")
    said = [line for line in result.stderr.splitlines() if "gradient-assumes-distinct" in line]
    wanted = {
        "scatter": "read from memory",
        "halves": "neighbouring programs",
        "pairs": "only a part",
        "parts_of_a_row": "its id does not tell which",
        "remainder_of_another": "its id does not tell which",
    }
    texts = list(wanted.values())
    told = "so that they share no elements of `x_ptr`"
    texts[2:2] = [told, told]  # of `halves` and `digits`, too
    assert len(said) == len(texts), result.stderr
    for line, text in zip(said, texts, strict=True):
        assert text in line
    assert {
        f"{name}_backward" for name in [*wanted, "digits", "remainder_of_a_multiple"]
    } <= functions(result.stdout)


SPLIT = """
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, y_ptr, n, B: tl.constexpr, SPLIT: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    if SPLIT == 1:
        tl.store(y_ptr + at, tl.exp(x), mask=at < n)
    else:
        tl.atomic_add(y_ptr + at, tl.exp(x), mask=at < n)
"""


def test_what_both_branches_load_is_loaded_once(workspace: Workspace) -> None:
    """A store and an atomic addition have the same gradient: no branch is left of them."""
    workspace.write({"a.py": SPLIT})
    backward = workspace.tad("--backward", "a.py").stdout.split("def k_backward(")[1]
    kernel = backward.split("\n\n\n")[0]
    assert "if SPLIT" not in kernel, kernel
    assert kernel.count("tl.load(dy_ptr") == 1, kernel


UNBOUNDED = """
import triton
import triton.language as tl


@triton.jit
def k(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    rm = pid // tl.cdiv(N, BN) * BM + tl.arange(0, BM)
    rn = pid % tl.cdiv(N, BN) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptr + rm[:, None] * K + (k + rk)[None, :])
        b = tl.load(b_ptr + (k + rk)[:, None] * N + rn[None, :])
        acc += tl.dot(a, b)
    inside = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=inside)
"""


def test_sums_of_programs_are_stored_within_the_bounds_of_the_output(workspace: Workspace) -> None:
    """Loads without a mask read into the next row; a gradient of 0 is not to be stored there."""
    workspace.write({"a.py": UNBOUNDED})
    backward = workspace.tad("--backward", "a.py", "--no-proof").stdout
    kernels = backward.split("def k_backward", 1)[1].split("class KFunction")[0]
    stores = [line for line in kernels.splitlines() if "tl.store(d" in line]
    assert len(stores) == 2 and all("mask=" in line for line in stores), kernels


READ_ROWS = """
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, index_ptr, y_ptr, n, B: tl.constexpr):
    pid = tl.program_id(0)
    c = tl.arange(0, B)
    row = {row}
    x = tl.load(x_ptr + pid * n + c, mask=c < n, other=0.0)
    tl.store(y_ptr + row * n + c, x * x, mask=c < n)
"""


@pytest.mark.parametrize(
    ("row", "is_said"),
    [
        ("tl.load(index_ptr + pid)", True),
        ("tl.load(index_ptr + pid // 4) // 2", True),
        ("tl.load(index_ptr + tl.load(index_ptr + pid))", True),
        ("pid", False),
        ("tl.load(index_ptr) + pid", False),
    ],
)
def test_rows_that_are_stored_by_an_index_from_memory_are_said(
    workspace: Workspace, row: str, is_said: bool
) -> None:
    """A row that comes twice holds what the last program stored, and its gradient goes to both."""
    workspace.write({"a.py": READ_ROWS.format(row=row)})
    result = workspace.tad("--backward", "a.py", "--no-proof")
    assert ("gradient-assumes-distinct" in result.stderr) == is_said, result.stderr
    assert "def k_backward(" in result.stdout


ROWS = """
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, y_ptr, tiles, per, blocks, bound):
    pid = tl.program_id(0)
    {around}
        row = tile // blocks
        v = tl.load(x_ptr + row)
        tl.store(y_ptr + row, v * v)
"""


@pytest.mark.parametrize(
    ("around", "is_distinct"),
    [
        ("for tile in range(pid * per, tl.minimum(pid * per + per, tiles)):", True),
        ("for tile in range(pid * per, tl.minimum(pid * per + per + 1, tiles)):", False),
        ("for tile in range(pid * per - 1, pid * per + per - 1):", False),
        ("for tile in range(pid * tiles // per, (pid + 1) * tiles // per):", True),
        ("for tile in range(pid * tiles // per, (pid + 1) * tiles // blocks):", False),
        ("for tile in range(pid * per + min(pid, bound), pid * per + per + (pid < bound)):", False),
        ("for tile in range(pid * per, pid * per + per, 2):", False),
        ("for tile in range(pid, pid + 1):\n      if not (tile >= bound or tile > tiles):", True),
        ("for tile in range(pid, pid + 1):\n      if tile < bound and pid * per < tiles:", False),
        ("for tile in range(pid, pid + 1):\n      if tile >= bound:", False),
        ("for tile in range(pid, pid + 1):\n      if tile % blocks == 0:", True),
    ],
)
def test_programs_that_store_the_same_are_known(
    workspace: Workspace, around: str, is_distinct: bool
) -> None:
    """Ranges of numbers next to each other, and conditions that leave the first program of a row."""
    workspace.write({"a.py": ROWS.format(around=around)})
    result = workspace.tad("--backward", "a.py", "--no-proof")
    assert ("gradient-assumes-distinct" not in result.stderr) == is_distinct, result.stderr
    assert "def k_backward(" in result.stdout


TWO_STORES = """
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, y_ptr, index_ptr, n, stride_r, stride_c, M: tl.constexpr, N: tl.constexpr, HIGH: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    cols = tl.program_id(1) * N + tl.arange(0, N)
    inside = (rows < n)[:, None] & (cols < n)[None, :]
    x = tl.load(x_ptr + rows[:, None] * n + cols[None, :], mask=inside, other=0.0)
    tl.store(y_ptr + rows[:, None] * stride_r + cols[None, :] * stride_c, x, mask=inside)
{second}
"""


@pytest.mark.parametrize(
    ("second", "is_said"),
    [
        (
            "    tl.store(y_ptr + cols[:, None] * stride_r + rows[None, :] * stride_c, x.T,"
            " mask=(cols < n)[:, None] & (rows < n)[None, :])",
            True,
        ),
        (
            "    tl.store(y_ptr + n * n + rows[:, None] * stride_r + cols[None, :] * stride_c, x, mask=inside)",
            False,
        ),
        (
            "    at = tl.load(index_ptr + tl.program_id(0))\n"
            "    tl.store(y_ptr + tl.program_id(0) * M * stride_r + at * stride_c, 2 * tl.sum(x))",
            False,
        ),
    ],
)
def test_stores_of_two_statements_that_programs_move_apart_are_said(
    workspace: Workspace, second: str, is_said: bool
) -> None:
    """A mirrored block is another program's block, unless rows and columns have blocks of one size."""
    workspace.write({"a.py": TWO_STORES.format(second=second)})
    result = workspace.tad("--backward", "a.py", "--no-proof")
    told = "no program stores here to an element of `y_ptr` that another one stores to at line 12"
    assert (told in result.stderr) == is_said, result.stderr
    assert "def k_backward(" in result.stdout
    # Blocks of two sizes are another program's blocks, too: Triton compiles the backward for equal ones alone.
    assert ("has to equal" in result.stdout) == is_said


WHILE = """
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, y_ptr, tiles, per, blocks):
    tile = tl.program_id(0) * {start}
    while tile < tiles:
        row = tile // blocks
        v = tl.load(x_ptr + row)
        tl.store(y_ptr + row, v * v)
        tile += {step}
"""


@pytest.mark.parametrize(
    ("start", "step", "is_distinct"), [("1", "per", True), ("per", "1", False)]
)
def test_programs_that_count_from_a_number_of_their_own(
    workspace: Workspace, start: str, step: str, is_distinct: bool
) -> None:
    """Where a `while` ends in another program's numbers is not known."""
    workspace.write({"a.py": WHILE.format(start=start, step=step)})
    result = workspace.tad("--backward", "a.py", "--no-proof")
    assert ("gradient-assumes-distinct" not in result.stderr) == is_distinct, result.stderr


PICKED = """
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    rows = tl.arange(0, 4)
    lanes = tl.arange(0, BLOCK)
    v = tl.load(x_ptr + rows[:, None] * BLOCK + lanes[None, :])
    tl.store(y_ptr + {address}, v * v, mask={mask})
"""


@pytest.mark.parametrize(
    ("address", "mask", "is_distinct"),
    [
        ("lanes[None, :] + 0 * rows[:, None]", "rows[:, None] == n", True),
        ("lanes[None, :] + 0 * rows[:, None]", "(rows == n)[:, None]", True),
        ("lanes[None, :] + 0 * rows[:, None]", "rows[:, None] <= n", False),
        ("lanes[None, :] + 0 * rows[:, None]", "rows[:, None] % 2 == n", False),
        (
            "lanes[None, :] + 0 * rows[:, None]",
            "(lanes[None, :] == n) & (rows[:, None] < 2)",
            False,
        ),
        (
            "lanes[None, :] + 0 * rows[:, None]",
            "(lanes == n)[None, :] & (rows < 2)[:, None]",
            False,
        ),
        ("rows[:, None] * BLOCK + tl.minimum(lanes, n - 1)[None, :]", "lanes[None, :] < n", True),
        ("rows[:, None] * BLOCK + tl.minimum(lanes[None, :], n - 1)", "rows[:, None] < n", False),
        ("rows[:, None] * 4 + tl.minimum(rows, n - 1)[None, :]", "(rows < n)[None, :]", True),
        ("rows[:, None] * 4 + tl.minimum(rows, n - 1)[None, :]", "(rows < n)[:, None]", False),
        ("rows[:, None] * 4 + tl.where(rows < n, rows, 0)[None, :]", "(rows < n)[None, :]", True),
        ("rows[:, None] * 4 + tl.where(rows < n, rows, 0)[None, :]", "(rows < n)[:, None]", False),
        ("(rows // 2 * 2)[None, :] + (rows % 2)[None, :] + 4 * rows[:, None]", "rows < n", True),
        ("(rows // 2 * 2)[:, None] + (rows % 2)[None, :]", "rows < n", False),
    ],
)
def test_a_mask_says_which_lanes_are_one(
    workspace: Workspace, address: str, mask: str, is_distinct: bool
) -> None:
    """What it says of columns says nothing of rows."""
    workspace.write({"a.py": PICKED.format(address=address, mask=mask)})
    result = workspace.tad("--backward", "a.py", "--no-proof")
    assert ("gradient-assumes-distinct" not in result.stderr) == is_distinct, result.stderr
    assert "def k_backward(" in result.stdout


NUMBERED = """
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, y_ptr, W: tl.constexpr, R: tl.constexpr, T: tl.constexpr, P: tl.constexpr):
    p = tl.program_id(0)
    q = tl.program_id(1)
    for t in range(0, T):
        number = {number}
        row = number // R
        x = tl.load(x_ptr + {place})
        tl.store(y_ptr + {place}, x * x)
"""


@pytest.mark.parametrize(
    ("number", "place", "is_clear"),
    [
        ("p + t * P", "row", True),
        ("p + t * P", "row * W + t", False),
        ("p + t * 2", "row", False),
        ("p + q * tl.num_programs(0)", "row", True),
        ("p + q * tl.num_programs(0)", "row * W + q", False),
    ],
)
def test_a_number_and_a_part_of_it_do_not_tell_whose_an_element_is(
    workspace: Workspace, number: str, place: str, is_clear: bool
) -> None:
    workspace.write({"a.py": NUMBERED.format(number=number, place=place)})
    result = workspace.tad("--backward", "a.py", "--no-proof")
    assert ("gradient-assumes-distinct" not in result.stderr) == is_clear, result.stderr


def test_what_is_written_is_proved(workspace: Workspace, fake_runner: Path) -> None:
    workspace.write(
        {
            "a.py": HEADER
            + "\n\n".join(
                KERNEL.replace("scale_kernel", name) for name in ("good", "unsure", "wrong")
            )
        }
    )
    result = workspace.tad("--backward", "a.py", "--runner", fake_runner)
    assert result.status == 1
    assert "good: gradients proved, worst error 2.5e-10" in result.stderr
    assert "unsure: gradients not proved: not finite" in result.stderr
    assert "WRONG GRADIENTS in the backward of `wrong`: dx[3]: expected 3, got 0" in result.stderr
    warnings = [line for line in result.stdout.splitlines() if line.startswith("# WARNING")]
    assert warnings == [
        "# WARNING: the proof contradicts the gradients of `wrong`: dx[3]: expected 3, got 0"
    ]
    assert "\n# NOT PROVED: the gradients of `unsure`: not finite\n" in "\n" + result.stdout
    assert {"good_backward", "unsure_backward", "wrong_backward"} <= functions(result.stdout)
    one = workspace.tad("--backward", "a.py:good", "--runner", fake_runner, "--quiet")
    assert (one.status, one.stderr) == (0, "")


# What the worker's stand-in says of a kernel of this name: exit status, first line of the module, what stderr says.
VERDICTS = {
    "proved": (0, '"""Backward of a.py, derived by tad-lsp.', "gradients proved, worst error"),
    "wrong": (
        1,
        "# WARNING: the proof contradicts the gradients of `wrong`: dx[3]: expected 3",
        "WRONG GRADIENTS",
    ),
    "differing": (
        1,
        "# WARNING: the gradients of `differing` are not proved: dx[3] is",
        "are not proved: dx[3]",
    ),
    "racing": (
        1,
        "# WARNING: the gradients of `racing` are not proved: race in a launch",
        "are not proved: race in",
    ),
    "unsure": (
        0,
        "# NOT PROVED: the gradients of `unsure`: not finite",
        "gradients not proved: not finite",
    ),
    "late": (
        0,
        "# NOT PROVED: the gradients of `late`: out of time",
        "gradients not proved: incomplete: 7 checked",
    ),
    "refused": (0, "# NOT PROVED: the gradients of `refused`: no worker has proved them", ""),
    "dies": (0, "# NOT PROVED: the gradients of `dies`: no worker has proved them", ""),
}


@pytest.mark.parametrize("verdict", VERDICTS)
def test_a_module_says_what_is_not_proved(
    workspace: Workspace, fake_runner: Path, verdict: str
) -> None:
    status, first, said = VERDICTS[verdict]
    workspace.write({"a.py": HEADER + KERNEL.replace("scale_kernel", verdict)})
    result = workspace.tad("--backward", "a.py", "-o", "b.py", "--runner", fake_runner)
    text = (workspace.path / "b.py").read_text()
    assert (result.status, text.splitlines()[0][: len(first)]) == (status, first)
    assert said in result.stderr
    assert f"{verdict}_backward" in functions(text)
    assert text[text.index('"""Backward of a.py') :].count("PROVED") == 0
    again = workspace.tad("--backward", "a.py", "-o", "b.py", "--runner", fake_runner)
    assert again.status == status, "what stands above the header hides from nobody whose file it is"
    request = (fake_runner.parent / "requests.jsonl").read_text()
    checked = workspace.tad("--check", "--grad", "b.py", "--runner", fake_runner)
    more = (fake_runner.parent / "requests.jsonl").read_text()[len(request) :]
    assert checked.status != 2 and '"path": "a.py"' in more, "proved beside the forward's file"


def test_proofs_can_be_left_out(workspace: Workspace, fake_runner: Path) -> None:
    workspace.write({"a.py": HEADER + KERNEL.replace("scale_kernel", "wrong")})
    result = workspace.tad("--backward", "a.py", "--runner", fake_runner, "--no-proof")
    assert (result.status, result.stderr) == (0, "")
    assert "WARNING" not in result.stdout


def test_no_worker_is_no_failure(workspace: Workspace) -> None:
    workspace.write({"a.py": CLEAN})
    result = workspace.tad("--backward", "a.py", "--runner", "/no/such/runner")
    assert result.status == 0
    assert result.stderr.count("/no/such/runner") == 1
    assert "scale_kernel_backward" in functions(result.stdout)
    assert result.stdout.startswith(
        "# NOT PROVED: the gradients of `scale_kernel`: no worker has proved them\n"
    )


HALVES = (
    HEADER
    + """

@triton.jit
def rotate(x_ptr, y_ptr, T, H: tl.constexpr, D: tl.constexpr, R: tl.constexpr, BT: tl.constexpr, BR: tl.constexpr):
    rows = tl.program_id(0) * BT + tl.arange(0, BT)
    lanes = tl.arange(0, BR)
    mask = (rows < T)[:, None] & (lanes < R)[None, :]
    place = rows[:, None] * H * D + tl.program_id(1) * D + lanes[None, :]
    a = tl.load(x_ptr + place, mask=mask, other=0.0)
    b = tl.load(x_ptr + place + R, mask=mask, other=0.0)
    tl.store(y_ptr + place, a - b, mask=mask)
    tl.store(y_ptr + place + R, a + b, mask=mask)
"""
)


def test_two_halves_of_a_row_do_not_meet(workspace: Workspace) -> None:
    """Sizes of other dimensions, constexpr or not, step over what lies in this one: plain loads and stores."""
    workspace.write({"a.py": HALVES})
    result = workspace.tad("--backward", "a.py", "--no-proof")
    assert result.status == 0, result.stderr
    assert "rotate_backward" in functions(result.stdout)
    assert "debug_barrier" not in result.stdout


ASSEMBLY = (
    HEADER
    + '''

@triton.jit
def kernel(x, y, out, N: tl.constexpr):
    j = tl.arange(0, N)
    factor = tl.inline_asm_elementwise(
        """
        {
        prmt.b32 $0, $1, \\
            0, 0x1010;
        }
        """, "=r,r", [tl.load(y + j).to(tl.int32)], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(out + j, tl.load(x + j) * factor)
'''
)


def test_line_ends_within_texts(workspace: Workspace) -> None:
    """A text of several lines is the same whatever the lines of its file end in, as in Python."""
    workspace.write({"unix.py": ASSEMBLY, "windows.py": ASSEMBLY.replace("\n", "\r\n").encode()})
    texts = [workspace.tad("--backward", f"{name}.py").stdout for name in ("unix", "windows")]
    assert texts[0].count("\n") == texts[1].count("\r\n") == texts[1].count("\n")
    unix, windows = (text.replace("\r\n", "\n") for text in texts)
    backwards = [
        text[text.index("def kernel_backward") :].split("\n\n")[0] for text in (unix, windows)
    ]
    assert "prmt.b32 $0, $1,             0" in backwards[0]
    assert backwards[0] == backwards[1]
    assert "\\r" not in backwards[1] and "\\x0d" not in backwards[1]


def test_many_stores_to_one_tensor_need_little_memory(workspace: Workspace) -> None:
    """Each pair of them is compared, and what that takes is given back."""
    stores = "".join(f"    tl.store(y_ptr + {4096 * k} * B + i, x)\n" for k in range(600))
    workspace.write(
        {
            "a.py": HEADER + "@triton.jit\ndef kernel(x_ptr, y_ptr, B: tl.constexpr):\n"
            "    i = tl.program_id(0) * B + tl.arange(0, B)\n"
            "    x = tl.load(x_ptr + i)\n" + stores
        }
    )
    limit = 512 << 20
    run = subprocess.run(
        [str(BIN / "tad-lsp"), "--backward", "--no-proof", "a.py"],
        cwd=workspace.path,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert run.returncode == 0, run.stderr
    backward = run.stdout[run.stdout.index("def kernel_backward(") :]
    assert backward.count("dy_ptr + ") == 600


ENDED = """
import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, ends_ptr, y_ptr, step, n, B: tl.constexpr):
    row = tl.program_id(0)
    end = {end}
    lanes = tl.arange(0, B)
    x = tl.load(x_ptr + row * {step} + lanes, mask=lanes < end, other=0.0)
    tl.store(y_ptr + row, tl.sum(x * x))


def run(x, ends, n):
    y = torch.empty(x.shape[0], dtype=x.dtype)
    k[(x.shape[0],)](x, ends, y, x.stride(0), x.shape[1], B=16)
    return y
"""


@pytest.mark.parametrize(
    ("end", "step", "is_said"),
    [
        ("tl.load(ends_ptr + row)", "step", True),
        ("tl.load(ends_ptr + row)", "B", False),
        ("n", "step", False),
        ("tl.minimum(tl.load(ends_ptr + row), n)", "step", True),
    ],
)
def test_rows_that_only_memory_ends(
    workspace: Workspace, end: str, step: str, is_said: bool
) -> None:
    """It is said on stderr, and above what is written."""
    workspace.write({"a.py": ENDED.format(end=end, step=step)})
    result = workspace.tad("--backward", "a.py", "--no-proof")
    assert ("masks end each row of `x_ptr` before the next one" in result.stderr) == is_said
    assert ("# The gradient assumes that masks end each row" in result.stdout) == is_said
