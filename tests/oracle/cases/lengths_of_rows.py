"""Rows that end at lengths in memory: the backward loads and stores whole rows where the tensor has them, and no more of a view."""

# case: {"class": "lengths-of-rows", "call": "m.softmax(x, n)", "inputs": {"x": [5, 6], "n": {"shape": [5], "dtype": "int32", "values": [6, 1, 4, 2, 3]}}}
# case: {"class": "lengths-of-rows", "call": "m.softmax(x[:, :6], n)", "inputs": {"x": [5, 9], "n": {"shape": [5], "dtype": "int32", "values": [6, 1, 4, 2, 3]}}}
# case: {"class": "lengths-of-rows", "call": "m.softmax(x[1:4], n)", "inputs": {"x": [5, 6], "n": {"shape": [3], "dtype": "int32", "values": [6, 1, 4]}}}
# case: {"class": "lengths-of-rows", "call": "m.causal(x, s)", "inputs": {"x": [2, 7, 7], "s": [2]}}
# case: {"class": "lengths-of-rows", "call": "m.causal(x, s)", "inputs": {"x": [2, 7, 7], "s": {"shape": [2], "grad": false}}}
# case: {"class": "lengths-of-rows", "call": "m.ignoring(x, t)", "inputs": {"x": [5, 7], "t": {"shape": [5], "dtype": "int64", "values": [6, 2, 0, 2, 3]}}}
# case: {"class": "lengths-of-rows", "call": "m.ignoring(x[:, :7], t)", "inputs": {"x": [5, 9], "t": {"shape": [5], "dtype": "int64", "values": [6, 2, 0, 2, 3]}}}
# case: {"class": "lengths-of-rows", "call": "m.ignoring(x[1:], t)", "inputs": {"x": [5, 7], "t": {"shape": [4], "dtype": "int64", "values": [2, 2, 2, 3]}}}
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, n_ptr, y_ptr, stride, T, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    n = tl.load(n_ptr + row)
    x = tl.load(x_ptr + row * stride + cols, mask=cols < n, other=float("-inf"))
    e = tl.exp(x - tl.max(x, 0))
    tl.store(y_ptr + row * T + cols, e / tl.sum(e, 0), mask=cols < T)


def softmax(x, n):
    M, T = x.shape
    y = torch.empty(M, T, device=x.device, dtype=x.dtype)
    softmax_kernel[(M,)](x, n, y, x.stride(0), T, BLOCK=triton.next_power_of_2(T))
    return y


@triton.jit
def causal_kernel(x_ptr, s_ptr, y_ptr, T, BLOCK: tl.constexpr):
    q = tl.program_id(0)
    h = tl.program_id(1)
    k = tl.arange(0, BLOCK)
    row = (h * T + q) * T
    x = tl.load(x_ptr + row + k, mask=k <= q, other=0.0)
    x = x - tl.load(s_ptr + h) * (q - k)
    e = tl.where(k <= q, tl.exp(x), 0.0)
    tl.store(y_ptr + row + k, e / tl.sum(e, 0), mask=k < T)


def causal(x, s):
    H, T, _ = x.shape
    y = torch.empty_like(x)
    causal_kernel[(T, H)](x, s, y, T, BLOCK=triton.next_power_of_2(T))
    return y


@triton.jit
def ignoring_kernel(x_ptr, t_ptr, o_ptr, stride, V, ignore, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * stride
    t = tl.load(t_ptr + row)
    if t == ignore:
        tl.store(o_ptr + row, 0.0)
        return
    m = float("-inf")
    d = 0.0
    for i in range(0, V, BLOCK):
        c = i + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + c, mask=c < V, other=float("-inf"))
        new = tl.maximum(m, tl.max(x))
        d = d * tl.exp(m - new) + tl.sum(tl.exp(x - new))
        m = new
    tl.store(o_ptr + row, m + tl.log(d) - tl.load(x_ptr + t))


def ignoring(x, t, ignore=2):
    M, V = x.shape
    o = torch.empty(M, device=x.device, dtype=x.dtype)
    ignoring_kernel[(M,)](x, t, o, x.stride(0), V, ignore, BLOCK=4)
    return o
