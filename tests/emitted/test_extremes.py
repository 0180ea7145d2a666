"""Largest and smallest elements that loops find: no state of an iteration is kept."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.emitted.plan import proved_module, tad
from tests.support.worker import Worker
from tests.triton.interpret import call_function

HEAD = """import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, y_ptr, M, N, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    best = tl.full([BLOCK], {first}, tl.float32)
    for m in range(M):
        x = tl.load(x_ptr + (b * M + m) * N + n, mask=n < N, other=0.0){term}
        best = {best}
    tl.store(y_ptr + b * N + n, best{last}, mask=n < N)


def run(x):
    B, M, N = x.shape
    y = torch.empty(B, N)
    k[(B, triton.cdiv(N, 4))](x, y, M, N, BLOCK=4)
    return y
"""
LARGEST = {"first": "-float('inf')", "term": "", "best": "tl.maximum(best, x)", "last": ""}
# What a person would write: the largest and its place are found, and nothing is loaded again.
KERNEL = """
    for m in range(M):
        dx = tl.where(place == m, dbest, 0.0)
        tl.store(dx_ptr + (offset + m) * N + n, dx, mask=mask)
"""
FIND = "next_place = tl.where((x {beyond} best) | (x == best) & (place < 0), m, place)"


@pytest.mark.parametrize("is_least", [False, True])
def test_an_extreme_of_a_loop(is_least: bool, tmp_path: Path, interpreter: Worker) -> None:
    parts = dict(LARGEST)
    if is_least:
        parts |= {"first": "float('inf')", "best": "tl.minimum(x, best)"}
    text = proved_module(
        tmp_path,
        HEAD.format(**{**parts, "last": " * 3"})
        .replace("n < N", "mask")
        .replace("    best = tl.full", "    mask = n < N\n    best = tl.full", 1),
    )
    assert "tape" not in text
    assert KERNEL.strip("\n") in text
    assert FIND.format(beyond="<" if is_least else ">") in text
    random = np.random.default_rng(7)
    x = random.permutation(2 * 5 * 6).reshape(2, 5, 6).astype(float)
    upstream = random.uniform(-1, 1, (2, 6))
    found = call_function(
        text, "run", [x], wrt=[0], grad_outputs=[upstream], worker=interpreter
    ).gradients
    at = (x.argmin if is_least else x.argmax)(axis=1)
    want = np.where(np.arange(5)[None, :, None] == at[:, None], 3 * upstream[:, None], 0)
    np.testing.assert_allclose(found[0], want, rtol=1e-6)


def test_one_of_several_that_are_largest_has_the_gradient(
    tmp_path: Path, interpreter: Worker
) -> None:
    """Zeros behind a ReLU are alike: what they get together is the upstream gradient."""
    text = proved_module(tmp_path, HEAD.format(**LARGEST))
    x, upstream = np.zeros((2, 5, 6)), np.random.default_rng(7).uniform(-1, 1, (2, 6))
    found = call_function(
        text, "run", [x], wrt=[0], grad_outputs=[upstream], worker=interpreter
    ).gradients
    np.testing.assert_allclose(found[0][:, 0], upstream, rtol=1e-6)
    np.testing.assert_array_equal(found[0][:, 1:], 0)


@pytest.mark.parametrize("first, share", [(0.0, 0), (-2.0, 1)])
def test_what_the_loop_begins_with_may_be_larger(
    first: float, share: int, tmp_path: Path, interpreter: Worker
) -> None:
    text = proved_module(tmp_path, HEAD.format(**{**LARGEST, "first": str(first)}))
    x, upstream = np.full((2, 5, 6), -1.0), np.ones((2, 6))
    found = call_function(
        text, "run", [x], wrt=[0], grad_outputs=[upstream], worker=interpreter
    ).gradients
    np.testing.assert_array_equal(found[0].sum(1), share * upstream)


STATES = {
    # two loops may round it in two ways, and the place of a scalar that is no tile's is not found
    "computed, and no iteration has a number": {
        "term": " * 0.1 + 0.7",
        "loop": "range(1, M + 1)",
        "at": "m - 1",
    },
    "the running value is read": {"best": "tl.maximum(best, x) + best * 0.5"},
    "both of them": {"best": "tl.minimum(tl.maximum(best, x), 3.0 * x)"},
}


@pytest.mark.parametrize("name", STATES)
def test_other_loops_keep_their_states(name: str, tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    parts = {**LARGEST, "first": "0.0", **STATES[name]}
    loop, at = parts.pop("loop", "range(M)"), parts.pop("at", "m")
    text = HEAD.format(**parts).replace("range(M)", loop).replace("b * M + m)", f"b * M + {at})")
    path.write_text(text)
    assert "best_tape" in tad("--backward", "--no-proof", path).stdout


COMPUTED = {
    "rounded": " * 0.1 + 0.7",
    "picked": "\n        x = tl.where((x * 0.1 + 0.7 > 0.3) & (n < N), x, -1.0)",
}


@pytest.mark.parametrize("name", COMPUTED)
def test_the_place_of_what_is_computed_is_known(name: str, tmp_path: Path) -> None:
    """Nothing is compared with what another loop computed."""
    text = proved_module(tmp_path, HEAD.format(**LARGEST | {"term": COMPUTED[name]}))
    assert "tape" not in text
    assert "tl.where(place == m, dbest" in text


TILES = """import torch
import triton
import triton.language as tl


@triton.jit
def rows(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    best = -float("inf")
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))
        best = tl.maximum(best, tl.max(x * 1.7, axis=0))
    tl.store(y_ptr + row, best)


def run_rows(x):
    y = torch.empty(x.shape[0], dtype=x.dtype)
    rows[(x.shape[0],)](x, y, x.shape[1], BLOCK=16)
    return y


@triton.jit
def similar(q_ptr, k_ptr, y_ptr, n, D: tl.constexpr, M: tl.constexpr, BLOCK: tl.constexpr):
    at, d = tl.arange(0, M), tl.arange(0, D)
    q = tl.load(q_ptr + at[:, None] * D + d[None, :])
    best = tl.full([M, 1], -1.0e9, tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols[None, :] < n
        k = tl.load(k_ptr + (tl.program_id(0) * n + cols[None, :]) * D + d[:, None], mask=mask, other=0.0)
        s = tl.where(mask, tl.dot(q, k), -float("inf"))
        best = tl.maximum(best, tl.max(s, 1, keep_dims=True))
    tl.store(y_ptr + tl.program_id(0), tl.sum(best))


def run_similar(q, k):
    y = torch.empty(k.shape[0], dtype=torch.float32)
    similar[(k.shape[0],)](q, k, y, k.shape[1], D=q.shape[1], M=q.shape[0], BLOCK=16)
    return y


@triton.jit
def planes(x_ptr, y_ptr, H, C, W: tl.constexpr, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    c, w = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, W)
    best = tl.full([BLOCK], float("inf"), tl.float32)
    for h in range(H):
        at = ((b * H + h) * W + w[:, None]) * C + c[None, :]
        x = tl.load(x_ptr + at, mask=c[None, :] < C, other=0.0)
        best = tl.minimum(tl.min(x, 0), best)
    tl.store(y_ptr + b * C + c, best, mask=c < C)


def run_planes(x):
    B, H, W, C = x.shape
    y = torch.empty((B, C), dtype=x.dtype)
    planes[(B, triton.cdiv(C, 4))](x, y, H, C, W=W, BLOCK=4)
    return y
"""
# Launcher, shapes, and the same with numpy.
OF_TILES = {
    "rows": ([(3, 40)], lambda x: (x * 1.7).max(axis=1)),
    "similar": ([(4, 8), (2, 20, 8)], lambda q, k: (k @ q.T).max(axis=1).sum(axis=1)),
    "planes": ([(2, 3, 4, 6)], lambda x: x.min(axis=(1, 2))),
}


@pytest.mark.parametrize("name", OF_TILES)
def test_the_extreme_of_a_tile_in_each_iteration(
    name: str, tmp_path: Path, interpreter: Worker
) -> None:
    """A lane of a tile is found with its iteration, and the way back loads nothing to compare it."""
    text = proved_module(tmp_path, TILES)
    kernel = text[text.index(f"def {name}_backward") :].split("\nclass ")[0]
    assert "tape" not in kernel
    assert kernel.count("return_indices=True") == 1
    shapes, by_numpy = OF_TILES[name]
    random = np.random.default_rng(7)
    inputs = [random.uniform(-1, 1, shape) for shape in shapes]
    upstream = random.uniform(-1, 1, by_numpy(*inputs).shape)
    found = call_function(
        text,
        f"run_{name}",
        inputs,
        wrt=range(len(inputs)),
        grad_outputs=[upstream],
        worker=interpreter,
    ).gradients
    for i, (value, gradient) in enumerate(zip(inputs, found, strict=True)):
        way = random.uniform(-1, 1, value.shape)
        sides = [by_numpy(*inputs[:i], value + s * way, *inputs[i + 1 :]) for s in (1e-6, -1e-6)]
        want = ((sides[0] - sides[1]) / 2e-6 * upstream).sum()
        np.testing.assert_allclose((gradient * way).sum(), want, rtol=1e-3, atol=1e-4)


POOL = """import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, y_ptr, H, W, OH, OW, n, K: tl.constexpr, S: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ow = i % OW
    oh = i // OW % OH
    plane = i // (OW * OH)
    best = tl.full([BLOCK], -float("inf"), tl.float32)
    for kh in tl.static_range(K):
        for kw in tl.static_range(K):
            h, w = oh * S + kh, ow * S + kw
            ok = (i < n) & (h < H) & (w < W)
            x = tl.load(x_ptr + (plane * H + h) * W + w, mask=ok, other=-float("inf"))
            best = tl.maximum(best, x)
    tl.store(y_ptr + i, best, mask=i < n)


def run(x, K, S):
    N, H, W = x.shape
    OH, OW = (H - K) // S + 1, (W - K) // S + 1
    y = torch.empty(N, OH, OW)
    n = y.numel()
    k[(triton.cdiv(n, 16),)](x, y, H, W, OH, OW, n, K=K, S=S, BLOCK=16)
    return y
"""


def test_loops_within_loops_find_one_extreme(tmp_path: Path, interpreter: Worker) -> None:
    """A window is gone through once, and what its place says is added once, whatever its size is."""
    text = proved_module(tmp_path, POOL)
    kernel = text[text.index("def k_backward") : text.index("class ")]
    assert kernel.count("static_range(K)") == 2
    assert "kh_1 = place // K\n    kw_1 = place - kh_1 * K\n" in kernel
    assert re.search(r"\n    tl\.atomic_add\(.*, dbest, mask=", kernel)
    random = np.random.default_rng(7)
    x = random.permutation(2 * 7 * 7).reshape(2, 7, 7).astype(float)
    upstream, want = random.uniform(-1, 1, (2, 3, 3)), np.zeros((2, 7, 7))
    for plane, row, column in np.ndindex(2, 3, 3):
        window = x[plane, 2 * row : 2 * row + 3, 2 * column : 2 * column + 3]
        h, w = np.unravel_index(window.argmax(), window.shape)
        want[plane, 2 * row + h, 2 * column + w] += upstream[plane, row, column]
    found = call_function(
        text, "run", [x, 3, 2], wrt=[0], grad_outputs=[upstream], worker=interpreter
    ).gradients
    np.testing.assert_allclose(found[0], want, rtol=1e-6)


CHOSEN = """import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, w_ptr, index_ptr, y_ptr, n, stride, K: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = o < n
    index = tl.load(index_ptr + o, mask=inside, other=-1)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in range(K):
        w = (tl.load(w_ptr + o * stride + i{weights_mask}) & 15).to(tl.float32)
        x = tl.load(x_ptr + o * stride + i, mask=inside & (index == i), other=0.0)
        total += x * x * w
    tl.store(y_ptr + o, total, mask=inside)


def run(x, w, index, stride):
    n = index.numel()
    y = torch.empty(n)
    k[(triton.cdiv(n, 4),)](x, w, index, y, n, stride, K=5, BLOCK=4)
    return y
"""


@pytest.mark.parametrize("weights_mask", ["", ", mask=inside, other=0"])
def test_a_place_that_is_no_iterations_loads_nothing(
    weights_mask: str, tmp_path: Path, interpreter: Worker
) -> None:
    """An index that a user wrote may be any number: the memory that it would point to need not be there."""
    text = proved_module(tmp_path, CHOSEN.format(weights_mask=weights_mask))
    backward = text.split("def k_backward")[1].split("class ")[0]
    assert "for i in" not in backward
    for name in ("x", "w"):
        assert re.search(rf"tl.load\(\s*{name}_ptr \+[^)]*index", backward)
    random = np.random.default_rng(7)
    x, upstream = random.standard_normal((8, 5)), random.standard_normal(8)
    w = random.integers(1, 9, (8, 5)).astype(np.int32)
    index = np.array([0, -1, 4, 5, -(2**27), 2**27, 2, 1], np.int32)
    found = call_function(
        text, "run", [x, w, index, 5], wrt=[0], grad_outputs=[upstream], worker=interpreter
    ).gradients[0]
    chosen = np.arange(5)[None, :] == index[:, None]
    np.testing.assert_allclose(found, np.where(chosen, 2 * x * w * upstream[:, None], 0), rtol=1e-5)
