import torch
import triton
import triton.language as tl

SCALE = 0.5


def halve(x):
    return x * 0.5


@triton.jit
def misspelt_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.lod(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, x, mask=offsets < n)


@triton.jit
def misspelt_keyword_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, othr=0.0)
    tl.store(y_ptr + offsets, x, mask=offsets < n)


@triton.jit
def misspelt_variable_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + ofsets, tl.abs(x), mask=offsets < n)


@triton.jit
def scaled_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(y_ptr + lanes, halve(tl.load(x_ptr + lanes)))


@triton.jit
def rescaled_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(y_ptr + lanes, tl.load(x_ptr + lanes) * SCALE)


@triton.autotune(
    configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})],
    key=["n"],
)
@triton.jit
def accumulate_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.atomic_add(y_ptr, tl.sum(x.to(tl.float32), axis=0))


def accumulate(x):
    y = torch.zeros(1, device=x.device)
    grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)
    accumulate_kernel[grid](x, y, nn=x.numel())
    return y


@triton.jit
def shift_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = offsets < n
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=keep) + 1, mask=keep)


def shift(x):
    y = torch.empty_like(x)
    BLOCK = 128
    shift_kernel[(x.numel() // BLOCK,)](x, y, x.numel(), BLOCK=BLOCK)
    return y
