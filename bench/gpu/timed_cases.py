# ruff: noqa: E501
"""Launches of examples/ that workers.py times: each by PyTorch's hands, with its file, its kernel and the same as a `# tad time:` line."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import torch

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def module(path: Path) -> object:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def rand(*shape: int, dtype: str = "float32") -> object:
    return (torch.rand(*shape, device="cuda") * 2 - 1).to(getattr(torch, dtype))


def softmax(m: int, n: int) -> tuple:
    x, y = rand(m, n), rand(m, n)
    kernel = module(EXAMPLES / "softmax.py").softmax_kernel
    line = f"out_ptr=f32[{m}, {n}], in_ptr=f32[{m}, {n}], in_stride={n}, out_stride={n}, n_cols={n}, BLOCK={n}, grid=({m},)"
    return lambda: kernel[(m,)](y, x, n, n, n, BLOCK=n), "softmax.py", "softmax_kernel", line


def gelu(n: int) -> tuple:
    x, y = rand(n), rand(n)
    kernel = module(EXAMPLES / "activations.py").gelu_kernel
    line = f"x_ptr=f32[{n}], y_ptr=f32[{n}], n_elements={n}, APPROXIMATE=False, BLOCK=1024, grid=({n // 1024},)"
    launch = lambda: kernel[(n // 1024,)](x, y, n, APPROXIMATE=False, BLOCK=1024)  # noqa: E731
    return launch, "activations.py", "gelu_kernel", line


def layer_norm(m: int, n: int) -> tuple:
    x, y = rand(m, n, dtype="float16"), rand(m, n, dtype="float16")
    w, b = rand(n, dtype="float16"), rand(n, dtype="float16")
    kernel = module(EXAMPLES / "layer_norm.py").layer_norm_row_kernel
    line = (
        f"x_ptr=f16[{m}, {n}], y_ptr=f16[{m}, {n}], weight_ptr=f16[{n}], bias_ptr=f16[{n}], x_row_stride={n}, "
        f"y_row_stride={n}, n_cols={n}, eps=0.00001, HAS_BIAS=True, BLOCK={n}, grid=({m},)"
    )
    launch = lambda: kernel[(m,)](x, y, w, b, n, n, n, 1e-5, HAS_BIAS=True, BLOCK=n)  # noqa: E731
    return launch, "layer_norm.py", "layer_norm_row_kernel", line


def matmul(n: int) -> tuple:
    a, b, c = (rand(n, n, dtype="float16") for _ in range(3))
    kernel = module(EXAMPLES / "matmul.py").matmul_kernel
    grid = (n // 64, n // 64)
    line = (
        f"a_ptr=f16[{n}, {n}], b_ptr=f16[{n}, {n}], c_ptr=f16[{n}, {n}], M={n}, N={n}, K={n}, stride_am={n}, stride_ak=1, "
        f"stride_bk={n}, stride_bn=1, stride_cm={n}, stride_cn=1, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, grid={grid}"
    )
    sizes = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}
    launch = lambda: kernel[grid](a, b, c, n, n, n, n, 1, n, 1, n, 1, **sizes)  # noqa: E731
    return launch, "matmul.py", "matmul_kernel", line


def cumsum(m: int, n: int) -> tuple:
    x, y = rand(m, n), rand(m, n)
    kernel = module(EXAMPLES / "cumsum.py").cumsum_row_kernel
    line = f"x_ptr=f32[{m}, {n}], y_ptr=f32[{m}, {n}], n_cols={n}, REVERSE=False, BLOCK={n}, grid=({m},)"
    launch = lambda: kernel[(m,)](x, y, n, REVERSE=False, BLOCK=n)  # noqa: E731
    return launch, "cumsum.py", "cumsum_row_kernel", line


# Made one after the other: each has its tensors.
CASES = (
    lambda: softmax(8192, 4096),
    lambda: gelu(2**26),
    lambda: layer_norm(8192, 4096),
    lambda: matmul(4096),
    lambda: cumsum(8192, 4096),
)
