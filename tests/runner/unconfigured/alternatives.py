"""One of several definitions of a helper: the one of this release, for every device, without settings."""

import os

import torch
import triton
import triton.language as tl

HAS_GATHER = hasattr(triton.language, "gather")
IS_NEW_DEVICE = torch.cuda.is_available() and torch.cuda.get_device_capability()[0] in (10, 12)

if not HAS_GATHER:

    @triton.jit
    def pick(src, index, axis, _builder=None):
        """Only to be there."""
        return None

else:
    pick = tl.gather

if IS_NEW_DEVICE:

    @triton.jit
    def product(a, b):
        return tl.inline_asm_elementwise(
            "mma.fix $0, $1;", "=r,r", [tl.dot(a, b)], dtype=tl.float32, is_pure=True, pack=1
        )

else:

    @triton.jit
    def product(a, b):
        return tl.dot(a, b)


if os.environ.get("PROJECT_FAST", "0") == "1":

    @triton.jit
    def activation(x):
        return tl.inline_asm_elementwise(
            "fast.unit $0, $1;", "=r,r", [x], dtype=tl.float32, is_pure=True, pack=1
        )

elif "PROJECT_SLOW" in os.environ:

    @triton.jit
    def activation(x):
        return None

else:

    @triton.jit
    def activation(x):
        return tl.exp(x)


@triton.jit
def picked(x_ptr, i_ptr, y_ptr, B: tl.constexpr):
    at = tl.arange(0, B)
    x = tl.load(x_ptr + at)
    chosen = tl.load(i_ptr + at)
    tl.store(y_ptr + at, activation(pick(x, chosen, axis=0)))


@triton.jit
def multiplied(x_ptr, w_ptr, y_ptr, B: tl.constexpr):
    at = tl.arange(0, B)
    p = at[:, None] * B + at[None, :]
    tl.store(y_ptr + p, product(tl.load(x_ptr + p), tl.load(w_ptr + p)))


@triton.jit
def inner_blocks(acc, p, v_desc, start, end, kind: tl.constexpr, B: tl.constexpr):
    for at in range(start, end, B):
        acc = acc * 0.5
        if kind == tl.float8e5:
            v = v_desc.load([0, at]).T
        else:
            v = v_desc.load([at, 0])
        acc = tl.dot(p.to(kind), v, acc)
    return acc


@triton.jit
def layout_by_a_type(
    p_ptr,
    v_ptr,
    y_ptr,
    n,
    STAGE: tl.constexpr,
    SMALL: tl.constexpr,
    B: tl.constexpr,
    D: tl.constexpr,
):
    kind = tl.float8e5 if SMALL else tl.float16
    if SMALL:
        v_desc = tl.make_tensor_descriptor(v_ptr, [D, n], [n, 1], [D, B])
    else:
        v_desc = tl.make_tensor_descriptor(v_ptr, [n, D], [D, 1], [B, D])
    rows = tl.program_id(0) * B + tl.arange(0, B)
    p = tl.load(p_ptr + rows[:, None] * B + tl.arange(0, B)[None, :])
    acc = tl.zeros([B, D], tl.float32)
    if STAGE & 1:
        acc = inner_blocks(acc, p, v_desc, 0, B, kind, B)
    if STAGE & 2:
        acc = inner_blocks(acc, p, v_desc, B, n, kind, B)
    tl.store(y_ptr + rows[:, None] * D + tl.arange(0, D)[None, :], acc)


# tad: x_ptr=f32[100], out_ptr=f32[100], n=100, by_row=False, scale=0.5, BLOCK=128, grid=(1,)
@triton.jit
def scaled_by_number_or_row(
    x_ptr, out_ptr, n, by_row: tl.constexpr, BLOCK: tl.constexpr, scale=1.0
):
    """A number in one branch, a pointer in the other: here there is no gradient of it."""
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    if by_row:
        tl.store(out_ptr + i, x / tl.load(scale + i, mask=i < n, other=1.0), mask=i < n)
    else:
        tl.store(out_ptr + i, x / scale, mask=i < n)
