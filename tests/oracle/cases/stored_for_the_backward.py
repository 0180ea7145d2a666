"""Forwards that store row statistics for their backwards: launched in odd ways, twice, with other sizes, by halves."""

# case: {"class": "saved", "expect": "right", "call": "m.norm(x, w)", "inputs": {"x": [5, 37], "w": [37]}}
# case: {"expect": "right", "call": "m.norm(x.t(), w)", "inputs": {"x": [37, 5], "w": [37]}}
# case: {"expect": "right", "call": "m.norm(m.norm(x, w)[:3, 2:9].contiguous(), w[:7].contiguous())", "inputs": {"x": [5, 12], "w": [12]}}
# case: {"expect": "right", "call": "m.norm(x, w).sum(0) * m.norm(x[:1] * 2, w)", "inputs": {"x": [5, 20], "w": [20]}}
# case: {"expect": "right", "call": "m.norm(x, w)", "inputs": {"x": [0, 20], "w": [20]}}
# case: {"expect": "right", "call": "m.norm(x, w)", "inputs": {"x": {"shape": [5, 20], "grad": false}, "w": [20]}}
# case: {"expect": "right", "call": "m.layers(x, w)", "inputs": {"x": [4, 19], "w": [3, 19]}}
# case: {"expect": "right", "call": "m.halves(x, w)", "inputs": {"x": [6, 19], "w": [19]}}
# case: {"expect": "right", "call": "m.some_rows(x, w, 3)", "inputs": {"x": [5, 19], "w": [19]}}
# case: {"expect": "right", "call": "m.some_rows(x, w, 0)", "inputs": {"x": [5, 19], "w": [19]}}
# case: {"expect": "right", "call": "m.scaled(x, w, True)", "inputs": {"x": [7, 19], "w": [19]}}
# case: {"expect": "right", "call": "m.scaled(x, w, False)", "inputs": {"x": [7, 19], "w": [19]}}
# case: {"expect": "right", "call": "m.Layer(w)(x)", "inputs": {"x": [7, 19], "w": [19]}}
# case: {"expect": "right", "call": "m.with_options(x, w)", "inputs": {"x": [7, 19], "w": [19]}}
# case: {"expect": "right", "call": "m.tuned(x, w)", "inputs": {"x": [7, 19], "w": [19]}}
import torch
import triton
import triton.language as tl


@triton.jit
def norm_kernel(
    x,
    w,
    y,
    n,
    eps,
    BLOCK: tl.constexpr = 16,  # a block of columns
):
    row = tl.program_id(0) * n
    squares = 0.0
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        a = tl.load(x + row + cols, mask=cols < n, other=0.0).to(tl.float32)
        squares += tl.sum(a * a, 0)
    rstd = 1 / tl.sqrt(squares / n + eps)  # of the row
    # what stands between two statements
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        a = tl.load(x + row + cols, mask=cols < n, other=0.0)
        b = tl.load(w + cols, mask=cols < n, other=0.0)
        tl.store(y + row + cols, a * rstd * b, mask=cols < n)


def norm(x, w):
    x = x.contiguous()
    y = torch.empty_like(x)
    norm_kernel[(x.shape[0],)](x, w, y, x.shape[1], 1e-3)
    return y


def layers(x, w):
    for layer in range(w.shape[0]):
        scale = w[layer].contiguous()
        y = torch.empty_like(x)
        norm_kernel[(x.shape[0],)](x, scale, y, x.shape[1], eps=1e-3, BLOCK=8)
        x = y + x
    return x


def halves(x, w):
    y, z = torch.empty_like(x[:2]), torch.empty_like(x[2:])
    a, b = x[:2].contiguous(), x[2:].contiguous()
    grid = (a.shape[0],)
    norm_kernel[grid](a, w, y, x.shape[1], 1e-3, BLOCK=8)
    norm_kernel[(b.shape[0],)](b, w, z, x.shape[1], 1e-3, BLOCK=32)
    return torch.cat([y, z])


def with_options(x, w):
    y = torch.empty_like(x)
    norm_kernel[lambda meta: (x.shape[0],)](x, w, y, x.shape[1], 1e-3, BLOCK=8, num_warps=2)
    return y


@triton.jit
def some_rows_kernel(x, w, y, n, rows, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    if program >= rows:
        return
    squares = 0.0
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        a = tl.load(x + program * n + cols, mask=cols < n, other=0.0).to(tl.float32)
        squares += tl.sum(a * a, 0)
    rstd = 1 / tl.sqrt(squares / n + 1e-3)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        a = tl.load(x + program * n + cols, mask=cols < n, other=0.0)
        b = tl.load(w + cols, mask=cols < n, other=0.0)
        tl.store(y + program * n + cols, a * rstd * b, mask=cols < n)


def some_rows(x, w, rows):
    y = torch.zeros_like(x)
    some_rows_kernel[(x.shape[0],)](x, w, y, x.shape[1], rows, BLOCK=8)
    return y


@triton.jit
def scaled_kernel(x, w, y, m, n, SCALES: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    squares = tl.zeros([ROWS], tl.float32)
    for start in range(0, n if SCALES else 0, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        inside = (rows[:, None] < m) & (cols[None, :] < n)
        a = tl.load(x + rows[:, None] * n + cols[None, :], mask=inside, other=0.0).to(tl.float32)
        squares += tl.sum(a * a, 1)
    rstd = 1 / tl.sqrt(squares / n + 0.5)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        inside = (rows[:, None] < m) & (cols[None, :] < n)
        a = tl.load(x + rows[:, None] * n + cols[None, :], mask=inside, other=0.0)
        b = tl.load(w + cols, mask=cols < n, other=0.0)
        tl.store(y + rows[:, None] * n + cols[None, :], a * rstd[:, None] * b[None, :], mask=inside)


def scaled(x, w, scales):
    y = torch.empty_like(x)
    m, n = x.shape
    grid = (1, triton.cdiv(m, 4))
    scaled_kernel[grid](x, w, y, m, n, SCALES=scales, ROWS=4, BLOCK=8)
    return y


class Layer(torch.nn.Module):
    def __init__(self, w):
        super().__init__()
        self.w = w

    def forward(self, x):
        y = torch.empty_like(x)
        m, n = x.shape
        grid = (1, triton.cdiv(m, 4))
        if m:
            scaled_kernel[grid](x, self.w, y, m, n, SCALES=True, ROWS=4, BLOCK=8)
        return y


@triton.autotune([triton.Config({"BLOCK": 8}), triton.Config({"BLOCK": 16})], key=["n"])
@triton.jit
def tuned_kernel(x, w, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) * n
    squares = 0.0
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        a = tl.load(x + row + cols, mask=cols < n, other=0.0).to(tl.float32)
        squares += tl.sum(a * a, 0)
    rstd = 1 / tl.sqrt(squares / n + 1e-3)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        a = tl.load(x + row + cols, mask=cols < n, other=0.0)
        b = tl.load(w + cols, mask=cols < n, other=0.0)
        tl.store(y + row + cols, a * rstd * b, mask=cols < n)


def tuned(x, w):
    y = torch.empty_like(x)
    tuned_kernel[(x.shape[0],)](x, w, y, x.shape[1])
    return y
