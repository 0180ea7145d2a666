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


@triton.jit
def counted_down(
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
    EVEN_K: tl.constexpr,
):
    """The loop counts the terms that are left."""
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    A = a_ptr + (rm[:, None] * stride_am + rk[None, :] * stride_ak)
    B = b_ptr + (rk[:, None] * stride_bk + rn[None, :] * stride_bn)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(K, 0, -BLOCK_K):
        if EVEN_K:
            a = tl.load(A, mask=rm[:, None] < M, other=0.0)
            b = tl.load(B, mask=rn[None, :] < N, other=0.0)
        else:
            a = tl.load(A, mask=(rk[None, :] < k) & (rm[:, None] < M), other=0.0)
            b = tl.load(B, mask=(rk[:, None] < k) & (rn[None, :] < N), other=0.0)
        acc += tl.dot(a, b)
        A += BLOCK_K * stride_ak
        B += BLOCK_K * stride_bk
    tl.store(c_ptr + rm[:, None] * N + rn, acc, mask=(rm < M)[:, None] & (rn < N)[None, :])


@triton.jit
def left_behind(
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
    EVEN_K: tl.constexpr,
):
    """Whole blocks in the loop; the same statements behind it, with a mask, for what is left."""
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + rm[:, None] * stride_am + rk[None, :] * stride_ak
    b_ptrs = b_ptr + rk[:, None] * stride_bk + rn[None, :] * stride_bn
    rows, columns = rm < M, rn < N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, K // BLOCK_K):
        a = tl.load(a_ptrs, mask=rows[:, None], other=0.0)
        b = tl.load(b_ptrs, mask=columns[None, :], other=0.0)
        acc += tl.dot(a, b)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    terms = rk < K - (K // BLOCK_K) * BLOCK_K
    a = tl.load(a_ptrs, mask=rows[:, None] & terms[None, :], other=0.0)
    b = tl.load(b_ptrs, mask=terms[:, None] & columns[None, :], other=0.0)
    acc += tl.dot(a, b)
    tl.store(c_ptr + rm[:, None] * N + rn, acc, mask=rows[:, None] & columns[None, :])


@triton.jit
def left_by_flag(
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
    EVEN_K: tl.constexpr,
):
    """A flag says whether something is left, and so how many blocks the loop has; rows and columns wrap around."""
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (rm % M)[:, None] * stride_am + rk[None, :] * stride_ak
    b_ptrs = b_ptr + rk[:, None] * stride_bk + (rn % N)[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    blocks = tl.cdiv(K, BLOCK_K)
    if not EVEN_K:
        blocks -= 1
    for _ in range(0, blocks):
        a = tl.load(a_ptrs)
        b = tl.load(b_ptrs)
        acc += tl.dot(a, b)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    if not EVEN_K:
        rk = blocks * BLOCK_K + tl.arange(0, BLOCK_K)
        a_ptrs = a_ptr + (rm % M)[:, None] * stride_am + rk[None, :] * stride_ak
        b_ptrs = b_ptr + rk[:, None] * stride_bk + (rn % N)[None, :] * stride_bn
        a = tl.load(a_ptrs, mask=rk[None, :] < K, other=0.0)
        b = tl.load(b_ptrs, mask=rk[:, None] < K, other=0.0)
        acc += tl.dot(a, b)
    tl.store(c_ptr + rm[:, None] * N + rn, acc, mask=(rm < M)[:, None] & (rn < N)[None, :])


@triton.jit
def left_by_remainder(
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
    EVEN_K: tl.constexpr,
):
    """The loop ends in front of `K % BLOCK_K`, and that is asked for behind it."""
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    a_rows = a_ptr + rm[:, None] * stride_am
    b_columns = b_ptr + rn[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    rest = K % BLOCK_K
    for start in range(0, K - rest, BLOCK_K):
        k = start + rk
        a = tl.load(a_rows + k[None, :] * stride_ak, mask=rm[:, None] < M, other=0.0)
        b = tl.load(b_columns + k[:, None] * stride_bk, mask=rn[None, :] < N, other=0.0)
        acc = tl.dot(a, b, acc)
    if rest > 0:
        k = K - rest + rk
        inside = rk < rest
        mask = (rm[:, None] < M) & inside[None, :]
        a = tl.load(a_rows + k[None, :] * stride_ak, mask=mask, other=0.0)
        mask = inside[:, None] & (rn[None, :] < N)
        b = tl.load(b_columns + k[:, None] * stride_bk, mask=mask, other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rm[:, None] * N + rn, acc, mask=(rm < M)[:, None] & (rn < N)[None, :])


@triton.jit
def left_elsewhere(
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
    EVEN_K: tl.constexpr,
):
    """What stands behind the loop reads the first block once more: no further iteration."""
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + rm[:, None] * stride_am + rk[None, :] * stride_ak
    b_ptrs = b_ptr + rk[:, None] * stride_bk + rn[None, :] * stride_bn
    rows, columns = rm < M, rn < N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K // BLOCK_K):
        at = k * BLOCK_K
        a = tl.load(a_ptrs + at * stride_ak, mask=rows[:, None], other=0.0)
        b = tl.load(b_ptrs + at * stride_bk, mask=columns[None, :], other=0.0)
        acc += tl.dot(a, b)
    terms = rk < K
    a = tl.load(a_ptrs, mask=rows[:, None] & terms[None, :], other=0.0)
    b = tl.load(b_ptrs, mask=terms[:, None] & columns[None, :], other=0.0)
    acc += tl.dot(a, b)
    tl.store(c_ptr + rm[:, None] * N + rn, acc, mask=rows[:, None] & columns[None, :])


@triton.jit
def seen_between(
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
    EVEN_K: tl.constexpr,
):
    """The sum of the whole blocks is used for itself, too: no further iteration."""
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + rm[:, None] * stride_am + rk[None, :] * stride_ak
    b_ptrs = b_ptr + rk[:, None] * stride_bk + rn[None, :] * stride_bn
    rows, columns = rm < M, rn < N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, K // BLOCK_K):
        a = tl.load(a_ptrs, mask=rows[:, None], other=0.0)
        b = tl.load(b_ptrs, mask=columns[None, :], other=0.0)
        acc += tl.dot(a, b)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    terms = rk < K % BLOCK_K
    a = tl.load(a_ptrs, mask=rows[:, None] & terms[None, :], other=0.0)
    b = tl.load(b_ptrs, mask=terms[:, None] & columns[None, :], other=0.0)
    both = acc + tl.dot(a, b)
    c = both + tl.sin(acc)
    tl.store(c_ptr + rm[:, None] * N + rn, c, mask=rows[:, None] & columns[None, :])


def launch_counted_down(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    M, K = a.shape
    K, N = b.shape
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    s, t = a.stride(), b.stride()
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16))
    counted_down[grid](a, b, c, M, N, K, s[0], s[1], t[0], t[1], 16, 16, 16, EVEN_K=K % 16 == 0)
    return c


def launch_left_behind(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    M, K = a.shape
    K, N = b.shape
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    s, t = a.stride(), b.stride()
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16))
    left_behind[grid](a, b, c, M, N, K, s[0], s[1], t[0], t[1], 16, 16, 16, EVEN_K=K % 16 == 0)
    return c


def launch_left_by_flag(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    M, K = a.shape
    K, N = b.shape
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    s, t = a.stride(), b.stride()
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16))
    left_by_flag[grid](a, b, c, M, N, K, s[0], s[1], t[0], t[1], 16, 16, 16, EVEN_K=K % 16 == 0)
    return c


def launch_left_by_remainder(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    M, K = a.shape
    K, N = b.shape
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    s, t = a.stride(), b.stride()
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16))
    left_by_remainder[grid](
        a, b, c, M, N, K, s[0], s[1], t[0], t[1], 16, 16, 16, EVEN_K=K % 16 == 0
    )
    return c


def launch_left_elsewhere(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    M, K = a.shape
    K, N = b.shape
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    s, t = a.stride(), b.stride()
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16))
    left_elsewhere[grid](a, b, c, M, N, K, s[0], s[1], t[0], t[1], 16, 16, 16, EVEN_K=K % 16 == 0)
    return c


def launch_seen_between(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    M, K = a.shape
    K, N = b.shape
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    s, t = a.stride(), b.stride()
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16))
    seen_between[grid](a, b, c, M, N, K, s[0], s[1], t[0], t[1], 16, 16, 16, EVEN_K=K % 16 == 0)
    return c


@triton.jit
def kept_and_summed(x_ptr, kept_ptr, sum_ptr, stride, n, BLOCK: tl.constexpr):
    """Each iteration stores, too: one more of it would write beyond the row."""
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    whole = tl.cdiv(n, BLOCK) - 1
    for block in range(0, whole):
        at = block * BLOCK + lanes
        x = tl.load(x_ptr + row * stride + at)
        square = x * x
        tl.store(kept_ptr + row * stride + at, square)
        total += square
    at = whole * BLOCK + lanes
    x = tl.load(x_ptr + row * stride + at, mask=at < n, other=0.0)
    square = x * x
    tl.store(kept_ptr + row * stride + at, square, mask=at < n)
    total += square
    tl.store(sum_ptr + row, tl.sum(total, axis=0))


def launch_kept_and_summed(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    rows, n = x.shape
    kept = torch.empty_like(x)
    sums = torch.empty(rows, device=x.device, dtype=x.dtype)
    kept_and_summed[(rows,)](x, kept, sums, x.stride(0), n, BLOCK=16)
    return kept, sums


@triton.jit
def counted_below_zero(
    x_ptr, sum_ptr, rows, n, stride, step, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    """Without an element the first loop counts to -1: it has moved nothing, and the second one runs."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    lanes = tl.arange(0, BLOCK)
    places = x_ptr + row[:, None] * stride + lanes[None, :] * step
    total = tl.zeros([ROWS], dtype=tl.float32)
    blocks = tl.cdiv(n, BLOCK)
    for _ in range(0, blocks - 1):
        x = tl.load(places, mask=row[:, None] < rows, other=0.0)
        total += tl.sum(x * x, axis=1)
        places += BLOCK * step
    for block in range(blocks - 1, blocks):
        left = n - block * BLOCK
        x = tl.load(places, mask=(row[:, None] < rows) & (lanes[None, :] < left), other=0.0)
        total += tl.sum(x * x, axis=1)
        places += BLOCK * step
    tl.store(sum_ptr + row, total, mask=row < rows)
