"""Several programs or lanes store one value to one element, beside sums over the same programs; extremes and states of loops."""

# case: {"class": "loops", "call": "m.same_by_axis(x, w)", "inputs": {"x": [3, 4], "w": [2]}, "expect": "right"}
# case: {"call": "m.same_by_axis_q(x, w)", "inputs": {"x": [3, 4], "w": [2]}, "expect": "right"}
# case: {"call": "m.same_by_mod(x, w)", "inputs": {"x": [3, 4], "w": [6]}, "expect": "right"}
# case: {"call": "m.same_by_div(x, w)", "inputs": {"x": [3, 4], "w": [6]}, "expect": "right"}
# case: {"call": "m.same_lane_mod(x, w)", "inputs": {"x": [4], "w": [8]}, "expect": "right"}
# case: {"call": "m.first_stores(x, w)", "inputs": {"x": [3, 4], "w": [2]}, "expect": "right"}
# case: {"call": "m.runmax(x)", "inputs": {"x": [3, 9]}, "expect": "right"}
# case: {"call": "m.runmax2(x)", "inputs": {"x": [3, 9]}, "expect": "right"}
# case: {"call": "m.runmax_relu(x)", "inputs": {"x": {"shape": [3, 9], "low": -1, "high": -0.1}}, "expect": "right"}
# case: {"call": "m.runmax_relu(x)", "inputs": {"x": [3, 9]}, "expect": "right"}
# case: {"call": "m.runmax_computed(x, w)", "inputs": {"x": [3, 9], "w": [9]}, "expect": "right"}
# case: {"call": "m.runmax_2d(x)", "inputs": {"x": [5, 9]}, "expect": "right"}
# case: {"call": "m.runmax_2d_min(x)", "inputs": {"x": [5, 9]}, "expect": "right"}
# case: {"call": "m.runmax_nested(x)", "inputs": {"x": [3, 4, 5]}, "expect": "right"}
# case: {"call": "m.runmax_overlap(x)", "inputs": {"x": [3, 9]}, "expect": "right"}
# case: {"call": "m.runmax_both(x)", "inputs": {"x": [3, 9]}, "expect": "right"}
# case: {"call": "m.runmax_used(x)", "inputs": {"x": [3, 9]}, "expect": "right"}
# case: {"call": "m.runmax_from(x)", "inputs": {"x": [3, 9]}, "expect": "right"}
# case: {"call": "m.runmax_strided(x)", "inputs": {"x": [3, 9]}, "expect": "right"}
# case: {"call": "m.state_prev(x)", "inputs": {"x": [6, 3]}, "expect": "right"}
# case: {"call": "m.state_prev_masked(x)", "inputs": {"x": [6, 3]}, "expect": "right"}
# case: {"call": "m.state_two(x, y)", "inputs": {"x": [6, 3], "y": [6, 3]}, "expect": "right"}
# case: {"call": "m.state_out(x, h)", "inputs": {"x": [6, 3], "h": [3]}, "expect": "right"}
# case: {"call": "m.state_out(x, h)", "inputs": {"x": [0, 3], "h": [3]}, "expect": "right"}
# case: {"call": "m.state_rev(x, h)", "inputs": {"x": [6, 3], "h": [3]}, "expect": "right"}
# case: {"call": "m.state_inplace(x * 1.0, h)", "inputs": {"x": [6, 3], "h": [3]}, "expect": "right"}
# case: {"call": "m.state_over(x, h)", "inputs": {"x": [6, 3], "h": [3]}, "expect": "right"}
# case: {"call": "m.state_chunk(x, h)", "inputs": {"x": [6, 3], "h": [3]}, "expect": "right"}

import torch
import triton
import triton.language as tl


@triton.jit
def same_axis_k(x_ptr, w_ptr, o_ptr, p_ptr, M, N, B: tl.constexpr):
    r = tl.program_id(0)
    k = tl.program_id(1)
    c = tl.arange(0, B)
    x = tl.load(x_ptr + r * N + c, mask=c < N)
    w = tl.load(w_ptr + k)
    tl.store(o_ptr + r * N + c, x * x, mask=c < N)
    tl.store(p_ptr + (k * M + r) * N + c, tl.sin(x * w), mask=c < N)


def same_by_axis(x, w):
    M, N = x.shape
    o = torch.empty_like(x)
    p = torch.empty(w.numel(), M, N, dtype=x.dtype)
    same_axis_k[(M, w.numel())](x, w, o, p, M, N, B=4)
    return o, p


@triton.jit
def same_axis_q_k(x_ptr, w_ptr, o_ptr, p_ptr, M, N, B: tl.constexpr):
    q = tl.program_id(0)
    k = tl.program_id(1)
    i = q * B + tl.arange(0, B)
    at = (i // N) * N + i % N
    x = tl.load(x_ptr + at, mask=i < M * N)
    w = tl.load(w_ptr + k)
    tl.store(o_ptr + at, x * x, mask=i < M * N)
    tl.store(p_ptr + k * M * N + i, tl.sin(x * w), mask=i < M * N)


def same_by_axis_q(x, w):
    M, N = x.shape
    o = torch.empty_like(x)
    p = torch.empty(w.numel(), M, N, dtype=x.dtype)
    same_axis_q_k[(triton.cdiv(M * N, 4), w.numel())](x, w, o, p, M, N, B=4)
    return o, p


@triton.jit
def same_mod_k(x_ptr, w_ptr, o_ptr, p_ptr, M, N, B: tl.constexpr):
    k = tl.program_id(0)
    r = k % M
    c = tl.arange(0, B)
    x = tl.load(x_ptr + r * N + c, mask=c < N)
    w = tl.load(w_ptr + k)
    tl.store(o_ptr + r * N + c, x * x, mask=c < N)
    tl.store(p_ptr + k * N + c, tl.sin(x * w), mask=c < N)


def same_by_mod(x, w):
    M, N = x.shape
    o = torch.empty_like(x)
    p = torch.empty(w.numel(), N, dtype=x.dtype)
    same_mod_k[(w.numel(),)](x, w, o, p, M, N, B=4)
    return o, p


@triton.jit
def same_div_k(x_ptr, w_ptr, o_ptr, p_ptr, M, N, R, B: tl.constexpr):
    k = tl.program_id(0)
    r = k // R
    c = tl.arange(0, B)
    x = tl.load(x_ptr + r * N + c, mask=c < N)
    w = tl.load(w_ptr + k)
    tl.store(o_ptr + r * N + c, x * x, mask=c < N)
    tl.store(p_ptr + k * N + c, tl.sin(x * w), mask=c < N)


def same_by_div(x, w):
    M, N = x.shape
    o = torch.empty_like(x)
    p = torch.empty(w.numel(), N, dtype=x.dtype)
    same_div_k[(w.numel(),)](x, w, o, p, M, N, w.numel() // M, B=4)
    return o, p


@triton.jit
def same_lane_mod_k(x_ptr, w_ptr, o_ptr, p_ptr, n, k, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i % n, mask=i < k)
    w = tl.load(w_ptr + i, mask=i < k)
    tl.store(o_ptr + i % n, x * x, mask=i < k)
    tl.store(p_ptr + i, tl.sin(x * w), mask=i < k)


def same_lane_mod(x, w):
    o = torch.empty_like(x)
    p = torch.empty_like(w)
    same_lane_mod_k[(1,)](x, w, o, p, x.numel(), w.numel(), B=8)
    return o, p


@triton.jit
def first_stores_k(x_ptr, w_ptr, o_ptr, p_ptr, M, N, B: tl.constexpr):
    r = tl.program_id(0)
    k = tl.program_id(1)
    c = tl.arange(0, B)
    x = tl.load(x_ptr + r * N + c, mask=c < N)
    w = tl.load(w_ptr + k)
    if k == 0:
        tl.store(o_ptr + r * N + c, x * x, mask=c < N)
    tl.store(p_ptr + (k * M + r) * N + c, tl.sin(x * w), mask=c < N)


def first_stores(x, w):
    M, N = x.shape
    o = torch.empty_like(x)
    p = torch.empty(w.numel(), M, N, dtype=x.dtype)
    first_stores_k[(M, w.numel())](x, w, o, p, M, N, B=4)
    return o, p


@triton.jit
def runmax_k(x_ptr, o_ptr, N, B: tl.constexpr):
    r = tl.program_id(0)
    m = -float("inf")
    for s in range(0, N, B):
        c = s + tl.arange(0, B)
        x = tl.load(x_ptr + r * N + c, mask=c < N, other=-float("inf"))
        m = tl.maximum(m, tl.max(x, 0))
    tl.store(o_ptr + r, m)


def runmax(x):
    o = torch.empty(x.shape[0], dtype=x.dtype)
    runmax_k[(x.shape[0],)](x, o, x.shape[1], B=4)
    return o


@triton.jit
def runmax2_k(x_ptr, o_ptr, N, B: tl.constexpr):
    r = tl.program_id(0)
    m = tl.full([], -float("inf"), tl.float64)
    for s in range(tl.cdiv(N, B)):
        c = s * B + tl.arange(0, B)
        x = tl.load(x_ptr + r * N + c, mask=c < N, other=-float("inf"))
        m = tl.maximum(tl.max(x * tl.abs(x), axis=0), m)
    tl.store(o_ptr + r, m * m)


def runmax2(x):
    o = torch.empty(x.shape[0], dtype=x.dtype)
    runmax2_k[(x.shape[0],)](x, o, x.shape[1], B=4)
    return o


@triton.jit
def runmax_relu_k(x_ptr, o_ptr, N, B: tl.constexpr):
    r = tl.program_id(0)
    m = 0.0
    for s in range(tl.cdiv(N, B)):
        c = s * B + tl.arange(0, B)
        x = tl.load(x_ptr + r * N + c, mask=c < N, other=-float("inf"))
        m = tl.maximum(tl.max(x, axis=0), m)
    tl.store(o_ptr + r, m)


def runmax_relu(x):
    o = torch.empty(x.shape[0], dtype=x.dtype)
    runmax_relu_k[(x.shape[0],)](x, o, x.shape[1], B=4)
    return o


@triton.jit
def runmax_computed_k(x_ptr, w_ptr, o_ptr, N, B: tl.constexpr):
    r = tl.program_id(0)
    m = -float("inf")
    for s in range(0, N, B):
        c = s + tl.arange(0, B)
        x = tl.load(x_ptr + r * N + c, mask=c < N, other=0.0)
        w = tl.load(w_ptr + c, mask=c < N, other=0.0)
        m = tl.maximum(m, tl.max(tl.where(c < N, tl.sin(x * w) + w, -float("inf")), 0))
    tl.store(o_ptr + r, m)


def runmax_computed(x, w):
    o = torch.empty(x.shape[0], dtype=x.dtype)
    runmax_computed_k[(x.shape[0],)](x, w, o, x.shape[1], B=4)
    return o


@triton.jit
def runmax_2d_k(x_ptr, o_ptr, M, N, BM: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    m = tl.full([BM], -float("inf"), tl.float64)
    for s in range(0, N, B):
        c = s + tl.arange(0, B)
        x = tl.load(x_ptr + r[:, None] * N + c[None, :], mask=(r < M)[:, None] & (c < N)[None, :], other=-float("inf"))
        m = tl.maximum(m, tl.max(x, 1))
    tl.store(o_ptr + r, m, mask=r < M)


def runmax_2d(x):
    o = torch.empty(x.shape[0], dtype=x.dtype)
    runmax_2d_k[(triton.cdiv(x.shape[0], 2),)](x, o, x.shape[0], x.shape[1], BM=2, B=4)
    return o


@triton.jit
def runmax_2d_min_k(x_ptr, o_ptr, M, N, BM: tl.constexpr, B: tl.constexpr):
    c = tl.program_id(0) * B + tl.arange(0, B)
    m = tl.full([1, B], float("inf"), tl.float64)
    for s in range(0, M, BM):
        r = s + tl.arange(0, BM)
        x = tl.load(x_ptr + r[:, None] * N + c[None, :], mask=(r < M)[:, None] & (c < N)[None, :], other=float("inf"))
        m = tl.minimum(m, tl.min(x, 0, keep_dims=True))
    tl.store(o_ptr + c[None, :], m, mask=(c < N)[None, :])


def runmax_2d_min(x):
    o = torch.empty(x.shape[1], dtype=x.dtype)
    runmax_2d_min_k[(triton.cdiv(x.shape[1], 4),)](x, o, x.shape[0], x.shape[1], BM=2, B=4)
    return o


@triton.jit
def runmax_nested_k(x_ptr, o_ptr, M, N, B: tl.constexpr):
    r = tl.program_id(0)
    m = -float("inf")
    for i in range(M):
        for s in range(0, N, B):
            c = s + tl.arange(0, B)
            x = tl.load(x_ptr + (r * M + i) * N + c, mask=c < N, other=-float("inf"))
            m = tl.maximum(m, tl.max(x, 0))
    tl.store(o_ptr + r, m)


def runmax_nested(x):
    o = torch.empty(x.shape[0], dtype=x.dtype)
    runmax_nested_k[(x.shape[0],)](x, o, x.shape[1], x.shape[2], B=2)
    return o


@triton.jit
def runmax_overlap_k(x_ptr, o_ptr, N, S: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0)
    m = -float("inf")
    for s in range(0, N, S):
        c = s + tl.arange(0, B)
        x = tl.load(x_ptr + r * N + c, mask=c < N, other=-float("inf"))
        m = tl.maximum(m, tl.max(x, 0))
    tl.store(o_ptr + r, m)


def runmax_overlap(x):
    o = torch.empty(x.shape[0], dtype=x.dtype)
    runmax_overlap_k[(x.shape[0],)](x, o, x.shape[1], S=2, B=4)
    return o


@triton.jit
def runmax_both_k(x_ptr, o_ptr, p_ptr, N, B: tl.constexpr):
    r = tl.program_id(0)
    m = -float("inf")
    n = float("inf")
    for s in range(0, N, B):
        c = s + tl.arange(0, B)
        x = tl.load(x_ptr + r * N + c, mask=c < N, other=0.0)
        m = tl.maximum(m, tl.max(tl.where(c < N, x, -float("inf")), 0))
        n = tl.minimum(n, tl.min(tl.where(c < N, x, float("inf")), 0))
    for s in range(0, N, B):
        c = s + tl.arange(0, B)
        x = tl.load(x_ptr + r * N + c, mask=c < N, other=0.0)
        tl.store(o_ptr + r * N + c, (x - n) / (m - n), mask=c < N)
    tl.store(p_ptr + r, m * n)


def runmax_both(x):
    o = torch.empty_like(x)
    p = torch.empty(x.shape[0], dtype=x.dtype)
    runmax_both_k[(x.shape[0],)](x, o, p, x.shape[1], B=4)
    return o, p


@triton.jit
def runmax_used_k(x_ptr, o_ptr, p_ptr, N, B: tl.constexpr):
    r = tl.program_id(0)
    m = -float("inf")
    for s in range(0, N, B):
        c = s + tl.arange(0, B)
        x = tl.load(x_ptr + r * N + c, mask=c < N, other=-float("inf"))
        m = tl.maximum(m, tl.max(x, 0))
        tl.store(o_ptr + r * N + c, m * x, mask=c < N)
    tl.store(p_ptr + r, m)


def runmax_used(x):
    o = torch.empty_like(x)
    p = torch.empty(x.shape[0], dtype=x.dtype)
    runmax_used_k[(x.shape[0],)](x, o, p, x.shape[1], B=4)
    return o, p


@triton.jit
def runmax_from_k(x_ptr, o_ptr, N, B: tl.constexpr):
    r = tl.program_id(0)
    m = tl.load(x_ptr + r * N + N - 1)
    for s in range(0, N, B):
        c = s + tl.arange(0, B)
        x = tl.load(x_ptr + r * N + c, mask=c < N, other=-float("inf"))
        m = tl.maximum(m, tl.max(x, 0) * 0.5)
    tl.store(o_ptr + r, m)


def runmax_from(x):
    o = torch.empty(x.shape[0], dtype=x.dtype)
    runmax_from_k[(x.shape[0],)](x, o, x.shape[1], B=4)
    return o


@triton.jit
def runmax_strided_k(x_ptr, o_ptr, N, P, B: tl.constexpr):
    r = tl.program_id(0)
    m = tl.full([B], -float("inf"), tl.float64)
    for s in range(P, N, 2 * B):
        c = s + tl.arange(0, B)
        x = tl.load(x_ptr + r * N + c, mask=c < N, other=-float("inf"))
        m = tl.maximum(m, x)
    tl.store(o_ptr + r, tl.max(m, 0))


def runmax_strided(x):
    o = torch.empty(x.shape[0], dtype=x.dtype)
    runmax_strided_k[(x.shape[0],)](x, o, x.shape[1], 1, B=2)
    return o


@triton.jit
def state_prev_k(x_ptr, o_ptr, T, D, B: tl.constexpr):
    d = tl.arange(0, B)
    prev = tl.zeros([B], tl.float64)
    for t in range(T):
        x = tl.load(x_ptr + t * D + d, mask=d < D, other=0.0)
        tl.store(o_ptr + t * D + d, tl.sin(x) * prev, mask=d < D)
        prev = x


def state_prev(x):
    o = torch.empty_like(x)
    state_prev_k[(1,)](x, o, *x.shape, B=4)
    return o


@triton.jit
def state_prev_masked_k(x_ptr, o_ptr, T, D, B: tl.constexpr):
    d = tl.arange(0, B)
    prev = tl.full([B], 0.5, tl.float64)
    for t in range(T):
        m = (d < D) & (d + t < 6)
        x = tl.load(x_ptr + t * D + d, mask=m, other=0.25)
        tl.store(o_ptr + t * D + d, tl.sin(x) * prev * prev, mask=d < D)
        prev = x


def state_prev_masked(x):
    o = torch.empty_like(x)
    state_prev_masked_k[(1,)](x, o, *x.shape, B=4)
    return o


@triton.jit
def state_two_k(x_ptr, y_ptr, o_ptr, T, D, B: tl.constexpr):
    d = tl.arange(0, B)
    a = tl.full([B], 1.0, tl.float64)
    b = tl.full([B], 2.0, tl.float64)
    for t in range(T):
        x = tl.load(x_ptr + t * D + d, mask=d < D, other=0.0)
        y = tl.load(y_ptr + t * D + d, mask=d < D, other=0.0)
        tl.store(o_ptr + t * D + d, tl.sin(x * a) * b, mask=d < D)
        a = y
        b = a * x


def state_two(x, y):
    o = torch.empty_like(x)
    state_two_k[(1,)](x, y, o, *x.shape, B=4)
    return o


@triton.jit
def state_out_k(x_ptr, h_ptr, o_ptr, T, D, B: tl.constexpr):
    d = tl.arange(0, B)
    h = tl.load(h_ptr + d, mask=d < D, other=0.0).to(tl.float32)
    for t in range(T):
        x = tl.load(x_ptr + t * D + d, mask=d < D, other=0.0).to(tl.float32)
        h = tl.sin(h * x) + x * h * h
        tl.store(o_ptr + t * D + d, h, mask=d < D)


def state_out(x, h):
    o = torch.empty_like(x)
    state_out_k[(1,)](x, h, o, *x.shape, B=4)
    return o


@triton.jit
def state_rev_k(x_ptr, h_ptr, o_ptr, T, D, B: tl.constexpr):
    d = tl.arange(0, B)
    h = tl.load(h_ptr + d, mask=d < D, other=0.0)
    for t in range(T - 1, -1, -1):
        x = tl.load(x_ptr + t * D + d, mask=d < D, other=0.0)
        h = tl.sin(h * x) + x * h * h
        tl.store(o_ptr + t * D + d, h, mask=d < D)


def state_rev(x, h):
    o = torch.empty_like(x)
    state_rev_k[(1,)](x, h, o, *x.shape, B=4)
    return o


def state_inplace(x, h):
    state_rev_k[(1,)](x, h, x, *x.shape, B=4)
    return x


@triton.jit
def state_over_k(x_ptr, h_ptr, o_ptr, T, D, B: tl.constexpr):
    d = tl.arange(0, B)
    h = tl.load(h_ptr + d, mask=d < D, other=0.0)
    for t in range(T):
        x = tl.load(x_ptr + t * D + d, mask=d < D, other=0.0)
        h = tl.sin(h * x) + x * h * h
        tl.store(o_ptr + (t // 2) * D + d, h, mask=d < D)


def state_over(x, h):
    o = torch.zeros_like(x)
    state_over_k[(1,)](x, h, o, *x.shape, B=4)
    return o


@triton.jit
def state_chunk_k(x_ptr, h_ptr, o_ptr, T, D, C: tl.constexpr, B: tl.constexpr):
    d = tl.arange(0, B)
    p = tl.program_id(0)
    h = tl.load(h_ptr + d, mask=d < D, other=0.0)
    for t in range(p * C, tl.minimum((p + 1) * C, T)):
        x = tl.load(x_ptr + t * D + d, mask=d < D, other=0.0)
        h = tl.sin(h * x) + x * h * h
        tl.store(o_ptr + t * D + d, h, mask=d < D)


def state_chunk(x, h):
    o = torch.empty_like(x)
    state_chunk_k[(2,)](x, h, o, *x.shape, C=4, B=4)
    return o
