"""Types beside names. Every hint of this file is marked: the carets end where it is shown."""

import triton
import triton.language as tl


@triton.jit
def halves(x, y):
    #      ^ inlay: f32[BLOCK_M, BLOCK_N]
    #         ^ inlay: f32[BLOCK_M, BLOCK_N]
    # <^^^^^^^^^^^ inlay: -> (f32[BLOCK_M, BLOCK_N], f32[BLOCK_M, BLOCK_N])
    return x * 0.5, y * 0.5


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, K, stride, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    #             ^^^^^ inlay: *float
    #                    ^^^^^ inlay: *float
    #                           ^^^^^ inlay: *float
    #                                  ^ inlay: i32
    #                                     ^^^^^^ inlay: i32
    pid = tl.program_id(0)
    rows = pid * BLOCK_M + tl.arange(0, BLOCK_M)
    # <^^^ inlay: i32[BLOCK_M]
    columns = tl.arange(0, BLOCK_N)
    # <^^^^^^ inlay: i32[BLOCK_N]
    inner = tl.arange(0, BLOCK_K)
    # <^^^^ inlay: i32[BLOCK_K]
    a_ptrs = a_ptr + rows[:, None] * stride + inner[None, :]
    # <^^^^^ inlay: *float[BLOCK_M, BLOCK_K]
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs)
        # <^ inlay: float[BLOCK_M, BLOCK_K]
        b = tl.load(b_ptr + (k + inner)[:, None] * stride + columns[None, :])
        # <^ inlay: float[BLOCK_K, BLOCK_N]
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K
    first, second = halves(acc, acc)
    # <^^^ inlay: f32[BLOCK_M, BLOCK_N]
    #      ^^^^^^ inlay: f32[BLOCK_M, BLOCK_N]
    first = first.to(tl.float16)
    # <^^^ inlay: f16[BLOCK_M, BLOCK_N]
    total: tl.tensor = first + second
    scale = 2.0
    total = total * scale
    tl.store(c_ptr + rows[:, None] * stride + columns[None, :], total)


def matmul(a, b, c):
    matmul_kernel[(1,)](a, b, c, a.shape[1], a.stride(0), 16, 16, 16)
    #                            ^^^^^^^^^^ inlay: K=
    #                                        ^^^^^^^^^^^ inlay: stride=
    #                                                     ^^ inlay: BLOCK_M=
    #                                                         ^^ inlay: BLOCK_N=
    #                                                             ^^ inlay: BLOCK_K=


@triton.jit
def normalize(x, axis: tl.constexpr):
    #         ^ inlay: f32[M, N]
    # <^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ inlay: -> f32[M, N]
    top = tl.max(x, axis)
    # <^^ inlay: f32[M]
    e = tl.exp(x - top[:, None])
    # <^ inlay: f32[M, N]
    return e


@triton.jit
def shifted(x, by):
    #          ^^ inlay: f32
    moved = x + by
    return moved


@triton.jit
def rows_kernel(x_ptr, M: tl.constexpr, N: tl.constexpr):
    #           ^^^^^ inlay: *float
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    # <^ inlay: i32[M, N]
    x = tl.load(x_ptr + i).to(tl.float32)
    # <^ inlay: f32[M, N]
    tl.store(x_ptr + i, shifted(normalize(x, 1), 1.0))


@triton.jit
def flat_kernel(x_ptr, N: tl.constexpr):
    #           ^^^^^ inlay: *float
    i = tl.arange(0, N)
    # <^ inlay: i32[N]
    tl.store(x_ptr + i, shifted(tl.load(x_ptr + i).to(tl.float32), 2.0))


@triton.jit
def histogram_kernel(bins_ptr, total_ptr, x_ptr, n, BLOCK: tl.constexpr):
    #                ^^^^^^^^ inlay: *int
    #                          ^^^^^^^^^ inlay: *float
    #                                     ^^^^^ inlay: *int
    #                                            ^ inlay: i32
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # <^ inlay: i32[BLOCK]
    bins = tl.load(x_ptr + i, mask=i < n, other=0)
    # <^^^ inlay: int[BLOCK]
    tl.atomic_add(bins_ptr + bins, 1, mask=i < n)
    tl.atomic_add(total_ptr, 0.5)


@triton.jit
def half_typed_kernel(y_ptr, x_ptr, n, BLOCK: tl.constexpr):
    #                 ^^^^^ inlay: *float
    #                        ^^^^^ inlay: *float
    #                               ^ inlay: i32
    # What a call goes through is a pointer, also while one of its words is wrong.
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # <^ inlay: i32[BLOCK]
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n, other=0.0), mask=i < n, mas=1)
