"""Flags that choose a layout: one statement adds behind their branches, or each value has kernels of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emitted.plan import tad

HEAD = """import torch
import triton
import triton.language as tl


"""

# rows of packed sequences times a state of each chunk, in one of two layouts; programs for its columns share the rows
STATES = (
    HEAD
    + """@triton.jit
def read_kernel(
    q, h, y, starts, chunks, T, H: tl.constexpr, D: tl.constexpr, E: tl.constexpr,
    B: tl.constexpr, C: tl.constexpr, F: tl.constexpr, TURNED: tl.constexpr, PACKED: tl.constexpr,
):
    column = tl.program_id(0) % tl.cdiv(E, F)
    block = tl.program_id(0) // tl.cdiv(E, F)
    batch = tl.program_id(1) // H
    head = tl.program_id(1) % H
    if PACKED:
        number = block
        part = tl.load(chunks + block * 2)
        block = tl.load(chunks + block * 2 + 1)
        first = tl.load(starts + part)
        length = tl.load(starts + part + 1) - first
    else:
        number = batch * tl.cdiv(T, B) + block
        first = batch * T
        length = T
    q += (first * H + head) * D
    h += (number * H + head) * D * E
    y += (first * H + head) * E
    rows = block * B + tl.arange(0, B)
    outs = column * F + tl.arange(0, F)
    total = tl.zeros([B, F], dtype=tl.float32)
    for c in range(tl.cdiv(D, C)):
        cols = c * C + tl.arange(0, C)
        p_q = q + rows[:, None] * (H * D) + cols[None, :]
        if TURNED:
            p = h + outs[:, None] * D + cols[None, :]
            here = (outs < E)[:, None] & (cols < D)[None, :]
        else:
            p = h + cols[:, None] * E + outs[None, :]
            here = (cols < D)[:, None] & (outs < E)[None, :]
        a = tl.load(p_q, mask=(rows < length)[:, None] & (cols < D)[None, :], other=0.0)
        state = tl.load(p, mask=here, other=0.0)
        if TURNED:
            total = tl.dot(a, tl.trans(state), total)
        else:
            total = tl.dot(a, state, total)
    inside = (rows < length)[:, None] & (outs < E)[None, :]
    tl.store(y + rows[:, None] * (H * E) + outs[None, :], total, mask=inside)


def read(q, h, starts=None, turned=False):
    H, D = q.shape[-2:]
    E = h.shape[2] if turned else h.shape[3]
    y = torch.empty(*q.shape[:-1], E, dtype=q.dtype, device=q.device)
    sizes = dict(H=H, D=D, E=E, B=16, C=16, F=16, TURNED=turned)
    if starts is None:
        T = q.shape[1]
        grid = (triton.cdiv(E, 16) * triton.cdiv(T, 16), q.shape[0] * H)
        read_kernel[grid](q, h, y, None, None, T, **sizes, PACKED=False)
        return y
    lengths = (starts[1:] - starts[:-1]).tolist()
    chunks = torch.tensor(
        [[part, i] for part, n in enumerate(lengths) for i in range(triton.cdiv(n, 16))],
        dtype=torch.int64,
        device=q.device,
    )
    grid = (triton.cdiv(E, 16) * chunks.shape[0], H)
    read_kernel[grid](q, h, y, starts, chunks, q.shape[0], **sizes, PACKED=True)
    return y
"""
)

# batches share a bias, of columns or of all elements; or the lanes of a whole tile read a row of it
BIASES = (
    HEAD
    + """# tad: x=f32[3, 20, 24], b=f32[20, 24], y=f32[3, 20, 24], rows=20, cols=24, B=8, C=8, KIND=2, grid=(3, 3, 3)
# tad: x=f32[3, 20, 24], b=f32[24], y=f32[3, 20, 24], rows=20, cols=24, B=8, C=8, KIND=1, grid=(3, 3, 3)
# tad: x=f32[3, 20, 24], b=f32[24], y=f32[3, 20, 24], rows=20, cols=24, B=8, C=8, KIND=3, grid=(3, 3, 3)
@triton.jit
def bias_kernel(x, b, y, rows, cols, B: tl.constexpr, C: tl.constexpr, KIND: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)
    c = tl.program_id(1) * C + tl.arange(0, C)
    inside = (r[:, None] < rows) & (c[None, :] < cols)
    at = (tl.program_id(2) * rows + r[:, None]) * cols + c[None, :]
    p = b + (cols * r[:, None] if KIND == 2 else 0) + c[None, :]
    bias = tl.load(p, mask=(c[None, :] < cols) if KIND == 1 else inside, other=0.0)
    tl.store(y + at, tl.sin(tl.load(x + at, mask=inside, other=0.0)) * bias, mask=inside)
"""
)


def backward(folder: Path, text: str, *options: str) -> tuple[str, str]:
    """The module of a text, and what was said."""
    path = folder / "layouts.py"
    path.write_text(text)
    done = tad("--backward", *options, path)
    return done.stdout, done.stderr


@pytest.mark.parametrize("is_launched", [True, False], ids=["launched", "no launch"])
def test_rows_that_programs_share_are_summed_whatever_the_layout(
    is_launched: bool, tmp_path: Path
) -> None:
    text = STATES if is_launched else STATES.partition("\n\ndef read(")[0]
    module, said = backward(tmp_path, text, "--time-limit", "200")
    assert "gradients proved" in said
    assert "tl.atomic_add" not in module


@pytest.mark.parametrize("bound", ["length - head", "length - column"])
def test_masks_that_branches_do_not_share_stay_apart(bound: str, tmp_path: Path) -> None:
    """Rows that one branch alone leaves out."""
    load = "    a = tl.load(p_q, mask=(rows < length)[:, None] & (cols < D)[None, :], other=0.0)\n"
    assert load in STATES
    text = STATES.replace("    " + load, "")
    for state, end in (("tl.trans(state)", "length"), ("state", bound)):
        line = f"            total = tl.dot(a, {state}, total)\n"
        assert line in text
        text = text.replace(line, 2 * "    " + load.replace("length", end) + line)
    _, said = backward(tmp_path, text, "--time-limit", "200")
    assert "gradients proved" in said


def test_numbers_that_choose_a_place_have_kernels_of_their_own(tmp_path: Path) -> None:
    module, said = backward(tmp_path, BIASES, "--time-limit", "200")
    assert "gradients proved" in said
    assert "tl.atomic_add" not in module
    assert "if KIND == 2:" in module


def test_lanes_that_read_one_row_add_their_sum_to_it(tmp_path: Path) -> None:
    text = BIASES.replace("(cols * r[:, None] if KIND == 2 else 0)", "0")
    text = text.replace("(c[None, :] < cols) if KIND == 1 else inside", "inside")
    module, said = backward(tmp_path, text, "--time-limit", "200")
    assert "gradients proved" in said
    assert "tl.atomic_add" not in module
    assert "keep_dims=True" in module
