"""Descriptors that the launcher makes: their sizes are those of the kernel's tiles."""

import triton
import triton.language as tl


@triton.jit
def scaled_product(
    a_desc,
    b_desc,
    c_desc,
    s_ptr,
    M,
    N,
    K,
    s_stride,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP: tl.constexpr,
):
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    in_group = GROUP * tiles_n
    first_m = pid // in_group * GROUP
    rows = min(tiles_m - first_m, GROUP)
    pid_m = first_m + pid % rows
    pid_n = pid % in_group // rows
    s_row = (pid_m * BM + tl.arange(0, BM)) % M
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = a_desc.load([pid_m * BM, k * BK])
        b = b_desc.load([pid_n * BN, k * BK])
        s = tl.load(s_ptr + s_row * s_stride + k)
        acc += tl.dot(a, b.T) * s[:, None]
    c_desc.store([pid_m * BM, pid_n * BN], acc)
