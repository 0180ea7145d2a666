"""The Python around the emitted kernels: grids, names, the order of statements, and launches that nobody can follow."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import ROOT, tad
from tests.support.worker import Worker
from tests.triton.interpret import call_function

RUFF = ROOT / ".venv" / "bin" / "ruff"
HEAD = """import functools
import torch
import triton
import triton.language as tl


"""


def kernel(name: str = "square", value: str = "a * a", parameters: str = "o, x, n") -> str:
    """A kernel that stores `value` of each `a` of `x`."""
    return f"""@triton.jit
def {name}({parameters}, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(o + i, {value}, mask=i < n)


"""


def written(folder: Path, text: str, status: int = 0) -> str:
    """The module for a file with that text."""
    source = folder / "source.py"
    source.write_text(text)
    run = tad("--backward", source, "--no-proof")
    assert run.returncode == status, run.stderr
    return run.stdout


def undefined(text: str, folder: Path) -> str:
    """What ruff says of names that a module does not define, or defines twice."""
    (folder / "written.py").write_text(text)
    command = [RUFF, "check", "--isolated", "--select", "F811,F821,F823", folder / "written.py"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return run.stdout if run.returncode else ""


def gradient_of(text: str, function: str, interpreter: Worker, n: int = 7) -> np.ndarray:
    """Of the sum of the function's results at 0.1, 0.2, ..."""
    x = np.arange(1, n + 1) / 10
    outputs = call_function(text, function, [x], worker=interpreter).outputs
    ones = [np.ones_like(o) for o in outputs]
    call = call_function(text, function, [x], wrt=[0], grad_outputs=ones, worker=interpreter)
    assert call.gradients[0] is not None
    return call.gradients[0]


LATE_GRIDS = {
    "a lambda over a variable": """def run(x):
    results = []
    for n in (7, 1):
        o = torch.empty_like(x)
        square[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](o, x, x.numel() * n // n, BLOCK=2)
        results.append(o[:n])
    return results[0]
""",
    "a function": """def run(x):
    n = x.numel()

    def grid(meta):
        return (triton.cdiv(n, meta["BLOCK"]),)

    o = torch.empty_like(x)
    square[grid](o, x, n, BLOCK=2)
    n = 1
    return o
""",
    "a list": """def run(x):
    o = torch.empty_like(x)
    grid = [triton.cdiv(x.numel(), 2)]
    square[grid](o, x, x.numel(), BLOCK=2)
    grid[0] = 1
    return o
""",
    "a method": """class Run:
    def grid(self, meta):
        return (triton.cdiv(self.n, meta["BLOCK"]),)

    def __call__(self, x):
        self.n = x.numel()
        o = torch.empty_like(x)
        square[self.grid](o, x, self.n, BLOCK=2)
        self.n = 1
        return o


def run(x):
    return Run()(x)
""",
}


@pytest.mark.parametrize("launcher", LATE_GRIDS)
def test_the_grid_is_that_of_the_forward(
    launcher: str, tmp_path: Path, interpreter: Worker
) -> None:
    """What it is computed from has changed by the time of the backward."""
    text = written(tmp_path, HEAD + kernel() + LATE_GRIDS[launcher])
    x = np.arange(1, 8) / 10
    np.testing.assert_allclose(gradient_of(text, "run", interpreter), 2 * x, rtol=1e-6)


TUNED = """@triton.autotune(configs=[triton.Config({"BLOCK": 2}), triton.Config({"BLOCK": 4})], key=["n"])
"""


def test_the_grid_of_a_tuned_kernel(tmp_path: Path, interpreter: Worker) -> None:
    """There is one for each configuration."""
    launcher = LATE_GRIDS["a function"].replace(", BLOCK=2)", ")")
    text = written(tmp_path, HEAD + TUNED + kernel() + launcher)
    x = np.arange(1, 8) / 10
    np.testing.assert_allclose(gradient_of(text, "run", interpreter), 2 * x, rtol=1e-6)


def test_a_grid_of_numbers_is_saved_as_it_is(tmp_path: Path) -> None:
    """The plain case stays plain."""
    launcher = """def run(x):
    o = torch.empty_like(x)
    grid = (triton.cdiv(x.numel(), 2),)
    square[grid](o, x, x.numel(), BLOCK=2)
    square[(4,)](o, x, x.numel(), BLOCK=2)
    square[4,](o, x, x.numel(), BLOCK=2)
    return o
"""
    text = written(tmp_path, HEAD + kernel() + launcher)
    assert "_grid_now" not in text
    assert "square[grid](o=o, x=x, n=n, BLOCK=BLOCK)" in text


LAUNCH = """def run(x):
    o = torch.empty_like(x)
    {name}[({grid},)](o, x, x.numel(){more}, BLOCK=8)
    return o
"""


@pytest.mark.parametrize(
    "parameters",
    ["ctx", "options", "given", "square", "results", "cls", "read", "square_backward"],
)
def test_parameters_of_any_name(parameters: str, tmp_path: Path, interpreter: Worker) -> None:
    """Nothing of the generated class stands in their way."""
    value = f"a * a * {parameters}"
    text = HEAD + kernel("square", value, f"o, x, n, {parameters}")
    launch = LAUNCH.format(name="square", grid="1", more=", 3")
    for launcher in (launch, launch.replace("(1,)", "lambda meta: (1,)")):
        module = written(tmp_path, text + launcher)
        x = np.arange(1, 8) / 10
        np.testing.assert_allclose(gradient_of(module, "run", interpreter), 6 * x, rtol=1e-6)


def test_two_kernels_whose_classes_would_share_a_name(tmp_path: Path, interpreter: Worker) -> None:
    """`_act` and `act`, and a class that the author has."""
    launcher = """class ActFunction:
    pass


def run(x, ActFunction2=None):
    o, p = torch.empty_like(x), torch.empty_like(x)
    _act[(1,)](o, x, x.numel(), BLOCK=8)
    act[(1,)](p, x, x.numel(), BLOCK=8)
    return o, p
"""
    text = written(tmp_path, HEAD + kernel("_act") + kernel("act", "a * 5") + launcher)
    x = np.arange(1, 8) / 10
    np.testing.assert_allclose(gradient_of(text, "run", interpreter), 2 * x + 5, rtol=1e-6)


def test_helpers_that_the_author_has(tmp_path: Path, interpreter: Worker) -> None:
    """Those of the module have other names then."""
    own = """def _gradient_buffer(scale):
    return scale


def _stride_of(x):
    return 2


"""
    launcher = LAUNCH.format(name="square", grid="_gradient_buffer(_stride_of(x))", more="")
    text = written(tmp_path, HEAD + own + kernel() + launcher)
    x = np.arange(1, 8) / 10
    np.testing.assert_allclose(gradient_of(text, "run", interpreter), 2 * x, rtol=1e-6)
    assert text.count("def _stride_of") == 1


def test_a_backward_that_the_author_has(tmp_path: Path, interpreter: Worker) -> None:
    """Two kernels, two names."""
    launchers = LAUNCH.format(name="square", grid="1", more="") + "\n\n"
    launchers += launchers.replace("run", "other").replace("square", "square_backward")
    text = written(tmp_path, HEAD + kernel() + kernel("square_backward", "a * 3") + launchers)
    names = [n.name for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)]
    assert len(names) == len(set(names))
    x = np.arange(1, 8) / 10
    np.testing.assert_allclose(gradient_of(text, "run", interpreter), 2 * x, rtol=1e-6)
    np.testing.assert_allclose(gradient_of(text, "other", interpreter), 3 + 0 * x, rtol=1e-6)


def test_a_gradient_is_differentiable_once(tmp_path: Path) -> None:
    """Launches have no derivative in autograd's eyes: a second backward must raise."""
    text = written(tmp_path, HEAD + kernel() + LAUNCH.format(name="square", grid="1", more=""))
    backward = next(
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and node.name == "backward"
    )
    assert ast.unparse(backward.body[-1]).startswith("return _first_order((x, do), None, None, dx")
    assert "raise RuntimeError" in text


ORDERED = (
    """import sys

import torch

sys.path.append("beside")
torch.set_grad_enabled(True)
DOUBLE = 2
if DOUBLE == 2:
    SIZES = [4]
SIZES.append(DOUBLE * 4)
for size in (16, 32):
    SIZES += [size]
TABLE = {}
TABLE["n"] = len(SIZES)

import triton
import triton.language as tl


"""
    + kernel()
    + """DOUBLE = 3
print("not this")


def run(x):
    o = torch.empty_like(x)
    square[(1,)](o, x, x.numel(), BLOCK=SIZES[TABLE["n"] - 3])
    return o


if __name__ == "__main__":
    x = torch.rand(8)
    print(run(x))
"""
)


def test_statements_keep_their_order(tmp_path: Path, interpreter: Worker) -> None:
    """Also those that change what others made; what is there to be run is not."""
    text = written(tmp_path, ORDERED)
    places = [text.index(line) for line in ORDERED.splitlines()[:18] if line]
    assert places == sorted(places)
    assert "__main__" not in text and "print" not in text
    x = np.arange(1, 8) / 10
    np.testing.assert_allclose(gradient_of(text, "run", interpreter), 2 * x, rtol=1e-6)


# What launches `square` in `launch_square(o, x)`, in a way that is not followed.
UNSEEN = {
    "lambda": "launch_square = lambda o, x: square[(1,)](o, x, x.numel(), BLOCK=8)\n",
    "partial": "launch_square = functools.partial(square[(1,)], n=8, BLOCK=8)\n",
    "partial in a function": "def launch_square(o, x):\n    functools.partial(square[(1,)], o, x)(8, BLOCK=8)\n",
    "registry": 'REGISTRY = {"square": square}\n\n\ndef launch_square(o, x):\n'
    '    REGISTRY["square"][(1,)](o, x, 8, BLOCK=8)\n',
    "registry that is filled": "REGISTRY = {}\nREGISTRY[1] = square\n\n\ndef launch_square(o, x):\n"
    "    REGISTRY[1][(1,)](o, x, 8, BLOCK=8)\n",
    "list": "KERNELS = [square]\n\n\ndef launch_square(o, x):\n"
    "    for k in KERNELS:\n        k[(1,)](o, x, 8, BLOCK=8)\n",
    "chosen": "def launch_square(o, x, other=None):\n"
    "    k = square if other is None else other\n    k[(1,)](o, x, 8, BLOCK=8)\n",
    "argument": "def start(k, *arguments):\n    k[(1,)](*arguments, BLOCK=8)\n\n\n"
    "def launch_square(o, x, other=square):\n    start(other, o, x, 8)\n",
    "attribute": "class Holder:\n    def __init__(self):\n        self.k = square\n\n"
    "    def start(self, o, x):\n        self.k[(1,)](o, x, 8, BLOCK=8)\n\n\nHOLDER = Holder()\n\n\n"
    "def launch_square(o, x):\n    HOLDER.start(o, x)\n",
    "getattr": "import sys\n\n\ndef launch_square(o, x):\n    grid = (1,)\n"
    '    getattr(sys.modules[__name__], "square")[grid](o, x, 8, BLOCK=8)\n',
    "another file": "from beside import launch_square\n",
    "a kernel of another file": "from beside import square as other\n\n\ndef launch_square(o, x):\n"
    "    other[(1,)](o, x, 8, BLOCK=8)\n",
    "a kernel of a file that is not there": "from nowhere import square as other\n\n\n"
    "def launch_square(o, x):\n    grid = (1,)\n    other[grid](o, x, 8, BLOCK=8)\n",
    "a module": "import beside\n\n\ndef launch_square(o, x):\n    beside.square[(1,)](o, x, 8, BLOCK=8)\n",
}


@pytest.mark.parametrize("way", UNSEEN)
def test_a_launcher_of_such_launches_alone_is_named(way: str, tmp_path: Path) -> None:
    """Also where nothing else of the file launches: no exit status of 0 without a word."""
    beside = HEAD + kernel() + "def launch_square(o, x):\n    square[(1,)](o, x, 8, BLOCK=8)\n"
    (tmp_path / "beside.py").write_text(beside)
    source = tmp_path / "source.py"
    run = "\n\ndef run(x):\n    o = torch.empty_like(x)\n    launch_square(o, x)\n    return o\n"
    source.write_text(HEAD + kernel() + UNSEEN[way] + run)
    result = tad("--backward", source, "--no-proof")
    assert result.returncode == 1
    assert re.search(r":\d+:\d+: .*gradient-launcher-left-out. `run`", result.stderr), result.stderr


@pytest.mark.parametrize("way", UNSEEN)
@pytest.mark.parametrize("in_package", [False, True])
def test_launches_that_are_not_followed(way: str, in_package: bool, tmp_path: Path) -> None:
    """A launcher that would lack their gradients is left out, is said so, and the exit status is 1."""
    launcher = """

def run(x):
    o, p = torch.empty_like(x), torch.empty_like(x)
    cube[(1,)](p, x, x.numel(), BLOCK=8)
    launch_square(o, x)
    return o + p


def safe(x):
    p = torch.empty_like(x)
    cube[(1,)](p, x, x.numel(), BLOCK=8)
    return p


def caller(x):
    return run(x) * 2
"""
    beside = HEAD + kernel() + "def launch_square(o, x):\n    square[(1,)](o, x, 8, BLOCK=8)\n"
    (tmp_path / "beside.py").write_text(beside)
    if in_package:
        (tmp_path / "__init__.py").touch()
    source = tmp_path / "source.py"
    source.write_text(HEAD + kernel() + kernel("cube", "a * a * a") + UNSEEN[way] + launcher)
    run = tad("--backward", source, "--no-proof")
    assert run.returncode == 1
    assert "gradient-launcher-left-out" in run.stderr and "`run`" in run.stderr
    tree = ast.parse(run.stdout)
    names = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
    assert "safe" in names and not names & {"run", "caller"}
    assert "`run` is left out: " in (ast.get_docstring(tree) or "")


# What looks like such launches, and is none.
SEEN = {
    "table of functions": 'TABLE = {"exp": torch.exp}\n\n\ndef after(x, name="exp"):\n    return TABLE[name](x)\n',
    "list of functions": "def after(x):\n    return [torch.exp, torch.sin][0](x)\n",
    "alias": "second = square\n\n\ndef after(x):\n    o = torch.empty_like(x)\n"
    "    second[(1,)](o, x, x.numel(), BLOCK=8)\n    return o\n",
    "the name that is bound again": "again = other\n\n\ndef other(x):\n    o = torch.empty_like(x)\n"
    "    again[(1,)](o, x, x.numel(), BLOCK=8)\n    return o\n\n\ndef after(x):\n    return other(x)\n",
    "name": "def after(x):\n    o = torch.empty_like(x)\n    run = square[(1,)]\n"
    "    run(o, x, x.numel(), BLOCK=8)\n    return o\n",
    "chosen": "def after(x, cubic=False):\n    o = torch.empty_like(x)\n"
    "    k = other if cubic else square\n    k[(1,)](o, x, x.numel(), BLOCK=8)\n    return o\n",
    "argument": "def start(k, *arguments):\n    k[(1,)](*arguments, BLOCK=8)\n\n\n"
    "def after(x):\n    o = torch.empty_like(x)\n    start(square, o, x, x.numel())\n    return o\n",
    "best configuration": "def after(x):\n    square.device_caches\n    return torch.exp(x)\n",
    "function of another file": "from beside import plain as after\n",
    "under if": "if True:\n    def after(x):\n        o = torch.empty_like(x)\n"
    "        square[(1,)](o, x, x.numel(), BLOCK=8)\n        return o\n",
}


@pytest.mark.parametrize("way", SEEN)
def test_what_is_followed(way: str, tmp_path: Path) -> None:
    """It is written, with nothing on stderr."""
    (tmp_path / "beside.py").write_text(
        "import torch\n\n\ndef plain(x):\n    return torch.exp(x)\n"
    )
    launcher = """

def run(x):
    p = torch.empty_like(x)
    cube[(1,)](p, x, x.numel(), BLOCK=8)
    return after(p)
"""
    text = written(
        tmp_path,
        HEAD + kernel() + kernel("cube", "a * a * a") + kernel("other") + SEEN[way] + launcher,
    )
    assert "def run(x)" in text and "square[(1,)](" not in text
    assert "again[(1,)](" not in text
    assert not undefined(text, tmp_path)


TUNED_WAYS = {
    "an alias of autotune": 'tune = triton.autotune(configs=[triton.Config({"BLOCK": 4})], key=["n"])\n\n\n'
    "KERNEL\nsquare_tuned = tune(square)\n",
    "a decorator of that name": 'tune = triton.autotune(configs=[triton.Config({"BLOCK": 4})], key=["n"])\n\n\n'
    "@tune\nKERNEL\nsquare_tuned = square\n",
    "a function": "def tune(kernel):\n"
    '    return triton.autotune(configs=[triton.Config({"BLOCK": 4})], key=["n"])(kernel)\n\n\n'
    "KERNEL\nsquare_tuned = tune(square)\n",
    "calls": "KERNEL\n"
    'square_tuned = triton.autotune([triton.Config({"BLOCK": 4})], ["n"])(square)\n',
    "heuristics and an alias": 'tune = triton.autotune(configs=[triton.Config({})], key=["n"])\n\n\n'
    '@triton.heuristics({"BLOCK": lambda args: 4})\nKERNEL\nsquare_tuned = tune(square)\n',
    "heuristics that read the output": '@triton.heuristics({"BLOCK": lambda args: 4 + 0 * args["o"].numel()})\n'
    "KERNEL\nsquare_tuned = square\n",
    "named heuristics that read the output": "def block(args):\n"
    '    return 4 if args["o"] is not None else 0\n\n\nRULES = {"BLOCK": block}\n\n\n'
    "@triton.heuristics(RULES)\nKERNEL\nsquare_tuned = square\n",
    "a hook that clears the output": "def clear(nargs):\n"
    '    nargs["o"].zero_()\n\n\n'
    '@triton.autotune(configs=[triton.Config({"BLOCK": 4}, pre_hook=clear)], key=["n"])\n'
    "KERNEL\nsquare_tuned = square\n",
    "a function that prunes": "def prune(configs, named_args, **kwargs):\n"
    '    assert named_args["o"].numel() == named_args["n"]\n'
    '    return [c for c in configs if c.kwargs["BLOCK"] == 4]\n\n\n'
    '@triton.autotune(configs=[triton.Config({"BLOCK": 3}), triton.Config({"BLOCK": 4})], key=["n"],\n'
    '                 prune_configs_by={"early_config_prune": prune})\n'
    "KERNEL\nsquare_tuned = square\n",
}


@pytest.mark.parametrize("way", TUNED_WAYS)
@pytest.mark.parametrize("value", ["a * a", "tl.exp(a)"])
def test_decorators_keep_their_meaning(
    way: str, value: str, tmp_path: Path, interpreter: Worker
) -> None:
    """Wrappers by other names, hooks, and functions that look at the launch."""
    launcher = """

def run(x):
    o = torch.empty_like(x)
    n = x.numel()
    square_tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](o, x, n)
    return o
"""
    text = written(
        tmp_path, HEAD + TUNED_WAYS[way].replace("KERNEL\n", kernel(value=value)) + launcher
    )
    x = np.arange(1, 8) / 10
    want = 2 * x if value == "a * a" else np.exp(x)
    np.testing.assert_allclose(gradient_of(text, "run", interpreter), want, rtol=1e-6)
    assert not undefined(text, tmp_path)


TUNED_BY_BUCKET = {
    "a decorator": '@triton.autotune([triton.Config({"BLOCK": 4})], key=["bucket"])\nKERNEL\ntuned = square\n',
    "a call": 'KERNEL\ntuned = triton.autotune([triton.Config({"BLOCK": 4})], key=["bucket"])(square)\n',
    "an alias": 'tune = triton.autotune([triton.Config({"BLOCK": 4})], key=["bucket"])\n\n\n'
    "KERNEL\ntuned = tune(square)\n",
    "a list by name": 'KEYS = ["bucket"]\n\n\n'
    'KERNEL\ntuned = triton.autotune([triton.Config({"BLOCK": 4})], key=KEYS)(square)\n',
    "a function": "def tune(kernel):\n"
    '    return triton.autotune(configs=[triton.Config({"BLOCK": 4})], key=["bucket"])(kernel)\n\n\n'
    "KERNEL\ntuned = tune(square)\n",
}


@pytest.mark.parametrize("way", TUNED_BY_BUCKET)
def test_a_key_that_the_kernel_does_not_read(way: str, tmp_path: Path, interpreter: Worker) -> None:
    """Triton refuses a tuner whose key is no parameter of its kernel."""
    launcher = """

def run(x):
    o = torch.empty_like(x)
    n = x.numel()
    tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](o, x, n, n // 32)
    return o
"""
    keyed = kernel().replace("(o, x, n, ", "(o, x, n, bucket, ")
    assert "bucket" in keyed
    text = written(tmp_path, HEAD + TUNED_BY_BUCKET[way].replace("KERNEL\n", keyed) + launcher)
    x = np.arange(1, 8) / 10
    np.testing.assert_allclose(gradient_of(text, "run", interpreter), 2 * x, rtol=1e-6)


NESTED = """def {name}(x, power={power}):
    config = [triton.Config({{"BLOCK": 2 * power}})]

    @triton.autotune(configs=config, key=["n"])
    @triton.jit
    def inner(o, x, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        a = tl.load(x + i, mask=i < n, other=0.0)
        tl.store(o + i, {value}, mask=i < n)

    o = torch.empty_like(x)
    n = x.numel()
    inner[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](o, x, n)
    return o


"""


def test_kernels_of_one_name_in_two_functions(tmp_path: Path, interpreter: Worker) -> None:
    """Each has its own backward beside it, with the configurations that are there."""
    functions = NESTED.format(name="square", power=2, value="a * a")
    functions += NESTED.format(name="cube", power=1, value="a * a * a")
    text = written(tmp_path, HEAD + functions)
    x = np.arange(1, 8) / 10
    np.testing.assert_allclose(gradient_of(text, "square", interpreter), 2 * x, rtol=1e-6)
    np.testing.assert_allclose(gradient_of(text, "cube", interpreter), 3 * x * x, rtol=1e-6)
    assert not undefined(text, tmp_path)


def test_functions_with_a_gradient_of_their_own(tmp_path: Path) -> None:
    """They, what calls them and what passes them on are left out, and each is said with its line."""
    own = """class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        o = torch.empty_like(x)
        square[(1,)](o, x, x.numel(), BLOCK=8)
        ctx.save_for_backward(x)
        return o

    @staticmethod
    def backward(ctx, do):
        return 2 * do * ctx.saved_tensors[0]


apply = Own.apply


def run(x):
    return apply(x)


def forward_of(x):
    o = torch.empty_like(x)
    square[(1,)](o, x, x.numel(), BLOCK=8)
    return o


class Outer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return forward_of(x)

    @staticmethod
    def backward(ctx, do):
        return do


class Layer(torch.nn.Module):
    def forward(self, x):
        return Outer.apply(x)


def report(x):
    print(run(x), Outer.apply(x))
"""
    source = tmp_path / "source.py"
    source.write_text(HEAD + kernel() + own)
    run = tad("--backward", source, "--no-proof")
    assert run.returncode == 1
    said = re.findall(r"`(\w+)` is not in the written module: (.*)", run.stderr)
    own_gradient = "it is an autograd.Function with a backward of its own"
    assert said == [
        ("Own", own_gradient),
        ("Outer", own_gradient),
        ("run", "it calls `apply`"),
        ("Layer", "it calls `Outer`"),
    ]
    text = run.stdout
    assert "class SquareFunction" in text and "def run" not in text


def test_a_statement_that_is_left_out_is_called_by_its_first_line(tmp_path: Path) -> None:
    """A loop at module level that launches what nobody can follow, however long it is."""
    script = """
kernels = {"square": square}
for chosen in kernels:
    value = torch.ones(8)
    kernels[chosen][(1,)](torch.empty_like(value), value, 8, BLOCK=8)
"""
    source = tmp_path / "source.py"
    source.write_text(HEAD + kernel() + script)
    run = tad("--backward", source, "--no-proof")
    assert run.returncode == 1
    assert "`for chosen in kernels:` is not in the written module" in run.stderr
    assert "torch.ones" not in run.stderr


def test_names_of_a_function_are_its_own(tmp_path: Path) -> None:
    """A script binds `o` and `x` as well: the launcher's own `o` and `x` are no names of the script."""
    script = """
kernels = {"square": square}
for chosen in kernels:
    x = torch.ones(8)
    o = torch.empty_like(x)
    kernels[chosen][(1,)](o, x, 8, BLOCK=8)
"""
    launch = LAUNCH.format(name="square", grid="1", more="")
    text = written(tmp_path, HEAD + kernel() + launch + script, status=1)
    assert "def run(x)" in text and "SquareFunction.apply" in text


def test_a_parameter_with_a_kernels_name_makes_it_no_helper(tmp_path: Path) -> None:
    """`n` is a kernel of the file, which nothing launches there, and a number in another one."""
    text = written(
        tmp_path,
        HEAD + kernel("n", parameters="o, x, count").replace("i < n", "i < count") + kernel(),
    )
    assert "class NFunction" in text and "class SquareFunction" in text


def test_a_function_that_makes_launchers(tmp_path: Path, interpreter: Worker) -> None:
    """What a call of it gives launches, and so does what calls that: all of it is written."""
    made = """def make(factor):
    def launch(x):
        o = torch.empty_like(x)
        square[(1,)](o, x, x.numel(), BLOCK=8)
        return o * factor

    return {"launch": launch}


def pick(made):
    return made["launch"]


doubled = make(2)
RUNS = [make(3), make(4)]


def run(x):
    return pick(doubled)(x) + pick(RUNS[1])(x)
"""
    text = written(tmp_path, HEAD + kernel() + made)
    x = np.arange(1, 8) / 10
    np.testing.assert_allclose(gradient_of(text, "run", interpreter), 12 * x, rtol=1e-6)


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_decorators_that_switch_gradients_off(mode: str, tmp_path: Path) -> None:
    """A function is written without them, with a word and exit status 1; a class that has one in it is left out."""
    launch = f"""@torch.{mode}()
def scales(x):
    o = torch.empty_like(x)
    square[(1,)](o, x, x.numel(), BLOCK=8)
    return o


class Layer:
    @torch.{mode}()
    def scales(self, x):
        o = torch.empty_like(x)
        square[(1,)](o, x, x.numel(), BLOCK=8)
        return o
"""
    source = tmp_path / "source.py"
    source.write_text(HEAD + kernel() + launch)
    run = tad("--backward", source, "--no-proof")
    assert run.returncode == 1
    said = sorted(line for line in run.stderr.splitlines() if "gradient-" in line)
    assert len(said) == 2
    assert f"`scales` launches `square` with gradients, without `torch.{mode}()`" in said[0]
    assert "`Layer` is not in the written module: it launches under torch.no_grad" in said[1]
    assert "def scales(x)" in run.stdout and "class Layer" not in run.stdout


JOINED = """import math
from typing import Optional, List
import torch
import triton, triton.language as tl
from torch import Tensor


{square}
def size(x: Tensor) -> Optional[int]:
    return math.prod(x.shape)


import torch
import triton
import triton.language as tl
from typing import Optional, Tuple as Pair
from torch import Tensor
{between}import math


def run(x: Tensor) -> Optional[Pair]:
    o = torch.empty_like(x)
    square[(1,)](o, x, math.floor(size(x)), BLOCK=16)
    return o
"""


def test_a_file_that_was_put_together_imports_each_name_once(
    tmp_path: Path, interpreter: Worker
) -> None:
    """The second files' imports are left out, but for what is new, or was bound to something else since."""
    text = written(tmp_path, JOINED.format(square=kernel(), between=""))
    imports = [line for line in text.splitlines() if line.startswith(("import ", "from "))]
    assert imports == [
        "import math",
        "from typing import Optional, List",
        "import torch",
        "import triton, triton.language as tl",
        "from torch import Tensor",
        "from typing import Tuple as Pair",
    ]
    assert not undefined(text, tmp_path)
    assert gradient_of(text, "run", interpreter) == pytest.approx(np.arange(1, 8) / 5)
    text = written(tmp_path, JOINED.format(square=kernel(), between="math = None\n"))
    assert text.count("import math") == 2
