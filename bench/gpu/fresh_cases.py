# ruff: noqa: E501
"""The rows of the kernels in bench/gpu/style/fresh.py: laid out as CASES in bench/gpu/peers.py, timed in the same way.

tad-lsp --backward bench/gpu/style/fresh.py -o DIR/fresh_backward.py
python bench/gpu/fresh_cases.py DIR [--only TEXT,...] [--warm K/N]
"""

import math

import peers
import torch
import torch.nn.functional as F
from peers import BF, DEVICE, HALF, SINGLE, exact, ids, last_planes, of, planes, rand


def uniform(*shape):
    return torch.rand(*shape, device=DEVICE)


def wavenet_gate(x, cond):
    a, g = (exact(x) + exact(cond)).chunk(2, 1)
    return (torch.tanh(a) * torch.sigmoid(g)).to(x.dtype)


def xielu(x, alpha_p, alpha_n, beta=0.5, eps=-1e-6):
    v = exact(x)
    right = F.softplus(exact(alpha_p)) * v * v + beta * v
    left = (torch.expm1(v.clamp(max=eps)) - v) * (beta + F.softplus(exact(alpha_n))) + beta * v
    return torch.where(v > 0, right, left).to(x.dtype)


def acon(x, p1, p2, beta):
    d = (p1 - p2) * x
    return d * torch.sigmoid(beta * d) + p2 * x


def sandwich_rms(h, r, w, eps=1e-6):
    v = exact(h)
    return (exact(r) + v * torch.rsqrt(v.square().mean(-1, keepdim=True) + eps) * (1.0 + exact(w))).to(h.dtype)


def qk_norm_rope(x, w, cos, sin, eps=1e-6):
    v = exact(x)
    a, b = (v * torch.rsqrt(v.square().mean(-1, keepdim=True) + eps) * exact(w)).chunk(2, -1)
    cos, sin = cos[:, None], sin[:, None]
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1).to(x.dtype)


def clip_norm_rows(g, max_norm):
    return g * (max_norm / (g.norm(dim=-1, keepdim=True) + 1e-6)).clamp(max=1.0)


def multi_margin(x, target, margin):
    v = exact(x)
    miss = F.relu(margin - v.gather(1, target[:, None]) + v)
    return miss.scatter(1, target[:, None], 0.0).sum(-1) / x.shape[1]


def dice_planes(x, mask, smooth=1.0):
    p, t = torch.sigmoid(exact(x)), mask.to(exact(x).dtype)
    return 1 - (2 * (p * t).sum((2, 3)) + smooth) / (p.sum((2, 3)) + t.sum((2, 3)) + smooth)


def gaussian_nll(mu, logvar, t):
    return (0.5 * (logvar + (t - mu).square() * torch.exp(-logvar))).mean()


def ppo_clip(logp, old, adv, mask, low=0.2, high=0.28):
    ratio = torch.exp(logp - old)
    loss = -torch.minimum(ratio * adv, ratio.clamp(1 - low, 1 + high) * adv)
    return torch.where(mask != 0, loss, 0.0)


def ppo_inputs(m, n):
    """Policies a little apart, advantages, and which tokens are of an answer."""
    old = rand(m, n, dtype=SINGLE) - 3
    return [old + 0.3 * rand(m, n, dtype=SINGLE), old, rand(m, n, dtype=SINGLE), (uniform(m, n) > 0.2).to(torch.int8)]


def policy_entropy(x):
    logp = exact(x).log_softmax(-1)
    return -(logp.exp() * logp).sum(-1)


def gumbel_softmax(x, u, tau):
    return ((x - torch.log(-torch.log(u + 1e-10) + 1e-10)) / tau).softmax(-1)


def sink_softmax(scores, sink, scale):
    B, H, Q, K = scores.shape
    at = torch.arange(K, device=scores.device)
    s = (exact(scores) * scale).masked_fill(at > at[:Q, None] + K - Q, -torch.inf)
    return torch.cat((s, exact(sink)[:, None, None].expand(B, H, Q, 1)), -1).softmax(-1)[..., :-1].to(scores.dtype)


def lse_pool(x, sharpness=4.0):
    return ((exact(x) * sharpness).logsumexp(1) - math.log(x.shape[1])) / sharpness


def statistics_pool(x, lengths, eps=1e-5):
    v = exact(x)
    live = (torch.arange(x.shape[2], device=x.device) < lengths[:, None])[:, None]
    mean = torch.where(live, v, 0.0).sum(-1) / lengths[:, None]
    square = torch.where(live, v - mean[..., None], 0.0).square().sum(-1) / lengths[:, None]
    return torch.cat((mean, torch.sqrt(square + eps)), 1).to(x.dtype)


def stream_mix(x, h, mix, beta):
    return (torch.einsum("ij,mjd->mid", mix, exact(x)) + beta[:, None] * exact(h)[:, None]).to(x.dtype)


def cross_layer(x0, x, w, b):
    v = exact(x)
    return (exact(x0) * (v * exact(w)).sum(-1, keepdim=True) + exact(b) + v).to(x.dtype)


def merge_states(oa, la, ob, lb):
    lse = torch.logaddexp(la, lb)
    o = exact(oa) * torch.exp(la - lse)[..., None] + exact(ob) * torch.exp(lb - lse)[..., None]
    return o.to(oa.dtype), lse


def blend_over(fg, bg):
    return torch.lerp(bg, fg[:, :3], fg[:, 3:].expand_as(bg))


def haar2d(x):
    p, q, r, s = x[..., ::2, ::2], x[..., ::2, 1::2], x[..., 1::2, ::2], x[..., 1::2, 1::2]
    return 0.5 * torch.cat((p + q + r + s, p + q - r - s, p - q + r - s, p - q - r + s), 1)


def fir_valid(x, taps):
    return F.conv1d(x[:, None], taps.flip(0)[None, None])[:, 0]


def log_magnitude(spec, gain=10.0, eps=1e-8):
    return torch.log1p(gain * torch.sqrt(spec.square().sum(-1) + eps))


def gated_scan(x, gate):
    """Steps of one, two, four, ... places."""
    f = torch.sigmoid(gate)
    h, step = (1 - f) * x, 1
    while step < x.shape[1]:
        h = h + f * F.pad(h[:, :-step], (step, 0))
        f = f * F.pad(f[:, :-step], (step, 0))
        step *= 2
    return h


def causal_mean(x):
    v = exact(x)
    return (v.cumsum(1) / torch.arange(1, x.shape[1] + 1, device=x.device, dtype=v.dtype)[:, None]).to(x.dtype)


def radial_basis(dist, centers, gamma=10.0, cutoff=5.0):
    envelope = torch.where(dist < cutoff, 0.5 * (torch.cos(dist * (math.pi / cutoff)) + 1), 0.0)
    return torch.exp(-gamma * (dist[:, None] - centers).square()) * envelope[:, None]


def pair_distances(p, q, eps=1e-12):
    return torch.sqrt((p[:, :, None] - q[:, None]).square().sum(-1) + eps)


def to_channels_last(x, mean, std):
    return ((exact(x) - mean[:, None, None]) / std[:, None, None]).to(x.dtype).permute(0, 2, 3, 1).contiguous()


def bags(m, n):
    """Items of m bags, some of them empty, where a bag begins, the items' weights, and the table."""
    lengths = torch.randint(0, 32, (m,), device=DEVICE)
    offsets = F.pad(lengths.cumsum(0), (1, 0))
    total = int(offsets[-1])
    return [ids(total, 3 * m), offsets, uniform(total), rand(3 * m, n, dtype=SINGLE)]


def ragged_bag(items, offsets, weights, table):
    bag = torch.searchsorted(offsets, torch.arange(len(items), device=items.device), right=True) - 1
    total = table.new_zeros(len(offsets) - 1, table.shape[1]).index_add(0, bag, weights[:, None] * table[items])
    return total / offsets.diff().clamp(min=1)[:, None]


# as CASES of bench/gpu/peers.py
FRESH = [
    ("fresh", "wavenet_gate", lambda m, n: [rand(m, 192, n, dtype=HALF), rand(m, 192, n, dtype=HALF)], None, "11", wavenet_gate, (3, 517), (16, 16384)),
    ("fresh", "xielu", lambda m, n: [rand(m, n), rand(1, dtype=SINGLE), rand(1, dtype=SINGLE)], None, "111", xielu, (37, 701), (16384, 8192)),
    ("fresh", "acon", lambda m, n: [last_planes(m, n), rand(96), rand(96), rand(96)], None, "1111", acon, (3, 17), (64, 112)),
    ("fresh", "sandwich_rms", lambda m, n: [rand(m, n), rand(m, n), rand(n)], None, "111", sandwich_rms, (601, 701), (16384, 4096)),
    ("fresh", "qk_norm_rope", lambda m, n: [rand(m, n, 128), rand(128), rand(m, 64, dtype=SINGLE), rand(m, 64, dtype=SINGLE)], None, "1100", qk_norm_rope, (37, 19), (16384, 32)),
    ("fresh", "clip_norm_rows", of(SINGLE), [50.0], "1", clip_norm_rows, (37, 2501), (16384, 4096)),
    ("fresh", "multi_margin", lambda m, n: [rand(m, n, dtype=HALF), ids(m, n)], [0.97], "10", multi_margin, (37, 5001), (8192, 16384)),
    ("fresh", "dice_planes", lambda m, n: [planes(m, n), (uniform(m, 64, n, n) > 0.7).to(torch.int8)], None, "10", dice_planes, (3, 57), (64, 128)),
    ("fresh", "gaussian_nll", of(SINGLE, 3), None, "110", gaussian_nll, (1501, 701), (4096, 8192)),
    ("fresh", "ppo_clip", ppo_inputs, None, "1000", ppo_clip, (37, 701), (4096, 8192)),
    ("fresh", "policy_entropy", of(BF), None, "1", policy_entropy, (37, 5001), (4096, 32000)),
    ("fresh", "gumbel_softmax", lambda m, n: [rand(m, n, dtype=SINGLE), uniform(m, n)], [0.7], "10", gumbel_softmax, (37, 101), (131072, 320)),
    ("fresh", "sink_softmax", lambda m, n: [rand(m, 16, n, n), rand(16)], [0.125], "11", sink_softmax, (2, 71), (4, 1024)),
    ("fresh", "lse_pool", lambda m, n: [rand(16 if n < 999 else 64, m, n)], None, "1", lse_pool, (71, 151), (1024, 1024)),
    ("fresh", "statistics_pool", lambda m, n: [rand(m, 385, n, dtype=HALF), torch.randint(n // 2, n + 1, (m,), device=DEVICE)], None, "10", statistics_pool, (3, 701), (48, 4096)),
    ("fresh", "stream_mix", lambda m, n: [rand(m, 4, n), rand(m, n), rand(4, 4, dtype=SINGLE), rand(4, dtype=SINGLE)], None, "1111", stream_mix, (37, 701), (16384, 1024)),
    ("fresh", "cross_layer", lambda m, n: [rand(m, n), rand(m, n), rand(n), rand(n)], None, "1111", cross_layer, (37, 701), (65536, 1024)),
    ("fresh", "merge_states", lambda m, n: [rand(m, n, 128), rand(m, n, dtype=SINGLE), rand(m, n, 128), rand(m, n, dtype=SINGLE)], None, "1111", merge_states, (37, 5), (16384, 32)),
    ("fresh", "blend_over", lambda m, n: [rand(m, 4, n, n, dtype=HALF), rand(m, 3, n, n, dtype=HALF)], None, "11", blend_over, (3, 57), (24, 1024)),
    ("fresh", "haar2d", lambda m, n: [planes(m, n)], None, "1", haar2d, (3, 38), (64, 128)),
    ("fresh", "fir_valid", lambda m, n: [rand(m, n, dtype=SINGLE), rand(33, dtype=SINGLE)], None, "11", fir_valid, (3, 3001), (128, 262144)),
    ("fresh", "log_magnitude", lambda m, n: [rand(m, 513, n, 2, dtype=SINGLE)], None, "1", log_magnitude, (3, 37), (32, 1000)),
    ("fresh", "gated_scan", of(SINGLE, 2), None, "11", gated_scan, (37, 301), (16384, 1024)),
    ("fresh", "causal_mean", lambda m, n: [rand(16, m, n)], None, "1", causal_mean, (301, 71), (4096, 1024)),
    ("fresh", "radial_basis", lambda m, n: [6 * uniform(m), torch.linspace(0, 5, n, device=DEVICE)], None, "11", radial_basis, (371, 50), (1 << 20, 64)),
    ("fresh", "pair_distances", lambda m, n: [rand(16, m, 3, dtype=SINGLE), rand(16, n, 3, dtype=SINGLE)], None, "11", pair_distances, (37, 71), (2048, 2048)),
    ("fresh", "to_channels_last", lambda m, n: [rand(m, 88, n, n), rand(88, dtype=SINGLE), 0.5 + uniform(88)], None, "100", to_channels_last, (3, 36), (64, 112)),
    ("fresh", "ragged_bag", bags, None, "0011", ragged_bag, (37, 71), (65536, 128)),
]


if __name__ == "__main__":
    peers.CASES[:] = FRESH
    peers.main()
