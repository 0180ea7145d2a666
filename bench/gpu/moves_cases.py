# ruff: noqa: E501
"""The rows of the kernels in bench/gpu/style/moves.py: laid out as CASES in bench/gpu/peers.py, timed in the same way.

    tad-lsp --backward bench/gpu/style/moves.py -o DIR/moves_backward.py
    python bench/gpu/moves_cases.py DIR [--only TEXT,...] [--warm K/N]
"""

import peers
import torch
import torch.nn.functional as F
from peers import BF, of, planes, rand


def space_to_batch(x, s=2):
    n, h, w, c = x.shape
    return x.view(n, h // s, s, w // s, s, c).permute(2, 4, 0, 1, 3, 5).reshape(s * s * n, h // s, w // s, c)


def expand_kv(x, g):
    return x.transpose(1, 2).repeat_interleave(g, 1)


def unpatch(tok, gh, gw, p=14):
    b, _, e = tok.shape
    return tok.view(b, gh, gw, p, p, e // (p * p)).permute(0, 5, 1, 3, 2, 4).reshape(b, -1, gh * p, gw * p)


def channel_shift(x, div=4):
    fold = x.shape[2] // div
    last = F.pad(x[:, :-1, :fold], (0, 0, 1, 0))
    later = F.pad(x[:, 1:, fold : 2 * fold], (0, 0, 0, 1))
    return torch.cat((last, later, x[:, :, 2 * fold :]), 2)


# as CASES of bench/gpu/peers.py
MOVES = [
    ("moves", "pixel_unshuffle_tile", lambda m, n: [planes(m, n)], None, "1", lambda x: F.pixel_unshuffle(x, 2), (3, 18), (64, 128)),
    ("moves", "roll_rows", of(BF), [-37], "1", lambda x, s: torch.roll(x, s, 1), (37, 700), (16384, 4096)),
    ("moves", "interleave", of(BF, 2), None, "11", lambda a, b: torch.stack((a, b), 2).flatten(1), (37, 701), (16384, 2048)),
    ("moves", "reverse_rows", of(BF), None, "1", lambda x: x.flip(0), (37, 1100), (16384, 4096)),
    ("moves", "space_to_batch", lambda m, n: [rand(m, n, n, 96)], None, "1", space_to_batch, (3, 18), (64, 112)),
    ("moves", "expand_kv", lambda m, n: [rand(4, m, 8, n)], [4], "1", expand_kv, (37, 20), (4096, 128)),
    ("moves", "merge_heads_rows", lambda m, n: [rand(4, 16, m, n)], None, "1", lambda x: x.transpose(1, 2).flatten(2), (37, 32), (8192, 128)),
    ("moves", "stack_two", of(BF, 2), None, "11", lambda a, b: torch.stack((a, b)), (37, 700), (8192, 4096)),
    ("moves", "split_columns", of(BF), [240], "1", lambda x, na: x.split((na, x.shape[1] - na), 1), (37, 700), (16384, 4096)),
    ("moves", "unpatch", lambda m, n: [rand(m, n * 16, 588)], [16, 16], "1", unpatch, (3, 16), (256, 16)),
    ("moves", "shift_right", lambda m, n: [rand(8, m, n)], None, "1", lambda x: F.pad(x[:, :-1], (0, 0, 1, 0)), (37, 1100), (2048, 4096)),
    ("moves", "channel_shift_tile", lambda m, n: [rand(8, m, n)], None, "1", channel_shift, (37, 150), (4096, 2048)),
    ("moves", "gather_frames", lambda m, n: [rand(m, 33, n)], None, "1", lambda x: x[:, ::2], (3, 1100), (64, 50176)),
]


if __name__ == "__main__":
    peers.CASES[:] = MOVES
    peers.main()
