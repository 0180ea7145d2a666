"""Windows that begin at every few elements of rows: programs have blocks of a row's windows."""

# case: {"class": "windows", "call": "m.pool(x, 3, 2)", "inputs": {"x": [3, 41]}, "expect": "right"}
# case: {"call": "m.pool(x, 5, 3)", "inputs": {"x": [3, 40]}, "expect": "right"}
# case: {"call": "m.pool(x, 2, 2)", "inputs": {"x": [3, 41]}, "expect": "right"}
# case: {"call": "m.pool(x, 2, 5)", "inputs": {"x": [3, 41]}, "expect": "right"}
# case: {"call": "m.pool(x, 1, 4)", "inputs": {"x": [1, 9]}, "expect": "right"}
# case: {"call": "m.pool(x.t().contiguous(), 3, 2)", "inputs": {"x": [41, 3]}, "expect": "right"}
# case: {"call": "m.pool(x[1:], 3, 2)", "inputs": {"x": [3, 41]}, "expect": "right"}
# case: {"call": "m.filtered(x, w, 2, 3)", "inputs": {"x": [2, 3, 37], "w": [3]}, "expect": "right"}
# case: {"call": "m.filtered(x, w, 3)", "inputs": {"x": [2, 3, 37], "w": [5]}, "expect": "right"}
# case: {"call": "m.filtered(x[:, 1:], w, 3)", "inputs": {"x": [2, 3, 37], "w": [5]}, "expect": "right"}
# case: {"call": "m.filtered(x[:, :, 2:35], w, 2)", "inputs": {"x": [2, 3, 37], "w": [5]}, "expect": "right"}
# case: {"call": "m.filtered(x[:, :1].expand(2, 3, 37), w, 2)", "inputs": {"x": [2, 3, 37], "w": [5]}}
# case: {"call": "m.filtered(x.transpose(0, 1), w, 2)", "inputs": {"x": [2, 3, 37], "w": [5]}, "expect": "right"}
# case: {"call": "m.squares(x, 3, 2)", "inputs": {"x": [3, 41]}, "expect": "right"}
# case: {"call": "m.over(x, 3, 2)", "inputs": {"x": [3, 40]}}
# case: {"call": "m.half_of(x, 3, 2)", "inputs": {"x": [3, 82]}, "expect": "right"}
# case: {"call": "m.parts(x, 3, 2)", "inputs": {"x": [3, 41]}, "expect": "right"}

import torch
import triton
import triton.language as tl


@triton.jit
def pool_kernel(x_ptr, y_ptr, T, OT, K: tl.constexpr, S: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = o < OT
    acc = tl.zeros([BLOCK], tl.float32)
    for k in tl.static_range(K):
        acc += tl.load(x_ptr + row * T + o * S + k, mask=m, other=0.0)
    tl.store(y_ptr + row * OT + o, acc / K, mask=m)


def pool(x, k, s):
    M, T = x.shape
    OT = (T - k) // s + 1
    y = torch.empty(M, OT, device=x.device, dtype=x.dtype)
    pool_kernel[(M, triton.cdiv(OT, 8))](x, y, T, OT, k, s, BLOCK=8)
    return y


def half_of(x, k, s):
    """Rows of which the windows have the first half alone."""
    M, T = x.shape
    OT = (T // 2 - k) // s + 1
    y = torch.empty(M, OT, device=x.device, dtype=x.dtype)
    pool_kernel[(M, triton.cdiv(OT, 8))](x, y, T, OT, k, s, BLOCK=8)
    return y


def parts(x, k, s):
    """A grid that ends in front of the last windows."""
    M, T = x.shape
    OT = (T - k) // s + 1
    y = torch.zeros(M, OT, device=x.device, dtype=x.dtype)
    pool_kernel[(M, 1)](x, y, T, OT, k, s, BLOCK=8)
    return y


def over(x, k, s):
    """Windows that reach into the next row."""
    M, T = x.shape
    OT = T // s
    y = torch.empty(M, OT, device=x.device, dtype=x.dtype)
    rows = torch.cat((x.reshape(-1), x.new_zeros(k)))
    pool_kernel[(M, triton.cdiv(OT, 8))](rows, y, T, OT, k, s, BLOCK=8)
    return y


@triton.jit
def filtered_kernel(
    x_ptr,
    w_ptr,
    y_ptr,
    OT,
    stride_xb,
    stride_xc,
    stride_yb,
    stride_yc,
    K: tl.constexpr,
    S: tl.constexpr,
    BLOCK: tl.constexpr,
):
    b = tl.program_id(0)
    c = tl.program_id(1)
    o = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)
    m = o < OT
    acc = tl.zeros([BLOCK], tl.float32)
    for k in range(K):
        x = tl.load(x_ptr + b * stride_xb + c * stride_xc + o * S + k, mask=m, other=0.0)
        acc += x * tl.load(w_ptr + k)
    tl.store(y_ptr + b * stride_yb + c * stride_yc + o, acc, mask=m)


def filtered(x, w, s, K=5):
    B, C, T = x.shape
    OT = (T - K) // s + 1
    y = torch.empty(B, C, OT, device=x.device, dtype=x.dtype)
    filtered_kernel[(B, C, triton.cdiv(OT, 8))](
        x, w, y, OT, x.stride(0), x.stride(1), y.stride(0), y.stride(1), K, s, BLOCK=8
    )
    return y


@triton.jit
def squares_kernel(x_ptr, y_ptr, T, OT, K: tl.constexpr, S: tl.constexpr, BLOCK: tl.constexpr):
    """Whose windows are summed before anything is made of them."""
    row = tl.program_id(0)
    o = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = o < OT
    acc = tl.zeros([BLOCK], tl.float32)
    for k in tl.static_range(K):
        acc += tl.load(x_ptr + row * T + o * S + k, mask=m, other=0.0)
    tl.store(y_ptr + row * OT + o, acc * acc, mask=m)


def squares(x, k, s):
    M, T = x.shape
    OT = (T - k) // s + 1
    y = torch.empty(M, OT, device=x.device, dtype=x.dtype)
    squares_kernel[(M, triton.cdiv(OT, 8))](x, y, T, OT, k, s, BLOCK=8)
    return y
