"""Kernels that get tensor descriptors from their launchers: written modules against differences and formulas."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import tad
from tests.support.worker import Worker
from tests.triton.compile import compile_kernel
from tests.triton.interpret import call_function

HEAD = """import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

"""
PRODUCT = (
    HEAD
    + """
@triton.jit
def product_kernel(
    a_desc, b_desc, c_desc, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    row = tl.program_id(0) * BLOCK_M
    column = tl.program_id(1) * BLOCK_N
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        total = tl.dot(a_desc.load([row, k]), b_desc.load([k, column]), total)
    c_desc.store([row, column], total.to(c_desc.dtype))


def product(a, b):
    m, k = a.shape
    n = b.shape[1]
    c = torch.empty((m, n), device=a.device, dtype=a.dtype)
    a_desc = TensorDescriptor.from_tensor(a, [16, 32])
    b_desc = TensorDescriptor(b, shape=[k, n], strides=[n, 1], block_shape=[32, 16])
    c_desc = TensorDescriptor.from_tensor(c, [16, 16])
    grid = (triton.cdiv(m, 16), triton.cdiv(n, 16))
    product_kernel[grid](a_desc, b_desc, c_desc, k, BLOCK_M=16, BLOCK_N=16, BLOCK_K=32)
    return c
"""
)
ROWS = (
    HEAD
    + """
@triton.jit
def scale_kernel(rows, weights, out, n, SIZE: tl.constexpr):
    first = tl.program_id(0) * 4
    x = rows.load([first, 0])
    w = weights.load([0])
    out.store([first, 0], tl.reshape(x * tl.reshape(w, [1, SIZE]) + x * x, [4, SIZE]))


def scale(x, w):
    y = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.shape[0], 4),)](
        TensorDescriptor.from_tensor(x, [4, 16]),
        TensorDescriptor.from_tensor(w, [16]),
        TensorDescriptor.from_tensor(y, [4, 16]),
        x.shape[1],
        SIZE=16,
    )
    return y
"""
)
TUNED = (
    HEAD
    + """
def set_blocks(nargs):
    nargs["x_desc"].block_shape = [nargs["ROWS"], nargs["COLS"]]
    nargs["y_desc"].block_shape = [nargs["ROWS"], nargs["COLS"]]


@triton.autotune(
    configs=[triton.Config({"ROWS": 4, "COLS": 16}, num_warps=2, pre_hook=set_blocks)], key=["n"]
)
@triton.jit
def cube_kernel(x_desc, y_desc, n, ROWS: tl.constexpr, COLS: tl.constexpr):
    row, column = tl.program_id(0) * ROWS, tl.program_id(1) * COLS
    x = x_desc.load([row, column])
    y_desc.store([row, column], x * x * x)


def cube(x):
    y = torch.empty_like(x)
    m, n = x.shape
    cube_kernel[lambda meta: (triton.cdiv(m, meta["ROWS"]), triton.cdiv(n, meta["COLS"]))](
        TensorDescriptor.from_tensor(x, [1, 4]), TensorDescriptor.from_tensor(y, [1, 4]), n
    )
    return y
"""
)
EITHER = (
    HEAD
    + """
@triton.jit
def described(given, shape, strides, block_shape):
    if isinstance(given, tl.tensor_descriptor):
        return given
    else:
        return tl.make_tensor_descriptor(given, shape, strides, block_shape)


@triton.jit
def cube_kernel(desc_x, desc_y, M, N, ROWS: tl.constexpr, COLS: tl.constexpr):
    desc_x = described(desc_x, [M, N], [N, 1], [ROWS, COLS])
    desc_y = described(desc_y, [M, N], [N, 1], [ROWS, COLS])
    row, column = tl.program_id(0) * ROWS, tl.program_id(1) * COLS
    x = desc_x.load([row, column])
    desc_y.store([row, column], x * x * x)


def cube(x, by_host):
    y = torch.empty_like(x)
    m, n = x.shape
    if by_host:
        given = TensorDescriptor.from_tensor(x, [4, 16])
        taken = TensorDescriptor.from_tensor(y, [4, 16])
    else:
        given, taken = x, y
    grid = (triton.cdiv(m, 4), triton.cdiv(n, 16))
    cube_kernel[grid](given, taken, m, n, ROWS=4, COLS=16)
    return y
"""
)
SUMS = (
    HEAD
    + """
@triton.jit
def sums_kernel(x_desc, y_ptr, STEP: tl.constexpr):
    x = x_desc.load([tl.program_id(0) * STEP])
    tl.store(y_ptr + tl.program_id(0), tl.sum(x * x))


def sums(x):
    y = torch.empty(x.shape[0] // 8, device=x.device, dtype=x.dtype)
    sums_kernel[(y.shape[0],)](TensorDescriptor.from_tensor(x, [16]), y, STEP=8)
    return y
"""
)


def floats(*shape: int) -> np.ndarray:
    """Numbers that are the same in each run."""
    return np.random.default_rng(sum(shape)).uniform(-1.0, 1.0, shape)


def module_of(folder: Path, source: str) -> str:
    """The module written for a source."""
    path = folder / "described.py"
    path.write_text(source)
    run = tad("--backward", path, "--no-proof")
    assert run.stdout, run.stderr
    return run.stdout


@pytest.mark.parametrize("source", [PRODUCT, ROWS, TUNED, EITHER])
def test_proved(source: str, tmp_path: Path) -> None:
    """The kernels run with descriptors, ragged at their ends, and their gradients are proved."""
    path = tmp_path / "described.py"
    path.write_text(source)
    run = tad("--check", "--grad", "-f", "json", path)
    (kernel,) = json.loads(run.stdout)["kernels"]
    assert kernel["status"] == "proved", kernel


def test_matrix_product(tmp_path: Path, interpreter: Worker) -> None:
    """Blocks beyond the ends of all three matrices; one descriptor says shape and strides itself."""
    a, b, up = floats(20, 36), floats(36, 24), floats(20, 24) + 0.5
    result = call_function(
        module_of(tmp_path, PRODUCT),
        "product",
        [a, b],
        wrt=[0, 1],
        grad_outputs=[up],
        worker=interpreter,
    )
    np.testing.assert_allclose(result.outputs[0], a @ b, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(result.gradients[0], up @ b.T, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(result.gradients[1], a.T @ up, rtol=1e-4, atol=1e-5)


# A flag decides which axis of a block is which; what is stored is half as wide as what is computed.
TURNED = (
    HEAD
    + """
@triton.jit
def turned_kernel(
    a_desc, b_desc, c_desc, K, TURN_A: tl.constexpr, TURN_B: tl.constexpr,
    M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
):
    row = tl.program_id(0) * M
    column = tl.program_id(1) * N
    total = tl.zeros((M, N), dtype=tl.float32)
    for k in range(0, K, D):
        if TURN_A:
            left = a_desc.load([k, row]).T
        else:
            left = a_desc.load([row, k])
        if TURN_B:
            right = b_desc.load([column, k]).T
        else:
            right = b_desc.load([k, column])
        total = tl.dot(left, right, total)
HALVES


def turned(a, b, turn_a=False, turn_b=False):
    m, k = a.shape[::-1] if turn_a else a.shape
    n = b.shape[0] if turn_b else b.shape[1]
    c = torch.empty((m, n), device=a.device, dtype=a.dtype)
    a_desc = TensorDescriptor(a, list(a.shape), [a.shape[1], 1], [32, 16] if turn_a else [16, 32])
    b_desc = TensorDescriptor(b, list(b.shape), [b.shape[1], 1], [16, 32] if turn_b else [32, 16])
    c_desc = TensorDescriptor(c, [m, n], [n, 1], [16, WIDTH])
    grid = (triton.cdiv(m, 16), triton.cdiv(n, 16))
    turned_kernel[grid](a_desc, b_desc, c_desc, k, TURN_A=turn_a, TURN_B=turn_b, M=16, N=16, D=32)
    return c
"""
)


STORED = {
    "whole": TURNED.replace(
        "HALVES", "    c_desc.store([row, column], total.to(c_desc.dtype))"
    ).replace("WIDTH", "16"),
    "halves": TURNED.replace(
        "HALVES",
        "    halves = tl.permute(tl.reshape(total, (M, 2, N // 2)), (0, 2, 1))\n"
        "    one, two = tl.split(halves)\n"
        "    c_desc.store([row, column], one.to(c_desc.dtype))\n"
        "    c_desc.store([row, column + N // 2], two.to(c_desc.dtype))",
    ).replace("WIDTH", "8"),
}


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("turn_a", [False, True])
@pytest.mark.parametrize("turn_b", [False, True])
def test_flags_turn_blocks_over(
    tmp_path: Path, interpreter: Worker, stored: str, turn_a: bool, turn_b: bool
) -> None:
    """Each value of the flags has blocks of its own, and the proof makes them."""
    a, b, up = floats(20, 36), floats(36, 24), floats(20, 24) + 0.5
    given = [np.ascontiguousarray(a.T) if turn_a else a, np.ascontiguousarray(b.T) if turn_b else b]
    result = call_function(
        module_of(tmp_path, STORED[stored]),
        "turned",
        [*given, turn_a, turn_b],
        wrt=[0, 1],
        grad_outputs=[up],
        worker=interpreter,
    )
    np.testing.assert_allclose(result.outputs[0], a @ b, rtol=1e-4, atol=1e-5)
    da, db = up @ b.T, a.T @ up
    np.testing.assert_allclose(result.gradients[0], da.T if turn_a else da, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(result.gradients[1], db.T if turn_b else db, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("stored", STORED)
def test_turned_blocks_are_proved(tmp_path: Path, stored: str) -> None:
    path = tmp_path / "turned.py"
    path.write_text(STORED[stored])
    (kernel,) = json.loads(tad("--check", "--grad", "-f", "json", path).stdout)["kernels"]
    assert kernel["status"] == "proved", kernel
    assert "TURN_A=False/True" in kernel["covered"]


# Two descriptors with blocks of two lengths, of which a flag chooses one.
OF_TWO = (
    HEAD
    + """
@triton.jit
def either_kernel(
    a_desc, b_desc, out_ptr, n, FIRST: tl.constexpr, M: tl.constexpr, D: tl.constexpr, E: tl.constexpr,
):
    row = tl.program_id(0) * M
    total = tl.zeros((M,), dtype=tl.float32)
    for i in range(n):
        if FIRST:
            x = a_desc.load([row, i * D])
        else:
            x = b_desc.load([row, i * E])
        total += tl.sum(x * x, axis=1)
    tl.store(out_ptr + row + tl.arange(0, M), total)


def either(a, b, first=True):
    out = torch.empty((a.shape[0],), device=a.device, dtype=a.dtype)
    a_desc = TensorDescriptor(a, list(a.shape), [a.shape[1], 1], [4, 16])
    b_desc = TensorDescriptor(b, list(b.shape), [b.shape[1], 1], [4, 8])
    n = triton.cdiv(a.shape[1], 16) if first else triton.cdiv(b.shape[1], 8)
    either_kernel[(a.shape[0] // 4,)](a_desc, b_desc, out, n, FIRST=first, M=4, D=16, E=8)
    return out
"""
)


@pytest.mark.parametrize("first", [True, False])
def test_a_flag_chooses_between_blocks(tmp_path: Path, interpreter: Worker, first: bool) -> None:
    """What one descriptor moves by says nothing of the other's blocks."""
    a, b, up = floats(8, 36), floats(8, 28), floats(8, 1)[:, 0] + 0.5
    result = call_function(
        module_of(tmp_path, OF_TWO),
        "either",
        [a, b, first],
        wrt=[0, 1],
        grad_outputs=[up],
        worker=interpreter,
    )
    x = a if first else b
    np.testing.assert_allclose(result.outputs[0], (x * x).sum(axis=1), rtol=1e-4)
    chosen, other = (result.gradients[0], result.gradients[1])[:: 1 if first else -1]
    np.testing.assert_allclose(chosen, 2 * x * up[:, None], rtol=1e-4, atol=1e-6)
    assert other is None or not np.any(other)


def test_rows_and_weights(tmp_path: Path, interpreter: Worker) -> None:
    """A descriptor of one dimension; sizes that only a reshape and a product of tiles tell."""
    x, w, up = floats(6, 16), floats(16), floats(6, 16) + 0.3
    result = call_function(
        module_of(tmp_path, ROWS),
        "scale",
        [x, w],
        wrt=[0, 1],
        grad_outputs=[up],
        worker=interpreter,
    )
    np.testing.assert_allclose(result.outputs[0], x * w + x * x, rtol=1e-4)
    np.testing.assert_allclose(result.gradients[0], up * (w + 2 * x), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(result.gradients[1], (up * x).sum(axis=0), rtol=1e-4, atol=1e-6)


SQUARES = (
    HEAD
    + """
@triton.jit
def squares_kernel(x_desc, y_desc, B: tl.constexpr):
    at = [tl.program_id(0) * B, tl.program_id(1) * 16]
    x = x_desc.load(at)
    y_desc.store(at, x * x)


def squares(x, rows):
    M, N = x.shape
    y = torch.zeros_like(x)
    x_desc = TensorDescriptor(x, [rows, N], [N, 1], [4, 16])
    y_desc = TensorDescriptor(y, [M, N], [N, 1], [4, 16])
    squares_kernel[(triton.cdiv(M, 4), triton.cdiv(N, 16))](x_desc, y_desc, B=4)
    return y
"""
)


BATCHES = (
    HEAD
    + """
@triton.jit
def cubes_kernel(x_desc, y_desc, B: tl.constexpr):
    at = [tl.program_id(2), tl.program_id(0) * B, tl.program_id(1) * 16]
    x = x_desc.load(at).reshape(B, 16)
    y_desc.store(at, (x * x * x).reshape(1, B, 16))


def cubes(x, planes):
    K, M, N = x.shape
    y = torch.zeros_like(x)
    x_desc = TensorDescriptor(x, [planes, M, N], [M * N, N, 1], [1, 4, 16])
    y_desc = TensorDescriptor(y, [K, M, N], [M * N, N, 1], [1, 4, 16])
    cubes_kernel[(triton.cdiv(M, 4), triton.cdiv(N, 16), K)](x_desc, y_desc, B=4)
    return y
"""
)


@pytest.mark.parametrize("planes", [3, 2])
def test_blocks_of_one_plane_are_not_set_to_zero_first(
    planes: int, tmp_path: Path, interpreter: Worker
) -> None:
    text = module_of(tmp_path, BATCHES)
    assert "stored=[" in text
    x, up = floats(3, 7, 20), floats(3, 7, 20)
    result = call_function(
        text, "cubes", [x, planes], wrt=[0], grad_outputs=[up], worker=interpreter
    )
    want = np.where(np.arange(3)[:, None, None] < planes, 3 * up * x * x, 0)
    np.testing.assert_allclose(result.gradients[0], want, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("rows", [7, 5, 1])
def test_what_descriptors_have_is_not_set_to_zero_first(
    rows: int, tmp_path: Path, interpreter: Worker
) -> None:
    """Only where they have all of the tensor: what is behind their rows has a gradient of 0."""
    text = module_of(tmp_path, SQUARES)
    assert "stored=[" in text and 'ctx.sizes["x_desc"][0]' in text
    x, up = floats(7, 20), floats(7, 20)
    result = call_function(
        text, "squares", [x, rows], wrt=[0], grad_outputs=[up], worker=interpreter
    )
    want = np.where(np.arange(7)[:, None] < rows, 2 * up * x, 0)
    np.testing.assert_allclose(result.gradients[0], want, rtol=1e-4, atol=1e-6)


IN_BATCHES = (
    HEAD
    + """
@triton.jit
def tile_of(x, batch, start, n, D: tl.constexpr, B: tl.constexpr, DESCRIBED: tl.constexpr):
    if DESCRIBED:
        return x.load([AT]).reshape((B, D))
    else:
        rows = start + tl.arange(0, B)
        inside = rows[:, None] < n
        return tl.load(x + (batch * n + rows[:, None]) * D + tl.arange(0, D)[None, :], mask=inside, other=0.0)


@triton.jit
def exp_kernel(x, y, n, H: tl.constexpr, D: tl.constexpr, B: tl.constexpr, DESCRIBED: tl.constexpr):
    start = tl.program_id(0) * B
    batch, head = tl.program_id(1) // H, tl.program_id(1) % H
    rows = start + tl.arange(0, B)
    value = tl.exp(tile_of(x, batch * H + head, start, n, D, B, DESCRIBED))
    at = ((batch * H + head) * n + rows[:, None]) * D + tl.arange(0, D)[None, :]
    tl.store(y + at, value, mask=rows[:, None] < n)


def by_batches(x, described: bool):
    b, h, n, d = x.shape
    y = torch.empty_like(x)
    given = TensorDescriptor.from_tensor(VIEW, [BLOCK]) if described else x
    exp_kernel[(triton.cdiv(n, 8), b * h)](given, y, n, h, d, 8, DESCRIBED=described)
    return y
"""
)


@pytest.mark.parametrize(
    ("view", "at", "block"),
    [
        ("x.view(b * h, n, d)", "batch, start, 0", "1, 8, d"),
        ("x.view(b * h, n, 1, d)", "batch, start, 0, 0", "1, 8, 1, d"),
    ],
)
@pytest.mark.parametrize("described", [True, False])
def test_axes_that_a_reshape_drops(
    tmp_path: Path, interpreter: Worker, view: str, at: str, block: str, described: bool
) -> None:
    """A block of one batch, from a descriptor or from the tensor."""
    source = IN_BATCHES.replace("VIEW", view).replace("AT", at, 1).replace("BLOCK", block)
    source = source.replace("if DESCRIBED:", f"if {described}:").replace(
        "if described else", f"if {described} else"
    )
    x, up = floats(2, 2, 11, 16), floats(2, 2, 11, 16) + 0.5
    result = call_function(
        module_of(tmp_path, source),
        "by_batches",
        [x, described],
        wrt=[0],
        grad_outputs=[up],
        worker=interpreter,
    )
    np.testing.assert_allclose(result.outputs[0], np.exp(x), rtol=1e-5)
    np.testing.assert_allclose(result.gradients[0], np.exp(x) * up, rtol=1e-5)


def test_a_tensor_with_one_value_of_a_flag_and_its_descriptor_with_the_other(
    tmp_path: Path, interpreter: Worker
) -> None:
    """One kernel cannot take both: the backward is for the tensor, and says so."""
    source = IN_BATCHES.replace("VIEW", "x.view(b * h, n, d)").replace("AT", "batch, start, 0", 1)
    text = module_of(tmp_path, source.replace("BLOCK", "1, 8, d"))
    said = tad("--backward", tmp_path / "described.py", "--no-proof").stderr
    assert "info[gradient-flag-left-out] no gradient where DESCRIBED is set" in said
    x, up = floats(2, 2, 11, 16), floats(2, 2, 11, 16) + 0.5
    result = call_function(
        text, "by_batches", [x, False], wrt=[0], grad_outputs=[up], worker=interpreter
    )
    np.testing.assert_allclose(result.gradients[0], np.exp(x) * up, rtol=1e-5)
    with pytest.raises(Exception, match="no gradient where DESCRIBED is set"):
        call_function(text, "by_batches", [x, True], wrt=[0], grad_outputs=[up], worker=interpreter)


def test_blocks_that_a_hook_sets(tmp_path: Path, interpreter: Worker) -> None:
    """Autotuning sets the blocks of the forward's descriptors; the backward has none and no hooks."""
    text = module_of(tmp_path, TUNED)
    x, up = floats(6, 24), floats(6, 24) + 0.5
    result = call_function(text, "cube", [x], wrt=[0], grad_outputs=[up], worker=interpreter)
    np.testing.assert_allclose(result.gradients[0], 3 * x * x * up, rtol=1e-5)


@pytest.mark.parametrize("by_host", [True, False])
def test_pointer_or_descriptor(by_host: bool, tmp_path: Path, interpreter: Worker) -> None:
    """What the launcher does not describe the kernel does: autograd sees the tensor in both cases."""
    x, up = floats(6, 24), floats(6, 24) + 0.5
    text = module_of(tmp_path, EITHER)
    result = call_function(
        text, "cube", [x, by_host], wrt=[0], grad_outputs=[up], worker=interpreter
    )
    np.testing.assert_allclose(result.gradients[0], 3 * x * x * up, rtol=1e-5)


def test_other_blocks_are_rejected(tmp_path: Path, interpreter: Worker) -> None:
    """Blocks that overlap: a gradient for blocks side by side would be another one."""
    text = module_of(tmp_path, SUMS)
    with pytest.raises(Exception, match=r"`x_desc` is not in blocks of \(8,\)"):
        call_function(text, "sums", [floats(48)], worker=interpreter)
    x, up = floats(48), floats(6)
    text = text.replace("[16])", "[8])")
    result = call_function(text, "sums", [x], wrt=[0], grad_outputs=[up], worker=interpreter)
    np.testing.assert_allclose(result.gradients[0], 2 * x * np.repeat(up, 8), rtol=1e-4, atol=1e-6)


def test_blocks_that_nothing_tells(tmp_path: Path) -> None:
    """One block at a fixed place, summed up: how long it is stands nowhere in the kernel."""
    path = tmp_path / "described.py"
    path.write_text(SUMS.replace("tl.program_id(0) * STEP", "tl.program_id(0)"))
    run = tad("--check", "--grad", path)
    assert "the size of the blocks of `x_desc` along axis 0 is not to be seen" in run.stdout


def test_parameters_without_launcher_are_explained(tmp_path: Path) -> None:
    """The kernels alone say what stands for a descriptor."""
    path = tmp_path / "described.py"
    path.write_text(PRODUCT)
    text = tad("--backward", path, "--no-proof", "--wrapper", "none").stdout
    assert "# a_ptr, a_shape_*, a_stride_*: the tensor of `a_desc`, its shape and strides" in text


def test_compiles(tmp_path: Path) -> None:
    """The real Triton takes the forward with descriptors and the backward with pointers, both to machine code."""
    path = tmp_path / "backward.py"
    path.write_text(module_of(tmp_path, PRODUCT))
    blocks = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 32}
    sides = {"a_desc": "16, 32", "b_desc": "32, 16", "c_desc": "16, 16"}
    described = {name: f"tensordesc<fp16[{sizes}]>" for name, sizes in sides.items()}
    forward = compile_kernel(path, "product_kernel", {**described, "K": "i32"}, blocks)
    pointers = {"dc_ptr": "*fp16", "a_ptr": "*fp16", "b_ptr": "*fp16"}
    sums = {"da_ptr": "*fp32", "db_ptr": "*fp32", "K": "i32"}
    numbers = {
        f"{name}_{what}": "i32" if what.startswith("shape") else "i64"
        for name in "abc"
        for what in ("shape_0", "shape_1", "stride_0")
    }
    backward = compile_kernel(
        path, "product_kernel_backward", {**pointers, **sums, **numbers}, blocks
    )
    assert forward.cubin_size > 1000
    assert backward.cubin_size > 1000
