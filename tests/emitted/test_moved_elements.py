"""Kernels that move elements by digits of several numbers: no atomics, and no zeros where all is stored."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import proved_module, tad
from tests.support.worker import Worker
from tests.triton.interpret import call_function

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
SPACE_TO_DEPTH = """@triton.jit
def k(x_ptr, y_ptr, C, H, W, R: tl.constexpr, B: tl.constexpr):
    plane = tl.program_id(0)
    b, co = plane // (C * R * R), plane % (C * R * R)
    c, i, j = co // (R * R), co % (R * R) // R, co % R
    oh, ow = H // R, W // R
    p = tl.program_id(1) * B + tl.arange(0, B)
    m = p < oh * ow
    y, x = p // ow, {column}
    v = tl.load(x_ptr + ((b * C + c) * H + y * R + i) * W + x * R + j, mask=m)
    tl.store(y_ptr + plane * oh * ow + p, v, mask=m)


def run(x, r=2):
    B, C, H, W = x.shape
    y = torch.empty(B, C * r * r, H // r, W // r)
    k[(B * C * r * r, triton.cdiv((H // r) * (W // r), 8))](x, y, C, H, W, R=r, B=8)
    return y
"""
# A program for a part of a plane of the picture that is enlarged.
DEPTH_TO_SPACE = """@triton.jit
def k(x_ptr, y_ptr, C, H, W, R: tl.constexpr, B: tl.constexpr):
    n, c = tl.program_id(2), tl.program_id(1)
    o = tl.program_id(0) * B + tl.arange(0, B)
    m = o < H * R * W * R
    row, col = o // (W * R), o % (W * R)
    channel = (c * R + row % R) * R + col % R
    src = ((n * C * R * R + channel) * H + row // R) * W + col // R
    v = tl.load(x_ptr + src, mask=m)
    tl.store(y_ptr + (n * C + c) * H * R * W * R + o, v, mask=m)


def run(x, r=2):
    N, CRR, H, W = x.shape
    C = CRR // (r * r)
    y = torch.empty(N, C, H * r, W * r)
    k[(triton.cdiv(H * r * W * r, 16), C, N)](x, y, C, H, W, R=r, B=16)
    return y
"""


def unshuffled(x: np.ndarray) -> np.ndarray:
    b, c, h, w = x.shape
    x = x[:, :, : h // 2 * 2, : w // 2 * 2].reshape(b, c, h // 2, 2, w // 2, 2)
    return x.transpose(0, 1, 3, 5, 2, 4).reshape(b, c * 4, h // 2, w // 2)


def shuffled(x: np.ndarray) -> np.ndarray:
    b, c, h, w = x.shape
    x = x.reshape(b, c // 4, 2, 2, h, w)
    return x.transpose(0, 1, 4, 2, 5, 3).reshape(b, c // 4, h * 2, w * 2)


def check_gradient(
    text: str, forward: Callable, x: np.ndarray, interpreter: Worker, *arguments: object
) -> None:
    """Of a kernel that copies: what an element goes to, it gets back."""
    upstream = np.random.default_rng(5).uniform(-1, 1, forward(x).shape)
    found = call_function(
        text, "run", [x, *arguments], wrt=[0], grad_outputs=[upstream], worker=interpreter
    ).gradients
    numbers = forward(np.arange(1, x.size + 1, dtype=float).reshape(x.shape)).astype(int)
    want = np.zeros(x.size + 1)
    np.add.at(want, numbers.ravel(), upstream.ravel())
    np.testing.assert_allclose(found[0], want[1:].reshape(x.shape), rtol=1e-5)


@pytest.mark.parametrize("shape", [(2, 3, 8, 6), (1, 1, 2, 2), (2, 2, 7, 9)])
@pytest.mark.parametrize("column", ["p % ow", "p - p // ow * ow"])
def test_pixels_that_become_channels(
    column: str, shape: tuple, tmp_path: Path, interpreter: Worker
) -> None:
    """Digits of a program's number and of an element's; pictures of 7 x 9 have a row and a column that nobody reads."""
    text = proved_module(tmp_path, HEAD + SPACE_TO_DEPTH.format(column=column))
    assert "atomic" not in text
    assert "(W * R, min((H // R), programs_[1] * B // max((W // R), 1)))," in text
    check_gradient(text, unshuffled, np.ones(shape), interpreter)


@pytest.mark.parametrize("shape", [(2, 8, 3, 5), (1, 4, 1, 1)])
def test_channels_that_become_pixels(shape: tuple, tmp_path: Path, interpreter: Worker) -> None:
    text = proved_module(tmp_path, HEAD + DEPTH_TO_SPACE)
    assert "atomic" not in text and "stored=[" in re.sub(r"\s+", "", text)
    check_gradient(text, shuffled, np.ones(shape), interpreter)


def test_pixels_at_one_place_are_added_up(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    text = SPACE_TO_DEPTH.format(column="p % ow")
    for before, after in [("x * R + j", "x + j"), ("c, i, j = co // (R * R)", "c, i, j = co // R")]:
        assert before in text
        path.write_text(HEAD + text.replace(before, after))
        assert "tl.atomic_add(" in tad("--backward", "--no-proof", path).stdout


CONCATENATED = """@triton.jit
def k(a_ptr, b_ptr, y_ptr, n, na, nb, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    row = i // (na + nb)
    {digit}
    {masks}
    a = tl.load(a_ptr + row * na + r, mask=in_a, other=0.0)
    b = tl.load(b_ptr + row * nb + (r - na), mask=in_b, other=0.0)
    tl.store(y_ptr + i, tl.where(r < na, a, b), mask=m)


def run(a, b):
    rows, na = a.shape
    nb = b.shape[1]
    y = torch.empty(rows, na + nb)
    k[(triton.cdiv(y.numel(), 8),)](a, b, y, y.numel(), na, nb, B=8)
    return y
"""
ROWS_BEHIND = [
    ("r = i % (na + nb)", "in_a = m & (r < na)\n    in_b = m & (r >= na)"),
    ("r = i - row * (na + nb)", "in_a = m & (na > r)\n    in_b = m & ~(r < na)"),
    ("r = i % (na + nb)", "in_a = m & (r <= na - 1)\n    in_b = m & (r - na >= 0)"),
]


@pytest.mark.parametrize(("digit", "masks"), ROWS_BEHIND)
def test_rows_one_behind_the_other(
    digit: str, masks: str, tmp_path: Path, interpreter: Worker
) -> None:
    text = proved_module(tmp_path, HEAD + CONCATENATED.format(digit=digit, masks=masks))
    assert "atomic" not in text
    stored = re.sub(r"\s+", "", text)
    assert "(1,max(min(na+nb,na),0)),(na,min(ctx.grid[0]*B,n)//max((na+nb),1))," in stored
    assert "(1,max(na+nb-na,0)),(nb,min(ctx.grid[0]*B,n)//max((na+nb),1))," in stored
    random = np.random.default_rng(6)
    for rows, na, nb in [(3, 5, 4), (1, 1, 9), (4, 2, 0)]:
        upstream = random.uniform(-1, 1, (rows, na + nb))
        found = call_function(
            text,
            "run",
            [np.ones((rows, na)), np.ones((rows, nb))],
            wrt=[0, 1],
            grad_outputs=[upstream],
            worker=interpreter,
        ).gradients
        np.testing.assert_allclose(found[0], upstream[:, :na], rtol=1e-6)
        np.testing.assert_allclose(found[1], upstream[:, na:], rtol=1e-6)


MEETING = [
    "in_a = m\n    in_b = m & (r >= na)",  # lanes beyond the first row
    "in_a = m & (r < na + nb)\n    in_b = m & (r >= na)",
    "in_a = m & ((r < na) | (r > nb))\n    in_b = m & (r >= na)",
]


@pytest.mark.parametrize("masks", MEETING)
def test_rows_that_reach_into_the_next_one(masks: str, tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(HEAD + CONCATENATED.format(digit="r = i % (na + nb)", masks=masks))
    text = tad("--backward", "--no-proof", path).stdout
    assert "tl.atomic_add(da_ptr" in text and "tl.atomic_add(db_ptr" not in text


# Channels of a first group come from the next frame, those of a second from the last one.
FRAMES = """@triton.jit
def k(x_ptr, y_ptr, T, C, HW, F, B: tl.constexpr):
    bt = tl.program_id(0)
    c = tl.program_id(1)
    i = tl.program_id(2) * B + tl.arange(0, B)
    t = bt % T
    step = {step}
    inside = (t + step >= 0) & (t + step < T)
    x = tl.load(x_ptr + {at}, mask=(i < HW) & inside, other=0.0)
    tl.store(y_ptr + (bt * C + c) * HW + i, x, mask=i < HW)


def run(x):
    B, T, C, HW = x.shape
    y = torch.empty_like(x)
    k[(B * T, C, triton.cdiv(HW, 4))](x, y, T, C, HW, C // 4, B=4)
    return y
"""
SHIFTED = {
    "step": "tl.where(c < F, 1, tl.where(c < 2 * F, -1, 0))",
    "at": "((bt + step) * C + c) * HW + i",
}


def frames(x: np.ndarray) -> np.ndarray:
    y, fold = x.copy(), x.shape[2] // 4
    y[:, :, : 2 * fold] = 0
    y[:, :-1, :fold] = x[:, 1:, :fold]
    y[:, 1:, fold : 2 * fold] = x[:, :-1, fold : 2 * fold]
    return y


def test_frames_that_channels_shift(tmp_path: Path, interpreter: Worker) -> None:
    text = proved_module(tmp_path, HEAD + FRAMES.format(**SHIFTED))
    assert "atomic" not in text
    assert re.search(
        r"tl\.store\(\s*\(?dx_ptr \+ dy_offset.*\n?.*tl\.where\(inside_\d, dx, 0\.0\)", text
    )
    assert "        if (offset < 0) | (offset >= offset_1):\n" in text
    x = np.arange(1, 2 * 3 * 5 * 6 + 1, dtype=float).reshape(2, 3, 5, 6)
    upstream = np.random.default_rng(8).uniform(-1, 1, x.shape)
    found = call_function(
        text, "run", [x], wrt=[0], grad_outputs=[upstream], worker=interpreter
    ).gradients
    want = np.zeros(x.size + 1)
    np.add.at(want, frames(x).astype(int).ravel(), upstream.ravel())
    np.testing.assert_allclose(found[0], want[1:].reshape(x.shape), rtol=1e-6)


MEET = {
    "a shift by the frame's own number": {"step": "tl.where(bt % 2 < F, 1, -1)"},
    "a channel that frames shift": {"at": "(bt * C + c + tl.where(bt < F, 1, 0)) * HW + i"},
    "a shift of the element": {"at": "(bt * C + c) * HW + i + step"},
    "frames by a stride within channels": {"at": "((bt + step) + c * T) * HW + i"},
}


@pytest.mark.parametrize("name", MEET)
def test_other_shifts_may_meet(name: str, tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(HEAD + FRAMES.format(**{**SHIFTED, **MEET[name]}))
    assert "tl.atomic_add(" in tad("--backward", "--no-proof", path).stdout


# An element of the patches a lane: (N, C, H, W) to (N, patches, P * P * C).
PATCHES = """@triton.jit
def k(x_ptr, y_ptr, C, H, W, GH, GW, n, P: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    c = i % C
    q = i // C % P
    r = i // (C * P) % P
    gw = i // (C * P * P) % GW
    gh = i // (C * P * P * GW) % GH
    b = i // (C * P * P * GW * GH)
    x = tl.load(x_ptr + ((b * C + c) * H + gh * P + r) * W + gw * P + q, mask=m)
    tl.store(y_ptr + i, x, mask=m)


def run(x, p=3):
    N, C, H, W = x.shape
    y = torch.empty(N, (H // p) * (W // p), p * p * C)
    n = y.numel()
    k[(triton.cdiv(n, 16),)](x, y, C, H, W, H // p, W // p, n, P=p, B=16)
    return y
"""


def patches(x: np.ndarray) -> np.ndarray:
    n, c, h, w = x.shape
    x = x[:, :, : h // 3 * 3, : w // 3 * 3].reshape(n, c, h // 3, 3, w // 3, 3)
    return x.transpose(0, 2, 4, 3, 5, 1).reshape(n, -1, 9 * c)


@pytest.mark.parametrize("shape", [(2, 3, 6, 9), (1, 2, 7, 11), (1, 1, 3, 3)])
def test_patches_are_stored_in_the_order_of_the_picture(
    shape: tuple, tmp_path: Path, interpreter: Worker
) -> None:
    """Rows of 11 have columns in no patch: their gradient is 0."""
    text = proved_module(tmp_path, HEAD + PATCHES)
    assert "tl.store(dx_ptr + dx_offsets, tl.where(inside, dx, 0.0), mask=stored)" in text
    assert "offsets = dx_offsets // W\n" in text and "fills = _filled_buffer(" in text
    check_gradient(text, patches, np.ones(shape), interpreter)


BESIDE = """@triton.jit
def k(a_ptr, b_ptr, y_ptr, NA, NB, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.program_id(1) * B + tl.arange(0, B)
    a = tl.load(a_ptr + row * NA + c, mask=c < NA, other=0.0)
    b = tl.load(b_ptr + row * NB + c - NA, mask=(c >= NA) & (c < NA + NB), other=0.0)
    tl.store(y_ptr + row * (NA + NB) + c, tl.where(c < NA, a, b) * 0.5, mask=c < NA + NB)


def run(a, b):
    M, NA = a.shape
    NB = b.shape[1]
    y = torch.empty(M, NA + NB)
    k[(M, triton.cdiv(NA + NB, 1024))](a, b, y, NA, {passed}, B=1024)
    return y
"""


def test_masks_say_nothing_twice(tmp_path: Path) -> None:
    """A row of `a` ends in front of all of it, and what is stored there was chosen by the same condition."""
    text = proved_module(tmp_path, HEAD + BESIDE.format(passed="NB"))
    assert "tl.store(da_ptr + row * NA + c, dy_scaled, mask=c < NA)" in text
    assert "tl.store(db_ptr + row * NB + c - NA, dy_scaled, mask=(c >= NA) & dy_mask)" in text
    assert "TOGETHER" not in text  # no launch has a program of fewer lanes


def test_a_number_that_nobody_knows_may_be_below_0(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    text = BESIDE.format(passed="width").replace("def run(a, b)", "def run(a, b, width)")
    path.write_text(HEAD + text)
    assert "mask=(c < NA) & dy_mask)" in tad("--backward", "--no-proof", path).stdout


EVERY = """@triton.jit
def k(x_ptr, y_ptr, N, NO, STEP: tl.constexpr, B: tl.constexpr):
    row = tl.program_id(0)
    o = tl.program_id(1) * B + tl.arange(0, B)
    x = tl.load(x_ptr + row * N + o * STEP, mask=o < NO, other=0.0)
    tl.store(y_ptr + row * NO + o, x, mask=o < NO)


def run(x, step=3):
    M, N = x.shape
    NO = (N + step - 1) // step
    y = torch.empty(M, NO)
    k[(M, triton.cdiv(NO, 4))](x, y, N, NO, STEP=step, B=4)
    return y
"""
EVERY_TILE = """@triton.jit
def k(x_ptr, y_ptr, M, N, NO, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    o = tl.program_id(1) * BN + tl.arange(0, BN)
    m = (r[:, None] < M) & (o[None, :] < NO)
    x = tl.load(x_ptr + r[:, None] * N + 3 * o[None, :], mask=m, other=0.0)
    tl.store(y_ptr + r[:, None] * NO + o[None, :], x, mask=m)


def run(x, step=3):
    M, N = x.shape
    NO = (N + step - 1) // step
    y = torch.empty(M, NO)
    k[(triton.cdiv(M, 2), triton.cdiv(NO, 4))](x, y, M, N, NO, BM=2, BN=4)
    return y
"""


@pytest.mark.parametrize("kernel", [EVERY, EVERY_TILE], ids=["rows", "tiles"])
@pytest.mark.parametrize("columns", [15, 16, 17, 3])
def test_every_third_element_has_zeros_between(
    columns: int, kernel: str, tmp_path: Path, interpreter: Worker
) -> None:
    """The kernel stores them where rows are so many times as long; the Function sets them else."""
    text = proved_module(tmp_path, HEAD + kernel)
    assert "    if FILL:\n" in text and "fills = _filled_buffer(" in text
    check_gradient(text, lambda x: x[:, ::3], np.ones((5, columns)), interpreter)


def test_rows_that_end_in_the_next_one_raise(tmp_path: Path, interpreter: Worker) -> None:
    """The sizes that a proof runs may be odd, where what two rows read of one row takes turns."""
    text = EVERY.replace("o * STEP", "o * 2").replace("NO = (N + step - 1) // step", "NO = N - 2")
    path = tmp_path / "kernels.py"
    path.write_text(HEAD + text.replace("k[(M,", "k[(M - 1,"))
    text = tad("--backward", "--no-proof", path).stdout
    assert "unfilled=[(2, min(programs[1] * B, NO)), (N, programs[0])]" in text
    x, upstream = np.ones((4, 8)), np.ones((4, 6))
    with pytest.raises(Exception, match="lie on each other"):
        call_function(text, "run", [x], wrt=[0], grad_outputs=[upstream], worker=interpreter)


def test_what_lies_between_may_be_another_program_s(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    text = EVERY.replace("row * N + o * STEP", "row * N + o * STEP + tl.program_id(2)")
    path.write_text(HEAD + text.replace("triton.cdiv(NO, 4))]", "triton.cdiv(NO, 4), step)]"))
    assert "FILL" not in tad("--backward", "--no-proof", path).stdout


# The same in tiles of tokens by channels.
TOKENS = """@triton.jit
def k(x_ptr, y_ptr, T, C, F, BT: tl.constexpr, BC: tl.constexpr):
    b = tl.program_id(0)
    t = tl.program_id(1) * BT + tl.arange(0, BT)
    c = tl.program_id(2) * BC + tl.arange(0, BC)
    by = tl.where(c < F, 1, tl.where(c < 2 * F, -1, 0))
    at = t[:, None] + by[None, :]
    inside = (t[:, None] < T) & (c[None, :] < C)
    x = tl.load(x_ptr + (b * T + at) * C + c[None, :], mask=inside & {bounds}, other=0.0)
    tl.store(y_ptr + (b * T + t[:, None]) * C + c[None, :], x, mask=inside)


def run(x):
    B, T, C = x.shape
    y = torch.empty_like(x)
    k[(B, triton.cdiv(T, 4), triton.cdiv(C, 4))](x, y, T, C, C // 4, BT=4, BC=4)
    return y
"""


def test_tokens_that_channels_shift(tmp_path: Path, interpreter: Worker) -> None:
    text = proved_module(tmp_path, HEAD + TOKENS.format(bounds="(at >= 0) & (at < T)"))
    assert "atomic" not in text
    forward = lambda x: frames(x[..., None])[..., 0]  # noqa: E731
    x = np.arange(1, 2 * 6 * 9 + 1, dtype=float).reshape(2, 6, 9)
    upstream = np.random.default_rng(9).uniform(-1, 1, x.shape)
    found = call_function(
        text, "run", [x], wrt=[0], grad_outputs=[upstream], worker=interpreter
    ).gradients
    want = np.zeros(x.size + 1)
    np.add.at(want, forward(x).astype(int).ravel(), upstream.ravel())
    np.testing.assert_allclose(found[0], want[1:].reshape(x.shape), rtol=1e-6)


@pytest.mark.parametrize("bounds", ["(at < T)", "(at >= 0)", "(at >= 0) & (at < T + 1)"])
def test_tokens_that_reach_into_another_batch(bounds: str, tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(HEAD + TOKENS.format(bounds=bounds))
    assert "tl.atomic_add(" in tad("--backward", "--no-proof", path).stdout


BY_TURNS = """@triton.jit
def k(a_ptr, b_ptr, y_ptr, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    m = o < 2 * n
    a = tl.load(a_ptr + o // 2, mask=m & {first}, other=0.0)
    b = tl.load(b_ptr + o // 2, mask=m & {second}, other=0.0)
    tl.store(y_ptr + o, tl.where({first}, a, b), mask=m)


def run(a, b):
    y = torch.empty(a.shape[0], 2 * a.shape[1])
    k[(triton.cdiv(2 * a.numel(), 8),)](a, b, y, a.numel(), B=8)
    return y
"""
TURNS = [
    ("(o % 2 == 0)", "(o % 2 == 1)"),
    ("(o % 2 == 0)", "(o % 2 != 0)"),
    ("(o % 2 < 1)", "(o % 2 > 0)"),
]


@pytest.mark.parametrize(("first", "second"), TURNS)
def test_elements_by_turns(first: str, second: str, tmp_path: Path, interpreter: Worker) -> None:
    text = proved_module(tmp_path, HEAD + BY_TURNS.format(first=first, second=second))
    assert (
        "atomic" not in text
        and text.count("stored=[(1, min(ctx.grid[0] * B, 2 * n) // max(2, 1))]") == 2
    )
    random = np.random.default_rng(10)
    upstream = random.uniform(-1, 1, (3, 10))
    found = call_function(
        text,
        "run",
        [np.ones((3, 5)), np.ones((3, 5))],
        wrt=[0, 1],
        grad_outputs=[upstream],
        worker=interpreter,
    ).gradients
    np.testing.assert_allclose(found[0], upstream[:, ::2], rtol=1e-6)
    np.testing.assert_allclose(found[1], upstream[:, 1::2], rtol=1e-6)


def test_both_turns_may_be_of_one_element(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(HEAD + BY_TURNS.format(first="(o % 2 < 2)", second="(o % 2 == 1)"))
    text = tad("--backward", "--no-proof", path).stdout
    assert "tl.atomic_add(da_ptr" in text and "tl.atomic_add(db_ptr" not in text


UNPATCHED = """@triton.jit
def k(tok, img, GH, GW, C, P: tl.constexpr, B: tl.constexpr):
    row = tl.program_id(0)
    H, W = GH * P, GW * P
    y, bc = row % H, row // H
    c, b = bc % C, bc // C
    for start in range(0, W, B):
        x = start + tl.arange(0, B)
        patch = (b * GH + y // P) * GW + x // P
        at = (patch * P * P + (y % P) * P + {column}) * C + c
        tl.store(img + row * W + x, tl.load(tok + at, mask=x < W), mask=x < W)


def run(tok, gh=2, gw=3, p=3):
    n, _, E = tok.shape
    C = E // (p * p)
    img = torch.empty(n, C, gh * p, gw * p)
    k[(n * C * gh * p,)](tok, img, gh, gw, C, P=p, B=4)
    return img
"""


def test_columns_of_a_loop_that_are_divided(tmp_path: Path, interpreter: Worker) -> None:
    text = proved_module(tmp_path, HEAD + UNPATCHED.format(column="x % P"))
    assert "atomic" not in text and "(C, P)" in text
    forward = lambda x: (  # noqa: E731
        x.reshape(2, 2, 3, 3, 3, 4).transpose(0, 5, 1, 3, 2, 4).reshape(2, 4, 6, 9)
    )
    check_gradient(text, forward, np.ones((2, 6, 36)), interpreter)


def test_columns_at_one_place_are_added_up(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(HEAD + UNPATCHED.format(column="x // P"))
    assert "tl.atomic_add(" in tad("--backward", "--no-proof", path).stdout


REVERSED = """@triton.jit
def k(x_ptr, y_ptr, M, N, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x_ptr + (M - 1 - row) * N + c, mask=c < N)
    tl.store(y_ptr + row * N + c, v, mask=c < N)


def run(x, rows):
    M, N = x.shape
    y = torch.empty(rows, N)
    k[(rows,)](x, y, M, N, B=triton.next_power_of_2(N))
    return y
"""


@pytest.mark.parametrize("rows", [5, 3])
def test_rows_from_the_last_one_on(rows: int, tmp_path: Path, interpreter: Worker) -> None:
    """All rows are stored where there are as many programs; else those in front are 0."""
    text = proved_module(tmp_path, HEAD + REVERSED)
    stored = re.sub(r"\s+", "", text)
    assert "(0,max(1-max(-ctx.grid[0]*N+M*N,-(-ctx.grid[0]*N+M*N)),0,),)" in stored
    check_gradient(text, lambda x: x[::-1][:rows], np.ones((5, 6)), interpreter, rows)
