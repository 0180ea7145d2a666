"""Products whose last block of terms may be ragged: under a flag, behind the loop, counted from the end."""

import torch
import triton
import triton.language as tl


@triton.jit
def flagged(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
    EVEN_K: tl.constexpr,
):
    """Masks only where the flag says that the terms are no whole blocks; rows and columns wrap around."""
    pid = tl.program_id(0)
    down = tl.cdiv(M, BLOCK_M)
    across = tl.cdiv(N, BLOCK_N)
    width = GROUP_M * across
    group = pid // width
    height = min(down - group * GROUP_M, GROUP_M)
    pid_m = group * GROUP_M + (pid % width) % height
    pid_n = (pid % width) // height
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    A = a_ptr + (rm % M)[:, None] * stride_am + rk[None, :] * stride_ak
    B = b_ptr + rk[:, None] * stride_bk + (rn % N)[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        if EVEN_K:
            a = tl.load(A)
            b = tl.load(B)
        else:
            k_remaining = K - k * BLOCK_K
            a = tl.load(A, mask=rk[None, :] < k_remaining, other=0.0)
            b = tl.load(B, mask=rk[:, None] < k_remaining, other=0.0)
        acc += tl.dot(a, b)
        A += BLOCK_K * stride_ak
        B += BLOCK_K * stride_bk
    C = c_ptr + rm[:, None] * N + rn[None, :]
    tl.store(C, acc, mask=(rm < M)[:, None] & (rn < N)[None, :])


def launch_flagged(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    M, K = a.shape
    K, N = b.shape
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    grid = (triton.cdiv(M, 16) * triton.cdiv(N, 16),)
    flagged[grid](
        a,
        b,
        c,
        M,
        N,
        K,
        a.stride(0),
        a.stride(1),
        b.stride(0),
        b.stride(1),
        BLOCK_M=16,
        BLOCK_N=16,
        BLOCK_K=16,
        GROUP_M=2,
        EVEN_K=K % 16 == 0,
    )
    return c


@triton.jit
def flagged_rows(x, w, y, n, m, B: tl.constexpr, FIRST: tl.constexpr):
    """Both branches read all weights, up to different bounds: all programs add to them."""
    row = tl.program_id(0)
    lanes = tl.arange(0, B)
    if FIRST:
        scale = tl.load(w + lanes, mask=lanes < m, other=0.0)
    else:
        scale = tl.load(w + lanes, mask=lanes < n, other=1.0)
    values = tl.load(x + row * n + lanes, mask=lanes < n, other=0.0)
    tl.store(y + row * n + lanes, values * scale * scale, mask=lanes < n)


def launch_flagged_rows(x: torch.Tensor, w: torch.Tensor, first: bool) -> torch.Tensor:
    rows, n = x.shape
    assert w.shape[0] == n
    y = torch.empty_like(x)
    flagged_rows[(rows,)](x, w, y, n, n // 2, B=triton.next_power_of_2(n), FIRST=first)
    return y


@triton.jit
def flagged_elsewhere(x, y, n, B: tl.constexpr, BACKWARDS: tl.constexpr):
    """The branches read different places: each keeps its own addition, and programs do not meet."""
    lanes = tl.program_id(0) * B + tl.arange(0, B)
    if BACKWARDS:
        values = tl.load(x + (n - 1 - lanes), mask=lanes < n, other=0.0)
    else:
        values = tl.load(x + lanes, mask=lanes < n, other=0.0)
    tl.store(y + lanes, tl.sin(values), mask=lanes < n)


def launch_flagged_elsewhere(x: torch.Tensor, backwards: bool) -> torch.Tensor:
    y = torch.empty_like(x)
    n = x.numel()
    flagged_elsewhere[(triton.cdiv(n, 16),)](x, y, n, B=16, BACKWARDS=backwards)
    return y
