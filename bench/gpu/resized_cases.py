# ruff: noqa: E501
"""The rows of the kernels in bench/gpu/style/resized.py: laid out as CASES in bench/gpu/peers.py, timed in the same way.

tad-lsp --backward bench/gpu/style/resized.py -o DIR/resized_backward.py
python bench/gpu/resized_cases.py DIR [--only TEXT,...] [--warm K/N]
"""

import peers
import torch
import torch.nn.functional as F
from peers import BF, SINGLE, of, planes, rand


def segments(m, n):
    lengths = torch.randint(0, 9, (m,), device=peers.DEVICE)
    offsets = torch.cat((lengths.new_zeros(1), lengths.cumsum(0)))
    return [rand(int(offsets[-1]), n, dtype=SINGLE), offsets]


def segment_sum(x, offsets):
    segment = torch.searchsorted(offsets, torch.arange(len(x), device=x.device), right=True) - 1
    return x.new_zeros(len(offsets) - 1, x.shape[1]).index_add(0, segment, x)


def group_norm_silu(x, w, b):
    return F.silu(F.group_norm(x, 32, w, b))


# as CASES of bench/gpu/peers.py
RESIZED = [
    (
        "resized",
        "max_pool2d",
        lambda m, n: [planes(m, n)],
        None,
        "1",
        lambda x: F.max_pool2d(x, 3, 2, 1),
        (3, 17),
        (64, 112),
    ),
    (
        "resized",
        "avg_pool2d",
        lambda m, n: [planes(m, n)],
        None,
        "1",
        lambda x: F.avg_pool2d(x, 3, 2, 1),
        (3, 17),
        (64, 112),
    ),
    (
        "resized",
        "max_dim",
        lambda m, n: [rand(128, m, n)],
        None,
        "1",
        lambda x: x.max(1).values,
        (37, 150),
        (1024, 512),
    ),
    (
        "resized",
        "nearest",
        lambda m, n: [planes(m, n)],
        None,
        "1",
        lambda x: F.interpolate(x, scale_factor=1.5),
        (3, 17),
        (64, 64),
    ),
    (
        "resized",
        "bilinear_rows",
        lambda m, n: [planes(m, n)],
        None,
        "1",
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True),
        (3, 17),
        (64, 64),
    ),
    (
        "resized",
        "edge_pad",
        lambda m, n: [planes(m, n)],
        None,
        "1",
        lambda x: F.pad(x, (2, 2, 2, 2), mode="replicate"),
        (3, 17),
        (64, 128),
    ),
    (
        "resized",
        "reflect_rows",
        of(BF),
        None,
        "1",
        lambda x: F.pad(x[None], (8, 8), mode="reflect")[0],
        (37, 700),
        (16384, 4096),
    ),
    (
        "resized",
        "group_norm_silu",
        lambda m, n: [planes(m, n), rand(64), rand(64)],
        None,
        "111",
        group_norm_silu,
        (3, 17),
        (64, 112),
    ),
    (
        "resized",
        "repeat_columns",
        of(BF),
        None,
        "1",
        lambda x: x.repeat_interleave(3, 1),
        (37, 700),
        (4096, 4096),
    ),
    ("resized", "segment_sum", segments, None, "10", segment_sum, (37, 300), (16384, 512)),
    (
        "resized",
        "avg_pool1d",
        of(BF),
        None,
        "1",
        lambda x: F.avg_pool1d(x[:, None], 5, 2)[:, 0],
        (37, 701),
        (8192, 8192),
    ),
    (
        "resized",
        "shift_tokens",
        lambda m, n: [rand(8, m, n)],
        None,
        "1",
        lambda x: F.pad(x[:, :-1], (0, 0, 1, 0)),
        (37, 150),
        (4096, 2048),
    ),
]


if __name__ == "__main__":
    peers.CASES[:] = RESIZED
    peers.main()
