# ruff: noqa: E501
"""On a CUDA machine: backwards of a norm and of a softmax with a program for each row, from 64 columns to 4,096, beside torch.compile.

    tad-lsp --backward bench/gpu/style/short.py -o DIR/short_backward.py
    python bench/gpu/short_rows.py DIR

A row: the largest relative error of a gradient, ms of a backward (peers.timed) and of torch.compile's, and how many times as fast ours is.
"""

import importlib
import sys

import peers
import torch

ELEMENTS = 2**25
CASES = [
    ("rms_row", lambda m, n: [peers.rand(m, n), peers.rand(n)], "11", peers.rms),
    ("softmax_row", lambda m, n: [peers.rand(m, n)], "1", lambda x: x.softmax(-1)),
]


def main():
    sys.path.insert(0, sys.argv[1])
    module = importlib.import_module("short_backward")
    print(
        "| kernel | rows and columns | worst gradient | emitted | torch.compile | torch.compile / emitted |"
    )
    print("|---|---|--:|--:|--:|--:|")
    for columns in (64, 128, 256, 512, 1024, 4096):
        for name, make, asks, form in CASES:
            size = ELEMENTS // columns, columns
            case = ("short", name, make, None, asks, form, (37, 60), size)
            ours, compiled = getattr(module, name), torch.compile(form, dynamic=False)
            worst, own, other = (
                peers.error(ours, case),
                peers.timed(ours, case)[0],
                peers.timed(compiled, case)[0],
            )
            print(
                f"| {name} | {size} | {worst:.1e} | {own:.3f} | {other:.3f} | {other / own:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
