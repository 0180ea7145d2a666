"""One output buffer for all calls: a launch that stores all of it has nothing to do with what it held."""

# case: {"class": "graphs", "expect": "right", "call": "m.twice(x, w)", "inputs": {"x": [9], "w": [9]}, "reference": "m.plain(x, w) * 2 + m.plain(w, w)"}
# case: {"expect": "right", "call": "m.steps(x, w, 3)", "inputs": {"x": [9], "w": [9]}, "reference": "m.plain(x, w) * 3"}
# case: {"expect": "right", "call": "m.chained(x, w)", "inputs": {"x": [9], "w": [9]}}
# case: {"expect": "right", "call": "m.partly(x, w)", "inputs": {"x": [9], "w": [9]}}
# case: {"expect": "right", "call": "m.of_a_view(x, w)", "inputs": {"x": [9], "w": [9]}}
# case: {"expect": "right", "call": "m.added(x, w)", "inputs": {"x": [9], "w": [9]}}

import torch
import triton
import triton.language as tl


@triton.jit
def product(x, w, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(y + i, tl.load(x + i, mask=m) * tl.sin(tl.load(w + i, mask=m)), mask=m)


@triton.jit
def increase(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(y + i, tl.load(y + i, mask=m) * 2 + tl.load(x + i, mask=m), mask=m)


def fill(x, w, y, n):
    product[(triton.cdiv(n, 4),)](x, w, y, n, BLOCK=4)
    return y


def plain(x, w):
    return fill(x, w, torch.empty_like(x), x.numel())


class Buffered(torch.nn.Module):
    def __init__(self, like):
        super().__init__()
        self.register_buffer("out", torch.zeros_like(like))

    def forward(self, x, w):
        y = self.out
        product[(triton.cdiv(x.numel(), 4),)](x, w, y, x.numel(), BLOCK=4)
        return y


def twice(x, w):
    module = Buffered(x.detach())
    return module(x, w) * 2 + module(w, w)


def steps(x, w, count):
    """A backward between the calls frees their graphs."""
    module = Buffered(x.detach())
    total = 0
    for _ in range(count):
        y = module(x, w)
        if y.requires_grad:
            torch.autograd.grad(y.sum(), [t for t in (x, w) if t.requires_grad])
            y = module(x, w)
        total = total + y
    return total


def chained(x, w):
    """The input lies in the buffer, too."""
    both = torch.zeros_like(x)
    fill(x, w, both, x.numel())
    return fill(both, w, both, x.numel()) * 1


def partly(x, w):
    """The rest of the buffer keeps what it held."""
    y = fill(x, w, torch.zeros_like(x), x.numel())
    return fill(w, x, y, 5) * 1


def of_a_view(x, w):
    y = fill(x, w, torch.zeros_like(x), x.numel())
    seen = y[2:6]
    fill(w, w, y, x.numel())
    return seen * x[2:6]


def added(x, w):
    """The launch reads what the buffer holds."""
    y = fill(x, w, torch.zeros_like(x), x.numel())
    increase[(triton.cdiv(x.numel(), 4),)](w, y, x.numel(), BLOCK=4)
    return y * 1
