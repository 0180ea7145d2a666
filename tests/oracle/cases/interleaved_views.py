"""Empty tensors, and views whose strides interleave although no two elements meet."""

# case: {"class": "views", "call": "m.run(x) ", "inputs": {"x": [0, 5]}, "expect": "right"}
# case: {"call": "m.run(x).sum() + x.sum()", "inputs": {"x": [5, 0]}, "expect": "right"}
# case: {"call": "m.run(x).sum() + w.sum()", "inputs": {"x": [5, 0], "w": [3]}, "expect": "right"}
# case: {"call": "m.run(x.as_strided((2, 2), (5, 3)))", "inputs": {"x": [20]}, "expect": "right"}
# case: {"call": "m.run(x.as_strided((3, 2), (2, 3)))", "inputs": {"x": [20]}, "expect": "right"}
# case: {"call": "m.tuned(x)", "inputs": {"x": [1, 4]}, "expect": "right"}
# case: {"call": "m.tuned(x)", "inputs": {"x": [4, 1]}, "expect": "right"}
# case: {"call": "m.tuned(x).sum() + x.sum()", "inputs": {"x": [5, 0]}, "expect": "right"}
# case: {"call": "m.tuned(x).sum() + x.sum()", "inputs": {"x": [0, 5]}, "expect": "right"}
# case: {"call": "m.tuned(x.as_strided((2, 2), (5, 3)))", "inputs": {"x": [20]}, "expect": "right"}
# case: {"call": "m.tuned(x.as_strided((3, 2), (2, 3)))", "inputs": {"x": [20]}, "expect": "right"}
# case: {"call": "m.tuned(x.as_strided((3, 3), (2, 4)))", "inputs": {"x": [20]}, "expect": "right"}
# case: {"call": "m.run(x.as_strided((3, 3), (2, 4)))", "inputs": {"x": [20]}, "expect": "right"}
# case: {"call": "m.rows(x).sum() + x.sum()", "inputs": {"x": [0, 6]}, "expect": "right"}
# case: {"call": "m.rows(x).sum() + x.sum()", "inputs": {"x": [6, 0]}, "expect": "right"}

import torch
import triton
import triton.language as tl


@triton.jit
def k(x, y, sr, sc, n, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < n
    a = tl.load(x + r * sr + c * sc, mask=m)
    tl.store(y + r * n + c, a * a, mask=m)


def run(x):
    y = torch.empty(x.shape, dtype=x.dtype)
    k[(max(x.shape[0], 1) if x.shape[0] else 1,)](
        x, y, x.stride(0), x.stride(1), x.shape[1] if x.numel() else 0, BLOCK=8
    )
    return y


@triton.autotune([triton.Config({"B": 8, "R": 1}), triton.Config({"B": 16, "R": 2})], key=["n"])
@triton.jit
def t(x, y, sr, sc, rows, n, B: tl.constexpr, R: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.arange(0, B)
    m = (c < n)[None, :] & (r < rows)[:, None]
    a = tl.load(x + r[:, None] * sr + c[None, :] * sc, mask=m)
    tl.store(y + r[:, None] * n + c[None, :], a * a, mask=m)


def tuned(x):
    y = torch.empty(x.shape, dtype=x.dtype)
    t[lambda meta: (triton.cdiv(max(x.shape[0], 1), meta["R"]),)](
        x, y, x.stride(0), x.stride(1), x.shape[0], x.shape[1]
    )
    return y


@triton.jit
def rk(x, y, sr, n, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < n
    a = tl.load(x + r * sr + c, mask=m)
    tl.store(y + r * n + c, a * a, mask=m)


def rows(x):
    y = torch.empty(x.shape, dtype=x.dtype)
    if x.numel():
        rk[(x.shape[0],)](x, y, x.stride(0), x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y
