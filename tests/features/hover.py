"""What hovering shows. A marker's text must be part of the hover at its first caret."""

import triton
import triton.language as tl

LOG2E: tl.constexpr = 1.4426950408889634
# <^^^ label: log2e


@triton.jit
def scaled(x, scale):
    """Scales a tile."""
    return x * scale
    #      ^ hover: x: f32[BLOCK]


# tad: backward of doubled(x): 2 * grad
@triton.jit
def doubled(x):
    # <^^^^^^ hover: Its derivative is given by hand in line 17: `2 * grad`
    return 2 * x


@triton.jit
def softmax_kernel(x_ptr, y_ptr, stride, n, BLOCK: tl.constexpr):
    #              ^^^^^ hover: (parameter) x_ptr: *float
    #              ^^^^^ hover: the kernel only loads from it
    #              ^^^^^ hover: passes `x`
    #              ^^^^^ hover: reads `x_ptr[stride*row + i]`
    #                     ^^^^^ hover: the kernel only stores to it
    #                            ^^^^^^ hover: passes `x.stride(0)`
    #                            ^^^^^^ hover: stores to `y_ptr[stride*row + i]`
    #                                       ^^^^^ hover: (constexpr parameter) BLOCK
    #                                       ^^^^^ hover: passes `1024`
    row = tl.program_id(0)
    #        ^^^^^^^^^^ hover: tl.program_id(axis)
    offsets = row * stride + tl.arange(0, BLOCK)
    # <^^^^^^ hover: offsets: i32[BLOCK]
    # <^^^^^^ hover: `stride*row + i`
    mask = tl.arange(0, BLOCK) < n
    # <^^^ hover: mask: i1[BLOCK]
    x = tl.load(x_ptr + offsets, mask=mask, other=float("-inf"))
    # <^ hover: x: float[BLOCK]
    # <^ hover: **Reads** `x_ptr[stride*row + i]` where `mask`
    # <^ hover: program axis 0: *owned*
    #      ^^^^ hover: Values at `pointer`
    #      ^^^^ hover: memory
    #                            ^^^^ hover: Lanes where it is false
    #                                       ^^^^^ hover: What lanes outside the mask read.
    p = tl.exp(x - tl.max(x, axis=0))
    # <^ hover: p: f32[BLOCK]
    # <^ hover: x̄ += ȳ · y
    #      ^^^ hover: y = exp(x)
    #            ^ hover: (tile) x - tl.max(x, axis=0): f32[BLOCK]
    #                 ^^^ hover: x̄ᵢ += ȳ where xᵢ is the maximum
    q = scaled(p, LOG2E) / tl.sum(p, axis=0)
    #   ^^^^^^ hover: (helper) scaled(x, scale) -> f32[BLOCK]
    #   ^^^^^^ hover: Scales a tile.
    #   ^^^^^^ hover: calls it with `x: f32[BLOCK]`, `scale: constexpr
    #             ^^^^^ hover: (constexpr global) LOG2E = 1.4426950408889634
    #                         ^^^ hover: x̄ᵢ += ȳ for every i
    tl.store(y_ptr + offsets, q.to(tl.float16), mask=mask)
    #  ^^^^^ hover: value̅ += memory̅[pointer] where mask
    #                           ^^ hover: y = x in another element type
    #                                 ^^^^^^^ hover: 16 bits: sign, 5 of exponent, 10 of mantissa


@triton.jit
def sums_kernel(a_ptr, out_ptr, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    total = 0.0
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    if EVEN:
    # <^ hover: `EVEN` is decided at compile time: one branch is compiled.
        total = 1.0
    for k in range(0, n, BLOCK):
    # <^^^ hover: a sum, + `a` each iteration
        a = tl.load(a_ptr + k + tl.arange(0, BLOCK))
        #                     ^ hover: tile of pointers
        acc += a
        # <^^^ hover: **Carried by the loop**: a sum
        total = total * 0.5 + tl.sum(a)
        #       ^^^^^ hover: **Carried by the loop**: a recurrence
    if tl.program_id(0) == 0:
    # <^ hover: decided at run time
        tl.store(out_ptr, tl.sum(acc) + total)


def softmax(x):
    y = x.clone()
    softmax_kernel[(x.shape[0],)](x, y, x.stride(0), x.shape[1], BLOCK=1024, num_warps=4)
    # <^^^^^^^^^^^^^ hover: (kernel) softmax_kernel(x_ptr, y_ptr, stride, n, BLOCK: tl.constexpr)
    # <^^^^^^^^^^^^^ hover: by `softmax`, grid `(x.shape[0],)`
    #                                                            ^^^^^ hover: (constexpr parameter) BLOCK
    #                                                                        ^^^^^^^^^ hover: Warps per program
    return y
    #      ^ hover: none


@triton.jit
def shifted(x, by):
    #       ^ hover: (parameter) x: varies
    moved = x + by
    # <^^^^ hover: (tile) moved: varies
    # <^^^^ hover: Varies: `f32[M, N]` in `rows_kernel`, `f32[N]` in `flat_kernel`.
    return moved


@triton.jit
def rows_kernel(x_ptr, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(x_ptr + i, shifted(tl.load(x_ptr + i).to(tl.float32), 1.0))


@triton.jit
def flat_kernel(x_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x_ptr + i, shifted(tl.load(x_ptr + i).to(tl.float32), 2.0))
