# ruff: noqa: E501, E731
"""The rows of the kernels in bench/gpu/style/drawn.py: laid out as CASES in bench/gpu/peers.py, timed in the same way.

tad-lsp --backward bench/gpu/style/drawn.py -o DIR/drawn_backward.py
python bench/gpu/drawn_cases.py DIR [--only TEXT,...] [--warm K/N]
"""

import peers
import torch
import torch.nn.functional as F
from peers import DEVICE, HALF, SINGLE, exact, ids, planes, rand


def residual_rms(x, r, w, eps=1e-6):
    s = exact(x) + exact(r)
    y = s * torch.rsqrt(s.square().mean(-1, keepdim=True) + eps) * (1.0 + exact(w))
    return y.to(x.dtype), s.to(x.dtype)


def ln_silu(x, w, b):
    return F.silu(F.layer_norm(x, x.shape[-1:], w, b))


def rope_qk(q, k, cos, sin):
    half = q.shape[-1] // 2
    c, s = cos[:, None, :half], sin[:, None, :half]

    def turn(x):
        a, b = x.chunk(2, -1)
        return torch.cat((a * c - b * s, b * c + a * s), -1).to(x.dtype)

    return turn(q), turn(k)


def masked_softmax(x, keep, temperature):
    return torch.where(keep != 0, x / temperature, -1e9 if x.dtype != HALF else -6e4).softmax(-1)


def smooth_ce(x, t, smoothing=0.1, z_weight=1e-4):
    lse = exact(x).logsumexp(-1)
    own = exact(x).gather(1, t[:, None])[:, 0]
    return lse - (1 - smoothing) * own - smoothing * exact(x).mean(-1) + z_weight * lse * lse


def huber(p, t, w, delta=1.0):
    return (F.huber_loss(p, t, reduction="none", delta=delta) * w).mean()


def cosine(a, b):
    return F.cosine_similarity(exact(a), exact(b), dim=-1)


def unit_rows(x):
    return (x / (exact(x).norm(dim=-1, keepdim=True) + 1e-6)).to(x.dtype)


def token_position(ids, tok, pos):
    return F.embedding(ids, tok) + pos


def group_norm_relu(x, w, b, groups):
    return F.relu(F.group_norm(x, groups, w, b))


def channel_affine(x, s, t):
    return F.leaky_relu(x * s[:, None, None] + t[:, None, None], 0.1)


def masked_mean(x, keep):
    m = keep.to(exact(x).dtype)
    return ((exact(x) * m[..., None]).sum(1) / m.sum(1, keepdim=True).clamp(min=1.0)).to(x.dtype)


def reglu(x):
    a, g = x.chunk(2, -1)
    return a * F.relu(g).square()


def decay_scan(x, a):
    """The same as a product of each sequence with the matrix of the decays' powers."""
    keep = torch.sigmoid(exact(a))
    T = x.shape[1]
    far = torch.arange(T, device=x.device)[:, None] - torch.arange(T, device=x.device)
    powers = torch.where(far >= 0, keep[:, None, None] ** far.clamp(min=0), 0.0)
    return torch.einsum("dts,bsd->btd", powers, exact(x) * (1 - keep)).to(x.dtype)


def triplet(a, p, n, margin=1.0):
    near, far = ((exact(a) - exact(y)).square().sum(-1) for y in (p, n))
    return F.relu(near - far + margin)


def head_rms(x, w, eps=1e-6):
    return (exact(x) * torch.rsqrt(exact(x).square().mean(-1, keepdim=True) + eps) * exact(w)).to(
        x.dtype
    )


def keeps(*shape):
    return (torch.rand(*shape, device=DEVICE) > 0.3).to(torch.int8)


# as CASES of bench/gpu/peers.py
DRAWN_ROWS = [
    (
        "drawn",
        "residual_rms",
        lambda m, n: [rand(m, n), rand(m, n), rand(n)],
        None,
        "111",
        residual_rms,
        (37, 700),
        (16384, 4096),
    ),
    (
        "drawn",
        "ln_silu",
        lambda m, n: [rand(m, n), rand(n), rand(n)],
        None,
        "111",
        ln_silu,
        (37, 2500),
        (8192, 5120),
    ),
    (
        "drawn",
        "rope_qk",
        lambda m, n: [rand(4, m, n, 128), rand(4, m, n // 4, 128), rand(m, 128), rand(m, 128)],
        None,
        "1100",
        rope_qk,
        (37, 8),
        (4096, 32),
    ),
    (
        "drawn",
        "masked_softmax",
        lambda m, n: [rand(m, n), keeps(m, n)],
        [1.7],
        "10",
        masked_softmax,
        (37, 700),
        (16384, 4096),
    ),
    (
        "drawn",
        "smooth_ce",
        lambda m, n: [rand(m, n), ids(m, n)],
        None,
        "10",
        smooth_ce,
        (37, 5000),
        (4096, 32000),
    ),
    (
        "drawn",
        "huber",
        lambda m, n: [rand(m, n, dtype=SINGLE), rand(m, n, dtype=SINGLE), rand(m, n, dtype=SINGLE)],
        None,
        "100",
        huber,
        (37, 700),
        (16384, 4096),
    ),
    (
        "drawn",
        "cosine",
        lambda m, n: [rand(m, n), rand(m, n)],
        None,
        "11",
        cosine,
        (37, 2500),
        (16384, 4096),
    ),
    (
        "drawn",
        "unit_rows",
        lambda m, n: [rand(m, 16, n)],
        None,
        "1",
        unit_rows,
        (37, 100),
        (65536, 128),
    ),
    (
        "drawn",
        "token_position",
        lambda m, n: [ids(8 * m, 8 * m).view(8, m), rand(8 * m, n), rand(m, n)],
        None,
        "011",
        token_position,
        (37, 700),
        (2048, 2048),
    ),
    (
        "drawn",
        "group_norm_relu",
        lambda m, n: [planes(m, n), rand(64), rand(64)],
        [8],
        "111",
        group_norm_relu,
        (3, 17),
        (64, 112),
    ),
    (
        "drawn",
        "channel_affine",
        lambda m, n: [planes(m, n), rand(64), rand(64)],
        None,
        "111",
        channel_affine,
        (3, 17),
        (64, 112),
    ),
    (
        "drawn",
        "masked_mean",
        lambda m, n: [rand(m, 37, n) if m < 9 else rand(m, 512, n), keeps(m, 37 if m < 9 else 512)],
        None,
        "10",
        masked_mean,
        (3, 300),
        (128, 1024),
    ),
    ("drawn", "reglu", lambda m, n: [rand(m, 2 * n)], None, "1", reglu, (37, 700), (16384, 5504)),
    (
        "drawn",
        "row_max",
        lambda m, n: [rand(m, n, dtype=SINGLE)],
        None,
        "1",
        lambda x: x.max(-1).values,
        (37, 700),
        (16384, 4096),
    ),
    (
        "drawn",
        "decay_scan",
        lambda m, n: [rand(m, 37 if m < 9 else 256, n), rand(n)],
        None,
        "11",
        decay_scan,
        (3, 70),
        (64, 1024),
    ),
    (
        "drawn",
        "triplet",
        lambda m, n: [rand(m, n), rand(m, n), rand(m, n)],
        None,
        "111",
        triplet,
        (37, 700),
        (32768, 1024),
    ),
    (
        "drawn",
        "gated_residual",
        lambda m, n: [
            rand(4 if m < 99 else 16, m, n),
            rand(4 if m < 99 else 16, m, n),
            rand(4 if m < 99 else 16, n),
        ],
        None,
        "111",
        lambda x, h, g: x + g[:, None] * h,
        (37, 300),
        (4096, 1024),
    ),
    (
        "drawn",
        "log_softmax",
        lambda m, n: [rand(m, n)],
        None,
        "1",
        lambda x: x.log_softmax(-1),
        (37, 5000),
        (8192, 16384),
    ),
    (
        "drawn",
        "head_rms",
        lambda m, n: [rand(m, n, 128), rand(128)],
        None,
        "11",
        head_rms,
        (37, 6),
        (16384, 32),
    ),
    (
        "drawn",
        "pair_bias",
        lambda m, n: [rand(m, 16, n, n), rand(16, n, n)],
        [0.125],
        "11",
        lambda s, b, scale: s * scale + b,
        (2, 70),
        (8, 1024),
    ),
]


if __name__ == "__main__":
    peers.CASES[:] = DRAWN_ROWS
    peers.main()
