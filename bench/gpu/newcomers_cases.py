# ruff: noqa: E501
"""The rows of the kernels in bench/gpu/style/newcomers.py and newcomers_more.py: laid out as CASES in bench/gpu/peers.py, timed in the same way.

for f in newcomers newcomers_more; do tad-lsp --backward bench/gpu/style/$f.py -o DIR/${f}_backward.py; done
python bench/gpu/newcomers_cases.py DIR [--only TEXT,...] [--warm K/N]
"""

import peers
import torch
import torch.nn.functional as F
from peers import DEVICE, HALF, SINGLE, exact, ids, of, planes, rand, rms


def uniform(*shape):
    return torch.rand(*shape, device=DEVICE)


def qk_norm(x, qw, kw, hq, hk):
    q, k, v = x.split((hq, hk, hk), 1)
    return torch.cat((rms(q, qw), rms(k, kw), v), 1)


def rope_theta(q, log2_base=13.287712):
    T, D = q.shape[-2:]
    d = torch.arange(D // 2, device=q.device, dtype=torch.float32)
    angle = torch.arange(T, device=q.device, dtype=torch.float32)[:, None] * torch.exp2(-log2_base * d * 2.0 / D)
    c, s = torch.cos(angle), torch.sin(angle)
    a, b = exact(q).chunk(2, -1)
    return torch.cat((a * c - b * s, a * s + b * c), -1).to(q.dtype)


def rel_bias_softmax(s, table, scale):
    Q, K = s.shape[-2:]
    R = table.shape[1] // 2
    far = (torch.arange(K, device=s.device) - torch.arange(Q, device=s.device)[:, None]).clamp(-R, R) + R
    return (exact(s) * scale + exact(table)[:, far]).softmax(-1).to(s.dtype)


def length_softmax(x, lengths, scale):
    gone = torch.arange(x.shape[-1], device=x.device) >= lengths[:, None]
    return (exact(x) * scale).masked_fill(gone[:, None, None], -torch.inf).softmax(-1).to(x.dtype)


def ce_z(x, t):
    x = exact(x)
    return F.cross_entropy(x, t, reduction="none", label_smoothing=0.1) + 1e-4 * x.logsumexp(-1).square()


def asymmetric(x, t, gp=1.0, gn=4.0, clip=0.05):
    p = torch.sigmoid(x)
    pn = (1 - p + clip).clamp(max=1.0)
    loss = t * torch.log(p.clamp(min=1e-8)) + (1 - t) * torch.log(pn.clamp(min=1e-8))
    pt = p * t + pn * (1 - t)
    return -loss * torch.pow((1 - pt).clamp(min=1e-8), gp * t + gn * (1 - t))


def charbonnier(a, b, eps=1e-3):
    return ((exact(a) - exact(b)).square() + eps * eps).sqrt().flatten(1).mean(1)


def supcon(sim, labels, temperature=0.1):
    s = exact(sim) / temperature
    me = torch.eye(len(s), device=s.device, dtype=torch.bool)
    logp = s - s.masked_fill(me, -torch.inf).logsumexp(1, keepdim=True)
    positive = (labels[:, None] == labels) & ~me
    return -torch.where(positive, logp, 0.0).sum(1) / positive.sum(1).clamp(min=1)


def fm(x):
    x = exact(x)
    return 0.5 * (x.sum(1).square() - x.square().sum(1)).sum(-1)


def geglu_erf(x):
    u, g = x.chunk(2, -1)
    return F.gelu(g) * u


def pixel_norm(x, eps=1e-8):
    v = exact(x)
    return (v * torch.rsqrt(v.square().mean(1, keepdim=True) + eps)).to(x.dtype)


def ada_rms(x, h, scale, gate, eps=1e-6):
    v = exact(h)
    r = v * torch.rsqrt(v.square().mean(-1, keepdim=True) + eps)
    return (exact(x) + exact(gate)[:, None] * (r * (1 + exact(scale)[:, None]))).to(x.dtype)


def bias_drop_add(x, b, keep, r, p=0.1):
    return torch.where(keep, (x + b) * (1 / (1 - p)), 0.0) + r


def embed_mean(i, table, pad=0):
    real = (i != pad)[..., None]
    total = torch.where(real, exact(F.embedding(i, table)), 0.0).sum(1)
    return (total / real.sum(1).clamp(min=1)).to(table.dtype)


def shift3(x, state, mr, mk, mv):
    d = torch.cat((state[:, None], x[:, :-1]), 1) - x
    return x + d * mr, x + d * mk, x + d * mv


def conv4(x, w):
    return F.silu(F.conv1d(F.pad(x.mT, (3, 0)), w[:, None], groups=w.shape[0])).mT


def ema(x, decay):
    """Steps of one, two, four, ... places."""
    a = torch.sigmoid(exact(decay))
    h, step = (1 - a) * exact(x), 1
    while step < x.shape[1]:
        h = h + a * F.pad(h[:, :-step], (0, 0, step, 0))
        a, step = a * a, 2 * step
    return h.to(x.dtype)


def render(sigma, rgb, delta):
    od = F.relu(sigma) * delta
    w = torch.exp(-(od.cumsum(1) - od)) * (1 - torch.exp(-od))
    return (w[..., None] * torch.sigmoid(rgb)).sum(1)


def time_max(x, lengths):
    gone = torch.arange(x.shape[1], device=x.device) >= lengths[:, None]
    return x.masked_fill(gone[..., None], -torch.inf).amax(1)


def depth_to_space(x, r=2):
    N, H, W, C = x.shape
    return x.view(N, H, W, r, r, C // (r * r)).permute(0, 1, 3, 2, 4, 5).reshape(N, H * r, W * r, -1)


def to_tokens(x, pos):
    return x.flatten(2).transpose(1, 2) + pos


def crelu(x):
    return torch.cat((F.relu(x), F.relu(-x)), 1)


def graph(m, n):
    """Nodes, edges, and their ends: some nodes have many."""
    ends = (m // 8 * uniform(2, m).square()).long()
    return [rand(m // 8, n, dtype=SINGLE), rand(m, n, dtype=SINGLE), ends[0], ends[1]]


def edge_message(x, edge, src, dst):
    return F.relu(x[src] + x[dst] + edge)


def experts(m, n):
    """Tokens, twice as many slots in an order of experts, and gates."""
    return [rand(m, n), torch.randperm(2 * m, device=DEVICE), uniform(m, 2)]


def to_experts(x, order, gate):
    return (exact(x)[order // 2] * gate.reshape(-1)[order][:, None]).to(x.dtype)


def top2(x):
    return exact(x).topk(2, -1).values.softmax(-1)


def pinball(p, y, q):
    d = y[:, None] - p
    return torch.maximum(q * d, (q - 1) * d).mean(-1)


def bn_add_relu(x, mean, var, w, b, r, eps=1e-5):
    scale = w * torch.rsqrt(var + eps)
    shift = b - mean * scale
    return F.relu(exact(x) * scale[:, None, None] + shift[:, None, None] + exact(r)).to(x.dtype)


def group_log_softmax(x, groups):
    return x.view(len(x), groups, -1).log_softmax(-1).flatten(1)


def causal_fill(s, scale):
    Q, K = s.shape[1:]
    above = torch.ones(Q, K, device=s.device, dtype=torch.bool).triu(1 + K - Q)
    return (s * scale).masked_fill(above, -1e4)


def mod_relu(re, im, b, eps=1e-6):
    mod = torch.sqrt(re * re + im * im + eps)
    gain = F.relu(mod + b) / mod
    return re * gain, im * gain


def butterfly(x, w, half):
    M, N = x.shape
    pairs = x.view(M, N // (2 * half), 2, half)
    a, b = pairs[:, :, 0], pairs[:, :, 1]
    w = w.view(N // (2 * half), half, 4)
    top = a * w[..., 0] + b * w[..., 1]
    return torch.stack((top, a * w[..., 2] + b * w[..., 3]), 2).view(M, N)


def warp_rows(x, at):
    T = x.shape[1]
    left = at.detach().floor().long()
    f = at - left
    left = left.clamp(0, T - 1)
    a = x.gather(1, left)
    return a + (x.gather(1, (left + 1).clamp(max=T - 1)) - a) * f


def patch_merge(x):
    return torch.cat((x[:, ::2, ::2], x[:, 1::2, ::2], x[:, ::2, 1::2], x[:, 1::2, 1::2]), -1)


def vae_kl(z):
    mu, lv = exact(z).chunk(2, -1)
    return 0.5 * (mu.square() + lv.exp() - lv - 1).sum(-1)


def bpr(u, v, user, pos, neg):
    return -torch.log(torch.sigmoid((u[user] * (v[pos] - v[neg])).sum(-1)) + 1e-10)


def conv_same(x, w, b):
    return F.conv1d(x, w[:, None], b, padding=w.shape[1] // 2, groups=w.shape[0])


def mixup(x, perm, lam):
    lam = lam[:, None, None, None]
    return (lam * exact(x) + (1 - lam) * exact(x)[perm]).to(x.dtype)


def heads(m, n):
    return [rand(m, 48, n), rand(n), rand(n)]


peers.DRAWN["drop_add_rms"] = lambda x, r, w, p, seed: peers.add_rms(F.dropout(x, p), r, w)

# as CASES of bench/gpu/peers.py
NEWCOMERS = [
    ("newcomers", "drop_add_rms", lambda m, n: [rand(m, n), rand(m, n), rand(n)], [0.1, 1234], "111", None, (37, 700), (16384, 4096)),
    ("newcomers", "qk_norm", heads, [32, 8], "111", qk_norm, (37, 128), (16384, 128)),
    ("newcomers", "rope_theta", lambda m, n: [rand(2, 16, m, n)], None, "1", rope_theta, (37, 64), (8192, 128)),
    ("newcomers", "rel_bias_softmax", lambda m, n: [rand(2, m, n, n), rand(m, 257)], [0.125], "11", rel_bias_softmax, (3, 300), (16, 1024)),
    ("newcomers", "length_softmax", lambda m, n: [rand(4, m, n, n), torch.randint(n // 2, n + 1, (4,), device=DEVICE)], [0.125], "10", length_softmax, (3, 300), (16, 1024)),
    ("newcomers", "ce_z", lambda m, n: [rand(m, n), ids(m, n)], None, "10", ce_z, (37, 9000), (8192, 32000)),
    ("newcomers", "asymmetric", lambda m, n: [rand(m, n, dtype=SINGLE), (uniform(m, n) > 0.9).float()], None, "10", asymmetric, (37, 700), (8192, 4096)),
    ("newcomers", "charbonnier", lambda m, n: [rand(m, 3, n, n), rand(m, 3, n, n)], None, "10", charbonnier, (3, 70), (64, 512)),
    ("newcomers", "supcon", lambda m, n: [rand(m, m).div(8), ids(m, n)], None, "10", supcon, (301, 7), (8192, 1000)),
    ("newcomers", "fm", lambda m, n: [rand(m, 39, n)], None, "1", fm, (37, 40), (32768, 64)),
    ("newcomers", "geglu_erf", lambda m, n: [rand(m, 2 * n)], None, "1", geglu_erf, (37, 700), (16384, 4096)),
    ("newcomers", "pixel_norm", lambda m, n: [rand(m, 128, n, n)], None, "1", pixel_norm, (3, 17), (32, 128)),
    ("newcomers", "ada_rms", lambda m, n: [rand(16, m, n), rand(16, m, n), rand(16, n), rand(16, n)], None, "1111", ada_rms, (37, 700), (1024, 2048)),
    ("newcomers", "bias_drop_add", lambda m, n: [rand(m, n), rand(n), uniform(m, n) > 0.1, rand(m, n)], None, "1101", bias_drop_add, (37, 700), (16384, 4096)),
    ("newcomers", "embed_mean", lambda m, n: [torch.randint(0, 20000, (m, 64), device=DEVICE) * (uniform(m, 64) > 0.3), rand(20000, n)], None, "01", embed_mean, (37, 300), (4096, 256)),
    ("newcomers", "shift3", lambda m, n: [rand(8, m, n), rand(8, n), rand(n), rand(n), rand(n)], None, "11111", shift3, (37, 700), (2048, 2048)),
    ("newcomers", "conv4_carry", lambda m, n: [rand(4, m, n), rand(n, 4)], None, "11", conv4, (70, 300), (4096, 2048)),
    ("newcomers", "ema", lambda m, n: [rand(8, m, n), rand(n)], None, "11", ema, (70, 100), (2048, 2048)),
    ("newcomers", "render", lambda m, n: [rand(m, n, dtype=SINGLE), rand(m, n, 3, dtype=SINGLE), uniform(m, n) / 8], None, "110", render, (37, 70), (65536, 192)),
    ("newcomers", "time_max", lambda m, n: [rand(32, m, n), torch.randint(m // 2, m + 1, (32,), device=DEVICE)], None, "10", time_max, (70, 100), (2048, 1024)),
    ("newcomers", "depth_to_space", lambda m, n: [rand(m, n, n, 256)], None, "1", depth_to_space, (3, 17), (64, 56)),
    ("newcomers", "to_tokens", lambda m, n: [rand(m, 384, n, n), rand(n * n, 384)], None, "11", to_tokens, (3, 17), (64, 48)),
    ("newcomers", "crelu", lambda m, n: [planes(m, n)], None, "1", crelu, (3, 17), (32, 128)),
    ("newcomers", "edge_message", graph, None, "1100", edge_message, (999, 64), (524288, 64)),
    ("newcomers", "to_experts", experts, None, "101", to_experts, (37, 700), (16384, 2048)),
    ("newcomers", "top2", lambda m, n: [rand(m, n)], None, "1", top2, (37, 60), (262144, 64)),
    ("newcomers", "pinball", lambda m, n: [rand(m, n, dtype=SINGLE), rand(m, dtype=SINGLE), torch.linspace(0.1, 0.9, n, device=DEVICE)], None, "100", pinball, (999, 9), (2097152, 9)),
    ("newcomers", "bn_add_relu", lambda m, n: [planes(m, n), rand(64, dtype=SINGLE), uniform(64) + 0.1, rand(64, dtype=SINGLE), rand(64, dtype=SINGLE), planes(m, n)], None, "100111", bn_add_relu, (3, 17), (64, 112)),
    ("newcomers", "softplus", of(HALF), None, "1", F.softplus, (37, 700), (8192, 8192)),
    ("newcomers", "group_log_softmax", lambda m, n: [rand(m, 32 * n, dtype=SINGLE)], [32], "1", group_log_softmax, (370, 32), (32768, 32)),
    ("newcomers", "causal_fill", lambda m, n: [rand(m, n, n)], [0.125], "1", causal_fill, (3, 300), (32, 1024)),
    ("newcomers", "mod_relu", lambda m, n: [rand(m, n, dtype=SINGLE), rand(m, n, dtype=SINGLE), rand(n, dtype=SINGLE)], None, "111", mod_relu, (37, 300), (16384, 1024)),
    ("newcomers", "butterfly", lambda m, n: [rand(m, n), rand(n // 2, 4)], [64], "11", butterfly, (37, 512), (16384, 4096)),
    ("newcomers_more", "fpn_add", lambda m, n: [planes(m, n), planes(m, 2 * n)], None, "11", lambda x, s: F.interpolate(x, scale_factor=2) + s, (3, 17), (64, 64)),
    ("newcomers_more", "warp_rows", lambda m, n: [rand(m, n, dtype=SINGLE), uniform(m, n) * (n + 9) - 5], None, "11", warp_rows, (37, 700), (4096, 4096)),
    ("newcomers_more", "patch_merge", lambda m, n: [rand(m, n, n, 96)], None, "1", patch_merge, (3, 18), (128, 56)),
    ("newcomers_more", "vae_kl", lambda m, n: [rand(m, 2 * n)], None, "1", vae_kl, (37, 700), (16384, 2048)),
    ("newcomers_more", "bpr", lambda m, n: [rand(m, n, dtype=SINGLE), rand(m, n, dtype=SINGLE), ids(2 * m, m), ids(2 * m, m), ids(2 * m, m)], None, "11000", bpr, (301, 60), (131072, 64)),
    ("newcomers_more", "conv_same", lambda m, n: [rand(8, m, n), rand(m, 7), rand(m)], None, "111", conv_same, (37, 1500), (512, 8192)),
    ("newcomers_more", "mixup", lambda m, n: [rand(m, 3, n, n), torch.randperm(m, device=DEVICE), uniform(m)], None, "100", mixup, (5, 70), (256, 224)),
    ("newcomers_more", "se_scale", lambda m, n: [rand(m, 256, n, n), rand(m, 256)], None, "11", lambda x, s: x * torch.sigmoid(s)[..., None, None], (3, 33), (64, 56)),
]


if __name__ == "__main__":
    peers.CASES[:] = NEWCOMERS
    peers.main()
