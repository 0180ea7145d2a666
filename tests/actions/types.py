import triton
import triton.language as tl


@triton.jit
def mathematics_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes).to(tl.float32)
    tl.store(y_ptr + lanes, tl.exp(lanes) + x)


@triton.jit
def power_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes).to(tl.float32)
    tl.store(y_ptr + lanes, x**2)


@triton.jit
def quotient_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes).to(tl.float32)
    tl.store(y_ptr + lanes, x // 2.0)


@triton.jit
def matrix_kernel(a_ptr, b_ptr, c_ptr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tile = lanes[:, None] * BLOCK + lanes[None, :]
    a = tl.load(a_ptr + tile).to(tl.float16)
    tl.store(c_ptr + tile, a @ a)


@triton.jit
def mixed_matrix_kernel(a_ptr, b_ptr, c_ptr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tile = lanes[:, None] * BLOCK + lanes[None, :]
    a = tl.load(a_ptr + tile).to(tl.float16)
    b = tl.load(b_ptr + tile).to(tl.bfloat16)
    tl.store(c_ptr + tile, tl.dot(a, b))


@triton.jit
def logic_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    flag = tl.load(x_ptr + lanes).to(tl.int32)
    tl.store(y_ptr + lanes, flag, mask=flag)


@triton.jit
def conjunction_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    flag = tl.load(x_ptr + lanes, mask=lanes < n).to(tl.int32)
    tl.store(y_ptr + lanes, flag, mask=(lanes < n) and flag)


@triton.jit
def unrolled_kernel(x_ptr, y_ptr, i_ptr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes).to(tl.float32)
    for i in tl.static_range(tl.load(i_ptr)):
        x += i
    tl.store(y_ptr + lanes, x)
