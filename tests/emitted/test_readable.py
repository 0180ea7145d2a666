"""Emitted kernels as a person would write them: signs, constants, masks, names and sums."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emitted.plan import tad

HEAD = "import triton\nimport triton.language as tl\n\n\n"
LOADED = """
    j = tl.arange(0, N)
    mask = j < n
    x = tl.load(x_ptr + j, mask=mask, other=0.0)
"""
STORED = "    tl.store(y_ptr + j, y, mask=mask)\n"


def backward(folder: Path, body: str, parameters: str = "") -> str:
    """The lines of the backward derived for a kernel of this body."""
    file = folder / "kernel.py"
    head = f"@triton.jit\ndef k(x_ptr, y_ptr, n, {parameters}N: tl.constexpr):"
    file.write_text(HEAD + head + LOADED + body + STORED)
    run = tad("--backward", file, "--wrapper", "none", "--no-proof")
    assert run.returncode == 0, run.stderr
    return run.stdout[run.stdout.index("def k_backward") :]


@pytest.mark.parametrize(
    ("body", "expected", "unwanted"),
    [
        pytest.param("    y = x * x\n", ["* 2.0"], ["t +", "product + product"], id="square"),
        pytest.param(
            "    y = tl.exp2(x * 1.4426950408889634)\n", ["dx = dy"], ["0.69314"], id="log2e"
        ),
        pytest.param(
            "    e = tl.exp(x)\n    y = e / tl.sum(e)\n", [" - tl.sum("], ["(-"], id="softmax"
        ),
        pytest.param("    y = (x * -0.5) * 4.0\n", ["dy * -2.0"], ["0.5", "4.0"], id="constants"),
        pytest.param(
            "    c = tl.where(mask, x - tl.sum(x) / n, 0.0)\n    y = x + tl.sum(c * c) / n\n",
            ["dx = dy + dc - tl.sum(dc) / n"],
            ["tl.where(mask, product", "tl.where(mask, tl.where(", "product = tl.where"],
            id="variance",
        ),
        pytest.param(
            "    y = tl.where(x > 1.0, 1.0 - x, 3.0 - x)\n",
            ["dx = -dy"],
            ["tl.where("],
            id="choice",
        ),
    ],
)
def test_algebra(tmp_path: Path, body: str, expected: list[str], unwanted: list[str]) -> None:
    """Signs go into differences, constants into one, and a mask stands once."""
    text = backward(tmp_path, body)
    for part in expected:
        assert part in text, text
    for part in unwanted:
        assert part not in text, text


def test_sums_go_on_through_branches_and_loops(tmp_path: Path) -> None:
    """What a branch or a loop adds to a gradient is added there: no zeros in the other branch, no second sum."""
    body = (
        "    y = x * 0.5\n    if FLAG:\n        y += tl.sum(x * x)\n"
        "    for t in range(T):\n        y += x * tl.load(x_ptr + t)\n"
    )
    text = backward(tmp_path, body, "T, FLAG: tl.constexpr, ")
    branch = text[text.index("if FLAG:") :]
    assert "else:" not in branch, text
    assert "dx +=" in branch, text


def test_branches_of_a_constexpr_share_names(tmp_path: Path) -> None:
    """Triton compiles one of them."""
    branch = (
        "        s = tl.load(x_ptr + {} * j, mask=mask, other=0.0)\n        y = x * tl.exp(s) * s\n"
    )
    body = "    if FLAG:\n" + branch.format(2) + "    else:\n" + branch.format(3)
    text = backward(tmp_path, body, "FLAG: tl.constexpr, ")
    assert "s_1" not in text, text
    assert text.count("s = tl.load(") == 2, text
    assert "s_1" in backward(tmp_path, body, "FLAG, ")


def test_steps_from_the_end(tmp_path: Path) -> None:
    """`T - 2 - back`, not `T - 1 - 1 - back`."""
    body = "    y = x\n    for t in range(1, T):\n        y = y * tl.load(x_ptr + t * n + j)\n"
    text = backward(tmp_path, body, "T: tl.constexpr, ")
    assert "T - 2 - back" in text, text
    assert "- 1 - 1" not in text


def test_rounded_up_quotients(tmp_path: Path) -> None:
    """`tl.cdiv` also of constexprs, but not where Triton wants a constexpr."""
    body = "    y = x\n    for t in {}(tl.cdiv(V, B)):\n        y += x * tl.load(x_ptr + t)\n"
    parameters = "V: tl.constexpr, B: tl.constexpr, "
    assert "in range(tl.cdiv(V, B))" in backward(tmp_path, body.format("range"), parameters)
    text = backward(tmp_path, body.format("tl.static_range"), parameters)
    assert "tl.cdiv" not in text, text


def test_branches_on_one_condition_are_one(tmp_path: Path) -> None:
    """What follows the first is computed in it, and what both branches do alike stands before it."""
    body = (
        "    if FLAG:\n        a = x * 2.0\n    else:\n        a = x\n"
        "    s = tl.sum(x)\n"
        "    if FLAG:\n        b = tl.exp(x)\n    else:\n        b = tl.exp(x) + a\n"
        "    y = a * b * s\n"
    )
    text = backward(tmp_path, body, "FLAG: tl.constexpr, ")
    before = text[: text.index("dy = ")]
    assert before.count("if FLAG:") == 1, text
    assert before.index("tl.exp(") < before.index("if FLAG:"), text
    assert before.count("tl.exp(") == 1, text


def test_signs_of_two_readers(tmp_path: Path) -> None:
    """A negative that two products read is a sign in neither."""
    text = backward(tmp_path, "    s = tl.sum(x)\n    y = x * x - (x - s) * s\n")
    assert "+ -" not in text, text
    assert "(-" not in text, text


def test_named_numbers_are_assigned_once(tmp_path: Path) -> None:
    """A number that widens half precision keeps its name; one annotated as a constexpr does not need it."""
    body = "    half = 0.5\n    two: tl.constexpr = 2.0\n    y = tl.exp(x * half) * two * tl.maximum(half, x)\n"
    text = backward(tmp_path, body)
    assert text.count(" = 0.5") == 1, text
    assert "x * half" in text, text
    assert "two" not in text, text


def test_steps_back_from_a_step_back(tmp_path: Path) -> None:
    """`back + 1`, not `T - 1 - (T - 2 - back)`; what a tape's steps are numbered by is no detour either."""
    body = (
        "    y = x\n    for t in tl.static_range(1, T):\n"
        "        y = y * tl.load(x_ptr + (T - 1 - t) * n + j)\n"
    )
    text = backward(tmp_path, body, "T: tl.constexpr, ")
    assert "- (T" not in text, text
    assert "+ 1 - 1" not in text, text


def test_sums_of_loops_are_no_constexprs(tmp_path: Path) -> None:
    """What starts at 0.0 has a name where several products read it, and no annotation that Triton would refuse."""
    body = (
        "    a = tl.load(x_ptr)\n    b = tl.load(x_ptr + 1)\n    c = a * b / D\n    y = x\n"
        "    for t in range(T):\n        tl.store(y_ptr + (t + 1) * N + j, x * c, mask=mask)\n"
    )
    text = backward(tmp_path, body, "T, D: tl.constexpr, ")
    assert text.count("dc / D") == 1, text
    assert "tl.constexpr =" not in text


def test_masks_of_rows_stand_once(tmp_path: Path) -> None:
    """Also where the mask is a column and what it masks a tile; a comparison is expanded as the forward writes it."""
    body = (
        "    m = tl.arange(0, 16)\n"
        "    q = tl.load(x_ptr + m[:, None] * N + j[None, :], mask=m[:, None] < n, other=0.0)\n"
        "    o = q / tl.sum(q, axis=1)[:, None]\n"
        "    tl.store(y_ptr + m[:, None] * N + j[None, :], o, mask=m[:, None] < n)\n    y = x\n"
    )
    text = backward(tmp_path, body)
    assert "(m < n)[" not in text, text
    assert text.count("m[:, None] < n") == 1, text
    assert text.count("tl.where(") <= 2, text


def test_threads_wait_once(tmp_path: Path) -> None:
    """Where the repeated stores of two tensors follow each other, one barrier stands between them."""
    body = (
        "    y = x\n    for t in range(T):\n"
        "        a = tl.load(y_ptr + t * N + j)\n        b = tl.load(y_ptr + (t // 2) * N + j)\n"
        "        tl.store(y_ptr + t * N + j, a * b)\n        tl.store(y_ptr + (t // 2) * N + j, a + b)\n"
    )
    lines = [line.strip() for line in backward(tmp_path, body, "T, ").splitlines()]
    assert lines.count("tl.debug_barrier()") > 1, lines
    assert all(
        not first == second == "tl.debug_barrier()"
        for first, second in zip(lines, lines[1:], strict=False)
    ), lines


@pytest.mark.parametrize(
    ("body", "name"),
    [
        pytest.param("    y = x / (1.0 + tl.exp(x * x))\n", "divisor", id="divisor"),
        pytest.param(
            "    y = tl.maximum(x, 1e-6) * tl.log(tl.maximum(x, 1e-6))\n", "x_bounded", id="bounded"
        ),
        pytest.param("    y = x + tl.sum(tl.exp(tl.where(mask, x, 0.0) * n))\n", None, id="none"),
    ],
)
def test_names_say_what_for(tmp_path: Path, body: str, name: str | None) -> None:
    """`t` is nobody's name where the operation or its reader tells one."""
    text = backward(tmp_path, body)
    assert " t = " not in text, text
    assert name is None or f"    {name} = " in text, text


def test_comments_fit(tmp_path: Path) -> None:
    """What a loop with many states fills stands on as many lines as it takes; a state of one number has no `* 1`."""
    names = [f"state_of_a_long_name_{number}" for number in range(6)]
    body = "    x0 = tl.sum(x)\n" + "".join(f"    {name} = x0 * 0.0\n" for name in names)
    body += "    for t in range(T):\n        w = tl.load(x_ptr + t)\n"
    body += "".join(
        f"        {name} = {name} * {other} * w + x0\n"
        for name, other in zip(names, names[1:] + names[:1], strict=True)
    )
    body += "    y = x * (" + " + ".join(names) + ")\n"
    text = backward(tmp_path, body, "T, ")
    comments = [line for line in text.splitlines() if line.lstrip().startswith("#")]
    filled = next(i for i, line in enumerate(comments) if "# fills" in line)
    assert "the loop of line" not in comments[filled], text
    assert all(len(line) <= 88 for line in comments), text
    assert "* 1 " not in text, text


def test_rows_and_columns_keep_their_names(tmp_path: Path) -> None:
    """What the author has named once is not written out at each use."""
    text = backward(
        tmp_path,
        """    rows = tl.arange(0, 4)[:, None]
    cols = tl.arange(0, N)[None, :]
    t = tl.load(x_ptr + rows * N + cols, mask=cols < n, other=0.0)
    y = x + tl.sum(t * t * rows, 0)
""",
    )
    assert "rows = tl.arange(0, 4)[:, None]" in text
    assert text.count("tl.arange(0, N)[None, :]") <= 1, text
