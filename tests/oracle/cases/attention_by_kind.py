"""Attention whose bias is of another shape for each value of a word: each value has kernels of its own, below one `if`."""

# case: {"class": "flags", "call": "m.attend(q, k, v, bias, 'none')", "inputs": {"q": [2, 21, 16], "k": [2, 21, 16], "v": [2, 21, 16], "bias": [2, 21, 21]}}
# case: {"call": "m.attend(q, k, v, bias, 'columns')", "inputs": {"q": [2, 21, 16], "k": [2, 21, 16], "v": [2, 21, 16], "bias": [2, 21]}}
# case: {"call": "m.attend(q, k, v, bias, 'matrix')", "inputs": {"q": [2, 21, 16], "k": [2, 21, 16], "v": [2, 21, 16], "bias": [2, 21, 21]}}

import torch
import triton
import triton.language as tl


@triton.jit
def kinds(
    q, k, v, bias, out, n, scale, KIND: tl.constexpr, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr
):  # fmt: skip
    head = tl.program_id(1)
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.arange(0, N)
    d = tl.arange(0, D)
    base = head * n * D
    a = tl.load(q + base + rows[:, None] * D + d[None, :], mask=rows[:, None] < n, other=0.0)
    if KIND == "columns":
        bias_ptrs = bias + head * n + columns
    elif KIND == "matrix":
        bias_ptrs = bias + head * n * n + (rows[:, None] * n + columns[None, :])
    log_sum = tl.zeros([M], dtype=tl.float32) - float("inf")
    top = tl.zeros([M], dtype=tl.float32) - float("inf")
    acc = tl.zeros([M, D], dtype=tl.float32)
    for start in range(0, n, N):
        j = start + columns
        at = base + j[:, None] * D + d[None, :]
        b = tl.load(k + at, mask=j[:, None] < n, other=0.0)
        c = tl.load(v + at, mask=j[:, None] < n, other=0.0)
        s = tl.dot(a, tl.trans(b), input_precision="ieee") * scale
        if KIND != "none":
            if KIND == "columns":
                added = tl.load(bias_ptrs + start, mask=j < n, other=0.0)[None, :]
            elif KIND == "matrix":
                inside = (rows[:, None] < n) & (j[None, :] < n)
                added = tl.load(bias_ptrs + start, mask=inside, other=0.0)
            s += added
        s = tl.where(j[None, :] < n, s, -float("inf"))
        larger = tl.maximum(log_sum, tl.max(s, 1))
        p = tl.exp(s - larger[:, None])
        acc = acc * tl.exp(top - larger)[:, None] + tl.dot(p, c, input_precision="ieee")
        top = larger
        log_sum = larger + tl.log(tl.exp(log_sum - larger) + tl.sum(p, 1))
    at = base + rows[:, None] * D + d[None, :]
    tl.store(out + at, acc * tl.exp(top - log_sum)[:, None], mask=rows[:, None] < n)


def attend(q, k, v, bias, kind):
    heads, n, d = q.shape
    out = torch.empty_like(q)
    kinds[(triton.cdiv(n, 16), heads)](q, k, v, bias, out, n, 0.3, kind, D=d, M=16, N=16)
    return out
