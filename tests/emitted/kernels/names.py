"""Variables that are assigned again, in branches, loops and swaps: the emitted text may use a name again only where nobody reads it."""

import triton
import triton.language as tl


# tad: n=11, x=f32[n], y=f32[n], out=f32[n], steps=3, BLOCK=16, grid=(1,)
@triton.jit
def swapped_in_a_loop(x, y, out, n, steps, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.load(y + i, mask=i < n, other=0.0)
    for _ in range(steps):
        a, b = b * 0.5 + a, a * b
    tl.store(out + i, a - b, mask=i < n)


# tad: n=11, x=f32[n], y=f32[n], out=f32[n], which=1, BLOCK=16, grid=(1,)
@triton.jit
def swapped_in_a_branch(x, y, out, n, which, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.load(y + i, mask=i < n, other=0.0)
    if which > 0:
        a, b = b, a * a
    else:
        b = a * b
    tl.store(out + i, a * tl.exp(b), mask=i < n)


# tad: n=11, x=f32[n], out=f32[n], p=1, q=0, BLOCK=16, grid=(1,)
@triton.jit
def branches_in_branches(x, out, n, p, q, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    keep = a
    if p > 0:
        a = a * a
        if q > 0:
            a = tl.sin(a)
        elif p > 1:
            a = a + keep
        else:
            a = a * keep + 1.0
        a = a * 2.0
    tl.store(out + i, a * keep, mask=i < n)


# tad: n=11, x=f32[4, n], out=f32[4, n], TWICE=True, BLOCK=16, grid=(4,)
@triton.jit
def parameters_move(x, out, n, TWICE: tl.constexpr, BLOCK: tl.constexpr):
    x += tl.program_id(0) * n
    out += tl.program_id(0) * n
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    v = v * v
    if TWICE:
        v = v + tl.load(x + i, mask=i < n, other=0.0)
        v = tl.exp(v)
    i = i + 0
    tl.store(out + i, v, mask=i < n)


# tad: n=3, d=6, x=f32[n, d], out=f32[d], BLOCK=8, grid=(1,)
@triton.jit
def carried_and_kept(x, out, n, d, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    h = tl.load(x + i, mask=i < d, other=0.0)
    first = h
    for t in range(1, n):
        v = tl.load(x + t * d + i, mask=i < d, other=0.0)
        g = tl.sigmoid(v)
        if t > 1:
            h = h * g + v
            h = tl.where(v > 0, h, h * 0.5)
        else:
            v = v * h
            h = v + g
    tl.store(out + i, h * first, mask=i < d)


# tad: n=9, x=f32[n], out=f32[n], steps=4, BLOCK=16, grid=(1,)
@triton.jit
def while_with_two(x, out, n, steps, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = a * 0.5
    k = 0
    while k < steps:
        k += 1
        a, b = a + b, a * 0.25
        b = b * b
    tl.store(out + i, a + b, mask=i < n)


# tad: L=3, x=f32[4], z=f32[L, 4], y=f32[L, 4], sums=f32[1], B=4, grid=(1,)
@triton.jit
def gradients_side_by_side(x, z, y, sums, L, B: tl.constexpr):
    """The state's gradient and the sum that `v` gets are both `dv`, in one loop."""
    c = tl.arange(0, B)
    v = tl.load(x + c)
    state = tl.zeros([B], tl.float32)
    for i in range(L):
        tl.store(y + i * B + c, tl.load(z + i * B + c))
        state = 0.5 * state + v
    tl.store(sums, tl.sum(state, axis=0))


# tad: n=20, normalized_input_pointer=f32[n], scale_pointer=f32[n], scaled_output_pointer=f32[n], inverse_scale_pointer=f32[n], logarithm_of_scale_pointer=f32[n], BLOCK=8, grid=(3,)
@triton.jit
def outputs_that_fill_a_line(
    normalized_input_pointer,
    scale_pointer,
    scaled_output_pointer,
    inverse_scale_pointer,
    logarithm_of_scale_pointer,
    n,
    BLOCK: tl.constexpr,
):
    """What asks whether any of three upstream gradients is there takes several lines."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(normalized_input_pointer + i, mask=i < n)
    scale = tl.exp(tl.load(scale_pointer + i, mask=i < n))
    tl.store(scaled_output_pointer + i, x * scale, mask=i < n)
    tl.store(inverse_scale_pointer + i, 1.0 / scale, mask=i < n)
    tl.store(logarithm_of_scale_pointer + i, tl.log(scale), mask=i < n)


# tad: n=20, x_pointer=f32[n], first_pointer=f32[n], second_pointer=f32[n], third_pointer=f32[n], BLOCK=8, grid=(3,)
@triton.jit
def outputs_of_a_line(
    x_pointer, first_pointer, second_pointer, third_pointer, n, BLOCK: tl.constexpr
):
    """The question takes several lines, the gradients that it is about fit into one."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_pointer + i, mask=i < n)
    tl.store(first_pointer + i, tl.sin(x), mask=i < n)
    tl.store(second_pointer + i, tl.cos(x), mask=i < n)
    tl.store(third_pointer + i, x * x, mask=i < n)


# tad: T=32, D=32, B=16, C=16, q=f32[T, D], k=f32[T, D], g=f32[T, D], b=f32[T], m=f32[T, B], w=f32[T, D], u=f32[T, D], MORE=1, grid=(2,)
@triton.jit
def sums_of_two_shapes(
    q, k, g, b, m, w, u, T, D, B: tl.constexpr, C: tl.constexpr, MORE: tl.constexpr
):
    """A sum of tiles and one of their rows: where a flag leaves out the second, it is not the first that goes on under its name."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    factor = tl.load(b + rows)
    mix = tl.load(m + rows[:, None] * B + tl.arange(0, B)[None, :])
    for start in range(0, D, C):
        at = rows[:, None] * D + (start + tl.arange(0, C))[None, :]
        scaled = tl.load(k + at) * factor[:, None]
        gate = tl.load(g + at)
        scaled *= tl.exp2(gate)
        if MORE:
            tl.store(u + at, tl.load(q + at) * tl.exp2(gate))
        tl.store(w + at, tl.dot(mix, scaled))
