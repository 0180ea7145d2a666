# ruff: noqa: E501
"""The rows of the kernels in bench/gpu/style/arrivals.py and arrivals_more.py: laid out as CASES in bench/gpu/peers.py, timed in the same way.

for f in arrivals arrivals_more; do tad-lsp --backward bench/gpu/style/$f.py -o DIR/${f}_backward.py; done
python bench/gpu/arrivals_cases.py DIR [--only TEXT,...] [--warm K/N]
"""

import math

import peers
import torch
import torch.nn.functional as F
from peers import BF, DEVICE, HALF, SINGLE, exact, ids, planes, rand


def uniform(*shape):
    return torch.rand(*shape, device=DEVICE)


def dyt(x, alpha, w, b):
    return (torch.tanh(alpha * x) * w + b).to(x.dtype)


def adaln_gate(x, h, mod):
    gate, shift, scale = mod.unsqueeze(2).unbind(1)
    s = x + gate * h
    return s, F.layer_norm(s, s.shape[-1:], eps=1e-6) * (1 + scale) + shift


def convnext_tail(x, h, gamma):
    return x + (gamma * h).permute(0, 3, 1, 2)


def gem_pool(x, p):
    return exact(x).clamp(min=1e-6).pow(p).mean((2, 3)).pow(1 / p)


def squash(x, eps=1e-8):
    v = exact(x)
    n2 = v.square().sum(-1, keepdim=True)
    return (v * (n2 / (1 + n2) * torch.rsqrt(n2 + eps))).to(x.dtype)


def boxes(m, n):
    def some():
        corner = uniform(m * n, 2)
        return torch.cat((corner, corner + 0.05 + 0.5 * uniform(m * n, 2)), 1)

    return [some(), some()]


def area(sides):
    return sides[:, 0] * sides[:, 1]


def giou(a, b, eps=1e-7):
    inter = area((torch.minimum(a[:, 2:], b[:, 2:]) - torch.maximum(a[:, :2], b[:, :2])).clamp(min=0))
    hull = area(torch.maximum(a[:, 2:], b[:, 2:]) - torch.minimum(a[:, :2], b[:, :2]))
    union = area(a[:, 2:] - a[:, :2]) + area(b[:, 2:] - b[:, :2]) - inter
    return 1 - (inter / (union + eps) - (hull - union) / (hull + eps))


def tversky(x, labels, alpha=0.3, beta=0.7, smooth=1.0):
    p = exact(x).softmax(1).flatten(2)
    there = F.one_hot(labels.flatten(1), x.shape[1]).mT.to(p.dtype)
    right, predicted, real = (p * there).sum(2), p.sum(2), there.sum(2)
    index = (right + smooth) / (right + alpha * (predicted - right) + beta * (real - right) + smooth)
    return 1 - index.mean(1)


def extended(m, n):
    """So many utterances of n labels with blanks between them, 1024 tokens."""
    ext = torch.zeros(m, 2 * n + 1, device=DEVICE, dtype=torch.long)
    ext[:, 1::2] = torch.randint(1, 1024, (m, n), device=DEVICE)
    return [rand(m, 2 * n + 1, dtype=SINGLE), rand(m, 1024, dtype=SINGLE).log_softmax(-1), ext]


def ctc_step(alpha, logp, ext):
    step = F.pad(alpha[:, :-1], (1, 0), value=-1e30)
    skip = F.pad((ext[:, 2:] != 0) & (ext[:, 2:] != ext[:, :-2]), (2, 0))
    jump = F.pad(alpha[:, :-2], (2, 0)).masked_fill(~skip, -1e30)
    return torch.stack((alpha, step, jump)).logsumexp(0) + logp.gather(1, ext)


def rank_pairs(s, rel):
    better = rel[:, :, None] > rel[:, None]
    loss = F.softplus(s[:, None] - s[:, :, None])
    return torch.where(better, loss, 0.0).sum((1, 2)) / better.sum((1, 2)).clamp(min=1)


def sincos_encoding(x, levels=10):
    angle = x[:, None] * (2 ** torch.arange(levels, device=x.device))[:, None]
    return torch.cat((x, torch.stack((angle.sin(), angle.cos()), 2).flatten(1)), 1)


def xpos(q, cos, sin, scale):
    even, odd = exact(q)[..., ::2], exact(q)[..., 1::2]
    c, s = (cos * scale)[:, None], (sin * scale)[:, None]
    return torch.stack((even * c - odd * s, odd * c + even * s), -1).flatten(-2).to(q.dtype)


def xpos_inputs(m, n):
    angle = uniform(m, n // 2) * 6
    return [rand(2, m, 16, n), angle.cos(), angle.sin(), uniform(m, n // 2) + 0.5]


def mrope_inputs(m, n):
    freq = 10000.0 ** (-torch.arange(0, n, 2, device=DEVICE) / n)
    return [rand(2, 16, m, n), torch.randint(0, 512, (3, 2, m), device=DEVICE), freq]


def mrope(x, positions, freq):
    half = x.shape[-1] // 2
    first = half // 4
    second = (half - first) // 2
    parts = zip(positions, freq.split((first, second, half - first - second)), strict=True)
    angle = torch.cat([p[:, None, :, None] * f for p, f in parts], -1)
    a, b = exact(x).chunk(2, -1)
    c, s = angle.cos(), angle.sin()
    return torch.cat((a * c - b * s, b * c + a * s), -1).to(x.dtype)


def highway(x, proj):
    h, t = proj.chunk(2, 1)
    t = torch.sigmoid(t)
    return t * F.relu(h) + (1 - t) * x


def mean_max_channels(x):
    return torch.stack((x.mean(1), x.amax(1)), 1)


def buckets(m, n):
    """Of each distance, 32 in all: near ones have their own, far ones share."""
    far = torch.arange(1 - n, n, device=DEVICE)
    size = far.abs()
    shared = 8 + (torch.log(size.clamp(min=1) / 8 + 1e-4) / math.log(16) * 8).long()
    bucket = torch.where(size < 8, size, shared.clamp(max=15)) + 16 * (far > 0)
    return [rand(2, m, n, n), bucket, rand(32, m, dtype=SINGLE)]


def t5_bias(s, bucket, table):
    Q, K = s.shape[-2:]
    far = torch.arange(K, device=s.device) - torch.arange(Q, device=s.device)[:, None]
    return (s + F.embedding(bucket[far + Q - 1], table).permute(2, 0, 1)).to(s.dtype)


def crops(m, n):
    place = torch.randint(0, 32, (2, m), device=DEVICE)
    return [rand(m, 3, n + 32, n + 32), place[0], place[1], torch.randint(0, 2, (m,), device=DEVICE)]


def random_crop(x, top, left, flip, size):
    to = torch.arange(size, device=x.device)
    rows = top[:, None] + to
    cols = left[:, None] + torch.where(flip[:, None] != 0, size - 1 - to, to)
    N, C, _, W = x.shape
    x = x.gather(2, rows[:, None, :, None].expand(N, C, size, W))
    return x.gather(3, cols[:, None, None].expand(N, C, size, size))


def bicubic_width(x):
    return F.interpolate(x, size=(x.shape[2], 2 * x.shape[3]), mode="bicubic")


def mulaw(x, mu=255.0):
    return torch.sign(x) * torch.log1p(mu * x.abs()) / math.log1p(mu)


def quantized(m, n):
    q = torch.randint(-128, 128, (m, n), device=DEVICE, dtype=torch.int8)
    return [q, rand(m, n // 128), rand(m, n // 128)]


def int8_dequant(q, scale, zero):
    groups = q.view(*scale.shape, -1).to(scale.dtype if scale.dtype == torch.float64 else SINGLE)
    return ((groups - zero[..., None]) * scale[..., None]).view(q.shape).to(scale.dtype)


def rollout(m, n):
    return [rand(m, n, dtype=SINGLE), rand(m + 1, n, dtype=SINGLE), (uniform(m, n) > 0.98).float()]


def gae(reward, value, done, gamma=0.99, lam=0.95):
    """From the end, steps of one, two, four, ... places."""
    go = 1 - done
    adv, a, step = reward + gamma * value[1:] * go - value[:-1], gamma * lam * go, 1
    while step < len(reward):
        adv = adv + a * F.pad(adv[step:], (0, 0, 0, step))
        a, step = a * F.pad(a[step:], (0, 0, 0, step)), 2 * step
    return adv


def retention_inputs(m, n):
    return [rand(2, m, n, n), torch.log2(1 - 2.0 ** (-5 - torch.arange(m, device=DEVICE)))]


def retention_decay(s, log2_gamma, scale):
    T = s.shape[-1]
    at = torch.arange(T, device=s.device)
    far = at[:, None] - at
    decay = torch.exp2(far.clamp(min=0) * log2_gamma[:, None, None]) * (far >= 0)
    return (exact(s) * (scale * decay)).to(s.dtype)


def min_gru(x):
    """Steps of one, two, four, ... places."""
    k, v = exact(x).chunk(2, -1)
    z = torch.sigmoid(k)
    h, a, step = z * torch.where(v >= 0, v + 0.5, torch.sigmoid(v)), 1 - z, 1
    while step < x.shape[1]:
        h = h + a * F.pad(h[:, :-step], (0, 0, step, 0))
        a, step = a * F.pad(a[:, :-step], (0, 0, step, 0)), 2 * step
    return h.to(x.dtype)


def degrees(nodes):
    """Where each node's edges begin: 16 of a node on average, some have none."""
    return torch.cat((torch.zeros(1, device=DEVICE, dtype=torch.long), torch.randint(0, 33, (nodes,), device=DEVICE).cumsum(0)))


def owners(offsets, edges):
    return torch.searchsorted(offsets, torch.arange(edges, device=offsets.device), right=True) - 1


def edge_scores(m, n):
    offsets = degrees(m)
    return [rand(int(offsets[-1]), n, dtype=SINGLE), offsets]


def segment_softmax(s, offsets):
    node, nodes = owners(offsets, len(s)), len(offsets) - 1
    top = s.new_full((nodes, s.shape[1]), -torch.inf)
    top = top.scatter_reduce(0, node[:, None].expand_as(s), s.detach(), "amax")
    e = torch.exp(s - top[node])
    return e / s.new_zeros(nodes, s.shape[1]).index_add(0, node, e)[node]


def sparse(m, n):
    offsets = degrees(m)
    edges = int(offsets[-1])
    return [offsets, torch.randint(0, m, (edges,), device=DEVICE), rand(edges, dtype=SINGLE), rand(m, n, dtype=SINGLE)]


def spmm_rows(offsets, col, val, x):
    return x.new_zeros(len(offsets) - 1, x.shape[1]).index_add(0, owners(offsets, len(col)), val[:, None] * x[col])


def lennard_jones(pos, soft=0.5, cutoff=4.0):
    r2 = (pos[:, :, None] - pos[:, None]).square().sum(-1) + soft
    u = (1 / r2) ** 3
    pair = ~torch.eye(pos.shape[1], device=pos.device, dtype=torch.bool) & (r2 < cutoff * cutoff)
    return 0.5 * torch.where(pair, 4 * (u * u - u), 0.0).sum(-1)


def fft_stage(re, im, half):
    M, N = re.shape
    angle = torch.arange(half, device=re.device, dtype=re.dtype) * (-math.pi / half)
    wr, wi = angle.cos(), angle.sin()
    (ar, br), (ai, bi) = (t.view(M, N // (2 * half), 2, half).unbind(2) for t in (re, im))
    tr, ti = br * wr - bi * wi, br * wi + bi * wr
    return torch.stack((ar + tr, ar - tr), 2).view(M, N), torch.stack((ai + ti, ai - ti), 2).view(M, N)


def lifting53(x):
    even, odd = exact(x)[:, ::2], exact(x)[:, 1::2]
    high = odd - 0.5 * (even + torch.cat((even[:, 1:], even[:, -1:]), 1))
    low = even + 0.25 * (high + torch.cat((high[:, :1], high[:, :-1]), 1))
    return low.to(x.dtype), high.to(x.dtype)


def color_jitter(x, bright, sat):
    v = exact(x) * bright[:, None, None, None]
    gray = (0.299 * v[:, 0] + 0.587 * v[:, 1] + 0.114 * v[:, 2])[:, None]
    return (gray + sat[:, None, None, None] * (v - gray)).clamp(0, 1).to(x.dtype)


def layer_composite(x):
    """What is left before a layer is the product of the earlier ones' sigmoid(-x)."""
    logit = x[:, :, 3:]
    left = torch.exp(F.pad(F.logsigmoid(-logit[:, :-1]).cumsum(1), (0, 0, 0, 0, 0, 0, 1, 0)))
    return (torch.sigmoid(logit) * left * x[:, :, :3]).sum(1)


def mae_inputs(m, n):
    order = uniform(m, 196).argsort(1)
    return [rand(m, 49, n), rand(n), rand(196, n), order]


def mae_restore(x, token, pos, order):
    B, V, D = x.shape
    full = torch.cat((x, token.expand(B, order.shape[1] - V, D)), 1)
    return full.gather(1, order[..., None].expand(-1, -1, D)) + pos


def weight_standardize(w, gain, eps=1e-4):
    var, mean = torch.var_mean(w, (1, 2, 3), keepdim=True, unbiased=False)
    return (w - mean) * (torch.rsqrt((var * w[0].numel()).clamp(min=eps)) * gain[:, None, None, None])


def grn(x, gamma, beta):
    v = exact(x)
    g = torch.linalg.vector_norm(v, dim=(1, 2), keepdim=True)
    return (gamma * (v * (g / (g.mean(-1, keepdim=True) + 1e-6))) + beta + v).to(x.dtype)


def arcface_ce(cosine, labels, s=32.0, m=0.5):
    c = exact(cosine)
    own = c.gather(1, labels[:, None])
    phi = own * math.cos(m) - torch.sqrt((1 - own * own).clamp(min=1e-7)) * math.sin(m)
    return F.cross_entropy(s * c.scatter(1, labels[:, None], phi), labels, reduction="none")


def mdn_nll(params, y):
    logit, mu, log_sigma = exact(params).chunk(3, -1)
    z = (y[:, None] - mu) * torch.exp(-log_sigma)
    parts = logit.log_softmax(-1) - 0.5 * z.square() - log_sigma - 0.5 * math.log(2 * math.pi)
    return -parts.logsumexp(-1)


def token_logprob(x, labels, temperature):
    logp = (exact(x) / temperature).log_softmax(-1)
    return logp.gather(1, labels[:, None])[:, 0], -(logp.exp() * logp).sum(-1)


peers.DRAWN["spatial_dropout"] = lambda x, p, seed: F.dropout2d(x, p)

# as CASES of bench/gpu/peers.py
ARRIVALS = [
    ("arrivals", "dyt", lambda m, n: [rand(m, n), uniform(1), rand(n), rand(n)], None, "1111", dyt, (37, 700), (16384, 4096)),
    ("arrivals", "adaln_gate", lambda m, n: [rand(32, m, n), rand(32, m, n), rand(32, 3, n)], None, "111", adaln_gate, (13, 300), (1024, 1152)),
    ("arrivals", "convnext_tail", lambda m, n: [rand(m, 192, n, n), rand(m, n, n, 192), rand(192)], None, "111", convnext_tail, (3, 17), (64, 56)),
    ("arrivals", "pool_time", lambda m, n: [rand(16, m, n, dtype=SINGLE)], None, "1", lambda x: F.max_pool1d(x, 4, 2), (7, 301), (256, 8192)),
    ("arrivals", "gem_pool", lambda m, n: [uniform(m, 256, n, n).to(BF), 2 + uniform(1)], None, "11", gem_pool, (2, 17), (64, 56)),
    ("arrivals", "squash", lambda m, n: [rand(m, n, 16, dtype=SINGLE)], None, "1", squash, (7, 50), (1024, 1152)),
    ("arrivals", "spatial_dropout", lambda m, n: [planes(m, n)], [0.2, 1234], "1", None, (3, 17), (64, 112)),
    ("arrivals", "giou", boxes, None, "10", giou, (3, 999), (4, 1048576)),
    ("arrivals", "tversky", lambda m, n: [rand(m, 19, n, n), torch.randint(0, 19, (m, n, n), device=DEVICE)], None, "10", tversky, (3, 33), (8, 512)),
    ("arrivals", "ctc_step", extended, None, "110", ctc_step, (37, 60), (16384, 255)),
    ("arrivals", "rank_pairs", lambda m, n: [rand(m, n, dtype=SINGLE), torch.randint(0, 5, (m, n), device=DEVICE)], None, "10", rank_pairs, (37, 50), (8192, 100)),
    ("arrivals", "sincos_encoding", lambda m, n: [uniform(m * n, 3) * 2 - 1], None, "1", sincos_encoding, (3, 300), (4096, 192)),
    ("arrivals", "xpos", xpos_inputs, None, "1000", xpos, (37, 64), (4096, 128)),
    ("arrivals", "mrope", mrope_inputs, None, "100", mrope, (37, 128), (4096, 128)),
    ("arrivals", "highway", lambda m, n: [rand(m, n), rand(m, 2 * n)], None, "11", highway, (37, 300), (16384, 2048)),
    ("arrivals", "mean_max_channels", lambda m, n: [rand(m, 128, n, n, dtype=SINGLE)], None, "1", mean_max_channels, (3, 17), (32, 64)),
    ("arrivals", "t5_bias", buckets, None, "101", t5_bias, (3, 150), (16, 1024)),
    ("arrivals", "axial_position", lambda m, n: [rand(m, n, n, 384), rand(n, 384), rand(n, 384)], None, "111", lambda x, r, c: x + r[:, None] + c, (3, 17), (32, 64)),
    ("arrivals", "random_crop", lambda m, n: [*crops(m, n)], [224], "1000", random_crop, (2, 224), (128, 224)),
    ("arrivals", "bicubic_width", lambda m, n: [rand(m, 32, n, n, dtype=SINGLE)], None, "1", bicubic_width, (1, 17), (16, 128)),
    ("arrivals_more", "mulaw", lambda m, n: [uniform(m, n) * 2 - 1], None, "1", mulaw, (37, 700), (512, 65536)),
    ("arrivals_more", "int8_dequant", quantized, None, "011", int8_dequant, (37, 512), (8192, 8192)),
    ("arrivals_more", "gae", rollout, None, "110", gae, (37, 200), (128, 65536)),
    ("arrivals_more", "retention_decay", retention_inputs, [0.125], "10", retention_decay, (3, 150), (16, 1024)),
    ("arrivals_more", "min_gru", lambda m, n: [rand(8, m, 2 * n)], None, "1", min_gru, (150, 50), (2048, 1024)),
    ("arrivals_more", "segment_softmax", edge_scores, None, "10", segment_softmax, (99, 8), (131072, 8)),
    ("arrivals_more", "spmm_rows", sparse, None, "0011", spmm_rows, (50, 60), (32768, 128)),
    ("arrivals_more", "lennard_jones", lambda m, n: [rand(m, n, 3, dtype=SINGLE) * n ** (1 / 3)], None, "1", lennard_jones, (3, 99), (256, 256)),
    ("arrivals_more", "fft_stage", lambda m, n: [rand(m, n, dtype=SINGLE), rand(m, n, dtype=SINGLE)], [64], "11", fft_stage, (37, 512), (8192, 2048)),
    ("arrivals_more", "lifting53", lambda m, n: [rand(m, n, dtype=HALF)], None, "1", lifting53, (37, 1500), (8192, 8192)),
    ("arrivals_more", "color_jitter", lambda m, n: [uniform(m, 3, n, n).to(HALF), uniform(m) + 0.5, uniform(m) + 0.5], None, "111", color_jitter, (5, 70), (256, 224)),
    ("arrivals_more", "layer_composite", lambda m, n: [rand(m, 32, 4, n, n, dtype=SINGLE)], None, "1", layer_composite, (2, 33), (4, 256)),
    ("arrivals_more", "grid_bilinear", lambda m, n: [rand(m, 32, n, n, dtype=SINGLE), uniform(m, n, n, 2) * 2.2 - 1.1], None, "11", lambda x, g: F.grid_sample(x, g, align_corners=False), (2, 19), (16, 128)),
    ("arrivals_more", "cat_broadcast", lambda m, n: [rand(32, m, n), rand(32, n // 4)], None, "11", lambda x, c: torch.cat((x, c[:, None].expand(-1, x.shape[1], -1)), -1), (13, 300), (2048, 1024)),
    ("arrivals_more", "mae_restore", mae_inputs, None, "1110", mae_restore, (3, 300), (256, 512)),
    ("arrivals_more", "weight_standardize", lambda m, n: [rand(m, n, 3, 3, dtype=SINGLE), rand(m, dtype=SINGLE)], None, "11", weight_standardize, (37, 150), (4096, 512)),
    ("arrivals_more", "grn", lambda m, n: [rand(m, n, n, 384), rand(384), rand(384)], None, "111", grn, (3, 9), (128, 28)),
    ("arrivals_more", "arcface_ce", lambda m, n: [(uniform(m, n) * 1.8 - 0.9).to(BF), ids(m, n)], None, "10", arcface_ce, (37, 9000), (4096, 32768)),
    ("arrivals_more", "mdn_nll", lambda m, n: [rand(m * n, 48, dtype=SINGLE) / 2, rand(m * n, dtype=SINGLE)], None, "10", mdn_nll, (3, 99), (256, 2048)),
    ("arrivals_more", "token_logprob", lambda m, n: [rand(m, n), ids(m, n)], [0.8], "10", token_logprob, (37, 9000), (4096, 32000)),
]


if __name__ == "__main__":
    peers.CASES[:] = ARRIVALS
    peers.main()
