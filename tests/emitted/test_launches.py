"""Ways to write a launch; launchers that use a kernel in ways nobody follows lose no gradient in silence."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import tad
from tests.support.worker import Worker
from tests.triton.interpret import call_function

HEAD = """import functools

import torch
import triton
import triton.language as tl
from torch.library import triton_op, wrap_triton


@triton.jit
def square_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, x * tl.math.exp(x), mask=i < n)


def fine(x):
    y = torch.empty_like(x)
    square_kernel[(triton.cdiv(x.numel(), 16),)](x, y, x.numel(), BLOCK=16)
    return y


"""
TWO_TUNERS = """TUNED = True
if TUNED:
    FEW = [triton.Config({"BLOCK": 16})]
    MANY = [triton.Config({"BLOCK": 32})]

    @triton.jit
    def tuned_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n)
        tl.store(y_ptr + i, x * tl.math.exp(x), mask=i < n)

    small = triton.autotune(configs=FEW, key=["n"])(tuned_kernel)
    large = triton.autotune(configs=MANY, key=["n"])(tuned_kernel)


def launcher(x):
    y = torch.empty_like(x)
    n = x.numel()
    small[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    return y
"""
FOLLOWED = {
    "two_tuners": TWO_TUNERS,
    "named": """def launcher(x):
    n = x.numel()
    y = torch.empty_like(x)
    run = square_kernel[(triton.cdiv(n, 16),)]
    run(x, y, n, BLOCK=16)
    return y
""",
    "wrapped": """@triton_op("of::square", mutates_args={})
def launcher(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    wrap_triton(square_kernel)[(triton.cdiv(x.numel(), 16),)](x, y, x.numel(), 16)
    return y
""",
    "operator": """@torch.library.custom_op("of::other", mutates_args=())
def launcher(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    square_kernel[(triton.cdiv(x.numel(), 16),)](x, y, x.numel(), 16)
    return y


@launcher.register_fake
def _(x):
    return torch.empty_like(x)
""",
    "nothing to do": """def launcher(x):
    y = torch.empty_like(x)
    if x.numel() == 0:
        return y
    square_kernel[(triton.cdiv(x.numel(), 16),)](x, y, x.numel(), 16)
    return y
""",
    "handle": """def launcher(x):
    y = torch.empty_like(x)
    handle = square_kernel[(triton.cdiv(x.numel(), 16),)](x, y, x.numel(), 16)
    return y
""",
    # a function of the file that has the name of an operation in the kernel
    "homonym": """def launcher(x):
    return fine(x)


def exp(x):
    y = torch.empty_like(x)
    functools.partial(square_kernel[(1,)], BLOCK=16)(x, y, x.numel())
    return y
""",
}
LEFT_OUT = {
    # its Function launches the one of the two that comes last
    "other_tuner": TWO_TUNERS
    + "\n\ndef other"
    + TWO_TUNERS.split("def launcher")[1].replace("small", "large"),
    "partial": """def launcher(x):
    y = torch.empty_like(x)
    run = functools.partial(square_kernel[(triton.cdiv(x.numel(), 16),)], BLOCK=16)
    launch(square_kernel, x, y)
    return y
""",
    "run": """def launcher(x):
    y = torch.empty_like(x)
    square_kernel.run(x, y, x.numel(), BLOCK=16, grid=(1,), warmup=False)
    return y
""",
    "handle": """def launcher(x):
    y = torch.empty_like(x)
    handle = square_kernel[(triton.cdiv(x.numel(), 16),)](x, y, x.numel(), 16)
    return y, handle.n_regs
""",
    "names of another kernel": """def launcher(x):
    y = torch.empty_like(x)
    square_kernel[(triton.cdiv(x.numel(), 16),)](in_ptr=x, out_ptr=y, numel=x.numel(), BLOCK=16)
    return y
""",
    "bound again": """def launcher(x):
    n = 1
    y = torch.empty_like(x)
    run = square_kernel[(n,)]
    n = x.numel()
    run(x, y, n, BLOCK=16)
    return y
""",
    "table": """KERNELS = {"square": square_kernel}


def launcher(x, name):
    y = torch.empty_like(x)
    KERNELS[name][(1,)](x, y, x.numel(), BLOCK=16)
    return y
""",
    "caller": """def lost(x):
    y = torch.empty_like(x)
    square_kernel.run(x, y, x.numel(), BLOCK=16, grid=(1,), warmup=False)
    return y


def launcher(x):
    return fine(x) + lost(x)
""",
}


def module_of(path: Path, text: str, wrapper: str) -> str:
    """The module written for a text."""
    path.write_text(HEAD + text)
    return tad("--backward", "--no-proof", "--wrapper", wrapper, path).stdout


@pytest.mark.parametrize("wrapper", ["autograd", "triton_op"])
@pytest.mark.parametrize("name", FOLLOWED)
def test_followed(name: str, wrapper: str, tmp_path: Path, interpreter: Worker) -> None:
    """The written module is imported, and its launcher has the gradient."""
    text = module_of(tmp_path / "kernels.py", FOLLOWED[name], wrapper)
    x = np.linspace(-1, 1, 37, dtype=np.float32)
    upstream = np.cos(np.arange(37, dtype=np.float32))
    result = call_function(
        text, "launcher", [x], wrt=[0], grad_outputs=[upstream], worker=interpreter
    )
    expected = upstream * (1 + x) * np.exp(x)
    assert np.allclose(result.gradients[0], expected, atol=1e-5)  # type: ignore[arg-type]


HELD = """@triton.jit
def half_kernel(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = 2 * tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(o_ptr + i, x * x, mask=i < n)


def launcher(x, y):
    o = y.clone()
    half_kernel[(1,)](x, o, x.numel(), BLOCK=16)
    return o


def twice(x, y):
    o = torch.empty_like(x)
    square_kernel[(triton.cdiv(x.numel(), 16),)](y, o, x.numel(), BLOCK=16)
    half_kernel[(1,)](x, o, x.numel(), BLOCK=16)
    return o
"""


def test_operators_of_what_an_output_held(tmp_path: Path, interpreter: Worker) -> None:
    """What a kernel leaves of a tensor stays in the operator's result, and has its gradient."""
    text = module_of(tmp_path / "kernels.py", HELD, "triton_op")
    x, y = (np.linspace(-1, 1, 21), np.linspace(1, 2, 21))
    upstream = np.cos(np.arange(21))
    written = np.arange(21) % 2 == 0
    for name, of_y in (("launcher", 1), ("twice", (1 + y) * np.exp(y))):
        result = call_function(
            text, name, [x, y], wrt=[0, 1], grad_outputs=[upstream], worker=interpreter
        )
        held = y if name == "launcher" else y * np.exp(y)
        assert np.allclose(result.outputs[0], np.where(written, x * x, held))
        assert np.allclose(result.gradients[0], np.where(written, 2 * x * upstream, 0))
        assert np.allclose(result.gradients[1], np.where(written, 0, of_y * upstream))


def test_operators_say_which_numbers_have_no_gradient(tmp_path: Path) -> None:
    """A number that is read off a tensor: its gradient is missing, so the exit status is 1."""
    path = tmp_path / "kernels.py"
    path.write_text(
        HEAD
        + """@triton.jit
def scale_kernel(x_ptr, y_ptr, scale, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n) * scale, mask=i < n)


def scaled(x, alpha):
    y = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 16),)](x, y, alpha.item(), x.numel(), BLOCK=16)
    return y
"""
    )
    run = tad("--backward", "--no-proof", "--wrapper", "triton_op", path)
    assert run.returncode == 1
    assert (
        "warning[gradient-number-of-tensor] `scale` of `scale_kernel` has no gradient" in run.stderr
    )
    run = tad("--backward", "--no-proof", "--wrapper", "triton_op", "--wrt", "x_ptr", path)
    assert run.returncode == 0, run.stderr


def test_operators_look_at_views(tmp_path: Path, interpreter: Worker) -> None:
    """A flat kernel that gets a view with gaps reads between its elements: the operator says so, as a Function does."""
    text = module_of(tmp_path / "kernels.py", FOLLOWED["named"], "triton_op")
    text += "\n\ndef of_a_view(x):\n    return launcher(x[:, :3])\n"
    x = np.linspace(-1, 1, 24).reshape(4, 6)
    with pytest.raises(Exception, match="reads between the elements of a view"):
        call_function(
            text, "of_a_view", [x], wrt=[0], grad_outputs=[np.ones((4, 3))], worker=interpreter
        )


def test_operators_end_forward_mode(tmp_path: Path, interpreter: Worker) -> None:
    """PyTorch takes the forward-mode derivative of an operator to be 0: within such a level it raises."""
    text = module_of(tmp_path / "kernels.py", FOLLOWED["named"], "triton_op")
    text += """

def within_a_level(x):
    torch.autograd.forward_ad._current_level = 0
    try:
        return launcher(x)
    finally:
        torch.autograd.forward_ad._current_level = -1
"""
    x = np.linspace(-1, 1, 37, dtype=np.float32)
    with pytest.raises(Exception, match="a kernel launch has no forward-mode derivatives"):
        call_function(text, "within_a_level", [x], worker=interpreter)


@pytest.mark.parametrize("wrapper", ["autograd", "triton_op"])
@pytest.mark.parametrize("name", LEFT_OUT)
def test_left_out(name: str, wrapper: str, tmp_path: Path) -> None:
    """A launcher without gradients is no part of the module, which says so; the others are."""
    tree = ast.parse(module_of(tmp_path / "kernels.py", LEFT_OUT[name], wrapper))
    functions = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
    assert "fine" in functions
    assert not functions & {"launcher", "lost"}
    assert "`launcher` is left out: " in (ast.get_docstring(tree) or "")


@pytest.mark.parametrize("name", ["grid", "warmup", "device", "device_type", "stream"])
def test_no_launch_has_a_keyword_that_triton_takes(name: str, tmp_path: Path) -> None:
    """`kernel[grid](device=...)` is an error of Triton, whatever the kernel's parameters are called."""
    text = f"""@triton.jit
def scale_kernel(x_ptr, y_ptr, n, {name}, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n) * {name}, mask=i < n)


def launcher(x, factor):
    y = torch.empty_like(x)
    scale_kernel[(1,)](x, y, x.numel(), factor, BLOCK=64)
    return y
"""
    tree = ast.parse(module_of(tmp_path / "kernels.py", text, "autograd"))
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    launches = [call for call in calls if isinstance(call.func, ast.Subscript)]
    assert any("scale_kernel" in ast.unparse(call.func) for call in launches)
    assert name not in {keyword.arg for call in launches for keyword in call.keywords}
