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


@triton.jit
def axis_kernel(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr):
    rows = tl.arange(0, M)
    cols = tl.arange(0, N)
    tile = rows[:, None] * N + cols[None, :]
    x = tl.load(x_ptr + tile)
    tl.store(y_ptr + tile, x - tl.max(x, axis=1))


@triton.jit
def turned_axis_kernel(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr):
    rows = tl.arange(0, M)
    cols = tl.arange(0, N)
    tile = rows[None, :] * N + cols[None, :]
    x = tl.load(x_ptr + tile)
    tl.store(y_ptr + rows[:, None] * N + cols[None, :], x)


def launch_axes(x, y):
    axis_kernel[(1,)](x, y, M=64, N=32)
    turned_axis_kernel[(1,)](x, y, M=64, N=32)


@triton.jit
def axis_of_launch_kernel(x_ptr, y_ptr, n, D: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tile = rows[:, None] * D + tl.arange(0, D)[None, :]
    x = tl.load(x_ptr + tile, mask=rows[:, None] < n, other=0.0)
    tl.store(y_ptr + tile, x - tl.max(x, axis=1), mask=rows[:, None] < n)


@triton.jit
def axis_of_instance_kernel(x_ptr, y_ptr, n, M: tl.constexpr, N: tl.constexpr):
    rows = tl.arange(0, M)
    tile = rows[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + tile, mask=rows[:, None] < n, other=0.0)
    tl.store(y_ptr + tile, x - tl.max(x, axis=1), mask=rows[:, None] < n)


def launch_axes_of_sizes(x, y):
    n, d = x.shape
    axis_of_launch_kernel[(triton.cdiv(n, 32),)](x, y, n, D=d, BLOCK=32)
    axis_of_instance_kernel[(1,)](x, y, n, M=64, N=32)
    axis_of_instance_kernel[(1,)](x, y, n, M=32, N=32)
