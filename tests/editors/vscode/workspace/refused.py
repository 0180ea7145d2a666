"""A kernel whose backward is refused, with its reason: nobody derives assembly."""

import triton
import triton.language as tl


@triton.jit
def assembly_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + cols, mask=cols < n, other=0.0)
    y = tl.inline_asm_elementwise(
        "ex2.approx.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(y_ptr + cols, y, mask=cols < n)


def assembly(x, y):
    assembly_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
