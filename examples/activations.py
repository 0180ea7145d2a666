"""Pointwise and gated activations: GELU (exact and tanh), SiLU, SwiGLU and GEGLU."""

import torch
import triton
import triton.language as tl


@triton.jit
def tanh(x):
    return 2 * tl.sigmoid(2 * x) - 1


@triton.jit
def gelu_kernel(x_ptr, y_ptr, n_elements, APPROXIMATE: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    if APPROXIMATE:
        inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
        y = 0.5 * x * (1 + tanh(inner))
    else:
        y = 0.5 * x * (1 + tl.erf(x * 0.7071067811865476))
    tl.store(y_ptr + offsets, y, mask=mask)


@triton.jit
def silu_kernel(x_ptr, y_ptr, n_elements, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    tl.store(y_ptr + offsets, x * tl.sigmoid(x), mask=mask)


@triton.jit
def swiglu_kernel(gate_ptr, up_ptr, out_ptr, row_stride, n_cols, BLOCK: tl.constexpr):
    """One row of `silu(gate) * up` per program."""
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    gate = tl.load(gate_ptr + row * row_stride + cols, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + row * row_stride + cols, mask=mask, other=0.0)
    silu = gate * tl.sigmoid(gate)
    tl.store(out_ptr + row * row_stride + cols, silu.to(up.dtype) * up, mask=mask)


@triton.jit
def geglu_kernel(packed_ptr, out_ptr, packed_stride, out_stride, n_cols, BLOCK: tl.constexpr):
    """`packed` holds the gate in its first half and the value in its second."""
    row = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < n_cols
    packed_ptr += row * packed_stride
    gate = tl.load(packed_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    value = tl.load(packed_ptr + n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    inner = 0.7978845608028654 * (gate + 0.044715 * gate * gate * gate)
    out = 0.5 * gate * (1 + tanh(inner)) * value
    tl.store(out_ptr + row * out_stride + cols, out, mask=mask)


def gelu(x: torch.Tensor, approximate: bool = False) -> torch.Tensor:
    y = torch.empty_like(x)
    n_elements = x.numel()
    grid = lambda meta: (triton.cdiv(n_elements, meta["BLOCK"]),)
    gelu_kernel[grid](x, y, n_elements, APPROXIMATE=approximate, BLOCK=1024)
    return y


def silu(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    silu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


def swiglu(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    shape = gate.shape
    n_cols = shape[-1]
    gate = gate.contiguous().view(-1, n_cols)
    up = up.contiguous().view(-1, n_cols)
    out = torch.empty_like(gate)
    n_rows = gate.shape[0]
    swiglu_kernel[(n_rows,)](
        gate, up, out, gate.stride(0), n_cols, BLOCK=triton.next_power_of_2(n_cols)
    )
    return out.view(*shape)


def geglu(packed: torch.Tensor) -> torch.Tensor:
    n_rows, width = packed.shape
    n_cols = width // 2
    out = torch.empty((n_rows, n_cols), device=packed.device, dtype=packed.dtype)
    block = min(triton.next_power_of_2(n_cols), 1024)
    grid = (n_rows, triton.cdiv(n_cols, block))
    geglu_kernel[grid](packed, out, packed.stride(0), out.stride(0), n_cols, BLOCK=block)
    return out
