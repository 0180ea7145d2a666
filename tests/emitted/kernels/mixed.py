"""Element types that meet: products, reductions, scans, choices, loops and casts over pointers to different floats."""

import torch
import triton
import triton.language as tl


# tad: x=f32[32, 32], y=f32[32, 32], bias=f32[32], out=f32[32, 32], N=32, grid=(1,)
@triton.jit
def rounded_product(x, y, bias, out, N: tl.constexpr):
    i = tl.arange(0, N)[:, None]
    j = tl.arange(0, N)[None, :]
    a = tl.load(x + i * N + j).to(tl.float16)
    b = tl.load(y + i * N + j).to(tl.float16)
    c = tl.dot(a, b, out_dtype=tl.float16) + tl.load(bias + j)
    tl.store(out + i * N + j, c.to(out.dtype.element_ty))


# tad: x=f32[32, 32], y=f32[32, 32], out=f32[32, 32], N=32, grid=(1,)
@triton.jit
def product_in_the_type_of_the_other(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)[:, None]
    j = tl.arange(0, N)[None, :]
    a = tl.load(x + i * N + j)
    b = tl.load(y + i * N + j)
    p = tl.exp(a.to(tl.float32) * 0.25)
    acc = tl.dot(p.to(b.dtype), b)
    acc = tl.dot(a.to(y.dtype.element_ty), b, acc=acc)
    acc += tl.dot(tl.trans(b), a.to(b.dtype))
    tl.store(out + i * N + j, acc)


# tad: x=f32[32, 32], y=f32[32, 32], out=f32[32, 32], N=32, grid=(1,)
@triton.jit
def product_of_promoted(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)[:, None]
    j = tl.arange(0, N)[None, :]
    a = tl.load(x + i * N + j) * 0.5
    b = tl.load(y + i * N + j)
    sums = a + b
    product = tl.dot(sums, (a * b).to(sums.dtype), input_precision="ieee")
    tl.store(out + i * N + j, product * b)


# tad: x=f32[8, 16], y=f32[8, 16], out=f32[8], M=8, N=16, grid=(1,)
@triton.jit
def reductions_of_each_type(x, y, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    at = i[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(x + at)
    b = tl.load(y + at)
    total = tl.sum(a, axis=1) * tl.max(b, axis=1)
    total += tl.min(a * b, axis=1)
    norm = tl.sqrt(tl.sum(b.to(tl.float32) * b, axis=1) + 1.0)
    tl.store(out + i, total / norm)


# tad: x=f32[8, 16], y=f32[8, 16], out=f32[8, 16], M=8, N=16, grid=(1,)
@triton.jit
def scans_of_each_type(x, y, out, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(x + at)
    b = tl.load(y + at)
    running = tl.cumsum(a, axis=1) * b
    back = tl.cumsum(b.to(tl.float32), axis=1, reverse=True)
    grown = tl.cumprod(1.0 + a.to(tl.float32) * 0.125, axis=1)
    tl.store(out + at, running + back * grown)


# tad: n=13, x=f32[n], y=f32[n], out=f32[n], N=16, grid=(1,)
@triton.jit
def chosen_of_two_types(x, y, out, n, N: tl.constexpr):
    j = tl.arange(0, N)
    mask = j < n
    a = tl.load(x + j, mask=mask, other=0.0)
    b = tl.load(y + j, mask=mask, other=1.0)
    larger = tl.maximum(a, b) * tl.minimum(a, 0.5)
    chosen = tl.where(a > b, a * a, b)
    chosen = tl.where(j % 2 == 0, chosen, 0.0)
    limited = tl.clamp(a.to(tl.float32), -0.5, 0.5)
    tl.store(out + j, larger + chosen + limited + tl.abs(b), mask=mask)


# tad: x=f32[8, 16], out=f32[16], T=8, N=16, grid=(1,)
@triton.jit
def half_carried(x, out, T: tl.constexpr, N: tl.constexpr):
    j = tl.arange(0, N)
    state = tl.zeros([N], dtype=tl.float16)
    for t in range(T):
        a = tl.load(x + t * N + j)
        state = (state * 0.5 + tl.sin(a.to(tl.float32)) * state + a).to(tl.float16)
    tl.store(out + j, state)


# tad: x=f32[8, 16], w=f32[16], out=f32[16], T=8, N=16, grid=(1,)
@triton.jit
def carried_in_the_type_of_memory(x, w, out, T: tl.constexpr, N: tl.constexpr):
    j = tl.arange(0, N)
    weight = tl.load(w + j)
    state = tl.load(x + j)
    for t in range(1, T):
        a = tl.load(x + t * N + j)
        state = (state * weight * a).to(x.dtype.element_ty)
    tl.store(out + j, state.to(out.dtype.element_ty))


# tad: x=f32[8, 16], w=f32[16], out=f32[16], last=f32[16], T=8, N=16, grid=(1,)
@triton.jit
def carried_sum_of_a_constant(x, w, out, last, T: tl.constexpr, N: tl.constexpr):
    j = tl.arange(0, N)
    weight = tl.load(w + j)
    acc = tl.zeros([N], dtype=tl.float32)
    largest = tl.full([N], float("-inf"), dtype=tl.float32)
    for t in range(T):
        a = tl.load(x + t * N + j) * weight
        acc += a
        largest = tl.maximum(largest, a.to(tl.float32))
    tl.store(out + j, acc * weight)
    tl.store(last + j, largest)


# tad: n=13, x=f32[n], index=i32[n], table=f32[8], out=f32[8], N=16, grid=(1,)
@triton.jit
def scattered_by_atomics(x, index, table, out, n, N: tl.constexpr):
    j = tl.arange(0, N)
    a = tl.load(x + j, mask=j < n, other=0.0)
    i = tl.load(index + j, mask=j < n, other=0) % 8
    factor = tl.load(table + i, mask=j < n, other=0.0)
    tl.atomic_add(out + i, (a * factor).to(out.dtype.element_ty), mask=j < n)


# tad: x=f32[16], out=f32[16], ROUND=True, N=16, grid=(1,)
# tad: x=f32[16], out=f32[16], ROUND=False, N=16, grid=(1,)
@triton.jit
def type_by_flag(x, out, ROUND: tl.constexpr, N: tl.constexpr):
    j = tl.arange(0, N)
    a = tl.load(x + j)
    if ROUND:
        b = a.to(tl.bfloat16)
    else:
        b = a.to(tl.float32)
    c = b * b
    tl.store(out + j, c + tl.exp(c.to(tl.float32)))


# tad: x=f32[16], y=f32[16], out=f32[16], KIND=0, N=16, grid=(1,)
# tad: x=f32[16], y=f32[16], out=f32[16], KIND=1, N=16, grid=(1,)
# tad: x=f32[16], y=f32[16], out=f32[16], KIND=2, N=16, grid=(1,)
@triton.jit
def branch_by_constexpr(x, y, out, KIND: tl.constexpr, N: tl.constexpr):
    j = tl.arange(0, N)
    a = tl.load(x + j)
    b = tl.load(y + j)
    if KIND == 0:
        result = a * b
    elif KIND == 1:
        result = a.to(tl.float32) * tl.exp(b.to(tl.float32))
    else:
        result = a
    result *= 2.0
    tl.store(out + j, result)


# tad: n=1, x=f32[16], y=f32[16], out=f32[16], N=16, grid=(1,)
@triton.jit
def branch_at_run_time(x, y, out, n, N: tl.constexpr):
    j = tl.arange(0, N)
    a = tl.load(x + j)
    result = a.to(tl.float32)
    if n > 0:
        b = tl.load(y + j)
        result = (a * b).to(tl.float32) + result * b.to(tl.float32)
    tl.store(out + j, result)


# tad: x=f32[16], out=f32[16], N=16, grid=(1,)
@triton.jit
def cast_there_and_back(x, out, N: tl.constexpr):
    j = tl.arange(0, N)
    a = tl.load(x + j)
    b = a.to(tl.float32).to(tl.float16).to(tl.float32)
    c = tl.cast(b, tl.bfloat16) * tl.cast(a, tl.bfloat16)
    steps = (b * 4.0).to(tl.int32).to(tl.float32)
    tl.store(out + j, c * steps + b * j + j.to(tl.float32) * a)


# tad: x=f32[16], scale=f32[1], out=f32[16], N=16, grid=(1,)
@triton.jit
def named_numbers(x, scale, out, N: tl.constexpr):
    j = tl.arange(0, N)
    half = 0.5
    bare: tl.constexpr = 0.25
    a = tl.load(x + j)
    s = tl.load(scale)
    b = tl.exp(a * half) + tl.sigmoid(half * s - a)
    s *= half
    b += tl.sigmoid(tl.maximum(half, a)) + tl.exp(tl.where(j < 8, a, half))
    tl.store(out + j, b + a * bare * s)


# tad: x=f32[16], scale=f32[1], out=f32[16], factor=0.5, N=16, grid=(1,)
@triton.jit
def scalars_of_each_type(x, scale, out, factor, N: tl.constexpr):
    j = tl.arange(0, N)
    s = tl.load(scale)
    a = tl.load(x + j)
    t = s * factor
    if t > 0:
        t = t * 2
    tl.store(out + j, a * t + s * a * a + tl.exp(s.to(tl.float32)))


# tad: n=5, s=f32[8], x=f32[8], out=f32[1], grid=(1,)
@triton.jit
def scalar_loop(s, x, out, n):
    total = 0.0
    weight = 1.0
    for i in range(n):
        a = tl.load(x + i)
        weight = weight * tl.load(s + i).to(tl.float32)
        total += a * weight
    tl.store(out, total)


# tad: n=5, x=f32[8], out=f32[1], grid=(1,)
@triton.jit
def scalar_carried_as_loaded(x, out, n):
    state = tl.load(x).to(tl.float32)
    i = 1
    while i < n:
        a = tl.load(x + i)
        state = state * a + tl.sigmoid(a.to(tl.float32))
        i += 1
    tl.store(out, state)


# tad: x=f32[2, 32, 32], y=f32[2, 32, 32], out=f32[2, 32, 32], B=2, N=32, grid=(1,)
@triton.jit
def batched_product(x, y, out, B: tl.constexpr, N: tl.constexpr):
    at = (
        tl.arange(0, B)[:, None, None] * N * N
        + tl.arange(0, N)[None, :, None] * N
        + tl.arange(0, N)[None, None, :]
    )
    a = tl.load(x + at)
    b = tl.load(y + at).to(a.dtype)
    tl.store(out + at, tl.dot(a, b) * 0.5)


# tad: q=f32[32, 32], k=f32[32, 32], v=f32[32, 32], out=f32[32, 32], scale=0.25, M=32, N=32, D=32, grid=(1,)
@triton.jit
def attended(q, k, v, out, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    d = tl.arange(0, D)
    queries = tl.load(q + i[:, None] * D + d[None, :])
    queries = (queries * scale).to(k.dtype.element_ty)
    keys = tl.load(k + j[None, :] * D + d[:, None])
    values = tl.load(v + j[:, None] * D + d[None, :])
    scores = tl.dot(queries, keys)
    scores = scores - tl.max(scores, axis=1)[:, None]
    p = tl.exp(scores)
    p /= tl.sum(p, axis=1)[:, None]
    tl.store(out + i[:, None] * D + d[None, :], tl.dot(p.to(v.dtype.element_ty), values))


# tad: q=f32[4, 32], k=f32[32, 32], v=f32[32, 4], out=f32[4, 4], G=4, N=32, D=32, grid=(1,)
@triton.jit
def few_rows(q, k, v, out, G: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    g = tl.arange(0, G)
    j = tl.arange(0, N)
    d = tl.arange(0, D)
    queries = tl.load(q + g[:, None] * D + d[None, :])
    keys = tl.load(k + d[:, None] * N + j[None, :])
    values = tl.load(v + j[:, None] * G + g[None, :])
    scores = tl.dot(queries, keys.to(queries.dtype), input_precision="ieee")
    mixed = tl.dot(scores.to(values.dtype), values, input_precision="ieee")
    tl.store(out + g[:, None] * G + g[None, :], mixed)


def few_rows_of(q, k, v):
    """As many rows as there are queries to a key: fewer than tl.dot sums over."""
    G, D = q.shape
    out = torch.empty((G, G), dtype=q.dtype)
    few_rows[(1,)](q, k, v, out, G=G, N=k.shape[1], D=D)
    return out


# tad: x=f32[4, 32], y=f32[32, 8], out=f32[4, 8], N=32, grid=(1,)
@triton.jit
def product_of_known_few(x, y, out, N: tl.constexpr):
    i = tl.arange(0, 4)
    j = tl.arange(0, 8)
    n = tl.arange(0, N)
    a = tl.load(x + i[:, None] * N + n[None, :])
    b = tl.load(y + n[:, None] * 8 + j[None, :])
    tl.store(out + i[:, None] * 8 + j[None, :], tl.dot(a, b.to(a.dtype)))


# tad: x=f32[2, 4, 32], y=f32[2, 32, 32], out=f32[2, 4, 32], B=2, M=4, N=32, grid=(1,)
@triton.jit
def batch_of_few_rows(x, y, out, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    b = tl.arange(0, B)[:, None, None]
    m = tl.arange(0, M)[None, :, None]
    row = tl.arange(0, N)[None, :, None]
    n = tl.arange(0, N)[None, None, :]
    left = tl.load(x + b * M * N + m * N + n)
    right = tl.load(y + b * N * N + row * N + n).to(left.dtype)
    tl.store(out + b * M * N + m * N + n, tl.dot(left, right, input_precision="ieee"))


def batch_of_few_rows_of(x, y):
    """Rows that the caller's tensor has."""
    B, M, N = x.shape
    out = torch.empty_like(x)
    batch_of_few_rows[(1,)](x, y, out, B=B, M=M, N=N)
    return out


# tad: x=f32[32, 32], y=f32[32, 32], out=f32[32, 32], T=2, N=32, grid=(1,)
@triton.jit
def product_with_rounded_state(x, y, out, T: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)[:, None]
    j = tl.arange(0, N)[None, :]
    a = tl.load(x + i * N + j)
    b = tl.load(y + i * N + j)
    state = tl.zeros([N, N], dtype=tl.float32)
    for _ in range(T):
        state += tl.dot(a, b.to(a.dtype))
        state = tl.dot(state.to(b.dtype), b) * 0.25
    tl.store(out + i * N + j, state)


# tad: x=f32[16], bits=i32[16], out=f32[16], N=16, grid=(1,)
@triton.jit
def integers_and_floats(x, bits, out, N: tl.constexpr):
    j = tl.arange(0, N)
    a = tl.load(x + j)
    n = tl.load(bits + j) & 3
    b = a * n + n.to(a.dtype)
    c = tl.where(n == 1, b, a * (n - 1))
    tl.store(out + j, c / (n + 1) + (a * (j < 8)) - (n > 2).to(tl.float32) * a)


# tad: x=f32[16], y=f32[16], out=f32[32], pair=f32[16, 2], N=16, grid=(1,)
@triton.jit
def joined_types(x, y, out, pair, N: tl.constexpr):
    j = tl.arange(0, N)
    a = tl.load(x + j)
    b = tl.load(y + j).to(a.dtype)
    both = tl.join(a, b)
    low, high = tl.split(both * both)
    tl.store(pair + j[:, None] * 2 + tl.arange(0, 2)[None, :], both * 2.0)
    tl.store(out + tl.arange(0, 2 * N), tl.interleave(low, high * a))


# tad: x=f32[8, 16], y=f32[16], out=f32[8], M=8, N=16, grid=(1,)
@triton.jit
def broadcast_and_expand(x, y, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    a = tl.load(x + i[:, None] * N + j[None, :])
    b = tl.broadcast_to(tl.load(y + j)[None, :], (M, N))
    c = tl.fma(a.to(tl.float32), b.to(tl.float32), 1.0)
    tl.store(out + i, tl.sum(tl.reshape(c, (M, N)) * a, 1))


@triton.jit
def multiply(a, b):
    return a * b


@triton.jit
def compose(a1, h1, a2, h2):
    return a1 * a2, h1 * a2 + h2


# tad: x=f32[8, 16], y=f32[8, 16], out=f32[8, 16], prod=f32[8], M=8, N=16, grid=(1,)
@triton.jit
def combined_by_functions(x, y, out, prod, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    at = i[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(x + at)
    b = tl.load(y + at)
    _, h = tl.associative_scan((a.to(tl.float32), b.to(tl.float32)), 1, compose)
    tl.store(out + at, h)
    tl.store(prod + i, tl.reduce(a, 1, multiply))


# tad: x=f32[8, 16], w=f32[16], out=f32[8, 16], eps=1e-5, M=8, N=16, grid=(1,)
@triton.jit
def normalised(x, w, out, eps, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(x + at)
    weight = tl.load(w + tl.arange(0, N))
    mean = tl.sum(a.to(tl.float32), axis=1) / N
    centred = a - mean[:, None]
    variance = tl.sum(centred * centred, axis=1) / N
    hat = (centred * tl.rsqrt(variance + eps)[:, None]).to(x.dtype.element_ty)
    tl.store(out + at, hat * weight[None, :])


# tad: x=f32[4, 16], y=f32[4, 16], out=f32[4, 16], T=4, N=16, grid=(1,)
@triton.jit
def two_carries_of_two_types(x, y, out, T: tl.constexpr, N: tl.constexpr):
    j = tl.arange(0, N)
    a = tl.load(x + j)
    b = tl.load(y + j)
    for t in range(T):
        tl.store(out + t * N + j, a * b)
        a = (a * tl.load(y + t * N + j)).to(a.dtype)
        b = (b + a).to(b.dtype)


# tad: x=f32[4, 16], out=f32[16], T=4, N=16, grid=(1,)
@triton.jit
def unrolled_promotion(x, out, T: tl.constexpr, N: tl.constexpr):
    j = tl.arange(0, N)
    acc = tl.load(x + j)
    for t in tl.static_range(T):
        acc = acc * tl.load(x + t * N + j)
    acc = acc + 1.5
    tl.store(out + j, acc * acc)


# tad: x=f32[16], out=f32[16], N=16, grid=(1,)
@triton.jit
def powers_and_functions(x, out, N: tl.constexpr):
    j = tl.arange(0, N)
    a = tl.load(x + j)
    b = a.to(tl.float32)
    y = tl.sigmoid(b) * a + tl.log(1.0 + tl.exp(b)) * a
    y += tl.sqrt(tl.abs(b) + 1.0) / (2 + a * a)
    y = y * -a + tl.softmax(b, 0) - tl.floor(b) * a
    tl.store(out + j, y)


@triton.jit
def decayed(a1, h1, a2, h2):
    return a1 * a2, h1 * a2 + h2


# tad: x=f32[16], a=f32[16], out=f32[16], N=16, grid=(1,)
@triton.jit
def scanned_as_loaded(x, a, out, N: tl.constexpr):
    j = tl.arange(0, N)
    decay = tl.load(a + j)
    start = tl.load(x + j) * decay
    _, h = tl.associative_scan((decay, start), 0, decayed)
    tl.store(out + j, h)


# tad: n=1, x=f32[16], y=f32[16], z=f32[16], out=f32[16], N=16, grid=(1,)
@triton.jit
def added_to_in_branches(x, y, z, out, n, N: tl.constexpr):
    j = tl.arange(0, N)
    a = tl.load(x + j)
    b = tl.load(y + j)
    result = (a * b).to(tl.float32)
    if n > 0:
        result += (a * tl.load(z + j)).to(tl.float32)
    else:
        result -= a.to(tl.float32)
    tl.store(out + j, result)


# tad: x=f32[16, 16], y=f32[16, 16], shift=f32[16], out=f32[16, 16], N=16, grid=(1,)
@triton.jit
def product_of_shifted(x, y, shift, out, N: tl.constexpr):
    i = tl.arange(0, N)[:, None]
    j = tl.arange(0, N)[None, :]
    a = tl.load(x + i * N + j)
    b = tl.load(y + i * N + j)
    p = tl.exp(tl.dot(a, b).to(tl.float32) * 0.125 + tl.load(shift + j))
    tl.store(out + i * N + j, tl.dot(p.to(b.dtype), b).to(tl.float32) * 0.5)


# tad: x=f32[16, 16], y=f32[16, 16], out=f32[16, 16], SUMS=True, N=16, grid=(1,)
# tad: x=f32[16, 16], y=f32[16, 16], out=f32[16, 16], SUMS=False, N=16, grid=(1,)
@triton.jit
def product_in_a_branch(x, y, out, SUMS: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(x + at)
    b = tl.load(y + at)
    acc = tl.zeros([N, N], dtype=tl.float32)
    if SUMS:
        for _ in range(2):
            acc += tl.dot(a, b)
    else:
        acc += a.to(tl.float32) * b
    tl.store(out + at, acc * acc)
