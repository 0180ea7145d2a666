"""Floating-point scalars whose launchers read them off tensors: they have gradients, a sum a program that is added up outside."""

import torch
import triton
import triton.language as tl


# tad: n=70, alpha=0.75, limit=0.25, x=f32[n] in uniform(0.1, 2), out=f32[n], BLOCK=32, grid=(3,)
@triton.jit
def reciprocals(x, out, alpha, limit, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.where(a > limit, alpha / a, a / alpha), mask=i < n)


def run_reciprocals(x, alpha, limit):
    out = torch.empty_like(x)
    n = x.numel()
    reciprocals[(triton.cdiv(n, 32),)](x, out, alpha.item(), limit.item(), n, BLOCK=32)
    return out


# tad: m=3, n=50, scale=0.75, x=f32[m, n], out=f32[m, n], BLOCK=16, grid=(m,)
@triton.jit
def online_softmax(x, out, scale, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    scale *= 1.44269504
    high = -float("inf")
    total = 0.0
    for start in range(0, n, BLOCK):
        j = start + tl.arange(0, BLOCK)
        a = tl.load(x + row * n + j, mask=j < n, other=-float("inf")) * scale
        new = tl.maximum(high, tl.max(a, 0))
        total = total * tl.exp2(high - new) + tl.sum(tl.exp2(a - new), 0)
        high = new
    for start in range(0, n, BLOCK):
        j = start + tl.arange(0, BLOCK)
        a = tl.load(x + row * n + j, mask=j < n, other=-float("inf")) * scale
        tl.store(out + row * n + j, tl.exp2(a - high) / total, mask=j < n)


def run_online_softmax(x, temperature: torch.Tensor):
    out = torch.empty_like(x)
    m, n = x.shape
    scale = 1.0 / float(temperature)
    online_softmax[(m,)](x, out, scale, n, BLOCK=16)
    return out


@triton.jit
def leaky(a, slope):
    if slope > 0:
        return tl.where(a > 0, a, a * slope)
    return a


# tad: rows=6, n=50, slope=0.125, beta=0.5, x=f32[rows, n], out=f32[rows, n], BLOCK=64, grid=(3, 2)
@triton.jit
def branches(x, out, slope, beta, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) * 2 + tl.program_id(1)
    if row == 4:
        return
    j = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + j, mask=j < n)
    if row % 2 == 0:
        a = leaky(a, slope)
    else:
        a = a * beta + slope
    tl.store(out + row * n + j, a, mask=j < n)


def run_branches(x, slope, beta):
    out = torch.zeros_like(x)
    rows, n = x.shape
    if torch.is_tensor(slope):
        slope = slope.item()
    beta = beta.item() if isinstance(beta, torch.Tensor) else beta
    branches[(rows // 2, 2)](x, out, slope, beta, n, BLOCK=triton.next_power_of_2(n))
    return out


# tad: steps=9, n=20, decay=0.75, gain=0.5, x=f32[steps, n], out=f32[steps, n], BLOCK=32, grid=(1,)
@triton.jit
def recurrence(x, out, decay, gain, steps, n, BLOCK: tl.constexpr):
    j = tl.arange(0, BLOCK)
    h = tl.zeros([BLOCK], dtype=tl.float32)
    rate = decay
    for t in range(steps):
        a = tl.load(x + t * n + j, mask=j < n, other=0.0)
        h = tl.sin(h * rate) + gain * a
        rate = rate * decay
        tl.store(out + t * n + j, h, mask=j < n)


def run_recurrence(x, decay, gain):
    out = torch.empty_like(x)
    steps, n = x.shape
    recurrence[(1,)](x, out, decay.item() ** 2, 2 * gain.item() + 1, steps, n, BLOCK=32)
    return out


# tad: n=70, ratio=2.5, x=f32[n], out=f32[n], BLOCK=32, grid=(3,)
@triton.jit
def counted(x, out, ratio, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n)
    times = (i * (ratio + 0.25)).to(tl.int32)
    tl.store(out + i, a * times, mask=i < n)


def run_counted(x, ratio):
    out = torch.empty_like(x)
    counted[(triton.cdiv(x.numel(), 32),)](x, out, ratio.item(), x.numel(), BLOCK=32)
    return out


# tad: m=20, n=18, k=24, alpha=0.5, beta=0.25, a=f32[m, k], b=f32[k, n], c=f32[m, n], out=f32[m, n], BLOCK=16, grid=(2, 2)
@triton.jit
def scaled_product(a, b, c, out, alpha, beta, m, n, k, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, k, BLOCK):
        s = start + tl.arange(0, BLOCK)
        left = tl.load(
            a + i[:, None] * k + s[None], mask=(i < m)[:, None] & (s < k)[None], other=0.0
        )
        right = tl.load(
            b + s[:, None] * n + j[None], mask=(s < k)[:, None] & (j < n)[None], other=0.0
        )
        total += tl.dot(left, right)
    mask = (i < m)[:, None] & (j < n)[None]
    place = i[:, None] * n + j[None]
    tl.store(out + place, alpha * total + beta * tl.load(c + place, mask=mask), mask=mask)


def run_scaled_product(a, b, c, weights):
    out = torch.empty_like(c)
    (m, k), n = a.shape, c.shape[1]
    grid = lambda meta: (triton.cdiv(m, meta["BLOCK"]), triton.cdiv(n, meta["BLOCK"]))
    scaled_product[grid](a, b, c, out, weights[0].item(), weights[1].item(), m, n, k, BLOCK=16)
    return out


# tad: n=70, weight=0.25, x=f32[n], out=f32[n], total=f32[1] in zeros, BLOCK=16, grid=(2,)
@triton.jit
def persistent(x, out, total, weight, n, BLOCK: tl.constexpr):
    own = 0.0
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)
        a = tl.load(x + i, mask=i < n, other=0.0)
        b = tl.exp(weight * a)
        tl.store(out + i, b, mask=i < n)
        own += tl.sum(tl.where(i < n, b * weight, 0.0))
    tl.atomic_add(total, own)


def run_persistent(x, weight):
    out, total = torch.empty_like(x), torch.zeros(1, device=x.device, dtype=x.dtype)
    persistent[(2,)](x, out, total, weight.item(), x.numel(), BLOCK=16)
    return out, total


# tad: n=9, rate=0.375, begin=1.5, x=f32[2, n], out=f32[2], grid=(2,)
@triton.jit
def horner(x, out, rate, begin, n):
    row = tl.program_id(0)
    k = 0
    value = begin
    while k < n:
        value = value * rate + tl.load(x + row * n + k)
        k += 1
    tl.store(out + row, value)


def run_horner(x, rate, begin):
    rows, n = x.shape
    out = torch.empty(rows, device=x.device, dtype=x.dtype)
    horner[(rows,)](x, out, rate.item(), begin.item(), n)
    return out


# tad: n=20, splits=2, damping=0.75, x=f32[splits, n], out=f32[n], BLOCK=32, grid=(1,)
@triton.jit
def damped_maxima(x, out, damping, n, splits, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    high = tl.full([BLOCK], -float("inf"), tl.float32)
    for k in range(splits):
        high = tl.maximum(high, tl.load(x + k * n + i, mask=i < n, other=-float("inf")))
    tl.store(out + i, damping * high, mask=i < n)


def run_damped_maxima(x, damping):
    splits, n = x.shape
    out = torch.empty(n, device=x.device, dtype=x.dtype)
    damped_maxima[(triton.cdiv(n, 32),)](x, out, damping.item(), n, splits, BLOCK=32)
    return out


# tad: m=3, n=50, scale=0.75, x=f32[m, n], out=f32[m], BLOCK=64, SCALED=True, grid=(m,)
@triton.jit
def padded_then_scaled(x, out, scale, n, BLOCK: tl.constexpr, SCALED: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + j, mask=j < n, other=-float("inf"))
    if SCALED:
        a = a * scale
    a = tl.where(j < n, a, -float("inf"))
    high = tl.max(a, 0)
    tl.store(out + row, high + tl.log(tl.sum(tl.exp(a - high), 0)))


def run_padded_then_scaled(x, scale):
    m, n = x.shape
    out = torch.empty(m, device=x.device, dtype=x.dtype)
    padded_then_scaled[(m,)](x, out, scale.item(), n, BLOCK=64, SCALED=True)
    return out


# tad: t=40, scale=0.25, q=f32[t, 16], k=f32[t, 16], v=f32[t, 16], out=f32[t, 16], D=16, BLOCK=16, grid=(3,)
@triton.jit
def masked_before_scaled(q, k, v, out, scale, t, D: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    query = tl.load(q + i[:, None] * D + d[None], mask=(i < t)[:, None], other=0.0)
    high = tl.full((BLOCK,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    sums = tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, t, BLOCK):
        j = start + tl.arange(0, BLOCK)
        place = j[:, None] * D + d[None]
        key = tl.load(k + place, mask=(j < t)[:, None], other=0.0)
        value = tl.load(v + place, mask=(j < t)[:, None], other=0.0)
        seen = (i[:, None] >= j[None]) & (j < t)[None]
        scores = tl.where(seen, tl.dot(query, tl.trans(key)), -float("inf")) * scale
        new = tl.maximum(high, tl.max(scores, 1))
        weights = tl.exp(scores - new[:, None])
        total = total * tl.exp(high - new) + tl.sum(weights, 1)
        sums = sums * tl.exp(high - new)[:, None] + tl.dot(weights, value)
        high = new
    tl.store(out + i[:, None] * D + d[None], sums / total[:, None], mask=(i < t)[:, None])


class Attention(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = torch.nn.Parameter(scale)

    def forward(self, q, k, v):
        out = torch.empty_like(q)
        t = q.shape[0]
        masked_before_scaled[(triton.cdiv(t, 16),)](
            q, k, v, out, self.scale.item(), t, D=16, BLOCK=16
        )
        return out
