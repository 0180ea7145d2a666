"""A product whose sum has the type that a launcher picks: Triton compiles none of floats that is summed in whole numbers."""

import torch
import triton
import triton.language as tl


@triton.jit
def product(
    a_ptr, b_ptr, c_ptr, K, ACC: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=ACC)
    for start in range(0, K, BK):
        inside = start + k < K
        a = tl.load(a_ptr + m[:, None] * K + (start + k), mask=inside[None, :], other=0.0)
        b = tl.load(b_ptr + (start + k)[:, None] * BN + n, mask=inside[:, None], other=0.0)
        acc += tl.dot(a, b, out_dtype=ACC)
    tl.store(c_ptr + m[:, None] * BN + n, acc)


def run(a, b, acc_dtype=None):
    K = a.shape[1]
    c = torch.empty((16, 32), device=a.device, dtype=torch.float32)
    if acc_dtype is None:
        acc = tl.float32 if a.dtype.is_floating_point else tl.int32
    else:
        acc = {torch.float32: tl.float32, torch.int32: tl.int32}[acc_dtype]
    product[(1,)](a, b, c, K, acc, 16, 32, 16)
    return c


def int8_product(a, b):
    return run(a, b, torch.int32)
