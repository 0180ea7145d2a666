"""A module of about LINES lines: kernels with a loop or two and their launchers, as large files of kernels are."""

from __future__ import annotations

import sys

HEADER = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
KERNEL = """@triton.jit
def layer_norm_{i}(
    X,
    Y,
    W,
    B,
    stride,
    N,
    eps,
    BLOCK_SIZE: tl.constexpr,
):
    row = tl.program_id(0)
    X += row * stride
    Y += row * stride
    total = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        total += tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / N
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        mask = cols < N
        w = tl.load(W + cols, mask=mask)
        b = tl.load(B + cols, mask=mask)
        x = tl.load(X + cols, mask=mask, other=0.0).to(tl.float32)
        tl.store(Y + cols, (x - mean) * w + b, mask=mask)


def launch_{i}(x, w, b, eps):
    y = torch.empty_like(x)
    M, N = x.shape
    layer_norm_{i}[(M,)](x, y, w, b, x.stride(0), N, eps, BLOCK_SIZE=1024)
    return y


"""


def module_text(lines: int) -> str:
    each = KERNEL.count("\n")
    count = max(1, (lines - HEADER.count("\n")) // each)
    return (HEADER + "".join(KERNEL.replace("{i}", str(i)) for i in range(count))).rstrip() + "\n"


if __name__ == "__main__":
    sys.stdout.write(module_text(int(sys.argv[1])))
