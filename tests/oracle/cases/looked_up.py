"""Launches of kernels that the program looks up where it runs: followed, or said. Those in plain sight stay in the module."""

# case: {"class": "looked-up", "call": "m.by_globals(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_globals_bound(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_globals_twice_bound(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_module(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_module_bound(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_import(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_dict_of_module(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_vars(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_eval(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_exec(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_method(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_bound_method(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_run(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_getattr(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_partial(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_type(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_operator(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_getter(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_caller(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_reduce(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_locals(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_finder(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_choice(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_ternary(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_table(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_zip(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_namespace(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_context(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_registry(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_list(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_hand(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_walrus(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_default(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_factory(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_bound_grid(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_stars(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_nested(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_waiting(x)", "inputs": {"x": [21]}}
# case: {"class": "looked-up", "call": "m.by_plain_lookups(x)", "inputs": {"x": [21]}}

import asyncio
import contextvars
import functools
import importlib
import operator
import sys
from types import SimpleNamespace

import torch
import triton
import triton.language as tl


@triton.jit
def square_kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(y + at, v * v, mask=at < n)


@triton.jit
def cube_kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(y + at, v * v * v, mask=at < n)


def by_globals(x, name="square"):
    y = torch.empty_like(x)
    globals()[name + "_kernel"][(triton.cdiv(x.numel(), 8),)](x, y, x.numel(), BLOCK=8)
    return y


def by_globals_bound(x, name="square"):
    y = torch.empty_like(x)
    launch = globals()["square_kernel"][(triton.cdiv(x.numel(), 8),)]
    launch(x, y, x.numel(), BLOCK=8)
    return y


def by_globals_twice_bound(x, name="square"):
    y = torch.empty_like(x)
    found = globals()[f"{name}_kernel"]
    launch = found[(triton.cdiv(x.numel(), 8),)]
    launch(x, y, x.numel(), BLOCK=8)
    return y


def by_module(x, name="square"):
    y = torch.empty_like(x)
    getattr(sys.modules[__name__], name + "_kernel")[(triton.cdiv(x.numel(), 8),)](
        x, y, x.numel(), BLOCK=8
    )
    return y


def by_module_bound(x, name="square"):
    y = torch.empty_like(x)
    launch = getattr(sys.modules[__name__], name + "_kernel")[(triton.cdiv(x.numel(), 8),)]
    launch(x, y, x.numel(), BLOCK=8)
    return y


def by_import(x, name="square"):
    y = torch.empty_like(x)
    here = importlib.import_module(__name__)
    getattr(here, name + "_kernel")[(triton.cdiv(x.numel(), 8),)](x, y, x.numel(), BLOCK=8)
    return y


def by_dict_of_module(x, name="square"):
    y = torch.empty_like(x)
    sys.modules[__name__].__dict__["square_kernel"][(triton.cdiv(x.numel(), 8),)](
        x, y, x.numel(), BLOCK=8
    )
    return y


def by_vars(x, name="square"):
    y = torch.empty_like(x)
    vars(sys.modules[__name__])[name + "_kernel"][(triton.cdiv(x.numel(), 8),)](
        x, y, x.numel(), BLOCK=8
    )
    return y


def by_eval(x, name="square"):
    y = torch.empty_like(x)
    eval(f"{name}_kernel")[(triton.cdiv(x.numel(), 8),)](x, y, x.numel(), BLOCK=8)
    return y


def by_exec(x, name="square"):
    y = torch.empty_like(x)
    exec("square_kernel[(3,)](x, y, 21, BLOCK=8)", globals(), dict(x=x, y=y))
    return y


def by_method(x, name="square"):
    y = torch.empty_like(x)
    square_kernel.__getitem__((triton.cdiv(x.numel(), 8),))(x, y, x.numel(), BLOCK=8)
    return y


def by_bound_method(x, name="square"):
    y = torch.empty_like(x)
    at = square_kernel.__getitem__
    at((triton.cdiv(x.numel(), 8),))(x, y, x.numel(), BLOCK=8)
    return y


def by_run(x, name="square"):
    y = torch.empty_like(x)
    square_kernel.run(x, y, x.numel(), BLOCK=8, grid=(triton.cdiv(x.numel(), 8),), warmup=False)
    return y


def by_getattr(x, name="square"):
    y = torch.empty_like(x)
    getattr(square_kernel, "run")(
        x, y, x.numel(), BLOCK=8, grid=(triton.cdiv(x.numel(), 8),), warmup=False
    )
    return y


def by_partial(x, name="square"):
    y = torch.empty_like(x)
    functools.partial(square_kernel.run, grid=(triton.cdiv(x.numel(), 8),), warmup=False)(
        x, y, x.numel(), BLOCK=8
    )
    return y


def by_type(x, name="square"):
    y = torch.empty_like(x)
    type(square_kernel).__getitem__(square_kernel, (triton.cdiv(x.numel(), 8),))(
        x, y, x.numel(), BLOCK=8
    )
    return y


def by_operator(x, name="square"):
    y = torch.empty_like(x)
    operator.getitem(square_kernel, (triton.cdiv(x.numel(), 8),))(x, y, x.numel(), BLOCK=8)
    return y


def by_getter(x, name="square"):
    y = torch.empty_like(x)
    operator.itemgetter((triton.cdiv(x.numel(), 8),))(square_kernel)(x, y, x.numel(), BLOCK=8)
    return y


def by_caller(x, name="square"):
    y = torch.empty_like(x)
    operator.methodcaller("__getitem__", (triton.cdiv(x.numel(), 8),))(square_kernel)(
        x, y, x.numel(), BLOCK=8
    )
    return y


def by_reduce(x, name="square"):
    y = torch.empty_like(x)
    functools.reduce(
        lambda kernel, grid: kernel[grid], [(triton.cdiv(x.numel(), 8),)], square_kernel
    )(x, y, x.numel(), BLOCK=8)
    return y


def by_locals(x, name="square"):
    y = torch.empty_like(x)
    found = square_kernel
    locals()["found"][(triton.cdiv(x.numel(), 8),)](x, y, x.numel(), BLOCK=8)
    return y


def find(name):
    return globals()[f"{name}_kernel"]


def by_finder(x, name="square"):
    y = torch.empty_like(x)
    find(name)[(triton.cdiv(x.numel(), 8),)](x, y, x.numel(), BLOCK=8)
    return y


def pick(name):
    if name == "square":
        return square_kernel
    return cube_kernel


def by_choice(x, name="square"):
    y = torch.empty_like(x)
    pick(name)[(triton.cdiv(x.numel(), 8),)](x, y, x.numel(), BLOCK=8)
    return y


def by_ternary(x, name="square"):
    y = torch.empty_like(x)
    (square_kernel if name == "square" else cube_kernel)[(triton.cdiv(x.numel(), 8),)](
        x, y, x.numel(), BLOCK=8
    )
    return y


KERNELS = {k[:-7]: v for k, v in list(globals().items()) if k.endswith("_kernel")}


def by_table(x, name="square"):
    y = torch.empty_like(x)
    KERNELS[name][(triton.cdiv(x.numel(), 8),)](x, y, x.numel(), BLOCK=8)
    return y


ZIPPED = dict(zip(["square", "cube"], [square_kernel, cube_kernel], strict=True))


def by_zip(x, name="square"):
    y = torch.empty_like(x)
    ZIPPED.get(name)[(triton.cdiv(x.numel(), 8),)](x, y, x.numel(), BLOCK=8)
    return y


OPS = SimpleNamespace(square=square_kernel, cube=cube_kernel)


def by_namespace(x, name="square"):
    y = torch.empty_like(x)
    getattr(OPS, name)[(triton.cdiv(x.numel(), 8),)](x, y, x.numel(), BLOCK=8)
    return y


CURRENT = contextvars.ContextVar("kernel", default=square_kernel)


def by_context(x, name="square"):
    y = torch.empty_like(x)
    CURRENT.get()[(triton.cdiv(x.numel(), 8),)](x, y, x.numel(), BLOCK=8)
    return y


class Registry:
    items = {}

    @classmethod
    def register(cls, kernel):
        cls.items[kernel.fn.__name__.split("_")[0]] = kernel

    @classmethod
    def get(cls, name):
        return cls.items[name]


for each in [square_kernel, cube_kernel]:
    Registry.register(each)


def by_registry(x, name="square"):
    y = torch.empty_like(x)
    Registry.get(name)[(triton.cdiv(x.numel(), 8),)](x, y, x.numel(), BLOCK=8)
    return y


CHAIN = []
CHAIN.append(square_kernel)


def by_list(x, name="square"):
    y = torch.empty_like(x)
    for kernel in CHAIN:
        kernel[(triton.cdiv(x.numel(), 8),)](x, y, x.numel(), BLOCK=8)
    return y


def hand_on(kernel, grid, *args, **kwargs):
    kernel[grid](*args, **kwargs)


def by_hand(x, name="square"):
    y = torch.empty_like(x)
    hand_on(globals()[f"{name}_kernel"], (triton.cdiv(x.numel(), 8),), x, y, x.numel(), BLOCK=8)
    return y


def by_walrus(x, name="square"):
    y = torch.empty_like(x)
    (kernel := square_kernel)[(triton.cdiv(x.numel(), 8),)](x, y, x.numel(), BLOCK=8)
    return y


def by_default(x, kernel=square_kernel):
    y = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 8),)](x, y, x.numel(), BLOCK=8)
    return y


def make(kernel):
    def launch(x):
        y = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 8),)](x, y, x.numel(), BLOCK=8)
        return y

    return launch


by_factory = make(square_kernel)


def by_bound_grid(x, name="square"):
    y = torch.empty_like(x)
    launch = square_kernel[(triton.cdiv(x.numel(), 8),)]
    launch(x, y, x.numel(), BLOCK=8)
    return y


def by_stars(x, name="square"):
    y = torch.empty_like(x)
    args, options = (x, y, x.numel()), {"BLOCK": 8}
    square_kernel[(triton.cdiv(x.numel(), 8),)](*args, **options)
    return y


def by_nested(x, name="square"):
    y = torch.empty_like(x)

    def go():
        square_kernel[(triton.cdiv(x.numel(), 8),)](x, y, x.numel(), BLOCK=8)

    go()
    return y


async def launch_later(x, y):
    square_kernel[(triton.cdiv(x.numel(), 8),)](x, y, x.numel(), BLOCK=8)


def by_waiting(x):
    y = torch.empty_like(x)
    asyncio.run(launch_later(x, y))
    return y


SCALES = SimpleNamespace(w=torch.full((2, 3), 2.0, dtype=torch.float64))


def by_plain_lookups(x, name="square"):
    y = torch.empty_like(x)
    x = x * getattr(SCALES, "w")[0, 1]
    square_kernel[(triton.cdiv(x.numel(), 8),)](x, y, x.numel(), BLOCK=8)
    return y
