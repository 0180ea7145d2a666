import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes)
    tl.store(y_ptr, tl.sum(x, axis=0))
    half = x.to(tl.float16)
    tl.store(y_ptr + 1, tl.sum(half * half, axis=0))
    tl.store(y_ptr + 2, tl.sum(x.to(tl.float32).to(tl.float16), axis=0))


@triton.jit
def accumulate_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float16)
    for start in range(0, n, BLOCK):
        total += tl.load(x_ptr + start + lanes).to(tl.float16)
    tl.store(y_ptr + lanes, total)


@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tile = lanes[:, None] * BLOCK + lanes[None, :]
    a = tl.load(a_ptr + tile).to(tl.float32)
    b = tl.load(b_ptr + tile).to(tl.float32)
    tl.store(c_ptr + tile, tl.dot(a, b))


@triton.jit
def softmax_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes, mask=lanes < n, other=-float("inf")).to(tl.float32)
    e = tl.exp(x)
    tl.store(y_ptr + lanes, e / tl.sum(e, axis=0), mask=lanes < n)


@triton.jit
def one_number_kernel(x_ptr, y_ptr):
    tl.store(y_ptr, tl.exp(tl.load(x_ptr).to(tl.float32)))
