"""Outputs that nobody used have no upstream gradient: None, and no zeros in its place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import proved_module, tad
from tests.support.worker import Worker
from tests.triton.compile import compile_kernel
from tests.triton.interpret import call_function

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
GATED = """@triton.jit
def gated(x, y, a, b, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    u = tl.load(x + offs, mask=mask)
    v = tl.load(y + offs, mask=mask)
    tl.store(a + offs, u * tl.exp(v), mask=mask)
    tl.store(b + offs, tl.sin(u), mask=mask)


def run(x, y):
    a, b = torch.empty_like(x), torch.empty_like(x)
    gated[(triton.cdiv(x.numel(), 8),)](x, y, a, b, x.numel(), BLOCK=8)
    return a, b
"""
NORM = """@triton.jit
def norm(x, y, mean, rstd, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, n, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        total += tl.load(x + row * stride + cols, mask=cols < n, other=0.0)
    m = tl.sum(total) / n
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, n, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        v = tl.where(cols < n, tl.load(x + row * stride + cols, mask=cols < n, other=0.0) - m, 0.0)
        squares += v * v
    r = 1 / tl.sqrt(tl.sum(squares) / n + 1e-5)
    tl.store(mean + row, m)
    tl.store(rstd + row, r)
    for off in range(0, n, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        v = tl.load(x + row * stride + cols, mask=cols < n, other=0.0)
        tl.store(y + row * stride + cols, (v - m) * r, mask=cols < n)


def run(x):
    y = torch.empty_like(x)
    mean = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
    rstd = torch.empty_like(mean)
    norm[(x.shape[0],)](x, y, mean, rstd, x.stride(0), x.shape[1], BLOCK=8)
    return y, mean, rstd
"""
# Two outputs, each with a stride for the upstream gradient.
STRIDED = """@triton.jit
def pair(x, y, z, n, sx, sy, sz, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    v = tl.load(x + row * sx + cols, mask=cols < n)
    tl.store(y + row * sy + cols, v * v, mask=cols < n)
    tl.store(z + row * sz + cols, tl.exp(v), mask=cols < n)


def run(x):
    y, z = torch.empty_like(x), torch.empty_like(x)
    pair[(x.shape[0],)](x, y, z, x.shape[1], x.stride(0), y.stride(0), z.stride(0), BLOCK=8)
    return y, z
"""
# A recurrence whose last state is an output, too; and an output that only a flag writes.
STATES = """@triton.jit
def states(x, y, last, n, FLAG: tl.constexpr):
    h = 0.0
    for t in range(n):
        h = tl.sin(h) + tl.load(x + t)
        tl.store(y + t, h * h)
    if FLAG:
        tl.store(last, h)


def run(x):
    y = torch.empty_like(x)
    last = torch.empty(1, dtype=x.dtype, device=x.device)
    states[(1,)](x, y, last, x.shape[0], FLAG=True)
    return y, last
"""
# Each file, and the shapes of its inputs and outputs.
CASES: dict[str, tuple[str, list[tuple[int, ...]], list[tuple[int, ...]]]] = {
    "element by element": (GATED, [(20,), (20,)], [(20,), (20,)]),
    "statistics of rows": (NORM, [(3, 20)], [(3, 20), (3,), (3,)]),
    "strides of outputs": (STRIDED, [(3, 6)], [(3, 6), (3, 6)]),
    "a state": (STATES, [(5,)], [(5,), (1,)]),
}


@pytest.mark.parametrize("name", CASES)
def test_none_is_zeros(name: str, tmp_path: Path, interpreter: Worker) -> None:
    """Whatever outputs are used, gradients are those with zeros for the others; of none used there is no gradient."""
    source, inputs, outputs = CASES[name]
    text = proved_module(tmp_path, HEAD + source)
    assert "ctx.set_materialize_grads(False)" in text
    random = np.random.default_rng(1)
    given = [random.uniform(-1, 1, shape) for shape in inputs]
    upstream = [random.uniform(-1, 1, shape) for shape in outputs]
    wrt = list(range(len(given)))

    def gradients(upstreams: list[np.ndarray | None]) -> list[np.ndarray | None]:
        return call_function(
            text, "run", given, wrt=wrt, grad_outputs=upstreams, worker=interpreter
        ).gradients

    for used in range(1, 2 ** len(outputs)):
        is_used = [bool(used & 1 << i) for i in range(len(outputs))]
        found = gradients(
            [g if is_one else None for g, is_one in zip(upstream, is_used, strict=True)]
        )
        wanted = gradients([g * is_one for g, is_one in zip(upstream, is_used, strict=True)])
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(
    ("present", "loads"),
    [
        pytest.param({"da", "db"}, 4, id="both"),
        pytest.param({"da"}, 3, id="the first"),
        pytest.param({"db"}, 2, id="the second"),
    ],
)
def test_what_is_for_an_absent_one_compiles_away(
    present: set[str], loads: int, tmp_path: Path
) -> None:
    """Without `da` nobody reads `y`, either."""
    text = proved_module(tmp_path, HEAD + GATED)
    types: dict[str, str] = dict.fromkeys(("da", "db", "x", "y", "dx", "dy"), "*fp32")
    types["n"] = "i32"
    constants: dict[str, object] = {"BLOCK": 64}
    for name in {"da", "db"} - present:
        del types[name]
        constants[name] = None
    ttir = compile_kernel(text, "gated_backward", types, constants, until="cubin").ttir
    assert ttir.count("tt.load") == loads
    assert ttir.count("tt.store") == 2


def test_a_term_below_the_question_for_another(tmp_path: Path) -> None:
    """The proof runs the backward with None for each upstream gradient."""
    text = proved_module(tmp_path, HEAD + NORM)
    right = "if drstd is not None:"
    assert right in text
    module = tmp_path / "source_backward.py"
    module.write_text(text.replace(right, "if dmean is not None:"))
    run = tad("--check", "--grad", module)
    assert run.returncode == 1, run.stdout
    assert "upstream gradient" in run.stdout, run.stdout


def test_one_output_has_no_conditions(tmp_path: Path) -> None:
    """Autograd asks for no gradient where the only output is not used."""
    text = proved_module(
        tmp_path,
        HEAD + STRIDED.replace("    tl.store(z + row * sz + cols, tl.exp(v), mask=cols < n)\n", ""),
    )
    assert "set_materialize_grads" not in text
    assert "dy is not None" not in text


ABSENT_STRIDES = """@triton.jit
def residual(x, x_stride, r, r_stride, w, w_stride, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    u = tl.load(x + row * x_stride[0] + cols * x_stride[1], mask=mask, other=0.0)
    if r is not None:
        u += tl.load(r + row * r_stride[0] + cols * r_stride[1], mask=mask, other=0.0)
    v = u * tl.rsqrt(tl.sum(u * u) / n + 1e-5)
    if w is not None:
        v *= tl.load(w + cols * w_stride[0], mask=mask, other=0.0)
    tl.store(y + row * n + cols, v, mask=mask)


def run(x, r: torch.Tensor | None, w: torch.Tensor | None):
    y = torch.empty_like(x)
    residual[(x.shape[0],)](
        x, x.stride(), r, None if r is None else r.stride(), w, None if w is None else w.stride(),
        y, x.shape[1], BLOCK=16
    )
    return y
"""


def test_strides_of_an_absent_tensor_are_not_read(tmp_path: Path) -> None:
    """Triton compiles no item of None: strides stay below the question for their tensor."""
    text = proved_module(tmp_path, HEAD + ABSENT_STRIDES)
    backward = text[text.index("def residual_backward") :].split("\nclass ")[0]
    lines = backward.split("\n")
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if "r_stride[" in line or "w_stride[" in line:
            assert indent > 4, backward
