"""Scalars that a launcher reads off tensors: what it passes instead, and the gradient that comes back to the tensor."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest

from tests.emitted.configuration import proof_of
from tests.emitted.plan import ROOT, Runner, tad
from tests.support.worker import Worker
from tests.triton.interpret import call_function

KERNELS = ROOT / "tests" / "emitted" / "kernels" / "scalars.py"
STEP = 2.0**-10  # numbers that the kernels take in single precision move by it without rounding


def floats(*shape: int, low: float = -1.0, high: float = 1.0) -> np.ndarray:
    """Numbers that are the same in each run."""
    return np.random.default_rng(sum(shape)).uniform(low, high, shape)


def number(value: float, *shape: int) -> np.ndarray:
    """A tensor of one element."""
    return np.full(shape, value)


# Launchers' arguments; those that are arrays are differentiated.
CASES: dict[str, list[object]] = {
    "run_reciprocals": [floats(70, low=0.3), number(0.75), number(0.25)],
    "run_online_softmax": [floats(3, 50), number(1.5, 1)],
    "run_branches": [floats(6, 50), number(0.125), number(0.5)],
    "run_branches/numbers": [floats(6, 50), 0.125, 0.5],
    "run_recurrence": [floats(9, 20), number(0.75), number(0.5, 1, 1)],
    "run_counted": [floats(70), number(2.5)],
    "run_scaled_product": [floats(20, 24), floats(24, 18), floats(20, 18), np.array([0.5, 0.25])],
    "run_persistent": [floats(70), number(0.25)],
    "run_damped_maxima": [floats(2, 20), number(0.75)],
    "run_padded_then_scaled": [floats(3, 50), number(0.75)],
    "run_horner": [floats(2, 9), number(0.375), number(1.5)],
}
WITHOUT = {("run_reciprocals", 2), ("run_counted", 1)}  # a threshold, a number that is cut off


@functools.cache
def module_text(path: Path) -> str:
    """The module that is written for a file."""
    run = tad("--backward", path, "--no-proof")
    assert run.stdout, run.stderr
    return run.stdout


@pytest.mark.parametrize("case", CASES)
def test_gradient_reaches_the_tensor(case: str, interpreter: Worker) -> None:
    """Along each argument the gradient is the launcher's difference, in the argument's own shape."""
    launcher, arguments, text = case.partition("/")[0], CASES[case], module_text(KERNELS)
    wrt = [i for i, value in enumerate(arguments) if isinstance(value, np.ndarray)]

    def outputs_at(index: int, direction: np.ndarray, step: float) -> list[np.ndarray]:
        moved = [
            np.array(a + step * direction) if i == index else a for i, a in enumerate(arguments)
        ]  # type: ignore[operator]
        found = call_function(text, launcher, moved, worker=interpreter).outputs
        return [o for o in found if isinstance(o, np.ndarray)]

    outputs = outputs_at(0, np.zeros(np.shape(arguments[0])), 0.0)
    weights = [np.random.default_rng(3).standard_normal(o.shape) for o in outputs]
    result = call_function(
        text, launcher, arguments, wrt=wrt, grad_outputs=weights, worker=interpreter
    )
    for index in wrt:
        gradient = result.gradients[index]
        if (launcher, index) in WITHOUT:
            assert gradient is None
            continue
        direction = np.sign(floats(*np.shape(arguments[index])))
        above = outputs_at(index, direction, STEP)
        below = outputs_at(index, direction, -STEP)
        slopes = [(a - b) / (2 * STEP) * w for a, b, w in zip(above, below, weights, strict=True)]
        size = sum(float(np.abs(s).sum()) for s in slopes)
        assert gradient is not None
        assert gradient.shape == np.shape(arguments[index])
        assert size > 0
        expected = sum(float(s.sum()) for s in slopes)
        assert float((gradient * direction).sum()) == pytest.approx(expected, abs=1e-3 * size)


def test_parameters_of_modules() -> None:
    """An attribute of a module is a tensor like any."""
    assert "self.scale, t, 16, 16" in module_text(KERNELS)


LAUNCHER = """import math

import torch
import triton
import triton.language as tl


@triton.jit
def scaled(x_ptr, y_ptr, alpha, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, alpha * tl.load(x_ptr + i, mask=i < n), mask=i < n)


def run(x, alpha, limit, given: torch.Tensor):
    y = torch.empty_like(x)
    n = x.numel()
{before}    scaled[(triton.cdiv(n, 64),)](x, y, {value}, n, BLOCK=64)
    return y
"""
# What stands before the launch, what is passed, and what both become.
PASSED = [
    ("", "alpha.item()", "", "alpha"),
    ("", "alpha[0].item()", "", "alpha[0]"),
    ("", "float(given)", "", "given"),
    ("", "-alpha.item()", "", "-_double_of(alpha)"),
    ("", "2 ** (float(given) - 1)", "", "2 ** (_double_of(given) - 1)"),
    ("", "math.exp(alpha.item()) / n", "", "torch.exp(_double_of(alpha)) / n"),
    ("", "float(alpha.item() * n)", "", "(_double_of(alpha) * n)"),
    ("    assert alpha.item() > 0\n", "alpha.item()", "    assert alpha.item() > 0\n", "alpha"),
    ("    a = alpha.item()\n", "a", "    a = alpha\n", "a"),
    ("    a = alpha.item()\n    print(a)\n", "a", "    a = alpha.item()\n    print(a)\n", "alpha"),
    (
        "    a = 1 / alpha.item()\n    print(a)\n",
        "a",
        "    tensor_of_a = 1 / _double_of(alpha)\n    a = 1 / alpha.item()\n    print(a)\n",
        "tensor_of_a",
    ),
    (
        "    if limit:\n        alpha = float(alpha.item())\n",
        "alpha",
        "    tensor_of_alpha = alpha\n    if limit:\n        alpha = float(alpha.item())\n",
        "tensor_of_alpha",
    ),
]
# Numbers of no tensor, numbers that are cut off on purpose, and numbers that tensors cannot follow.
PLAIN = [
    ("", "alpha"),
    ("", "0.5"),
    ("", "float(alpha)"),
    ("", "1.0 / math.sqrt(n)"),
    ("", "alpha.detach().item()"),
    ("", "alpha.data.item()"),
    ("", "x.abs().max().item()"),
    ("", "max(alpha.item(), 0.0)"),
    ("", "math.exp(float(given))"),
    ("    alpha = alpha\n", "alpha"),
    # a part of the tensor's gradient would be missing
    ("    x = x * alpha.item()\n", "alpha.item()"),
    ("    a = alpha.item()\n    x = x + a\n", "a"),
    ("    if limit:\n        alpha = alpha.item()\n    x = x * alpha\n", "alpha"),
    ("    scaled[(1,)](x, y, max(alpha.item(), 0.0), n, BLOCK=64)\n", "alpha.item()"),
    ("    a, b = alpha[0].item(), limit.item()\n    x = x * a * b\n", "alpha[1].item()"),
    ("    alpha = float(alpha)\n", "alpha"),
    ("    a = alpha.item()\n    a += 1\n", "a"),
    ("    a = 1.0\n    if limit:\n        a = alpha.item()\n", "a"),
    ("    for a in limit:\n        print(a)\n", "a"),
]


def written(folder: Path, before: str, value: str, *options: str) -> str:
    """The module written for a launcher."""
    path = folder / "launcher.py"
    path.write_text(LAUNCHER.format(before=before, value=value))
    run = tad("--backward", path, *options)
    assert run.stdout, run.stderr
    assert "WRONG" not in run.stderr
    return run.stdout


@pytest.mark.parametrize(("before", "value", "kept", "passed"), PASSED)
def test_tensor_is_passed(before: str, value: str, kept: str, passed: str, tmp_path: Path) -> None:
    """The Function gets the tensor that the number comes from."""
    text = written(tmp_path, before, value)
    launcher = text[text.index("def run(") : text.index("return y", text.index("def run("))]
    call = " ".join(launcher[launcher.index("ScaledFunction.apply(") :].split())
    assert "dalpha_ptr" in text
    assert f"x, y, {passed}, n, 64" in call
    assert f"    n = x.numel()\n{kept}    y = ScaledFunction" in launcher


@pytest.mark.parametrize(("before", "value"), PLAIN)
def test_numbers_have_no_gradient(before: str, value: str, tmp_path: Path) -> None:
    """The launch stays as it is, and the kernel computes nothing for it."""
    text = written(tmp_path, before, value)
    assert "dalpha" not in text
    assert "_number_of(" not in text
    reads = ".item()" in before + value or "float(given)" in value
    is_cut = any(word in value for word in (".detach()", ".data"))
    note = "`alpha` of `scaled` has no gradient, so "
    assert (note in text) == (reads and not is_cut), text[:400]
    # whether an undeclared argument is a tensor is asked at the call
    assert value.replace("float(alpha)", "_read_number(alpha)") in text[text.index("def run(") :]


NUMBERS = """import torch
import triton
import triton.language as tl


@triton.jit
def scaled(x_ptr, y_ptr, alpha, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, x * tl.exp(x * alpha), mask=i < n)


def launch(x, alpha):
    y = torch.empty_like(x)
    scaled[(1,)](x, y, alpha, x.numel(), BLOCK=64)
    return y


class Layer(torch.nn.Module):
    def __init__(self, alpha):
        super().__init__()
        self.alpha = alpha.item()
        self.register_buffer("scale", torch.ones(1))

    def peak(self, x):
        return x.abs().max().item()

    def forward(self, x):
        return launch(x, {attribute})


def largest(t):
    return t.abs().amax().item()


def run(x, t):
    {statement}
"""
LOST_NUMBERS = [  # what is passed, and the tensor that is named
    ("return launch(x, t.abs().max().item())", "t.abs().max()"),
    ("return launch(x, float(torch.norm(t)))", "torch.norm(t)"),
    ("return [launch(x, number) for number in t.tolist()]", "t"),
    ("number, two = t[0].item(), 2.0\n    return launch(x, max(number, two))", "t[0]"),
    (
        "t = t.contiguous()\n    config = {'alpha': t.item()}\n    return launch(x, config['alpha'])",
        "t",
    ),
    ("return launch(x, largest(t))", "t.abs()"),
    ("return (lambda s: launch(x, s))(0.0) + launch(x, alpha=1 + max(0, t.item()))", "t"),
    (
        "def inner(y):\n        return launch(y, s)\n\n    s = min(t.sum().item(), 1)\n    return inner(x)",
        "t.sum()",
    ),
    ("KEPT['s'] = t.item()\n    return launch(x, KEPT['s'])\n\n\nKEPT = {}", "t"),
    (
        "keep(t)\n    return launch(x, KEPT[0])\n\n\ndef keep(a):\n    KEPT.append(a.item())\n\n\nKEPT = []",
        "a",
    ),
    ("KEPT.update(s=t.item())\n    return launch(x, KEPT['s'])\n\n\nKEPT = {}", "t"),
    ("KEPT['t'] = t\n    return launch(x, max(KEPT['t'].item(), 0.0))\n\n\nKEPT = {}", "KEPT['t']"),
    ("kept = {}\n    kept['s'] = t.item()\n    return launch(x, kept['s'])", "t"),
    ("Layer.gain = t.item()\n    return launch(x, Layer.gain)", "t"),
    (
        "y = torch.empty_like(x)\n    scaled[(1,)](x, y, **options(t, 8))\n    return y\n\n\n"
        "def options(a, n):\n    return {'alpha': max(a.item(), 0), 'n': n, 'BLOCK': 8}",
        "a",
    ),
]
MADE_TENSORS = [  # the expression that is scaled, and the tensor that is named; None: nothing is said
    ("torch.tensor(t.tolist())", "t"),
    ("x.new_tensor([number.item() for number in t])", "number"),
    ("torch.full_like(x, max(t.sum().item(), 1.0))", "t.sum()"),
    ("torch.tensor(t.detach().tolist())", None),
    ("torch.zeros(int(t.sum().item()))", None),
    ("torch.stack([t[0], t[1]])", None),
]
MEANT_NUMBERS = [
    "return launch(x, t.detach().abs().max().item())",
    "with torch.no_grad():\n        number = t.abs().max().item()\n    return launch(x, number)",
    "t = t.detach()\n    return launch(x, t.abs().max().item())",
    "return launch(x, (t > 0).sum().item() / 2)",
    "return launch(x, 1.0 / x.shape[0])",
    "return launch(x, torch.rand(1).item())",
    "return launch(x, float(t.numel()))",
    "return launch(x, max(torch.tensor(1.0 / len(t)).item(), 0.5))",
    "return launch(x, KEPT['s'])\n\n\nKEPT = {'s': 2.0}\n\n\ndef other(t):\n    KEPT = {}\n    KEPT['s'] = t.item()",
    "y = torch.empty_like(x)\n    scaled[(1,)](x, y, **{'alpha': 2.0, 'n': t.sum().item(), 'BLOCK': 8})\n    return y",
]


def numbers(folder: Path, statement: str, attribute: str = "0.5") -> tuple[int, str]:
    """Exit status, and what was said of a launcher that passes a number."""
    path = folder / "numbers.py"
    text = NUMBERS.replace("{attribute}", attribute).replace("{statement}", statement)
    path.write_text(text)
    run = tad("--backward", path, "-o", folder / "out.py")
    return run.returncode, run.stderr


@pytest.mark.parametrize(("statement", "tensor"), LOST_NUMBERS)
def test_a_number_without_gradient_is_said(statement: str, tensor: str, tmp_path: Path) -> None:
    """What no gradient flows through is a warning where it is read, and the exit status is 1."""
    status, said = numbers(tmp_path, statement)
    assert status == 1
    assert f"so `{tensor}" in said
    assert "warning[gradient-number-of-tensor]" in said


@pytest.mark.parametrize(("made", "tensor"), MADE_TENSORS)
def test_a_tensor_made_of_numbers(made: str, tensor: str | None, tmp_path: Path) -> None:
    """A new tensor of numbers that were read off another has no gradient for that one."""
    status, said = numbers(tmp_path, f"made = {made}\n    return launch(made, 2.0)")
    assert status == (tensor is not None), said
    assert (f"has no gradient, so `{tensor}` stays a number" in said) == (tensor is not None)


FUNCTION = """

class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, t):
        ctx.save_for_backward(t)
        return launch(x, max(t.item(), 0.0))

    @staticmethod
    def backward(ctx, gradient):
        (t,) = ctx.saved_tensors
        return launch(gradient, max(t.item(), 0.0)), None
"""


def test_a_function_with_its_own_gradient(tmp_path: Path) -> None:
    """Its methods may read numbers: the author sees to their gradients."""
    assert "number-of-tensor" not in numbers(tmp_path, "return x" + FUNCTION)[1]


def test_an_attribute_that_holds_a_number(tmp_path: Path) -> None:
    """What the constructor read; of a module's buffer nobody wants a gradient."""
    assert numbers(tmp_path, "return x", "max(self.alpha, 1)")[0] == 1
    assert numbers(tmp_path, "return x", "self.peak(x)")[0] == 1
    assert numbers(tmp_path, "return x", "max(self.scale.item(), 1)")[0] == 0


@pytest.mark.parametrize("statement", MEANT_NUMBERS)
def test_a_number_on_purpose(statement: str, tmp_path: Path) -> None:
    """Detached, without gradients, counted: nothing is said."""
    status, said = numbers(tmp_path, statement)
    assert status == 0, said
    assert "gradient-number-of-tensor" not in said


def test_an_operator_has_none(tmp_path: Path) -> None:
    """torch.library's operators take numbers, which have no gradient: the module says so."""
    text = written(tmp_path, "", "alpha.item()", "--wrapper", "triton_op")
    assert "dalpha" not in text
    assert "`alpha` of `scaled` has no gradient: an operator takes a number." in text
    asked = written(tmp_path, "", "alpha.item()", "--wrapper", "triton_op", "--wrt", "alpha")
    assert "`scaled` is no operator: its `alpha` is a number, which has no gradient" in asked
    assert "triton_op(" not in asked
    assert "an operator takes" not in written(tmp_path, "", "0.5", "--wrapper", "triton_op")


def test_a_written_module_is_understood(tmp_path: Path) -> None:
    """Its Function takes tensors for numbers: the same backward is derived of the module itself."""
    text = written(tmp_path, "", "alpha.item() * limit.item()")
    path = tmp_path / "module.py"
    path.write_text(text)
    again = module_text(path)
    start = text.index("def scaled_backward(")
    kernel = text[start : text.index("class ScaledFunction")]
    assert "dalpha_ptr" in kernel
    assert kernel.strip() in again


def test_a_wrong_sum_is_refuted(runner: Runner) -> None:
    """The proof compares the sum of what programs stored, and names the scalar with its derivative."""
    proof = proof_of("scalars:reciprocals")
    source = proof["backward"]["source"]
    wrong = source.replace("dalpha_ptr + program, dalpha", "dalpha_ptr + program, 2.0 * dalpha")
    assert wrong != source
    answer = runner.ask(
        "gradcheck",
        {**proof, "backward": {**proof["backward"], "source": wrong}, "max_seconds": 20},
    )
    assert answer["status"] == "failed"
    assert "alpha" in answer["reason"]
    (worst,) = [entry["worst"] for entry in answer["inputs"] if entry["name"] == "alpha"]
    assert worst["index"] == []
    assert worst["actual"] == pytest.approx(2 * worst["expected"])


def test_asked_for_by_name(tmp_path: Path) -> None:
    """`--wrt` gives it whatever the launcher passes, to those who launch the kernel themselves."""
    text = written(tmp_path, "", "0.5", "--wrt", "alpha", "--wrapper", "none")
    assert "# dalpha_ptr: float32 zeros, one a program; the gradient is their sum" in text
    assert "tl.store(dalpha_ptr + program, " in text
    assert "dx_ptr" not in text


REFUSED = """import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def gamma(x_ptr, y_ptr, alpha, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = libdevice.lgamma(alpha + 1.0)
    tl.store(y_ptr + i, a * tl.load(x_ptr + i, mask=i < n), mask=i < n)


def run(x, alpha):
    y = torch.empty_like(x)
    gamma[(triton.cdiv(x.numel(), 64),)](x, y, alpha.item(), x.numel(), BLOCK=64)
    return y
"""


def test_a_scalar_without_a_rule_is_left_out(tmp_path: Path) -> None:
    """It does not stand in the way of the tensors; asked for by name, it is refused where the rule is missing."""
    path = tmp_path / "gamma.py"
    path.write_text(REFUSED)
    text = module_text(path)
    assert "dx_ptr" in text
    assert "dalpha" not in text
    assert "alpha.item()" in text
    run = tad("--backward", path, "--wrt", "alpha")
    assert run.returncode == 1
    assert "gamma.py:10" in run.stderr
    assert "`libdevice.lgamma` has no derivative" in run.stderr


@pytest.mark.parametrize(("name", "reason"), [("n", "whole number"), ("BLOCK", "constexpr")])
def test_asked_for_what_has_none(name: str, reason: str, tmp_path: Path) -> None:
    """An input by name that no gradient can have."""
    path = tmp_path / "gamma.py"
    path.write_text(REFUSED)
    run = tad("--backward", path, "--wrt", f"x_ptr,{name}")
    assert run.returncode == 2
    assert f"--wrt: `{name}` " in run.stderr
    assert reason in run.stderr


TWO = """import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def first(x, out, alpha, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * alpha, mask=i < n)


@triton.jit
def second(x, out, {parameter}, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * {factor}, mask=i < n)


def run(x, alpha, beta):
    a, b, c = torch.empty_like(x), torch.empty_like(x), torch.empty_like(x)
    n = x.numel()
    scale = alpha.item()
    first[(triton.cdiv(n, 32),)](x, a, {passed}, n, BLOCK=32)
    first[(triton.cdiv(n, 32),)](x, b, beta.item(), n, BLOCK=32)
    second[(triton.cdiv(n, 32),)](x, c, scale, n, BLOCK=32)
    return a, b, c
"""
# The second kernel's parameter, what it does with it, and why that has no gradient.
LOST = [
    ("scale", "libdevice.lgamma(scale + 1.0)", "`libdevice.lgamma` has no derivative"),
    ("scale: tl.constexpr", "scale", "it is a constexpr"),
    ("scale", "(tl.arange(0, BLOCK) // scale)", "the kernel takes it for a whole number"),
]


def two(folder: Path, parameter: str, factor: str, passed: str = "scale") -> Path:
    """A file whose launcher passes one tensor's number to two kernels."""
    path = folder / "two.py"
    path.write_text(TWO.format(parameter=parameter, factor=factor, passed=passed))
    return path


@pytest.mark.parametrize(("parameter", "factor", "why"), LOST)
def test_a_part_that_is_missing_cuts_the_tensor(
    parameter: str, factor: str, why: str, tmp_path: Path
) -> None:
    """A tensor whose number also goes where it has no gradient stays a number everywhere, and the module says why."""
    text = module_text(two(tmp_path, parameter, factor))
    assert "`scale` of `second` has no gradient, so `alpha` stays a number in `run`: " + why in text
    assert "x, a, scale, n, 32)" in text
    assert "x, b, beta, n, 32)" in text


def test_tensors_of_one_number_are_cut_together(tmp_path: Path) -> None:
    """Where one factor's gradient would lack a part, the product is a number, and so is the other factor elsewhere."""
    text = module_text(two(tmp_path, *LOST[0][:2], passed="alpha.item() * beta.item()"))
    assert "`beta` stays a number in `run`" in text
    assert "x, b, beta.item(), n, 32)" in text


def test_all_parts_are_there(tmp_path: Path) -> None:
    """Kernels that have a gradient each get the tensor."""
    text = module_text(two(tmp_path, "scale", "tl.exp(scale)"))
    assert "stays a number" not in text
    assert "x, a, alpha, n, 32)" in text
    assert "x, c, alpha, n, 32)" in text


def test_asked_for_by_one_name_of_two(tmp_path: Path) -> None:
    """The part that was not asked for is missing: the launcher is not written, and the line is named."""
    text = tad(
        "--backward", two(tmp_path, "scale", "tl.exp(scale)"), "--wrt", "alpha,x", "--no-proof"
    ).stdout
    assert "def run(" not in text
    assert "the gradient of `alpha` at line 23 would lack the part of `scale` of `second`" in text


CUT = """import triton
import triton.language as tl


# tad: n=70, ratio=2.75, x=f32[n], out=f32[n], BLOCK=32, grid=(3,)
@triton.jit
def cut_to_whole(x, out, ratio, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n)
    tl.store(out + i, a * ratio.to(tl.int32), mask=i < n)


# tad: n=70, ratio=1.75, RATIO=1.5, x=f32[2 * n], out=f32[n], BLOCK=32, grid=(3,)
@triton.jit
def sums_cut_to_whole(x, out, ratio, n, RATIO: tl.constexpr, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    i = program * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i * ratio.to(tl.int32), mask=i < n)
    whole = (ratio + program + ratio).to(tl.int32) + (program * RATIO).to(tl.int32)
    tl.store(out + i, a * a * whole, mask=i < n)
"""


def test_numbers_cut_to_whole_ones_may_be_real(tmp_path: Path) -> None:
    """A cast to an integer does not make its operand one: the backward casts as the kernel does."""
    path = tmp_path / "cut.py"
    path.write_text(CUT)
    run = tad("--check", "--grad", path)
    assert "2 forward kernels: 2 proved" in run.stdout + run.stderr
    text = module_text(path)
    assert "grad * ratio.to(tl.int32)" in text
    assert "(ratio + program + ratio).to(tl.int32) + (program * RATIO).to(tl.int32)" in text
