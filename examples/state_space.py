"""Linear recurrences over time: a loop, a parallel scan, a selective state space."""

import torch
import triton
import triton.language as tl


@triton.jit
def recurrence_kernel(a_ptr, x_ptr, h0_ptr, h_ptr, T, D, BLOCK: tl.constexpr):
    """One block of channels of one batch element per program; walks through time."""
    batch = tl.program_id(0)
    d = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = d < D
    h = tl.zeros([BLOCK], dtype=tl.float32)
    if h0_ptr is not None:
        h += tl.load(h0_ptr + batch * D + d, mask=mask, other=0.0)
    for t in range(T):
        offsets = (batch * T + t) * D + d
        a = tl.load(a_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
        x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
        h = a * h + x
        tl.store(h_ptr + offsets, h, mask=mask)


@triton.jit
def compose(a_first, b_first, a_second, b_second):
    """h -> a * h + b, first then second."""
    return a_second * a_first, a_second * b_first + b_second


@triton.jit
def scan_kernel(a_ptr, x_ptr, h_ptr, T, D, BLOCK_T: tl.constexpr):
    """The same recurrence of one channel as an associative scan over time."""
    batch = tl.program_id(0)
    channel = tl.program_id(1)
    t = tl.arange(0, BLOCK_T)
    mask = t < T
    offsets = (batch * T + t) * D + channel
    a = tl.load(a_ptr + offsets, mask=mask, other=1.0)
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    _, h = tl.associative_scan((a, x), 0, compose)
    tl.store(h_ptr + offsets, h, mask=mask)


@triton.jit
def selective_scan_kernel(
    x_ptr,
    dt_ptr,
    A_ptr,
    B_ptr,
    C_ptr,
    D_ptr,
    y_ptr,
    T,
    N_CHANNELS,
    N_STATE: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """A state of N_STATE numbers per channel; decay and input depend on time."""
    batch = tl.program_id(0)
    d = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    n = tl.arange(0, N_STATE)
    d_mask = d < N_CHANNELS
    A = tl.load(A_ptr + d[:, None] * N_STATE + n[None, :], mask=d_mask[:, None], other=0.0)
    skip = tl.load(D_ptr + d, mask=d_mask, other=0.0)
    h = tl.zeros([BLOCK_D, N_STATE], dtype=tl.float32)
    for t in range(T):
        row = batch * T + t
        x = tl.load(x_ptr + row * N_CHANNELS + d, mask=d_mask, other=0.0)
        dt = tl.load(dt_ptr + row * N_CHANNELS + d, mask=d_mask, other=0.0)
        b = tl.load(B_ptr + row * N_STATE + n)
        c = tl.load(C_ptr + row * N_STATE + n)
        h = tl.exp(dt[:, None] * A) * h + (dt * x)[:, None] * b[None, :]
        y = tl.sum(h * c[None, :], axis=1) + skip * x
        tl.store(y_ptr + row * N_CHANNELS + d, y, mask=d_mask)


def recurrence(a, x, h0=None):
    """All states of h[t] = a[t] * h[t-1] + x[t]; tensors are [batch, time, channel]."""
    B, T, D = x.shape
    h = torch.empty((B, T, D), dtype=torch.float32, device=x.device)
    grid = lambda meta: (B, triton.cdiv(D, meta["BLOCK"]))
    recurrence_kernel[grid](a.contiguous(), x.contiguous(), h0, h, T, D, BLOCK=64)
    return h


def scan(a, x):
    B, T, D = x.shape
    h = torch.empty_like(x)
    scan_kernel[(B, D)](a, x, h, T, D, BLOCK_T=triton.next_power_of_2(T))
    return h


def selective_scan(x, dt, A, B, C, D):
    batch, T, channels = x.shape
    n_state = A.shape[1]
    assert B.shape == (batch, T, n_state) and C.shape == B.shape
    y = torch.empty_like(x)
    selective_scan_kernel[(batch, triton.cdiv(channels, 32))](
        x, dt, A, B, C, D, y, T, channels, N_STATE=n_state, BLOCK_D=32
    )
    return y
