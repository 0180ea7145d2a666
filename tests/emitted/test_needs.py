"""Launches of a backward that write only gradients which autograd does not ask for are left out."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import proved_module, tad
from tests.support.worker import Worker
from tests.triton.compile import compile_kernel
from tests.triton.interpret import call_function

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
SCALED = """@triton.jit
def scaled(x, w, b, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + row * n + o, mask=o < n, other=0.0)
    v = tl.exp(a) * tl.load(w + o, mask=o < n) + tl.load(b + o, mask=o < n)
    tl.store(y + row * n + o, v, mask=o < n)


def run(x, w, b):
    y = torch.empty_like(x)
    scaled[(x.shape[0], triton.cdiv(x.shape[1], 4))](x, w, b, y, x.shape[1], BLOCK=4)
    return y
"""

IN_A_LOOP = """@triton.jit
def scaled(x, w, b, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for start in range(0, n, BLOCK):
        o = start + tl.arange(0, BLOCK)
        a = tl.load(x + row * n + o, mask=o < n, other=0.0)
        v = tl.exp(a) * tl.load(w + o, mask=o < n) + tl.load(b + o, mask=o < n)
        tl.store(y + row * n + o, v, mask=o < n)


def run(x, w, b):
    y = torch.empty_like(x)
    scaled[(x.shape[0],)](x, w, b, y, x.shape[1], BLOCK=4)
    return y
"""

SOFTMAX = """@triton.jit
def pool(q, k, v, y, n, D: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    d = tl.arange(0, D)
    a = tl.load(q + row * D + d)
    most = -float("inf")
    total = 0.0
    acc = tl.zeros([D], tl.float32)
    for start in range(0, n, BLOCK):
        o = start + tl.arange(0, BLOCK)
        keys = tl.load(k + o[:, None] * D + d[None, :], mask=o[:, None] < n, other=0.0)
        s = tl.where(o < n, tl.sum(keys * a[None, :], axis=1), -float("inf"))
        higher = tl.maximum(most, tl.max(s, axis=0))
        p = tl.exp(s - higher)
        scale = tl.exp(most - higher)
        total = total * scale + tl.sum(p, axis=0)
        values = tl.load(v + o[:, None] * D + d[None, :], mask=o[:, None] < n, other=0.0)
        acc = acc * scale + tl.sum(p[:, None] * values, axis=0)
        most = higher
    tl.store(y + row * D + d, acc / total)


def run(q, k, v):
    y = torch.empty_like(q)
    pool[(q.shape[0],)](q, k, v, y, k.shape[0], D=4, BLOCK=4)
    return y
"""
IN_PLACE = """@triton.jit
def scale(x, w, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + o, mask=o < n, other=0.0)
    tl.store(x + row * n + o, a * tl.load(w + o, mask=o < n), mask=o < n)


def run(x, w):
    y = x * 1
    scale[(y.shape[0],)](y, w, y.shape[1], BLOCK=8)
    return y
"""
SINGLE = """@triton.jit
def product(x, w, y, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + o, mask=o < n) * tl.load(w + o, mask=o < n)
    tl.store(y + o, v, mask=o < n)


def run(x, w):
    y = torch.empty_like(x)
    product[(triton.cdiv(x.numel(), 4),)](x, w, y, x.numel(), BLOCK=4)
    return y
"""
MATRICES = """@triton.jit
def matrices(x, w, y, D: tl.constexpr):
    o = tl.program_id(0) * D * D + tl.arange(0, D)[:, None] * D + tl.arange(0, D)[None, :]
    tl.store(y + o, tl.dot(tl.load(x + o), tl.load(w + o)))


def run(x, w):
    y = torch.empty_like(x)
    matrices[(x.shape[0],)](x, w, y, D=16)
    return y
"""
NORM = """@triton.jit
def norm(x_ptr, w_ptr, b_ptr, y_ptr, n, eps, HAS_BIAS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    a = tl.load(x_ptr + row * n + o, mask=o < n, other=0.0)
    v = a / tl.sqrt(tl.sum(a * a, axis=0) / n + eps) * tl.load(w_ptr + o, mask=o < n)
    if HAS_BIAS:
        v += tl.load(b_ptr + o, mask=o < n)
    tl.store(y_ptr + row * n + o, v, mask=o < n)


def run(x, w, b):
    y = torch.empty_like(x)
    norm[(x.shape[0],)](x, w, b, y, x.shape[1], 0.5, HAS_BIAS=b is not None, BLOCK=8)
    return y
"""
TABLE = """@triton.jit
def blend(x_ptr, table_ptr, id_ptr, gain_ptr, y_ptr, n, GATED: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for k in range(3):
        at = tl.load(id_ptr + row * 3 + k)
        total += tl.load(table_ptr + at * n + o, mask=o < n, other=0.0) * tl.load(gain_ptr + k)
    if GATED:
        total *= tl.load(x_ptr + row * n + o, mask=o < n, other=0.0)
    tl.store(y_ptr + row * n + o, total, mask=o < n)


def run(x, table, gain):
    y = torch.empty_like(x)
    ids = torch.arange(x.shape[0] * 3) % table.shape[0]
    blend[(x.shape[0],)](x, table, ids, gain, y, x.shape[1], GATED=True, BLOCK=8)
    return y
"""
# name: (file, shapes of the arguments, launches in order: the gradients that each asks for; None: it always runs)
CASES: dict[str, tuple[str, list[tuple[int, ...]], list[set[str] | None]]] = {
    "rows private, weights shared": (SCALED, [(5, 6), (6,), (6,)], [None]),
    "rows in a loop, weights shared": (IN_A_LOOP, [(5, 6), (6,), (6,)], [{"x"}, {"w", "b"}]),
    "the first leaves scratch": (SOFTMAX, [(3, 4), (6, 4), (6, 4)], [None, {"k", "v"}]),
    "in place": (IN_PLACE, [(3, 6), (6,)], [None]),
    "one pass over the rows": (NORM, [(5, 6), (6,), (6,)], [None]),
    "tables that programs share": (TABLE, [(4, 6), (5, 6), (3,)], [None]),
    "one kernel": (SINGLE, [(7,), (7,)], [None]),
}


def launches(text: str) -> list[set[str] | None]:
    """For each launch of the first Function's backward the inputs whose need is asked for."""
    classes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    methods = {node.name: node for node in classes[0].body if isinstance(node, ast.FunctionDef)}
    names = [argument.arg for argument in methods["forward"].args.args[1:]]
    found: list[set[str] | None] = []
    for node in methods["backward"].body:
        asked = None
        if isinstance(node, ast.If):
            numbers = re.findall(r"needs_input_grad\[(\d+)\]", ast.unparse(node.test))
            asked = {names[int(number)] for number in numbers}
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Subscript):
                found.append(asked)
    return found


@pytest.mark.parametrize("name", CASES)
def test_what_is_not_asked_for(name: str, tmp_path: Path, interpreter: Worker) -> None:
    """Each launch asks for its gradients; each gradient alone is what it is among the others."""
    source, shapes, want = CASES[name]
    text = proved_module(tmp_path, HEAD + source)
    assert launches(text) == want
    random = np.random.default_rng(1)
    given = [random.uniform(-1, 1, shape) for shape in shapes]
    upstream = [random.uniform(-1, 1, shapes[0])]

    def gradients(wrt: list[int]) -> list[np.ndarray | None]:
        return call_function(
            text, "run", given, wrt=wrt, grad_outputs=upstream, worker=interpreter
        ).gradients

    together = gradients(list(range(len(given))))
    for i in range(len(given)):
        np.testing.assert_allclose(gradients([i])[i], together[i], rtol=1e-6)


def test_what_is_for_one_gradient_alone_is_left_out(tmp_path: Path) -> None:
    """Frozen weights: their sums, and what they are made of, stand below a question for their memory."""
    text = proved_module(tmp_path, HEAD + NORM)
    kernel = text[text.index("def norm_backward(") : text.index("class NormFunction")]
    below: dict[str, list[str]] = {}
    for node in ast.walk(ast.parse("@triton.jit\n" + kernel)):
        if isinstance(node, ast.If):
            below.setdefault(ast.unparse(node.test), []).extend(map(ast.unparse, node.body))
    assert any("tl.store((dx_ptr" in line for line in below["dx_ptr is not None"])
    assert any(line.startswith("dw += ") for line in below["dw_ptr is not None"])
    assert any("tl.store(dw_ptr" in line for line in below["dw_ptr is not None"])
    assert any("db_ptr" in line for line in below["HAS_BIAS and db_ptr is not None"])
    assert kernel.count("is not None") == 5
    assert "dx_ptr = dw_ptr = db_ptr = None" in text
    for i, name in ((1, "dx"), (2, "dw"), (3, "db")):
        made = "_gradient_buffer" if name == "dx" else "_partial_sums"
        assert f"if ctx.needs_input_grad[{i}]:\n            {name}_ptr = {made}(" in text


@pytest.mark.parametrize(
    ("asked", "loads", "stores"),
    [
        pytest.param({"dx", "dw", "db"}, 3, 3, id="all"),
        pytest.param({"dx"}, 3, 1, id="rows"),
        pytest.param({"dw"}, 2, 1, id="weights"),
        pytest.param({"db"}, 1, 1, id="bias"),
    ],
)
def test_what_is_not_asked_for_compiles_away(
    asked: set[str], loads: int, stores: int, tmp_path: Path
) -> None:
    """Triton leaves out what nobody reads: not a load of it is left."""
    text = proved_module(tmp_path, HEAD + NORM)
    types = {f"{name}_ptr": "*bf16" for name in ("dy", "x", "w")}
    types |= {"dx_ptr": "*bf16", "dw_ptr": "*fp32", "db_ptr": "*fp32", "n": "i32", "eps": "fp32"}
    types |= dict.fromkeys(("most_slices", "dw_stride", "db_stride", "programs"), "i32")
    constants: dict[str, object] = {"HAS_BIAS": True, "BLOCK": 64, "STAGES": 1, "TOGETHER": 4}
    for name in {"dx", "dw", "db"} - asked:
        del types[f"{name}_ptr"]
        constants[f"{name}_ptr"] = None
    ttir = compile_kernel(text, "norm_backward", types, constants, until="cubin").ttir
    found = [ttir.count(word) for word in ("tt.load", "tt.atomic_rmw", "tt.store")]
    assert found == [loads, 0, stores]


def test_a_gradient_below_the_question_for_another(tmp_path: Path) -> None:
    """The proof asks for each gradient alone, too."""
    text = proved_module(tmp_path, HEAD + NORM)
    right = "if dw_ptr is not None:\n            tl.store("
    assert right in text
    module = tmp_path / "source_backward.py"
    module.write_text(text.replace(right, right.replace("dw_ptr", "dx_ptr")))
    run = tad("--check", "--grad", module)
    assert run.returncode == 1, run.stdout
    assert "w_ptr" in run.stdout and "asked for" in run.stdout, run.stdout


def test_gradients_of_one_program_are_asked_for_but_beside_products(tmp_path: Path) -> None:
    """Targets are data: their gradient costs as much as the other one. Beside products it does not."""
    text = proved_module(tmp_path, HEAD + SINGLE)
    kernel = text[text.index("def product_backward(") : text.index("class ")]
    assert "if dx is not None:" in kernel
    assert "if dw is not None:" in kernel
    text = proved_module(tmp_path, HEAD + MATRICES)
    assert "is not None" not in text[text.index("def matrices_backward(") : text.index("class ")]


def test_renamed_gradients(tmp_path: Path) -> None:
    """A backward in a file is understood with its conditions: what a parameter is for, and what is stored."""
    text = proved_module(tmp_path, HEAD + SCALED)
    renamed = re.sub(r"\bdw\b", "weights", re.sub(r"\bdx\b", "rows", text))
    module = tmp_path / "source_backward.py"
    module.write_text(renamed)
    run = tad("--check", "--grad", module)
    assert "1 proved" in run.stdout, run.stdout
    assert "gradient-unpaired" not in run.stdout


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("if ctx.needs_input_grad[1]:", "if True:", id="always"),
        pytest.param("dx = dw = db = None", "dx = None\n        dw = db = None", id="apart"),
    ],
)
def test_edited_conditions(before: str, after: str, tmp_path: Path) -> None:
    """Whatever stands around a launch, its kernel is proved as it is, and what is edited there is told."""
    text = proved_module(tmp_path, HEAD + SCALED)
    assert before in text
    module = tmp_path / "source_backward.py"
    module.write_text(text.replace(before, after))
    run = tad("--check", "--grad", module)
    assert "not proved: the kernels are, and what is edited around them" in run.stdout, run.stdout
    assert "gradient-function-edited" in run.stdout


UPSTREAM = """

def kept(x, stride):
    gradient = x.t()
    return gradient * (1.0 if _with_stride(gradient, stride) is gradient else 0.0)
"""


@pytest.mark.parametrize(
    ("shape", "stride", "is_kept"),
    [
        pytest.param((6, 1), (6, 1), True, id="one row"),
        pytest.param((1, 6), (1, 1), True, id="one column"),
        pytest.param((2, 3), (1, 3), True, id="the same steps"),
        pytest.param((2, 3), (2, 1), False, id="other steps"),
    ],
)
def test_upstream_gradients_without_copies(
    shape: tuple[int, int],
    stride: tuple[int, int],
    is_kept: bool,
    tmp_path: Path,
    interpreter: Worker,
) -> None:
    """An upstream gradient whose elements lie as the output's do is read where it is; `shape` is transposed."""
    text = proved_module(tmp_path, HEAD + SINGLE) + UPSTREAM
    x = np.ones(shape)
    kept = call_function(text, "kept", [x, stride], worker=interpreter).outputs[0]
    np.testing.assert_array_equal(kept, np.full(shape[::-1], float(is_kept)))
