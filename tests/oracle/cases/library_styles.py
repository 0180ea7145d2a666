"""Functions that return nothing, other names of launchers, registries, objects that are made at module level."""

# case: {"class": "host", "expect": "right", "call": "m.into_none(x)", "inputs": {"x": [6]}}
# case: {"expect": "right", "call": "m.partial_apply(x)", "inputs": {"x": [6]}}
# case: {"expect": "right", "call": "m.run4(x)", "inputs": {"x": [6]}}
# case: {"expect": "right", "call": "m.by_name('cube', x)", "inputs": {"x": [6]}}
# case: {"expect": "right", "call": "m.by_key(x)", "inputs": {"x": [6]}}
# case: {"expect": "right", "call": "m.alias(x)", "inputs": {"x": [6]}}
# case: {"expect": "right", "call": "m.by_registry('r', x)", "inputs": {"x": [6]}}
# case: {"expect": "right", "call": "m.all_rows(x)", "inputs": {"x": [3, 6]}}
# case: {"expect": "right", "call": "m.act(x)", "inputs": {"x": [6]}}
# case: {"expect": "right", "call": "m.step([x, w])", "inputs": {"x": {"shape": [6], "in_place": true}, "w": {"shape": [6], "in_place": true}}}
import functools

import torch
import triton
import triton.language as tl


@triton.jit
def sq(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, v * v * v, mask=i < n)


def _run(x, block):
    y = torch.empty_like(x)
    sq[(triton.cdiv(x.numel(), block),)](x, y, x.numel(), B=block)
    return y


run4 = functools.partial(_run, block=4)
alias = run4
RUNS = {"cube": run4}
TABLE = {}
TABLE["c"] = _run


def partial_apply(x):
    return run4(x)


def by_name(name, x):
    return RUNS[name](x)


def by_key(x):
    return TABLE["c"](x, 4)


REG = {}


def register(name):
    def wrap(f):
        REG[name] = f
        return f

    return wrap


@register("r")
def registered(x):
    return _run(x, 4) * 2


def by_registry(name, x):
    return REG[name](x)


def _into(x, out):
    sq[(2,)](x, out, x.numel(), B=4)


def middle(x, out):
    _into(x, out)


def rows(x, out):
    for r in range(x.shape[0]):
        middle(x[r], out[r])


def into_none(x):
    out = torch.empty_like(x)
    middle(x, out)
    return out


def all_rows(x):
    out = torch.empty_like(x)
    rows(x, out=out)
    return out


class Act(torch.nn.Module):
    def forward(self, x):
        return alias(x)


act = Act()


def update(p):
    middle(p.clone(), p)


def step(params):
    for p in params:
        update(p)
    return params
