"""A kernel that no launch of its file shows: numbers that its addresses step by may be strides, or a hop of frames.

The emitted Function looks at each call that is differentiated whether rows lie on each other, and raises; where it
cannot tell, the gradients are added up.  Each kernel is run under PyTorch with numbers of both kinds.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import tad
from tests.oracle.pool import PYTHON
from tests.support.worker import Worker
from tests.triton.interpret import InterpretFailure, call_function

ROOT = Path(__file__).resolve().parents[2]
# name: (parameters, body, arguments, what lies apart, what overlaps); x is read, y is stored
Kernel = tuple[str, str, dict[str, int], dict[str, int], dict[str, int]]
ROWS = "f = tl.program_id(0)\no = tl.arange(0, N)\n"
PIXELS = (
    "p, c = tl.program_id(0) * N + tl.arange(0, N), tl.arange(0, 2)\n"
    "inside = (p < count)[:, None] & (c < 2)[None, :]\n"
    "at = (p // width)[:, None] * row + (p % width)[:, None] * 2 + c[None, :]\n"
    "a = tl.load(x + at, mask=inside, other=0.0)\n"
    "tl.store(y + p[:, None] * 2 + c[None, :], a * a, mask=inside)"
)
KERNELS: dict[str, Kernel] = {
    "plain": (
        "x, y, hop, N: tl.constexpr",
        ROWS + "a = tl.load(x + f * hop + o)\ntl.store(y + f * N + o, a * a)",
        {"N": 8},
        {"hop": 8},
        {"hop": 2},
    ),
    "masked": (
        "x, y, hop, n, N: tl.constexpr",
        ROWS
        + "a = tl.load(x + f * hop + o, mask=o < n, other=0.0)\n"
        + "tl.store(y + f * n + o, a * a, mask=o < n)",
        {"N": 8, "n": 6},
        {"hop": 6},
        {"hop": 5},
    ),
    "backwards": (
        "x, y, hop, N: tl.constexpr",
        ROWS + "a = tl.load(x + 24 + f * hop + o)\ntl.store(y + f * N + o, a * a)",
        {"N": 8},
        {"hop": -8},
        {"hop": -3},
    ),
    "in_a_loop": (
        "x, y, hop, F, N: tl.constexpr",
        "o = tl.arange(0, N)\nfor f in range(F):\n"
        "    a = tl.load(x + f * hop + o)\n    tl.store(y + f * N + o, a * a)",
        {"N": 8, "F": 4},
        {"hop": 9},
        {"hop": 7},
    ),
    "under_a_flag": (
        "x, y, hop, N: tl.constexpr, TWICE: tl.constexpr",
        ROWS
        + "if TWICE:\n    a = tl.load(x + f * hop + o) * 2\n"
        + "else:\n    a = tl.load(x + f * hop + o)\ntl.store(y + f * N + o, a * a)",
        {"N": 8, "TWICE": 1},
        {"hop": 8},
        {"hop": 4},
    ),
    "masked_under_a_flag": (  # what the other side of the flag would touch is not asked about
        "x, y, hop, n, N: tl.constexpr, EVEN: tl.constexpr",
        ROWS
        + "if EVEN:\n    a = tl.load(x + f * hop + o)\n"
        + "else:\n    a = tl.load(x + f * hop + o, mask=o < n, other=0.0)\n"
        + "tl.store(y + f * n + o, a * a, mask=o < n)",
        {"N": 8, "n": 6, "EVEN": 0},
        {"hop": 6},
        {"hop": 5},
    ),
    "masked_where_it_is_shorter": (
        "x, y, hop, n: tl.constexpr, N: tl.constexpr, KEEP: tl.constexpr",
        ROWS
        + "if n < N and KEEP:\n    a = tl.load(x + f * hop + o, mask=o < n, other=0.0)\n"
        + "else:\n    a = tl.load(x + f * hop + o)\n"
        + "tl.store(y + f * n + o, a * a, mask=o < n)",
        {"N": 8, "n": 6, "KEEP": 1},
        {"hop": 6},
        {"hop": 5},
    ),
    "rows_further_apart": (
        "x, y, L, hop, N: tl.constexpr",
        "p, o = tl.program_id(0), tl.arange(0, N)\n"
        "a = tl.load(x + (p // 2) * (L + 1) * hop + (p % 2) * hop + o)\n"
        "tl.store(y + p * N + o, a * a)",
        {"N": 4, "hop": 4},
        {"L": 2},
        {"L": 0},
    ),
    "transposed": (
        "x, y, down, across, N: tl.constexpr",
        ROWS + "a = tl.load(x + f * down + o * across)\ntl.store(y + f * N + o, a * a)",
        {"N": 8},
        {"down": 1, "across": 4},
        {"down": 2, "across": 1},
    ),
    "flat": (
        "x, y, hop, width, total, N: tl.constexpr",
        "i = tl.program_id(0) * N + tl.arange(0, N)\n"
        "a = tl.load(x + i // width * hop + i % width, mask=i < total, other=0.0)\n"
        "tl.store(y + i, a * a, mask=i < total)",
        {"N": 8, "width": 8, "total": 32},
        {"hop": 8},
        {"hop": 3},
    ),
    "pixels": (  # the last row of 14 is no whole one
        "x, y, row, width, count, N: tl.constexpr",
        PIXELS,
        {"N": 4, "count": 14, "width": 4},
        {"row": 9},
        {"row": 7},
    ),
    "pixels_of_wide_rows": (
        "x, y, row, width, count, N: tl.constexpr",
        PIXELS,
        {"N": 4, "count": 15, "row": 8},
        {"width": 4},
        {"width": 5},
    ),
    "halves": (
        "x, y, hop, N: tl.constexpr",
        ROWS
        + "a = tl.load(x + f * hop + o)\nb = tl.load(x + f * hop + N + o)\n"
        + "tl.store(y + f * N + o, a * b)",
        {"N": 4},
        {"hop": 8},
        {"hop": 6},
    ),
    "halves_by_rows": (  # the second half of `2 * C` rows; of fewer rows apart, some are read twice
        "x, y, C, hop, N: tl.constexpr",
        ROWS
        + "a = tl.load(x + f * hop + o)\nb = tl.load(x + f * hop + C * hop + o)\n"
        + "tl.store(y + f * N + o, a * b)",
        {"N": 4, "hop": 4},
        {"C": 4},
        {"C": 3},
    ),
    "thirds_by_rows": (
        "x, y, C, hop, N: tl.constexpr",
        ROWS
        + "a = tl.load(x + f * hop + o)\nb = tl.load(x + f * hop + C * hop + o)\n"
        + "c = tl.load(x + f * hop + 2 * C * hop + o)\ntl.store(y + f * N + o, a * b * c)",
        {"N": 2, "hop": 3},
        {"C": 4},
        {"C": 2},
    ),
    "stored": (
        "x, y, hop, N: tl.constexpr",
        ROWS + "a = tl.load(x + f * N + o)\ntl.store(y + f * hop + o, a * a)",
        {"N": 8},
        {"hop": 8},
        {"hop": 6},
    ),
    "taps": (
        "x, y, step, spread, n, K, N: tl.constexpr",
        "i = tl.program_id(0) * N + tl.arange(0, N)\nacc = tl.zeros([N], tl.float64)\n"
        "for k in range(K):\n    acc += tl.load(x + i * step + k * spread, mask=i < n, other=0.0)\n"
        "tl.store(y + i, acc * acc, mask=i < n)",
        {"N": 4, "n": 14, "K": 2},
        {"step": 2, "spread": 1},
        {"step": 1, "spread": 1},
    ),
    "lengths_from_memory": (  # nobody knows how long rows are: added up
        "x, lengths, y, hop, N: tl.constexpr",
        ROWS
        + "a = tl.load(x + f * hop + o, mask=o < tl.load(lengths + f), other=0.0)\n"
        + "tl.store(y + f * N + o, a * a)",
        {"N": 8},
        {"hop": 8},
        {"hop": 3},
    ),
    "one_row_for_all": (
        "x, y, stride, N: tl.constexpr",
        ROWS + "a = tl.load(x + f * stride + o)\ntl.store(y + f * N + o, a * a)",
        {"N": 8},
        {"stride": 8},
        {"stride": 0},
    ),
}
ADDED_UP = {"lengths_from_memory"}
RUN = """
import importlib.util, json, os, sys
os.environ["TRITON_INTERPRET"] = "1"
sys.path.insert(0, {root!r})
from tests.oracle import shim
shim.apply()
import torch
from tests.triton import interpreter_fixes
interpreter_fixes.apply()
spec = importlib.util.spec_from_file_location("module", {module!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

def launch(kernel, numbers, x):
    y = torch.zeros(40, dtype=torch.float64)
    more = dict(lengths=torch.tensor([5, 8, 3, 6])) if "lengths" in numbers else dict()
    numbers = dict(numbers, **more)
    return y, dict(x=x, y=y, **numbers)

for name, parameters, numbers in json.loads({calls!r}):
    torch.manual_seed(3)
    start = torch.rand(40, dtype=torch.float64)
    weights = torch.rand(40, dtype=torch.float64)
    function = getattr(module, "".join(p.title() for p in name.split("_")) + "Function")

    def value(x):
        y, given = launch(name, numbers, x)
        getattr(module, name)[(4,)](**given)
        return (y * weights).sum()

    wanted = torch.zeros(40, dtype=torch.float64)
    for i in range(40):
        step = torch.zeros(40, dtype=torch.float64)
        step[i] = 1e-6
        wanted[i] = (value(start + step) - value(start - step)) / 2e-6
    y, given = launch(name, numbers, start.clone())
    function.apply((4,), *(given[p] for p in parameters))  # nobody asks for a gradient
    x = start.clone().requires_grad_()
    y, given = launch(name, numbers, x)
    try:
        out = function.apply((4,), *(given[p] for p in parameters))
        (out * weights).sum().backward()
    except ValueError as error:
        print(json.dumps("lie on each other" in str(error) and "raises"))
    else:
        print(json.dumps("right" if (x.grad - wanted).abs().max() < 1e-6 else "wrong"))
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("steps") / "kernels.py"
    text = "import triton\nimport triton.language as tl\n"
    for name, (parameters, body, *_) in KERNELS.items():
        lines = "".join(f"    {line}\n" for line in body.split("\n"))
        text += f"\n\n@triton.jit\ndef {name}({parameters}):\n{lines}"
    source.write_text(text)
    path = source.parent / "kernels_backward.py"
    run = tad("--backward", source, "--no-proof", "-o", path)
    assert run.returncode == 0, run.stderr
    return path


def test_what_lies_on_each_other_is_refused_at_the_call(module: Path) -> None:
    calls = []
    for name, (parameters, _, given, apart, overlapping) in KERNELS.items():
        names = [p.partition(":")[0] for p in parameters.split(", ")]
        more = {"lengths": 0} if "lengths" in names else {}
        calls += [(name, names, more | given | numbers) for numbers in (apart, overlapping)]
    script = RUN.format(root=str(ROOT), module=str(module), calls=json.dumps(calls))
    run = subprocess.run([PYTHON, "-c", script], capture_output=True, text=True, check=False)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(answers) == len(calls), run.stderr
    found = dict(zip(KERNELS, zip(answers[::2], answers[1::2], strict=True), strict=True))
    assert found == {name: ("right", "right" if name in ADDED_UP else "raises") for name in KERNELS}


def test_what_the_kernel_says_itself_is_not_asked(module: Path) -> None:
    """Rows of `n` with lanes below `n`, and tiles side by side, need no check."""
    text = module.read_text()
    masked = text[text.index("class MaskedFunction") :]
    masked = masked[: masked.index("def backward")]
    assert '_check_steps("x", (1, min(N, n)), (hop, grid[0]))' in masked
    assert '_check_steps("y"' not in masked


def test_pixels_with_channels_are_stored_plainly(module: Path) -> None:
    """Quotients and remainders along one axis of a tile: each call is looked at, up to the last row that has one."""
    text = module.read_text()
    backward = text[text.index("def pixels_backward(") : text.index("class PixelsFunction")]
    assert "tl.store(dx" in backward and "tl.atomic_add" not in backward
    assert "(row, -(-count // width))" in text


def test_pixels_of_a_launch_are_added_up(tmp_path: Path) -> None:
    """Nobody looks at a launch of the file, and its count need not be of whole rows."""
    lines = "".join(f"    {line}\n" for line in PIXELS.split("\n"))
    path = tmp_path / "launched.py"
    path.write_text(
        "import torch\nimport triton\nimport triton.language as tl\n\n\n"
        f"@triton.jit\ndef pixels({KERNELS['pixels'][0]}):\n{lines}\n\n"
        "def run(x, width):\n    h, w, _ = x.shape\n"
        "    y = torch.empty(h * w, 2, dtype=x.dtype)\n"
        "    pixels[(triton.cdiv(h * w, 16),)](x, y, x.stride(0), width, h * w, N=16)\n    return y\n"
    )
    (kernel,) = json.loads(tad("--check", "--grad", "--format", "json", path).stdout)["kernels"]
    assert kernel["atomics"] == 1 and kernel["status"] != "failed"


def test_a_launch_in_the_file_answers(tmp_path: Path) -> None:
    """Strides that it asks of the tensor need no check, and a hop is added up without one."""
    parameters, body, *_ = KERNELS["plain"]
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    path = tmp_path / "launched.py"
    for number, is_atomic in (("x.stride(0)", False), ("hop", True)):
        path.write_text(
            "import torch\nimport triton\nimport triton.language as tl\n\n\n"
            f"@triton.jit\ndef plain({parameters}):\n{lines}\n\n"
            "def run(x, frames, hop):\n"
            "    y = torch.empty(frames, 8, dtype=x.dtype)\n"
            f"    plain[(frames,)](x, y, {number}, N=8)\n    return y\n"
        )
        text = tad("--backward", "--no-proof", path).stdout
        assert "_check_steps" not in text
        assert ("tl.atomic_add((dx" in text) == is_atomic


def test_a_step_that_a_tuner_chooses_needs_no_text(tmp_path: Path) -> None:
    """A tuned product without a launch: each factor's rows are looked at, and both gradients have owners."""
    path = tmp_path / "tuned.py"
    path.write_text(
        "import triton\nimport triton.language as tl\n\n\n"
        "@triton.autotune([triton.Config({'B': 16, 'BK': 16}), triton.Config({'B': 32, 'BK': 32})], key=['K'])\n"
        "@triton.jit\ndef product(a, b, c, M, N, K, am, ak, bk, bn, cm, cn, B: tl.constexpr, BK: tl.constexpr):\n"
        "    m = (tl.program_id(0) * B + tl.arange(0, B))[:, None]\n"
        "    n = (tl.program_id(1) * B + tl.arange(0, B))[None, :]\n"
        "    acc = tl.zeros((B, B), dtype=tl.float32)\n"
        "    for start in range(0, K, BK):\n"
        "        k = start + tl.arange(0, BK)\n"
        "        x = tl.load(a + m * am + k[None, :] * ak, mask=(m < M) & (k[None, :] < K), other=0.0)\n"
        "        y = tl.load(b + k[:, None] * bk + n * bn, mask=(k[:, None] < K) & (n < N), other=0.0)\n"
        "        acc += tl.dot(x, y)\n"
        "    tl.store(c + m * cm + n * cn, acc, mask=(m < M) & (n < N))\n"
    )
    text = tad("--backward", "--no-proof", path).stdout
    assert "tl.atomic_add" not in text
    for rows in ('"a", (am, M), (ak, K)', '"b", (bk, K), (bn, N)', '"c", (cm, M), (cn, N)'):
        assert f"_check_steps({rows})" in text


def test_a_launch_that_is_not_reached_says_nothing(tmp_path: Path) -> None:
    """A launcher that is not understood up to its launch passes no strides that are known."""
    path = tmp_path / "unreached.py"
    path.write_text(
        "import torch\nimport triton\nimport triton.language as tl\n\n\n"
        "@triton.autotune([triton.Config({'B': 16, 'P': 64})], key=['n'])\n"
        "@triton.jit\ndef merged(part, rows, columns, y, hop, n, parts, B: tl.constexpr, P: tl.constexpr):\n"
        "    r = tl.program_id(0) * B + tl.arange(0, B)\n"
        "    acc = tl.zeros((B,), dtype=tl.float32)\n"
        "    for start in range(0, parts, P):\n"
        "        c = start + tl.arange(0, P)\n"
        "        inside = (r[:, None] < n) & (c[None, :] < parts)\n"
        "        x = tl.load(part + r[:, None] * rows + c[None, :] * columns, mask=inside, other=0.0)\n"
        "        acc += tl.sum(x * x, axis=1)\n"
        "    tl.store(y + r * hop, acc, mask=r < n)\n\n\n"
        "def merge(part, group=None):\n"
        "    n, parts = part.shape\n"
        "    y = torch.empty((n,), device=part.device)\n"
        "    if group is None:\n        raise ValueError('none')\n"
        "    mode = mode_of(group)\n"
        "    if mode in (1, 2):\n        pass\n    else:\n        raise ValueError('no such mode')\n"
        "    merged[lambda meta: (triton.cdiv(n, meta['B']),)](\n"
        "        part, part.stride(0), part.stride(1), y, y.stride(0), n, parts)\n"
        "    return y\n"
    )
    done = tad("--backward", "--no-proof", path, "-o", tmp_path / "written.py")
    assert done.returncode in (0, 1), done.stderr
    assert "class MergedFunction" in (tmp_path / "written.py").read_text()


def plain_file(folder: Path) -> Path:
    """Rows that lie `hop` apart, without a launch."""
    parameters, body, *_ = KERNELS["plain"]
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    path = folder / "plain.py"
    path.write_text(
        "import torch\nimport triton\nimport triton.language as tl\n\n\n"
        f"@triton.jit\ndef plain({parameters}):\n{lines}"
    )
    return path


OPERATOR = """

def run(x, hop):
    y = torch.zeros(4, 8, dtype=x.dtype)
    return plain_op((4,), x, y, hop, 8)
"""


def test_an_operator_looks_at_its_call(tmp_path: Path, interpreter: Worker) -> None:
    """As a Function does: where somebody asks for a gradient."""
    text = tad("--backward", "--no-proof", plain_file(tmp_path), "--wrapper", "triton_op").stdout
    text += OPERATOR
    x, upstream = np.linspace(-1.0, 1.0, 40), np.ones((4, 8))
    found = call_function(text, "run", [x, 8], wrt=[0], grad_outputs=[upstream], worker=interpreter)
    np.testing.assert_allclose(found.gradients[0], np.where(np.arange(40) < 32, 2 * x, 0.0), 1e-6)
    call_function(text, "run", [x, 2], worker=interpreter)
    with pytest.raises(InterpretFailure, match="2 elements apart lie on each other"):
        call_function(text, "run", [x, 2], wrt=[0], grad_outputs=[upstream], worker=interpreter)


AGAIN = """

def run(x):
    y = torch.zeros(4, 8, dtype=x.dtype)
    total = 0.0
    for factor in (1.0, 2.0):
        y = PlainFunction.apply((4,), x * factor, y, 8, 8)
        total = total + y * factor
    return total
"""


def test_an_output_may_be_written_again(tmp_path: Path, interpreter: Worker) -> None:
    """A launch that stores all of it leaves nothing of what it held, which had a gradient."""
    text = tad("--backward", "--no-proof", plain_file(tmp_path)).stdout + AGAIN
    x, upstream = np.linspace(-1.0, 1.0, 40), np.ones((4, 8))
    found = call_function(text, "run", [x], wrt=[0], grad_outputs=[upstream], worker=interpreter)
    want = np.where(np.arange(40) < 32, 2 * x * (1 + 2 * 4), 0.0)
    np.testing.assert_allclose(found.gradients[0], want, rtol=1e-6)


def test_a_kernel_alone_says_what_its_caller_sees_to(tmp_path: Path) -> None:
    """Nothing runs but the kernel then; where sums are atomics there is nothing to see to."""
    text = tad("--backward", "--no-proof", plain_file(tmp_path), "--wrapper", "none").stdout
    assert "    # step has to go over all that the smaller ones reach:\n" in text
    assert "    # x: (hop, grid[0]), (1, N)\n" in text
    path = tmp_path / "added.py"
    path.write_text(plain_file(tmp_path).read_text().replace("f * hop", "tl.minimum(f * hop, 9)"))
    text = tad("--backward", "--no-proof", path, "--wrapper", "none").stdout
    assert "tl.atomic_add" in text
    assert "smaller ones reach" not in text


ADDED = """

def held(x, w):
    y = w * 1.0
    {call}
    return y


def new(x, w):
    y = torch.ones_like(w)
    {call}
    return y * w


def viewed(x, w):
    y = torch.zeros(2, 16, dtype=x.dtype)[1]
    {call}
    return y * w
"""


@pytest.mark.parametrize(
    ("wrapper", "call"),
    [
        pytest.param("autograd", "y = AddsFunction.apply((2,), x, y, 16)", id="function"),
        pytest.param("triton_op", "y = adds_op((2,), x, y, 16)", id="operator"),
    ],
)
def test_what_an_output_held_is_not_forgotten(
    wrapper: str, call: str, tmp_path: Path, interpreter: Worker
) -> None:
    """Nobody says that it was new: its numbers stay, and a gradient that they have is refused."""
    path = tmp_path / "adds.py"
    path.write_text(
        "import torch\nimport triton\nimport triton.language as tl\n\n\n@triton.jit\n"
        "def adds(x, y, n):\n    i = tl.program_id(0) * 8 + tl.arange(0, 8)\n"
        "    a = tl.load(x + i, mask=i < n, other=0.0)\n    tl.atomic_add(y + i, a * a, mask=i < n)\n"
    )
    text = tad("--backward", "--no-proof", path, "--wrapper", wrapper).stdout
    text += ADDED.format(call=call)
    x, w = np.linspace(-1.0, 1.0, 16), np.linspace(1.0, 2.0, 16)
    given = {"grad_outputs": [np.ones(16)], "worker": interpreter}
    found = call_function(text, "new", [x, w], wrt=[0, 1], **given)
    np.testing.assert_allclose(found.outputs[0], (1 + x * x) * w, rtol=1e-6)
    np.testing.assert_allclose(found.gradients[0], 2 * x * w, rtol=1e-6)
    np.testing.assert_allclose(found.gradients[1], 1 + x * x, rtol=1e-6)
    found = call_function(text, "held", [x, w], wrt=[0], **given)
    np.testing.assert_allclose(found.gradients[0], 2 * x, rtol=1e-6)
    with pytest.raises(InterpretFailure, match="`y` held before has a gradient"):
        call_function(text, "held", [x, w], wrt=[0, 1], **given)
    if wrapper == "triton_op":  # it writes to a new tensor; a Function's view: tests/oracle
        found = call_function(text, "viewed", [x, w], wrt=[0], **given)
        np.testing.assert_allclose(found.gradients[0], 2 * x * w, rtol=1e-6)


STORED = """
import torch
import triton
import triton.language as tl


@triton.jit
def rows(o, x, n, step, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + p * n + i, mask=i < n, other=0.0)
    tl.store(o + {0} * step + i, a * a, mask=i < n)


def run(x, hop, out):
    m, n = x.shape
    o = torch.empty(m, 2 * n, dtype=x.dtype)
    rows[(m,)]({1}, x, n, {2}, BLOCK=8)
    return o
"""
STEPS = {  # place, output, step: what the Function looks at; None: nothing
    "a stride of new memory": ("p", "o", "o.stride(0)", None),
    "rows from the last one on": ("(tl.num_programs(0) - 1 - p)", "o", "o.stride(0)", None),
    "two rows": ("p", "o", "2 * x.shape[1]", None),
    "a longer row": ("p", "o", "n + 3", None),
    "a shorter row": ("p", "o", "n - 1", "(1, min(BLOCK, n)), (step, grid[0])"),
    "half a row": ("p", "o", "n // 2", "(1, min(BLOCK, n)), (step, grid[0])"),
    "the caller's": ("p", "o", "hop", "(1, min(BLOCK, n)), (step, grid[0])"),
    "a stride of the caller's": (
        "p",
        "out",
        "out.stride(0)",
        "(1, min(BLOCK, n)), (step, grid[0])",
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_stores_that_a_launch_does_not_show_apart_are_looked_at(name: str, tmp_path: Path) -> None:
    """What the launcher's own numbers show costs nothing; tests/oracle's "overlaps" runs the rest."""
    place, output, step, ranges = STEPS[name]
    path = tmp_path / "stored.py"
    path.write_text(STORED.format(place, output, step))
    text = tad("--backward", "--no-proof", path).stdout
    assert ("_check_stores" in text) == (ranges is not None)
    assert ranges is None or f'_check_stores("o", {ranges})' in text


@pytest.mark.parametrize("name", ["half a row", "the caller's", "a stride of new memory"])
def test_a_proof_says_what_each_call_is_asked(name: str, tmp_path: Path) -> None:
    """Its configurations keep apart (a block is shorter than half a row), and the Function refuses other calls."""
    place, output, step, ranges = STEPS[name]
    path = tmp_path / "stored.py"
    path.write_text(STORED.format(place, output, step))
    (kernel,) = json.loads(tad("--check", "--grad", "-f", "json", path).stdout)["kernels"]
    assert kernel["status"] == "proved"
    words = "no element of `o` is stored twice (in steps of 1 and step)"
    assert kernel["asserted"] == (words if ranges else None)
    written = tad("--backward", path, "-o", tmp_path / "written.py")
    assert (f"asserted at each call: {words}" in written.stderr) == (ranges is not None)


FLAGGED = """
import torch
import triton
import triton.language as tl


{decorators}
@triton.jit
def rows(o, x, b, n, hop, {parameters}):
    p = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + p * n + i, mask=i < n, other=0.0)
    if {flag}:
        tl.store(o + p * hop + i, a * a, mask=i < n)


def run(x, b, hop):
    m, n = x.shape
    o = torch.zeros(m, 2 * n, dtype=x.dtype)
    rows[(m,)](o, x, b, n, hop, {arguments})
    return o
"""
HEURISTIC = '@triton.heuristics({"HAS_B": lambda args: args["b"] is not None})'
LONG = '@triton.heuristics({"LONG": lambda args: args["n"] > args["BLOCK"] // 2})'
FLAGS = {  # decorators, parameters, flag, arguments
    "a heuristic": (HEURISTIC, "BLOCK: tl.constexpr, HAS_B: tl.constexpr", "HAS_B", "BLOCK=8"),
    "two heuristics": (
        f"{HEURISTIC}\n{LONG}",
        "BLOCK: tl.constexpr, HAS_B: tl.constexpr, LONG: tl.constexpr",
        "HAS_B and LONG",
        "BLOCK=8",
    ),
    "a default": ("", "BLOCK: tl.constexpr, ALL: tl.constexpr = True", "ALL", "BLOCK=8"),
}


@pytest.mark.parametrize("name", FLAGS)
def test_flags_that_no_launch_passes_are_asked_for(
    name: str, tmp_path: Path, interpreter: Worker
) -> None:
    """Heuristics and defaults say whether rows are stored that may lie on each other."""
    decorators, parameters, flag, arguments = FLAGS[name]
    path = tmp_path / "flagged.py"
    path.write_text(
        FLAGGED.format(decorators=decorators, parameters=parameters, flag=flag, arguments=arguments)
    )
    text = tad("--backward", "--no-proof", path).stdout
    assert "_check_stores" in text
    x, b = np.linspace(-1.0, 1.0, 18).reshape(3, 6), np.ones(2)
    wrt = {"wrt": [0], "grad_outputs": [np.ones((3, 12))], "worker": interpreter}
    found = call_function(text, "run", [x, b, 12], **wrt)
    np.testing.assert_allclose(found.gradients[0], 2 * x, rtol=1e-6)
    with pytest.raises(InterpretFailure, match="stored more than once"):
        call_function(text, "run", [x, b, 3], **wrt)
    if name != "a default":
        call_function(text, "run", [x, None, 3], **wrt)


NOT_SEEN = Path(__file__).parents[1] / "oracle" / "cases" / "steps_not_seen.py"


def test_what_no_check_can_ask_is_said(tmp_path: Path) -> None:
    """Rows a hop apart whose ends steps do not say: what is assumed is told, and all of it is compared."""
    written = tmp_path / "written.py"
    told = tad("--backward", NOT_SEEN, "--no-proof", "-o", written).stderr
    lines = [line for line in told.splitlines() if "gradient-assumes-distinct" in line]
    assert len(lines) == 4, told
    assert sum("no element of `O` is stored twice" in line for line in lines) == 2
    words = " ".join(written.read_text().replace("#", " ").split())
    assert words.count("a caller says by `hop` how far its rows are apart") == 1
    assert words.count("_check_spans( ") == 4
    assert "(((program * 16) + ((lane // W) * s)) + (lane % W)), (lane < n), )" in words
    # the `while` is a range
    rows = "((hop, grid[0]), (1, n))"
    assert f'_check_pair( "O", 0, {rows}, {rows}, programs=1 )' in words
