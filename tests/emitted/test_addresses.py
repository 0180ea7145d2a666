"""An address that is a number, loaded or passed, is in no tensor that has a gradient: refused, not forgotten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.emitted.plan import tad

KERNEL = """import torch
import triton
import triton.language as tl


@triton.jit
def k(o_ptr, w_ptr, t_ptr, address, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    w = tl.load(w_ptr + i, mask=m, other=0.0)
{body}
    tl.store(o_ptr + i, r, mask=m)
"""
# Each has floats with a gradient beside those of `w_ptr`.
LOST = {
    "loaded": "p = tl.load(t_ptr + tl.program_id(0)).to(tl.pointer_type(tl.float32))\n"
    "r = w * tl.load(p + i, mask=m, other=0.0)",
    "type_of_another": "p = tl.load(t_ptr).to(tl.pointer_type(w_ptr.dtype.element_ty))\n"
    "r = w + tl.load(p + i, mask=m, other=0.0)",
    "passed": "p = address.to(tl.pointer_type(tl.float16))\n"
    "r = w * tl.load(p + i, mask=m, other=0.0).to(tl.float32)",
    "chosen": "p = w_ptr\nif n > 9:\n    p = tl.load(t_ptr).to(tl.pointer_type(w_ptr.dtype.element_ty))\n"
    "r = w * tl.load(p + i, mask=m, other=0.0)",
    "walked": "r = w\np = tl.load(t_ptr).to(tl.pointer_type(tl.float32))\n"
    "for _ in range(3):\n    r += tl.load(p + i, mask=m, other=0.0)\n    p += n",
    "chained": "r = w\np = w_ptr.to(tl.pointer_type(tl.float32))\nfor g in range(3):\n"
    "    r += tl.load(p + i, mask=m, other=0.0)\n"
    "    p = tl.load(t_ptr + g).to(tl.pointer_type(tl.float32))",
    "block": "p = tl.load(t_ptr).to(tl.pointer_type(tl.float32))\n"
    "b = tl.make_block_ptr(p, [n], [1], [0], [BLOCK], [0])\n"
    "r = w * tl.load(b, boundary_check=(0,))",
    "stored": "r = w\np = tl.load(t_ptr).to(tl.pointer_type(tl.float32))\n"
    "tl.store(p + i, w * w, mask=m)",
    "added": "r = w\np = tl.load(t_ptr).to(tl.pointer_type(tl.float32))\n"
    "tl.atomic_add(p + i, w * w, mask=m)",
}
# In each nothing with a gradient lies behind the address.
INDEPENDENT = {
    "index": "p = tl.load(t_ptr).to(tl.pointer_type(tl.int32))\n"
    "r = w * (tl.load(p + i, mask=m, other=0) & 3).to(tl.float32)",
    "compared": "p = tl.load(t_ptr).to(tl.pointer_type(tl.float32))\n"
    "r = tl.where(tl.load(p + i, mask=m, other=0.0) > 0, w, w * w)",
    "noted": "r = w * w\np = tl.load(t_ptr).to(tl.pointer_type(tl.int32))\n"
    "tl.store(p + i, i, mask=m)",
}


def status(tmp_path: Path, body: str, *flags: str) -> tuple[str, str]:
    """What becomes of the kernel, and why."""
    file = tmp_path / "addresses.py"
    file.write_text(KERNEL.format(body="\n".join("    " + line for line in body.split("\n"))))
    report = json.loads(tad("--check", "--grad", "--format", "json", *flags, file).stdout)
    (kernel,) = report["kernels"]
    return kernel["status"], kernel.get("reason", "")


@pytest.mark.parametrize("name", LOST)
def test_tensor_behind_a_number_is_refused(tmp_path: Path, name: str) -> None:
    found, reason = status(tmp_path, LOST[name])
    assert found == "refused", reason
    assert "address" in reason or "pointer" in reason


# All that these read and write lies behind numbers; a flag may say of what type.
BEHIND = """import triton
import triton.language as tl


@triton.jit
def k(x_table, y_table, sizes, HALF: tl.constexpr, B: tl.constexpr):
    dtype = {dtype}
    g = tl.program_id(0)
    rows = tl.load(sizes + g)
    x_ptr = tl.load(x_table + g).to(tl.pointer_type(dtype))
    y_ptr = tl.load(y_table + g).to(tl.pointer_type(dtype))
{body}
"""
BODIES = {
    "pointers": "i = tl.arange(0, B)\nx = tl.load(x_ptr + i, mask=i < rows)\n"
    "tl.store(y_ptr + i, x * x, mask=i < rows)",
    "descriptors": "x_desc = tl.make_tensor_descriptor(x_ptr, [rows, B], [B, 1], [16, B])\n"
    "y_desc = tl.make_tensor_descriptor(y_ptr, [rows, B], [B, 1], [16, B])\n"
    "for row in range(0, rows, 16):\n    x = x_desc.load([row, 0])\n    y_desc.store([row, 0], x * x)",
}


@pytest.mark.parametrize("dtype", ["tl.float16", "tl.float16 if HALF else tl.float32"])
@pytest.mark.parametrize("name", BODIES)
def test_a_kernel_between_tables_of_addresses_is_refused(
    tmp_path: Path, name: str, dtype: str
) -> None:
    """It has gradients, which nobody can find: it is not taken for one without any."""
    file = tmp_path / "behind.py"
    body = "\n".join("    " + line for line in BODIES[name].split("\n"))
    file.write_text(BEHIND.format(dtype=dtype, body=body))
    report = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)
    (kernel,) = report["kernels"]
    assert kernel["status"] == "refused"
    assert "through an address that is a number" in kernel["reason"]
    assert "--wrt" not in kernel["reason"]


@pytest.mark.parametrize("name", INDEPENDENT)
def test_numbers_behind_a_number_need_no_gradient(tmp_path: Path, name: str) -> None:
    assert status(tmp_path, INDEPENDENT[name])[0] in {"derived", "proved", "unproved"}


@pytest.mark.parametrize(("name", "is_derived"), [("loaded", True), ("stored", False)])
def test_inputs_that_were_named_are_all(tmp_path: Path, name: str, is_derived: bool) -> None:
    """Who asks for the gradient of `w_ptr` alone gets it; a store that nobody sees stays refused."""
    status(tmp_path, LOST[name])
    run = tad("--backward", "--no-proof", "--wrt", "w_ptr", tmp_path / "addresses.py")
    assert ("def k_backward(" in run.stdout) == is_derived
    assert ("--wrt" in run.stderr or "address" in run.stderr) != is_derived


NESTED = """import torch
import triton
import triton.language as tl


# tad: rows=19, H=48, N=32, BN=16, BH=16, stride_x=50, stride_a=40, grid=(2,)
@triton.jit
def columns_kernel(
    x, a, out, stride_x, stride_a, rows,
    N: tl.constexpr, H: tl.constexpr, BN: tl.constexpr, BH: tl.constexpr,
):
    program = tl.program_id(0)
    x_block = tl.make_block_ptr(x, (rows, H), (stride_x, 1), (program * 16, 0), (16, BH), (1, 0))
    a_block = tl.make_block_ptr(a, (H, N), (stride_a, 1), (0, 0), (BH, BN), (1, 0))
    total = tl.zeros((16,), dtype=tl.float32)
    for _ in range(N // BN):
        product = tl.zeros((16, BN), dtype=tl.float32)
        x_part = x_block
        for _ in range(H // BH):
            product = tl.dot(tl.load(x_part, boundary_check=(0,)), tl.load(a_block), product)
            x_part = tl.advance(x_part, [0, BH])
            a_block = tl.advance(a_block, [BH, 0])
        total += tl.sum(product * product, axis=1)
        a_block = tl.advance(a_block, [-BH * (H // BH), BN])
    places = program * 16 + tl.arange(0, 16)
    tl.store(out + places, total, mask=places < rows)
"""


def test_a_block_pointer_that_two_loops_advance(tmp_path: Path) -> None:
    """The outer loop moves it by what the inner loop did, and by a step of its own."""
    file = tmp_path / "nested.py"
    file.write_text(NESTED)
    report = json.loads(tad("--check", "--grad", "--format", "json", file).stdout)
    (kernel,) = report["kernels"]
    assert kernel["status"] == "proved", kernel["reason"]
    assert kernel["coverage"]["loops"][0]["several"]


SPLIT = """import triton
import triton.language as tl


@triton.jit
def kernel(x, mask, out, stride, MASKED: tl.constexpr, ONE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    value = tl.load(x + row * stride + columns)
    if MASKED:
        place = (row,)
        if ONE == 1:
            place = 0
        offset = place * stride
    if MASKED:
        value *= tl.load(mask + offset + columns)
    tl.store(out + row * stride + columns, value)
"""


def test_what_follows_a_branch_within_a_branch_is_not_lost(tmp_path: Path) -> None:
    """A name that is a tuple in one of two branches splits the block that it is in; the other value has a backward."""
    file = tmp_path / "split.py"
    file.write_text(SPLIT)
    run = tad("--backward", "--wrapper", "none", "--no-proof", file)
    assert "if MASKED:\n        return" not in run.stdout
    assert run.returncode == 0 and "gradient-flag-left-out" in run.stderr
    assert "tl.static_assert(" in run.stdout
