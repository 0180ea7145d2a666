"""Rows whose first blocks hold no valid key: the author guards them, and their running maximum is -inf there."""

# case: {"class": "nan", "call": "m.forward(s, torch.tensor([0, 3, 4, 5, 9, 10, 7, 8]))", "inputs": {"s": [8, 10]}}
# case: {"class": "nan", "call": "m.attend(q, k, v, torch.tensor([0, 3, 4, 5, 9, 20, 37, 8] * 2))", "wide": true, "inputs": {"q": {"shape": [16, 16], "dtype": "float32"}, "k": {"shape": [37, 16], "dtype": "float32"}, "v": {"shape": [37, 16], "dtype": "float32"}}}

import torch, triton
import triton.language as tl


@triton.jit
def rows_kernel(S, N, O, T, ROWS: tl.constexpr, B: tl.constexpr):
    rows = tl.arange(0, ROWS)
    starts = tl.load(N + rows)
    top = tl.full((ROWS,), float("-inf"), S.dtype.element_ty)
    total = tl.zeros((ROWS,), S.dtype.element_ty)
    for c in range(0, T, B):
        cols = c + tl.arange(0, B)
        valid = (cols[None, :] >= starts[:, None]) & (cols[None, :] < T)
        s = tl.load(S + rows[:, None] * T + cols[None, :], mask=valid, other=float("-inf"))
        new = tl.maximum(top, tl.max(s, axis=1))
        p = tl.where(valid, tl.exp(s - new[:, None]), 0.0)
        alpha = tl.where(new == float("-inf"), 1.0, tl.exp(top - new))
        total = total * alpha + tl.sum(p, axis=1)
        top = new
    tl.store(O + rows, tl.where(total > 0, top + tl.log(tl.where(total > 0, total, 1.0)), 0.0))


def forward(s, starts):
    out = torch.empty(s.shape[0], device=s.device, dtype=s.dtype)
    rows_kernel[(1,)](s, starts, out, s.shape[1], ROWS=s.shape[0], B=4)
    return out


@triton.jit
def attend_kernel(Q, K, V, N, O, T, ROWS: tl.constexpr, B: tl.constexpr, D: tl.constexpr):
    rows = tl.arange(0, ROWS)
    dims = tl.arange(0, D)
    starts = tl.load(N + rows)
    q = tl.load(Q + rows[:, None] * D + dims[None, :])
    top = tl.full((ROWS,), float("-inf"), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    acc = tl.zeros((ROWS, D), tl.float32)
    for c in range(0, T, B):
        cols = c + tl.arange(0, B)
        valid = (cols[None, :] >= starts[:, None]) & (cols[None, :] < T)
        k = tl.load(K + cols[:, None] * D + dims[None, :], mask=cols[:, None] < T, other=0.0)
        v = tl.load(V + cols[:, None] * D + dims[None, :], mask=cols[:, None] < T, other=0.0)
        s = tl.where(valid, tl.dot(q, tl.trans(k)), float("-inf"))
        new = tl.maximum(top, tl.max(s, axis=1))
        p = tl.where(valid, tl.exp(s - new[:, None]), 0.0)
        alpha = tl.where(new == float("-inf"), 1.0, tl.exp(top - new))
        total = total * alpha + tl.sum(p, axis=1)
        acc = acc * alpha[:, None] + tl.dot(p, v)
        top = new
    tl.store(O + rows[:, None] * D + dims[None, :], acc / tl.where(total > 0, total, 1.0)[:, None])


def attend(q, k, v, starts):
    out = torch.empty_like(q)
    attend_kernel[(1,)](q, k, v, starts, out, k.shape[0], ROWS=16, B=16, D=16)
    return out
