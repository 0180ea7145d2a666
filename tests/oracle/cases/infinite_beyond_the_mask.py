"""Elements beyond the mask are infinite."""

# case: {"class": "nan", "call": "m.run_sqrtq(x, w)", "inputs": {"x": {"shape": [5], "low": 0.5, "high": 1.5}, "w": [1]}}
# case: {"class": "nan", "call": "m.run_absq(x, w)", "inputs": {"x": {"shape": [5], "low": 0.5, "high": 1.5}, "w": [1]}}
# case: {"class": "nan", "call": "m.run_maxq(x, w)", "inputs": {"x": {"shape": [5], "low": 0.5, "high": 1.5}, "w": [1]}}
# case: {"class": "nan", "call": "m.run_tanhq(x, w)", "inputs": {"x": {"shape": [5], "low": 0.5, "high": 1.5}, "w": [1]}}
# case: {"class": "nan", "call": "m.run_rowq(x, w)", "inputs": {"x": {"shape": [5], "low": 0.5, "high": 1.5}, "w": [1]}}
# case: {"class": "nan", "call": "m.run_sigmoidlog(x, w)", "inputs": {"x": {"shape": [5], "low": 0.5, "high": 1.5}, "w": [1]}}
# case: {"class": "nan", "call": "m.run_fma(x, w)", "inputs": {"x": {"shape": [5], "low": 0.5, "high": 1.5}, "w": [1]}}
# case: {"class": "nan", "call": "m.run_erf(x, w)", "inputs": {"x": {"shape": [5], "low": 0.5, "high": 1.5}, "w": [1]}}

import torch, triton
import triton.language as tl

@triton.jit
def sqrtq(x_ptr, w_ptr, y_ptr, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    m = o < n
    x = tl.load(x_ptr + o, mask=m, other=0.0)
    w = tl.load(w_ptr)
    a = tl.sqrt(1.0 / x)
    tl.store(y_ptr + o, a * w, mask=m)

@triton.jit
def absq(x_ptr, w_ptr, y_ptr, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    m = o < n
    x = tl.load(x_ptr + o, mask=m, other=0.0)
    w = tl.load(w_ptr)
    a = tl.abs(1.0 / x)
    tl.store(y_ptr + o, a * w, mask=m)

@triton.jit
def maxq(x_ptr, w_ptr, y_ptr, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    m = o < n
    x = tl.load(x_ptr + o, mask=m, other=0.0)
    w = tl.load(w_ptr)
    a = tl.maximum(1.0 / x, 0.5)
    tl.store(y_ptr + o, a * w, mask=m)

@triton.jit
def tanhq(x_ptr, w_ptr, y_ptr, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    m = o < n
    x = tl.load(x_ptr + o, mask=m, other=0.0)
    w = tl.load(w_ptr)
    a = tl.abs(tl.log(x * x))
    tl.store(y_ptr + o, a * w, mask=m)

@triton.jit
def rowq(x_ptr, w_ptr, y_ptr, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    m = o < n
    x = tl.load(x_ptr + o, mask=m, other=0.0)
    w = tl.load(w_ptr)
    a = (1.0 / x) + 0.0
    tl.store(y_ptr + o, a * w, mask=m)

@triton.jit
def sigmoidlog(x_ptr, w_ptr, y_ptr, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    m = o < n
    x = tl.load(x_ptr + o, mask=m, other=0.0)
    w = tl.load(w_ptr)
    a = tl.abs(tl.rsqrt(x * x)) * 2.0
    tl.store(y_ptr + o, a * w, mask=m)

@triton.jit
def fma(x_ptr, w_ptr, y_ptr, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    m = o < n
    x = tl.load(x_ptr + o, mask=m, other=0.0)
    w = tl.load(w_ptr)
    a = tl.fma(1.0 / x, x, x)
    tl.store(y_ptr + o, a * w, mask=m)

@triton.jit
def erf(x_ptr, w_ptr, y_ptr, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    m = o < n
    x = tl.load(x_ptr + o, mask=m, other=0.0)
    w = tl.load(w_ptr)
    a = tl.sqrt(tl.exp(-tl.log(x * x)))
    tl.store(y_ptr + o, a * w, mask=m)


def run_sqrtq(x, w):
    y = torch.empty_like(x)
    sqrtq[(1,)](x, w, y, x.numel(), B=8)
    return y


def run_absq(x, w):
    y = torch.empty_like(x)
    absq[(1,)](x, w, y, x.numel(), B=8)
    return y


def run_maxq(x, w):
    y = torch.empty_like(x)
    maxq[(1,)](x, w, y, x.numel(), B=8)
    return y


def run_tanhq(x, w):
    y = torch.empty_like(x)
    tanhq[(1,)](x, w, y, x.numel(), B=8)
    return y


def run_rowq(x, w):
    y = torch.empty_like(x)
    rowq[(1,)](x, w, y, x.numel(), B=8)
    return y


def run_sigmoidlog(x, w):
    y = torch.empty_like(x)
    sigmoidlog[(1,)](x, w, y, x.numel(), B=8)
    return y


def run_fma(x, w):
    y = torch.empty_like(x)
    fma[(1,)](x, w, y, x.numel(), B=8)
    return y


def run_erf(x, w):
    y = torch.empty_like(x)
    erf[(1,)](x, w, y, x.numel(), B=8)
    return y
