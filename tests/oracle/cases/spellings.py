"""Launchers in spellings that nobody here had tried: flags, None, loops, classes, buffers, options."""

# case: {"class": "spellings", "call": "m.flag_by_sign(x, -1)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.alpha_default(x, 0.5)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.bias_or_self(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.bias_none(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.bias_dummy(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.bias_same(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.out_is_x(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.second_dropped(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.both_in_one(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.both_swapped(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.chain(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.ping_pong_fresh(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.bumped(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.bumped_while(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.bumped_if(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.bumped_parts(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.bumped_rows(x)", "inputs": {"x": [3, 5]}}
# case: {"class": "spellings", "call": "m.bumped_reshaped(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.bumped_used_before(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.accumulated(x, b)", "inputs": {"x": [13], "b": [13]}}
# case: {"class": "spellings", "call": "m.products(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.zipped(x, b)", "inputs": {"x": [3, 7], "b": [3, 7]}}
# case: {"class": "spellings", "call": "m.recursive(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.by_options(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.by_cached_block(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.in_manager(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.in_try(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.early(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.lambda_grid(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.shadowed(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.returned_in_tuple(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.contiguous_first(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.alpha_of_tensor(x, a)", "inputs": {"x": [13], "a": {"shape": [1]}}}
# case: {"class": "spellings", "call": "m.half_of_it(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.kept_half(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.full_like(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.into_slice(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.into_list(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.into_attribute(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.numel_of_other(x, b)", "inputs": {"x": [13], "b": [9]}}
# case: {"class": "spellings", "call": "m.unused_output(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.alpha_default(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.alpha_or(x, 0)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.alpha_or(x, 2.5)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.bias_or_self(x, b)", "inputs": {"x": [13], "b": [13]}}
# case: {"class": "spellings", "call": "m.bias_none(x, b)", "inputs": {"x": [13], "b": [13]}}
# case: {"class": "spellings", "call": "m.bias_dummy(x, b)", "inputs": {"x": [13], "b": [13]}}
# case: {"class": "spellings", "call": "m.out_given(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.out_given(x, torch.zeros(13, dtype=x.dtype))", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.by_dict({'a': x, 'b': b})", "inputs": {"x": [13], "b": [13]}}
# case: {"class": "spellings", "call": "m.Layer(b)(x)", "inputs": {"x": [13], "b": [13]}}
# case: {"class": "spellings", "call": "m.Layer.plain(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.Layer.of_class(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.Layer(b).squared", "inputs": {"b": [13]}}
# case: {"class": "spellings", "call": "m.Layer(b).__call_twice__(x)", "inputs": {"x": [13], "b": [13]}}
# case: {"class": "spellings", "call": "m.Sub(b)(x)", "inputs": {"x": [13], "b": [13]}}
# case: {"class": "spellings", "call": "m.Cached()(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "(lambda f: f(x) + f(x * 2))(m.Cached())", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.by_options(x, m.Options(0.3, True, 4))", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.by_options(x, m.Options(neg=True))", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.bumped_if(x, False)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.both_swapped(x, False)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.recursive(x, 0)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.recursive(x, 4)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.output_of_other_dtype(x)", "inputs": {"x": {"shape": [13], "dtype": "float32"}}, "wide": true}
# case: {"class": "spellings", "call": "m.input_cast(x)", "inputs": {"x": {"shape": [13], "dtype": "float32"}}, "wide": true}
# case: {"class": "spellings", "call": "m.early(x[:0]).sum() + m.early(x)", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.chain(x.view(1, 13, 1))", "inputs": {"x": [13]}}
# case: {"class": "spellings", "call": "m.contiguous_first(x.t())", "inputs": {"x": [3, 5]}}

import contextlib
import dataclasses
import functools
import itertools
import torch
import triton
import triton.language as tl


@triton.jit
def act_kernel(y, x, n, alpha, NEG: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n, other=0.0)
    if NEG:
        a = -a
    tl.store(y + at, tl.sin(a) * alpha, mask=at < n)


@triton.jit
def add_kernel(y, x, b, n, HAS_BIAS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n, other=0.0)
    if HAS_BIAS:
        a = a * tl.load(b + at, mask=at < n, other=0.0)
    tl.store(y + at, a * a, mask=at < n)


@triton.jit
def two_kernel(y, z, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(y + at, a * a, mask=at < n)
    tl.store(z + at, tl.cos(a), mask=at < n)


@triton.jit
def bump_kernel(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(x + at, a * a + 1.0, mask=at < n)


def G(x, b=8):
    return (triton.cdiv(x.numel(), b),)


def flag_by_sign(x, s):
    y = torch.empty_like(x)
    act_kernel[G(x)](y, x, x.numel(), 2.0, NEG=s < 0, BLOCK=8)
    return y


def alpha_default(x, alpha=None):
    y = torch.empty_like(x)
    act_kernel[G(x)](y, x, x.numel(), 1.0 if alpha is None else alpha, NEG=False, BLOCK=8)
    return y


def alpha_or(x, alpha=None):
    y = torch.empty_like(x)
    act_kernel[G(x)](y, x, x.numel(), alpha or 3.0, NEG=True, BLOCK=8)
    return y


def bias_or_self(x, b=None):
    y = torch.empty_like(x)
    add_kernel[G(x)](y, x, b if b is not None else x, x.numel(), HAS_BIAS=b is not None, BLOCK=8)
    return y


def bias_none(x, b=None):
    y = torch.empty_like(x)
    add_kernel[G(x)](y, x, b, x.numel(), HAS_BIAS=b is not None, BLOCK=8)
    return y


def bias_dummy(x, b=None):
    y = torch.empty_like(x)
    if b is None:
        b = x.new_empty(0)
    add_kernel[G(x)](y, x, b, x.numel(), HAS_BIAS=b.numel() > 0, BLOCK=8)
    return y


def bias_same(x):
    y = torch.empty_like(x)
    add_kernel[G(x)](y, x, x, x.numel(), HAS_BIAS=True, BLOCK=8)
    return y


def out_given(x, out=None):
    out = torch.empty_like(x) if out is None else out
    act_kernel[G(x)](out, x, x.numel(), 1.5, NEG=False, BLOCK=8)
    return out


def out_is_x(x):
    return out_given(x * 1, None) + out_given(x)


def second_dropped(x):
    y, z = torch.empty_like(x), torch.empty_like(x)
    two_kernel[G(x)](y, z, x, x.numel(), BLOCK=8)
    return z


def first_scaled(x):
    y, z = torch.empty_like(x), torch.empty_like(x)
    two_kernel[G(x)](y, z, x, x.numel(), BLOCK=8)
    return y * z.detach() + z


def both_in_one(x):
    out = torch.empty(2, x.numel(), dtype=x.dtype)
    two_kernel[G(x)](out[0], out[1], x, x.numel(), BLOCK=8)
    return out


def both_swapped(x, swap=True):
    y, z = torch.empty_like(x), torch.empty_like(x)
    a, b = (z, y) if swap else (y, z)
    two_kernel[G(x)](a, b, x, x.numel(), BLOCK=8)
    return y


def chain(x):
    for neg in (False, True, False):
        y = torch.empty_like(x)
        act_kernel[G(x)](y, x, x.numel(), 0.7, NEG=neg, BLOCK=8)
        x = y
    return x


def ping_pong_fresh(x):
    for _ in range(4):
        b = torch.empty_like(x)
        act_kernel[G(x)](b, x, x.numel(), 1.1, NEG=False, BLOCK=8)
        x, b = b, None
    return x


def bumped(x):
    y = x.clone()
    for _ in range(2):
        bump_kernel[G(y)](y, y.numel(), BLOCK=8)
    return y


def bumped_while(x):
    y, k = x.clone(), 0
    while k < 2:
        bump_kernel[G(y)](y, y.numel(), BLOCK=8)
        k += 1
    return y


def bumped_if(x, many=True):
    y = x.clone()
    bump_kernel[G(y)](y, y.numel(), BLOCK=8)
    if many:
        bump_kernel[G(y)](y, y.numel(), BLOCK=8)
    return y


def bumped_parts(x):
    y = x.clone()
    for part in (y[:4], y[4:]):
        bump_kernel[G(part)](part, part.numel(), BLOCK=8)
    return y


def bumped_rows(x):
    y = x.clone()
    for row in y:
        bump_kernel[G(row)](row, row.numel(), BLOCK=8)
    return y


def bumped_reshaped(x):
    y = x.clone()
    z = y.view(-1)
    bump_kernel[G(z)](z, z.numel(), BLOCK=8)
    return y


def bumped_used_before(x):
    y = x * 2
    w = y * y
    bump_kernel[G(y)](y, y.numel(), BLOCK=8)
    return w + y


def bumped_data(x):
    y = x.clone()
    bump_kernel[G(y)](y.data, y.numel(), BLOCK=8)
    return y


def bumped_detached(x):
    y = x.clone()
    bump_kernel[G(y)](y.detach(), y.numel(), BLOCK=8)
    return y


def accumulated(x, b):
    total = torch.zeros_like(x)
    for k in range(3):
        y = torch.empty_like(x)
        add_kernel[G(x)](y, x, b, x.numel(), HAS_BIAS=k % 2 == 0, BLOCK=8)
        total = total + y * k
    return total


def products(x):
    outs = []
    for neg, alpha in itertools.product((False, True), (1.0, 2.0)):
        y = torch.empty_like(x)
        act_kernel[G(x)](y, x, x.numel(), alpha, NEG=neg, BLOCK=8)
        outs.append(y)
    return torch.stack(outs)


def zipped(x, b):
    outs = [torch.empty_like(p) for p in x]
    for o, p, q in zip(outs, x, b, strict=True):
        add_kernel[G(p)](o, p, q, p.numel(), HAS_BIAS=True, BLOCK=8)
    return torch.stack(outs)


def by_dict(xs):
    outs = {k: torch.empty_like(v) for k, v in xs.items()}
    for k in xs:
        act_kernel[G(xs[k])](outs[k], xs[k], xs[k].numel(), 1.0, NEG=False, BLOCK=8)
    return outs


def recursive(x, depth=2):
    if depth == 0:
        return x
    y = torch.empty_like(x)
    act_kernel[G(x)](y, x, x.numel(), 1.0, NEG=False, BLOCK=8)
    return recursive(y, depth - 1)


@dataclasses.dataclass
class Options:
    alpha: float = 2.0
    neg: bool = False
    block: int = 8


def by_options(x, o=Options()):
    y = torch.empty_like(x)
    act_kernel[G(x, o.block)](y, x, x.numel(), o.alpha, NEG=o.neg, BLOCK=o.block)
    return y


class Layer(torch.nn.Module):
    ALPHA = 0.5

    def __init__(self, w):
        super().__init__()
        self.w = w

    def forward(self, x):
        y = torch.empty_like(x)
        add_kernel[G(x)](y, x, self.w, x.numel(), HAS_BIAS=True, BLOCK=8)
        return y

    @staticmethod
    def plain(x):
        y = torch.empty_like(x)
        act_kernel[G(x)](y, x, x.numel(), Layer.ALPHA, NEG=False, BLOCK=8)
        return y

    @classmethod
    def of_class(cls, x):
        y = torch.empty_like(x)
        act_kernel[G(x)](y, x, x.numel(), cls.ALPHA, NEG=True, BLOCK=8)
        return y

    @property
    def squared(self):
        y = torch.empty_like(self.w)
        add_kernel[G(y)](y, self.w, None, y.numel(), HAS_BIAS=False, BLOCK=8)
        return y

    def __call_twice__(self, x):
        return self.forward(self.forward(x))


class Sub(Layer):
    def forward(self, x):
        return super().forward(x) * 2


class Cached:
    def __init__(self):
        self.buffers = {}

    def __call__(self, x):
        key = x.shape
        if key not in self.buffers:
            self.buffers[key] = torch.empty_like(x)
        y = self.buffers[key]
        act_kernel[G(x)](y, x, x.numel(), 1.0, NEG=False, BLOCK=8)
        return y


@functools.lru_cache
def block_of(n):
    return 8 if n < 100 else 16


def by_cached_block(x):
    y, b = torch.empty_like(x), block_of(x.numel())
    act_kernel[G(x, b)](y, x, x.numel(), 1.0, NEG=False, BLOCK=b)
    return y


@contextlib.contextmanager
def scaled(x):
    yield x * 2


def in_manager(x):
    with scaled(x) as z:
        y = torch.empty_like(z)
        act_kernel[G(z)](y, z, z.numel(), 1.0, NEG=False, BLOCK=8)
    return y


def in_try(x):
    y = torch.empty_like(x)
    try:
        act_kernel[G(x)](y, x, x.numel(), 1.0, NEG=False, BLOCK=8)
    except ValueError:
        return x
    return y


def early(x):
    if x.numel() == 0:
        return x
    y = torch.empty_like(x)
    act_kernel[G(x)](y, x, x.numel(), 1.0, NEG=False, BLOCK=8)
    return y


def lambda_grid(x):
    y = torch.empty_like(x)
    n = x.numel()
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)  # noqa: E731
    n = n - 0
    act_kernel[grid](y, x, n, 1.0, NEG=False, BLOCK=8)
    return y


def shadowed(x):
    y = torch.empty_like(x)
    act_kernel[G(x)](y, x, x.numel(), 1.0, NEG=False, BLOCK=8)
    x = y
    y = torch.empty_like(x)
    act_kernel[G(x)](y, x, x.numel(), 1.0, NEG=True, BLOCK=8)
    return x + y


def returned_in_tuple(x):
    y = torch.empty_like(x)
    act_kernel[G(x)](y, x, x.numel(), 1.0, NEG=False, BLOCK=8)
    return x, y, None


def contiguous_first(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    act_kernel[G(x)](y, x, x.numel(), 1.0, NEG=False, BLOCK=8)
    return y.view_as(x)


def output_of_other_dtype(x):
    y = torch.empty(x.shape, dtype=torch.float32)
    act_kernel[G(x)](y, x, x.numel(), 1.0, NEG=False, BLOCK=8)
    return y


def input_cast(x):
    z = x.to(torch.float32)
    y = torch.empty_like(z)
    act_kernel[G(z)](y, z, z.numel(), 1.0, NEG=False, BLOCK=8)
    return y.to(x.dtype)


def alpha_of_tensor(x, a):
    y = torch.empty_like(x)
    act_kernel[G(x)](y, x, x.numel(), a.item(), NEG=False, BLOCK=8)
    return y


def half_of_it(x):
    y = torch.zeros_like(x)
    n = x.numel() // 2
    act_kernel[G(x)](y, x, n, 1.0, NEG=False, BLOCK=8)
    return y


def kept_half(x):
    y = x.clone()
    n = x.numel() // 2
    act_kernel[G(x)](y, x, n, 1.0, NEG=False, BLOCK=8)
    return y


def full_like(x):
    y = torch.full_like(x, 3.0)
    act_kernel[(1,)](y, x, 5, 1.0, NEG=False, BLOCK=8)
    return y


def into_slice(x):
    y = torch.zeros(3 * x.numel(), dtype=x.dtype)
    z = y[x.numel() : 2 * x.numel()]
    act_kernel[G(x)](z, x, x.numel(), 1.0, NEG=False, BLOCK=8)
    return y


def into_list(x):
    outs = [torch.empty_like(x) for _ in range(2)]
    act_kernel[G(x)](outs[-1], x, x.numel(), 1.0, NEG=False, BLOCK=8)
    act_kernel[G(x)](outs[0], outs[1], x.numel(), 1.0, NEG=False, BLOCK=8)
    return outs[0]


def into_attribute(x):
    o = Options()
    o.y = torch.empty_like(x)
    act_kernel[G(x)](o.y, x, x.numel(), 1.0, NEG=False, BLOCK=8)
    return o.y


def numel_of_other(x, b):
    y = torch.zeros_like(x)
    add_kernel[G(b)](y, x, b, b.numel(), HAS_BIAS=True, BLOCK=8)
    return y


def unused_output(x):
    y, z = torch.empty_like(x), torch.empty_like(x)
    act_kernel[G(x)](y, x, x.numel(), 1.0, NEG=False, BLOCK=8)
    act_kernel[G(x)](z, x, x.numel(), 5.0, NEG=True, BLOCK=8)
    return y
