"""Outputs used twice, hooks, checkpoints, types, layouts and views: what autograd does around a Function."""

# case: {"class": "autograd-corners", "call": "m.double_use(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.three_times(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.one_for_both(x)", "inputs": {"x": [13]}}
# case: {"class": "autograd-corners", "call": "m.one_of_two(x)", "inputs": {"x": [5, 6]}}
# case: {"class": "autograd-corners", "call": "m.both_of_two(x)", "inputs": {"x": [5, 6]}}
# case: {"class": "autograd-corners", "call": "m.through_view(x)", "inputs": {"x": [4, 6]}}
# case: {"class": "autograd-corners", "call": "m.of_slice(x)", "inputs": {"x": [5, 6]}}
# case: {"class": "autograd-corners", "call": "m.expanded_upstream(x)", "inputs": {"x": [5, 6]}}
# case: {"class": "autograd-corners", "call": "m.transposed_upstream(x, w)", "inputs": {"x": [5, 6], "w": [5, 3]}}
# case: {"class": "autograd-corners", "call": "m.strided_upstream(x)", "inputs": {"x": [5, 6]}}
# case: {"class": "autograd-corners", "call": "m.channels_last(x)", "inputs": {"x": [2, 3, 4, 2]}}
# case: {"class": "autograd-corners", "call": "m.channels_last_upstream(x)", "inputs": {"x": [2, 3, 4, 2]}}
# case: {"class": "autograd-corners", "call": "m.complex_view(x)", "inputs": {"x": [12]}}
# case: {"class": "autograd-corners", "call": "m.complex_after(x)", "inputs": {"x": [12]}}
# case: {"class": "autograd-corners", "call": "m.integer_weight(x, k)", "inputs": {"x": [13], "k": {"shape": [13], "dtype": "int64", "low": -3, "high": 3}}}
# case: {"class": "autograd-corners", "call": "m.picked(x, i)", "inputs": {"x": [5, 6], "i": {"shape": [4], "dtype": "int64", "values": [0, 2, 2, 4]}}}
# case: {"class": "autograd-corners", "call": "m.picked_none(x)", "inputs": {"x": [5, 6]}}
# case: {"class": "autograd-corners", "call": "m.empty(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.empty_rows(x)", "inputs": {"x": [5, 6]}}
# case: {"class": "autograd-corners", "call": "m.single(x, w)", "inputs": {"x": [3, 5], "w": [3, 5]}}
# case: {"class": "autograd-corners", "call": "m.scalar_like(x)", "inputs": {"x": [6]}}
# case: {"class": "autograd-corners", "call": "m.checkpointed(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.checkpointed_old(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.checkpointed_norm(x)", "inputs": {"x": [5, 6]}}
# case: {"class": "autograd-corners", "call": "m.hooked(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.hooked_in_place(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.saved_hooks(x)", "inputs": {"x": [5, 6]}}
# case: {"class": "autograd-corners", "call": "m.saved_numpy(x)", "inputs": {"x": [5, 6]}}
# case: {"class": "autograd-corners", "call": "m.saved_later(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.grown(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.grown_twice(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.grown_view(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.grown_after_use(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.grown_sin(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.grown_chunks(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.grown_by_self(x)", "inputs": {"x": [13]}}
# case: {"class": "autograd-corners", "call": "m.in_loop(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.in_loop_stacked(x)", "inputs": {"x": [3, 6]}}
# case: {"class": "autograd-corners", "call": "m.in_comprehension(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.unbound(x)", "inputs": {"x": [3, 7]}}
# case: {"class": "autograd-corners", "call": "m.split_uneven(x)", "inputs": {"x": [5, 6]}}
# case: {"class": "autograd-corners", "call": "m.stacked(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.narrow_dtype(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.half_weight(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.mixed(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.autocasted(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.parametrized(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.where(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.index_put(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.out_of_inplace_op(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.mul_in_place(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.copied_into(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.non_leaf(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.same_storage(x)", "inputs": {"x": [13]}}
# case: {"class": "autograd-corners", "call": "m.overlapping(x)", "inputs": {"x": [13]}}
# case: {"class": "autograd-corners", "call": "m.flipped(x)", "inputs": {"x": [13]}}
# case: {"class": "autograd-corners", "call": "m.permuted(x)", "inputs": {"x": [5, 6]}}
# case: {"class": "autograd-corners", "call": "m.unfolded(x)", "inputs": {"x": [12]}}
# case: {"class": "autograd-corners", "call": "m.unfolded_view(x)", "inputs": {"x": [12]}}
# case: {"class": "autograd-corners", "call": "m.expanded_in(x)", "inputs": {"x": [1, 6]}}
# case: {"class": "autograd-corners", "call": "m.padded(x)", "inputs": {"x": [5, 6]}}
# case: {"class": "autograd-corners", "call": "m.wide(x)", "inputs": {"x": [5, 6]}}
# case: {"class": "autograd-corners", "call": "m.as_strided(x)", "inputs": {"x": [14]}}
# case: {"class": "autograd-corners", "call": "m.real_parts(x)", "inputs": {"x": [9]}}
# case: {"class": "autograd-corners", "call": "m.real_views(x)", "inputs": {"x": [4, 5]}}
# case: {"class": "autograd-corners", "call": "m.retained(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.many_outputs(x)", "inputs": {"x": [5, 6]}}
# case: {"class": "autograd-corners", "call": "m.list_of_outputs(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.detached_weight(x, w)", "inputs": {"x": [13], "w": {"shape": [13], "grad": false}}}
# case: {"class": "autograd-corners", "call": "m.scale(x, w)", "inputs": {"x": [13], "w": {"shape": [13], "grad": false}}}
# case: {"class": "autograd-corners", "call": "m.scale(x, w)", "inputs": {"x": {"shape": [13], "grad": false}, "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.enable_inside(x, w)", "inputs": {"x": [13], "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.double_use(x, w)", "inputs": {"x": [13], "w": [13]}, "second": true}
# case: {"class": "autograd-corners", "call": "m.norm(x)", "inputs": {"x": [5, 6]}, "second": true}
# case: {"class": "autograd-corners", "call": "m.scale(x, w)", "inputs": {"x": {"shape": [13], "dtype": "float32"}, "w": {"shape": [13], "dtype": "float32"}}, "wide": true}
# case: {"class": "autograd-corners", "call": "m.norm(x)", "inputs": {"x": {"shape": [5, 6], "dtype": "float32"}}, "wide": true}
# case: {"class": "autograd-corners", "call": "m.norm(x)", "inputs": {"x": {"shape": [5, 6], "dtype": "float16"}}, "wide": true}
# case: {"class": "autograd-corners", "call": "m.norm(x)", "inputs": {"x": {"shape": [5, 6], "dtype": "bfloat16"}}, "wide": true}
# case: {"class": "autograd-corners", "call": "m.scale(x, w)", "inputs": {"x": {"shape": [13], "dtype": "float32"}, "w": [13]}}
# case: {"class": "autograd-corners", "call": "m.scale(x, w)", "inputs": {"x": [13], "w": {"shape": [13], "dtype": "float16"}}}

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(y, x, w, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n, other=0.0)
    b = tl.load(w + at, mask=at < n, other=0.0)
    tl.store(y + at, tl.sin(a) * b, mask=at < n)


def scale(x, w):
    y = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 8),)](y, x, w, x.numel(), BLOCK=8)
    return y


@triton.jit
def norm_kernel(y, rstd, x, d, sx, sy, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    a = tl.load(x + row * sx + at, mask=at < d, other=0.0)
    r = 1 / tl.sqrt(tl.sum(a * a) / d + 0.1)
    tl.store(rstd + row, r)
    tl.store(y + row * sy + at, a * r, mask=at < d)


def norm(x):
    y = torch.empty_like(x)
    rstd = torch.empty(x.shape[0], dtype=x.dtype)
    norm_kernel[(x.shape[0],)](y, rstd, x, x.shape[1], x.stride(0), y.stride(0), BLOCK=16)
    return y, rstd


@triton.jit
def pick_kernel(y, x, index, d, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    a = tl.load(x + tl.load(index + row) * d + at, mask=at < d, other=0.0)
    tl.store(y + row * d + at, a * a, mask=at < d)


def pick(x, index):
    y = torch.empty(index.numel(), x.shape[1], dtype=x.dtype)
    pick_kernel[(index.numel(),)](y, x, index, x.shape[1], BLOCK=16)
    return y


@triton.jit
def grow_kernel(x, w, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n)
    tl.store(x + at, a * tl.load(w + at, mask=at < n), mask=at < n)


def grow(x, w):
    grow_kernel[(triton.cdiv(x.numel(), 8),)](x, w, x.numel(), BLOCK=8)
    return x


def double_use(x, w):
    y = scale(x, w)
    return y * y + scale(y, w)


def three_times(x, w):
    y = scale(x, w)
    return torch.stack([y, y.flip(0), scale(y, y)])


def one_for_both(x):
    return scale(x, x)


def one_of_two(x):
    return norm(x)[1]


def both_of_two(x):
    y, r = norm(x)
    return y.sum(1) * r


def through_view(x):
    return norm(x.view(-1, 3))[0].view(x.shape)


def of_slice(x):
    return norm(x[1:, 1:4])[0]


def expanded_upstream(x):
    return norm(x)[0].sum().expand(3)


def transposed_upstream(x, w):
    return (norm(x)[0].t() @ w).t()


def strided_upstream(x):
    return norm(x)[0][:, ::2].repeat(1, 2)


def channels_last(x):
    x = x.contiguous(memory_format=torch.channels_last)
    return scale(x, torch.full_like(x, 2.0))


def channels_last_upstream(x):
    y = scale(x, torch.ones_like(x) * 3)
    return y.contiguous(memory_format=torch.channels_last).sum(2)


def complex_view(x):
    z = torch.view_as_complex(x.view(-1, 2))
    return scale(torch.view_as_real(z * (1 + 2j)).reshape(-1), x)


def complex_after(x):
    return torch.view_as_complex(scale(x, x).view(-1, 2)).abs()


def detached_weight(x, w):
    return scale(x, w.detach())


def detached_twice(x, w):
    y = scale(x, w)
    return y * y.detach()


def no_grad_inside(x, w):
    with torch.no_grad():
        s = scale(x, w)
    return scale(x, s)


def enable_inside(x, w):
    with torch.no_grad(), torch.enable_grad():
        y = scale(x, w)
    return y * 2


def integer_weight(x, k):
    return scale(x, k.to(x.dtype))


def picked(x, i):
    return pick(x, i) * 3


def picked_none(x):
    return torch.cat([pick(x, torch.empty(0, dtype=torch.int64)).sum(0), x.sum(0)])


def empty(x, w):
    return torch.cat([scale(x[:0], w[:0]), x * w])


def empty_rows(x):
    return norm(x[:0])[0].sum(0) + x.sum(0)


def single(x, w):
    return scale(x[0], w[0])


def scalar_like(x):
    s = x.mean().reshape(1)
    return scale(s, s) * x


def checkpointed(x, w):
    import torch.utils.checkpoint as c

    return c.checkpoint(scale, x, w, use_reentrant=False)


def checkpointed_old(x, w):
    import torch.utils.checkpoint as c

    return c.checkpoint(double_use, x, w, use_reentrant=True)


def checkpointed_norm(x):
    import torch.utils.checkpoint as c

    y, r = c.checkpoint(norm, x, use_reentrant=False)
    return y * r[:, None]


def hooked(x, w):
    y = scale(x, w)
    if y.requires_grad:
        y.register_hook(lambda g: g * 1.0)
    return y


def hooked_in_place(x, w):
    y = scale(x, w)
    if y.requires_grad:
        y.register_hook(lambda g: None)
    return y + 1


def saved_hooks(x):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t + 0):
        return norm(x)[0]


def saved_numpy(x):
    def pack(t):
        return t.detach().numpy().copy()

    with torch.autograd.graph.saved_tensors_hooks(pack, torch.from_numpy):
        return norm(x.t())[0]


def saved_later(x, w):
    y = x * 1
    z = scale(y, w)
    return z + y


def grown(x, w):
    return grow(x.clone(), w)


def grown_twice(x, w):
    y = x.clone()
    grow(y, w)
    return grow(y, w)


def grown_view(x, w):
    y = x.clone()
    grow(y[3:8], w[:5])
    return y


def grown_after_use(x, w):
    y = x * 2
    z = y.sum()
    grow(y, w)
    return y * z


def grown_sin(x, w):
    y = x.clone()
    z = y.sin()
    grow(y, w)
    return y + z


def grown_chunks(x, w):
    y = x.clone()
    for part, other in zip(y.chunk(3), w.chunk(3), strict=True):
        grow(part, other)
    return y


def grown_by_self(x):
    y = x.clone()
    return grow(y, y)


def in_loop(x, w):
    for _ in range(3):
        x = scale(x, w)
    return x


def in_loop_stacked(x):
    return torch.stack([norm(row[None])[0][0] for row in x])


def in_comprehension(x, w):
    return sum(scale(x * k, w) for k in (1.0, 2.0, 3.0))


def unbound(x):
    a, b, c = x.unbind(0)
    return scale(a, b) + scale(b, c)


def split_uneven(x):
    a, b = x.split([2, 3])
    return torch.cat([norm(a)[0], norm(b)[0]])


def stacked(x, w):
    return torch.stack([x, w]).pipe(scale) if False else scale(*torch.stack([x, w]).unbind())


def narrow_dtype(x, w):
    return scale(x.float(), w.float()).double()


def half_weight(x, w):
    return scale(x, w.half().double())


def mixed(x, w):
    return scale(x, w.float())


def autocasted(x, w):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return scale(x, w)


def parametrized(x, w):
    layer = torch.nn.Linear(1, 1)
    layer.extra = w
    return scale(x, layer.extra)


def where(x, w):
    return torch.where(x > 0, scale(x, w), x)


def index_put(x, w):
    y = torch.zeros_like(x)
    y[2:6] = scale(x, w)[2:6]
    return y


def out_of_inplace_op(x, w):
    y = scale(x, w)
    y += x
    return y


def mul_in_place(x, w):
    y = scale(x, w)
    y.mul_(x)
    return y


def copied_into(x, w):
    y = torch.zeros(2, x.numel(), dtype=x.dtype)
    y[1].copy_(scale(x, w))
    return y


def non_leaf(x, w):
    return scale(x * 2 + 1, w.exp())


def same_storage(x):
    return scale(x[:5], x[5:10])


def overlapping(x):
    return scale(x[:6], x[2:8])


def flipped(x):
    return scale(x.flip(0), x)


def permuted(x):
    return norm(x.permute(1, 0))[0].permute(1, 0)


def unfolded(x):
    return norm(x.unfold(0, 4, 2).contiguous())[0]


def unfolded_view(x):
    return norm(x.unfold(0, 4, 2))[0]


def expanded_in(x):
    return norm(x.expand(3, -1))[0]


def padded(x):
    return norm(torch.nn.functional.pad(x, (1, 2)))[0]


def wide(x):
    big = torch.zeros(x.shape[0], 2 * x.shape[1], dtype=x.dtype)
    big[:, : x.shape[1]] = x
    return norm(big[:, : x.shape[1]])[0]


def as_strided(x):
    return norm(x.as_strided((3, 3), (4, 1), 1))[0]


def real_parts(x):
    z = torch.complex(x, x * 2)
    return scale(z.real.contiguous(), z.imag.contiguous())


def real_views(x):
    z = torch.complex(x, x * 2)
    return norm(z.real)[0]


def none_for_gradient(x, w):
    y = scale(x, w)
    return y.detach() + 0 * y


def retained(x, w):
    y = scale(x, w)
    if y.requires_grad:
        y.retain_grad()
    return scale(y, w)


def many_outputs(x):
    return norm(x)


def list_of_outputs(x, w):
    return [scale(x, w), {"a": x}["a"] * 2]
