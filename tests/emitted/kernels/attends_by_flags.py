"""Attention whose bias and masks flags choose, and which puts a row's scale through memory of its own."""

import torch
import triton
import triton.language as tl


# tad: n=21, heads=2, rounded=32, scale=0.3, q=f32[4, 21, 16], k=f32[4, 21, 16], v=f32[4, 21, 16], bias=f32[4, 21, 21], out=f32[4, 21, 16], lse=f32[4, 32], scratch=f32[4, 32], KIND="matrix", CAUSAL=False, EVEN=False, WHOLE=True, D=16, M=16, N=16, grid=(2, 4)
# tad: n=21, heads=2, rounded=32, scale=0.3, q=f32[4, 21, 16], k=f32[4, 21, 16], v=f32[4, 21, 16], bias=f32[4, 21, 21], out=f32[4, 21, 16], lse=f32[4, 32], scratch=f32[4, 32], KIND="columns", CAUSAL=True, EVEN=False, WHOLE=False, D=16, M=16, N=16, grid=(2, 4)
# tad: n=21, heads=2, rounded=32, scale=0.3, q=f32[4, 21, 16], k=f32[4, 21, 16], v=f32[4, 21, 16], bias=f32[4, 21, 21], out=f32[4, 21, 16], lse=f32[4, 32], scratch=f32[4, 32], KIND="none", CAUSAL=True, EVEN=False, WHOLE=True, D=16, M=16, N=16, grid=(2, 4)
@triton.jit
def flagged(
    q, k, v, bias, out, lse, scratch, scale, n, heads, rounded,
    KIND: tl.constexpr, CAUSAL: tl.constexpr, EVEN: tl.constexpr, WHOLE: tl.constexpr,
    D: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    block = tl.program_id(0)
    head = tl.program_id(1)
    rows = block * M + tl.arange(0, M)
    columns = tl.arange(0, N)
    d = tl.arange(0, D)
    base = (head // heads * heads + head % heads) * n * D
    if KIND == "columns":
        biases = bias + head * n + columns
    elif KIND == "matrix":
        biases = bias + head * n * n + (rows[:, None] * n + columns[None, :])
    places = scratch + head * rounded + rows
    log_sum = tl.zeros([M], dtype=tl.float32) - float("inf")
    top = tl.zeros([M], dtype=tl.float32) - float("inf")
    acc = tl.zeros([M, D], dtype=tl.float32)
    if EVEN:
        a = tl.load(q + base + rows[:, None] * D + d[None, :])
    else:
        a = tl.load(q + base + rows[:, None] * D + d[None, :], mask=rows[:, None] < n, other=0.0)
    end = n if not CAUSAL else tl.minimum((block + 1) * M, n)
    for start in range(0, end, N):
        j = start + columns
        at = base + j[:, None] * D + d[None, :]
        if EVEN:
            b = tl.load(k + at)
        else:
            b = tl.load(k + at, mask=j[:, None] < n, other=0.0)
        s = tl.dot(a, tl.trans(b), input_precision="ieee")
        if not EVEN:
            s += tl.where(j[None, :] < n, 0, float("-inf"))
        if CAUSAL:
            s += tl.where(rows[:, None] >= j[None, :], 0, float("-inf"))
        if KIND != "none":
            if KIND == "columns":
                if EVEN:
                    c = tl.load(biases + start).to(tl.float32)
                else:
                    c = tl.load(biases + start, mask=j < n, other=0.0).to(tl.float32)
                c = c[None, :]
            elif KIND == "matrix":
                inside = (rows[:, None] < n) & (j[None, :] < n)
                c = tl.load(biases + start, mask=inside, other=0.0).to(tl.float32)
            s = s * scale + c
            larger = tl.maximum(tl.max(s, 1), log_sum)
            p = tl.exp(s - larger[:, None])
        else:
            larger = tl.maximum(tl.max(s, 1) * scale, log_sum)
            p = tl.exp(s * scale - larger[:, None])
        factor = tl.exp(top - larger)
        tl.store(places, factor)
        factor = tl.load(places)
        acc = acc * factor[:, None]
        if EVEN:
            e = tl.load(v + at)
        else:
            e = tl.load(v + at, mask=j[:, None] < n, other=0.0)
        acc += tl.dot(p, e, input_precision="ieee")
        top = larger
        log_sum = larger + tl.log(tl.exp(log_sum - larger) + tl.sum(p, 1))
    factor = tl.exp(top - log_sum)
    tl.store(places, factor)
    factor = tl.load(places)
    acc = acc * factor[:, None]
    tl.store(lse + head * rounded + rows, log_sum)
    outs = out + base + rows[:, None] * D + d[None, :]
    if EVEN:
        if WHOLE:
            tl.store(outs, acc)
        else:
            tl.store(outs, acc, mask=d[None, :] < D)
    else:
        if WHOLE:
            tl.store(outs, acc, mask=rows[:, None] < n)
        else:
            tl.store(outs, acc, mask=(rows[:, None] < n) & (d[None, :] < D))


def attend(q, k, v, bias=None, causal=False):
    batches, heads, n, d = q.shape
    kind = "none" if bias is None else "matrix" if bias.dim() == 4 else "columns"
    rounded = triton.cdiv(n, 16) * 16
    lse = torch.empty((batches, heads, rounded), device=q.device, dtype=torch.float32)
    scratch = torch.empty((batches, heads, rounded), device=q.device, dtype=torch.float32)
    out = torch.empty_like(q)
    flagged[(triton.cdiv(n, 16), batches * heads)](
        q, k, v, bias, out, lse, scratch, d**-0.5, n, heads, rounded,
        KIND=kind, CAUSAL=causal, EVEN=n % 16 == 0, WHOLE=True, D=d, M=16, N=16,
    )  # fmt: skip
    return out


@triton.jit
def shown(x, out, scratch, n, BLOCK: tl.constexpr):
    """What it puts through memory is a result of its own, too."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + i, mask=i < n, other=0.0)
    tl.store(scratch + row, tl.sum(a * a))
    tl.store(out + row * n + i, a * tl.load(scratch + row), mask=i < n)


def show(x):
    out = torch.empty_like(x)
    scratch = torch.empty(x.shape[0], device=x.device, dtype=torch.float32)
    shown[(x.shape[0],)](x, out, scratch, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out, scratch


@triton.jit
def hidden(x, out, scratch, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + i, mask=i < n, other=0.0)
    tl.store(scratch + row, tl.sum(a * a))
    tl.store(out + row * n + i, a * tl.load(scratch + row), mask=i < n)


def hide(x):
    out = torch.empty_like(x)
    scratch = torch.empty(x.shape[0], device=x.device, dtype=torch.float32)
    hidden[(x.shape[0],)](x, out, scratch, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out
