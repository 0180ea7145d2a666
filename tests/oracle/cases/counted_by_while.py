"""`while` loops that count, and some that do not."""

# case: {"class": "loops", "call": "m.persist(x, w, 3)", "inputs": {"x": [5, 9], "w": [9]}, "expect": "right"}
# case: {"call": "m.while_rows(x, 2)", "inputs": {"x": [7, 5]}, "expect": "right"}
# case: {"call": "m.while_down(x)", "inputs": {"x": [4, 5]}, "expect": "right"}
# case: {"call": "m.while_le(x, 3)", "inputs": {"x": [4, 5]}, "expect": "right"}
# case: {"call": "m.while_after(x, 3)", "inputs": {"x": [4, 5]}, "expect": "right"}
# case: {"call": "m.while_after(x, 9)", "inputs": {"x": [4, 5]}, "expect": "right"}
# case: {"call": "m.while_after(x, 0)", "inputs": {"x": [4, 5]}, "expect": "right"}
# case: {"call": "m.while_nested(x)", "inputs": {"x": [4, 5]}, "expect": "right"}
# case: {"call": "m.while_two(x)", "inputs": {"x": [4, 6]}, "expect": "right"}
# case: {"call": "m.while_mem(x, n)", "inputs": {"x": [4, 6], "n": {"shape": [4], "dtype": "int32", "values": [6, 0, 3, 1]}}, "expect": "right"}
# case: {"call": "m.while_state(x)", "inputs": {"x": [4, 6]}, "expect": "right"}
# case: {"call": "m.while_mul(x)", "inputs": {"x": [4, 8]}, "expect": "right"}
# case: {"call": "m.while_float(x)", "inputs": {"x": [4, 8]}, "expect": "right"}
# case: {"call": "m.while_arg(x, 0)", "inputs": {"x": [4, 8]}, "expect": "right"}
# case: {"call": "m.while_arg(x, 5)", "inputs": {"x": [4, 8]}, "expect": "right"}
# case: {"call": "m.while_arg(x, 8)", "inputs": {"x": [4, 8]}, "expect": "right"}
# case: {"call": "m.persistent2d(x, w, 3)", "inputs": {"x": [5, 9], "w": [9]}, "expect": "right"}
# case: {"call": "m.while_len(x, n)", "inputs": {"x": [4, 9], "n": {"shape": [4], "dtype": "int32", "values": [9, 0, 3, 7]}}, "expect": "right"}
# case: {"call": "m.while_converge(x)", "inputs": {"x": {"shape": [5], "low": 0.2, "high": 0.7}}, "expect": "right"}

import torch
import triton
import triton.language as tl


@triton.jit
def persist_k(x_ptr, w_ptr, o_ptr, M, N, B: tl.constexpr):
    row = tl.program_id(0)
    step = tl.num_programs(0)
    c = tl.arange(0, B)
    w = tl.load(w_ptr + c, mask=c < N, other=0.0)
    while row < M:
        x = tl.load(x_ptr + row * N + c, mask=c < N, other=0.0)
        tl.store(o_ptr + row * N + c, tl.sin(x * w), mask=c < N)
        row += step


def persist(x, w, p):
    o = torch.empty_like(x)
    persist_k[(p,)](x, w, o, *x.shape, B=16)
    return o


@triton.jit
def while_rows_k(x_ptr, o_ptr, M, N, R: tl.constexpr, B: tl.constexpr):
    p = tl.program_id(0)
    c = tl.arange(0, B)
    k = p * R
    end = tl.minimum(k + R, M)
    while k < end:
        x = tl.load(x_ptr + k * N + c, mask=c < N, other=0.0)
        tl.store(o_ptr + k * N + c, tl.sin(x) * tl.sum(x), mask=c < N)
        k = k + 1


def while_rows(x, r):
    o = torch.empty_like(x)
    while_rows_k[(triton.cdiv(x.shape[0], r),)](x, o, *x.shape, R=r, B=8)
    return o


@triton.jit
def while_down_k(x_ptr, o_ptr, N):
    r = tl.program_id(0)
    h = 1.0
    k = N - 1
    while k >= 0:
        x = tl.load(x_ptr + r * N + k)
        h = tl.sin(h * x) + x
        tl.store(o_ptr + r * N + k, h)
        k -= 1


def while_down(x):
    o = torch.empty_like(x)
    while_down_k[(x.shape[0],)](x, o, x.shape[1])
    return o


@triton.jit
def while_le_k(x_ptr, o_ptr, N, last):
    r = tl.program_id(0)
    h = 1.0
    k = 0
    while k <= last:
        h = h * tl.load(x_ptr + r * N + k) + 0.5
        k += 1
    tl.store(o_ptr + r, h)


def while_le(x, last):
    o = torch.empty(x.shape[0], dtype=x.dtype)
    while_le_k[(x.shape[0],)](x, o, x.shape[1], last)
    return o


@triton.jit
def while_after_k(x_ptr, o_ptr, N, stop):
    r = tl.program_id(0)
    h = 1.0
    k = 1
    while k < stop:
        h = h * 0.5
        k += 2
    x = tl.load(x_ptr + r * N + k % N)
    tl.store(o_ptr + r, h * x * x)


def while_after(x, stop):
    o = torch.empty(x.shape[0], dtype=x.dtype)
    while_after_k[(x.shape[0],)](x, o, x.shape[1], stop)
    return o


@triton.jit
def while_nested_k(x_ptr, o_ptr, M, N):
    i = 0
    while i < M:
        j = 0
        acc = 0.0
        while j < i + 1:
            acc += tl.load(x_ptr + i * N + j) * tl.load(x_ptr + j * N + i)
            j += 1
        tl.store(o_ptr + i, acc)
        i += 1


def while_nested(x):
    o = torch.empty(x.shape[0], dtype=x.dtype)
    while_nested_k[(1,)](x, o, *x.shape)
    return o


@triton.jit
def while_two_k(x_ptr, o_ptr, N):
    r = tl.program_id(0)
    lo = 0
    hi = N - 1
    acc = 0.0
    while lo < hi:
        acc += tl.load(x_ptr + r * N + lo) * tl.load(x_ptr + r * N + hi)
        lo += 1
        hi -= 1
    tl.store(o_ptr + r, acc)


def while_two(x):
    o = torch.empty(x.shape[0], dtype=x.dtype)
    while_two_k[(x.shape[0],)](x, o, x.shape[1])
    return o


@triton.jit
def while_mem_k(x_ptr, n_ptr, o_ptr, N):
    r = tl.program_id(0)
    k = 0
    acc = 1.0
    while k < tl.load(n_ptr + r):
        acc *= tl.load(x_ptr + r * N + k)
        k += 1
    tl.store(o_ptr + r, acc)


def while_mem(x, n):
    o = torch.empty(x.shape[0], dtype=x.dtype)
    while_mem_k[(x.shape[0],)](x, n, o, x.shape[1])
    return o


@triton.jit
def while_state_k(x_ptr, o_ptr, N):
    r = tl.program_id(0)
    k = 0
    a = 0.0
    b = 1.0
    while k < N:
        x = tl.load(x_ptr + r * N + k)
        a, b = b, tl.sin(a * x + b)
        k += 1
    tl.store(o_ptr + r, a * b)


def while_state(x):
    o = torch.empty(x.shape[0], dtype=x.dtype)
    while_state_k[(x.shape[0],)](x, o, x.shape[1])
    return o


@triton.jit
def while_mul_k(x_ptr, o_ptr, N):
    r = tl.program_id(0)
    k = 1
    acc = 0.0
    while k < N:
        x = tl.load(x_ptr + r * N + k)
        acc += x * x * k
        k *= 2
    tl.store(o_ptr + r, acc)


def while_mul(x):
    o = torch.empty(x.shape[0], dtype=x.dtype)
    while_mul_k[(x.shape[0],)](x, o, x.shape[1])
    return o


@triton.jit
def while_float_k(x_ptr, o_ptr, N):
    r = tl.program_id(0)
    k = 0
    acc = 0.0
    f = 0.0
    while f < 1.0:
        x = tl.load(x_ptr + r * N + k)
        acc += x * x * f
        f += 0.25
        k += 1
    tl.store(o_ptr + r, acc)


def while_float(x):
    o = torch.empty(x.shape[0], dtype=x.dtype)
    while_float_k[(x.shape[0],)](x, o, x.shape[1])
    return o


@triton.jit
def while_arg_k(x_ptr, o_ptr, N, start):
    r = tl.program_id(0)
    acc = 1.0
    while start < N:
        acc = tl.sin(acc * tl.load(x_ptr + r * N + start))
        start += 1
    tl.store(o_ptr + r, acc)


def while_arg(x, start):
    o = torch.empty(x.shape[0], dtype=x.dtype)
    while_arg_k[(x.shape[0],)](x, o, x.shape[1], start)
    return o


@triton.jit
def persistent2d_kernel(x_ptr, w_ptr, o_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    pid = tl.program_id(0)
    nm = tl.cdiv(M, BM)
    nn = tl.cdiv(N, BN)
    t = pid
    while t < nm * nn:
        r = (t // nn) * BM + tl.arange(0, BM)
        c = (t % nn) * BN + tl.arange(0, BN)
        m = (r < M)[:, None] & (c < N)[None, :]
        at = r[:, None] * N + c[None, :]
        x = tl.load(x_ptr + at, mask=m, other=0.0)
        w = tl.load(w_ptr + c, mask=c < N, other=0.0)
        tl.store(o_ptr + at, tl.sin(x) * w[None, :], mask=m)
        t += tl.num_programs(0)


def persistent2d(x, w, p):
    o = torch.empty_like(x)
    M, N = x.shape
    persistent2d_kernel[(p,)](x, w, o, M, N, BM=2, BN=4)
    return o


@triton.jit
def while_len_kernel(x_ptr, n_ptr, o_ptr, stride):
    r = tl.program_id(0)
    n = tl.load(n_ptr + r)
    k = 0
    acc = 1.0
    while k < n:
        acc = acc * 0.5 + tl.load(x_ptr + r * stride + k) * acc
        k += 1
    tl.store(o_ptr + r, acc)


def while_len(x, n):
    o = torch.empty(x.shape[0], dtype=x.dtype)
    while_len_kernel[(x.shape[0],)](x, n, o, x.stride(0))
    return o


@triton.jit
def while_conv_kernel(x_ptr, o_ptr):
    r = tl.program_id(0)
    x = tl.load(x_ptr + r)
    y = x
    while y > 0.01:
        y = y * y
    tl.store(o_ptr + r, y)


def while_converge(x):
    o = torch.empty_like(x)
    while_conv_kernel[(x.shape[0],)](x, o)
    return o
