# ruff: noqa: E501, E731
"""On a CUDA machine: backwards derived from kernels of public styles (bench/gpu/style/), beside PyTorch and torch.compile.

    for f in bench/gpu/style/*.py; do tad-lsp --backward "$f" -o DIR/"$(basename "$f" .py)_backward.py"; done
    python bench/gpu/peers.py DIR [--only TEXT,...] [--warm K/N]

Each row: the largest relative error of a gradient against PyTorch in float64 (at a smaller size), and the median time of one backward
(with the tenth and the ninetieth percentile) beside the two peers', all in one run with the L2 cache flushed. The last line is the
geometric mean of (the better peer's time / ours). `--warm K/N` only runs each N-th kernel once: N processes fill the compilers' caches.
"""

import argparse
import importlib
import math
import sys
import traceback

import torch
import torch.nn.functional as F

REPEATS, WAIT = 30, 1_500_000  # backwards of which the median is taken; cycles in front of each
BF, HALF, SINGLE = torch.bfloat16, torch.float16, torch.float32
DEVICE = "cuda"


def rand(*shape, dtype=BF):
    return torch.randn(*shape, device=DEVICE).to(dtype)


def rms(x, w, eps=1e-6):
    return x * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + eps).to(x.dtype) * w


def add_rms(x, r, w):
    s = x + r
    return rms(s, w), s


def geglu(x):
    gate, up = x.chunk(2, -1)
    return F.gelu(gate) * up


def turn(x, cos, sin):
    a, b = x.chunk(2, -1)
    cos, sin = cos[None, :, None], sin[None, :, None]
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


def shift(x, mix):
    return x * mix + F.pad(x, (0, 0, 1, -1)) * (1 - mix)


def causal(scores, scale):
    T = scores.shape[-1]
    keep = torch.ones(T, T, device=scores.device, dtype=torch.bool).tril()
    return (scores * scale).masked_fill(~keep, -torch.inf).softmax(-1)


def of(dtype, count=1):
    """So many tensors of one size."""
    return lambda m, n: [rand(m, n, dtype=dtype) for _ in range(count)]


def smooth(x, t):
    return F.cross_entropy(x if x.dtype == torch.float64 else x.float(), t, reduction="none", label_smoothing=0.1)


def gelu(x, block=None):
    return F.gelu(x, approximate="tanh")


def squared(x, t):
    return (x - t).square()


def taps(x, w, b):
    return F.silu(F.conv1d(F.pad(x.mT, (3, 0)), w.T[:, None], b, groups=b.numel())).mT


def focal(x, t):
    p = torch.sigmoid(x)
    miss = p * (1 - t) + (1 - p) * t
    weight = 0.25 * t + 0.75 * (1 - t)
    return weight * miss.square() * F.binary_cross_entropy_with_logits(x, t, reduction="none")


def last_mean(x, window=5):
    return F.avg_pool1d(F.pad(x, (window - 1, 0))[:, None], window, 1)[:, 0]


def bias_soft(s, b, k, scale):
    return (s * scale + b).masked_fill(~k[:, None, None], -1e9).softmax(-1)


def mixed(x, mk, mr):
    last = F.pad(x, (0, 0, 1, -1))
    return x * mk + last * (1 - mk), x * mr + last * (1 - mr)


def variation(x):
    x = x if x.dtype == torch.float64 else x.float()
    return F.pad((x[..., 1:] - x[..., :-1]).square(), (0, 1)).sum(-1) + F.pad(
        (x[:, :, 1:] - x[:, :, :-1]).square().sum(-1), (0, 1)
    )


def conv_silu(x, w, b):
    return F.silu(F.conv1d(F.pad(x, (w.shape[1] - 1, 0)), w[:, None], b, groups=w.shape[0]))


def log_cosh(x, t):
    d = (x - t).abs() if x.dtype == torch.float64 else (x.float() - t.float()).abs()
    return (d + F.softplus(-2 * d) - math.log(2)).to(x.dtype)


def rms_sum(x, r, w):
    s = x + r
    return rms(s, w), s


def planes(m, n):
    return rand(m, 64, n, n)


def pairs_swiglu(x):
    return F.silu(x[..., ::2]) * x[..., 1::2]


def keep_norm(x, r, keep, w, b, p=0.1):
    s = torch.where(keep, x * (1 / (1 - p)), 0.0) + r
    return F.layer_norm(s, s.shape[-1:], w, b), s


def turn_pairs(x, cos, sin):
    a, b = x[..., ::2], x[..., 1::2]
    cos, sin = cos[None, :, None], sin[None, :, None]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


def triplets(a, p, n):
    a, p, n = (t if t.dtype == torch.float64 else t.float() for t in (a, p, n))
    near, far = ((a - t).square().sum(-1).add(1e-6).sqrt() for t in (p, n))
    return F.relu(near - far + 1.0)


def patches(x, p=16):
    B, C, H, W = x.shape
    return x.view(B, C, H // p, p, W // p, p).permute(0, 2, 4, 1, 3, 5).reshape(B, -1, C * p * p)


def modulated(x, shift, scale):
    return F.layer_norm(x, x.shape[-1:], eps=1e-6) * (1 + scale[:, None]) + shift[:, None]


def pool_last(x):
    return F.avg_pool2d(x.permute(0, 3, 1, 2), 2).permute(0, 2, 3, 1)


def last_planes(m, n):
    return rand(m, n, n, 96)


def exact(x):
    """What a loss in float32 takes of a narrow tensor."""
    return x if x.dtype == torch.float64 else x.float()


def differences(x):
    x = exact(x)
    return (x[:, 1:] - x[:, :-1]).square()


def mixed_token(x, w):
    return x + (F.pad(x, (0, 0, 1, -1)) - x) * w


def complex_pairs(a, b):
    ar, ai, br, bi = a[..., ::2], a[..., 1::2], b[..., ::2], b[..., 1::2]
    return torch.stack((ar * br - ai * bi, ar * bi + ai * br), -1).flatten(-2)


def five_points(x):
    p = F.pad(x, (1, 1, 1, 1))
    return p[..., :-2, 1:-1] + p[..., 2:, 1:-1] + p[..., 1:-1, :-2] + p[..., 1:-1, 2:] - 4 * x


def smooth_rows(x):
    p = F.pad(x[:, None], (1, 1), mode="replicate")[:, 0]
    return 0.25 * p[:, :-2] + 0.5 * x + 0.25 * p[:, 2:]


def window_parts(x, s=7):
    B, H, W, C = x.shape
    return x.view(B, H // s, s, W // s, s, C).transpose(2, 3).reshape(-1, s, s, C)


def conv_time(x, w):
    return F.conv1d(F.pad(x.mT, (w.shape[1] - 1, 0)), w[:, None], groups=w.shape[0]).mT


def patch_pixels(x, p=14):
    B, C, H, W = x.shape
    return x.view(B, C, H // p, p, W // p, p).permute(0, 2, 4, 3, 5, 1).reshape(B, -1, p * p * C)


def chosen(p, i):
    w = exact(p).gather(1, i)
    return w / w.sum(-1, keepdim=True)


def top(m, n, k):
    """Probabilities of n experts, and the k that are chosen."""
    p = rand(m, n).softmax(-1)
    return [p, p.topk(k).indices]


def drop_rms(x, r, keep, w, p=0.1):
    s = torch.where(keep, x * (1 / (1 - p)), 0.0) + r
    return rms(s, w), s


def ids(rows, vocab):
    return torch.randint(0, vocab, (rows,), device=DEVICE)


# module, launcher, inputs for (a size), other arguments for (a size), which inputs ask for a gradient, PyTorch's form, small, large
CASES = [
    ("gated", "swiglu_rows", lambda m, n: [rand(m, n), rand(m, n)], None, "11", lambda a, b: F.silu(a) * b, (37, 700), (16384, 8192)),
    ("gated", "geglu_packed", lambda m, n: [rand(m, 2 * n)], None, "1", geglu, (37, 700), (16384, 5504)),
    ("gated", "squared_relu", lambda m, n: [rand(m, n)], None, "1", lambda x: F.relu(x).square(), (37, 700), (16384, 8192)),
    ("gated", "bias_gelu", lambda m, n: [rand(m, n), rand(n)], None, "11", lambda x, b: F.gelu(x + b), (70, 700), (16384, 8192)),
    ("gated", "soft_cap", lambda m, n: [rand(m, n)], [30.0], "1", lambda x, c: c * torch.tanh(x / c), (37, 700), (16384, 8192)),
    ("norms", "add_rms_norm", lambda m, n: [rand(m, n), rand(m, n), rand(n)], None, "111", add_rms, (37, 700), (16384, 4096)),
    ("norms", "layer_norm_blocks", lambda m, n: [rand(m, n), rand(n), rand(n)], None, "111", lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b), (37, 2500), (8192, 8192)),
    ("norms", "gated_rms_norm", lambda m, n: [rand(m, n), rand(m, n), rand(n)], None, "111", lambda x, z, w: rms(x * F.silu(z), w, 1e-5), (37, 700), (16384, 4096)),
    ("norms", "head_rms_norm", lambda m, n: [rand(m, 32, n), rand(n)], None, "11", rms, (11, 128), (16384, 128)),
    ("norms", "l2_normalize", lambda m, n: [rand(m, n)], None, "1", lambda x: x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6), (37, 700), (16384, 4096)),
    ("norms", "channel_affine", lambda m, n: [rand(m, 64, n, n), rand(64), rand(64)], None, "111", lambda x, s, t: x * s[:, None, None] + t[:, None, None], (3, 17), (64, 128)),
    ("losses", "cross_entropy", lambda m, n: [rand(m, n), ids(m, n)], None, "10", lambda x, t: F.cross_entropy(x.float() if x.dtype != torch.float64 else x, t, reduction="none"), (37, 5000), (8192, 32000)),
    ("losses", "kl_div", lambda m, n: [rand(m, n).log_softmax(-1), rand(m, n).log_softmax(-1)], None, "10", lambda p, q: (q.exp() * (q - p)).sum(-1), (37, 5000), (4096, 32000)),
    ("losses", "bce", lambda m, n: [rand(m, n, dtype=SINGLE), rand(m, n, dtype=SINGLE).sigmoid()], None, "10", lambda x, t: F.binary_cross_entropy_with_logits(x, t, reduction="none"), (37, 700), (8192, 8192)),
    ("losses", "huber_rows", lambda m, n: [rand(m, n, dtype=SINGLE), rand(m, n, dtype=SINGLE)], [1.0], "10", lambda x, t, d: F.huber_loss(x, t, reduction="none", delta=d).mean(-1), (37, 700), (16384, 4096)),
    ("softmaxes", "persistent_softmax", lambda m, n: [rand(m, n, dtype=SINGLE)], None, "1", lambda x: x.softmax(-1), (37, 700), (16384, 4096)),
    ("softmaxes", "causal_softmax", lambda m, n: [rand(m, n, n)], [0.125], "1", causal, (3, 70), (64, 2048)),
    ("softmaxes", "log_softmax", lambda m, n: [rand(m, n)], None, "1", lambda x: x.log_softmax(-1), (37, 5000), (4096, 32000)),
    ("positions", "rope", lambda m, n: [rand(2, m, 32, n), rand(m, n // 2), rand(m, n // 2)], None, "100", turn, (37, 64), (4096, 128)),
    ("positions", "add_position", lambda m, n: [rand(4, m, n), rand(m, n)], None, "11", lambda x, p: x + p, (37, 70), (4096, 4096)),
    ("positions", "token_shift", lambda m, n: [rand(4, m, n), rand(n)], None, "11", shift, (37, 1100), (4096, 4096)),
    ("positions", "mean_pool", lambda m, n: [rand(16, m, n)], None, "1", lambda x: x.mean(1), (37, 70), (2048, 4096)),
    ("positions", "dropout_residual", lambda m, n: [rand(m, n), rand(m, n)], [0.1, 1234], "11", None, (37, 700), (16384, 8192)),
    ("common", "gelu_tanh", of(BF), None, "1", gelu, (37, 700), (8192, 8192)),
    ("common", "gelu_tanh", of(BF), [128], "1", gelu, (37, 700), (8192, 8192)),
    ("common", "gelu_tanh", of(BF), [256], "1", gelu, (37, 700), (8192, 8192)),
    ("common", "gelu_tanh", of(SINGLE), None, "1", gelu, (37, 700), (8192, 8192)),
    ("common", "silu_mul", of(BF, 2), None, "11", lambda a, b: F.silu(a) * b, (37, 700), (8192, 8192)),
    ("common", "silu_mul", of(SINGLE, 2), None, "11", lambda a, b: F.silu(a) * b, (37, 700), (4096, 8192)),
    ("common", "mse", of(BF, 2), None, "10", squared, (37, 700), (8192, 8192)),
    ("common", "mse", of(SINGLE, 2), None, "10", squared, (37, 700), (4096, 8192)),
    ("common", "leaky", of(BF), None, "1", F.leaky_relu, (37, 700), (8192, 8192)),
    ("common", "mul4", of(BF, 4), None, "1111", lambda a, b, c, d: a * b + c * d, (37, 700), (4096, 8192)),
    ("common", "mul4", of(SINGLE, 4), None, "1111", lambda a, b, c, d: a * b + c * d, (37, 700), (4096, 8192)),
    ("common", "row_gate", of(BF, 2), None, "11", lambda x, g: x * torch.sigmoid(g), (37, 700), (8192, 6000)),
    ("common", "tile_add", of(BF, 2), None, "11", lambda x, r: F.relu(x) * 0.5 + r * r, (37, 700), (8192, 8192)),
    ("common", "softmax_grid", of(SINGLE), None, "1", lambda x: x.softmax(-1), (700, 300), (65536, 1000)),
    ("common", "softmax_grid", of(BF), None, "1", lambda x: x.softmax(-1), (700, 300), (16384, 4096)),
    ("common", "flat_stride", of(BF), None, "1", lambda x: x * torch.sigmoid(1.702 * x), (370, 3000), (8192, 8192)),
    ("common", "l2", of(BF), None, "1", lambda x: x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6), (37, 700), (65536, 512)),
    ("common", "tuned_tanh", of(BF), None, "1", torch.tanh, (37, 700), (8192, 8192)),
    ("common", "tuned_rms", lambda m, n: [rand(m, n), rand(n)], None, "11", rms, (37, 700), (16384, 4096)),
    ("common", "smooth_ce", lambda m, n: [rand(m, n), ids(m, n)], None, "10", smooth, (37, 5000), (8192, 32000)),
    ("common", "column_softmax", of(SINGLE), None, "1", lambda x: x.softmax(0), (70, 300), (1000, 16384)),
    ("common", "mask_dropout", lambda m, n: [rand(m, n), torch.rand(m, n, device=DEVICE) > 0.25], None, "10", lambda x, k: torch.where(k, x / 0.75, 0.0), (37, 700), (8192, 8192)),
    ("more", "offset_rms", lambda m, n: [rand(m, n), rand(n)], None, "11", lambda x, w: rms(x, 1 + w), (37, 2500), (16384, 4096)),
    ("more", "moving_norm", lambda m, n: [rand(m, n), rand(n), rand(n)], None, "111", lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b), (37, 2500), (16384, 4096)),
    ("more", "group_norm", lambda m, n: [rand(m, 128, n, n), rand(128), rand(128)], None, "111", lambda x, w, b: F.group_norm(x, 32, w, b), (3, 17), (16, 128)),
    ("more", "scaled_branch", lambda m, n: [rand(m, n), rand(m, n), rand(n)], None, "111", lambda x, h, g: x + g * h, (70, 300), (16384, 4096)),
    ("more", "causal_conv", lambda m, n: [rand(4, m, n), rand(4, n), rand(n)], None, "111", taps, (70, 100), (4096, 2048)),
    ("more", "masked_softmax", lambda m, n: [rand(m, n), torch.rand(m, n, device=DEVICE) > 0.25], [0.125], "10", lambda x, k, s: (x * s).masked_fill(~k, -torch.inf).softmax(-1), (37, 700), (16384, 4096)),
    ("more", "average_pool", lambda m, n: [rand(m, 64, n, n)], None, "1", lambda x: F.avg_pool2d(x, 2), (3, 18), (64, 128)),
    ("more", "focal", lambda m, n: [rand(m, n, dtype=SINGLE), rand(m, n, dtype=SINGLE).sigmoid()], None, "10", focal, (37, 700), (8192, 8192)),
    ("positions", "embedding", lambda m, n: [ids(m, 32000), rand(32000, n)], None, "01", lambda i, t: F.embedding(i, t), (370, 70), (16384, 4096)),
    ("further", "relu2_glu", of(BF, 2), None, "11", lambda x, g: F.relu(g).square() * x, (37, 700), (16384, 4096)),
    ("further", "dropout", of(BF), [0.1, 1234], "1", None, (37, 700), (8192, 8192)),
    ("further", "bias_dropout_gelu", lambda m, n: [rand(m, n), rand(n)], [0.1, 1234], "11", None, (37, 700), (16384, 4096)),
    ("further", "bias_softmax", lambda m, n: [rand(2, m, n, n), rand(m, n, n), torch.rand(2, n, device=DEVICE) > 0.25], [0.125], "110", bias_soft, (3, 70), (16, 1024)),
    ("further", "cosine", of(BF, 2), None, "11", lambda a, b: F.cosine_similarity(a if a.dtype == torch.float64 else a.float(), b if b.dtype == torch.float64 else b.float()), (37, 700), (16384, 4096)),
    ("further", "weighted_mse", lambda m, n: [rand(m, n), rand(m, n), rand(n)], None, "100", lambda x, t, w: (w * (x - t).square()).mean(-1), (37, 2500), (16384, 4096)),
    ("further", "lerp", lambda m, n: [rand(m, n), rand(m, n), rand(n)], None, "111", lambda a, b, w: a + torch.sigmoid(w) * (b - a), (37, 70), (16384, 4096)),
    ("further", "channel_bias", lambda m, n: [planes(m, n), rand(64)], None, "11", lambda x, b: F.relu(x + b[:, None, None]), (3, 17), (64, 128)),
    ("further", "running_mean", of(BF), None, "1", last_mean, (37, 2500), (16384, 4096)),
    ("further", "pool_rows", lambda m, n: [planes(m, n)], None, "1", lambda x: F.avg_pool2d(x, 2), (3, 18), (64, 128)),
    ("further", "rwkv_shift", lambda m, n: [rand(4, m, n), rand(n), rand(n)], None, "111", mixed, (37, 1100), (4096, 2048)),
    ("further", "upsample", lambda m, n: [planes(m, n)], None, "1", lambda x: F.interpolate(x, scale_factor=2), (3, 9), (64, 64)),
    ("further", "group_norm_tile", lambda m, n: [rand(m, 128, n, n), rand(128), rand(128)], None, "111", lambda x, w, b: F.group_norm(x, 32, w, b), (3, 17), (64, 32)),
    ("further", "group_norm_flat", lambda m, n: [rand(m, 128, n, n), rand(128), rand(128)], None, "111", lambda x, w, b: F.group_norm(x, 32, w, b), (3, 17), (64, 32)),
    ("further", "batch_norm_apply", lambda m, n: [planes(m, n), rand(64), rand(64).square() + 0.5, rand(64), rand(64)], None, "10011", lambda x, m, v, w, b: (x - m[:, None, None]) * torch.rsqrt(v + 1e-05)[:, None, None] * w[:, None, None] + b[:, None, None], (3, 17), (64, 128)),
    ("further", "depthwise", lambda m, n: [planes(m, n), rand(64, 9)], None, "11", lambda x, w: F.conv2d(x, w.view(64, 1, 3, 3), padding=1, groups=64), (3, 17), (32, 128)),
    ("further", "shift_flat", lambda m, n: [rand(4, m, n)], None, "1", lambda x: x - 0.97 * F.pad(x, (0, 0, 1, -1)), (37, 70), (4096, 4096)),
    ("further", "total_variation", lambda m, n: [planes(m, n)], None, "1", variation, (3, 17), (64, 128)),
    ("further", "conv_bld", lambda m, n: [rand(4, n, m), rand(n, 4), rand(n)], None, "111", conv_silu, (1100, 7), (4096, 2048)),
    ("further", "hinge", of(BF, 2), None, "10", lambda x, t: F.relu(1 - x * t), (37, 700), (8192, 8192)),
    ("further", "rms_residual", lambda m, n: [rand(m, n), rand(m, n), rand(n)], None, "111", rms_sum, (37, 2500), (16384, 4096)),
    ("further", "log_cosh", of(SINGLE, 2), None, "10", log_cosh, (37, 700), (8192, 8192)),
    ("further", "roll", of(BF), [3], "1", lambda x, s: torch.roll(x, -s, 1).square(), (37, 700), (16384, 4096)),
    ("further", "max_pool", lambda m, n: [planes(m, n)], None, "1", lambda x: F.max_pool2d(x, 2), (3, 18), (64, 128)),
    ("further", "pixel_shuffle", lambda m, n: [planes(m, n)], None, "1", lambda x: F.pixel_shuffle(x, 2), (3, 17), (64, 64)),
    ("unseen", "mish", of(BF), None, "1", F.mish, (37, 700), (8192, 8192)),
    ("unseen", "hardswish", of(BF), None, "1", F.hardswish, (37, 700), (8192, 8192)),
    ("unseen", "swiglu_pairs", lambda m, n: [rand(m, 2 * n)], None, "1", pairs_swiglu, (37, 700), (16384, 4096)),
    ("unseen", "glu_channels", lambda m, n: [rand(m, 2 * n, n)], None, "1", lambda x: F.glu(x, 1), (3, 37), (32, 1024)),
    ("unseen", "instance_norm", lambda m, n: [planes(m, n), rand(64), rand(64)], None, "111", lambda x, w, b: F.instance_norm(x, weight=w, bias=b), (3, 37), (64, 128)),
    ("unseen", "weight_norm", lambda m, n: [rand(m, n), rand(m)], None, "11", lambda v, g: g[:, None] * v / v.norm(dim=1, keepdim=True), (37, 700), (16384, 4096)),
    ("unseen", "keep_add_norm", lambda m, n: [rand(m, n), rand(m, n), torch.rand(m, n, device=DEVICE) > 0.1, rand(n), rand(n)], None, "11011", keep_norm, (37, 700), (16384, 4096)),
    ("unseen", "sum_middle", lambda m, n: [rand(m, 64, n)], None, "1", lambda x: x.square().sum(1), (3, 300), (64, 16384)),
    ("unseen", "weighted_pool", lambda m, n: [rand(16, m, n), rand(16, m).softmax(-1)], None, "11", lambda x, p: (x * p[..., None]).sum(1), (70, 150), (1024, 4096)),
    ("unseen", "channel_softmax", lambda m, n: [rand(m, 21, n, n)], None, "1", lambda x: x.softmax(1), (3, 17), (16, 512)),
    ("unseen", "flip", of(BF), None, "1", lambda x: x.flip(1), (37, 2500), (16384, 4096)),
    ("unseen", "cyclic_shift", lambda m, n: [last_planes(m, n)], [4, 4], "1", lambda x, h, w: torch.roll(x, (-h, -w), (1, 2)), (3, 9), (64, 112)),
    ("unseen", "transpose", lambda m, n: [rand(8, m, n)], [0.125], "1", lambda x, s: (x * s).mT.contiguous(), (70, 150), (4096, 2048)),
    ("unseen", "split_heads", lambda m, n: [rand(4, m, 16, n)], [0.125], "1", lambda x, s: (x * s).transpose(1, 2).contiguous(), (37, 60), (8192, 128)),
    ("unseen", "pad", lambda m, n: [planes(m, n)], [1], "1", lambda x, p: F.pad(x, (p, p, p, p)), (3, 17), (64, 128)),
    ("unseen", "repeat_kv", lambda m, n: [rand(4, 8, m, n)], [4], "1", lambda x, r: x.repeat_interleave(r, 1), (37, 60), (4096, 128)),
    ("unseen", "bilinear", lambda m, n: [planes(m, n)], None, "1", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (3, 17), (64, 64)),
    ("unseen", "pool_last", lambda m, n: [last_planes(m, n)], None, "1", pool_last, (3, 18), (64, 112)),
    ("unseen", "rope_pairs", lambda m, n: [rand(2, m, 32, n), rand(m, n // 2), rand(m, n // 2)], None, "100", turn_pairs, (37, 64), (4096, 128)),
    ("unseen", "film", lambda m, n: [planes(m, n), rand(m, 64), rand(m, 64)], None, "111", lambda x, g, b: x * (1 + g[..., None, None]) + b[..., None, None], (3, 37), (64, 128)),
    ("unseen", "tanh_gate", lambda m, n: [rand(m, n), rand(m, n), rand(1)], None, "111", lambda x, h, a: x + torch.tanh(a) * h, (37, 700), (16384, 4096)),
    ("unseen", "bias_sigmoid_gate", lambda m, n: [rand(m, n), rand(m, n), rand(n)], None, "111", lambda x, r, b: r + F.silu(x + b), (70, 300), (16384, 4096)),
    ("unseen", "expert_scale", lambda m, n: [rand(m, n), rand(m)], None, "11", lambda x, s: x * s[:, None], (37, 700), (16384, 4096)),
    ("unseen", "triplet", of(BF, 3), None, "111", triplets, (37, 700), (16384, 2048)),
    ("unseen", "l1_sum", of(BF, 2), None, "10", lambda x, t: F.smooth_l1_loss(exact(x), exact(t)), (37, 700), (16384, 4096)),
    ("unseen", "log_sum_exp", of(BF), None, "1", lambda x: exact(x).logsumexp(-1), (37, 5000), (8192, 16384)),
    ("unseen", "cumsum", of(BF), None, "1", lambda x: x.cumsum(-1), (37, 700), (16384, 4096)),
    ("unseen", "patchify", lambda m, n: [rand(m, 3, n, n)], None, "1", patches, (3, 64), (256, 224)),
    ("unseen", "embedding_bag", lambda m, n: [ids(m * 32, 32000).view(m, 32), rand(32000, n)], None, "01", lambda i, t: F.embedding_bag(i, t, mode="mean"), (37, 70), (4096, 1024)),
    ("unseen", "token_sum", lambda m, n: [rand(8, m, n), rand(m, n), rand(8, n)], None, "111", lambda x, p, e: F.silu(x + p + e[:, None]), (37, 150), (4096, 2048)),
    ("unseen", "modulate", lambda m, n: [rand(8, m, n), rand(8, n), rand(8, n)], None, "111", modulated, (37, 300), (4096, 1152)),
    ("reductions", "scaled_add", lambda m, n: [rand(m, n), rand(m, n), rand(n)], None, "111", lambda x, y, w: x + w * y, (37, 300), (16384, 4096)),
    ("reductions", "bias_act", lambda m, n: [planes(m, n), rand(64)], None, "11", lambda x, b: F.silu(x + b[:, None, None]), (3, 17), (64, 128)),
    ("reductions", "batch_norm", lambda m, n: [planes(m, n), rand(64), rand(64)], None, "111", lambda x, w, b: F.batch_norm(x, None, None, w, b, True), (3, 37), (32, 56)),
    ("reductions", "group_norm_channels", lambda m, n: [rand(m, 128, n, n), rand(128), rand(128)], None, "111", lambda x, w, b: F.group_norm(x, 32, w, b), (3, 17), (32, 64)),
    ("reductions", "norm_last", lambda m, n: [rand(m, n, n, 64), rand(64), rand(64)], None, "111", lambda x, w, b: F.group_norm(x.permute(0, 3, 1, 2), 8, w, b).permute(0, 2, 3, 1), (3, 17), (64, 64)),
    ("reductions", "layer_norm_2d", lambda m, n: [rand(m, 96, n, n), rand(96), rand(96)], None, "111", lambda x, w, b: F.layer_norm(x.permute(0, 2, 3, 1), (96,), w, b, 1e-6).permute(0, 3, 1, 2), (3, 17), (64, 64)),
    ("reductions", "attention_weights", lambda m, n: [rand(2, m, n, n), (torch.rand(2, n, n, device=DEVICE) > 0.25).to(torch.int8), rand(m, n, n)], [0.125], "101", lambda s, k, b, scale: (s * scale + b).masked_fill(k[:, None] == 0, -torch.inf).softmax(-1), (3, 70), (16, 1024)),
    ("reductions", "drop_rms", lambda m, n: [rand(m, n), rand(m, n), torch.rand(m, n, device=DEVICE) > 0.1, rand(n)], None, "1101", drop_rms, (37, 2500), (16384, 4096)),
    ("reductions", "masked_mean", lambda m, n: [rand(m, n), rand(m, n), torch.rand(m, n, device=DEVICE) > 0.25], None, "100", lambda x, t, k: (exact(x) - exact(t)).square().where(k, 0.0).mean(), (37, 700), (8192, 8192)),
    ("reductions", "chunked_nll", lambda m, n: [rand(m, n), ids(m, n)], None, "10", lambda x, t: F.cross_entropy(exact(x), t, reduction="none"), (37, 5000), (8192, 32000)),
    ("unseen", "polynomial", lambda m, n: [rand(m, n), rand(3, n)], None, "11", lambda x, w: w[0] + x * (w[1] + x * w[2]), (37, 300), (16384, 4096)),
    ("layouts", "frame_difference", lambda m, n: [rand(4, m, n)], None, "1", differences, (37, 150), (4096, 2048)),
    ("layouts", "token_mix_tile", lambda m, n: [rand(4, m, n), rand(n)], None, "11", mixed_token, (37, 150), (4096, 2048)),
    ("layouts", "complex_product", of(BF, 2), None, "11", complex_pairs, (37, 700), (16384, 4096)),
    ("layouts", "rope_even_odd", lambda m, n: [rand(2, m, 32, n), rand(m, n // 2), rand(m, n // 2)], None, "100", turn_pairs, (37, 64), (4096, 128)),
    ("layouts", "unfold", lambda m, n: [rand(m, 16, n, n)], None, "1", lambda x: F.unfold(x, 3), (3, 17), (16, 128)),
    ("layouts", "upsample_rows", lambda m, n: [planes(m, n)], None, "1", lambda x: F.interpolate(x, scale_factor=2), (3, 9), (64, 64)),
    ("layouts", "interpolate_rows", of(BF), None, "1", lambda x: F.interpolate(x[:, None], scale_factor=2, mode="linear", align_corners=True)[:, 0], (37, 700), (16384, 2048)),
    ("layouts", "top_weights", lambda m, n: top(m, n, 8), None, "10", chosen, (37, 64), (65536, 128)),
    ("layouts", "gather_columns", lambda m, n: [rand(m, n), torch.rand(m, n, device=DEVICE).argsort(-1)[:, : n // 2].contiguous()], None, "10", lambda x, i: x.gather(1, i), (37, 700), (4096, 4096)),
    ("layouts", "concat", lambda m, n: [rand(m, n), rand(m, n + 2)], None, "11", lambda a, b: torch.cat((a, b), 1) * 0.5, (37, 700), (16384, 2048)),
    ("layouts", "every_other", of(BF), None, "1", lambda x: x[:, ::2] * 2, (37, 701), (16384, 4096)),
    ("layouts", "repeat_flat", of(BF), [4], "1", lambda x, r: x.repeat_interleave(r, 1), (37, 700), (4096, 4096)),
    ("layouts", "laplace", lambda m, n: [planes(m, n)], None, "1", five_points, (3, 17), (64, 128)),
    ("layouts", "smooth_edges", of(BF), None, "1", smooth_rows, (37, 1700), (16384, 4096)),
    ("layouts", "average3", lambda m, n: [planes(m, n)], None, "1", lambda x: F.avg_pool2d(x, 3, 1, 1), (3, 17), (64, 128)),
    ("layouts", "windows", lambda m, n: [last_planes(m, n)], None, "1", window_parts, (3, 14), (64, 112)),
    ("layouts", "conv_tile", lambda m, n: [rand(4, m, n), rand(n, 4)], None, "11", conv_time, (70, 150), (4096, 2048)),
    ("layouts", "channel_shuffle", lambda m, n: [planes(m, n)], None, "1", lambda x: F.channel_shuffle(x, 4), (3, 17), (64, 128)),
    ("layouts", "flip_flat", of(BF), None, "1", lambda x: x.flip(1), (37, 700), (16384, 4096)),
    ("layouts", "pad_rows", of(BF), [3, 5], "1", lambda x, a, b: F.pad(x, (a, b)), (37, 700), (16384, 4096)),
    ("layouts", "patch_rows", lambda m, n: [rand(m, 3, n, n)], None, "1", patch_pixels, (3, 56), (256, 224)),
    ("layouts", "conv_taps", lambda m, n: [rand(4, m, n), rand(n, 4)], None, "11", conv_time, (70, 150), (4096, 2048)),
    ("layouts", "average_tiles", lambda m, n: [planes(m, n)], None, "1", lambda x: F.avg_pool2d(x, 2), (3, 18), (64, 128)),
    ("layouts", "laplace_flat", lambda m, n: [planes(m, n)], None, "1", five_points, (3, 17), (64, 128)),
    ("layouts", "take_rows", lambda m, n: [rand(m, n), ids(m, m)], None, "10", lambda x, i: x[i], (370, 70), (16384, 4096)),
]


def flat(results):
    results = results if isinstance(results, tuple) else (results,)
    return [t for t in results if t.requires_grad]


def prepared(call, case, size, double=False):
    """The outputs of a call, the tensors that ask for a gradient, and upstream gradients: the same for the same case and size."""
    torch.manual_seed(7)
    tensors = case[2](*size)
    if double:
        tensors = [t.double() if t.is_floating_point() else t for t in tensors]
    asked = [t.requires_grad_() for t, ask in zip(tensors, case[4], strict=True) if ask == "1"]
    outputs = flat(call(*tensors, *(case[3] or [])))
    torch.manual_seed(8)
    return outputs, asked, [torch.randn(t.shape, device=DEVICE).to(t.dtype) for t in outputs]


def error(call, case):
    outputs, asked, upstream = prepared(call, case, case[6])
    got = torch.autograd.grad(outputs, asked, upstream)
    outputs, asked, _ = prepared(case[5], case, case[6], double=True)
    want = torch.autograd.grad(outputs, asked, [t.double() for t in upstream])
    return max(((g.double() - w).norm() / w.norm()).item() for g, w in zip(got, want, strict=True))


def timed(call, case):
    """Median, tenth and ninetieth percentile of a backward, in milliseconds. The GPU waits before it: what Python takes is not seen."""
    outputs, asked, upstream = prepared(call, case, case[7])
    cache, found = torch.empty(1 << 28, dtype=torch.int8, device=DEVICE), []
    for i in range(3 + REPEATS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        cache.zero_()
        torch.cuda._sleep(WAIT)
        start.record()
        torch.autograd.grad(outputs, asked, upstream, retain_graph=True)
        end.record()
        torch.cuda.synchronize()
        if i >= 3:
            found.append(start.elapsed_time(end))
    found.sort()
    return [found[int(share * len(found))] for share in (0.5, 0.1, 0.9)]


DRAWN = {  # of which PyTorch draws other numbers
    "dropout_residual": lambda x, r, p, seed: r + F.dropout(x, p),
    "dropout": lambda x, p, seed: F.dropout(x, p),
    "bias_dropout_gelu": lambda x, b, p, seed: F.dropout(F.gelu(x + b), p),
}


def peers_of(case):
    """Who computes the same: PyTorch as it comes, and compiled."""
    form = case[5] or DRAWN[case[1]]
    return {"eager": form, "compile": torch.compile(form, dynamic=False)}


def row(folder, case):
    ours = getattr(importlib.import_module(case[0] + "_backward"), case[1])
    worst = error(ours, case) if case[5] else math.nan
    times = {"ours": timed(ours, case)}
    for name, form in peers_of(case).items():
        torch.cuda.empty_cache()
        times[name] = timed(form, case)
    shown = " | ".join(f"{t[0]:.3f} ({t[1]:.3f} to {t[2]:.3f})" for t in times.values())
    ratio = min(t[0] for name, t in times.items() if name != "ours") / times["ours"][0]
    print(f"| {case[1]} | {worst:.1e} | {shown} | {ratio:.2f} |", flush=True)
    return ratio


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--only", default="")
    parser.add_argument("--warm")
    arguments = parser.parse_args()
    sys.path.insert(0, arguments.folder)
    wanted = arguments.only.split(",")
    cases = [case for case in CASES if any(text in case[0] + "." + case[1] for text in wanted)]
    if arguments.warm:
        first, step = map(int, arguments.warm.split("/"))
        cases = cases[first::step]
    else:
        print("| kernel | worst gradient | emitted, ms | PyTorch, ms | torch.compile, ms | the better / emitted |")
        print("|---|--:|--:|--:|--:|--:|")
    ratios = []
    for case in cases:
        try:
            torch.cuda.empty_cache()
            ratios.append(row(arguments.folder, case))
        except Exception as problem:  # every case is reported
            print(f"| {case[1]} | FAILED: {type(problem).__name__}: {str(problem)[:300]}", flush=True)
            traceback.print_exc(limit=-3)
    if ratios and not arguments.warm:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"\nGeometric mean over {len(ratios)} kernels: {mean:.2f}.", flush=True)
    sys.exit(len(ratios) != len(cases))


if __name__ == "__main__":
    main()
