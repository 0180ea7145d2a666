"""Inline assembly of arithmetic that is read: predicates, packed elements, texts that Python puts together."""

import triton
import triton.language as tl


def write_softplus(packed):
    template = """
        .reg .pred p;
        setp.gt.f32  p, ${in_reg}, 20.;
        @p  mov.f32  ${out_reg}, ${in_reg};
        @!p mul.f32            ${out_reg}, ${in_reg}, 1.4426950408889634;
        @!p ex2.approx.ftz.f32 ${out_reg}, ${out_reg};
        @!p add.f32            ${out_reg}, ${out_reg}, 1.0;
        @!p lg2.approx.ftz.f32 ${out_reg}, ${out_reg};
        @!p mul.f32            ${out_reg}, ${out_reg}, 0.6931471805599453;
    """
    text = ""
    for i in range(packed):
        text += "{" + template.format(out_reg=i, in_reg=i + packed) + "}\n"
    return " ".join(text.split("\n"))


def write_constraints(packed):
    return ",".join("=r" for i in range(packed)) + "," + ",".join("r" for i in range(packed))


PACKED: tl.constexpr = tl.constexpr(2)
softplus_text: tl.constexpr = tl.constexpr(write_softplus(2))
softplus_constraints: tl.constexpr = tl.constexpr(write_constraints(2))


@triton.jit
def softplus(x):
    return tl.inline_asm_elementwise(
        asm=softplus_text,
        constraints=softplus_constraints,
        pack=PACKED,
        args=[x],
        dtype=tl.float32,
        is_pure=True,
    )


@triton.jit
def quotient(a, b):
    return tl.inline_asm_elementwise(
        """
        { // a / (1 + b * b)
            .reg .f32 square, below;
            fma.rn.f32 square, $2, $2, 0f3F800000;
            rcp.approx.ftz.f32 below, square;
            mul.rn.f32 $0, $1, below;
        }
        """,
        "=r,r,r",
        [a, b],
        dtype=tl.float32,
        is_pure=True,
        pack=1,
    )


@triton.jit
def soft(x_ptr, y_ptr, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + at, softplus(x), mask=at < n)


@triton.jit
def divided(a_ptr, b_ptr, y_ptr, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(a_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + at, quotient(a, b), mask=at < n)


@triton.jit
def chosen(x_ptr, y_ptr, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    signed = tl.inline_asm_elementwise(
        ".reg .pred q; setp.lt.f32 q, $1, 0.; selp.f32 $0, $2, $1, q;",
        "=r,r,r",
        [x, x * 0.25],
        dtype=tl.float32,
        is_pure=True,
        pack=1,
    )
    tl.store(y_ptr + at, signed * signed, mask=at < n)
