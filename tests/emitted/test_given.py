"""Derivatives that an author gives by hand: kept as calls, held against differences, told where none can check them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.emitted.plan import tad

HEAD = """import torch
import triton
import triton.language as tl
"""
KERNEL = """

@triton.jit
def kernel(x_ptr, s_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask, other=0.0)
    s = tl.load(s_ptr + i, mask=mask, other=0.0)
    tl.store(y_ptr + i, {call}, mask=mask)


def run(x, s):
    y = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 16),)](x, s, y, x.numel(), BLOCK=16)
    return y
"""
EXP = """

# tad: backward of fast_exp(x): {rule}
@triton.jit
def fast_exp(x):
    return tl.exp2(x * 1.4426950408889634)
"""
LINE = HEAD.count("\n") + 3  # of the comment


def written(tmp_path: Path, helpers: str, call: str = "fast_exp(x) * s") -> Path:
    file = tmp_path / "given.py"
    file.write_text(HEAD + helpers + KERNEL.format(call=call))
    return file


def checked(file: Path) -> tuple[int, dict, list[dict]]:
    run = tad("--check", "--grad", "--format", "json", file)
    report = json.loads(run.stdout)
    (kernel,) = report["kernels"]
    return run.returncode, kernel, report["diagnostics"]


def emitted(file: Path) -> str:
    """The emitted backward kernel."""
    text = tad("--backward", "-q", file).stdout
    return re.search(r"^def kernel_backward.*?(?=\n\n\n)", text, re.MULTILINE | re.DOTALL)[0]


RIGHT = {
    "expression": EXP.format(rule="grad * result"),
    "again": EXP.format(rule="grad * fast_exp(x)"),
    "function": EXP.format(rule="by_hand(result, grad)")
    + "\n\n@triton.jit\ndef by_hand(r, g):\n    return r * g\n",
    "two": "\n\n# tad: backward of fast_exp(x, y): grad * y, grad * x + 0 * result\n"
    "@triton.jit\ndef fast_exp(x, y=2.0):\n    return x * y\n",
    "tuple": "\n\n# tad: backward of fast_exp(x, y, K): both(x, y, grad)\n"
    "@triton.jit\ndef fast_exp(x, y=2.0, K: tl.constexpr = 3):\n    return x * y + K\n"
    "\n\n@triton.jit\ndef both(a, b, g):\n    return g * b, g * a, None\n",
    "branch": EXP.format(rule="tl.where(x > 0, grad * result, result * grad)"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_rule_is_proved(tmp_path: Path, name: str) -> None:
    file = written(tmp_path, RIGHT[name])
    status, kernel, _ = checked(file)
    assert (status, kernel["status"]) == (0, "proved"), kernel["reason"]
    text = emitted(file)
    assert "fast_exp(x" in text  # computed again by a call
    assert "# The derivative of fast_exp is given by hand: " in text
    assert "not checked" not in text


def test_both_arguments_have_gradients(tmp_path: Path) -> None:
    helper = RIGHT["two"].replace("y=2.0", "y")
    file = written(tmp_path, helper, "fast_exp(x, s)")
    status, kernel, _ = checked(file)
    assert (status, kernel["status"]) == (0, "proved"), kernel["reason"]
    for wrong in ("grad * x, grad * y", "grad * y, None"):
        rule = helper.replace("grad * y, grad * x + 0 * result", wrong)
        file = written(tmp_path, rule, "fast_exp(x, s)")
        status, kernel, _ = checked(file)
        assert (status, kernel["status"]) == (1, "failed"), wrong


@pytest.mark.parametrize(
    "rule", ["grad * x", "grad", "-grad * result", "None", "2.0", "True", "tl.sum(grad)"]
)
def test_a_wrong_rule_is_refuted_at_its_comment(tmp_path: Path, rule: str) -> None:
    file = written(tmp_path, EXP.format(rule=rule))
    status, kernel, diagnostics = checked(file)
    assert (status, kernel["status"]) == (1, "failed")
    (wrong,) = [d for d in diagnostics if d["name"] == "gradient-wrong"]
    assert wrong["range"]["start"]["line"] + 1 == LINE
    assert f"the derivative of `fast_exp` that is given by hand in line {LINE}" in wrong["message"]
    run = tad("--backward", file)
    assert run.returncode == 1
    assert f":{LINE}: WRONG GRADIENTS" in run.stderr
    assert "please report" not in run.stderr
    assert run.stdout.startswith("# WARNING: the proof contradicts")


@pytest.mark.parametrize(
    "rule",
    [
        "tl.where(x > 50, 0.0, grad * result)",
        "tl.minimum(grad * result, 100.0)",
        "tl.where(x < -5, 1.0, grad * result)",
    ],
)
def test_a_rule_with_another_formula_far_away_is_not_proved(tmp_path: Path, rule: str) -> None:
    """The numbers of a proof are small: those of another launch may not be."""
    file = written(tmp_path, EXP.format(rule=rule))
    status, kernel, findings = checked(file)
    assert (status, kernel["status"]) == (1, "derived")
    assert re.search(
        r"right with the numbers of the proof; with numbers up to \d+ ", kernel["reason"]
    )
    assert kernel["reason"].endswith(
        f"rests on the derivative of `fast_exp` that is given by hand in line {LINE}"
    )
    assert [(one["name"], one["severity"]) for one in findings] == [("gradient-wrong", "warning")]
    assert tad("--backward", file).stdout.startswith("# WARNING: ")


@pytest.mark.parametrize(
    ("head", "rule", "verdict"),
    [
        ("x, P", "grad * P * x", "proved"),
        ("P, x", "grad * P * x", "proved"),
        ("x", "grad * P * x", "proved"),
        ("P, x", "None, grad * P * x", "proved"),
        ("x, P", "grad * x", "failed"),
    ],
)
def test_constexprs_need_no_expression(tmp_path: Path, head: str, rule: str, verdict: str) -> None:
    helper = f"""

# tad: backward of power({head}): {rule}
@triton.jit
def power(x, P: tl.constexpr):
    return x * x if P == 2 else x * x * x
"""
    _, kernel, _ = checked(written(tmp_path, helper, "power(x, 2) * s"))
    assert kernel["status"] == verdict, kernel["reason"]


SQUARE = "    return x * x\n"
TIMES = "    return x * k\n"
SCALED = "    return K * x * x\n"
# name: head of helper and rule, rule, body, call, and a part of what is said; "" where the rule is right
BEYOND = {
    "constexpr": ("x, K", "grad * 4 * x", SCALED, "h(x, BLOCK // 16 + 1)", "K = 1"),
    "constexpr_right": ("x, K", "grad * 2 * K * x", SCALED, "h(x, BLOCK // 16 + 1)", ""),
    "branch": (
        "x, K",
        "grad * 2 * K * x if K == 2 else grad",
        SCALED,
        "h(x, BLOCK // 16 + 1)",
        "K = 1",
    ),
    "literal": ("x, K", "grad * 4 * x", SCALED, "h(x, 2)", ""),
    "not_run": (
        "x, K",
        "grad * 4 * x",
        SCALED,
        "(h(x, 2) if n < 1000000 else h(x, 3))",
        "K = 3",
    ),
    "indices": (
        "x, k",
        "tl.where(k < 4000, grad * k, grad), None",
        TIMES,
        "h(x, i)",
        "whole numbers from 0 to 1048576",
    ),
    "sizes": ("x, k", "grad * k if k < 4000 else grad, None", TIMES, "h(x, n)", "k = int32"),
    "sizes_right": ("x, k", "grad * k, None", TIMES, "h(x, n)", ""),
    "programs": (
        "x",
        "tl.where(tl.program_id(0) < 4000, grad * 2 * x, grad)",
        SQUARE,
        "h(x)",
        "in program (5000, 77, 301)",
    ),
    "shape": ("x", "(grad * 2 * x if x.shape[0] < 512 else grad)", SQUARE, "h(x)", "float32[512]"),
    "type": (
        "x",
        "(grad * 2 * x if x.dtype != tl.float16 else grad)",
        SQUARE,
        "h(x)",
        "float16[16]",
    ),
    "positive_only": ("x", "grad", "    return tl.sqrt(x * x)\n", "h(tl.exp(x))", ""),
    "sums": ("x", "tl.cumsum(grad, 0, reverse=True)", "    return tl.cumsum(x, 0)\n", "h(x)", ""),
}


@pytest.mark.parametrize("name", BEYOND)
def test_a_rule_is_tried_with_what_the_proof_does_not_vary(tmp_path: Path, name: str) -> None:
    """Constexprs of other launches, types and shapes, whole numbers and programs beyond those of the proof."""
    head, rule, body, call, said = BEYOND[name]
    helper = f"\n\n# tad: backward of h({head}): {rule}\n@triton.jit\n"
    helper += f"def h({head.replace('K', 'K: tl.constexpr')}):\n{body}"
    status, kernel, _ = checked(written(tmp_path, helper, f"{call} * s"))
    assert (status, kernel["status"]) == ((1, "derived") if said else (0, "proved")), kernel
    assert said in kernel["reason"]
    if name == "constexpr_right":
        assert "rules by hand tried with K of `h` as 2, 1, 3, 5, 9" in kernel["covered"]


# Each but the first is right except for two values together, or for one that a literal of the text names.
TOGETHER = """

# tad: backward of h(x, A, B): {rule}
@triton.jit
def h(x, A: tl.constexpr, B: tl.constexpr):
    return x * x


@triton.jit
def kernel(x_ptr, y_ptr, n, A: tl.constexpr, B: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    y = h(x, A, B)
    tl.store(y_ptr + i, y, mask=i < n)


def run(x):
    y = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 16),)](x, y, x.numel(), {values}, BLOCK=16)
    return y
"""
TWO_FLAGS = "A=False, B=False"
NUMBERS = "A=1, B=1"
JOINED = {
    "right": ("grad * 2 * x", TWO_FLAGS, ""),
    "both_flags": ("grad * (1 if A and B else 2) * x", TWO_FLAGS, "A = True, B = True"),
    "one_flag_alone": ("grad * (1 if A and not B else 2) * x", TWO_FLAGS, "A = True"),
    "a_literal": ("grad * (1 if A == 3001 else 2) * x", NUMBERS, "A = 3001"),
    "above_a_literal": ("grad * (1 if A > 3_000 else 2) * x", NUMBERS, "A = 3001"),
    "two_numbers": ("grad * (1 if A == 64 and B == 128 else 2) * x", NUMBERS, "A = 64"),
    "flag_and_number": (
        "grad * (1 if A and B > 3000 else 2) * x",
        "A=False, B=1",
        "A = True, B = 3001",
    ),
    "a_text": (
        "grad * (1 if A == 'far' else 2) * x",
        "A='near', B=1",
        'A = "far"',
    ),
    "a_text_and_a_flag": (
        "grad * (1 if A == 'far' and B else 2) * x",
        "A='near', B=False",
        'A = "far", B = True',
    ),
}


@pytest.mark.parametrize("name", JOINED)
def test_a_rule_is_tried_with_two_constexprs_at_once(tmp_path: Path, name: str) -> None:
    """Also with the numbers and texts that the file's branches compare with."""
    rule, values, said = JOINED[name]
    file = tmp_path / "joined.py"
    file.write_text(HEAD + TOGETHER.format(rule=rule, values=values))
    status, kernel, _ = checked(file)
    assert (status, kernel["status"]) == ((1, "derived") if said else (0, "proved")), kernel
    assert said in kernel["reason"]


UNCHECKED = {
    # e to a power by the bits of a float (Schraudolph)
    "bits": "    bits = (x * 12102203.0 + 1064866805.0).to(tl.int32)\n"
    "    return bits.to(tl.float32, bitcast=True)\n",
    "root": "    bits = 0x5F3759DF - (x.to(tl.int32, bitcast=True) >> 1)\n"
    "    r = bits.to(tl.float32, bitcast=True)\n    return r * (1.5 - 0.5 * x * r * r)\n",
    "ptx": "    return tl.inline_asm_elementwise(\n"
    '        "{ .reg .b16 h; cvt.rn.f16.f32 h, $1; ex2.approx.f16 h, h; cvt.f32.f16 $0, h; }",\n'
    '        "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)\n',
    "straight_through": "    return tl.floor(x)\n",
    "whole_numbers": "    return x.to(tl.int32).to(tl.float32)\n",
}


@pytest.mark.parametrize("name", UNCHECKED)
def test_what_differences_do_not_tell_is_not_checked(tmp_path: Path, name: str) -> None:
    """Derived as given, never proved, and said so in the report and in the module."""
    helper = f"\n\n# tad: backward of trick(x): grad * result\n@triton.jit\ndef trick(x):\n{UNCHECKED[name]}"
    file = written(tmp_path, helper, "trick(x) * s")
    status, kernel, diagnostics = checked(file)
    assert (status, kernel["status"]) == (0, "derived")
    assert f"`trick` is given by hand in line {LINE}, not checked" in kernel["reason"]
    assert not [d for d in diagnostics if d["severity"] in ("error", "warning")]
    text = emitted(file)
    assert "# The derivative of trick is given by hand, not checked: grad * result\n" in text
    assert "trick(x)" in text
    run = tad("--backward", file)
    assert run.returncode == 0
    assert "gradients not proved: the derivative of `trick` is given by hand" in run.stderr


def test_understood_ptx_is_checked(tmp_path: Path) -> None:
    body = (
        '    return tl.inline_asm_elementwise("tanh.approx.f32 $0, $1;", "=f,f", [x], '
        "dtype=tl.float32, is_pure=True, pack=1)\n"
    )
    for rule, verdict in (("1 - result * result", "proved"), ("1 - result", "failed")):
        helper = (
            f"\n\n# tad: backward of trick(x): grad * ({rule})\n@triton.jit\ndef trick(x):\n{body}"
        )
        _, kernel, _ = checked(written(tmp_path, helper, "trick(x) * s"))
        assert kernel["status"] == verdict, kernel["reason"]


def test_a_function_without_a_rule_of_its_own_is_checked(tmp_path: Path) -> None:
    """The runner knows what libdevice.lgamma gives, so differences tell whether a rule is right."""
    series = "tl.log(x + 6) - 0.5 / (x + 6) - 1.0 / (12 * (x + 6) * (x + 6))"
    series += (
        " + 1.0 / (120.0 * (x + 6) * (x + 6) * (x + 6) * (x + 6)) - 3.96825e-3 / (x + 6) / (x + 6)"
    )
    series += " / (x + 6) / (x + 6) / (x + 6) / (x + 6)"
    digamma = series + "".join(f" - 1 / (x + {i})" for i in range(6))
    rules = {
        f"grad * ({digamma})": "proved",
        "grad / x": "failed",
        "None": "failed",
        "0.0": "failed",
    }
    for rule, verdict in rules.items():
        helper = (
            "from triton.language.extra import libdevice\n\n\n"
            f"# tad: backward of trick(x): {rule}\n@triton.jit\ndef trick(x):\n"
            "    return libdevice.lgamma(x)\n"
        )
        file = written(tmp_path, helper, "trick(1 + x * x) * s + x * x")
        _, kernel, _ = checked(file)
        assert kernel["status"] == verdict, (rule, kernel["reason"])


def test_without_a_rule_the_way_out_is_named(tmp_path: Path) -> None:
    for body in ("bits", "ptx"):
        helper = f"\n\n@triton.jit\ndef trick(x):\n{UNCHECKED[body]}"
        if body == "bits":
            helper = helper.replace(
                "(x * 12102203.0 + 1064866805.0).to(tl.int32)", "x.to(tl.int32, bitcast=True)"
            )
        _, kernel, _ = checked(written(tmp_path, helper, "trick(x) * s"))
        assert kernel["status"] == "refused"
        assert "# tad: backward of helper(x): ..." in kernel["reason"]


FAULTS = {
    "nothing(x): grad": "there is no function `nothing` here",
    "fast_ex(x): grad": "there is no function `fast_ex` here; did you mean `fast_exp`?",
    "fast_exp(x, z): grad, grad": "`fast_exp` has no parameter `z`",
    "fast_exp(): grad": "the rule leaves out the parameter `x`",
    "fast_exp(x): grad, grad": "the rule has 2 expressions for the 1 argument of `fast_exp`",
    "fast_exp(x): grad * resul": "`resul` is not defined here",
    "fast_exp(x): tl.expo(grad)": "triton.language has no `expo`; did you mean `exp`?",
    "fast_exp(x): torch.relu(grad)": "It is not known what `torch.relu` computes",
    "fast_exp(x): [g for g in grad]": "It is not known what this comprehension runs over",
    "fast_exp(x): grad = 1": "this is no list of expressions",
    "fast_exp(x): import os": "this is no list of expressions",
    "fast_exp(x): grad if x > 0 else 0.0": "the condition of an `if` is a tile: use `tl.where`",
    "fast_exp(x): grad *": "this is no list of expressions",
    "fast_exp(x):": "this rule has no expression behind its colon",
    "fast_exp(x)": "this rule cannot be read",
    "fast_exp: grad": "this rule cannot be read",
    "run(x, s): grad, grad": "`run` is no @triton.jit function",
    "kernel(x_ptr, s_ptr, y_ptr, n): None, None, None, None": "`kernel` is launched",
    'fast_exp(x): "text"': "it is not known what the rule gives for `x`",
}


@pytest.mark.parametrize("rule", FAULTS)
def test_a_faulty_rule_is_a_finding_at_its_comment(tmp_path: Path, rule: str) -> None:
    file = written(tmp_path, EXP.replace("fast_exp(x): {rule}", rule))
    run = tad("--check", "--format", "json", file)
    found = [d for d in json.loads(run.stdout)["diagnostics"] if d["name"] == "gradient-rule"]
    assert [d["range"]["start"]["line"] + 1 for d in found] == [LINE] * len(found)
    assert found and FAULTS[rule] in found[0]["message"], found
    assert found[0]["severity"] == "warning"
    # Nothing is derived by a rule that cannot be used, and nothing else in its place.
    _, kernel, _ = checked(file)
    is_of_helper = rule.startswith("fast_exp")
    assert kernel["status"] == ("refused" if is_of_helper else "proved"), kernel
    assert "`fast_exp` cannot be used" in kernel["reason"] or not is_of_helper


def test_a_second_rule_is_none(tmp_path: Path) -> None:
    twice = EXP.format(rule="grad * result").replace(
        "@triton", "# tad: backward of fast_exp(x): grad\n@triton"
    )
    _, kernel, diagnostics = checked(written(tmp_path, twice))
    assert kernel["status"] == "proved"
    (said,) = [d for d in diagnostics if d["name"] == "gradient-rule"]
    assert said["message"] == f"`fast_exp` has a rule already, in line {LINE}"


def test_only_comments_count(tmp_path: Path) -> None:
    """A text that looks like a rule is none, nor is a comment about something else."""
    helper = EXP.format(rule="").replace("# tad: backward of fast_exp(x): \n", "# tad: backwards\n")
    helper = helper.replace(
        "(x):\n", '(x):\n    """\n    # tad: backward of fast_exp(x): 3 * grad\n    """\n'
    )
    _, kernel, diagnostics = checked(written(tmp_path, helper))
    assert kernel["status"] == "proved"
    assert not [d for d in diagnostics if d["name"] == "gradient-rule"]


def test_only_elementwise_helpers(tmp_path: Path) -> None:
    for body, why in (
        ("tl.sum(x, axis=0)", "has not the shape of its arguments"),
        ("x, x", "returns several values"),
        ("x.to(tl.int32)", "returns whole numbers"),
    ):
        helper = f"\n\n# tad: backward of f(x): grad\n@triton.jit\ndef f(x):\n    return {body}\n"
        call = "f(x)[0] * s" if body == "x, x" else "f(x) * s"
        _, kernel, _ = checked(written(tmp_path, helper, call))
        assert (kernel["status"], why in kernel["reason"]) == ("refused", True), kernel


def test_rules_of_other_files(tmp_path: Path) -> None:
    """Beside an imported helper, or for one, in the file that imports it."""
    library = (
        HEAD + EXP.format(rule="{rule}") + "\n\n@triton.jit\ndef square(x):\n    return x * x\n"
    )
    imports = (
        "from lib import fast_exp as power, square\n\n# tad: backward of square(x): 2 * grad * x\n"
    )
    for rule, verdict in (("grad * result", "proved"), ("grad", "failed")):
        (tmp_path / "lib.py").write_text(library.replace("{rule}", rule))
        file = written(tmp_path, imports, "power(x) * square(s)")
        _, kernel, _ = checked(file)
        assert kernel["status"] == verdict, kernel["reason"]
        assert "power(x)" in emitted(file) and "square(s)" in emitted(file)
    assert f"that of `fast_exp` that is given by hand in line {LINE} of lib.py" in kernel["reason"]
    assert "please report" not in tad("--backward", file).stderr


def test_a_rule_for_a_function_of_an_imported_module(tmp_path: Path) -> None:
    (tmp_path / "lib.py").write_text(
        HEAD + EXP.replace("# tad: backward of fast_exp(x): {rule}\n", "")
    )
    for rule, verdict in (("grad * result", "proved"), ("grad", "failed")):
        head = f"import lib\n\n# tad: backward of lib.fast_exp(x): {rule}\n"
        file = written(tmp_path, head, "lib.fast_exp(x) * s")
        _, kernel, _ = checked(file)
        assert kernel["status"] == verdict, kernel["reason"]
        assert "lib.fast_exp(x)" in emitted(file)
    assert "that of `lib.fast_exp` that is given by hand" in kernel["reason"].replace(
        "the derivative", "that"
    )


def test_the_module_has_the_rule(tmp_path: Path) -> None:
    """With what it calls, so that the module can be derived from again."""
    (tmp_path / "again").mkdir()
    again = tmp_path / "again" / "given.py"
    again.write_text(tad("--backward", "-q", written(tmp_path, RIGHT["function"])).stdout)
    assert (
        "# tad: backward of fast_exp(x): by_hand(result, grad)\n@triton.jit\n" in again.read_text()
    )
    assert "def by_hand(r, g):" in again.read_text()
    run = tad("--check", "--format", "json", again)
    assert not [d for d in json.loads(run.stdout)["diagnostics"] if d["name"] == "gradient-rule"]


def test_kernels_without_rules_are_as_before(tmp_path: Path) -> None:
    file = written(
        tmp_path, EXP.format(rule="grad").replace("# tad: backward of", "# the gradient of")
    )
    text = emitted(file)
    assert "fast_exp" not in text and "by hand" not in text
