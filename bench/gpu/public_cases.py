# ruff: noqa: E501, E731
"""The rows of the kernels in bench/gpu/style/public.py: laid out as CASES in bench/gpu/peers.py, timed in the same way.

    tad-lsp --backward bench/gpu/style/public.py -o DIR/public_backward.py
    python bench/gpu/public_cases.py DIR [--only TEXT,...] [--warm K/N]
"""

import peers
import torch
import torch.nn.functional as F
from peers import BF, DEVICE, HALF, SINGLE, exact, ids, last_planes, of, planes, rand


def snake(x, alpha):
    a = alpha.exp()[:, None]
    return x + torch.sin(a * x).square() / (a + 1e-9)


def mish_gate(x):
    gate, value = x.chunk(2, -1)
    return F.mish(gate) * value


def clamped_swiglu(a, alpha, limit):
    gate, linear = a[..., ::2].clamp(max=limit), a[..., 1::2].clamp(-limit, limit)
    return gate * torch.sigmoid(alpha * gate) * (linear + 1)


def rotary_2d(x, cos, sin):
    side = cos.shape[0]
    rows = [t.repeat_interleave(side, 0) for t in (cos, sin)]
    columns = [t.repeat(side, 1) for t in (cos, sin)]
    y0, y1, x0, x1 = x.chunk(4, -1)
    (cy, sy), (cx, sx) = rows, columns
    return torch.cat((y0 * cy - y1 * sy, y1 * cy + y0 * sy, x0 * cx - x1 * sx, x1 * cx + x0 * sx), -1)


def partial_rope(q, cache, positions):
    rot = cache.shape[1]
    cos, sin = cache[positions][:, :, None].chunk(2, -1)
    turned, rest = q[..., :rot], q[..., rot:]
    a, b = turned.chunk(2, -1)
    return torch.cat(((a * cos - b * sin).to(q.dtype), (b * cos + a * sin).to(q.dtype), rest), -1)


def alibi_softmax(scores, slopes, scale):
    at = torch.arange(scores.shape[-1], device=scores.device)
    far = at[:, None] - at
    s = scores * scale - (slopes[:, None, None] * far).to(scores.dtype)
    return s.masked_fill(far < 0, -torch.inf).softmax(-1)


def window_bias(attn, table, index, scale):
    return attn * scale + table[index].permute(2, 0, 1)


def window_inputs(m, n):
    """Scores of m windows of n x n, twelve heads, and which of the offsets' biases each pair takes."""
    y, x = (t.flatten() for t in torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij"))
    index = (y[:, None] - y + n - 1) * (2 * n - 1) + x[:, None] - x + n - 1
    return [rand(m, 12, n * n, n * n, dtype=HALF), rand((2 * n - 1) ** 2, 12, dtype=HALF), index.to(DEVICE)]


def scale_norm(x, g):
    return x * (g / x.norm(dim=-1, keepdim=True).clamp(min=1e-5))


def group_rms_gate(x, z, w, groups):
    parts = x.unflatten(-1, (groups, -1))
    normed = parts * torch.rsqrt(exact(parts).square().mean(-1, keepdim=True) + 1e-5).to(x.dtype)
    return normed.flatten(-2) * w * F.silu(z)


def batch_stats(x):
    x = exact(x)
    return x.mean(0), x.var(0, unbiased=False)


def standardize(w, gain):
    d = w - w.mean(1, keepdim=True)
    return d * torch.rsqrt(d.square().sum(1, keepdim=True).clamp(min=1e-4)) * gain[:, None]


def focal_rows(x, t):
    logp = exact(x).log_softmax(-1).gather(1, t[:, None])[:, 0]
    return -(1 - logp.exp()).square() * logp


def clip_rows(sim, logit_scale):
    return F.cross_entropy(exact(sim) * logit_scale.exp(), torch.arange(len(sim), device=sim.device), reduction="none")


def router_z(x, coefficient=1e-3):
    return x.logsumexp(-1).square().mean() * coefficient


def distill_kl(student, teacher, temperature=2.0):
    s, t = ((exact(x) / temperature).log_softmax(-1) for x in (student, teacher))
    return F.kl_div(s, t, reduction="none", log_target=True).sum(-1) * temperature**2


def fake_quant(x, scale):
    s = scale[:, None]
    return (torch.floor(x / s + 0.5).clamp(-128, 127) * s).to(x.dtype)


def split_qkv(qkv, heads, kv_heads, scale):
    parts = qkv.view(len(qkv), heads + 2 * kv_heads, -1)
    q, k, v = parts.split((heads, kv_heads, kv_heads), 1)
    return q * scale, k.contiguous(), v.contiguous()


def merge_heads_gate(o, gate):
    return (o.transpose(1, 2) * torch.sigmoid(gate)[..., None]).flatten(2)


def frame_signal(wave, window, hop):
    return wave.unfold(1, len(window), hop) * window


def temporal_shift(x, fold_div=8):
    fold = x.shape[2] // fold_div
    later = F.pad(x[:, 1:, :fold], (0, 0, 0, 0, 0, 0, 0, 1))
    earlier = F.pad(x[:, :-1, fold : 2 * fold], (0, 0, 0, 0, 0, 0, 1, 0))
    return torch.cat((later, earlier, x[:, :, 2 * fold :]), 2)


def drop_path_scale(x, h, gamma, keep, p):
    return x + h * gamma * (keep / (1 - p)).to(x.dtype)[:, None, None]


def moe_combine(y, weights, ids):
    return (y[ids] * weights[..., None].to(y.dtype)).sum(1)


def segments(m, n):
    """Rows of n, eight for each of m segments in the mean, and where a segment begins."""
    cuts = torch.randint(0, 8 * m + 1, (m - 1,), device=DEVICE).sort().values
    return [rand(8 * m, n), F.pad(F.pad(cuts, (1, 0)), (0, 1), value=8 * m)]


def segment_mean(x, rowptr):
    segment = torch.searchsorted(rowptr, torch.arange(len(x), device=x.device), right=True) - 1
    total = exact(x).new_zeros(len(rowptr) - 1, x.shape[1]).index_add(0, segment, exact(x))
    return (total / rowptr.diff().clamp(min=1)[:, None]).to(x.dtype)


# as CASES of bench/gpu/peers.py
PUBLIC = [
    ("public", "snake", lambda m, n: [rand(m, 192, n, dtype=SINGLE), rand(192, dtype=SINGLE)], None, "11", snake, (3, 1037), (16, 8192)),
    ("public", "prelu", lambda m, n: [last_planes(m, n), rand(96)], None, "11", lambda x, w: torch.where(x >= 0, x, x * w), (3, 17), (64, 112)),
    ("public", "mish_gate", lambda m, n: [rand(m, 2 * n, dtype=HALF)], None, "1", mish_gate, (37, 700), (8192, 4096)),
    ("public", "clamped_swiglu", lambda m, n: [rand(m, 2 * n)], [1.702, 2.1], "1", clamped_swiglu, (37, 700), (16384, 2880)),
    ("public", "rotary_2d", lambda m, n: [rand(m, 16, n * n, 64), rand(n, 16), rand(n, 16)], None, "100", rotary_2d, (2, 9), (32, 48)),
    ("public", "partial_rope", lambda m, n: [rand(4, m, n, 80, dtype=HALF), rand(2 * m, 32, dtype=SINGLE), ids(4 * m, 2 * m).view(4, m)], None, "100", partial_rope, (37, 7), (8192, 32)),
    ("public", "alibi_softmax", lambda m, n: [rand(m, 16, n, n), 0.5 ** torch.arange(0.5, 8.5, 0.5, device=DEVICE)], [0.125], "10", alibi_softmax, (2, 70), (1, 2048)),
    ("public", "window_bias", window_inputs, [0.1768], "110", window_bias, (5, 7), (4096, 7)),
    ("public", "scale_norm", lambda m, n: [rand(m, n), rand(1)], None, "11", scale_norm, (370, 700), (65536, 1024)),
    ("public", "group_rms_gate", lambda m, n: [rand(m, n), rand(m, n), rand(n)], [8], "111", group_rms_gate, (37, 600), (8192, 4096)),
    ("public", "batch_stats", lambda m, n: [rand(m, n, dtype=HALF)], None, "1", batch_stats, (370, 70), (65536, 1024)),
    ("public", "standardize", lambda m, n: [rand(m, n, dtype=SINGLE), rand(m, dtype=SINGLE)], None, "11", standardize, (37, 2500), (8192, 4608)),
    ("public", "focal_rows", lambda m, n: [rand(m, n, dtype=HALF), ids(m, n)], None, "10", focal_rows, (370, 101), (65536, 1000)),
    ("public", "clip_rows", lambda m, n: [rand(m, n), rand(1, dtype=SINGLE)], None, "11", clip_rows, (37, 5000), (8192, 8192)),
    ("public", "router_z", lambda m, n: [rand(m, n, dtype=SINGLE)], None, "1", router_z, (370, 60), (524288, 64)),
    ("public", "distill_kl", of(BF, 2), None, "10", distill_kl, (37, 5000), (2048, 32000)),
    ("public", "fake_quant", lambda m, n: [rand(m, n), rand(m, dtype=SINGLE).abs() * 0.02 + 0.01], None, "01", fake_quant, (37, 700), (16384, 4096)),
    ("public", "cat3", lambda m, n: [rand(m, c, n, n) for c in (32, 48, 16)], None, "111", lambda a, b, c: torch.cat((a, b, c), 1), (3, 17), (64, 128)),
    ("public", "split_qkv", lambda m, n: [rand(m, 48 * n)], [32, 8, 0.125], "1", split_qkv, (37, 20), (16384, 128)),
    ("public", "space_to_depth", lambda m, n: [planes(m, n)], None, "1", lambda x: F.pixel_unshuffle(x, 2), (3, 18), (64, 128)),
    ("public", "reflect_pad", lambda m, n: [planes(m, n)], [3], "1", lambda x, p: F.pad(x, (p, p, p, p), mode="reflect"), (3, 17), (64, 128)),
    ("public", "merge_heads_gate", lambda m, n: [rand(4, 16, m, n), rand(4, m, 16)], None, "11", merge_heads_gate, (37, 64), (8192, 128)),
    ("public", "adaptive_pool", lambda m, n: [rand(m, 64, n, n, dtype=HALF)], [7], "1", F.adaptive_avg_pool2d, (3, 19), (256, 60)),
    ("public", "frame_signal", lambda m, n: [rand(m, n, dtype=SINGLE), torch.hann_window(400, device=DEVICE)], [160], "10", frame_signal, (3, 1511), (128, 160000)),
    ("public", "temporal_shift", lambda m, n: [rand(m, 8, 64, n, n)], None, "1", temporal_shift, (2, 11), (16, 112)),
    ("public", "drop_path_scale", lambda m, n: [rand(64, m, n), rand(64, m, n), rand(n), (torch.rand(64, device=DEVICE) > 0.1).float()], [0.1], "1110", drop_path_scale, (5, 70), (1024, 768)),
    ("public", "moe_combine", lambda m, n: [rand(4 * m, n), torch.rand(m, 4, device=DEVICE).softmax(-1), torch.randperm(4 * m, device=DEVICE).view(m, 4)], None, "110", moe_combine, (37, 1100), (8192, 2048)),
    ("public", "segment_mean", segments, None, "10", segment_mean, (37, 300), (16384, 512)),
]


if __name__ == "__main__":
    peers.CASES[:] = PUBLIC
    peers.main()
